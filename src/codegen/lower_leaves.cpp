// Lowering: values in registers, memory, vectors and under conditions; stores to them.
#include <fmt/format.h>

#include "lowerer.hpp"

namespace lift::detail {

ExprPtr Lowering::testOf(const std::vector<GuardedView::Bound>& bounds) {
  std::vector<kernel::Comparison> all;
  for (const auto& b : bounds) all.push_back({b.smaller, kernel::Relation::less, b.larger});
  return kernel::test(std::move(all));
}

ExprPtr Lowering::value(const ViewPtr& v) {
  if (const auto* m = dynamic_cast<const ValueView*>(v.get())) return m->expr;
  if (const auto* m = dynamic_cast<const RegisterView*>(v.get()))
    return kernel::ref(m->variable, valueTypeOf(v->type()));
  if (const auto* m = dynamic_cast<const MemoryView*>(v.get()))
    return kernel::load(m->buffer, m->offset, valueTypeOf(v->type()));
  if (const auto* m = dynamic_cast<const GuardedView*>(v.get())) {
    ExprPtr inside, outside;
    const Block before = collect([&] { inside = value(m->inside()); });
    const Block beforeOutside = collect([&] { outside = value(m->outside()); });
    if (before.empty() && beforeOutside.empty()) return kernel::choose(testOf(m->bounds), inside, outside);
    const kernel::VarId result = newVariable("padded", valueTypeOf(v->type()));
    emit(kernel::Declare{result, std::nullopt});
    Block then = before, otherwise = beforeOutside;
    then.push_back({kernel::Assign{result, inside}});
    otherwise.push_back({kernel::Assign{result, outside}});
    emit(kernel::If{testOf(m->bounds), std::move(then), std::move(otherwise)});
    return kernel::ref(result, valueTypeOf(v->type()));
  }
  if (const auto* m = dynamic_cast<const VectorView*>(v.get())) {
    std::vector<ViewPtr> lanes;
    for (int l = 0; l < valueTypeOf(v->type()).width; l++) lanes.push_back(m->lane(l));
    return gather(lanes, v->type());
  }
  if (const auto* m = dynamic_cast<const LaneView*>(v.get())) return laneValue(*m);
  throw InternalError("not a leaf: a view of " + v->type().str());
}

ExprPtr Lowering::gather(const std::vector<ViewPtr>& lanes, Type type) {
  const auto* first = dynamic_cast<const MemoryView*>(lanes[0].get());
  bool consecutive = first && first->unit == 1, equal = first != nullptr;
  const auto* guard = dynamic_cast<const GuardedView*>(lanes[0].get());
  for (std::size_t l = 0; l < lanes.size(); l++) {
    const auto* m = dynamic_cast<const MemoryView*>(lanes[l].get());
    consecutive = consecutive && m && m->buffer == first->buffer &&
                  m->offset == first->offset + Nat(static_cast<std::int64_t>(l));
    equal = equal && m && m->buffer == first->buffer && m->offset == first->offset;
    const auto* g = dynamic_cast<const GuardedView*>(lanes[l].get());
    if (guard && g && g->bounds.size() == guard->bounds.size()) {
      for (std::size_t b = 0; b < g->bounds.size(); b++)
        if (g->bounds[b].smaller != guard->bounds[b].smaller || g->bounds[b].larger != guard->bounds[b].larger) {
          guard = nullptr;
          break;
        }
    } else {
      guard = nullptr;
    }
  }
  const ValueType vt = valueTypeOf(type);
  if (consecutive) return kernel::load(first->buffer, first->offset, vt);
  if (equal) return kernel::splat(value(lanes[0]), vt.width);
  if (guard) {
    // All lanes are under one condition: choose between two vectors.
    const auto vectorOf = [&](bool isInside) {
      const auto lane = [lanes, isInside](Nat l) {
        const auto* g = static_cast<const GuardedView*>(lanes.at(static_cast<std::size_t>(*l.constant())).get());
        return isInside ? g->inside() : g->outside();
      };
      return [type, lane]() -> ViewPtr {
        return std::make_shared<VectorView>(type, lazyView(Type::array(type.length(), type.element()), lane), Nat(0));
      };
    };
    return value(std::make_shared<GuardedView>(type, guard->bounds, vectorOf(true), vectorOf(false)));
  }
  std::vector<ExprPtr> parts;
  for (const ViewPtr& l : lanes) parts.push_back(value(l));
  if (std::all_of(parts.begin(), parts.end(), [&](const ExprPtr& p) { return p == parts[0]; }))
    return kernel::splat(parts[0], vt.width);
  return kernel::makeVector(std::move(parts));
}

ExprPtr Lowering::laneValue(const LaneView& v) {
  if (const auto* m = dynamic_cast<const MemoryView*>(v.vector.get()); m && m->unit == 1)
    return kernel::load(m->buffer, m->offset + v.lane, valueTypeOf(v.type()));
  if (const auto* m = dynamic_cast<const VectorView*>(v.vector.get())) return value(m->scalars->at(m->base + v.lane));
  if (std::dynamic_pointer_cast<const GuardedView>(v.vector)) {
    const auto guarded = std::static_pointer_cast<const GuardedView>(v.vector);
    const auto lane = [type = v.type(), lane = v.lane](const ViewPtr& vector) -> ViewPtr {
      return std::make_shared<LaneView>(type, vector, lane);
    };
    return value(std::make_shared<GuardedView>(
        v.type(), guarded->bounds, [=] { return lane(guarded->inside()); }, [=] { return lane(guarded->outside()); }));
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
  if (const auto* m = dynamic_cast<const MemoryView*>(out.get())) return emit(kernel::Store{m->buffer, m->offset, v});
  if (const auto* m = dynamic_cast<const RegisterView*>(out.get())) return emit(kernel::Assign{m->variable, v});
  if (const auto* m = dynamic_cast<const VectorView*>(out.get())) {
    const int width = valueTypeOf(out->type()).width;
    std::vector<ViewPtr> lanes;
    for (int l = 0; l < width; l++) lanes.push_back(m->lane(l));
    const auto* first = dynamic_cast<const MemoryView*>(lanes[0].get());
    bool consecutive = first && first->unit == 1;
    for (int l = 1; l < width && consecutive; l++) {
      const auto* n = dynamic_cast<const MemoryView*>(lanes[static_cast<std::size_t>(l)].get());
      consecutive = n && n->buffer == first->buffer && n->offset == first->offset + Nat(l);
    }
    if (consecutive) return emit(kernel::Store{first->buffer, first->offset, v});
    if (!isAtom(v)) v = declare("v", v);
    for (int l = 0; l < width; l++) store(lanes[static_cast<std::size_t>(l)], kernel::lane(v, l));
    return;
  }
  if (const auto* m = dynamic_cast<const LaneView*>(out.get())) return storeLane(*m, std::move(v));
  throw InternalError("not a place to store to: a view of " + out->type().str());
}

void Lowering::storeLane(const LaneView& out, ExprPtr v) {
  if (const auto* m = dynamic_cast<const MemoryView*>(out.vector.get())) {
    if (m->unit == 1) return emit(kernel::Store{m->buffer, m->offset + out.lane, v});
    writtenByLane_.insert(m->buffer);
    const ValueType type = valueTypeOf(m->type());
    const ExprPtr old = declare("v", kernel::load(m->buffer, m->offset, type));
    const kernel::VarId variable = std::get<kernel::VarRef>(old->node).variable;
    assignLane(variable, type.width, out.lane, v);
    return emit(kernel::Store{m->buffer, m->offset, old});
  }
  if (const auto* m = dynamic_cast<const VectorView*>(out.vector.get()))
    return store(m->scalars->at(m->base + out.lane), v);
  if (const auto* m = dynamic_cast<const RegisterView*>(out.vector.get()))
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
    if (auto* f = std::get_if<kernel::For>(&block[i].node)) {
      clearVectors(f->body);
    } else if (auto* branch = std::get_if<kernel::If>(&block[i].node)) {
      clearVectors(branch->then);
      clearVectors(branch->otherwise);
    } else if (const auto* a = std::get_if<kernel::Allocate>(&block[i].node); a && writtenByLane_.count(a->buffer)) {
      const kernel::Buffer& b = kernel_.buffers[a->buffer];
      const NatVar k = NatVar::index("k", b.count);
      const Scalar scalar = b.scalar == Scalar::f16 ? Scalar::f32 : b.scalar;
      Block body;
      body.push_back({kernel::Store{a->buffer, Nat(k), kernel::literal(ScalarValue::of(scalar, 0), b.width)}});
      kernel::For loop{k, b.count, LoopKind::sequential, 0, kernel::Trip::any, 0, std::move(body)};
      block.insert(block.begin() + static_cast<std::ptrdiff_t>(i) + 1, kernel::Stmt{std::move(loop)});
      i++;
    }
  }
}

void Lowering::copy(const ViewPtr& from, const Destination& to) {
  const Type type = to.view->type();
  if (type.isArray()) {
    loop("i", type.length(), LoopKind::sequential, 0, 0, [&](Nat i) { copy(from->at(i), to.with(to.view->at(i))); });
  } else if (type.is(Type::Kind::tuple)) {
    for (int c = 0; c < static_cast<int>(type.components().size()); c++)
      copy(from->component(c), to.with(to.view->component(c)));
  } else {
    store(to.view, value(from));
  }
}

}  // namespace lift::detail
