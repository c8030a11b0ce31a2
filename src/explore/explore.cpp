#include "lift/explore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "lift/diagnostic.hpp"
#include "lift/stopwatch.hpp"
#include "lift/strategies.hpp"

namespace lift::explore {

using namespace rewrite;
using namespace strategies;

namespace {

constexpr int mostDimensions = 2;  // of the global range

std::vector<Move> makeMoves() {
  std::vector<Move> all;
  const auto add = [&](int phase, std::string name, const Strategy& s, bool lanes = false) {
    all.push_back({std::move(name), phase, lanes, seq({s, tidy()})});
  };
  const auto rule = [](std::string_view name, Arguments arguments = {}) {
    return topDown(use(name, std::move(arguments)));
  };
  add(0, "fuse", orElse(rule("reduceMapFusion"), rule("mapFusion")));
  for (const int rows : {2, 4, 8})
    for (const int columns : {16, 32})
      add(1, fmt::format("tile {} {}", rows, columns), rule("tileMaps", {{"k", rows}, {"l", columns}}));
  for (const int k : {8, 32}) {
    add(1, fmt::format("split {}", k), rule("mapSplit", {{"k", k}}));
    add(1, fmt::format("split columns {}", k), outermost(function(body(outermost(use("mapSplit", {{"k", k}}))))));
  }
  add(1, "interchange maps", rule("mapInterchange"));
  for (const int k : {32}) add(2, fmt::format("split the reduction {}", k), rule("reduceSplit", {{"k", k}}));
  for (const auto& [name, interchange] : {std::pair("right", "mapReduceZipRight"),
                                          std::pair("left", "mapReduceZipLeft"), std::pair("whole", "mapReduce")})
    add(3, fmt::format("reduce outermost, {}", name), rule(interchange));
  for (const int w : {8, 16})
    for (const char* lanes :
         {"vectoriseAccumulators", "vectoriseAccumulatorsLeft", "vectoriseSums", "vectoriseMap", "laneSums"})
      add(3, fmt::format("{} {}", lanes, w), rule(lanes, {{"w", w}}), true);
  for (const int w : {8, 16}) add(3, fmt::format("dot {}", w), rule("reduceDot", {{"v", w}}), true);
  return all;
}

// Moves of the first phases are made at most once, those of the last repeat, but lanes come once.
constexpr int lastPhase = 3;

bool follows(const Move& move, const Derived& derived) {
  if (move.lanes && derived.lanes) return false;
  return derived.moves.empty() || move.phase > derived.phase || move.phase == lastPhase;
}

std::string textOf(const Derived& derived) { return print(derived.program().body, Names::canonical); }

std::optional<Derived> after(const Derived& derived, const Move& move) {
  Derived next = derived;
  if (!next.rewriting.tryApply(move.strategy)) return std::nullopt;
  next.moves.push_back(move.name);
  next.phase = move.phase;
  next.lanes = next.lanes || move.lanes;
  return next;
}

// Drivers would take minutes for it.
bool isLarge(const kernel::Plan& plan) {
  constexpr std::size_t mostText = 24 << 10;
  constexpr std::int64_t mostLoops = 32;
  std::size_t text = 0;
  std::int64_t loops = 0;
  for (const std::string& source : plan.sources) text += source.size();
  for (const kernel::Kernel& k : plan.kernels) loops += kernel::structure(k).at("loop");
  return text > mostText || loops > mostLoops;
}

// Nothing for what cannot be compiled, and for kernels that are too large.
std::optional<kernel::Plan> compiled(const Program& program, CompileOptions options) {
  constexpr std::int64_t mostNodes = 4096;  // of an unrolled loop
  options.passes.unrollLimit = std::min(options.passes.unrollLimit, mostNodes);
  options.passes.unrollBudget = std::min(options.passes.unrollBudget, mostNodes);
  try {
    kernel::Plan plan = compile(program, options);
    return isLarge(plan) ? std::nullopt : std::optional(std::move(plan));
  } catch (const UserError&) {
    return std::nullopt;  // private memory beyond the limits, say
  }
}

bool promisesMore(const Derived& a, const Derived& b) { return a.estimate < b.estimate; }

// Outer maps over global dimensions, the rest in loops whose reductions are unrolled; nothing where there are fewer
// maps.
std::optional<Derived> lowering(const Derived& derived, int dimensions, std::int64_t unroll) {
  Derived lowered = derived;
  if (!lowered.rewriting.tryApply(parallel(dimensions))) return std::nullopt;
  lowered.rewriting.apply(sequential(64, unroll));
  lowered.moves.push_back(
      fmt::format("{}D, {}", dimensions, unroll == 0 ? "unrolled" : fmt::format("unroll {}", unroll)));
  return lowered;
}

// The first of the lowerings; the program itself where there is none.
Derived firstLowering(const Derived& derived) {
  for (int dimensions = mostDimensions; dimensions >= 1; dimensions--)
    if (auto lowered = lowering(derived, dimensions, 1)) return std::move(*lowered);
  return derived;
}

// By the first lowering; infinite where it does not compile.
double estimateOf(const Derived& derived, const CompileOptions& options) {
  const auto plan = compiled(firstLowering(derived).program(), options);
  return plan ? kernel::estimateOf(*plan) : std::numeric_limits<double>::infinity();
}

class Budget {
 public:
  explicit Budget(const Options& options) : options_(options) {}

