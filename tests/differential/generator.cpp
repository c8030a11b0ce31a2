#include "differential/generator.hpp"

#include <fmt/format.h>

#include <functional>
#include <vector>

namespace lift::differential {
namespace {

constexpr std::int64_t largestArray = 4096;

class Generator {
 public:
  explicit Generator(Choices& choices) : choices_(choices) {}

  Generated run() {
    generated_.text = pick(0, 3) == 3 ? mapped() : chain();
    return std::move(generated_);
  }

 private:
  std::string chain() {
    std::vector<std::int64_t> shape = randomShape();
    const std::string input = type(shape);
    const bool below = isSymbolic();
    const std::string start = below ? fresh() : "x";
    std::string body = stage(start, shape);
    // One choice for each further stage, so that a stage and its choice are neighbours and vanish together.
    for (int s = 1; s < 6 && pick(0, 5) > 0; s++) body = stage(body, shape);
    if (!below) return fmt::format("def main(x: {0}, y: {0}) =\n  {1}\n", input, body);
    return fmt::format("def main(x: [n]{0}, y: [n]{0}) =\n  map(fun {1} => {2}, x)\n", input, start, body);
  }

  // Whether the outermost size is n, an argument of the kernels.
  bool isSymbolic() {
    if (pick(0, 3) < 3) return false;
    count("symbolic size");
    return true;
  }

  // A tile of the work-group: rows that its work-items share.
  struct Tile {
    std::string text;
    std::int64_t rows, columns;
  };

  // Tiles are staged for a work-group and rearranged, so that work-items read what others wrote; then each of them
  // reduces a row.
  std::string mapped() {
    const std::string groups = isSymbolic() ? "n" : std::to_string(pick(1, 5));
    const std::int64_t items = pick(1, 7), columns = pick(2, 6);
    count("mapWrg");
    std::string lets;
    Tile tile{"t", items, columns};
    for (std::int64_t stages = pick(1, 2); stages > 0; stages--) {
      const std::string name = fresh();
      lets += fmt::format("    let {} = {} in\n", name, staged(tile));
      tile.text = name;
      tile = rearranged(tile);
    }
    const std::string reduced =
        coin() ? fmt::format("reduceSeq(0.0, fun (acc, v) => acc + {}, r)", scalar("v"))
               : fmt::format("let p = toPrivate(mapSeq(fun v => {}, r)) in reduceSeq(0.5, fun (acc, v) => acc - v, p)",
                             scalar("v"));
    count("reduceSeq");
    count("mapLcl");
    return fmt::format("def main(x: [{}][{}][{}]f32) =\n  mapWrg(0, fun t =>\n{}    mapLcl(0, fun r => {}, {}), x)\n",
                       groups, items, columns, lets, reduced, tile.text);
  }

  std::string staged(const Tile& t) {
    const std::string f = scalar("v");
    switch (pick(0, 2)) {
      case 0:
        return fmt::format("map(fun r => map(fun v => {}, r), {})", f, t.text);
      case 1:  // by all work-items
        count("toLocal");
        return fmt::format("toLocal(mapLcl(0, fun r => mapSeq(fun v => {}, r), {}))", f, t.text);
      default:  // by one of them
        count("toLocal");
        return fmt::format("toLocal(mapSeq(fun r => mapSeq(fun v => {}, r), {}))", f, t.text);
    }
  }

  Tile rearranged(const Tile& t) {
    switch (pick(0, 5)) {
      case 0:
        return t;
      case 1:
        return {fmt::format("reorder(reverse, {})", t.text), t.rows, t.columns};
      case 2:
        return {fmt::format("transpose({})", t.text), t.columns, t.rows};
      case 3:
        return {fmt::format("map(fun r => reorder(reverse, r), {})", t.text), t.rows, t.columns};
      case 4:
        return {fmt::format("padWrap(1, 0, {})", t.text), t.rows + 1, t.columns};
      default:
        if (t.rows < 2) return t;
        return {fmt::format("map(fun w => join(w), slide(2, 1, {}))", t.text), t.rows - 1, 2 * t.columns};
    }
  }

