// The parent's side of measuring: children that build in parallel and run in turn.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>

#include "lift/diagnostic.hpp"
#include "lift/stopwatch.hpp"
#include "lift/tune.hpp"
#include "process.hpp"

namespace lift::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int tickMs = 100;  // how often `stop` is asked
// Points that one child builds: drivers, and this compiler, give back little of the memory that building takes.
constexpr int lifetime = 50;
// For what is being built when it gets late: its process has built others, too, which would be lost with it.
constexpr std::chrono::seconds grace{2};

Clock::time_point after(double seconds) {
  constexpr double longest = 1e9;  // the clock counts nanoseconds
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, longest)));
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

  void measure(const Feed& feed, const BestMs& bestMs, const std::function<void(std::size_t, Measurement)>& done,
               const Stop& stop, const Stop& late) override {
    std::deque<Job> jobs;
    std::deque<std::size_t> queue;
    std::size_t left = 0;  // jobs that were not told
    // Children that are not paused beside runs that are timed build all that there is, before any of it is timed.
    bool open = true;
    const auto refill = [&] {
      while (open && (queue.empty() || (everReady_ && !pausable_))) {
        const std::vector<Task> tasks = feed();
        for (const Task& t : tasks) {
          queue.push_back(jobs.size());
          jobs.push_back({t, nextId_++, {}, false});
        }
        left += tasks.size();
        if (tasks.empty()) return void(open = pausable_);
      }
    };
    // Times what was built, and reports; false when stopped.
    const auto tell = [&](std::size_t i) {
      Job& job = jobs[i];
      Answer answer = std::move(job.built);
      const double best = bestMs();
      if (!answer.failed()) answer = run(request("run", job, best), std::move(answer), best, stop);
      if (answer.kind == Answer::Kind::stopped) return false;
      Measurement m = measurementOf(job.task.point, answer, best);
      job.told = true;
      left--;
      done(i, std::move(m));
      return true;
    };
    const auto isReady = [&](std::size_t i) { return !jobs[i].told && jobs[i].built.kind != Answer::Kind::none; };
    const auto tellWhere = [&](const std::function<bool(const Answer&)>& may) {
      for (std::size_t i = 0; i < jobs.size() && !stop(); i++)
        if (isReady(i) && may(jobs[i].built) && !tell(i)) return;
    };
    std::optional<Clock::time_point> end;  // when it was late, and a little time for what was being built
    while (!stop()) {
      if (!end && late()) end = Clock::now() + grace, queue.clear(), open = false;
      if (end && (!isBuilding() || Clock::now() > *end)) break;
      refill();
      if (left == 0) break;
      build(jobs, queue, bestMs());
      tellWhere([](const Answer& a) { return a.failed(); });
      if (queue.empty() && !isBuilding()) {
        tellWhere([](const Answer&) { return true; });
      } else if (pausable_) {
        const auto isFree = [](const Answer& a) { return a.held() && !a.holder->building; };
        for (std::size_t i = 0; i < jobs.size(); i++)
          if (isReady(i) && isFree(jobs[i].built)) {
            pauseBuilding();
            tell(i);
            resumeBuilding();
          }
      }
      if (left == 0 && !end) open = true;
    }
    for (Slot& slot : slots_)  // only when stopped or late: an answer that nobody waits for would confuse
      if (slot.building) slot.child.reset(), slot.building.reset();
    tellWhere([](const Answer&) { return true; });
  }

  std::vector<std::vector<double>> retime(const std::vector<Point>& points, int rounds, const Stop& stop) override {
    std::vector<std::vector<double>> times(points.size());
    std::vector<bool> failed(points.size(), false);
    std::vector<Job> jobs;
    for (const Point& point : points) jobs.push_back({{point}, nextId_++, {}, false});
    constexpr int fewestRounds = 3;
    const Stopwatch watch;
    for (int round = 0; round < rounds && (round < fewestRounds || watch.seconds() < limits_.turnsSeconds); round++)
      for (std::size_t i = 0; i < points.size(); i++) {
        if (failed[i]) continue;
        Json r = request("time", jobs[i]);
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
    int builds = 0;                       // of this child
    std::string kernels;                  // identity of those that it compiled last
    std::optional<std::size_t> building;  // index of a request
    double bestMs = 0;                    // when it was sent
    double statements = 0;                // of its kernels
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

  struct Job {
    Task task;
    std::int64_t id = 0;
    Answer built;
    bool told = false;
  };

  Json request(const char* op, const Job& job, double bestMs = std::numeric_limits<double>::infinity()) const {
    return {{"op", op},
            {"id", job.id},
            {"family", job.task.point.family},
            {"config", job.task.point.config},
            {"trouble", job.task.trouble},
            {"best_ms", std::isfinite(bestMs) ? Json(bestMs) : Json(nullptr)},
            {"hopeless", limits_.hopeless}};
  }

  Child& started(Slot& slot) {
    if (!slot.child) {
      slot.child = std::make_unique<Child>(command_, data_);
      slot.starts++;
      slot.builds = 0;
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
        if (slot.building) slot.runs(runLimit(slot.bestMs, slot.statements));
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
    return std::ranges::any_of(slots_, [](const Slot& s) { return s.building.has_value(); });
  }

  static bool holds(const Slot& slot, const std::deque<Job>& jobs) {
    return std::ranges::any_of(jobs,
                               [&](const Job& j) { return !j.told && j.built.holder == &slot && j.built.held(); });
  }

  // Gives the idle something to build, waits a little, and collects what was answered.
  void build(std::deque<Job>& jobs, std::deque<std::size_t>& queue, double bestMs) {
    for (Slot& slot : slots_) {
      if (slot.building || queue.empty()) continue;
      if (slot.builds >= lifetime && !holds(slot, jobs)) slot.child.reset();
      slot.building = queue.front();
      queue.pop_front();
      slot.kernels.clear();
      slot.bestMs = bestMs;
      slot.statements = jobs[*slot.building].task.statements;
      slot.running = false;
      started(slot).send(request("build", jobs[*slot.building], bestMs));
      slot.builds++;
      slot.deadline = after(limits_.buildSeconds);
    }
    wait();
    for (Slot& slot : slots_)
      if (slot.building) collect(slot, jobs);
  }

  void collect(Slot& slot, std::deque<Job>& jobs) {
    auto answer = received(slot);
    if (!answer && Clock::now() > slot.deadline) answer = expired(slot);
    if (!answer) return;
    if (answer->kind == Answer::Kind::died && !slot.running) answer->detail += " while building";
    if (answer->kind == Answer::Kind::timeout && !slot.running) answer->detail = "while building";
    answer->limit = slot.limit;
    if (!answer->failed()) took(std::chrono::duration<double>(Clock::now() - slot.began).count(), slot.statements);
    jobs[*slot.building].built = std::move(*answer);
    slot.building.reset();
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
    request["sample_s"] = limits_.sampleSeconds;
    // A child that died took with it what it had built: another builds it again.
    const bool held = built.held();
    Slot& slot = held ? *built.holder : slots_.front();
    const double limit = runLimit(bestMs);
    const Stopwatch watch;
    Answer answer = ask(slot, request, limit + (held ? 0 : limits_.buildSeconds), stop);
    if (answer.kind == Answer::Kind::timeout) answer.limit = limit;
    if (held && answer.kind == Answer::Kind::report && !answer.failed()) took(watch.seconds());
    if (answer.kind != Answer::Kind::report) answer.report = built.report;  // what building told still holds
    answer.timingMs = watch.milliseconds();
    answer.kernels = std::move(built.kernels);
    return answer;
  }

  void took(double seconds, double statements = 0) {
    if (seconds > longest_.seconds) longest_ = {seconds, statements};
  }

  // A point that is hopeless is not waited for: it may take as long as any that was right, several times, and as long
  // as a hopeless repetition besides. Drivers that compile at the first launch take longer for more statements, more
  // than in proportion. Before anything is known, it is the limit that the user gave.
  double runLimit(double bestMs, double statements = 0) const {
    constexpr double slack = 3;
    if (!std::isfinite(bestMs) || longest_.seconds == 0) return limits_.runSeconds;
    const double longer = longest_.statements > 0 ? std::max(1.0, statements / longest_.statements) : 1;
    return std::min(limits_.runSeconds, std::max(limits_.leastRunSeconds, slack * longest_.seconds * longer * longer +
                                                                              2 * limits_.hopeless * bestMs * 1e-3));
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
      // What it took at least, for who waits longer.
      if (building) m.buildMs = limits_.buildSeconds * 1e3;
      if (!building && m.timingMs == 0) m.firstMs = answer.limit * 1e3;
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
  struct {
    double seconds = 0;     // with transfers, preparation, checks and repetitions
    double statements = 0;  // 0: unknown
  } longest_;               // run that was right
};

}  // namespace

Feed feedOf(std::vector<Task> tasks) {
  return [tasks = std::move(tasks)]() mutable { return std::exchange(tasks, {}); };
}

std::unique_ptr<Measurer> makeWorkers(std::vector<std::string> command, const ProblemData& data, const Limits& limits,
                                      int workers) {
  return std::make_unique<Workers>(std::move(command), data, limits, workers);
}

}  // namespace lift::tune
