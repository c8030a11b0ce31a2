#include "lift/epilogue.hpp"

#include <algorithm>
#include <unordered_map>

#include "lift/build.hpp"
#include "lift/terms.hpp"

namespace lift::rewrite {
namespace {

using namespace build;

// What a map runs over: the arrays below its zips, and how their elements are written in its function.
struct Leaf {
  Expr array, element;
};

void addLeaves(Expr in, Expr element, std::vector<Leaf>& leaves) {
  const Spine s = spineOf(in);
  if (!s.isPrim(Prim::zip)) return leaves.push_back({in, element});
  for (std::size_t i = 0; i < s.arguments.size(); i++) addLeaves(s.arguments[i], get(element, i), leaves);
}

class Reading {
 public:
  // Reads a map whose result is what `isResult` accepts; `found` is then relative to the map.
  bool read(Expr map, const std::function<bool(Expr)>& isResult) {
    const Spine s = spineOf(map);
    if (!s.isCall(Prim::map) || !s.arguments[0].isLambda()) return false;
    Expr parameter = s.arguments[0].parameter(), body = s.arguments[0].body(), in = s.arguments[1];
    while (baseOf(in.type()).isTuple()) {  // rows are zipped by a map of their own
      const Spine rows = spineOf(in);
      if (!rows.isCall(Prim::map) || !rows.arguments[0].isLambda()) break;
      body = withRow(body, parameter, rows.arguments[0].body());
      parameter = rows.arguments[0].parameter();
      in = rows.arguments[1];
    }
    std::vector<Leaf> leaves;
    addLeaves(in, parameter, leaves);
    const auto result = std::ranges::find_if(leaves, [&](const Leaf& l) { return isResult(l.array); });
    if (result == leaves.end()) return false;
    const Leaf own = *result;
    leaves.erase(result);
    if (own.element.type().isArray()) {
      if (!read(body, [&](Expr e) { return e == own.element; })) return false;
    } else {
      if (!own.element.type().isScalar()) return false;
      found.element = Expr::variable("x", own.element.type());
      found.value = replaceTerms(body, {{own.element, found.element}});
    }
    found.result = own.array;
    nameScalars(leaves, own.element.type());
    return !found.value.hasFree(parameter) && raise(leaves, parameter, in);
  }

  Epilogue found{Expr::nat(0), Expr::nat(0), Expr::nat(0), {}};

 private:
  // The body of a function of a row that is made by that term.
  static Expr withRow(Expr body, Expr parameter, Expr row) {
    std::unordered_map<Expr, Expr> names;
    if (row.type().isTuple())
      for (std::size_t i = 0; i < row.type().components().size(); i++)
        names.emplace(get(parameter, i), component(row, i));
    return substitute(replaceTerms(body, names), parameter, row);
  }

  // Scalars of the map's elements that the value uses become variables; they are the same for a whole row.
  void nameScalars(const std::vector<Leaf>& leaves, Type row) {
    for (const Leaf& leaf : leaves) {
      if (!leaf.element.type().isScalar()) continue;
      const Expr y = Expr::variable("y", leaf.element.type());
      const Expr value = replaceTerms(found.value, {{leaf.element, y}});
      if (value == found.value) continue;
      found.value = value;
      found.others.push_back({y, repeated(leaf.element, row)});
    }
  }

  static Expr repeated(Expr scalar, Type shape) {
    return shape.isArray() ? fill(shape.length(), repeated(scalar, shape.element())) : scalar;
  }

  // Turns the arrays collected for one element of the map into arrays for all its elements.
  bool raise(const std::vector<Leaf>& leaves, Expr parameter, Expr in) {
    for (Epilogue::Other& other : found.others) {
      if (!other.array.hasFree(parameter)) {
        other.array = fill(in.type().length(), other.array);
        continue;
      }
      std::vector<Expr> arrays, rows;
      std::unordered_map<Expr, Expr> names;
      Expr of = other.array;
      for (const Leaf& leaf : leaves) {
        const Expr row = Expr::variable("row", leaf.element.type());
        const Expr now = replaceTerms(of, {{leaf.element, row}});
        if (now == of) continue;
        of = now;
        arrays.push_back(leaf.array);
        rows.push_back(row);
      }
      if (of.hasFree(parameter) || arrays.empty()) return false;
      if (of == rows[0]) {
        other.array = arrays[0];
        continue;
      }
      const Expr all = zip(arrays), p = Expr::variable("p", all.type().element());
      for (std::size_t i = 0; i < rows.size(); i++) names.emplace(rows[i], rows.size() == 1 ? p : get(p, i));
      other.array = map(Expr::lambda(p, replaceTerms(of, names)), all);
    }
    return true;
  }
};

}  // namespace

std::optional<Epilogue> epilogueOf(Expr map, const std::function<bool(Expr)>& isResult) {
  Reading reading;
  if (!reading.read(map, isResult)) return std::nullopt;
  if (!reading.found.value.type().isScalar()) return std::nullopt;
  return reading.found;
}

}  // namespace lift::rewrite
