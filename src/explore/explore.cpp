#include "lift/explore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "lift/diagnostic.hpp"
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

// A count of instructions: accesses of any width, and operations at the width of the loads or the stores.
double estimateOf(const kernel::Plan& plan) {
  constexpr double scalarBytes = 4;
  double total = 0;
  for (const kernel::Launch& l : plan.launches) {
    const kernel::Counts c = kernel::count(plan.kernels[static_cast<std::size_t>(l.kernel)]);
    double loads = 0, stores = 0, bytesLoaded = 0, bytesStored = 0;
    for (const kernel::Traffic& t : {c.global, c.local, c.priv}) {
      loads += t.loads;
      stores += t.stores;
      bytesLoaded += t.bytesLoaded;
      bytesStored += t.bytesStored;
    }
    const auto width = [](double bytes, double accesses) { return bytes / (scalarBytes * std::max(1.0, accesses)); };
    total += loads + stores + c.flops / std::max({1.0, width(bytesLoaded, loads), width(bytesStored, stores)});
  }
  return total;
}

std::optional<kernel::Plan> compiled(const Program& program, CompileOptions options) {
  constexpr std::int64_t mostNodes = 16384;  // of an unrolled loop: beyond, drivers take minutes and registers run out
  options.passes.unrollLimit = std::min(options.passes.unrollLimit, mostNodes);
  options.passes.unrollBudget = std::min(options.passes.unrollBudget, mostNodes);
  try {
    return compile(program, options);
  } catch (const UserError&) {
    return std::nullopt;  // private memory beyond the limits, say
  }
}

bool promisesMore(const Derived& a, const Derived& b) { return a.estimate < b.estimate; }

// By the last lowering, which distributes most; infinite where there is none.
double estimateOf(const Derived& derived, const CompileOptions& options) {
  const std::vector<Derived> all = lowerings(derived);
  const auto plan = compiled(all.empty() ? derived.program() : all.back().program(), options);
  return plan ? estimateOf(*plan) : std::numeric_limits<double>::infinity();
}

// What promises most first; equal kernels once.
std::vector<Candidate> candidatesOf(std::vector<Derived> derived, const Options& options) {
  std::stable_sort(derived.begin(), derived.end(), promisesMore);
  std::vector<Candidate> all;
  std::set<std::vector<std::string>> sources;
  for (const Derived& d : derived)
    for (Derived& lowered : lowerings(d)) {
      if (static_cast<int>(all.size()) == options.candidates) return all;
      auto plan = compiled(lowered.program(), options.compile);
      if (plan && sources.insert(plan->sources).second) all.push_back({std::move(lowered), std::move(*plan), 0});
    }
  return all;
}

bool isRight(const std::map<std::string, Tensor>& actual, const std::map<std::string, Tensor>& expected,
             double tolerance) {
  for (const auto& [name, e] : expected) {
    double largest = 0;
    for (std::int64_t i = 0; i < e.size(); i++) largest = std::max(largest, std::abs(e.get(i)));
    const Difference d = compare(actual.at(name), e, largest);
    if (!d.sameShape || !d.finite || d.maxRel > tolerance) return false;
  }
  return true;
}

// Whether the device takes the candidate and its result is right; then it has its time.
bool time(Candidate& candidate, runtime::Device& device, const std::map<std::string, Tensor>& inputs,
          const std::map<std::string, Tensor>& expected, double limit, const Options& options) {
  try {
    const auto executable = device.load(candidate.plan);
    const runtime::Timing timing = executable->measure(
        inputs, {.repetitions = options.repetitions, .outputs = true, .stopAboveMilliseconds = limit});
    if (timing.stopped) return false;
    candidate.milliseconds = timing.median();
    return isRight(timing.outputs, expected, options.tolerance);
  } catch (const UserError&) {
    return false;  // more work-items or memory than the device has
  }
}

}  // namespace

const std::vector<Move>& moves() {
  static const auto& all = *new std::vector<Move>(makeMoves());
  return all;
}

std::vector<Derived> enumerate(const Program& program, const Options& options) {
  Derived first{Rewriting(program), {}};
  first.rewriting.apply(seq({raise(), tidy()}));
  first.estimate = estimateOf(first, options.compile);
  std::set<std::string> seen{textOf(first)};
  std::vector<Derived> all{first}, frontier{first};
  for (int depth = 0; depth < options.depth; depth++) {
    std::vector<Derived> reached;
    for (const Derived& d : frontier)
      for (const Move& move : moves()) {
        if (!follows(move, d)) continue;
        auto next = after(d, move);
        if (!next || !seen.insert(textOf(*next)).second) continue;
        next->estimate = estimateOf(*next, options.compile);
        reached.push_back(std::move(*next));
      }
    all.insert(all.end(), reached.begin(), reached.end());
    std::stable_sort(reached.begin(), reached.end(), promisesMore);
    if (static_cast<int>(reached.size()) > options.width) reached.erase(reached.begin() + options.width, reached.end());
    frontier = std::move(reached);
  }
  return all;
}

std::vector<Derived> lowerings(const Derived& derived) {
  std::vector<Derived> all;
  for (int dimensions = 1; dimensions <= mostDimensions; dimensions++)
    for (const std::int64_t unroll : {1, 4}) {
      Derived lowered = derived;
      if (!lowered.rewriting.tryApply(parallel(dimensions))) continue;
      lowered.rewriting.apply(sequential(64, unroll));
      lowered.moves.push_back(fmt::format("{}D{}", dimensions, unroll > 1 ? fmt::format(", unroll {}", unroll) : ""));
      all.push_back(std::move(lowered));
    }
  return all;
}

Exploration explore(const Program& program, runtime::Device& device, const std::map<std::string, Tensor>& inputs,
                    const Options& options) {
  const auto tell = [&](const std::string& line) {
    if (options.progress) options.progress(line);
  };
  const std::vector<Derived> derived = enumerate(program, options);
  Exploration result;
  result.derived = static_cast<int>(derived.size());
  tell(fmt::format("{} programs derived", result.derived));

  const auto baseline = device.load(compile(derived[0].program(), options.compile));
  const runtime::Timing reference = baseline->measure(inputs, {.repetitions = options.repetitions, .outputs = true});
  result.defaultMilliseconds = reference.median();
  tell(fmt::format("default lowering: {:.3f} ms", result.defaultMilliseconds));

  std::vector<Candidate> candidates = candidatesOf(derived, options);
  result.compiled = static_cast<int>(candidates.size());
  tell(fmt::format("{} different kernels", result.compiled));
  double best = result.defaultMilliseconds;
  for (Candidate& c : candidates) {
    result.run++;
    constexpr double worthMeasuring = 3, noise = 1;  // times the best; milliseconds
    if (!time(c, device, inputs, reference.outputs, worthMeasuring * best + noise, options)) continue;
    best = std::min(best, c.milliseconds);
    tell(fmt::format("{:4}  {:10.3f} ms  {}", result.run, c.milliseconds, fmt::join(c.derived.moves, "; ")));
    result.ranking.push_back(std::move(c));
  }
  std::stable_sort(result.ranking.begin(), result.ranking.end(),
                   [](const auto& a, const auto& b) { return a.milliseconds < b.milliseconds; });
  return result;
}

}  // namespace lift::explore
