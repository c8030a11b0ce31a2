// A loop that divides its index by a number which divides its count becomes two, which count quotient and remainder:
// what arrays that were joined, or split, are read by needs no division then, and follows in memory.
#include <algorithm>

#include "expand.hpp"
#include "mentions.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

constexpr std::int64_t fewestInner =
    8;  // iterations of the inner loop: with fewer, a loop of its own is dearer than dividing

// The greatest constant by which the index itself is divided in n, or 0.
std::int64_t divisorIn(Nat n, NatVar index) {
  if (!n.mentions(index)) return 0;
  std::int64_t greatest = 0;
  if ((n.kind() == Nat::Kind::floorDiv || n.kind() == Nat::Kind::mod) && n.operands()[0] == Nat(index))
    greatest = n.operands()[1].constant().value_or(0);
  for (const Nat part : n.operands()) greatest = std::max(greatest, divisorIn(part, index));
  return greatest;
}

}  // namespace

std::int64_t divisorIn(const Block& block, NatVar index) {
  std::int64_t greatest = 0;
  forEachStmt(block, [&](const Stmt& s) {
    const auto look = [&](Nat n) { greatest = std::max(greatest, divisorIn(n, index)); };
    forEachOwnNat(s, look);
    forEachExpr(s, [&](const Expr& e) { forEachNat(e, look); });
  });
  return greatest;
}

namespace {

class Nest {
 public:
  explicit Nest(Kernel& kernel) : kernel_(kernel) {}

  Block block(Block statements) {
    for (Stmt& s : statements) {
      if (auto* f = std::get_if<For>(&s.node)) loop(*f);
      forEachBlock(s, [&](Block& inner) { inner = block(std::move(inner)); });
    }
    return statements;
  }

 private:
  void loop(For& f) {
    const std::int64_t count = f.count.constant().value_or(0);
    const bool isInnermost = !anyLoop(f.body, [](const For&) { return true; });
    if (f.kind != LoopKind::sequential || f.running || f.unroll == -1 || !isInnermost) return;
    const std::int64_t inner = divisorIn(f.body, f.index);
    if (inner < fewestInner || inner >= count || count % inner != 0 || inner % std::max(f.unroll, 1) != 0) return;
    const NatVar quotient = NatVar::index(f.index.name(), count / inner);
    const NatVar remainder = NatVar::index(f.index.name(), inner);
    For within = f;
    within.index = remainder;
    within.count = inner;
    within.body = Expander(kernel_, [](const For&, For&) {
                    return -1;
                  }).run(f.body, f.index, Nat(inner) * Nat(quotient) + Nat(remainder));
    f.index = quotient;
    f.count = count / inner;
    f.unroll = 0;
    f.body = {{std::move(within)}};
  }

  Kernel& kernel_;
};

}  // namespace

Kernel nestPass(Kernel kernel, const PassOptions&) {
  kernel.body = Nest(kernel).block(std::move(kernel.body));
  return kernel;
}

}  // namespace lift::kernel