  // Why it is used up; empty while it is not.
  std::string ended() const {
    if (options_.stop()) return "stopped";
    return seconds() > options_.seconds ? "time" : "";
  }
  double seconds() const { return watch_.seconds(); }

 private:
  const Options& options_;
  Stopwatch watch_;
};

bool isRight(const std::map<std::string, Tensor>& actual, const std::map<std::string, Tensor>& expected,
             double tolerance) {
  for (const auto& [name, e] : expected)
    if (compare(actual.at(name), e, largestMagnitude(e)).maxRel > tolerance) return false;
  return true;
}

// One exploration on a device.
class Explorer {
 public:
  Explorer(runtime::Device& device, const std::map<std::string, Tensor>& inputs, const Options& options)
      : device_(device), inputs_(inputs), options_(options), budget_(options) {}

  Exploration explore(const Program& program) {
    Options deriving = options_;
    deriving.seconds /= 4;
    std::vector<Derived> derived = enumerate(program, deriving);
    result_.derived = static_cast<int>(derived.size());
    tell(fmt::format("{} programs derived in {:.1f} s", result_.derived, budget_.seconds()));
    measureDefault(derived[0].program());
    std::ranges::stable_sort(derived, promisesMore);
    result_.ended = runAll(derived);
    std::ranges::stable_sort(result_.ranking,
                             [](const auto& a, const auto& b) { return a.milliseconds < b.milliseconds; });
    return std::move(result_);
  }

 private:
  enum class Outcome { timed, slow, failed, wrong };

  void tell(const std::string& line) const {
    if (options_.progress) options_.progress(line);
  }

  void measureDefault(const Program& program) {
    const auto executable = device_.load(compile(program, options_.compile));
    runtime::Timing timing = executable->measure(inputs_, {.repetitions = options_.repetitions, .outputs = true});
    expected_ = std::move(timing.outputs);
    best_ = result_.defaultMilliseconds = timing.median();
    tell(fmt::format("default lowering: {:.3f} ms", best_));
  }

