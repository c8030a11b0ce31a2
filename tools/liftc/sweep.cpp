#include "sweep.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <thread>

#include "budget.hpp"
#include "lift/diagnostic.hpp"
#include "lift/experience.hpp"
#include "lift/listed.hpp"
#include "lift/predict.hpp"
#include "lift/process.hpp"
#include "lift/stopwatch.hpp"
#include "lift/tune_report.hpp"
#include "workload.hpp"

namespace lift::liftc {
namespace {

std::string clock(double seconds) {
  const auto s = static_cast<std::int64_t>(seconds + 0.5);
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

// One line that is written over on a terminal, else a line for each point.
class ProgressLine {
 public:
  ProgressLine(const tune::ProblemRow& row, bool quiet)
      : row_(row), quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { clear(); }

  void operator()(const tune::Progress& p) {
    if (quiet_) return;
    const std::string left = p.secondsLeft ? fmt::format("  {} left", clock(*p.secondsLeft)) : "";
    const std::string best = p.soFar.best ? "best " + speed(row_, *p.soFar.best) : "none yet";
    const std::string count = fmt::format("{:>{}}/{}", p.soFar.points, std::to_string(p.points).size(), p.points);
    if (terminal_) {
      const auto ok = p.soFar.byStatus.find(tune::Status::ok);
      const std::int64_t good = ok == p.soFar.byStatus.end() ? 0 : ok->second;
      std::cerr << fmt::format("\r\x1b[K{} {}  {}  {} without a time{}", row_.label, count, best, p.soFar.points - good,
                               left)
                << std::flush;
      return;
    }
    const tune::Measurement& m = p.measurement;
    std::cerr << fmt::format("{} {:<13} {:>10}  {} {}{}{}  {}{}\n", count, tune::name(m.status),
                             m.times.empty() ? "-" : fmt::format("{:.3f} ms", m.median()), m.key.family,
                             str(m.key.config), p.fresh ? "" : "  (known)", p.improved ? "  *" : "", best, left);
  }

  void clear() const {
    if (terminal_ && !quiet_) std::cerr << "\r\x1b[K" << std::flush;
  }

 private:
  const tune::ProblemRow& row_;
  bool quiet_, terminal_;
};

std::vector<std::string> workerCommand(const ProblemChoice& choice) {
  std::vector<std::string> command = {"/proc/self/exe", "tune-child"};
  const auto words = choice.words();
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

std::map<std::int64_t, std::string> troublesOf(const std::string& text) {
  std::map<std::int64_t, std::string> troubles;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto equals = part.find('=');
    troubles[std::stoll(part.substr(0, equals))] = part.substr(equals + 1);
  }
  return troubles;
}

// What all sweeps of one command share.
struct Setting {
  const SweepChoice& choice;
  runtime::DeviceInfo device;
  tune::DeviceRow deviceRow;
};

std::unique_ptr<tune::Measurer> measurerOf(const ProblemChoice& choice, const tune::Problem& problem,
                                           const Setting& s) {
  if (!s.choice.predicted.empty()) return makePredictor(problem, s.device);
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return tune::makeWorkers(workerCommand(choice), problem.data(), s.choice.options.limits,
                           s.choice.workers > 0 ? s.choice.workers : cores);
}

Json resultJson(const tune::Problem& problem, const Setting& s, const tune::SweepResult& r) {
  Json counts = Json::object();
  for (const auto& [status, count] : r.byStatus) counts[std::string(tune::name(status))] = count;
  return {{"problem", problem.row.key},
          {"label", problem.row.label},
          {"device", s.device.name},
          {"points", r.points},
          {"fresh", r.fresh},
          {"equal", r.equal},
          {"by_status", counts},
          {"ended", r.ended},
          {"seconds",
           {{"reference", r.seconds.reference},
            {"choosing", r.seconds.choosing},
            {"building", r.seconds.building},
            {"timing", r.seconds.timing},
            {"again", r.seconds.again}}},
          {"best", r.best ? bestJson(problem.row, *r.best) : Json(nullptr)}};
}

void printResult(const tune::Problem& problem, const Setting& s, const tune::SweepResult& r,
                 const std::string& buildOptions, std::ostream& out) {
  std::string counts =
      listed(r.byStatus, [](const auto& row) { return fmt::format("{} {}", row.second, tune::name(row.first)); });
  if (!counts.empty()) counts = " (" + counts + ")";
  const std::string equal = r.equal > 0 ? fmt::format(", {} of kernels that were measured already", r.equal) : "";
  out << fmt::format("{}: {} points, {} of them {} now{}{}; ended: {}\n", problem.row.label, r.points, r.fresh,
                     s.choice.predicted.empty() ? "measured" : "predicted", equal, counts, r.ended);
  const tune::SweepResult::Seconds& t = r.seconds;
  if (r.fresh > 0)
    out << fmt::format(
        "  seconds: {:.1f} the reference, {:.1f} choosing, {:.1f} building (of all processes: {:.1f} liftc, {:.1f} the "
        "driver, {:.1f} first runs), {:.1f} timing, {:.1f} the best again\n",
        t.reference, t.choosing, t.building, r.compilerSeconds, r.driverSeconds, r.firstSeconds, t.timing, t.again);
  if (!r.best) out << "  no best: no point ran, was right and kept to the limits\n";
  if (!r.best) return;
  const std::string config = str(r.best->key.config);
  std::string again = s.choice.predicted.empty()
                          ? againOn(s.deviceRow, problem.row, *r.best)
                          : fmt::format("{} {}", tune::commandOf(problem.row, *r.best),
                                        commandLine({"--predict", "--profile", s.choice.predicted}));
  if (!buildOptions.empty()) again += " " + commandLine({"--build-options", buildOptions});
  out << fmt::format("  best: {}  {}{}\n  again: {}\n", speed(problem.row, *r.best), r.best->key.family,
                     config.empty() ? "" : " " + config, again);
}

// The exit status of a command that measured these points: ok where any of them ran and was right.
ExitStatus statusOf(const std::map<tune::Status, std::int64_t>& points) {
  if (points.count(tune::Status::ok) + points.count(tune::Status::skipped) > 0) return ExitStatus::ok;
  return points.count(tune::Status::wrong) > 0 ? ExitStatus::wrong : ExitStatus::device;
}

tune::SweepResult sweepProblem(const ProblemChoice& choice, const tune::Problem& problem, const Setting& s,
                               double seconds, tune::Database& db) {
  const Stopwatch before;
  const auto measurer = measurerOf(choice, problem, s);  // computes what results are judged by
  const double reference = before.seconds();
  tune::SweepOptions options = s.choice.options;
  options.seconds = seconds;
  if (options.explorer.empty()) options.explorer = "model";
  options.generator = "liftc " LIFT_VERSION;
  options.buildOptions = choice.device.buildOptions;
  options.provenance =
      fmt::format("liftc tune {} --explorer {} --seed {}", problem.row.command, options.explorer, options.seed);
  if (!options.buildOptions.empty()) options.provenance += " " + commandLine({"--build-options", options.buildOptions});
  if (options.explorer == "model" || options.explorer == "walk") {
    if (!tune::hasTrees() && !s.choice.quiet)
      std::cerr
          << "liftc was built without XGBoost (Debian: libxgboost-dev): the model is linear, and learns from this "
             "problem alone\n";
    if (!s.choice.alone)
      options.experience = tune::Experience::kept(tune::lessonsOf(db, s.deviceRow.id, problem.row.key),
                                                  databasePath(s.choice.db).string() + ".model");
  }
  options.stop = InterruptGuard::isInterrupted;
  options.troubles = troublesOf(s.choice.troubles);
  for (const std::string& family : problem.passedOver) std::cerr << fmt::format("passed over: {}\n", family);
  ProgressLine progress(problem.row, s.choice.quiet);
  tune::SweepResult result = tune::sweep(problem, s.deviceRow, db, *measurer, options, std::ref(progress));
  result.seconds.reference = reference;
  return result;
}

// One point, measured now whatever the database has, and not remembered.
int measurePoint(const ProblemChoice& choice, const tune::Problem& problem, const Setting& s) {
  if (problem.subspaces.size() != 1)
    throw UserError(ExitStatus::usage, "--config: which family?", "give one with --family");
  const auto measurer = measurerOf(choice, problem, s);
  const tune::Point point{problem.subspaces.front().search.name, parseValues({s.choice.config}, "--config")};
  problem.subspaces.front().plan(point.config);  // refuses what is no configuration
  std::optional<tune::Measurement> result;
  measurer->measure(
      tune::feedOf({{point}}), [] { return std::numeric_limits<double>::infinity(); },
      [&](std::size_t, tune::Measurement m) { result = std::move(m); }, InterruptGuard::isInterrupted,
      [] { return false; });
  if (!result) return interruptedStatus;
  const tune::Measurement& m = *result;
  if (s.choice.json) {
    Json j = bestJson(problem.row, m);
    j.erase("stage");
    j["status"] = tune::name(m.status);
    j["times_ms"] = m.times;
    j["detail"] = m.detail;
    printJson(j);
  } else if (m.valid()) {
    std::cout << fmt::format("{}  spread {:.1f} %, workspace {:.2f} MB, largest error {:.2g} of {:.2g}\n",
                             speed(problem.row, m), m.spread() * 100, static_cast<double>(m.workspaceBytes) * 1e-6,
                             m.maxError, m.tolerance);
  } else {
    std::cout << fmt::format("{}: {}\n", tune::name(m.status), m.detail);
  }
  return static_cast<int>(statusOf({{m.status, 1}}));
}

// The points that a random or exhaustive sweep would measure, in its order; below the problem's name where it is one of
// several.
void listPoints(const tune::Problem& problem, const SweepChoice& choice, bool isNamed) {
  const std::string& name = choice.options.explorer;
  if (!name.empty() && name != "random" && name != "exhaustive")
    throw UserError(ExitStatus::usage, fmt::format("--dry-run: where {} goes depends on what it measures", name),
                    "use --explorer random or exhaustive");
  std::vector<tune::SearchSpace> families;
  for (const tune::Subspace& s : problem.subspaces) families.push_back(s.search);
  const auto explorer = tune::makeExplorer(name.empty() ? "random" : name, families,
                                           {.seed = choice.options.seed, .points = choice.options.points});
  Json points = Json::array();
  if (isNamed && !choice.json) std::cout << problem.row.label << "\n";
  for (const tune::Point& p : explorer->next(static_cast<std::size_t>(choice.options.points))) {
    if (!choice.json) std::cout << fmt::format("{} {}\n", p.family, str(p.config));
    points.push_back({{"family", p.family}, {"config", p.config}});
  }
  if (choice.json) std::cout << dump(Json{{"problem", problem.row.key}, {"points", std::move(points)}}, -1) << "\n";
}

std::vector<ProblemChoice> problemsOf(const ProblemChoice& choice, const SweepChoice& sweep) {
  if (sweep.shapes.empty()) return {choice};
  if (!choice.conv.empty() || !choice.source.file.empty() || !choice.op.empty())
    throw UserError(ExitStatus::usage, "--shapes goes with no other problem");
  std::vector<ProblemChoice> all;
  for (const Workload& w : readWorkloads(sweep.shapes, "conv", {})) {
    all.push_back(choice);
    const std::string descriptor = w.label.empty() ? w.descriptor : fmt::format("{}n\"{}\"", w.descriptor, w.label);
    if (w.op == "conv")
      all.back().conv = descriptor;
    else
      all.back().op = {w.op, descriptor};
  }
  return all;
}

}  // namespace

Json bestJson(const tune::ProblemRow& row, const tune::Measurement& best) {
  return {{"family", best.key.family},
          {"config", best.key.config},
          {"ms", best.median()},
          {"spread", best.spread()},
          {"gflops", gflops(row.operations, best.median())},
          {"workspace_bytes", best.workspaceBytes},
          {"max_rel_err", best.maxError},
          {"stage", tune::name(best.key.phase)}};
}

std::string againOn(const tune::DeviceRow& device, const tune::ProblemRow& row, const tune::Measurement& m) {
  std::vector<std::string> words{"--device", device.name};
  const bool isOurs = device.platform == runtime::emulatorDeviceInfo().platform;  // known by its name alone
  if (!isOurs) words.insert(words.end(), {"--platform", device.platform});
  return fmt::format("{} {}", tune::commandOf(row, m), commandLine(words));
}

std::string speed(const tune::ProblemRow& row, const tune::Measurement& m) {
  const std::string rate =
      row.operations > 0 ? fmt::format(", {:.1f} GFLOP/s", gflops(row.operations, m.median())) : "";
  return fmt::format("{:.3f} ms{}", m.median(), rate);
}

void SweepChoice::add(cli::App& app) {
  app.add_option("--shapes", shapes, "File of layers, one a line, in place of --conv");
  app.add_option("--points", options.points, "Budget: points to try, of each problem")
      ->positive()
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of the search")->capture_default_str();
  app.add_option("--explorer", options.explorer,
                 "How points are chosen: model, walk, q, random, annealing, exhaustive (default: model; of --dry-run "
                 "random)");
  app.add_flag("--alone", alone, "Models learn from this problem's measurements only, not from others in the database");
  app.add_option("--time-limit", timeLimit,
                 "Budget: time of this command, 90s, 10m, 2h; each layer has an equal part. With --replay the recorded "
                 "time after which the regret is told (default: 60s)");
  app.add_option("--max-workspace", options.maxWorkspace, "Bytes that the best may use beside the tensors: 4MB")
      ->asSize()
      ->type_name("SIZE");
  app.add_option("--max-error", options.maxError, "Largest error that the best may have, relative to the results: 1e-5")
      ->nonNegative();
  app.add_option("--patience", options.patience, "Budget: so many points without a gain of 1 %")->nonNegative();
  app.add_option("--config", config, "Measure this one point, k=v,k=v, and remember nothing")->type_name("K=V,…");
  app.add_flag("--dry-run", dryRun, "Print the points, measure nothing");
  addMeasuring(app);
  app.add_option("--db", db, "Database (default: LIFTC_DB, else liftc/tune.db in XDG_DATA_HOME)");
  app.add_option("--report", report, "Write a report as HTML")->type_name("FILE");
  app.add_flag("--json", json, "Print the results as JSON");
  app.add_flag("-q,--quiet", quiet, "No progress");
  app.add_option("--test-trouble", troubles, "Faults in kernels, POSITION=loop|crash|wrong|build,…")->group("");
}

void SweepChoice::addMeasuring(cli::App& app) {
  app.add_option("--workers", workers, "Processes that build (default: one for each core)")->nonNegative();
  app.add_option("--build-limit", options.limits.buildSeconds, "Seconds in which a point must build")
      ->positive()
      ->capture_default_str();
  app.add_option("--run-limit", options.limits.runSeconds, "Seconds in which a point must run")
      ->positive()
      ->capture_default_str();
  app.add_option("--least-run-limit", options.limits.leastRunSeconds,
                 "Seconds that a point may run at least, however fast others ran")
      ->nonNegative()
      ->capture_default_str();
  app.add_option("--give-up", options.limits.hopeless, "A repetition so many times slower than the best ends a point")
      ->positive()
      ->capture_default_str();
}

int runSweeps(const ProblemChoice& choice, const SweepChoice& sweep) {
  const std::vector<ProblemChoice> choices = problemsOf(choice, sweep);
  Setting s{sweep, sweep.predicted.empty() ? choice.device.open()->info() : runtime::readProfile(sweep.predicted), {}};
  s.deviceRow = tune::deviceRow(s.device);
  double secondsLeft =
      sweep.timeLimit.empty() ? std::numeric_limits<double>::infinity() : secondsOf(sweep.timeLimit, "--time-limit");
  if (sweep.dryRun) {
    for (const ProblemChoice& c : choices) listPoints(c.problem(s.device), sweep, choices.size() > 1);
    return 0;
  }
  const InterruptGuard guard;
  if (sweep.isPoint && choices.size() > 1)
    throw UserError(ExitStatus::usage,
                    fmt::format("--config is a point of one problem, '{}' has {}", sweep.shapes, choices.size()),
                    "name it: --conv DESCRIPTOR or --op NAME DESCRIPTOR");
  if (sweep.isPoint) return measurePoint(choices.front(), choices.front().problem(s.device), s);

  // What is predicted is no measurement: it is kept only where a file is named for it.
  auto db = sweep.db.empty() && !sweep.predicted.empty() ? tune::Database::inMemory()
                                                         : tune::Database::open(databasePath(sweep.db));
  Json rows = Json::array();
  std::vector<std::string> keys;
  ExitStatus status = ExitStatus::ok;  // the worst of all problems
  for (std::size_t i = 0; i < choices.size() && !InterruptGuard::isInterrupted(); i++) {
    const Stopwatch watch;
    const tune::Problem problem = choices[i].problem(s.device);
    const double share = secondsLeft / static_cast<double>(choices.size() - i);
    const tune::SweepResult result = sweepProblem(choices[i], problem, s, share, db);
    keys.push_back(problem.row.key);
    rows.push_back(resultJson(problem, s, result));
    status = std::max({status, statusOf(result.byStatus), result.best ? ExitStatus::ok : ExitStatus::device});
    if (!sweep.json) printResult(problem, s, result, choices[i].device.buildOptions, std::cout);
    secondsLeft -= watch.seconds();
  }
  if (sweep.json) printJson(Json{{"schema", 1}, {"rows", rows}});
  if (!sweep.report.empty()) writeFile(sweep.report, tune::report(db, s.deviceRow.id, keys));
  return InterruptGuard::isInterrupted() ? interruptedStatus : static_cast<int>(status);
}

bool tuneWorkload(const Workload& workload, const DeviceOptions& device, double seconds, const std::string& path,
                  bool quiet) {
  ProblemChoice choice;
  choice.op = {workload.op, workload.descriptor};
  choice.device = device;
  std::vector<std::string> command = {"/proc/self/exe", "tune"};
  const auto words = choice.words();
  command.insert(command.end(), words.begin(), words.end());
  command.insert(command.end(), {"--time-limit", fmt::format("{}s", seconds)});
  if (!path.empty()) command.insert(command.end(), {"--db", path});
  if (quiet) command.emplace_back("--quiet");
  const InterruptGuard guard;
  const int status = followProgram(command, quiet ? Follow::errors : Follow::all);
  if (status == interruptedStatus || InterruptGuard::isInterrupted()) return false;
  if (status != 0 && status != static_cast<int>(ExitStatus::device) && status != static_cast<int>(ExitStatus::wrong))
    throw UserError(ExitStatus::device, fmt::format("tuning {} ended with exit status {}", workload.descriptor, status),
                    "`" + commandLine(command) + "` tells why");
  return true;
}

namespace {

// Lines of points to measure, {"points": [{"family": …, "config": {…}}, …]} as --dry-run --json prints them; for each,
// as many lines of a database's export as it has points, after those that the records refer to.
class PointServer {
 public:
  PointServer(const ProblemChoice& choice, const SweepChoice& sweep)
      : device_(choice.device.open()->info()), problem_(choice.problem(device_)) {
    deviceRow_ = tune::deviceRow(device_);
    measurer_ = measurerOf(choice, problem_, {sweep, device_, deviceRow_});
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    provenance_ = fmt::format("liftc tune-worker {} on {}", problem_.row.command, host);
  }

