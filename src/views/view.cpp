#include "lift/views.hpp"

#include "lift/diagnostic.hpp"

namespace lift {
namespace {

// Scalars in a value of the type, in units of the view's memory.
Nat unitsOf(Type type, int unit) {
  Nat count = 1;
  for (; type.isArray(); type = type.element()) count = count * type.length();
  if (type.isVector() && unit == 1) count = count * type.length();
  return count;
}

Type elementOf(const ViewPtr& array) {
  ensure(array->type().isArray(), "a layout of something that is not an array");
  return array->type().element();
}

class LazyView final : public View {
 public:
  LazyView(Type type, std::function<ViewPtr(Nat)> element) : View(type), element_(std::move(element)) {}
  ViewPtr at(Nat index) const override { return element_(index); }

 private:
  std::function<ViewPtr(Nat)> element_;
};

class TupleView final : public View {
 public:
  TupleView(Type type, std::vector<ViewPtr> components) : View(type), components_(std::move(components)) {}
  ViewPtr component(int i) const override { return components_.at(static_cast<std::size_t>(i)); }

 private:
  std::vector<ViewPtr> components_;
};

// Memory of an array of tuples: one view per component, each an array of the same lengths.
class StructView final : public View {
 public:
  StructView(Type type, std::vector<ViewPtr> parts) : View(type), parts_(std::move(parts)) {}
  ViewPtr at(Nat index) const override {
    std::vector<ViewPtr> elements;
    for (const ViewPtr& p : parts_) elements.push_back(p->at(index));
    const Type element = type().element();
    if (element.isArray()) return std::make_shared<StructView>(element, std::move(elements));
    return std::make_shared<TupleView>(element, std::move(elements));
  }

