// The parent's side of measuring: children that build in parallel and run in turn.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>

#include "lift/diagnostic.hpp"
#include "lift/tune.hpp"
#include "process.hpp"

namespace lift::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int tickMs = 100;  // how often `stop` is asked
// For the last builds of a batch, before those that are built are timed.
constexpr std::chrono::seconds patience{1};
// For what is being built when it gets late: its process has built others, too, which would be lost with it.
constexpr std::chrono::seconds grace{2};

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::string formatTensors(const ProblemData& data) {
  std::map<std::string, Tensor> all;
  for (const auto& [name, tensor] : data.inputs) all["i" + name] = tensor;
  for (const auto& [name, tensor] : data.expected) all["e" + name] = tensor;
  return formatNpz(all);
}

class Workers : public Measurer {
 public:
  Workers(std::vector<std::string> command, const ProblemData& data, const Limits& limits, int workers)
      : command_(std::move(command)),
        data_(formatTensors(data)),
        tolerance_(data.tolerance),
        rows_(data.rows),
        limits_(limits),
        slots_(static_cast<std::size_t>(std::max(1, workers))) {}

  void measure(const std::vector<Task>& tasks, double bestMs, const std::function<void(std::size_t, Measurement)>& done,
               const Stop& stop, const Stop& late) override {
    const std::int64_t base = nextId_;
    nextId_ += static_cast<std::int64_t>(tasks.size());
    std::vector<Json> requests;
    for (std::size_t i = 0; i < tasks.size(); i++)
      requests.push_back(
          request("build", base + static_cast<std::int64_t>(i), tasks[i].point, bestMs, tasks[i].trouble));
    std::vector<Answer> built(tasks.size());
    std::vector<bool> told(tasks.size(), false);
    // Times what was built, and reports; false when stopped.
    const auto tell = [&](std::size_t i) {
      Answer answer = std::move(built[i]);
      if (!answer.failed()) answer = run(std::move(requests[i]), std::move(answer), bestMs, stop);
      if (answer.kind == Answer::Kind::stopped) return false;
      Measurement m = measurementOf(tasks[i].point, answer, bestMs);
      if (m.valid()) bestMs = std::min(bestMs, m.median());
      told[i] = true;
      done(i, std::move(m));
      return true;
    };
    const auto tellWhere = [&](const std::function<bool(const Answer&)>& may) {
      for (std::size_t i = 0; i < tasks.size() && !stop(); i++)
        if (!told[i] && built[i].kind != Answer::Kind::none && may(built[i]) && !tell(i)) return;
    };
    std::deque<std::size_t> queue;
    for (std::size_t i = 0; i < tasks.size(); i++) queue.push_back(i);
    auto latest = Clock::now();            // when the last answer came
    std::optional<Clock::time_point> end;  // when it was late, and a little time for what was being built
    while ((!queue.empty() || isBuilding()) && !stop()) {
      if (!end && late()) end = Clock::now() + grace, queue.clear();
      if (end && (!isBuilding() || Clock::now() > *end)) break;
      if (build(requests, queue, bestMs, built)) latest = Clock::now();
      tellWhere([](const Answer& a) { return a.failed(); });
      if (!queue.empty() || !pausable_ || Clock::now() - latest < patience) continue;
      // What still builds, or hangs in its first run, would delay the others' reports.
      pauseBuilding();
      tellWhere([](const Answer& a) { return a.held() && !a.holder->building; });
      resumeBuilding();
    }
    for (Slot& slot : slots_)  // only when stopped or late: an answer that nobody waits for would confuse
      if (slot.building) slot.child.reset(), slot.building.reset();
    tellWhere([](const Answer&) { return true; });
  }

  std::vector<std::vector<double>> retime(const std::vector<Point>& points, int rounds, const Stop& stop) override {
    std::vector<std::vector<double>> times(points.size());
    std::vector<bool> failed(points.size(), false);
    const std::int64_t base = nextId_;
    nextId_ += static_cast<std::int64_t>(points.size());
    for (int round = 0; round < rounds; round++)
      for (std::size_t i = 0; i < points.size(); i++) {
        if (failed[i]) continue;
        Json r = request("time", base + static_cast<std::int64_t>(i), points[i]);
        r["sample_s"] = limits_.sampleSeconds / rounds;
        const Answer answer = ask(slots_.front(), r, limits_.buildSeconds + limits_.runSeconds, stop);
        if (answer.kind == Answer::Kind::stopped) return std::vector<std::vector<double>>(points.size());
        const auto more =
            answer.failed() ? std::vector<double>() : answer.report.at("times").get<std::vector<double>>();
        failed[i] = more.empty();
        times[i].insert(times[i].end(), more.begin(), more.end());
        if (failed[i]) times[i].clear();
      }
    return times;
  }

