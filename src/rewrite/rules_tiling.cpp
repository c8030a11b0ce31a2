// Rules of overlapped tiling and of loop nests.
#include <fmt/format.h>

#include "tables.hpp"

namespace lift::rewrite::detail {
std::vector<RuleRow> tilingRules() {
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
      {"tileMaps",
       "map(fun x => map(fun y => f((x, y)), ys), xs) => map(fun r => join(r), join(map(fun b => transpose(b), "
       "map(fun xb => map(fun yb => map(fun x => map(fun y => f((x, y)), yb), xb), split(l, ys)), split(k, xs)))))",
       "blocking of a loop nest"},
      {"mapPadded", "map(f, (xs: [n]t)) => take(n, map(f, padClamp(0, k, xs)))", "more work-items than work"},
      {"mapPaddedInVectors", "map(f, (xs: [n]t)) => take(n, map(f, join(padClamp(0, k / v, split(v, xs)))))",
       "more work-items than work, whose elements are vectors where others' are"},
  };
}

}  // namespace lift::rewrite::detail
