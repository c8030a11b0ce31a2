// What the next step of a loop copies to local memory is loaded while this step computes: work-items that wait for each
// other in every step do not wait for memory, too.
#include <algorithm>

#include "expand.hpp"
#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

// What a work-item keeps of the next step: registers are needed for accumulators.
constexpr std::size_t mostBytes = 64;

class Ahead {
 public:
  explicit Ahead(Kernel& k) : k_(k) {}
  void run() { block(k_.body); }

 private:
  // Statements that copy, as those that load and those that store what was loaded.
  struct Copy {
    Block declared, loads, stores;
    std::set<VarId> loaded;
    std::size_t bytes = 0;
  };

  void block(Block& b) {
    Block to;
    for (Stmt& s : b) {
      forEachBlock(s, [&](Block& inner) { block(inner); });
      if (auto* loop = as<For>(s)) ahead(*loop, to);
      to.push_back(std::move(s));
    }
    b = std::move(to);
  }

  // The loop's loads moved to the step before; those of the first step are added to `before`.
  void ahead(For& loop, Block& before) {
    const auto isBarrier = [](const Stmt& s) { return is<Barrier>(s); };
    if (loop.kind != LoopKind::sequential || loop.running || loop.count.lower().value_or(0) < 1) return;
    const auto last = std::find_if(loop.body.rbegin(), loop.body.rend(), isBarrier).base();
    Copy copy;
    for (auto s = loop.body.begin(); s != last; ++s)
      if (isBarrier(*s) ? (copy.stores.push_back(*s), false) : !split(*s, copy)) return;
    if (copy.bytes == 0 || copy.bytes > mostBytes) return;
    Block body = copy.stores;
    body.push_back({If{test({{Nat(loop.index) + Nat(1), Relation::less, loop.count}}),
                       at(copy.loads, loop.index, Nat(loop.index) + Nat(1)),
                       {}}});
    body.insert(body.end(), last, loop.body.end());
    loop.body = std::move(body);
    before.insert(before.end(), copy.declared.begin(), copy.declared.end());
    const Block first = at(copy.loads, loop.index, 0);
    before.insert(before.end(), first.begin(), first.end());
  }

  Block at(const Block& loads, NatVar index, Nat value) { return Expander(k_).run(loads, index, value); }

  // Whether the statement does nothing but copy.
  bool split(const Stmt& s, Copy& copy) {
    if (const auto* loop = as<For>(s)) {
      if (loop->kind != LoopKind::local || loop->trip != Trip::exactlyOnce) return false;
      Copy inside;
      std::swap(inside.loaded, copy.loaded);
      for (const Stmt& x : loop->body)
        if (!split(x, inside)) return false;
      copy.loaded = std::move(inside.loaded);
      copy.bytes += inside.bytes;
      copy.declared.insert(copy.declared.end(), inside.declared.begin(), inside.declared.end());
      if (!inside.loads.empty()) copy.loads.push_back({withBody(*loop, std::move(inside.loads))});
      copy.stores.push_back({withBody(*loop, std::move(inside.stores))});
      return true;
    }
    const auto* declare = as<Declare>(s);
    const auto* store = as<Store>(s);
    const bool copies = declare != nullptr ? declare->value.has_value()
                                           : store != nullptr && k_.buffers[store->buffer].space == AddressSpace::local;
    if (!copies) return false;
    if (!anyExpr<Load>(s, [&](const Load& l) { return k_.buffers[l.buffer].space == AddressSpace::global; })) {
      copy.stores.push_back(s);
      return true;
    }
    if (declare != nullptr) return load(declare->variable, *declare->value, copy);
    const VarId v = addVariable(k_, k_.buffers[store->buffer].name + "_next", store->value->type);
    copy.stores.push_back({Store{store->buffer, store->index, ref(v, store->value->type)}});
    return load(v, store->value, copy);
  }

  bool load(VarId v, const ExprPtr& value, Copy& copy) const {
    copy.declared.push_back({Declare{v, std::nullopt}});
    copy.loads.push_back({Assign{v, value}});
    copy.loaded.insert(v);
    copy.bytes += info(value->type.scalar).bytes * static_cast<std::size_t>(value->type.width);
    return !anyExpr<Load>(*value, [&](const Load& from) { return !k_.buffers[from.buffer].readOnly; }) &&
           !anyExpr<VarRef>(*value, [&](const VarRef& of) { return !copy.loaded.contains(of.variable); });
  }

  Kernel& k_;
};

}  // namespace

Kernel aheadPass(Kernel kernel, const PassOptions& options) {
  if (options.joinVectors) Ahead(kernel).run();  // a processor's work-items do not wait
  return kernel;
}

}  // namespace lift::kernel