 private:
  // One child, perhaps not started yet, and what it is at.
  struct Slot {
    std::unique_ptr<Child> child;
    int starts = 0;
    std::string kernels;                  // identity of those that it compiled last
    std::optional<std::size_t> building;  // index of a request
    double bestMs = 0;                    // when it was sent
    bool running = false;                 // it is built, and runs for the first time
    double limit = 0;                     // seconds of that
    Clock::time_point began, deadline;

    void runs(double seconds) {
      running = true;
      limit = seconds;
      began = Clock::now();
      deadline = after(seconds);
    }
  };

  struct Answer {
    enum class Kind { none, report, timeout, died, stopped } kind = Kind::none;
    Json report = {};          // kind report
    std::string kernels = {};  // empty: they were not compiled
    std::string detail = {};   // kind died
    Slot* holder = nullptr;    // whose child has it built…
    int start = 0;             // …if it still is this one
    double limit = 0;          // kind timeout, while running: seconds
    double timingMs = 0;       // of the runs that were timed

    bool held() const { return holder != nullptr && holder->child && holder->starts == start; }

    bool failed() const {
      return kind != Kind::none && (kind != Kind::report || report.value("status", "ok") != name(Status::ok));
    }
  };

  Json request(const char* op, std::int64_t id, const Point& point,
               double bestMs = std::numeric_limits<double>::infinity(), const std::string& trouble = {}) const {
    return {{"op", op},
            {"id", id},
            {"family", point.family},
            {"config", point.config},
            {"trouble", trouble},
            {"best_ms", std::isfinite(bestMs) ? Json(bestMs) : Json(nullptr)},
            {"hopeless", limits_.hopeless}};
  }

  Child& started(Slot& slot) {
    if (!slot.child) {
      slot.child = std::make_unique<Child>(command_, data_);
      slot.starts++;
      slot.child->send({{"op", "open"}, {"tolerance", tolerance_}, {"rows", rows_}});
    }
    return *slot.child;
  }

  // The child's answer to the last request, if it has come; how it died, if it has. A child that never got ready tells
  // of a broken setup, not of a point.
  std::optional<Answer> received(Slot& slot) {
    while (auto message = slot.child->receive()) {
      if (message->is_object() && message->value("op", "") == "ready") {
        everReady_ = true;
        pausable_ = message->value("pausable", false);
        continue;
      }
      if (message->is_object() && message->value("op", "") == "loaded") {
        if (slot.building) slot.runs(runLimit(slot.bestMs));
        continue;
      }
      if (message->is_object() && message->value("op", "") == "compiled") {
        slot.kernels = message->value("kernels", "");
        continue;
      }
      return Answer{Answer::Kind::report, std::move(*message), slot.kernels, {}, &slot, slot.starts};
    }
    if (!slot.child->gone()) return std::nullopt;
    const std::string how = slot.child->end();
    slot.child.reset();
    if (!everReady_)
      throw UserError(ExitStatus::device, fmt::format("the process to measure in did not start: {}", how),
                      "does `liftc run` work on this device?");
    return Answer{Answer::Kind::died, {}, slot.kernels, how};
  }

  void wait() const {
    std::vector<pollfd> fds;
    for (const Slot& slot : slots_)
      if (slot.child) fds.push_back({slot.child->fd(), POLLIN, 0});
    poll(fds.data(), fds.size(), tickMs);
  }

  static Answer expired(Slot& slot) {
    slot.child.reset();
    return Answer{Answer::Kind::timeout, {}, slot.kernels};
  }

  Answer ask(Slot& slot, const Json& request, double seconds, const Stop& stop) {
    const auto deadline = after(seconds);
    started(slot).send(request);
    for (;;) {
      if (auto answer = received(slot)) return std::move(*answer);
      if (stop()) {
        slot.child.reset();
        return Answer{Answer::Kind::stopped};
      }
      if (Clock::now() > deadline) return expired(slot);
      wait();
    }
  }

