// Lines of large results are asked for before they are stored to. A processor stores in the order of the program, and
// waits for lines that its caches do not have; where sums are short and their results lie far apart, as in the first
// layers of networks, it waits most of the time.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "dependence.hpp"
#include "lift/integers.hpp"
#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

// Smaller results stay in a core's own cache.
constexpr std::int64_t leastBytes = 256 << 10;
// Statements that a sum runs for each line it stores. After longer sums the stores of the previous one are done.
constexpr std::int64_t mostStatements = 1024;
// Lines that are asked for must still be in the first cache when their turn comes.
constexpr std::int64_t mostBytesAhead = 16 << 10;

class Prefetching {
 public:
  Prefetching(Kernel& k, int lineBytes) : k_(k), lineBytes_(lineBytes), known_(k.sizes.begin(), k.sizes.end()) {}

  void run() { block(k_.body); }

 private:
  void block(Block& b) {
    Block to;
    std::optional<std::size_t> sum;  // where it stands in `to`
    const auto ask = [&] {
      if (!sum) return;
      Block asked = prefetches(to, *sum);
      to.insert(to.begin() + static_cast<std::ptrdiff_t>(*sum), asked.begin(), asked.end());
      sum.reset();
    };
    for (Stmt& s : b) {
      const auto* loop = as<For>(s);
      if (loop != nullptr) ask();
      inside(s);
      to.push_back(std::move(s));
      if (loop != nullptr && isSum(std::get<For>(to.back().node))) sum = to.size() - 1;
    }
    ask();
    b = std::move(to);
  }

  void inside(Stmt& s) {
    const auto* loop = as<For>(s);
    if (loop != nullptr) {
      known_.insert(loop->index);
      loops_.push_back(loop);
    }
    forEachBlock(s, [&](Block& inner) { block(inner); });
    if (loop != nullptr) {
      loops_.pop_back();
      known_.erase(loop->index);
    }
  }

  // A loop that leaves something in variables alone.
  bool isSum(const For& loop) const {
    return loop.kind == LoopKind::sequential && !anyStmt<Store>(loop.body, [&](const Store& st) {
             return k_.buffers[st.buffer].space == AddressSpace::global;
           });
  }

  // What the statements behind the sum store, conditions or not, as prefetches of each line once.
  Block prefetches(const Block& b, std::size_t sum) {
    ByBase<std::set<std::int64_t>> places;  // their constants
    const auto collect = [&](const Stmt& s) {
      const auto* st = as<Store>(s);
      if (st == nullptr || st->streams || !isLarge(k_.buffers[st->buffer]) || !isKnown(st->index)) return;
      const auto [base, offset] = splitConstant(st->index);
      places[{st->buffer, base}].insert(offset);
    };
    for (std::size_t i = sum + 1; i < b.size(); i++) {
      collect(b[i]);
      if (const auto* branch = as<If>(b[i])) std::ranges::for_each(branch->then, collect);
    }
    Block lines;
    for (const auto& [place, offsets] : places) {
      const auto& [buffer, base] = place;
      const auto perLine = lineBytes_ / static_cast<std::int64_t>(info(k_.buffers[buffer].scalar).bytes);
      std::optional<std::int64_t> last;
      for (const std::int64_t offset : offsets)
        if (!last || offset - *last >= perLine) {
          last = offset;
          lines.push_back({Prefetch{buffer, base + Nat(offset)}});
        }
    }
    const auto count = static_cast<std::int64_t>(lines.size());
    if (count < 2 || statements(b[sum]) > mostStatements * count) return {};
    if (const auto turn = turnAhead(lines))
      for (Stmt& line : lines) mapOwnNats(line, [&](Nat n) { return next(n, *turn); });
    return lines;
  }

  bool isLarge(const Buffer& b) const {
    if (b.space != AddressSpace::global || b.isImage) return false;
    const auto count = b.count.constant();
    return !count || *count * static_cast<std::int64_t>(info(b.scalar).bytes) >= leastBytes;
  }
  bool isKnown(Nat index) const {
    return std::ranges::all_of(index.variables(), [&](NatVar v) { return known_.contains(v); });
  }

  // How many statements a sum runs; where that is not known, as if there were few.
  static std::int64_t statements(const Stmt& s) {
    std::int64_t inner = 1;
    forEachBlock(s, [&](const Block& b) {
      for (const Stmt& x : b) inner += statements(x);
    });
    const auto* loop = as<For>(s);
    return loop == nullptr ? inner : inner * loop->count.constant().value_or(1);
  }

  // The outermost loop whose next iteration stores its lines soon enough after this one, so that prefetched lines are
  // still in the cache. Nothing: prefetch the lines of this iteration.
  std::optional<NatVar> turnAhead(const Block& lines) const {
    std::optional<NatVar> turn;
    std::int64_t bytes = static_cast<std::int64_t>(lines.size()) * lineBytes_;
    for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
      const auto count = (*loop)->count.constant();
      if (bytes > mostBytesAhead) break;
      if ((*loop)->kind == LoopKind::sequential && std::ranges::all_of(lines, [&](const Stmt& s) {
            return canAdvance(std::get<Prefetch>(s.node).index, (*loop)->index);
          }))
        turn = (*loop)->index;
      if (!count) break;
      if ((*loop)->trip != Trip::exactlyOnce) bytes *= *count;
    }
    return turn;
  }

  static Nat next(Nat index, NatVar v) { return index.substitute({{v, Nat(v) + Nat(1)}}); }

  // Indices are computed as `int`: what lies behind the largest arrays must not run over.
  static bool canAdvance(Nat index, NatVar v) {
    const auto greatest = next(index, v).upper();
    return index.mentions(v) && greatest && *greatest < largestInt;
  }

  Kernel& k_;
  const int lineBytes_;
  std::set<NatVar> known_;         // outside of the statements at hand: sizes, indices of loops
  std::vector<const For*> loops_;  // around them, outermost first
};

}  // namespace

Kernel prefetchPass(Kernel kernel, const PassOptions& options) {
  if (options.lineBytes > 0) Prefetching(kernel, options.lineBytes).run();
  return kernel;
}

}  // namespace lift::kernel
