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

// A layout on both sides. For destinations: `view` is what undoes `data`, and goes the other way.
struct Step {
  std::string name;  // constructor
  std::function<ViewPtr(const ViewPtr&)> view;
  std::function<Data(const Data&)> data;
};

class Composer {
 public:
  explicit Composer(std::uint32_t seed) : random_(seed) {}

  World world;
  std::vector<std::string> used;
  std::string text;

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

  // Applies a random layout where it fits, perhaps under maps; false when the one drawn does not fit here.
  bool apply(ViewPtr& view, Data& data, const std::vector<std::string>& names) {
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
    if (!step) return false;
    Data next = under(depth, step->data, data);
    if (elementsIn(next) > mostElements) return false;
    view = under(depth, step->view, view);
    data = std::move(next);
    used.push_back(step->name);
    if (depth) used.push_back("map");
    text += fmt::format(" |> {}{}", std::string(static_cast<std::size_t>(depth), '^'), step->name);
    return true;
  }

 private:
  template <class F>
  static Data under(int depth, const F& f, const Data& d) {
    if (depth == 0) return f(d);
    return map([&](const Data& x) { return under(depth - 1, f, x); }, d);
  }
  static ViewPtr under(int depth, const std::function<ViewPtr(const ViewPtr&)>& f, const ViewPtr& v) {
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
      return Step{name, [=](const ViewPtr& v) { return splitView(v, s); }, [=](const Data& d) { return split(k, d); }};
    }
    if (name == "join") {
      if (!below.isArray()) return {};
      return Step{name, joinView, join};
    }
    if (name == "slide") {
      const int k = pick(1, std::min(n, 4)), step = pick(1, 3);
      const Nat s = size(k), t = size(step);
      return Step{name, [=](const ViewPtr& v) { return slideView(v, s, t); },
                  [=](const Data& d) { return slide(k, step, d); }};
    }
    if (name == "transpose") {
      if (!below.isArray()) return {};
      return Step{name, transposeView, [](const Data& d) { return transpose(d); }};
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
                  [=](const Data& d) { return inverse ? reorderInverse(fn, sizes, d) : reorder(fn, sizes, d); }};
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
                  [=](const Data& d) { return split(width, d); }};
    }
    if (name == "asScalar") {
      if (!below.is(Type::Kind::vector)) return {};
      return Step{name, asScalarView, join};
    }
    if (name == "zip") {
      if (below.is(Type::Kind::tuple)) return {};
      return Step{name,
                  [](const ViewPtr& v) {
                    return zipView({v, reorderView(v, IndexFn::reverse, {})});
                  },
                  [](const Data& d) {
                    return zip({d, reorder(IndexFn::reverse, {}, d)});
                  }};
    }
    if (name == "unzip") {
      if (!below.is(Type::Kind::tuple)) return {};
      const int c = pick(0, static_cast<int>(below.components().size()) - 1);
      return Step{name, [=](const ViewPtr& v) { return unzipView(v)->component(c); },
                  [=](const Data& d) { return unzip(d).parts.at(static_cast<std::size_t>(c)); }};
    }
    return {};
  }

  std::mt19937 random_;
};

using Uses = std::map<std::string, int>;

void checkUses(const Uses& uses, const std::vector<std::string>& wanted) {
  for (const std::string& name : wanted) {
    const auto found = uses.find(name);
    INFO(name << " was used " << (found == uses.end() ? 0 : found->second) << " times");
    CHECK((found != uses.end() && found->second >= leastUses));
  }
}

}  // namespace

TEST_CASE("random compositions, read at numbers and at index variables, are what the naive algebra says") {
  const std::vector<std::string> names{"split",    "join",     "slide", "transpose", "reorder",   "take",
                                       "drop",     "concat",   "pad",   "padClamp",  "padMirror", "padWrap",
                                       "asVector", "asScalar", "zip",   "unzip"};
  Uses uses;
  int done = 0;
  for (std::uint32_t seed = 1; done < compositions; seed++) {
    Composer c(seed);
    auto [view, data] = c.source();
    const int depth = c.pick(1, deepest);
    for (int tries = 0, steps = 0; steps < depth && tries < 40; tries++) steps += c.apply(view, data, names);
    if (c.used.empty()) continue;
    done++;
    for (const std::string& u : c.used) uses[u]++;
    INFO("seed " << seed << ":" << c.text << " : " << view->type().str());
    const bool atNumbers = evaluate(view, c.world) == data;
    const bool atVariables = evaluate(resolve(view), c.world) == data;
    if (!atNumbers || !atVariables) {
      CHECK(show(evaluate(view, c.world)) == show(data));
      CHECK(show(evaluate(resolve(view), c.world)) == show(data));
    }
  }
  CHECK(done == compositions);
  checkUses(uses, {"split",
                   "join",
                   "slide",
                   "transpose",
                   "reorder reverse",
                   "reorder stride",
                   "reorder unstride",
                   "reorder shift",
                   "reorder transpose",
                   "take",
                   "drop",
                   "concat",
                   "pad",
                   "padClamp",
                   "padMirror",
                   "padWrap",
                   "asVector",
                   "asScalar",
                   "zip",
                   "unzip",
                   "map"});
}

