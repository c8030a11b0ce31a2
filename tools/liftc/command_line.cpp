// The subcommands of liftc.
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string_view>

#include "common.hpp"
#include "crash.hpp"
#include "lift/command_line.hpp"
#include "lift/conv_operator.hpp"
#include "lift/device.hpp"
#include "lift/diagnostic.hpp"
#include "lift/opset.hpp"

int lift::commandLine(int argc, char** argv) {
  // PoCL's threads each on a core of its own, unless the user wants it otherwise: left to the system, two of them often
  // share one, and times are of half a processor.
  setenv("POCL_AFFINITY", "1", /*overwrite=*/0);
  runtime::requestTeams();
  // Threads of OpenMP that wait long for each other lose their turns to others on a busy machine. The processes that
  // tuning measures in read this when they start.
  setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/0);

  // The children of a search report how they ended by it.
  if (argc < 2 || argv[1] != std::string_view("tune-child")) liftc::tellOfDriverCrashes();

  registerOperator(convOperator());
  for (Operator& op : tensorOperators()) registerOperator(std::move(op));

  cli::App app{"Compiles programs of the Lift IR to OpenCL kernels, runs, checks and tunes them.", "liftc"};
  app.require_subcommand();
  app.version("liftc " LIFT_VERSION);
  app.help_all("Help of all subcommands");
  app.footer("Programs are .lift files (docs/language.md); `liftc primitives` lists the language's primitives.");

  int status = 0;
  using namespace liftc;
  for (const auto add : {addCheck, addPrint,   addEval,    addRewrite,    addCompile,   addRun,     addConv,
                         addOp,    addOffline, addExplain, addBench,      addBound,     addDevices, addPrimitives,
                         addRules, addCache,   addTune,    addTuneWorker, addTuneChild, addDb,      addReduce})
    add(app, status);
  if (argc > 1 && argv[1][0] != '-' && !app.has_subcommand(argv[1])) {
    std::cerr << fmt::format("error: unknown subcommand '{}'\n  hint: `liftc --help` lists them\n", argv[1]);
    return static_cast<int>(ExitStatus::usage);
  }
  const int ended = app.parse(argc, argv, static_cast<int>(ExitStatus::usage)).value_or(status);
  errno = 0;
  if (std::cout.flush()) return ended;
  // What failed before, when more was printed than is kept, does not say why any more.
  std::cerr << fmt::format("error: cannot write standard output{}{}\n", errno == 0 ? "" : ": ",
                           errno == 0 ? "" : std::strerror(errno));
  return ended != 0 ? ended : static_cast<int>(ExitStatus::program);
}
