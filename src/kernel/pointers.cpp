#include "pointers.hpp"

#include <ranges>
#include <unordered_set>
#include <vector>

#include "lift/kernel_walk.hpp"

namespace lift::kernel {
namespace {

class Survey {
 public:
  explicit Survey(const Kernel& kernel) : kernel_(kernel) {
    forEachStmt(kernel.body, [&](const Stmt& s) {
      const auto* d = as<DeclareIndex>(s);
      const auto* value = d != nullptr ? as<Index>(d->value) : nullptr;
      if (value == nullptr || value->value.lower().value_or(-1) < 0) return;
      names_.insert(d->variable);
      values_.emplace_back(d->variable, value->value);
    });
  }

  Pointers run() {
    forEachStmt(kernel_.body, [&](const Stmt& s) { statement(s); });
    for (const auto& [name, value] : std::views::reverse(values_)) {  // what uses a name is decided before the name
      const auto pointer = pointers_.find(name);
      if (pointer != pointers_.end() && !integers_.contains(name))
        access(pointer->second, value);
      else
        compute(value);
    }
    std::erase_if(pointers_, [&](const auto& p) { return integers_.contains(p.first); });
    return pointers_;
  }

 private:
  void statement(const Stmt& s) {
    const auto* declared = as<DeclareIndex>(s);
    const bool isName = declared != nullptr && names_.contains(declared->variable);
    if (!isName)
      forEachExpr(s, [&](const Expr& e) {
        if (const auto* l = as<Load>(e)) return access(l->buffer, l->index);
        forEachNat(e, [&](Nat n) { compute(n); });
      });
    if (const auto* store = as<Store>(s)) return access(store->buffer, store->index);
    if (const auto* prefetch = as<Prefetch>(s)) return access(prefetch->buffer, prefetch->index);
    forEachOwnNat(s, [&](Nat n) { compute(n); });
  }

  void access(BufferId b, Nat index) {
    const Buffer& buffer = kernel_.buffers[b];
    if (buffer.space != AddressSpace::global || buffer.isImage) return compute(index);
    const auto base = baseOf(index, names_);
    if (!base) return compute(index);
    const auto [known, isNew] = pointers_.try_emplace(*base, b);
    if (known->second != b) integers_.insert(*base);
    compute(index - Nat(*base));
  }

  void compute(Nat n) {
    for (const NatVar v : n.variables()) integers_.insert(v);
  }

  const Kernel& kernel_;
  std::unordered_set<NatVar> names_;            // that are not negative
  std::vector<std::pair<NatVar, Nat>> values_;  // of these, in the order of their declarations
  Pointers pointers_;                           // names that an access adds
  std::unordered_set<NatVar> integers_;         // that are used otherwise, or for several arrays
};

}  // namespace

Pointers pointersOf(const Kernel& kernel) { return Survey(kernel).run(); }

}  // namespace lift::kernel