  int serve() {
    auto rows = tune::Database::inMemory();
    rows.add(problem_.row);
    rows.add(deviceRow_);
    for (const tune::Subspace& s : problem_.subspaces) rows.add(tune::derivationRow(s.derivation));
    tune::exportLines(rows, std::cout);
    std::cout.flush();
    int number = 1;
    for (std::string line; std::getline(std::cin, line); number++) {
      if (!line.empty()) measure(tasksOf(line, number));
      if (InterruptGuard::isInterrupted()) return interruptedStatus;
    }
    return 0;
  }

 private:
  std::vector<tune::Task> tasksOf(const std::string& line, int number) const {
    std::vector<tune::Task> tasks;
    const auto fail = [&](const std::string& what) {
      throw UserError(ExitStatus::usage, fmt::format("line {} of the input: {}", number, what),
                      "a line is {\"points\": [{\"family\": …, \"config\": {…}}, …]}, as `liftc tune --dry-run "
                      "--json` prints it");
    };
    try {
      const Json request = Json::parse(line);
      for (const Json& p : request.at("points")) tasks.push_back({{p.at("family"), p.at("config").get<Config>()}});
    } catch (const nlohmann::json::exception& e) {
      fail(reasonOf(e));
    }
    for (const tune::Task& t : tasks)
      if (std::ranges::none_of(problem_.subspaces,
                               [&](const tune::Subspace& s) { return s.search.name == t.point.family; }))
        fail("the problem has no family '" + t.point.family + "'");
    return tasks;
  }

