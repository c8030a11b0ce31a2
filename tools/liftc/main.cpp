// liftc: the command line. Exit status: 0 done, 1 the program or data is wrong, 2 usage, 3 device or driver, 4 results
// wrong.
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>

#include "common.hpp"
#include "lift/diagnostic.hpp"

int main(int argc, char** argv) {
  // PoCL's threads each on a core of its own, unless the user wants it otherwise: left to the system, two of them often
  // share one, and times are of half a processor.
  setenv("POCL_AFFINITY", "1", /*overwrite=*/0);

  CLI::App app{"Compiles programs of the Lift IR to OpenCL kernels, runs, checks and tunes them.", "liftc"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "liftc " LIFT_VERSION);
  app.set_help_all_flag("--help-all", "Help of all subcommands");
  app.footer("Programs are .lift files (docs/language.md); `liftc primitives` lists the language's primitives.");

  int status = 0;
  liftc::addCheck(app, status);
  liftc::addPrint(app, status);
  liftc::addEval(app, status);
  liftc::addRewrite(app, status);
  liftc::addCompile(app, status);
  liftc::addRun(app, status);
  liftc::addConv(app, status);
  liftc::addExplain(app, status);
  liftc::addBench(app, status);
  liftc::addDevices(app, status);
  liftc::addPrimitives(app, status);
  liftc::addRules(app, status);
  liftc::addCache(app, status);
  liftc::addTune(app, status);
  liftc::addTuneWorker(app, status);
  liftc::addDb(app, status);
  app.failure_message([](const CLI::App* root, const CLI::Error& e) {
    const auto subcommands = root->get_subcommands();
    return fmt::format("error: {}\n  hint: `liftc {}--help` explains the usage\n", e.what(),
                       subcommands.empty() ? "" : subcommands.front()->get_name() + " ");
  });
  const auto isNamed = [&](const CLI::App* sub) { return sub->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(isNamed).empty()) {
    std::cerr << fmt::format("error: unknown subcommand '{}'\n  hint: `liftc --help` lists them\n", argv[1]);
    return static_cast<int>(lift::ExitStatus::usage);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? 0 : static_cast<int>(lift::ExitStatus::usage);
  }
  return status;
}
