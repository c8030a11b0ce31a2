// Random compositions of layouts, for reading and for writing, at numbers, at index variables and at symbolic sizes.
#include <fmt/format.h>

#include <functional>
#include <random>

#include "views/naive.hpp"

namespace lift {
namespace {

using namespace naive;

constexpr int compositions = 2000;
constexpr int deepest = 5;
constexpr int mostElements = 300;
constexpr int leastUses = 50;

int elementsIn(const Data& d) {
  if (d.parts.empty()) return 1;
  int n = 0;
  for (const Data& p : d.parts) n += elementsIn(p);
  return n;
}

using OnView = std::function<ViewPtr(const ViewPtr&)>;

// A layout on both sides.
struct Step {
  std::string name;  // constructor
  OnView view;
  std::function<Data(const Data&)> data;
  OnView undo = {};  // of destinations, where there is one
};

const std::vector<std::string> invertible{"split", "join", "transpose", "reorder", "asVector", "asScalar"};

class Composer {
 public:
  explicit Composer(std::uint32_t seed) : random_(seed) {}

  World world;
  ViewPtr view;
  Data data;     // of the view
  Data written;  // what the view is of
  std::vector<OnView> undos;
  std::vector<std::string> used;
  std::string text;

  // Random layouts of these names on random memory; false where none of those drawn fits.
  bool compose(const std::vector<std::string>& names) {
    std::tie(view, data) = source();
    written = data;
    const int depth = pick(1, deepest);
    for (int tries = 0; static_cast<int>(undos.size()) < depth && tries < 40; tries++) apply(names);
    return !used.empty();
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool coin() { return pick(0, 1) == 1; }

  // A number, as itself or as a symbolic size.
  Nat size(int value) { return pick(0, 3) == 0 && value >= 1 ? world.size(value) : Nat(value); }

  // Memory and its contents.
  std::pair<ViewPtr, Data> source() {
    const int n = pick(1, 6), m = pick(1, 4), k = pick(1, 3);
    switch (pick(0, 5)) {
      case 0: return {memory({size(n)}), counting({n})};
      case 1: return {memory({size(n), size(m)}), counting({n, m})};
      case 2: return {memory({size(m), size(n), size(k)}), counting({m, n, k})};
      case 3: {
        const int unit = coin() ? 1 : 4;
        return {memoryView(arrayType({size(n)}, Type::vector(4, f32)), {{0, unit}}), counting({n, 4})};
      }
      case 4: {
        const Nat length = size(n);
        return {memoryView(arrayType({length}, Type::tuple({f32, f32})), {{0}, {1}}),
                zip({counting({n}, 0), counting({n}, 1)})};
      }
      default: return {memory({size(2 * n)}), counting({2 * n})};
    }
  }

  // Applies a random layout, perhaps under maps, where the one drawn fits.
  void apply(const std::vector<std::string>& names) {
    int depth = 0;
    Type type = view->type();
    const Data* inner = &data;
    while (type.isArray() && type.element().isArray() && pick(0, 2) == 0) {
      type = type.element();
      inner = &inner->parts.at(0);
      depth++;
    }
    const std::string name = names[static_cast<std::size_t>(pick(0, static_cast<int>(names.size()) - 1))];
    const auto step = layout(name, type, *inner);
    if (!step) return;
    Data next = under(depth, step->data, data);
    if (elementsIn(next) > mostElements) return;
    view = under(depth, step->view, view);
    data = std::move(next);
    undos.push_back([depth, undo = step->undo](const ViewPtr& v) { return under(depth, undo, v); });
    used.push_back(step->name);
    if (depth) used.push_back("map");
    text += fmt::format(" |> {}{}", std::string(static_cast<std::size_t>(depth), '^'), step->name);
  }

  template <class F>
  static Data under(int depth, const F& f, const Data& d) {
    if (depth == 0) return f(d);
    return map([&](const Data& x) { return under(depth - 1, f, x); }, d);
  }
  static ViewPtr under(int depth, const OnView& f, const ViewPtr& v) {
    if (depth == 0) return f(v);
    return mapView(v, [=](const ViewPtr& x) { return under(depth - 1, f, x); });
  }

  int divisorOf(int n) {
    std::vector<int> divisors;
    for (int d = 1; d <= n; d++)
      if (n % d == 0) divisors.push_back(d);
    return divisors[static_cast<std::size_t>(pick(0, static_cast<int>(divisors.size()) - 1))];
  }

  static Data paddingLike(const Data& d) {
    if (d.parts.empty()) return element(padding);
    return map(paddingLike, d);
  }

  std::optional<Step> layout(const std::string& name, Type type, const Data& data) {
    if (!type.isArray()) return {};
    const Type below = type.element();
    const int n = sizeOf(data);
    if (name == "split") {
      const int k = divisorOf(n);
      const Nat s = size(k);
      return Step{name, [=](const ViewPtr& v) { return splitView(v, s); }, [=](const Data& d) { return split(k, d); },
                  joinView};
    }
    if (name == "join") {
      if (!below.isArray()) return {};
      return Step{name, joinView, join, [m = below.length()](const ViewPtr& v) { return splitView(v, m); }};
    }
    if (name == "slide") {
      const int k = pick(1, std::min(n, 4)), step = pick(1, 3);
      const Nat s = size(k), t = size(step);
      return Step{name, [=](const ViewPtr& v) { return slideView(v, s, t); },
                  [=](const Data& d) { return slide(k, step, d); }};
    }
    if (name == "transpose") {
      if (!below.isArray()) return {};
      return Step{name, transposeView, transpose, transposeView};
    }
    if (name == "reorder") {
      const auto fn = static_cast<IndexFn>(pick(0, indexFnCount - 1));
      std::vector<int> sizes;
      if (fn == IndexFn::stride || fn == IndexFn::unstride) sizes = {divisorOf(n)};
      if (fn == IndexFn::shift) sizes = {pick(-2, n + 1)};
      if (fn == IndexFn::transpose) {
        const int r = divisorOf(n);
        sizes = {r, n / r};
      }
      std::vector<Nat> nats;
      for (const int s : sizes) nats.push_back(size(s));
      const bool inverse = coin();
      return Step{fmt::format("reorder {}", info(fn).name),
                  [=](const ViewPtr& v) { return reorderView(v, fn, nats, inverse); },
                  [=](const Data& d) { return inverse ? reorderInverse(fn, sizes, d) : reorder(fn, sizes, d); },
                  [=](const ViewPtr& v) { return reorderView(v, fn, nats, !inverse); }};
    }
    if (name == "take" || name == "drop") {
      if (n < 2) return {};
      const int k = pick(1, n - 1);
      const Nat s = size(k);
      if (name == "take")
        return Step{name, [=](const ViewPtr& v) { return takeView(v, s); }, [=](const Data& d) { return take(k, d); }};
      return Step{name, [=](const ViewPtr& v) { return dropView(v, s); }, [=](const Data& d) { return drop(k, d); }};
    }
    if (name == "concat") {
      // With itself reversed.
      return Step{name, [](const ViewPtr& v) { return concatView(v, reorderView(v, IndexFn::reverse, {})); },
                  [](const Data& d) { return concat(d, reorder(IndexFn::reverse, {}, d)); }};
    }
    if (name == "pad" || name == "padClamp" || name == "padMirror" || name == "padWrap") {
      const int left = pick(std::max(-2, 1 - n), n + 1), right = pick(std::max(-2, 1 - n), 4);
      if (left + n + right < 1) return {};
      const Nat l = size(left), r = size(right);
      if (name == "pad") {
        const Data value = paddingLike(data.parts.at(0));
        return Step{name, [=](const ViewPtr& v) { return padView(v, l, r, constantView(v->type().element())); },
                    [=](const Data& d) { return pad(Edge::constant, left, right, value, d); }};
      }
      const Prim kind = *primNamed(name);
      const Edge edge = kind == Prim::padClamp ? Edge::clamp : kind == Prim::padMirror ? Edge::mirror : Edge::wrap;
      return Step{name, [=](const ViewPtr& v) { return padIndexView(v, kind, l, r); },
                  [=](const Data& d) { return pad(edge, left, right, {}, d); }};
    }
    if (name == "asVector") {
      if (!below.isScalar()) return {};
      const int width = divisorOf(n);
      if (width < 2) return {};
      return Step{name, [=](const ViewPtr& v) { return asVectorView(v, width); },
                  [=](const Data& d) { return split(width, d); }, asScalarView};
    }
    if (name == "asScalar") {
      if (!below.isVector()) return {};
      return Step{name, asScalarView, join,
                  [width = lanesOf(below, world)](const ViewPtr& v) { return asVectorView(v, width); }};
    }
    if (name == "zip") {
      if (below.isTuple()) return {};
      return Step{name,
                  [](const ViewPtr& v) {
                    return zipView({v, reorderView(v, IndexFn::reverse, {})});
                  },
                  [](const Data& d) {
                    return zip({d, reorder(IndexFn::reverse, {}, d)});
                  }};
    }
    if (name == "unzip") {
      if (!below.isTuple()) return {};
      const int c = pick(0, static_cast<int>(below.components().size()) - 1);
      return Step{name, [=](const ViewPtr& v) { return unzipView(v)->component(c); },
                  [=](const Data& d) { return unzip(d).parts.at(static_cast<std::size_t>(c)); }};
    }
    return {};
  }

  std::mt19937 random_;
};

// Calls check(Composer&) on so many random compositions of these layouts, in which each of them is used often enough.
template <class F>
void forCompositions(std::vector<std::string> names, F&& check) {
  std::map<std::string, int> uses;
  int done = 0;
  for (std::uint32_t seed = 1; done < compositions; seed++) {
    Composer c(seed);
    if (!c.compose(names)) continue;
    done++;
    for (const std::string& u : c.used) uses[u]++;
    INFO("seed " << seed << ":" << c.text << " : " << c.view->type().str());
    check(c);
  }
  std::erase(names, "reorder");
  for (int f = 0; f < indexFnCount; f++) names.push_back(fmt::format("reorder {}", info(static_cast<IndexFn>(f)).name));
  names.emplace_back("map");
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(uses[name] >= leastUses);
  }
}

void checkEqual(const Data& got, const Data& expected) {
  if (!(got == expected)) CHECK(show(got) == show(expected));
}

}  // namespace

TEST_CASE("random compositions, read at numbers and at index variables, are what the naive algebra says") {
  std::vector<std::string> names{"slide",    "take",      "drop",    "concat", "pad",
                                 "padClamp", "padMirror", "padWrap", "zip",    "unzip"};
  names.insert(names.end(), invertible.begin(), invertible.end());
  forCompositions(names, [](Composer& c) {
    checkEqual(evaluate(c.view, c.world), c.data);
    checkEqual(evaluate(resolve(c.view), c.world), c.data);
  });
}

// A chain of layouts L1 … Lk is written by undoing Lk on the destination, then the one before, so that x is stored
// through undo(L1)(… undo(Lk)(out)).
TEST_CASE("random compositions, written through, leave what the naive algebra says") {
  forCompositions(invertible, [](Composer& c) {
    const ViewPtr places = memoryView(c.view->type(), {{0}, {1}});
    ViewPtr out = places;
    for (auto undo = c.undos.rbegin(); undo != c.undos.rend(); ++undo) out = (*undo)(out);
    Memory memory;
    memory.write(out, c.written, c.world);
    checkEqual(memory.read(evaluate(places, c.world)), c.data);
  });
}

}  // namespace lift
