// Compilers for devices that are not at hand: they build kernels, which do not run, and say what these cost.
//
//   const OfflineTarget& target = offlineTarget("mali-g72");
//   if (const auto tools = findTools(target); tools.missing.empty())
//     for (const KernelText& k : kernelsOf(plan)) const KernelReport r = buildOffline(target, tools, k);
//
// Every compiler is optional. A target is a row of a table: what it needs, the commands that build a file, and a parser
// of what they print.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lift/device.hpp"
#include "lift/kernel.hpp"

namespace lift {

// A kernel as it is handed to a compiler: a file of its own.
struct KernelText {
  runtime::KernelNeeds needs;
  std::string source;
};
std::vector<KernelText> kernelsOf(const kernel::Plan& plan);

// What a compiler says of a kernel; nothing where it does not say.
struct KernelStatistics {
  std::optional<std::int64_t> instructions;
  std::optional<std::int64_t> loads;         // instructions that read memory, of any width
  std::optional<std::int64_t> registers;     // of a work-item, of 32 bits
  std::optional<std::int64_t> spills;        // registers, or instructions, that go to memory for want of registers
  std::optional<std::int64_t> scratchBytes;  // of a work-item, in memory
  std::optional<std::int64_t> localBytes;
  std::optional<std::int64_t> occupancy;               // in OfflineTarget::occupancyUnit
  std::optional<std::int64_t> mostItems;               // of a group, as the compiler has it
  std::vector<std::pair<std::string, double>> cycles;  // by pipe, of each instruction once
  std::vector<std::string> warnings;
};

// A file or program that a target needs.
struct OfflineNeed {
  std::string name;                     // {name} in commands
  std::vector<std::string> candidates;  // programs on PATH, or files and folders by their whole path; the first found
  std::string install;                  // what to do where none is found: "apt-get install clang-15"
};

struct OfflineTarget {
  std::string name, meaning;
  std::string profile;  // whose limits count: readProfile
  std::vector<OfflineNeed> needs;
  // Command lines, in order, run in a folder of their own. {source} is the kernel's file, others are needs. Files named
  // *.s, *.asm, *.ptx that they leave are the assembly, wherever in the folder.
  std::vector<std::vector<std::string>> commands;
  // Reads what all commands printed, and the assembly.
  std::function<KernelStatistics(const std::string& output, const std::string& assembly)> parse;
  std::string occupancyUnit = {};  // "waves of a SIMD"
};

const std::vector<OfflineTarget>& offlineTargets();
const OfflineTarget& offlineTarget(std::string_view name);  // throws UserError (usage)

struct OfflineTools {
  std::map<std::string, std::string> found;  // by OfflineNeed::name
  std::vector<OfflineNeed> missing;
};
OfflineTools findTools(const OfflineTarget& target);

struct KernelReport {
  std::string kernel;
  bool built = false;  // the compilers took it
  bool fits = false;   // and it is within the device's limits
  std::string error;   // why not
  KernelStatistics statistics;
};
// Builds the kernel, and holds it to the device's limits and what the compiler says of them. Throws UserError (device)
// only where no process can be started.
KernelReport buildOffline(const OfflineTarget& target, const OfflineTools& tools, const KernelText& kernel,
                          const runtime::DeviceInfo& device);

}  // namespace lift