  std::int64_t pick(std::int64_t low, std::int64_t high) { return choices_.pick(low, high); }
  bool coin() { return choices_.coin(); }
  void count(const std::string& what) { generated_.used[what]++; }
  std::string fresh() { return fmt::format("v{}", variables_++); }

  std::vector<std::int64_t> randomShape() {
    std::vector<std::int64_t> shape;
    const std::int64_t rank = pick(1, 3);
    for (std::int64_t d = 0; d < rank; d++) shape.push_back(pick(1, 9));
    return shape;
  }

  static std::string type(const std::vector<std::int64_t>& shape) {
    std::string s;
    for (const std::int64_t n : shape) s += fmt::format("[{}]", n);
    return s + "f32";
  }

  static std::int64_t sizeOf(const std::vector<std::int64_t>& shape) {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    return n;
  }

  // An expression of a scalar variable.
  std::string scalar(const std::string& v) {
    switch (pick(0, 5)) {
      case 0:
        return fmt::format("{} * 0.5 + 1.0", v);
      case 1:
        return fmt::format("max({}, 0.25)", v);
      case 2:
        return fmt::format("select({0} > 0.0, {0}, -{0} * 0.5)", v);
      case 3:
        return fmt::format("fma({0}, {0}, 0.125)", v);
      case 4:
        return fmt::format("abs({}) - 0.5", v);
      default:
        return fmt::format("{} - 0.75", v);
    }
  }

  std::string mapOver(const std::string& e, std::size_t depth, const std::function<std::string(std::string)>& f) {
    const std::string v = fresh();
    return fmt::format("map(fun {} => {}, {})", v, depth == 0 ? f(v) : mapOver(v, depth - 1, f), e);
  }

