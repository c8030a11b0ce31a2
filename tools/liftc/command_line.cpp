// The subcommands of liftc.
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "common.hpp"
#include "lift/command_line.hpp"
#include "lift/conv_operator.hpp"
#include "lift/diagnostic.hpp"
#include "lift/opset.hpp"
#include "reduce.hpp"

int lift::commandLine(int argc, char** argv) {
  // PoCL's threads each on a core of its own, unless the user wants it otherwise: left to the system, two of them often
  // share one, and times are of half a processor.
  setenv("POCL_AFFINITY", "1", /*overwrite=*/0);
  // Threads of OpenMP that wait long for each other lose their turns to others on a busy machine. The processes that
  // tuning measures in read this when they start.
  setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/0);

  registerOperator(convOperator());
  for (Operator& op : tensorOperators()) registerOperator(std::move(op));

  cli::App app{"Compiles programs of the Lift IR to OpenCL kernels, runs, checks and tunes them.", "liftc"};
  app.require_subcommand();
  app.version("liftc " LIFT_VERSION);
  app.help_all("Help of all subcommands");
  app.footer("Programs are .lift files (docs/language.md); `liftc primitives` lists the language's primitives.");

  int status = 0;
  liftc::addCheck(app, status);
  liftc::addPrint(app, status);
  liftc::addEval(app, status);
  liftc::addRewrite(app, status);
  liftc::addCompile(app, status);
  liftc::addRun(app, status);
  liftc::addConv(app, status);
  liftc::addOp(app, status);
  liftc::addOffline(app, status);
  liftc::addExplain(app, status);
  liftc::addBench(app, status);
  liftc::addBound(app, status);
  liftc::addDevices(app, status);
  liftc::addPrimitives(app, status);
  liftc::addRules(app, status);
  liftc::addCache(app, status);
  liftc::addTune(app, status);
  liftc::addTuneWorker(app, status);
  liftc::addTuneChild(app, status);
  liftc::addDb(app, status);
  liftc::addReduce(app, status);
  if (argc > 1 && argv[1][0] != '-' && !app.has_subcommand(argv[1])) {
    std::cerr << fmt::format("error: unknown subcommand '{}'\n  hint: `liftc --help` lists them\n", argv[1]);
    return static_cast<int>(lift::ExitStatus::usage);
  }
  const int ended = app.parse(argc, argv, static_cast<int>(lift::ExitStatus::usage)).value_or(status);
  errno = 0;
  if (std::cout.flush()) return ended;
  // What failed before, when more was printed than is kept, does not say why any more.
  std::cerr << fmt::format("error: cannot write standard output{}{}\n", errno == 0 ? "" : ": ",
                           errno == 0 ? "" : std::strerror(errno));
  return ended != 0 ? ended : static_cast<int>(lift::ExitStatus::program);
}
