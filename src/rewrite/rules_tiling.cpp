// Rules of overlapped tiling and of loop nests, and of dimensions laid out anew.
#include <fmt/format.h>

#include "tables.hpp"

namespace lift::rewrite::detail {
namespace {

// slide2D and slide3D of the prelude, written out.
std::string slide2D(const std::string& n, const std::string& m, const std::string& s, const std::string& t,
                    const std::string& xs) {
  return fmt::format("map(fun w => transpose(w), slide({}, {}, map(fun row => slide({}, {}, row), {})))", n, s, m, t,
                     xs);
}

std::string slide3D(const std::vector<std::string>& sizes, const std::vector<std::string>& steps,
                    const std::string& xs) {
  return fmt::format(
      "map(fun slab => map(fun b => transpose(b), transpose(slab)), slide({}, {}, map(fun plane => {}, {})))", sizes[0],
      steps[0], slide2D(sizes[1], sizes[2], steps[1], steps[2], "plane"), xs);
}

// The tiles of k windows have (k - 1) * s + n elements and begin k * s apart.
std::string tile(const std::string& k, const std::string& n, const std::string& s) {
  return fmt::format("({} - 1) * {} + {}", k, s, n);
}

}  // namespace

std::vector<RuleRow> tilingRules() {
  static const std::string windows2D = fmt::format(
      "map(fun b => transpose(b), split(k, map(fun r => split(l, r), {}))) => map(fun r => map(fun tile => {}, r), {})",
      slide2D("n", "m", "s", "t", "xss"), slide2D("n", "m", "s", "t", "tile"),
      slide2D(tile("k", "n", "s"), tile("l", "m", "t"), "k * s", "l * t", "xss"));
  static const std::string windows3D = fmt::format(
      "split(k, {}) => map(fun tile => {}, slide({}, k * s, xsss))", slide3D({"n", "m", "o"}, {"s", "t", "u"}, "xsss"),
      slide3D({"n", "m", "o"}, {"s", "t", "u"}, "tile"), tile("k", "n", "s"));
  static const std::string more2D =
      "map(fun w => map(f, transpose(w)), slide(a, b, map(fun r => slide(n, s, r), (xss: [h][m]t)))) => "
      "map(fun y => take((m - n + s) / s, y), map(fun w => map(f, transpose(w)), "
      "slide(a, b, map(fun r => slide(n, s, r), map(fun r => padClamp(0, k * s, r), xss)))))";
  static const std::string slabs =
      "map(fun slab => map(fun w => map(f, transpose(w)), transpose(slab)), slide(c, d, map(fun plane => "
      "map(fun y => transpose(y), slide(a, b, map(fun r => slide(n, s, r), plane))), {})))";
  static const std::string more3D =
      fmt::format(fmt::runtime(slabs), "(xsss: [p][h][m]t)") +
      " => map(fun z => map(fun y => take((m - n + s) / s, y), z), " +
      fmt::format(fmt::runtime(slabs), "map(fun plane => map(fun r => padClamp(0, k * s, r), plane), xsss)") + ")";
  return {
      {"moreWindows",
       "map(f, slide(n, s, (xs: [m]t))) => take((m - n + s) / s, map(f, slide(n, s, padClamp(0, k * s, xs))))",
       "windows to fill the last tile"},
      {"moreWindows2D", more2D, "windows to fill the last tile of each row"},
      {"moreWindows3D", more3D, "windows to fill the last tile of each row"},
      {"splitSlide", "split(k, slide(n, s, xs)) => map(fun t => slide(n, s, t), slide((k - 1) * s + n, k * s, xs))",
       "lift-conv §3.4, overlapped tiling"},
      {"slideInterchange",
       "map(fun rows => map(f, slide(m, t, transpose(rows))), slide(n, s, xs)) => "
       "transpose(map(fun cols => map(fun r => f(transpose(r)), slide(n, s, transpose(cols))), "
       "slide(m, t, transpose(xs))))",
       "lift-conv §3.4, windows of columns before those of rows"},
      {"splitSlide2D", windows2D, "lift-conv §3.4, overlapped tiling of rows and columns"},
      {"splitSlide3D", windows3D, "lift-conv §3.4, overlapped tiling of planes"},
      {"rowsInChunks", "join(xss) => join(join(map(fun xs => split(k, xs), xss)))", "inverse"},
      {"tileMaps",
       "map(fun x => map(fun y => f((x, y)), ys), xs) => map(fun r => join(r), join(map(fun b => transpose(b), "
       "map(fun xb => map(fun yb => map(fun x => map(fun y => f((x, y)), yb), xb), split(l, ys)), split(k, xs)))))",
       "blocking of a loop nest"},
  };
}

std::vector<RuleRow> layoutRules() {
  return {
      {"blockDimension", "(xs: [n]t) => join(split(k, xs))", "lift-conv §3.4"},
      {"flattenDimensions", "(xss: [n][m]t) => split(m, join(xss))", "lift-conv §3.4"},
      {"padDimension", "(xs: [n]t) => take(n, padClamp(0, k, xs))", "padding to a multiple"},
      {"interleaveDimension", "(xs: [n]t) => reorder(unstride(s), reorder(stride(s), xs))", "lift-conv §4.1"},
      {"columnsFirst", "(xss: [n][m]t) => transpose(transpose(xss))", "row-major to column-major"},
      {"inVectors", "(xs: [n]t) => asScalar(asVector(w, xs))", "lift-conv §4.3"},
      {"mapPadded", "map(f, (xs: [n]t)) => take(n, map(f, padClamp(0, k, xs)))", "more work-items than work"},
  };
}

}  // namespace lift::rewrite::detail
