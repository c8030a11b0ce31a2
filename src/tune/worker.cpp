// The child's side of measuring: builds, runs and checks one point after the other.
//
// Requests and answers are lines of JSON:
//   {op: "open", tolerance}                               ->  {op: "ready", device: id, pausable}
//   {op: "build", id, family, config, trouble, best_ms,   ->  {op: "compiled", kernels} and {op: "loaded"}, as soon as
//    hopeless}
//                                                             it is; {op: "built", status, detail, compile_ms,
//                                                             build_ms, first_ms, workspace, max_error} when it has
//                                                             run once, judged
//   {op: "run", …as build, sample_s}                      ->  {op: "ran", status, …as built, times}
//   {op: "time", …as build, sample_s}                     ->  {op: "timed", times}; the point is kept
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lift/diagnostic.hpp"
#include "lift/stopwatch.hpp"
#include "lift/tune.hpp"
#include "process.hpp"

namespace lift::tune {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int fewestRepetitions = 3, mostRepetitions = 20;
constexpr double nearBest = 1.3;  // times the best: more than the spread of a time
// Repetitions shorter than this are not worth stopping, and the first one pays for what drivers do late.
constexpr double shortestStopMs = 50;
// A first run, beside which others build, is no time; but nothing slows it down as much as this.
constexpr double besideBuilds = 4;

// Faults that a test asks for; text at the beginning of every kernel's body.
void putTrouble(kernel::Plan& plan, const std::string& trouble) {
  const std::map<std::string, std::string> faults = {
      {"loop", " volatile int liftForever = 1; while (liftForever) {} "},
      {"slow", " for (volatile int liftSlow = 0; liftSlow < 100000000; liftSlow++) {} "},
      {"crash", " *(volatile __global int*)16 = 1; "},
      {"wrong", " return; "},
      {"build", " this is not OpenCL C; "}};
  if (trouble.empty()) return;
  for (std::string& source : plan.sources) {
    const auto kernel = source.find("__kernel");
    const auto body = source.find("{\n", kernel);
    ensure(kernel != std::string::npos && body != std::string::npos, "a kernel has a body");
    source.insert(body + 1, faults.at(trouble));
  }
}

struct Built {
  std::unique_ptr<runtime::Executable> executable;  // none: it failed
  Json report;
};

class Server {
 public:
  Server(const Problem& problem, runtime::Device& device, const runtime::LoadOptions& options, Channel& channel)
      : problem_(problem), device_(device), options_(options), channel_(channel) {
    // A point is built once.
    options_.cache = false;
  }

  Json answer(const Json& request) {
    const std::string op = request.at("op");
    if (op == "open") return open(request);
    if (op == "build") return build(request).report;
    if (op == "run") return run(request);
    if (op == "time") return time(request);
    throw InternalError("unknown request " + op);
  }

 private:
  Json open(const Json& request) {
    tolerance_ = request.at("tolerance");
    rows_ = request.at("rows").get<std::vector<std::int64_t>>();
    for (auto& [name, tensor] : readNpz(fmt::format("/proc/self/fd/{}", dataFd)))
      (name[0] == 'i' ? inputs_ : expected_)[name.substr(1)] = std::move(tensor);
    const bool host = device_.info().type == "cpu";
    return {{"op", "ready"}, {"device", deviceRow(device_.info()).id}, {"pausable", host}};
  }

  Built& build(const Json& request) {
    const std::int64_t id = request.at("id");
    const auto found = built_.find(id);
    if (found != built_.end()) return found->second;
    Built& built = built_[id];
    built.report = {{"op", "built"}, {"status", name(Status::ok)}, {"detail", ""}};
    const Stopwatch compiling;
    try {
      kernel::Plan plan = problem_.subspace(request.at("family")).plan(request.at("config").get<Config>());
      built.report["compile_ms"] = compiling.milliseconds();
      channel_.send({{"op", "compiled"}, {"kernels", kernelIdentity(plan, options_.buildOptions)}});
      putTrouble(plan, request.value("trouble", ""));
      built.executable = device_.load(plan, {}, options_);
      built.report["build_ms"] = built.executable->build().milliseconds;
      channel_.send({{"op", "loaded"}});
      const Stopwatch judging;
      judge(built, stopAbove(request));
      built.report["first_ms"] = judging.milliseconds();
    } catch (const UserError& e) {
      const bool wrong = built.executable && e.status() == ExitStatus::wrong;
      const bool died = built.executable && e.status() != ExitStatus::device;
      fail(built.report, wrong ? Status::wrong : died ? Status::crash : Status::buildError, e.what());
    } catch (const InternalError& e) {
      fail(built.report, Status::buildError, fmt::format("internal error: {}", e.what()));
    }
    return built;
  }

