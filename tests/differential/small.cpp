#include "differential/small.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>

namespace lift::differential {
namespace {

struct Chain {
  std::string text;  // of the expression so far
  std::vector<std::int64_t> shape;
  bool pairs = false;  // elements are (f32, f32)
  std::set<std::string> used;
  int depth = 0;  // maps around it: names of variables differ
};

using Stage = std::function<std::optional<Chain>(const Chain&)>;

Chain with(Chain c, const std::string& primitive, std::string text) {
  c.text = std::move(text);
  c.used.insert(primitive);
  return c;
}

// f at every element, which is called e.
std::string mapElements(const std::string& array, std::size_t rank, const std::string& f) {
  if (rank == 1) return fmt::format("map(fun e => {}, {})", f, array);
  return fmt::format("map(fun r{0} => {1}, {2})", rank, mapElements(fmt::format("r{}", rank), rank - 1, f), array);
}

std::optional<Chain> mapStage(const Chain& c) {
  Chain r = with(c, "map", mapElements(c.text, c.shape.size(), c.pairs ? "e.0 * 0.5 - e.1" : "e * 0.5 + 1.0"));
  r.pairs = false;
  return r;
}

std::optional<Chain> reduceStage(const Chain& c) {
  if (c.shape.size() != 1) return std::nullopt;
  const char* f = c.pairs ? "acc * 0.5 + e.0 - e.1" : "acc * 0.5 + e";
  Chain r = with(c, "reduce", fmt::format("reduce(0.25, fun (acc, e) => {}, {})", f, c.text));
  r.shape.clear();
  r.pairs = false;
  return r;
}

Stage split(std::int64_t k) {
  return [k](const Chain& c) -> std::optional<Chain> {
    if (c.shape[0] % k != 0) return std::nullopt;
    Chain r = with(c, "split", fmt::format("split({}, {})", k, c.text));
    r.shape[0] = k;
    r.shape.insert(r.shape.begin(), c.shape[0] / k);
    return r;
  };
}

std::optional<Chain> joinStage(const Chain& c) {
  if (c.shape.size() < 2) return std::nullopt;
  Chain r = with(c, "join", fmt::format("join({})", c.text));
  r.shape.erase(r.shape.begin());
  r.shape[0] *= c.shape[0];
  return r;
}

std::optional<Chain> transposeStage(const Chain& c) {
  if (c.shape.size() < 2) return std::nullopt;
  Chain r = with(c, "transpose", fmt::format("transpose({})", c.text));
  std::swap(r.shape[0], r.shape[1]);
  return r;
}

Stage slide(std::int64_t size, std::int64_t step) {
  return [=](const Chain& c) -> std::optional<Chain> {
    if (c.shape[0] < size) return std::nullopt;
    Chain r = with(c, "slide", fmt::format("slide({}, {}, {})", size, step, c.text));
    r.shape[0] = size;
    r.shape.insert(r.shape.begin(), (c.shape[0] - size) / step + 1);
    return r;
  };
}

Stage pad(std::int64_t left, std::int64_t right) {
  return [=](const Chain& c) -> std::optional<Chain> {
    if (c.shape[0] + left + right < 1 || (c.pairs && c.shape.size() > 1)) return std::nullopt;
    Chain r = with(c, "pad", fmt::format("pad({}, {}, {}, {})", left, right, c.pairs ? "(0.5, 0.75)" : "0.5", c.text));
    r.shape[0] += left + right;
    return r;
  };
}

std::optional<Chain> zipStage(const Chain& c) {
  if (c.pairs || c.shape.size() > 1) return std::nullopt;  // pairs of rows are zips below a map
  const std::string v = fmt::format("z{}", c.depth);
  Chain r = with(c, "zip", fmt::format("(let {0} = ({1}) in zip({0}, map(fun e => e * 3.0, {0})))", v, c.text));
  r.pairs = true;
  return r;
}

// The stage at the rows: map(fun row => stage(row), array).
Stage belowMap(const Stage& stage) {
  return [stage](const Chain& c) -> std::optional<Chain> {
    if (c.shape.size() < 2) return std::nullopt;
    Chain row = c;
    row.depth++;
    row.text = fmt::format("row{}", row.depth);
    row.shape.erase(row.shape.begin());
    std::optional<Chain> result = stage(row);
    if (!result) return std::nullopt;
    result->text = fmt::format("map(fun {} => {}, {})", row.text, result->text, c.text);
    result->shape.insert(result->shape.begin(), c.shape[0]);
    result->used.insert("map");
    result->depth = c.depth;
    return result;
  };
}

const std::vector<Stage>& stages() {
  static const std::vector<Stage> all = [] {
    std::vector<Stage> s{reduceStage, split(2),  split(3),  joinStage,  transposeStage, slide(3, 1),
                         slide(2, 2), pad(1, 0), pad(0, 2), pad(-1, 1), zipStage};
    const std::size_t n = s.size();
    for (std::size_t i = 0; i < n; i++) s.push_back(belowMap(s[i]));
    s.push_back(belowMap(belowMap(reduceStage)));
    s.push_back(mapStage);
    return s;
  }();
  return all;
}

Chain inputOf(std::vector<std::int64_t> shape) {
  Chain c;
  c.text = "x";
  c.shape = std::move(shape);
  return c;
}

}  // namespace

std::vector<SmallProgram> smallPrograms(int count) {
  std::vector<SmallProgram> programs;
  for (const auto& [type, shape] : {std::pair{"[6]f32", std::vector<std::int64_t>{6}}, {"[2][6]f32", {2, 6}}}) {
    std::vector<Chain> chains{inputOf(shape)};
    for (int s = 0; s < count; s++) {
      std::vector<Chain> longer;
      for (const Chain& c : chains) {
        if (c.shape.empty()) continue;
        for (const Stage& stage : stages())
          if (std::optional<Chain> next = stage(c)) longer.push_back(std::move(*next));
      }
      chains = std::move(longer);
    }
    for (const Chain& c : chains) programs.push_back({fmt::format("def main(x: {}) =\n  {}\n", type, c.text), c.used});
  }
  return programs;
}

}  // namespace lift::differential
