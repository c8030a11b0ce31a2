// A second account of the layouts, on nested vectors of element numbers, in the plainest way; and views evaluated to
// such vectors, element by element.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/views.hpp"

namespace lift::naive {

// ------------------------------------------------------------------------------------------------------------- data

// An element, or the elements of an array, the components of a tuple, the lanes of a vector.
struct Data {
  int id = 0;
  std::vector<Data> parts;
  friend bool operator==(const Data&, const Data&) = default;
};
using Row = std::vector<Data>;

inline Data element(int id) { return {id, {}}; }
inline Data listOf(Row parts) { return {0, std::move(parts)}; }

inline std::string show(const Data& d) {
  if (d.parts.empty()) return std::to_string(d.id);
  std::string text = "[";
  for (const Data& p : d.parts) text += (text.size() > 1 ? " " : "") + show(p);
  return text + "]";
}
inline std::ostream& operator<<(std::ostream& out, const Data& d) { return out << show(d); }

constexpr int bufferStep = 100000;  // element k of buffer b has the number b * bufferStep + k
constexpr int padding = -1;

// The elements of a buffer in order, as an array of that shape.
inline Data counting(const std::vector<int>& shape, int buffer = 0) {
  int next = buffer * bufferStep;
  const auto level = [&](const auto& self, std::size_t depth) -> Data {
    if (depth == shape.size()) return element(next++);
    Row row;
    for (int i = 0; i < shape[depth]; i++) row.push_back(self(self, depth + 1));
    return listOf(row);
  };
  return level(level, 0);
}

// ---------------------------------------------------------------------------------------------------------- layouts

inline int sizeOf(const Data& d) { return static_cast<int>(d.parts.size()); }

inline Data split(int size, const Data& xs) {
  Row rows;
  for (int i = 0; i < sizeOf(xs); i++) {
    if (i % size == 0) rows.push_back(listOf({}));
    rows.back().parts.push_back(xs.parts[static_cast<std::size_t>(i)]);
  }
  return listOf(rows);
}
inline Data join(const Data& rows) {
  Row all;
  for (const Data& r : rows.parts)
    for (const Data& x : r.parts) all.push_back(x);
  return listOf(all);
}
inline Data slide(int size, int step, const Data& xs) {
  Row windows;
  for (int begin = 0; begin + size <= sizeOf(xs); begin += step)
    windows.push_back(listOf(Row(xs.parts.begin() + begin, xs.parts.begin() + begin + size)));
  return listOf(windows);
}
inline Data transpose(const Data& rows) {
  Row columns(rows.parts.at(0).parts.size());
  for (const Data& row : rows.parts)
    for (std::size_t c = 0; c < columns.size(); c++) columns[c].parts.push_back(row.parts[c]);
  return listOf(columns);
}
inline Data take(int n, const Data& xs) { return listOf(Row(xs.parts.begin(), xs.parts.begin() + n)); }
inline Data drop(int n, const Data& xs) { return listOf(Row(xs.parts.begin() + n, xs.parts.end())); }
inline Data concat(const Data& a, const Data& b) {
  Row all = a.parts;
  all.insert(all.end(), b.parts.begin(), b.parts.end());
  return listOf(all);
}

// What stands `distance` steps outside of an edge: distance 1 is the neighbour of the outermost element.
enum class Edge { constant, clamp, mirror, wrap };
inline Data pad(Edge edge, int left, int right, const Data& value, const Data& xs) {
  Row before, after;
  Row forwards = xs.parts, backwards(xs.parts.rbegin(), xs.parts.rend());
  Row there, here;  // the period that continues the array
  if (edge == Edge::mirror) there = backwards, here = forwards;
  if (edge == Edge::wrap) there = forwards, here = forwards;
  for (int i = 0; i < std::max(left, right); i++) {
    const auto n = static_cast<int>(xs.parts.size());
    const auto k = static_cast<std::size_t>(i % n);
    if (edge == Edge::constant) before.push_back(value), after.push_back(value);
    if (edge == Edge::clamp) before.push_back(forwards.front()), after.push_back(forwards.back());
    if (edge == Edge::mirror || edge == Edge::wrap) {
      const bool turned = (i / n) % 2 == 1;
      const Row& right_ = turned ? here : there;
      after.push_back(right_[k]);
      before.push_back(right_[right_.size() - 1 - k]);
    }
  }
  Row all;
  for (int i = left - 1; i >= 0; i--) all.push_back(before[static_cast<std::size_t>(i)]);
  all.insert(all.end(), xs.parts.begin(), xs.parts.end());
  for (int i = 0; i < right; i++) all.push_back(after[static_cast<std::size_t>(i)]);
  if (left < 0) all.erase(all.begin(), all.begin() - left);
  if (right < 0) all.erase(all.end() + right, all.end());
  return listOf(all);
}

inline Data reorder(IndexFn fn, const std::vector<int>& sizes, const Data& xs) {
  const int n = sizeOf(xs);
  Row out;
  switch (fn) {
    case IndexFn::reverse: return listOf(Row(xs.parts.rbegin(), xs.parts.rend()));
    case IndexFn::stride:
      for (int first = 0; first < sizes[0]; first++)
        for (int i = first; i < n; i += sizes[0]) out.push_back(xs.parts[static_cast<std::size_t>(i)]);
      return listOf(out);
    case IndexFn::unstride: {
      out.resize(xs.parts.size());
      std::size_t next = 0;
      for (int first = 0; first < sizes[0]; first++)
        for (int i = first; i < n; i += sizes[0]) out[static_cast<std::size_t>(i)] = xs.parts[next++];
      return listOf(out);
    }
    case IndexFn::shift: {
      out = xs.parts;
      for (int k = 0; k < ((sizes[0] % n) + n) % n; k++) std::rotate(out.begin(), out.begin() + 1, out.end());
      return listOf(out);
    }
    case IndexFn::transpose: return join(transpose(split(sizes[1], xs)));
  }
  return {};
}
// What reorder(fn) turns into xs.
inline Data reorderInverse(IndexFn fn, const std::vector<int>& sizes, const Data& xs) {
  const Data from = reorder(fn, sizes, counting({sizeOf(xs)}));
  Row out(xs.parts.size());
  for (std::size_t i = 0; i < out.size(); i++) out[static_cast<std::size_t>(from.parts[i].id)] = xs.parts[i];
  return listOf(out);
}

inline Data zip(const std::vector<Data>& arrays) {
  Row tuples;
  for (std::size_t i = 0; i < arrays.at(0).parts.size(); i++) {
    Row components;
    for (const Data& a : arrays) components.push_back(a.parts.at(i));
    tuples.push_back(listOf(components));
  }
  return listOf(tuples);
}
inline Data unzip(const Data& tuples) { return transpose(tuples); }

template <class F>
Data map(const F& f, const Data& xs) {
  Row out;
  for (const Data& x : xs.parts) out.push_back(f(x));
  return listOf(out);
}

// -------------------------------------------------------------------------------------------------- views evaluated

// Values of variables. size() makes a symbolic size of that value.
struct World {
  std::map<NatVar, std::int64_t> values;
  Nat size(int value, const std::string& name = "n") {
    const NatVar v = NatVar::size(name);
    values.emplace(v, value);
    return v;
  }
  std::int64_t of(Nat n) const {
    return n.evaluate([&](NatVar v) { return values.at(v); });
  }
};

// The view of a value that is nowhere in memory.
class ConstantView final : public View {
 public:
  explicit ConstantView(Type type) : View(type) {}
  ViewPtr at(Nat) const override { return std::make_shared<ConstantView>(type().element()); }
  ViewPtr component(int i) const override {
    return std::make_shared<ConstantView>(type().components().at(static_cast<std::size_t>(i)));
  }
};
inline ViewPtr constantView(Type type) { return std::make_shared<ConstantView>(type); }

inline int lanesOf(Type type, const World& world) { return static_cast<int>(world.of(type.length())); }

inline Data leaf(const View& v, const World& world) {
  const bool vector = v.type().isVector();
  if (const auto* m = dynamic_cast<const MemoryView*>(&v)) {
    const auto first = static_cast<int>(m->buffer) * bufferStep + static_cast<int>(world.of(m->offset)) * m->unit;
    if (!vector) return element(first);
    Row lanes;
    for (int l = 0; l < lanesOf(v.type(), world); l++) lanes.push_back(element(first + l));
    return listOf(lanes);
  }
  if (const auto* g = dynamic_cast<const GuardedView*>(&v)) {
    bool holds = true;
    for (const auto& b : g->guard.bounds) holds = holds && world.of(b.smaller) < world.of(b.larger);
    return leaf(holds ? *g->inside() : *g->outside(), world);
  }
  if (const auto* g = dynamic_cast<const VectorView*>(&v)) {
    Row lanes;
    for (int l = 0; l < lanesOf(v.type(), world); l++) lanes.push_back(leaf(*g->lane(l), world));
    return listOf(lanes);
  }
  if (const auto* l = dynamic_cast<const LaneView*>(&v))
    return leaf(*l->vector, world).parts.at(static_cast<std::size_t>(world.of(l->lane)));
  if (dynamic_cast<const ConstantView*>(&v)) {
    if (!vector) return element(padding);
    return listOf(Row(static_cast<std::size_t>(lanesOf(v.type(), world)), element(padding)));
  }
  throw InternalError("the test knows no such leaf");
}

// Every element at indices that are numbers.
inline Data evaluate(const ViewPtr& v, const World& world = {}) {
  Row parts;
  if (v->type().isArray()) {
    const auto n = world.of(v->type().length());
    for (std::int64_t i = 0; i < n; i++) parts.push_back(evaluate(v->at(Nat(i)), world));
    return listOf(parts);
  }
  if (v->type().isTuple()) {
    for (int c = 0; c < static_cast<int>(v->type().components().size()); c++)
      parts.push_back(evaluate(v->component(c), world));
    return listOf(parts);
  }
  return leaf(*v, world);
}

// The view resolved once, at index variables.
struct Resolved {
  std::vector<NatVar> index;    // of an array: one
  std::vector<Resolved> parts;  // of an array: its element; of a tuple: the components
  ViewPtr leaf;                 // else
  Nat count;
};
inline Resolved resolve(const ViewPtr& v) {
  Resolved r;
  if (v->type().isArray()) {
    r.count = v->type().length();
    r.index.push_back(NatVar::index("i", r.count));
    r.parts.push_back(resolve(v->at(Nat(r.index[0]))));
  } else if (v->type().isTuple()) {
    for (int c = 0; c < static_cast<int>(v->type().components().size()); c++)
      r.parts.push_back(resolve(v->component(c)));
  } else {
    r.leaf = v;
  }
  return r;
}
inline Data evaluate(const Resolved& r, World& world) {
  Row parts;
  if (!r.index.empty()) {
    const auto n = world.of(r.count);
    for (std::int64_t i = 0; i < n; i++) {
      world.values[r.index[0]] = i;
      parts.push_back(evaluate(r.parts[0], world));
    }
    return listOf(parts);
  }
  if (r.leaf) return leaf(*r.leaf, world);
  for (const Resolved& p : r.parts) parts.push_back(evaluate(p, world));
  return listOf(parts);
}

// Both ways.
inline void checkReads(const ViewPtr& v, const Data& expected, World world = {}) {
  CHECK(evaluate(v, world) == expected);
  CHECK(evaluate(resolve(v), world) == expected);
}

// Writes the elements of `data` to the places that `to` gives them, by buffer and element; every place once.
class Memory {
 public:
  void write(const ViewPtr& to, const Data& data, World world) {
    scatter(evaluate(to, world), data);
    again_.clear();
    std::swap(again_, cells_);
    scatter(evaluate(resolve(to), world), data);
    CHECK(again_ == cells_);
  }
  // What is in memory at the places of `from`.
  Data read(const Data& places) const {
    if (places.parts.empty()) {
      const auto cell = cells_.find(places.id);
      return element(cell == cells_.end() ? -2 : cell->second);
    }
    return map([&](const Data& p) { return read(p); }, places);
  }
  std::size_t size() const { return cells_.size(); }