  // Applies one construct to an array of the shape and updates the shape; sometimes below some maps.
  std::string stage(const std::string& e, std::vector<std::int64_t>& shape) {
    if (shape.size() > 1 && pick(0, 2) == 0) {
      std::vector<std::int64_t> below(shape.begin() + 1, shape.end());
      const std::string v = fresh();
      const std::string body = stage(v, below);
      shape.resize(1);
      shape.insert(shape.end(), below.begin(), below.end());
      return fmt::format("map(fun {} => {}, {})", v, body, e);
    }
    const std::int64_t n = shape[0];
    switch (pick(0, 23)) {
      case 0: {
        count("map");
        return mapOver(e, shape.size() - 1, [&](const std::string& v) { return scalar(v); });
      }
      case 1: {
        std::vector<std::int64_t> divisors;
        for (std::int64_t d = 1; d <= n; d++)
          if (n % d == 0) divisors.push_back(d);
        const std::int64_t k =
            divisors[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(divisors.size()) - 1))];
        if (shape.size() > 3) break;
        count("split");
        shape.erase(shape.begin());
        shape.insert(shape.begin(), {n / k, k});
        return fmt::format("split({}, {})", k, e);
      }
      case 2:
        if (shape.size() < 2) break;
        count("join");
        shape[1] *= shape[0];
        shape.erase(shape.begin());
        return fmt::format("join({})", e);
      case 3:
        if (shape.size() < 2) break;
        count("transpose");
        std::swap(shape[0], shape[1]);
        return fmt::format("transpose({})", e);
      case 4: {
        const std::int64_t size = pick(1, n), step = pick(1, 3);
        const std::int64_t windows = (n - size + step) / step;
        if (shape.size() > 3 || windows < 1 || sizeOf(shape) / n * windows * size > largestArray) break;
        count("slide");
        shape[0] = size;
        shape.insert(shape.begin(), windows);
        return fmt::format("slide({}, {}, {})", size, step, e);
      }
      case 5: {
        const std::int64_t l = pick(-1, 3), r = pick(-1, 3);
        if (l + n + r < 1 || n + std::min<std::int64_t>(l, 0) + std::min<std::int64_t>(r, 0) < 1) break;
        count("pad");
        shape[0] += l + r;
        return fmt::format("pad({}, {}, 0.5, {})", l, r, e);
      }
      case 6:
      case 7: {
        const std::int64_t l = pick(0, 3), r = pick(0, 3);
        const char* kinds[] = {"padClamp", "padMirror", "padWrap"};
        const std::string kind = kinds[pick(0, 2)];
        count(kind);
        shape[0] += l + r;
        return fmt::format("{}({}, {}, {})", kind, l, r, e);
      }
      case 8: {
        const std::int64_t k = pick(1, n);
        if (coin()) {
          count("take");
          shape[0] = k;
          return fmt::format("take({}, {})", k, e);
        }
        if (k == n) break;
        count("drop");
        shape[0] = n - k;
        return fmt::format("drop({}, {})", k, e);
      }
      case 9: {
        count("reorder");
        switch (pick(0, 2)) {
          case 0:
            return fmt::format("reorder(reverse, {})", e);
          case 1:
            return fmt::format("reorder(shift({}), {})", pick(0, n), e);
          default: {
            std::int64_t s = pick(1, n);
            while (n % s != 0) s--;
            return fmt::format("reorder({}({}), {})", coin() ? "stride" : "unstride", s, e);
          }
        }
      }
      case 10: {
        if (2 * sizeOf(shape) > largestArray) break;
        count("concat");
        const std::string v = fresh();
        shape[0] *= 2;
        return fmt::format("let {0} = {1} in concat({0}, {0})", v, parenthesised(e));
      }
      case 11:
      case 12: {
        if (shape.size() < 2 || shape.size() > 3) break;
        count("reduce");
        const std::string v = fresh();
        const std::string row = fresh();
        std::vector<std::int64_t> inner(shape.begin() + 1, shape.end());
        if (inner.size() == 1) {
          shape.pop_back();
          if (pick(0, 2) == 2)  // two accumulators that change places
            return fmt::format(
                "map(fun {0} => let s = reduce((0.5, 0.25), fun (acc, {1}) => (acc.1, acc.0 * 0.5 + {2}), {0}) in "
                "s.0 - s.1, {3})",
                row, v, scalar(v), e);
          return fmt::format("map(fun {} => reduce(0.5, fun (acc, {}) => acc * 0.5 + {}, {}), {})", row, v, scalar(v),
                             row, e);
        }
        // The accumulator is an array: rows are added up.
        shape.erase(shape.begin());
        const std::string zero = fmt::format("generate({}, fun _ => generate({}, fun _ => 0.0))", shape[0], shape[1]);
        return fmt::format(
            "reduce({0}, fun (acc, {1}) => map(fun (p, q) => map(fun (a, b) => a + b * 0.5, zip(p, q)), zip({2}, "
            "{1})), "
            "{3})",
            zero, v, coin() ? "reorder(reverse, acc)" : "acc", e);
      }
      case 13: {
        if (shape.size() != 1) break;
        const bool exclusive = coin();
        count(exclusive ? "scanExclusive" : "scan");
        return fmt::format("{}(0.25, fun (acc, v) => acc * 0.5 + v, {})", exclusive ? "scanExclusive" : "scan", e);
      }
      case 14: {
        count("zip");
        const std::string v = fresh();
        return fmt::format("let {0} = {1} in {2}", v, parenthesised(e), zipped(v, shape.size()));
      }
      case 15: {
        if (shape.size() != 1) break;
        count("at");
        const std::string v = fresh();
        const std::int64_t m = pick(1, 8);
        shape[0] = m;
        if (coin())
          return fmt::format("let {0} = {1} in generate({2}, fun i => {0}[(i * 3 + 1) % {3}])", v, parenthesised(e), m,
                             n);
        return fmt::format("let {0} = {1} in generate({2}, fun i => {0}[max(0, min(i32({0}[i % {3}] * 4.0), {4}))])", v,
                           parenthesised(e), m, n, n - 1);
      }
      case 16: {
        if (shape.back() % 4 != 0 || shape.size() != 1) break;
        count("vectorize");
        const std::string v = fresh();
        return fmt::format("asScalar(map(vectorize(4, fun {} => {}), asVector(4, {})))", v, scalar(v), e);
      }
      case 17: {
        if (shape.size() > 2) break;
        count("iterate");
        const std::string v = fresh();
        const std::string step = shape.size() == 1
                                     ? fmt::format("map(fun w => w[0] * 0.5 + w[1], slide(2, 1, padClamp({}, {})))",
                                                   coin() ? "1, 0" : "0, 1", v)
                                     : fmt::format("map(fun r => map(fun a => {}, r), {})", scalar("a"), v);
        return fmt::format("iterate({}, fun {} => {}, {})", pick(0, 4), v, step, e);
      }
      case 18: {
        count("tuple");
        const std::string v = fresh();
        return fmt::format("map(fun ({0}, _) => {0}, zip({1}, {1}))", v, parenthesised(e));
      }
      case 19: {  // indices of which some are out of range
        if (shape.size() != 1) break;
        count("guard");
        const std::string v = fresh();
        shape[0] = pick(1, 8);
        const std::string index = coin() ? fmt::format("i * 3 - {}", pick(0, 4))
                                         : fmt::format("i32({}[i % {}] * 8.0) * {}", v, n, coin() ? "1" : "1000000");
        return fmt::format(
            "let {0} = {1} in generate({2}, fun i => let k = {3} in if k >= 0 && k < {4} then let e = {0}[k] in {5} "
            "else 0.25)",
            v, parenthesised(e), shape[0], index, n, scalar("e"));
      }
      case 20: {
        count("conditional");
        const std::string v = fresh();
        std::string first = v;
        for (std::size_t d = 0; d < shape.size(); d++) first += "[0]";
        const std::string mapped = mapOver(v, shape.size() - 1, [&](const std::string& x) { return scalar(x); });
        const std::string other = coin() ? v : fmt::format("reorder(reverse, {})", v);
        return fmt::format("let {0} = {1} in if {2} > 0.0 then {3} else {4}", v, parenthesised(e), first,
                           coin() ? mapped : other, coin() ? v : mapped);
      }
      case 21: {
        count("iterateWhile");
        const std::int64_t steps = pick(0, 5);
        return mapOver(e, shape.size() - 1, [&](const std::string& v) {
          return fmt::format(
              "iterateWhile({0}, fun (a, c) => a + c < 3.3, fun (a, c) => ({1}, a * 0.5 + c), ({2}, {2} "
              "* 0.25)).{3}",
              steps, scalar("a"), v, coin() ? 0 : 1);
        });
      }
      case 22: {
        if (shape.size() != 1) break;
        count("iterateWhile");
        const std::string v = fresh();
        return fmt::format("iterateWhile({0}, fun {1} => {1}[0] < 3.3, fun {1} => map(fun a => {2}, {3}), {4})",
                           pick(0, 5), v, scalar("a"), coin() ? v : fmt::format("reorder(reverse, {})", v), e);
      }
      default: {
        count("toGlobal");
        return fmt::format("toGlobal({})", e);
      }
    }
    return stage(e, shape);
  }

  std::string zipped(const std::string& v, std::size_t rank) {
    const std::string a = fresh(), b = fresh();
    if (rank == 1)
      return fmt::format("map(fun ({0}, {1}) => {0} * 0.5 + {1}, zip({2}, reorder(reverse, {2})))", a, b, v);
    return fmt::format("map(fun ({0}, {1}) => {2}, zip({3}, reorder(reverse, {3})))", a, b, zippedRows(a, b, rank - 1),
                       v);
  }
  std::string zippedRows(const std::string& x, const std::string& y, std::size_t rank) {
    const std::string a = fresh(), b = fresh();
    const std::string inner = rank == 1 ? fmt::format("{} - {} * 0.25", a, b) : zippedRows(a, b, rank - 1);
    return fmt::format("map(fun ({}, {}) => {}, zip({}, {}))", a, b, inner, x, y);
  }

  static std::string parenthesised(const std::string& e) { return "(" + e + ")"; }

  Choices& choices_;
  Generated generated_;
  int variables_ = 0;
};

}  // namespace

Generated generate(Choices& choices) { return Generator(choices).run(); }

}  // namespace lift::differential
