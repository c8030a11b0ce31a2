// How far apart in memory neighbouring elements of an operand lie, computed through its layouts. Inputs are row-major,
// and arrays of tuples are one array for each component.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "lift/terms.hpp"
#include "parts.hpp"

namespace lift::detail::parts {
namespace {

using Stride = std::optional<std::int64_t>;  // in scalars; nothing where it is not the same everywhere, or not known

// Of one input's scalars: the strides of the dimensions, and those of the loops that the elements are of.
struct Leaf {
  std::vector<Stride> dimensions;
  std::vector<std::pair<int, Stride>> loops;
};
using Layout = ByComponent<Leaf>;

struct Unknown {};

Stride times(Stride a, Nat n) {
  const auto c = n.constant();
  return a && c ? Stride(*a * *c) : std::nullopt;
}

class Reader {
 public:
  // The variable as an element of the input; the loop's number.
  int bind(Expr variable, Expr input) {
    Layout in = read(input);
    const int loop = loops_++;
    in.forEachLeaf([&](Leaf& leaf) {
      if (leaf.dimensions.empty()) throw Unknown{};
      leaf.loops.emplace_back(loop, leaf.dimensions.front());
      leaf.dimensions.erase(leaf.dimensions.begin());
    });
    bound_[variable] = in;
    return loop;
  }

  Layout read(Expr e) {
    if (const auto found = bound_.find(e); found != bound_.end()) return found->second;
    if (e.isVariable()) return input(e.type());
    const Spine s = spineOf(e);
    if (!s.head.isPrimitive() || s.arguments.empty()) throw Unknown{};
    return ofPrimitive(s);
  }

 private:
  static Layout input(Type t, std::vector<Nat> lengths = {}) {
    Layout layout;
    if (t.isArray()) {
      lengths.push_back(t.length());
      return input(t.element(), std::move(lengths));
    }
    if (t.isTuple()) {
      for (const Type c : t.components()) layout.components.push_back(input(c, lengths));
      return layout;
    }
    Stride stride = 1;
    for (auto n = lengths.rbegin(); n != lengths.rend(); stride = times(stride, *n), ++n)
      layout.leaf.dimensions.insert(layout.leaf.dimensions.begin(), stride);
    return layout;
  }

  // With `change` applied to the dimensions of every leaf, of which there are so many at least.
  template <class F>
  static Layout changed(Layout layout, std::size_t least, F&& change) {
    layout.forEachLeaf([&](Leaf& leaf) {
      if (leaf.dimensions.size() < least) throw Unknown{};
      change(leaf.dimensions);
    });
    return layout;
  }

  Layout ofPrimitive(const Spine& s) {
    const auto& a = s.arguments;
    using Dimensions = std::vector<Stride>;
    switch (s.head.prim()) {
      case Prim::map: {
        if (!a[0].isLambda()) throw Unknown{};
        const int loop = bind(a[0].parameter(), a[1]);
        Layout out = read(a[0].body());
        out.forEachLeaf([&](Leaf& leaf) {
          Stride stride = 0;
          std::erase_if(leaf.loops, [&](const auto& l) {
            if (l.first == loop) stride = l.second;
            return l.first == loop;
          });
          leaf.dimensions.insert(leaf.dimensions.begin(), stride);
        });
        return out;
      }
      case Prim::let: bound_[a[0].parameter()] = read(a[1]); return read(a[0].body());
      case Prim::generate: {  // what is computed lies nowhere
        Layout out = input(Type::array(s.head.nats()[0], a[0].body().type()));
        out.forEachLeaf([](Leaf& leaf) { std::ranges::fill(leaf.dimensions, 0); });
        return out;
      }
      case Prim::zip:
      case Prim::tuple: {
        Layout out;
        for (const Expr x : a) out.components.push_back(read(x));
        return out;
      }
      case Prim::get: {
        Layout in = read(a[0]);
        return in.components.at(static_cast<std::size_t>(*s.head.nats()[0].constant()));
      }
      case Prim::at: {
        Layout out = read(a[1]);
        std::vector<int> chosenBy;  // loops, each of whose elements reads another place
        for (const Expr v : a[0].freeVariables())
          if (const auto found = bound_.find(v); found != bound_.end())
            found->second.forEachLeaf([&](const Leaf& leaf) {
              for (const auto& [loop, stride] : leaf.loops) chosenBy.push_back(loop);
            });
        out.forEachLeaf([&](Leaf& leaf) {
          if (leaf.dimensions.empty()) throw Unknown{};
          leaf.dimensions.erase(leaf.dimensions.begin());
          std::erase_if(leaf.loops, [&](const auto& l) { return std::ranges::count(chosenBy, l.first) > 0; });
          for (const int loop : chosenBy) leaf.loops.emplace_back(loop, std::nullopt);
        });
        return out;
      }
      case Prim::transpose: return changed(read(a[0]), 2, [](Dimensions& d) { std::swap(d[0], d[1]); });
      case Prim::split:
        return changed(read(a[0]), 1, [&](Dimensions& d) { d.insert(d.begin(), times(d[0], s.head.nats()[0])); });
      case Prim::join: {
        const Nat length = a[0].type().element().length();
        return changed(read(a[0]), 2, [&](Dimensions& d) {
          if (!d[0] || d[0] != times(d[1], length)) d[1] = a[0].type().length() == Nat(1) ? d[1] : std::nullopt;
          d.erase(d.begin());
        });
      }
      case Prim::slide:
      case Prim::slideStrict:
        return changed(read(a[0]), 1, [&](Dimensions& d) { d.insert(d.begin(), times(d[0], s.head.nats()[1])); });
      case Prim::pad: return read(a[1]);
      case Prim::take:
      case Prim::drop:
      case Prim::padClamp:
      case Prim::padMirror:
      case Prim::padWrap:
      case Prim::toGlobal: return read(a.back());
      default: throw Unknown{};
    }
  }

  std::unordered_map<Expr, Layout> bound_;
  int loops_ = 0;
};

}  // namespace

std::vector<Stride> stridesOf(const Nest& nest, Expr operand, std::size_t loop) {
  try {
    Reader reader;
    std::vector<int> numbers;
    for (const Nest::Loop& l : nest.loops) numbers.push_back(reader.bind(l.variable, l.input));
    Layout layout = reader.read(operand);
    std::vector<Stride> strides;
    layout.forEachLeaf([&](const Leaf& leaf) {
      const auto found = std::ranges::find_if(leaf.loops, [&](const auto& l) { return l.first == numbers.at(loop); });
      strides.push_back(found == leaf.loops.end() ? Stride(0) : found->second);
    });
    return strides;
  } catch (const Unknown&) {
    return {std::nullopt};
  }
}

std::vector<Stride> stridesOf(const Nest& nest, Expr operand) {
  return stridesOf(nest, operand, nest.loops.size() - 1);
}

std::vector<Stride> stridesInside(const Nest& nest, Expr array) {
  Nest inner = nest;
  const Expr element = Expr::variable("x", array.type().element());
  inner.loops.push_back({element, array});
  return stridesOf(inner, element);
}

bool columnsLieTogether(const Recognised& form) {
  const Expr operand = form.operands[form.dependsOn[0].back() ? 0 : 1];
  return stridesOf(form.nest, operand) == std::vector<Stride>{1};
}

}  // namespace lift::detail::parts
