// What is to be tuned, from the command line: a workload of an operator or a program with tunables.
#pragma once

#include "common.hpp"
#include "lift/conv.hpp"
#include "lift/space.hpp"
#include "lift/tune.hpp"
#include "workload.hpp"

namespace lift::liftc {

struct FamilyProgram {
  std::string family;  // of a workload, or "program"
  Program program;
};

// The options that name a problem, its families and the device; the same for `tune` and for its workers.
struct ProblemChoice {
  ProgramOptions source;  // a program at sizes…
  int part = 0;           // or only this part of it, from 1
  std::string conv;       // or a layer
  LayoutOptions layouts;
  std::vector<std::string> op;  // or an operator and its descriptor
  std::vector<std::string> families;
  std::vector<std::string> fixed;  // tunables that are not searched, with their values
  std::int64_t domain = 0;  // of layers: bytes of fast memory for the optimality-condition domain; 0: the whole space
  std::string fill = "random:1";
  double rtol = 1e-4;  // of programs; a workload's tolerance follows from its sizes
  DeviceOptions device;

  void add(cli::App& app);
  // Throws UserError (usage) for an option of the command line that is of no such problem. `lists`: one of a file.
  void checkOptions(const cli::App& sub, bool lists) const;
  // The words that give these options again; those of the problem alone are what records call its command.
  std::vector<std::string> words() const;
  std::vector<std::string> problemWords() const;

  bool isProgram() const { return conv.empty() && op.empty(); }
  // Throws UserError.
  Workload workload() const;
  // The program of every family, mapped to work-items and symbolic in its tunables. Throws UserError.
  std::vector<FamilyProgram> programs() const;
  // What ties a program's tunables.
  std::vector<Constraint> constraints(const FamilyProgram& of, const DeviceLimits& limits) const;
  // The constraints that the user asked for: fixed values of tunables, and the optimality-condition domain.
  std::vector<Constraint> asked(const std::string& family, const Program& program) const;
  // The tuning problem on the device, whose limits are those of its info(). Throws UserError.
  tune::Problem problem(const runtime::DeviceInfo& device) const;

  // The problem of a record: its problemWords() on one line. Throws UserError.
  static ProblemChoice parse(const std::string& command);
  // The kernels of its configurations as they are made now for a device. Families are derived when they are asked for;
  // what a program's file says now counts. Throws UserError when the problem itself cannot be made.
  tune::Regenerate regenerate(const tune::DeviceRow& device) const;
};

}  // namespace lift::liftc
