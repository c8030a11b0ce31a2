// liftc tune: the best configuration of a layer or a program, found by measuring.

#include "budget.hpp"
#include "lift/diagnostic.hpp"
#include "space.hpp"
#include "sweep.hpp"

namespace lift::liftc {

void addTune(cli::App& app, int& status) {
  struct Options {
    ProblemChoice problem;
    SweepChoice sweep;
    SpaceQuestion space;
    std::vector<std::string> replay;
    int seeds = 20;
    bool predict = false;
  };
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand("tune", "Find the best configuration of a layer or a program by measuring");
  o->problem.add(*sub);
  o->sweep.add(*sub);
  o->space.add(*sub);
  sub->add_option("--replay", o->replay, "Compare explorers on recorded sweeps (files of `liftc db export`)")
      ->type_name("FILE");
  sub->add_option("--seeds", o->seeds, "--replay: searches of each explorer")->positive()->capture_default_str();
  sub->add_flag(
      "--predict", o->predict,
      "Search by what a model predicts for --profile, with no device; with --replay, hold it to what was measured");
  onCall(*sub, status, [o, sub] {
    if (o->replay.empty() && sub->count("--seeds") > 0)
      throw UserError(ExitStatus::usage, "--seeds goes with --replay");
    if (!o->replay.empty() && sub->count("--explorer") > 0)
      throw UserError(ExitStatus::usage, "--replay compares all explorers: leave out --explorer");
    if (o->predict && o->space.profile.empty())
      throw UserError(ExitStatus::usage, "--predict: for which device?", "give one with --profile");
    if (!o->predict && !o->space.profile.empty() && !o->space.isAsked())
      throw UserError(ExitStatus::usage, "--profile: there is no such device to measure on",
                      "search by a model of it: --predict; or leave out --profile");
    if (o->replay.empty()) o->problem.checkOptions(*sub, !o->sweep.shapes.empty());
    if (o->space.isAsked() && !o->sweep.shapes.empty())
      throw UserError(ExitStatus::usage, "--why and --explain-constraints are of one problem, not of --shapes",
                      "name it: --conv DESCRIPTOR or --op NAME DESCRIPTOR");
    o->sweep.isPoint = sub->count("--config") > 0;
    if (o->predict) o->sweep.predicted = o->space.profile;
    if (o->space.isAsked()) return o->space.answer(o->problem, o->sweep.json);
    if (!o->replay.empty() && o->predict) return judgePredictions(o->replay, o->space.profile, o->sweep.json);
    if (!o->replay.empty()) {
      constexpr double usual = 60;
      const std::string& limit = o->sweep.timeLimit;
      const double seconds = limit.empty() ? usual : secondsOf(limit, "--time-limit");
      return compareExplorers(o->replay, o->seeds, seconds, o->sweep.report, o->sweep.json);
    }
    return runSweeps(o->problem, o->sweep);
  });
}

}  // namespace lift::liftc