  Json run(const Json& request) {
    Built& built = build(request);
    Json report = built.report;
    report["op"] = "ran";
    try {
      const bool sound = built.report.at("status") == name(Status::ok);
      if (built.executable && sound) measure(*built.executable, request, report);
    } catch (const UserError& e) {
      const bool refused = e.status() == ExitStatus::device;
      fail(report,
           e.status() == ExitStatus::wrong ? Status::wrong
           : refused                       ? Status::buildError
                                           : Status::crash,
           e.what());
    }
    built_.erase(request.at("id").get<std::int64_t>());
    return report;
  }

  // A repetition that takes longer than this many milliseconds is of a hopeless point.
  static double stopAbove(const Json& request) {
    const Json best = request.value("best_ms", Json());
    return best.is_null() ? infinity
                          : std::max(shortestStopMs, best.get<double>() * request.at("hopeless").get<double>());
  }

  // Runs once, while others build: drivers compile at the first launch what they did not when they built, which takes
  // longer than all repetitions. The results are compared with the reference; the time does not count, unless it is so
  // long, twice, that the point is hopeless on an idle machine, too.
  void judge(Built& built, double stopAboveMs) {
    runtime::MeasureOptions options;
    options.repetitions = 1;
    options.warmup = 0;
    options.outputs = true;
    const runtime::Timing first = built.executable->measure(inputs_, options);
    built.report["workspace"] = first.memory.temporaries;
    const double error = largestError(rowsOf(first.outputs, rows_), expected_);
    built.report["max_error"] = std::isfinite(error) ? Json(error) : Json(nullptr);
    if (!(error <= tolerance_))
      return fail(built.report, Status::wrong,
                  fmt::format("largest error {:.3g}, tolerance {:.3g}", error, tolerance_));
    const auto slow = [&](double ms) {
      return built.executable->timer() == runtime::Timer::device && ms > besideBuilds * stopAboveMs;
    };
    if (!slow(first.median()) || !slow(built.executable->repeat().milliseconds)) return;
    built.report["times"] = {stopAboveMs};
    fail(built.report, Status::skipped, "hopeless in its first runs");
  }

  // Once, which decides whether the rest is worth the time.
  void measure(runtime::Executable& executable, const Json& request, Json& report) {
    const runtime::Repetition first = prepared(executable);
    report["times"] = std::vector{first.milliseconds};
    if (first.milliseconds > stopAbove(request))
      return fail(report, Status::skipped,
                  fmt::format("more than {} times slower than the best", request.at("hopeless").dump()));
    report["times"] = repeated(executable, request.at("sample_s"), first, request.at("best_ms"));
    if (executable.timer() == runtime::Timer::host) report["detail"] = "timed by the host's clock";
  }

  // With the inputs on the device; one repetition, to warm up.
  runtime::Repetition prepared(runtime::Executable& executable) const {
    executable.prepare(inputs_);
    return executable.repeat();
  }

  // What is not near the best after the fewest repetitions, which are its time then, is not worth the others.
  static std::vector<double> repeated(runtime::Executable& executable, double seconds, const runtime::Repetition& first,
                                      const Json& bestMs = {}) {
    const double batch = runtime::MeasureOptions().batchMilliseconds;
    const int runs = runtime::runsInBatch(std::max(first.milliseconds, first.wallMilliseconds), batch);
    const double wanted = seconds * 1e3 / std::max(first.milliseconds, batch);
    const auto count = static_cast<int>(std::clamp<double>(wanted, fewestRepetitions, mostRepetitions));
    std::vector<double> times;
    const auto far = [&] { return !bestMs.is_null() && runtime::median(times) > nearBest * bestMs.get<double>(); };
    for (int i = 0; i < count && (i != fewestRepetitions || !far()); i++)
      times.push_back(executable.repeat(runs).milliseconds);
    return times;
  }

  Json time(const Json& request) {
    Built& built = build(request);
    Json report{{"op", "timed"}, {"times", Json::array()}};
    if (!built.executable || built.report.at("status") != name(Status::ok)) return report;
    report["times"] = repeated(*built.executable, request.at("sample_s"), prepared(*built.executable));
    return report;
  }

  static void fail(Json& report, Status status, const std::string& detail) {
    report["status"] = name(status);
    report["detail"] = detail;
  }

  const Problem& problem_;
  runtime::Device& device_;
  runtime::LoadOptions options_;
  Channel& channel_;
  std::map<std::string, Tensor> inputs_, expected_;
  double tolerance_ = 0;
  std::vector<std::int64_t> rows_;
  std::map<std::int64_t, Built> built_;
};

}  // namespace

int serveWorker(const Problem& problem, runtime::Device& device, const runtime::LoadOptions& options) {
  Channel channel;
  Server server(problem, device, options, channel);
  while (const auto request = channel.receive()) channel.send(server.answer(*request));
  return 0;
}

}  // namespace lift::tune
