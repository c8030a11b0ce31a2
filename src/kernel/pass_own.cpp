// Private arrays that a group's work-items share out among them, as the accumulators of a reduction whose function is a
// mapLcl: each work-item keeps the part that it uses, and no more.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

class Owned {
 public:
  explicit Owned(Kernel& k) : k_(k) {
    for (std::size_t d = 0; d < 3; d++) items_.push_back(NatVar::index("item" + std::to_string(d), k.range.local[d]));
  }

  void run() {
    collect(k_.body, {});
    bool any = false;
    for (auto& [buffer, part] : parts_) {
      part.shared = part.shared && part.begin && *part.begin != Nat(0);
      if (part.shared) k_.buffers[buffer].count = Nat(part.count);
      any = any || part.shared;
    }
    if (any) rewrite(k_.body, {});
  }

 private:
  using Ids = std::map<NatVar, Nat>;
  // The loops over work-items around a statement: their indices as the ids, and as zeros.
  struct Around {
    Ids ids, zeros;
    bool once = true;  // each work-item runs each of them at most once, so its ids are the same everywhere
  };
  struct Part {
    bool shared = true;        // all accesses are of one form
    std::optional<Nat> begin;  // by the ids
    std::int64_t count = 0;
  };

  Around inside(const Stmt& s, Around around) const {
    const auto* f = as<For>(s);
    if (f == nullptr || f->kind != LoopKind::local) return around;
    around.once = around.once && f->trip != Trip::any;
    around.ids.emplace(f->index, Nat(items_[static_cast<std::size_t>(f->dim)]));
    around.zeros.emplace(f->index, Nat(0));
    return around;
  }

  void access(BufferId b, Nat index, int width, const Around& around) {
    const Buffer& buffer = k_.buffers[b];
    if (buffer.space != AddressSpace::priv) return;
    Part& part = parts_[b];
    const Nat rest = index.substitute(around.zeros), begin = index.substitute(around.ids) - rest;
    const auto last = rest.upper();
    part.shared = part.shared && around.once && last && (!part.begin || *part.begin == begin);
    if (!part.shared) return;
    part.begin = begin;
    part.count = std::max(part.count, *last + (buffer.width > 1 ? 1 : width));
  }

  void collect(const Block& block, const Around& around) {
    for (const Stmt& s : block) {
      forEachAccess(s, [&](BufferId b, Nat index, int width, bool) { access(b, index, width, around); });
      forEachBlock(s, [&](const Block& nested) { collect(nested, inside(s, around)); });
    }
  }

  void rewrite(Block& block, const Around& around) const {
    const auto at = [&](BufferId b, Nat index) {
      const auto part = parts_.find(b);
      return part != parts_.end() && part->second.shared ? index.substitute(around.zeros) : index;
    };
    const std::function<ExprPtr(const ExprPtr&)> expr = [&](const ExprPtr& e) -> ExprPtr {
      const auto* l = as<Load>(e);
      if (l == nullptr) return mapChildren(e, expr);
      return mapNats(e, [&](Nat index) { return at(l->buffer, index); });
    };
    for (Stmt& s : block) {
      mapRoots(s, expr);
      if (auto* st = as<Store>(s)) st->index = at(st->buffer, st->index);
      const Around inner = inside(s, around);
      forEachBlock(s, [&](Block& nested) { rewrite(nested, inner); });
    }
  }

  Kernel& k_;
  std::vector<NatVar> items_;
  std::map<BufferId, Part> parts_;
};

}  // namespace

Kernel ownPass(Kernel kernel, const PassOptions&) {
  Owned(kernel).run();
  return kernel;
}

}  // namespace lift::kernel