 private:
  std::vector<ViewPtr> parts_;
};

ViewPtr structure(Type type, const std::vector<Storage>& leaves, std::size_t& next) {
  const std::vector<Nat> shape = shapeOf(type);
  const Type base = baseOf(type);
  if (!base.isTuple()) {
    const Storage& leaf = leaves.at(next++);
    return std::make_shared<MemoryView>(type, leaf.buffer, Nat(0), leaf.unit);
  }
  std::vector<ViewPtr> parts;
  for (const Type c : base.components()) {
    Type part = c;
    for (auto n = shape.rbegin(); n != shape.rend(); ++n) part = Type::array(*n, part);
    parts.push_back(structure(part, leaves, next));
  }
  if (shape.empty()) return std::make_shared<TupleView>(type, std::move(parts));
  return std::make_shared<StructView>(type, std::move(parts));
}

// The bounds 0 <= i < n, less those that are proved.
std::vector<GuardedView::Bound> boundsOf(Nat i, Nat n) {
  std::vector<GuardedView::Bound> bounds;
  if (lessEqual(Nat(0), i) != Truth::proved) bounds.push_back({Nat(-1), i});
  if (less(i, n) != Truth::proved) bounds.push_back({i, n});
  return bounds;
}

}  // namespace

ViewPtr View::at(Nat) const { throw InternalError("a view of " + type().str() + " has no elements"); }
ViewPtr View::component(int) const { throw InternalError("a view of " + type().str() + " has no components"); }

ViewPtr MemoryView::at(Nat index) const {
  const Type element = type().element();
  return std::make_shared<MemoryView>(element, buffer, offset + index * unitsOf(element, unit), unit);
}

ViewPtr GuardedView::at(Nat index) const {
  return std::make_shared<GuardedView>(
      type().element(), guard, [f = inside_, index] { return f()->at(index); },
      [f = outside_, index] { return f()->at(index); });
}
ViewPtr GuardedView::component(int i) const {
  return std::make_shared<GuardedView>(
      type().components().at(static_cast<std::size_t>(i)), guard, [f = inside_, i] { return f()->component(i); },
      [f = outside_, i] { return f()->component(i); });
}

ViewPtr NowhereView::at(Nat) const { return std::make_shared<NowhereView>(type().element()); }
ViewPtr NowhereView::component(int i) const {
  return std::make_shared<NowhereView>(type().components().at(static_cast<std::size_t>(i)));
}

ViewPtr memoryView(Type type, const std::vector<Storage>& leaves) {
  std::size_t next = 0;
  return structure(type, leaves, next);
}

ViewPtr lazyView(Type type, std::function<ViewPtr(Nat)> element) {
  return std::make_shared<LazyView>(type, std::move(element));
}

ViewPtr tupleView(std::vector<ViewPtr> components) {
  std::vector<Type> types;
  for (const ViewPtr& c : components) types.push_back(c->type());
  return std::make_shared<TupleView>(Type::tuple(types), std::move(components));
}

ViewPtr zipView(std::vector<ViewPtr> arrays) {
  std::vector<Type> elements;
  for (const ViewPtr& a : arrays) elements.push_back(elementOf(a));
  const Type type = Type::array(arrays.at(0)->type().length(), Type::tuple(elements));
  return lazyView(type, [arrays = std::move(arrays)](Nat i) {
    std::vector<ViewPtr> components;
    for (const ViewPtr& a : arrays) components.push_back(a->at(i));
    return tupleView(std::move(components));
  });
}

ViewPtr unzipView(const ViewPtr& tuples) {
  std::vector<ViewPtr> arrays;
  const auto& components = elementOf(tuples).components();
  for (std::size_t c = 0; c < components.size(); c++)
    arrays.push_back(lazyView(Type::array(tuples->type().length(), components[c]),
                              [tuples, c](Nat i) { return tuples->at(i)->component(static_cast<int>(c)); }));
  return tupleView(std::move(arrays));
}

ViewPtr splitView(const ViewPtr& array, Nat size) {
  const Type row = Type::array(size, elementOf(array));
  return lazyView(Type::array(floorDiv(array->type().length(), size), row), [array, size, row](Nat i) {
    return lazyView(row, [array, size, i](Nat j) { return array->at(i * size + j); });
  });
}

ViewPtr joinView(const ViewPtr& rows) {
  const Nat m = elementOf(rows).length();
  const Type joined = Type::array(rows->type().length() * m, elementOf(rows).element());
  // Rows follow each other in memory.
  if (const auto* memory = dynamic_cast<const MemoryView*>(rows.get()))
    return std::make_shared<MemoryView>(joined, memory->buffer, memory->offset, memory->unit);
  return lazyView(joined, [rows, m](Nat i) { return rows->at(floorDiv(i, m))->at(mod(i, m)); });
}

ViewPtr slideView(const ViewPtr& array, Nat size, Nat step) {
  const Type window = Type::array(size, elementOf(array));
  const Nat count = floorDiv(array->type().length() - size + step, step);
  return lazyView(Type::array(count, window), [array, step, window](Nat i) {
    return lazyView(window, [array, step, i](Nat j) { return array->at(i * step + j); });
  });
}

ViewPtr transposeView(const ViewPtr& rows) {
  const Type column = Type::array(rows->type().length(), elementOf(rows).element());
  return lazyView(Type::array(elementOf(rows).length(), column),
                  [rows, column](Nat i) { return lazyView(column, [rows, i](Nat j) { return rows->at(j)->at(i); }); });
}

Nat applyIndexFn(IndexFn fn, const std::vector<Nat>& sizes, Nat n, Nat i, bool inverse) {
  switch (fn) {
    case IndexFn::reverse: return n - Nat(1) - i;
    case IndexFn::stride:
    case IndexFn::unstride: {
      const Nat s = sizes.at(0), chunk = floorDiv(n, s);
      if ((fn == IndexFn::stride) != inverse) return floorDiv(i, chunk) + s * mod(i, chunk);
      return floorDiv(i, s) + chunk * mod(i, s);
    }
    case IndexFn::shift: return mod(inverse ? i - sizes.at(0) : i + sizes.at(0), n);
    case IndexFn::transpose: {
      const Nat r = sizes.at(inverse ? 1 : 0), c = sizes.at(inverse ? 0 : 1);
      return mod(i, r) * c + floorDiv(i, r);
    }
  }
  throw InternalError("unknown index function");
}

ViewPtr reorderView(const ViewPtr& array, IndexFn fn, const std::vector<Nat>& sizes, bool inverse) {
  const Nat n = array->type().length();
  return lazyView(array->type(), [=](Nat i) { return array->at(applyIndexFn(fn, sizes, n, i, inverse)); });
}

ViewPtr takeView(const ViewPtr& array, Nat count) {
  return lazyView(Type::array(count, elementOf(array)), [array](Nat i) { return array->at(i); });
}

ViewPtr croppedView(const ViewPtr& array, Nat count) {
  const Nat n = array->type().length();
  const Type element = elementOf(array);
  return lazyView(Type::array(count, element), [=](Nat i) -> ViewPtr {
    const GuardedView::Deferred inside = [array, i] { return array->at(i); },
                                outside = [element] { return std::make_shared<NowhereView>(element); };
    switch (less(i, n)) {
      case Truth::proved: return inside();
      case Truth::refuted: return outside();
      case Truth::unknown: break;
    }
    return std::make_shared<GuardedView>(element, GuardedView::Guard{{{i, n}}}, inside, outside);
  });
}

ViewPtr dropView(const ViewPtr& array, Nat count) {
  return lazyView(Type::array(array->type().length() - count, elementOf(array)),
                  [array, count](Nat i) { return array->at(i + count); });
}

ViewPtr concatView(const ViewPtr& a, const ViewPtr& b) {
  const Nat n = a->type().length();
  const Type element = elementOf(a);
  return lazyView(Type::array(n + b->type().length(), element), [=](Nat i) -> ViewPtr {
    switch (less(i, n)) {
      case Truth::proved: return a->at(i);
      case Truth::refuted: return b->at(i - n);
      case Truth::unknown: break;
    }
    return std::make_shared<GuardedView>(
        element, GuardedView::Guard{{{i, n}}}, [a, i] { return a->at(i); }, [b, i, n] { return b->at(i - n); });
  });
}

namespace {

// elements[i], which is one of first … last - 1.
ViewPtr chosen(Type type, const std::vector<GuardedView::Deferred>& elements, Nat i, std::size_t first,
               std::size_t last) {
  if (last - first == 1) return elements[first]();
  const std::size_t middle = (first + last) / 2;
  const Nat half(static_cast<std::int64_t>(middle));
  switch (less(i, half)) {
    case Truth::proved: return chosen(type, elements, i, first, middle);
    case Truth::refuted: return chosen(type, elements, i, middle, last);
    case Truth::unknown: break;
  }
  return std::make_shared<GuardedView>(
      type, GuardedView::Guard{{{i, half}}}, [=] { return chosen(type, elements, i, first, middle); },
      [=] { return chosen(type, elements, i, middle, last); });
}

}  // namespace

ViewPtr elementsView(Type type, std::vector<GuardedView::Deferred> elements) {
  return lazyView(type, [type, elements = std::move(elements)](Nat i) {
    return chosen(type.element(), elements, i, 0, elements.size());
  });
}

ViewPtr padView(const ViewPtr& array, Nat left, Nat right, const ViewPtr& value) {
  const Nat n = array->type().length();
  const Type element = elementOf(array);
  return lazyView(Type::array(left + n + right, element), [=](Nat i) -> ViewPtr {
    const Nat inner = i - left;
    auto bounds = boundsOf(inner, n);
    if (bounds.empty()) return array->at(inner);
    return std::make_shared<GuardedView>(
        element, GuardedView::Guard{std::move(bounds)}, [array, inner] { return array->at(inner); },
        [value] { return value; });
  });
}

ViewPtr padIndexView(const ViewPtr& array, Prim kind, Nat left, Nat right) {
  const Nat n = array->type().length();
  // Mirroring once is enough (and cheaper than the periodic form) when no amount exceeds the length.
  const bool once = lessEqual(left, n) == Truth::proved && lessEqual(right, n) == Truth::proved;
  return lazyView(Type::array(left + n + right, elementOf(array)), [=](Nat i) {
    const Nat inner = i - left;
    switch (kind) {
      case Prim::padClamp: return array->at(min(max(inner, Nat(0)), n - Nat(1)));
      case Prim::padWrap: return array->at(mod(inner, n));
      case Prim::padMirror: {
        if (once) {
          const Nat low = max(inner, Nat(-1) - inner);
          return array->at(min(low, Nat(2) * n - Nat(1) - low));
        }
        const Nat period = mod(inner, Nat(2) * n);
        return array->at(min(period, Nat(2) * n - Nat(1) - period));
      }
      default: throw InternalError("not a padding that maps indices");
    }
  });
}

ViewPtr asVectorView(const ViewPtr& array, Nat width) {
  const Type vector = Type::vector(width, elementOf(array));
  return lazyView(Type::array(floorDiv(array->type().length(), width), vector),
                  [array, width, vector](Nat i) { return std::make_shared<VectorView>(vector, array, i * width); });
}

ViewPtr asScalarView(const ViewPtr& array) {
  const Type vector = elementOf(array);
  const Nat width = vector.length();
  const Type scalar = vector.element();
  return lazyView(Type::array(array->type().length() * width, scalar), [array, width, scalar](Nat i) {
    return std::make_shared<LaneView>(scalar, array->at(floorDiv(i, width)), mod(i, width));
  });
}

}  // namespace lift
