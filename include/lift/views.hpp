// Views: how the data-layout primitives reach memory without moving data (lift-conv §3.3).
//
// A view is an immutable function from indices to places. An array view gives the view of its element at a symbolic
// index, a tuple view the view of a component; applying all indices ends in a leaf. The same constructors serve reading
// and writing: reading split(k, xs) is splitView of the view of xs, writing the result of split(k, e) is joinView of
// the destination handed to e.
//
// Leaves that this module knows: an element of memory, a vector put together from scalars, a lane of a vector, and a
// place that exists only under a condition (pad, concat). The code generator adds values in registers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lift/primitive.hpp"
#include "lift/type.hpp"

namespace lift {

class View;
using ViewPtr = std::shared_ptr<const View>;

class View {
 public:
  explicit View(Type type) : type_(type) {}
  virtual ~View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  Type type() const { return type_; }
  virtual ViewPtr at(Nat index) const;     // of an array view: its element; InternalError for others
  virtual ViewPtr component(int i) const;  // of a tuple view

 private:
  Type type_;
};

// A value of `type` (no tuples inside) stored contiguously, row-major, from `offset` in a buffer. Offsets count units:
// scalars, or whole vectors where the buffer's elements are vectors of `unit` scalars.
class MemoryView final : public View {
 public:
  MemoryView(Type type, std::uint32_t buffer, Nat offset, int unit = 1)
      : View(type), buffer(buffer), offset(offset), unit(unit) {}
  ViewPtr at(Nat index) const override;

  const std::uint32_t buffer;
  const Nat offset;
  const int unit;
};

// A leaf of vector type: lane l is scalars->at(base + l).
class VectorView final : public View {
 public:
  VectorView(Type type, ViewPtr scalars, Nat base) : View(type), scalars(std::move(scalars)), base(base) {}
  ViewPtr lane(int l) const { return scalars->at(base + Nat(l)); }

  const ViewPtr scalars;
  const Nat base;
};

// A leaf of scalar type: a lane of a vector leaf.
class LaneView final : public View {
 public:
  LaneView(Type type, ViewPtr vector, Nat lane) : View(type), vector(std::move(vector)), lane(lane) {}

  const ViewPtr vector;
  const Nat lane;
};

// A condition that is a value of the program; the code generator knows what it is.
class Condition {
 public:
  virtual ~Condition() = default;
};

// `inside` where every bound holds and the condition, if any; `outside` elsewhere. Both have the view's type. Indices
// go to both, but only when the leaf is reached: following an index may compute something that is only defined there.
class GuardedView final : public View {
 public:
  struct Bound {
    Nat smaller, larger;  // smaller < larger
  };
  struct Guard {
    std::vector<Bound> bounds;
    std::shared_ptr<const Condition> condition = nullptr;
  };
  using Deferred = std::function<ViewPtr()>;
  GuardedView(Type type, Guard guard, Deferred inside, Deferred outside)
      : View(type), guard(std::move(guard)), inside_(std::move(inside)), outside_(std::move(outside)) {}
  ViewPtr at(Nat index) const override;
  ViewPtr component(int i) const override;
  ViewPtr inside() const { return inside_(); }
  ViewPtr outside() const { return outside_(); }

  const Guard guard;

 private:
  Deferred inside_, outside_;
};

// A place that does not exist: what is stored to it or its parts is dropped.
class NowhereView final : public View {
 public:
  using View::View;
  ViewPtr at(Nat index) const override;
  ViewPtr component(int i) const override;
};

// One buffer per leaf of the type (leavesOf): tuples are stored as structures of arrays.
struct Storage {
  std::uint32_t buffer;
  int unit = 1;  // as in MemoryView
};
ViewPtr memoryView(Type type, const std::vector<Storage>& leaves);
// `type` is that of the whole array.
ViewPtr lazyView(Type type, std::function<ViewPtr(Nat)> element);
ViewPtr tupleView(std::vector<ViewPtr> components);

ViewPtr zipView(std::vector<ViewPtr> arrays);  // array of tuples
ViewPtr unzipView(const ViewPtr& tuples);      // tuple of arrays
ViewPtr splitView(const ViewPtr& array, Nat size);
ViewPtr joinView(const ViewPtr& rows);
ViewPtr slideView(const ViewPtr& array, Nat size, Nat step);  // and slideStrict: the window count is the caller's type
ViewPtr transposeView(const ViewPtr& rows);
ViewPtr reorderView(const ViewPtr& array, IndexFn fn, const std::vector<Nat>& sizes, bool inverse = false);
ViewPtr takeView(const ViewPtr& array, Nat count);
// The destination of `count` elements of which only as many are wanted as `array` has.
ViewPtr croppedView(const ViewPtr& array, Nat count);
ViewPtr dropView(const ViewPtr& array, Nat count);
ViewPtr concatView(const ViewPtr& a, const ViewPtr& b);
// The elements at indices that are constants, else a choice among them by halves.
ViewPtr elementsView(Type type, std::vector<GuardedView::Deferred> elements);
ViewPtr padView(const ViewPtr& array, Nat left, Nat right, const ViewPtr& value);
// padClamp, padMirror, padWrap
ViewPtr padIndexView(const ViewPtr& array, Prim kind, Nat left, Nat right);
ViewPtr asVectorView(const ViewPtr& array, Nat width);
ViewPtr asScalarView(const ViewPtr& array);

// The index function of a row of the table on arrays of n elements, and its inverse.
Nat applyIndexFn(IndexFn fn, const std::vector<Nat>& sizes, Nat n, Nat i, bool inverse = false);

}  // namespace lift