 private:
  void scatter(const Data& places, const Data& data) {
    REQUIRE(places.parts.size() == data.parts.size());
    if (places.parts.empty()) {
      if (!cells_.emplace(places.id, data.id).second) FAIL("place " << places.id << " is written twice");
      return;
    }
    for (std::size_t i = 0; i < places.parts.size(); i++) scatter(places.parts[i], data.parts[i]);
  }
  std::map<int, int> cells_, again_;
};

// ------------------------------------------------------------------------------------------------------------ types

inline const Type f32 = Type::scalar(Scalar::f32);

inline Type arrayType(const std::vector<Nat>& shape, Type base = f32) {
  for (auto n = shape.rbegin(); n != shape.rend(); ++n) base = Type::array(*n, base);
  return base;
}
// Scalars in a buffer, in rows.
inline ViewPtr memory(const std::vector<Nat>& shape, std::uint32_t buffer = 0, Type base = f32) {
  return memoryView(arrayType(shape, base), {{buffer}});
}
// f on every element.
template <class F>
ViewPtr mapView(const ViewPtr& xs, const F& f) {
  return lazyView(Type::array(xs->type().length(), f(xs->at(Nat(0)))->type()), [=](Nat i) { return f(xs->at(i)); });
}

}  // namespace lift::naive