  // In rounds, each for half of the candidates that are left: first one lowering of each program, what promises most
  // first, then the others of what was fastest. Returns why it ended.
  std::string runAll(const std::vector<Derived>& derived) {
    constexpr double hopeless = 6;  // times the smallest estimate
    for (auto next = derived.begin(); next != derived.end() && next->estimate <= hopeless * derived[0].estimate;) {
      std::vector<std::pair<double, const Derived*>> timed;
      const int half = result_.run + (options_.candidates - result_.run + 1) / 2;
      for (; next != derived.end() && result_.run < half && next->estimate <= hopeless * derived[0].estimate; ++next) {
        if (std::string why = ended(); !why.empty()) return why;
        if (const auto milliseconds = run(firstLowering(*next))) timed.emplace_back(*milliseconds, &*next);
      }
      std::ranges::stable_sort(timed, [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [milliseconds, d] : timed)
        for (Derived& lowered : lowerings(*d)) {
          if (std::string why = ended(); !why.empty()) return why;
          run(std::move(lowered));
        }
      if (std::string why = ended(); !why.empty()) return why;
    }
    return "all programs";
  }

  std::string ended() const { return result_.run == options_.candidates ? "candidates" : budget_.ended(); }

  // Its time, unless it has none or its kernels are those of another.
  std::optional<double> run(Derived lowered) {
    auto plan = compiled(lowered.program(), options_.compile);
    if (!plan || !sources_.insert(plan->sources).second) return std::nullopt;
    Candidate candidate{std::move(lowered), std::move(*plan)};
    result_.run++;
    const Outcome outcome = time(candidate);
    const bool improved = outcome == Outcome::timed && candidate.milliseconds < best_;
    if (improved) best_ = candidate.milliseconds;
    tell(fmt::format("{:4}/{} {:>12} {:7.1f} s  {}{}", result_.run, options_.candidates, textOf(outcome, candidate),
                     budget_.seconds(), fmt::join(candidate.derived.moves, "; "), improved ? "  *" : ""));
    result_.slow += outcome == Outcome::slow;
    result_.failed += outcome == Outcome::failed;
    result_.wrong += outcome == Outcome::wrong;
    if (outcome != Outcome::timed) return std::nullopt;
    result_.ranking.push_back(std::move(candidate));
    return result_.ranking.back().milliseconds;
  }

  static std::string textOf(Outcome outcome, const Candidate& candidate) {
    switch (outcome) {
      case Outcome::timed: return fmt::format("{:.3f} ms", candidate.milliseconds);
      case Outcome::slow: return "slow";
      case Outcome::failed: return "failed";
      case Outcome::wrong: return "wrong";
    }
    return {};
  }

  // First once, with the results, which decide whether the rest is worth the time.
  Outcome time(Candidate& candidate) const {
    constexpr double worthMeasuring = 3;  // times the best
    constexpr double lateWork = 50;       // milliseconds that drivers may take for what they do at the first launch
    const double limit = worthMeasuring * best_;
    try {
      const auto executable = device_.load(candidate.plan);
      const runtime::Timing first = executable->measure(
          inputs_, {.repetitions = 1, .warmup = 0, .outputs = true, .stopAboveMilliseconds = limit + lateWork});
      if (!isRight(first.outputs, expected_, options_.tolerance)) return Outcome::wrong;
      if (first.stopped) return Outcome::slow;
      const runtime::Timing timing = executable->measure(
          inputs_, {.repetitions = options_.repetitions, .warmup = 0, .stopAboveMilliseconds = limit + 1});
      if (timing.stopped) return Outcome::slow;
      candidate.milliseconds = timing.median();
      return Outcome::timed;
    } catch (const UserError&) {
      return Outcome::failed;  // more work-items or memory than the device has
    }
  }

  runtime::Device& device_;
  const std::map<std::string, Tensor>& inputs_;
  const Options& options_;
  Budget budget_;
  std::map<std::string, Tensor> expected_;
  std::set<std::vector<std::string>> sources_;  // of what was run
  double best_ = 0;                             // milliseconds, of any so far
  Exploration result_;
};

// `width` of each phase, with lanes and without: what a move makes better may be bad before it.
std::vector<Derived> mostPromising(std::vector<Derived> derived, int width) {
  std::ranges::stable_sort(derived, promisesMore);
  std::map<std::pair<int, bool>, int> kept;
  std::erase_if(derived, [&](const Derived& d) { return kept[{d.phase, d.lanes}]++ >= width; });
  return derived;
}

// The programs one move away from those of the frontier that have not been seen.
std::vector<Derived> reachedFrom(const std::vector<Derived>& frontier, std::set<std::string>& seen,
                                 const Budget& budget, const Options& options) {
  std::vector<Derived> reached;
  for (const Derived& d : frontier)
    for (const Move& move : moves()) {
      if (static_cast<int>(seen.size()) >= options.programs || !budget.ended().empty()) return reached;
      if (!follows(move, d)) continue;
      auto next = after(d, move);
      if (!next || !seen.insert(textOf(*next)).second) continue;
      next->estimate = estimateOf(*next, options.compile);
      reached.push_back(std::move(*next));
    }
  return reached;
}

}  // namespace

const std::vector<Move>& moves() {
  static const auto& all = *new std::vector<Move>(makeMoves());
  return all;
}

std::vector<Derived> enumerate(const Program& program, const Options& options) {
  const Budget budget(options);
  Derived first{Rewriting(program), {}};
  first.rewriting.apply(seq({raise(), tidy()}));
  first.estimate = estimateOf(first, options.compile);
  std::set<std::string> seen{textOf(first)};
  std::vector<Derived> all{first}, frontier{first};
  for (int depth = 0; depth < options.depth && !frontier.empty(); depth++) {
    std::vector<Derived> reached = reachedFrom(frontier, seen, budget, options);
    all.insert(all.end(), reached.begin(), reached.end());
    frontier = mostPromising(std::move(reached), options.width);
    if (options.progress) options.progress(fmt::format("{} programs of at most {} moves", all.size(), depth + 1));
  }
  return all;
}

std::vector<Derived> lowerings(const Derived& derived) {
  std::vector<Derived> all;
  for (int dimensions = mostDimensions; dimensions >= 1; dimensions--)
    for (const std::int64_t unroll : {1, 4, 0})
      if (auto lowered = lowering(derived, dimensions, unroll)) all.push_back(std::move(*lowered));
  return all;
}

Exploration explore(const Program& program, runtime::Device& device, const std::map<std::string, Tensor>& inputs,
                    const Options& options) {
  return Explorer(device, inputs, options).explore(program);
}

}  // namespace lift::explore