  void measure(const std::vector<tune::Task>& tasks) {
    const auto done = [&](std::size_t task, tune::Measurement m) {
      const tune::Point& point = tasks[task].point;
      m.key = {problem_.row.key, deviceRow_.id, m.key.kernels, point.family, point.config, tune::Phase::sweep};
      m.derivation = tune::derivationRow(problem_.subspace(point.family).derivation).id;
      m.generator = "liftc " LIFT_VERSION;
      m.provenance = provenance_;
      m.measuredAt = tune::utcNow();
      if (m.valid()) best_ = std::min(best_, m.median());
      std::cout << tune::exportLine(m) << std::endl;
    };
    measurer_->measure(
        tune::feedOf(tasks), [&] { return best_; }, done, InterruptGuard::isInterrupted, [] { return false; });
  }

  const runtime::DeviceInfo device_;
  const tune::Problem problem_;
  tune::DeviceRow deviceRow_;
  std::unique_ptr<tune::Measurer> measurer_;
  std::string provenance_;
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace

void addTuneWorker(cli::App& app, int& status) {
  auto choice = std::make_shared<ProblemChoice>();
  auto sweep = std::make_shared<SweepChoice>();
  cli::App* sub = app.add_subcommand(
      "tune-worker", "Measure points that arrive as lines on standard input; records go to standard output");
  choice->add(*sub);
  sweep->addMeasuring(*sub);
  onCall(*sub, status, [choice, sweep, sub] {
    choice->checkOptions(*sub, false);
    const InterruptGuard guard;
    return PointServer(*choice, *sweep).serve();
  });
}

void addTuneChild(cli::App& app, int& status) {
  auto choice = std::make_shared<ProblemChoice>();
  cli::App* sub = app.add_subcommand("tune-child", "Builds and runs points for `liftc tune`")->group("");
  choice->add(*sub);
  onCall(*sub, status, [choice] {
    const auto device = choice->device.open();
    return tune::serveWorker(choice->problem(device->info()), *device, choice->device.load());
  });
}

}  // namespace lift::liftc
