// Vectors of which only the first lanes are ever used get narrower: of 36 channels the last vector of eight has four.
#include <algorithm>
#include <bit>
#include <vector>

#include "pass_list.hpp"
#include "slice.hpp"

namespace lift::kernel {
namespace {

class Lanes {
 public:
  explicit Lanes(Kernel& k) : k_(k), used_(k.variables.size(), 0) {}

  void run() {
    untilStable();
    // What nobody reads is another pass's business.
    for (VarId v = 0; v < used_.size(); v++)
      if (used_[v] == 0) use(v, widthOf(v));
    untilStable();
    bool any = false;
    for (VarId v = 0; v < used_.size(); v++) any = any || isNarrowed(v);
    if (!any) return;
    for (VarId v = 0; v < used_.size(); v++) k_.variables[v].type.width = used_[v];
    forEachStmt(k_.body, [&](Stmt& s) {
      if (auto* d = as<Declare>(s); d != nullptr && d->value)
        d->value = first(*d->value, used_[d->variable]);
      else if (auto* a = as<Assign>(s))
        a->value = first(a->value, used_[a->variable]);
      else
        mapRoots(s, [&](const ExprPtr& e) { return whole(e); });
    });
  }

 private:
  int widthOf(VarId v) const { return k_.variables[v].type.width; }
  bool isNarrowed(VarId v) const { return used_[v] < widthOf(v); }

  // A power of two: three lanes take the registers of four.
  static int width(int lanes, int all) { return std::min(all, static_cast<int>(std::bit_ceil(unsigned(lanes)))); }

  // ---------------------------------------------------------------------------------------------- which lanes are used

  void untilStable() {
    do {
      changed_ = false;
      forEachStmt(k_.body, [&](const Stmt& s) { uses(s); });
    } while (changed_);
  }

  void use(VarId v, int lanes) {
    const int now = std::max(used_[v], width(lanes, widthOf(v)));
    changed_ = changed_ || now != used_[v];
    used_[v] = now;
  }

  void uses(const Stmt& s) {
    if (const auto* d = as<Declare>(s); d != nullptr && d->value) return assigns(d->variable, *d->value);
    if (const auto* a = as<Assign>(s)) return assigns(a->variable, a->value);
    if (const auto* a = as<AssignLane>(s)) use(a->variable, widthOf(a->variable));
    if (const auto v = ownRead(s)) use(*v, widthOf(*v));
    forEachRoot(s, [&](const ExprPtr& e) { uses(e, e->type.width); });
  }

  void assigns(VarId v, const ExprPtr& value) {
    if (used_[v] == 0) return;
    if (!hasSlices(value)) use(v, widthOf(v));
    uses(value, used_[v]);
  }

  // The first lanes of an expression are used.
  void uses(const ExprPtr& e, int lanes) {
    if (const auto* v = as<VarRef>(e)) return use(v->variable, lanes);
    if (const auto* l = as<Lane>(e)) return uses(l->vector, lanesFor(*l));
    if (const auto* m = as<MakeVector>(e)) {
      for (int i = 0; i < lanes; i++) uses(m->lanes[static_cast<std::size_t>(i)], 1);
      return;
    }
    // Operands are vectors as the result is, or scalars.
    forEachChild(*e,
                 [&](const ExprPtr& c) { uses(c, is<AnyLane>(e) ? c->type.width : std::min(lanes, c->type.width)); });
  }

  // How many lanes of its vector a lane is taken from.
  int lanesFor(const Lane& l) const {
    const int all = l.vector->type.width;
    return hasSlices(l.vector) ? width(l.lane + 1, all) : all;
  }

  // Whether its first lanes can be computed alone: what is kept as vectors in memory is loaded whole.
  bool hasSlices(const ExprPtr& e) const {
    return !anyExpr<Load>(
        *e, [&](const Load& l) { return k_.buffers[l.buffer].width > 1 || k_.buffers[l.buffer].isImage; });
  }

  // ------------------------------------------------------------------------------------------------------- without
  // them

  ExprPtr first(const ExprPtr& e, int lanes) {
    if (e->type.width <= lanes) return whole(e);
    const auto leaf = [&](const ExprPtr& l) {
      const ValueType type{l->type.scalar, lanes};
      if (const auto* load = as<Load>(l)) return kernel::load(load->buffer, load->index, type);
      const VarId v = std::get<VarRef>(l->node).variable;
      if (used_[v] == lanes) return ref(v, type);
      std::vector<ExprPtr> some;
      for (int i = 0; i < lanes; i++) some.push_back(lane(ref(v, {type.scalar, used_[v]}), i));
      return makeVector(std::move(some));
    };
    return slice(e, 0, lanes, leaf, [&](const ExprPtr& s) { return whole(s); });
  }

  // All lanes of an expression, some of whose operands may be narrower now.
  ExprPtr whole(const ExprPtr& e) {
    if (const auto* l = as<Lane>(e)) return lane(first(l->vector, lanesFor(*l)), l->lane);
    if (const auto* m = as<MakeVector>(e)) {
      std::vector<ExprPtr> lanes;
      for (const ExprPtr& l : m->lanes) lanes.push_back(whole(l));
      return makeVector(std::move(lanes));
    }
    return mapChildren(e, [&](const ExprPtr& c) { return whole(c); });
  }

  Kernel& k_;
  std::vector<int> used_;  // of each variable, the first lanes
  bool changed_ = false;
};

}  // namespace

Kernel lanesPass(Kernel kernel, const PassOptions&) {
  Lanes(kernel).run();
  return kernel;
}

}  // namespace lift::kernel