// A chain of layouts L1 … Lk is written by undoing Lk on the destination, then the one before, so that x is stored
// through undo(L1)(… undo(Lk)(out)). The chain is drawn first, on data alone.
TEST_CASE("random compositions, written through, leave what the naive algebra says") {
  Uses uses;
  int done = 0;
  for (std::uint32_t seed = 1; done < compositions; seed++) {
    Composer c(seed);
    struct Undo {
      int depth;
      std::function<ViewPtr(const ViewPtr&)> view;
    };
    std::vector<Undo> undos;
    const int a = c.pick(1, 5), b = c.pick(1, 4);
    std::vector<int> shape = c.coin() ? std::vector<int>{a, b} : std::vector<int>{2 * a * b};
    if (c.pick(0, 3) == 0) shape.push_back(c.pick(1, 3));
    const Data x = counting(shape, 7);
    Data data = x;
    bool vectors = false;  // the innermost level is vectors
    std::string text;
    std::vector<std::string> used;
    const int steps = c.pick(1, deepest);
    for (int s = 0; s < steps; s++) {
      const int rank = static_cast<int>(shape.size());
      const int arrays = rank - (vectors ? 1 : 0);
      const int depth = c.pick(0, 2) == 0 ? c.pick(0, arrays - 1) : 0;
      const auto at = static_cast<std::size_t>(depth);
      const int n = shape[at];
      const bool inner = depth + 1 < arrays;
      std::function<Data(const Data&)> naive;
      std::string name;
      switch (c.pick(0, 5)) {
        case 0: {
          std::vector<int> divisors;
          for (int d = 1; d <= n; d++)
            if (n % d == 0) divisors.push_back(d);
          const int k = divisors[static_cast<std::size_t>(c.pick(0, static_cast<int>(divisors.size()) - 1))];
          name = "split";
          naive = [=](const Data& d) { return split(k, d); };
          undos.push_back({depth, joinView});
          shape[at] = n / k;
          shape.insert(shape.begin() + depth + 1, k);
          break;
        }
        case 1: {
          if (!inner) continue;
          name = "join";
          const Nat m = c.size(shape[at + 1]);
          naive = join;
          undos.push_back({depth, [=](const ViewPtr& v) { return splitView(v, m); }});
          shape[at] *= shape[at + 1];
          shape.erase(shape.begin() + depth + 1);
          break;
        }
        case 2:
          if (!inner) continue;
          name = "transpose";
          naive = [](const Data& d) { return transpose(d); };
          undos.push_back({depth, transposeView});
          std::swap(shape[at], shape[at + 1]);
          break;
        case 3: {
          const auto fn = static_cast<IndexFn>(c.pick(0, indexFnCount - 1));
          std::vector<int> divisors, sizes;
          for (int d = 1; d <= n; d++)
            if (n % d == 0) divisors.push_back(d);
          const int r = divisors[static_cast<std::size_t>(c.pick(0, static_cast<int>(divisors.size()) - 1))];
          if (fn == IndexFn::shift) sizes = {c.pick(0, n)};
          if (fn == IndexFn::stride || fn == IndexFn::unstride) sizes = {r};
          if (fn == IndexFn::transpose) sizes = {r, n / r};
          std::vector<Nat> nats;
          for (const int k : sizes) nats.push_back(c.size(k));
          name = fmt::format("reorder {}", info(fn).name);
          naive = [=](const Data& d) { return reorder(fn, sizes, d); };
          undos.push_back({depth, [=](const ViewPtr& v) { return reorderView(v, fn, nats, true); }});
          break;
        }
        case 4: {
          if (vectors || n % 4 != 0 || depth + 1 != arrays) continue;
          name = "asVector";
          naive = [](const Data& d) { return split(4, d); };
          undos.push_back({depth, asScalarView});
          shape[at] = n / 4;
          shape.push_back(4);
          vectors = true;
          break;
        }
        default: {
          if (!vectors || depth + 1 != arrays) continue;
          name = "asScalar";
          const int width = shape.back();
          naive = join;
          undos.push_back({depth, [=](const ViewPtr& v) { return asVectorView(v, width); }});
          shape[at] *= width;
          shape.pop_back();
          vectors = false;
          break;
        }
      }
      const std::function<Data(int, const Data&)> under = [&](int k, const Data& d) {
        return k == 0 ? naive(d) : map([&](const Data& e) { return under(k - 1, e); }, d);
      };
      data = under(depth, data);
      used.push_back(name);
      if (depth) used.push_back("map");
      text += fmt::format(" |> {}{}", std::string(static_cast<std::size_t>(depth), '^'), name);
    }
    if (used.empty()) continue;
    done++;
    for (const std::string& u : used) uses[u]++;

    std::vector<Nat> lengths;
    for (std::size_t k = 0; k + (vectors ? 1 : 0) < shape.size(); k++) lengths.push_back(c.size(shape[k]));
    const Type base = vectors ? Type::vector(shape.back(), f32) : f32;
    ViewPtr view = memory(lengths, 0, base);
    const std::function<ViewPtr(int, const std::function<ViewPtr(const ViewPtr&)>&, const ViewPtr&)> under =
        [&under](int k, const std::function<ViewPtr(const ViewPtr&)>& f, const ViewPtr& v) -> ViewPtr {
      if (k == 0) return f(v);
      const Type element = under(k - 1, f, v->at(Nat(0)))->type();
      return lazyView(Type::array(v->type().length(), element),
                      [&under, k, f, v](Nat i) { return under(k - 1, f, v->at(i)); });
    };
    for (auto u = undos.rbegin(); u != undos.rend(); ++u) view = under(u->depth, u->view, view);

    INFO("seed " << seed << ":" << text << " : " << view->type().str());
    Memory memory;
    memory.write(view, x, c.world);
    if (!(memory.read(counting(shape)) == data)) CHECK(show(memory.read(counting(shape))) == show(data));
  }
  CHECK(done == compositions);
  checkUses(uses, {"split", "join", "transpose", "reorder reverse", "reorder stride", "reorder unstride",
                   "reorder shift", "reorder transpose", "asVector", "asScalar", "map"});
}

}  // namespace lift