  bool isBuilding() const {
    return std::any_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.building.has_value(); });
  }

  // Gives the idle something to build, waits a little, and collects what was answered; true if anything was.
  bool build(const std::vector<Json>& requests, std::deque<std::size_t>& queue, double bestMs,
             std::vector<Answer>& answers) {
    for (Slot& slot : slots_) {
      if (slot.building || queue.empty()) continue;
      slot.building = queue.front();
      queue.pop_front();
      slot.kernels.clear();
      slot.bestMs = bestMs;
      slot.running = false;
      started(slot).send(requests[*slot.building]);
      slot.deadline = after(limits_.buildSeconds);
    }
    wait();
    bool any = false;
    for (Slot& slot : slots_)
      if (slot.building) any = collect(slot, answers) || any;
    return any;
  }

  bool collect(Slot& slot, std::vector<Answer>& answers) {
    auto answer = received(slot);
    if (!answer && Clock::now() > slot.deadline) answer = expired(slot);
    if (!answer) return false;
    if (answer->kind == Answer::Kind::died && !slot.running) answer->detail += " while building";
    if (answer->kind == Answer::Kind::timeout && !slot.running) answer->detail = "while building";
    answer->limit = slot.limit;
    if (!answer->failed()) took(slot.began);
    answers[*slot.building] = std::move(*answer);
    slot.building.reset();
    return true;
  }

  // Time does not pass for those that are paused.
  void pauseBuilding() {
    pausedAt_ = Clock::now();
    for (Slot& slot : slots_)
      if (slot.building && slot.child) slot.child->pause();
  }

  void resumeBuilding() {
    const auto paused = Clock::now() - pausedAt_;
    for (Slot& slot : slots_) {
      if (!slot.building || !slot.child) continue;
      slot.child->resume();
      slot.began += paused;
      slot.deadline += paused;
    }
  }

  Answer run(Json request, Answer built, double bestMs, const Stop& stop) {
    request["op"] = "run";
    request["best_ms"] = std::isfinite(bestMs) ? Json(bestMs) : Json(nullptr);
    request["sample_s"] = limits_.sampleSeconds;
    // A child that died took with it what it had built: another builds it again.
    const bool held = built.held();
    Slot& slot = held ? *built.holder : slots_.front();
    const double limit = runLimit(bestMs);
    const auto begin = Clock::now();
    Answer answer = ask(slot, request, limit + (held ? 0 : limits_.buildSeconds), stop);
    if (answer.kind == Answer::Kind::timeout) answer.limit = limit;
    if (held && answer.kind == Answer::Kind::report && !answer.failed()) took(begin);
    if (answer.kind != Answer::Kind::report) answer.report = built.report;  // what building told still holds
    answer.timingMs = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    answer.kernels = std::move(built.kernels);
    return answer;
  }

  void took(Clock::time_point begin) {
    besides_ = std::max(besides_, std::chrono::duration<double>(Clock::now() - begin).count());
  }

  // A point that is hopeless is not waited for: it may take as long as any that was right, several times, and as long
  // as a hopeless repetition besides. Before anything is known, it is the limit that the user gave.
  double runLimit(double bestMs) const {
    constexpr double slack = 3;
    if (!std::isfinite(bestMs) || besides_ == 0) return limits_.runSeconds;
    return std::min(limits_.runSeconds,
                    std::max(limits_.leastRunSeconds, slack * besides_ + 2 * limits_.hopeless * bestMs * 1e-3));
  }

  Measurement measurementOf(const Point& point, const Answer& answer, double bestMs) const {
    Measurement m;
    m.key.family = point.family;
    m.key.config = point.config;
    m.key.kernels = answer.kernels;
    m.tolerance = tolerance_;
    m.timingMs = answer.timingMs;
    const Json& r = answer.report;
    if (r.is_object()) {
      m.compileMs = r.value("compile_ms", 0.0);
      m.buildMs = r.value("build_ms", 0.0);
      m.firstMs = r.value("first_ms", 0.0);
      m.workspaceBytes = r.value("workspace", std::int64_t{0});
      m.times = r.value("times", std::vector<double>());
      m.maxError = r.contains("max_error") && r["max_error"].is_number() ? r["max_error"].get<double>()
                                                                         : std::numeric_limits<double>::quiet_NaN();
      m.detail = r.value("detail", "");
    }
    if (answer.kind == Answer::Kind::report) {
      m.status = statusNamed(r.value("status", "")).value_or(Status::crash);
    } else if (answer.kind == Answer::Kind::timeout) {
      const bool building = !answer.detail.empty();
      m.status = building ? Status::buildTimeout : Status::runTimeout;
      m.detail = fmt::format("more than {:.3g} s", building ? limits_.buildSeconds : answer.limit);
      // It took longer than this for sure, as what besides its kernels takes time was allowed for.
      if (!building && std::isfinite(bestMs)) m.times = {limits_.hopeless * bestMs};
    } else {
      m.status = Status::crash;
      m.detail = answer.detail;
    }
    return m;
  }

  std::vector<std::string> command_;
  SharedFile data_;
  double tolerance_;
  std::vector<std::int64_t> rows_;
  Limits limits_;
  std::vector<Slot> slots_;
  std::int64_t nextId_ = 0;
  bool everReady_ = false;
  bool pausable_ = false;  // what children do, they do on this processor: paused, they disturb nothing
  Clock::time_point pausedAt_;
  double besides_ = 0;  // seconds that a run took at most, with transfers, preparation, checks and repetitions
};

}  // namespace

std::unique_ptr<Measurer> makeWorkers(std::vector<std::string> command, const ProblemData& data, const Limits& limits,
                                      int workers) {
  return std::make_unique<Workers>(std::move(command), data, limits, workers);
}

}  // namespace lift::tune
