// Lowering: values in registers, memory, vectors and under conditions; stores to them.

#include <algorithm>

#include "lift/kernel_walk.hpp"
#include "lift/mapping.hpp"
#include "lowerer.hpp"

namespace lift::detail {

namespace {

// Whether the statements may be executed although their values are not needed: a few operations on registers, defined
// for all values, that take no longer than a mispredicted branch.
bool isSpeculable(const Block& block) {
  constexpr double mostAdditions = 8;
  double additions = 0;
  for (const kernel::Stmt& s : block) {
    const auto* d = as<kernel::Declare>(s);
    if (d == nullptr || !d->value) return false;
    bool defined = true;
    kernel::forEachExpr(**d->value, [&](const kernel::Expr& e) {
      const auto* o = as<kernel::Operation>(e);
      if (o != nullptr) additions += costOf(o->op);
      const bool divides = o != nullptr && (o->op == Op::div || o->op == Op::mod) && !isFloat(e.type.scalar);
      if (divides) {
        const auto* divisor = as<kernel::Literal>(o->args[1]);
        defined = defined && divisor != nullptr && divisor->value.integer != 0;
      }
      defined = defined && !is<kernel::Load>(e);
    });
    if (!defined || additions > mostAdditions) return false;
  }
  return true;
}

void append(Block from, Block& to) {
  for (kernel::Stmt& s : from) to.push_back(std::move(s));
}

// Whether the lanes are one vector in memory.
bool areConsecutive(const std::vector<ViewPtr>& lanes) {
  const auto* first = lanes.empty() ? nullptr : viewAs<MemoryView>(lanes[0]);
  if (first == nullptr || first->unit != 1) return false;
  for (std::size_t l = 1; l < lanes.size(); l++) {
    const auto* m = viewAs<MemoryView>(lanes[l]);
    if (m == nullptr || m->buffer != first->buffer || m->offset != first->offset + Nat(static_cast<std::int64_t>(l)))
      return false;
  }
  return true;
}

// Of lanes of vectors of so many: also where bounds have only whole vectors below them.
bool isSame(const GuardedView::Guard& a, const GuardedView::Guard& b, std::size_t lanes = 1) {
  const Nat width = static_cast<std::int64_t>(lanes);
  return a.condition == b.condition && std::ranges::equal(a.bounds, b.bounds, [&](const auto& x, const auto& y) {
           if (x.larger != y.larger) return false;
           return x.smaller == y.smaller || (divides(width, x.larger) == Truth::proved &&
                                             floorDiv(x.smaller, width) == floorDiv(y.smaller, width));
         });
}

}  // namespace

ExprPtr Lowering::testOf(const GuardedView::Guard& guard) {
  if (guard.condition) return static_cast<const ValueCondition&>(*guard.condition).value;
  std::vector<kernel::Comparison> all;
  for (const auto& b : guard.bounds) all.push_back({b.smaller, kernel::Relation::less, b.larger});
  return kernel::test(std::move(all));
}

ExprPtr Lowering::value(const ViewPtr& v) {
  if (const auto* m = viewAs<ValueView>(v)) return m->expr;
  if (const auto* m = viewAs<RegisterView>(v)) return kernel::ref(m->variable, valueTypeOf(v->type()));
  if (const auto* m = viewAs<MemoryView>(v)) return kernel::load(m->buffer, m->offset, valueTypeOf(v->type()));
  if (const auto* m = viewAs<GuardedView>(v)) {
    const auto of = [&](const ViewPtr& side) { return std::vector{value(side)}; };
    return choose(
        testOf(m->guard), m->guard.condition ? "chosen" : "padded", [&] { return of(m->inside()); },
        [&] { return of(m->outside()); })[0];
  }
  if (const auto* m = viewAs<VectorView>(v)) {
    std::vector<ViewPtr> lanes;
    for (int l = 0; l < valueTypeOf(v->type()).width; l++) lanes.push_back(m->lane(l));
    return gather(lanes, v->type());
  }
  if (const auto* m = viewAs<LaneView>(v)) return laneValue(*m);
  throw InternalError("not a leaf: a view of " + v->type().str());
}

std::vector<ExprPtr> Lowering::choose(const ExprPtr& condition, const std::string& name, const Values& then,
                                      const Values& otherwise) {
  std::vector<ExprPtr> a, b;
  Block before = collect([&] { a = then(); }), beforeOther = collect([&] { b = otherwise(); });
  for (std::size_t i = 0; i < a.size(); i++) {
    const int width = std::max(a[i]->type.width, b[i]->type.width);
    a[i] = widen(a[i], width);
    b[i] = widen(b[i], width);
  }
  std::vector<ExprPtr> results;
  if (isSpeculable(before) && isSpeculable(beforeOther)) {
    append(std::move(before), *block_);
    append(std::move(beforeOther), *block_);
    for (std::size_t i = 0; i < a.size(); i++) results.push_back(kernel::choose(condition, a[i], b[i]));
    return results;
  }
  for (std::size_t i = 0; i < a.size(); i++) {
    const kernel::VarId result = newVariable(name, a[i]->type);
    emit(kernel::Declare{result, std::nullopt});
    before.push_back({kernel::Assign{result, a[i]}});
    beforeOther.push_back({kernel::Assign{result, b[i]}});
    results.push_back(kernel::ref(result, a[i]->type));
  }
  emit(kernel::If{condition, std::move(before), std::move(beforeOther)});
  return results;
}

namespace {

// Where lanes whose indices are clamped from above lie in memory while none is clamped: one after the other.
struct Unclamped {
  Nat first;                            // the first lane's offset
  std::vector<kernel::Comparison> all;  // what holds then
};

bool dependsOnLoops(Nat n) {
  return std::ranges::any_of(n.variables(), [](NatVar v) { return v.role() == NatVar::Role::index; });
}

// n without its minima of a term of loops and a bound, which is one for all steps; `kept` gets what that assumes: term
// <= bound.
Nat withoutMinima(Nat n, std::vector<kernel::Comparison>& kept) {
  switch (n.kind()) {
    case Nat::Kind::sum:
    case Nat::Kind::product: {
      const bool isSum = n.kind() == Nat::Kind::sum;
      Nat result = isSum ? 0 : 1;
      for (const Nat part : n.operands()) {
        const Nat now = withoutMinima(part, kept);
        result = isSum ? result + now : result * now;
      }
      return result;
    }
    case Nat::Kind::min: {
      const Nat a = n.operands()[0], b = n.operands()[1];
      if (dependsOnLoops(a) == dependsOnLoops(b)) return n;
      const auto [term, bound] = dependsOnLoops(a) ? std::pair(a, b) : std::pair(b, a);
      kept.push_back({term, kernel::Relation::lessEqual, bound});
      return term;
    }
    default: return n;
  }
}

// The index, and its only value, at which not all of these comparisons hold; nothing where there are other such values.
std::optional<std::pair<const NatVar, Nat>> valueUnless(const std::vector<kernel::Comparison>& all) {
  if (all.size() != 1 || !all[0].rhs.constant()) return std::nullopt;
  std::optional<NatVar> index;  // but for loops of one iteration
  for (const NatVar v : all[0].lhs.variables()) {
    if (Nat(v).upper() == v.lower()) continue;
    if (index) return std::nullopt;
    index = v;
  }
  const auto linear = index ? all[0].lhs.linearIn(*index) : std::nullopt;
  const std::int64_t step = linear ? linear->coefficient.constant().value_or(0) : 0;
  const auto last = step > 0 ? Nat(*index).upper() : std::nullopt, rest = linear ? linear->rest.upper() : std::nullopt;
  if (!last || !rest || linear->rest.lower() != rest) return std::nullopt;
  const std::int64_t equal = all[0].relation == kernel::Relation::lessEqual ? 1 : 0;
  const std::int64_t reach = *all[0].rhs.constant() + equal - *rest;  // they hold where step * index < reach
  if (step * *last < reach || step * (*last - 1) >= reach) return std::nullopt;
  return std::pair<const NatVar, Nat>{*index, Nat(*last)};
}

std::optional<Unclamped> unclamped(const std::vector<ViewPtr>& lanes) {
  std::optional<Unclamped> result;
  for (std::size_t l = lanes.size(); l-- > 0;) {
    const auto* m = viewAs<MemoryView>(lanes[l]);
    if (m == nullptr || m->unit != 1 || m->buffer != static_cast<const MemoryView*>(lanes.back().get())->buffer)
      return std::nullopt;
    std::vector<kernel::Comparison> kept;
    const Nat first = withoutMinima(m->offset, kept) - Nat(static_cast<std::int64_t>(l));
    if (!result) result = {first, kept};
    // What holds of the last lane's terms holds of smaller ones.
    const auto follows = [&](const kernel::Comparison& c) {
      return std::ranges::any_of(result->all, [&](const kernel::Comparison& last) {
        return last.rhs == c.rhs && (last.lhs - c.lhs).constant().value_or(-1) >= 0;
      });
    };
    if (result->all.empty() || first != result->first || !std::ranges::all_of(kept, follows)) return std::nullopt;
  }
  return result;
}

}  // namespace

ExprPtr Lowering::gather(const std::vector<ViewPtr>& lanes, Type type) {
  const ValueType vt = valueTypeOf(type);
  const auto* first = viewAs<MemoryView>(lanes[0]);
  if (areConsecutive(lanes)) return kernel::load(first->buffer, first->offset, vt);
  const auto isFirst = [&](const ViewPtr& lane) {
    const auto* m = viewAs<MemoryView>(lane);
    return m && m->buffer == first->buffer && m->offset == first->offset;
  };
  if (first && std::ranges::all_of(lanes, isFirst)) return kernel::splat(value(lanes[0]), vt.width);
  const auto* guard = viewAs<GuardedView>(lanes[0]);
  const auto isUnderIt = [&](const ViewPtr& lane) {
    const auto* g = viewAs<GuardedView>(lane);
    return g && isSame(g->guard, guard->guard, lanes.size());
  };
  if (guard && std::ranges::all_of(lanes, isUnderIt)) {  // choose between two vectors
    const auto vectorOf = [&](bool isInside) {
      const auto lane = [lanes, isInside](Nat l) {
        const auto* g = static_cast<const GuardedView*>(lanes.at(static_cast<std::size_t>(*l.constant())).get());
        return isInside ? g->inside() : g->outside();
      };
      return [type, lane]() -> ViewPtr {
        return std::make_shared<VectorView>(type, lazyView(Type::array(type.length(), type.element()), lane), Nat(0));
      };
    };
    return value(std::make_shared<GuardedView>(type, guard->guard, vectorOf(true), vectorOf(false)));
  }
  std::vector<ExprPtr> parts;
  const auto whole = unclamped(lanes);
  const auto rest = whole ? valueUnless(whole->all) : std::nullopt;
  for (const ViewPtr& l : lanes) {
    const auto* m = viewAs<MemoryView>(l);
    parts.push_back(rest ? kernel::load(m->buffer, m->offset.substitute({*rest}), valueTypeOf(l->type())) : value(l));
  }
  if (std::ranges::all_of(parts, [&](const ExprPtr& p) { return p == parts[0]; }))
    return kernel::splat(parts[0], vt.width);
  const ExprPtr vector = kernel::makeVector(std::move(parts));
  return whole ? kernel::choose(kernel::test(whole->all), kernel::load(first->buffer, whole->first, vt), vector)
               : vector;
}

ExprPtr Lowering::laneValue(const LaneView& v) {
  if (const auto* m = viewAs<MemoryView>(v.vector); m && m->unit == 1)
    return kernel::load(m->buffer, m->offset + v.lane, valueTypeOf(v.type()));
  if (const auto* m = viewAs<VectorView>(v.vector)) return value(m->scalars->at(m->base + v.lane));
  if (std::dynamic_pointer_cast<const GuardedView>(v.vector)) {
    const auto guarded = std::static_pointer_cast<const GuardedView>(v.vector);
    const auto lane = [type = v.type(), lane = v.lane](const ViewPtr& vector) -> ViewPtr {
      return std::make_shared<LaneView>(type, vector, lane);
    };
    return value(std::make_shared<GuardedView>(
        v.type(), guarded->guard, [=] { return lane(guarded->inside()); }, [=] { return lane(guarded->outside()); }));
  }
  ExprPtr vector = value(v.vector);
  if (!isAtom(vector)) vector = declare("v", vector);
  if (const auto l = v.lane.constant()) return kernel::lane(vector, static_cast<int>(*l));
  ExprPtr result = kernel::lane(vector, vector->type.width - 1);
  for (int l = vector->type.width - 2; l >= 0; l--)
    result = kernel::choose(kernel::test({{v.lane, kernel::Relation::equal, Nat(l)}}), kernel::lane(vector, l), result);
  return result;
}

void Lowering::store(const ViewPtr& out, ExprPtr v) {
  if (out->type().isVector()) v = widen(v, valueTypeOf(out->type()).width);  // the same in all lanes
  if (const auto* m = viewAs<MemoryView>(out)) return emit(kernel::Store{m->buffer, m->offset, v});
  if (const auto* m = viewAs<RegisterView>(out)) return emit(kernel::Assign{m->variable, v});
  if (viewAs<NowhereView>(out)) return;
  if (const auto* m = viewAs<GuardedView>(out)) {
    if (!isAtom(v)) v = declare("v", v);
    return emit(kernel::If{testOf(m->guard), collect([&] { store(m->inside(), v); }),
                           collect([&] { store(m->outside(), v); })});
  }
  if (const auto* m = viewAs<VectorView>(out)) {
    std::vector<ViewPtr> lanes;
    for (int l = 0; l < valueTypeOf(out->type()).width; l++) lanes.push_back(m->lane(l));
    return storeLanes(lanes, v);
  }
  if (const auto* m = viewAs<LaneView>(out)) return storeLane(*m, std::move(v));
  throw InternalError("not a place to store to: a view of " + out->type().str());
}

namespace {

// What holds where all lanes' guards do; nothing where none has one, or one that is no bound.
std::optional<GuardedView::Guard> guardOfAll(const std::vector<ViewPtr>& lanes) {
  GuardedView::Guard all;
  for (const ViewPtr& lane : lanes) {
    const auto* g = viewAs<GuardedView>(lane);
    if (g == nullptr) continue;
    if (g->guard.condition) return {};
    for (const GuardedView::Bound& b : g->guard.bounds) {
      const auto follows = [](const GuardedView::Bound& weak, const GuardedView::Bound& strong) {
        return lessEqual(weak.smaller, strong.smaller) == Truth::proved &&
               lessEqual(strong.larger, weak.larger) == Truth::proved;
      };
      auto& bounds = all.bounds;
      if (std::ranges::any_of(bounds, [&](const auto& other) { return follows(b, other); })) continue;
      bounds.erase(std::remove_if(bounds.begin(), bounds.end(), [&](const auto& other) { return follows(other, b); }),
                   bounds.end());
      bounds.push_back(b);
    }
  }
  return all.bounds.empty() ? std::nullopt : std::optional(all);
}

// Numbers that grow by the same with each lane, as a number of the lane.
std::optional<Nat> byLane(const std::vector<Nat>& numbers, Nat lane) {
  const Nat step = numbers[1] - numbers[0];
  for (std::size_t l = 2; l < numbers.size(); l++)
    if (numbers[l] - numbers[l - 1] != step) return std::nullopt;
  return numbers[0] + step * lane;
}

// Lanes of one array, perhaps under conditions on indices, as a view of the lane; nothing where they are no such lanes.
ViewPtr viewByLane(const std::vector<ViewPtr>& lanes, Nat lane) {
  const Type type = lanes[0]->type();
  const auto numbers = [&](auto&& of) {
    std::vector<Nat> list;
    for (const ViewPtr& v : lanes) list.push_back(of(v));
    return byLane(list, lane);
  };
  if (std::ranges::all_of(lanes, [](const ViewPtr& v) { return viewAs<NowhereView>(v) != nullptr; })) return lanes[0];
  if (const auto* first = viewAs<MemoryView>(lanes[0])) {
    const auto isBeside = [&](const ViewPtr& v) {
      const auto* m = viewAs<MemoryView>(v);
      return m && m->buffer == first->buffer && m->unit == 1;
    };
    if (!type.isScalar() || !std::ranges::all_of(lanes, isBeside)) return nullptr;
    const auto offset = numbers([](const ViewPtr& v) { return static_cast<const MemoryView&>(*v).offset; });
    return offset ? std::make_shared<MemoryView>(type, first->buffer, *offset) : nullptr;
  }
  const auto guardOf = [](const ViewPtr& v) -> const auto& { return static_cast<const GuardedView&>(*v).guard; };
  const auto isAlike = [&](const ViewPtr& v) {
    const auto* g = viewAs<GuardedView>(v);
    return g && !g->guard.condition && g->guard.bounds.size() == guardOf(lanes[0]).bounds.size();
  };
  if (!std::ranges::all_of(lanes, isAlike)) return nullptr;
  GuardedView::Guard guard;
  for (std::size_t b = 0; b < guardOf(lanes[0]).bounds.size(); b++) {
    const auto smaller = numbers([&](const ViewPtr& v) { return guardOf(v).bounds[b].smaller; });
    const auto larger = numbers([&](const ViewPtr& v) { return guardOf(v).bounds[b].larger; });
    if (!smaller || !larger) return nullptr;
    guard.bounds.push_back({*smaller, *larger});
  }
  std::vector<ViewPtr> insides, outsides;
  for (const ViewPtr& v : lanes) {
    insides.push_back(static_cast<const GuardedView&>(*v).inside());
    outsides.push_back(static_cast<const GuardedView&>(*v).outside());
  }
  const ViewPtr inside = viewByLane(insides, lane), outside = viewByLane(outsides, lane);
  if (!inside || !outside) return nullptr;
  return std::make_shared<GuardedView>(
      type, std::move(guard), [inside] { return inside; }, [outside] { return outside; });
}

}  // namespace

// One store where the lanes are consecutive; where all are under conditions, one for all if all hold.
void Lowering::storeLanes(const std::vector<ViewPtr>& lanes, const ExprPtr& v) {
  if (areConsecutive(lanes)) return store(lanes[0], v);
  const ExprPtr vector = isAtom(v) ? v : declare("v", v);
  const auto eachLane = [&] {
    for (std::size_t l = 0; l < lanes.size(); l++) store(lanes[l], kernel::lane(vector, static_cast<int>(l)));
  };
  const std::optional<GuardedView::Guard> guard = guardOfAll(lanes);
  if (!guard) return eachLane();
  std::vector<ViewPtr> insides;
  bool isOne = true;
  for (const ViewPtr& lane : lanes) {
    const auto* g = viewAs<GuardedView>(lane);
    insides.push_back(g == nullptr ? lane : g->inside());
    isOne = isOne && g != nullptr && isSame(g->guard, *guard);
  }
  const ExprPtr whole = testOf(*guard);
  const auto known = valueUnless(std::get<kernel::Test>(whole->node).all);
  const auto holds = [&](std::size_t l, Truth truth) {
    const auto* g = viewAs<GuardedView>(lanes[l]);
    if (g == nullptr) return truth == Truth::proved;
    const auto is = [&](const GuardedView::Bound& b) {
      return less(b.smaller.substitute({*known}), b.larger.substitute({*known})) == truth;
    };
    const auto& bounds = g->guard.bounds;
    return truth == Truth::proved ? std::ranges::all_of(bounds, is) : std::ranges::any_of(bounds, is);
  };
  // At the one index where not all hold: vectors of those that do.
  const auto someLanes = [&] {
    for (std::size_t l = 0, width; l < lanes.size(); l += width) {
      std::vector<ViewPtr> run;
      for (std::size_t k = l; k < lanes.size() && holds(k, Truth::proved); k++) run.push_back(insides[k]);
      for (width = 16; width > run.size() && width > 1;) width /= 2;
      run.resize(std::min(width, run.size()));
      if (!areConsecutive(run)) width = 1;
      std::vector<ExprPtr> values;
      for (std::size_t k = l; k < l + width; k++) values.push_back(kernel::lane(vector, static_cast<int>(k)));
      if (width > 1)
        store(run[0], kernel::makeVector(std::move(values)));
      else if (!run.empty())
        store(run[0], values[0]);
      else
        store(holds(l, Truth::refuted) ? static_cast<const GuardedView*>(lanes[l].get())->outside() : lanes[l],
              values[0]);
    }
  };
  // Where it is not known which lanes are inside, many lanes are stored by a loop: with a statement for each, these
  // would be most of the kernel's text.
  const auto inLoop = [&] {
    constexpr std::size_t many = 8;
    const Nat width = static_cast<std::int64_t>(lanes.size());
    if (lanes.size() < many || !viewByLane(lanes, Nat(0))) return eachLane();
    const ViewPtr apart = allocate(Type::array(width, lanes[0]->type()), AddressSpace::priv, "lanes");
    const auto first = std::static_pointer_cast<const MemoryView>(apart->at(0));
    emit(kernel::Store{first->buffer, first->offset, vector});
    loop("lane", width, LoopKind::sequential, 0, 1, [&](Nat l) { store(viewByLane(lanes, l), value(apart->at(l))); });
  };
  emit(kernel::If{whole, collect([&] { storeLanes(insides, vector); }),
                  isOne   ? Block{}
                  : known ? collect(someLanes)
                          : collect(inLoop)});
}

void Lowering::storeLane(const LaneView& out, ExprPtr v) {
  if (const auto* m = viewAs<MemoryView>(out.vector)) {
    if (m->unit == 1) return emit(kernel::Store{m->buffer, m->offset + out.lane, v});
    writtenByLane_.insert(m->buffer);
    const ValueType type = valueTypeOf(m->type());
    const ExprPtr old = declare("v", kernel::load(m->buffer, m->offset, type));
    const kernel::VarId variable = std::get<kernel::VarRef>(old->node).variable;
    assignLane(variable, type.width, out.lane, v);
    return emit(kernel::Store{m->buffer, m->offset, old});
  }
  if (const auto* m = viewAs<VectorView>(out.vector)) return store(m->scalars->at(m->base + out.lane), v);
  if (const auto* m = viewAs<RegisterView>(out.vector))
    return assignLane(m->variable, valueTypeOf(m->type()).width, out.lane, v);
  throw InternalError("not a lane to store to");
}

void Lowering::assignLane(kernel::VarId variable, int width, Nat lane, ExprPtr v) {
  if (const auto l = lane.constant()) return emit(kernel::AssignLane{variable, static_cast<int>(*l), v});
  if (!isAtom(v)) v = declare("v", v);
  for (int l = 0; l < width; l++) {
    Block then;
    then.push_back({kernel::AssignLane{variable, l, v}});
    emit(kernel::If{kernel::test({{lane, kernel::Relation::equal, Nat(l)}}), std::move(then), {}});
  }
}

void Lowering::clearVectors(Block& block) {
  for (std::size_t i = 0; i < block.size(); i++) {
    kernel::forEachBlock(block[i], [&](Block& inner) { clearVectors(inner); });
    if (const auto* a = as<kernel::Allocate>(block[i]); a && writtenByLane_.count(a->buffer)) {
      const kernel::Buffer& b = kernel_.buffers[a->buffer];
      const NatVar k = NatVar::index("k", b.count);
      Block body;
      body.push_back({kernel::Store{a->buffer, Nat(k), kernel::literal(ScalarValue::of(b.scalar, 0), b.width)}});
      kernel::For loop{k, b.count, LoopKind::sequential, 0, kernel::Trip::any, 0, std::move(body)};
      block.insert(block.begin() + static_cast<std::ptrdiff_t>(i) + 1, kernel::Stmt{std::move(loop)});
      i++;
    }
  }
}

void Lowering::copy(const ViewPtr& from, const Destination& to, LoopKind kind) {
  const Type type = to.view->type();
  if (type.isArray()) {
    loop(kind == LoopKind::local ? "lcl0" : "i", type.length(), kind, 0, 0,
         [&](Nat i) { copy(from->at(i), to.with(to.view->at(i))); });
  } else if (type.isTuple()) {
    for (int c = 0; c < static_cast<int>(type.components().size()); c++)
      copy(from->component(c), to.with(to.view->component(c)), kind);
  } else {
    store(to.view, value(from));
  }
}

}  // namespace lift::detail
