// Scalars that are loaded from, or stored to, neighbouring places of global memory one after the other become a
// vector's lanes, where the place is proved to be aligned.

#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

constexpr std::size_t mostLanes = 4;  // 16 bytes: what GPUs access at once

class Join {
 public:
  explicit Join(Kernel& k) : k_(k) {}
  void run() { block(k_.body); }

 private:
  // A scalar access of a statement that does nothing else with memory.
  struct Access {
    BufferId buffer;
    Nat index;
    ValueType type;
  };

  std::optional<Access> accessOf(const Stmt& s) const {
    std::optional<Access> a;
    if (const auto* d = as<Declare>(s); d != nullptr && d->value) {
      if (const auto* l = as<Load>(*d->value); l != nullptr && k_.buffers[l->buffer].readOnly)
        a = {l->buffer, l->index, (*d->value)->type};
    } else if (const auto* st = as<Store>(s)) {
      if (!st->update && !anyExpr(*st->value, [](const Expr& e) { return is<Load>(e); }))
        a = {st->buffer, st->index, st->value->type};
    }
    if (!a) return std::nullopt;
    const Buffer& b = k_.buffers[a->buffer];
    const bool joins = b.space == AddressSpace::global && b.width == 1 && a->type.width == 1 &&
                       b.scalar == a->type.scalar && a->type.scalar != Scalar::boolean;
    return joins ? a : std::nullopt;
  }

  // Of the statements from `first`, how many are a vector: 4, 2 or 1.
  std::size_t lanesFrom(const Block& b, std::size_t first) const {
    const auto start = accessOf(b[first]);
    if (!start) return 1;
    std::size_t lanes = 1;
    while (lanes < mostLanes && first + lanes < b.size()) {
      const Stmt& s = b[first + lanes];
      const auto next = accessOf(s);
      if (!next || s.node.index() != b[first].node.index() || next->buffer != start->buffer ||
          !(next->type == start->type) || !(next->index == start->index + Nat(static_cast<std::int64_t>(lanes))))
        break;
      lanes++;
    }
    while (lanes > 1 && ((lanes & (lanes - 1)) != 0 ||
                         divides(Nat(static_cast<std::int64_t>(lanes)), start->index) != Truth::proved))
      lanes--;
    return lanes;
  }

  void block(Block& b) {
    Block to;
    for (std::size_t i = 0; i < b.size();) {
      const std::size_t lanes = lanesFrom(b, i);
      if (lanes == 1) {
        forEachBlock(b[i], [&](Block& inner) { block(inner); });
        to.push_back(std::move(b[i++]));
        continue;
      }
      is<Store>(b[i]) ? store(b, i, lanes, to) : load(b, i, lanes, to);
      i += lanes;
    }
    b = std::move(to);
  }

  static void store(const Block& b, std::size_t first, std::size_t lanes, Block& to) {
    std::vector<ExprPtr> values;
    for (std::size_t i = first; i < first + lanes; i++) values.push_back(std::get<Store>(b[i].node).value);
    const auto& start = std::get<Store>(b[first].node);
    to.push_back({Store{start.buffer, start.index, makeVector(std::move(values))}});
  }

  void load(const Block& b, std::size_t first, std::size_t lanes, Block& to) {
    const Expr& start = **std::get<Declare>(b[first].node).value;
    const auto& from = std::get<Load>(start.node);
    const ValueType type{start.type.scalar, static_cast<int>(lanes)};
    const VarId whole = addVariable(k_, k_.buffers[from.buffer].name + "_v", type);
    to.push_back({Declare{whole, kernel::load(from.buffer, from.index, type)}});
    for (std::size_t i = 0; i < lanes; i++)
      to.push_back(
          {Declare{std::get<Declare>(b[first + i].node).variable, lane(ref(whole, type), static_cast<int>(i))}});
  }

  Kernel& k_;
};

}  // namespace

Kernel joinPass(Kernel kernel, const PassOptions& options) {
  if (options.joinVectors) Join(kernel).run();
  return kernel;
}

}  // namespace lift::kernel
