#include "differential/tiles.hpp"

#include <fmt/format.h>

namespace lift::differential {
namespace {

// A tile of the work-group: rows that its work-items share.
struct Tile {
  std::string text;
  std::int64_t rows, columns;
};

std::string staged(Drawing& d, const Tile& t) {
  const std::string f = d.scalar("v");
  switch (d.pick(0, 2)) {
    case 0: return fmt::format("map(fun r => map(fun v => {}, r), {})", f, t.text);
    case 1:  // by all work-items
      d.count("toLocal");
      return fmt::format("toLocal(mapLcl(0, fun r => mapSeq(fun v => {}, r), {}))", f, t.text);
    default:  // by one of them
      d.count("toLocal");
      return fmt::format("toLocal(mapSeq(fun r => mapSeq(fun v => {}, r), {}))", f, t.text);
  }
}

Tile rearranged(Drawing& d, const Tile& t) {
  switch (d.pick(0, 5)) {
    case 0: return t;
    case 1: return {fmt::format("reorder(reverse, {})", t.text), t.rows, t.columns};
    case 2: return {fmt::format("transpose({})", t.text), t.columns, t.rows};
    case 3: return {fmt::format("map(fun r => reorder(reverse, r), {})", t.text), t.rows, t.columns};
    case 4: return {fmt::format("padWrap(1, 0, {})", t.text), t.rows + 1, t.columns};
    default:
      if (t.rows < 2) return t;
      return {fmt::format("map(fun w => join(w), slide(2, 1, {}))", t.text), t.rows - 1, 2 * t.columns};
  }
}

// What a work-item makes of its row r.
std::string reduced(Drawing& d, std::int64_t columns) {
  d.count("reduceSeq");
  const std::string f = d.scalar("v");
  switch (d.pick(0, 3)) {
    case 0:
    case 1: return fmt::format("reduceSeq(0.0, fun (acc, v) => acc + {}, r)", f);
    case 2:
      return fmt::format("let p = toPrivate(mapSeq(fun v => {}, r)) in reduceSeq(0.5, fun (acc, v) => acc - v, p)", f);
    default:  // elements of private memory at indices from data
      return fmt::format(
          "let p = toPrivate(mapSeq(fun v => {0}, r)) in reduceSeq(0.5, fun (acc, v) => acc * 0.5 + p[max(0, "
          "min(i32(v * 4.0), {1}))], p)",
          f, columns - 1);
  }
}

}  // namespace

std::string tiledProgram(Drawing& d, const std::string& groups) {
  const std::int64_t items = d.pick(1, 7), columns = d.pick(2, 6);
  d.count("mapWrg");
  std::string lets;
  Tile tile{"t", items, columns};
  for (std::int64_t stages = d.pick(1, 2); stages > 0; stages--) {
    const std::string name = d.fresh();
    lets += fmt::format("    let {} = {} in\n", name, staged(d, tile));
    tile.text = name;
    tile = rearranged(d, tile);
  }
  d.count("mapLcl");
  return fmt::format("def main(x: [{}][{}][{}]f32) =\n  mapWrg(0, fun t =>\n{}    mapLcl(0, fun r => {}, {}), x)\n",
                     groups, items, columns, lets, reduced(d, tile.columns), tile.text);
}

}  // namespace lift::differential
