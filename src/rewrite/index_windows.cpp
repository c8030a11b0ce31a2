// Elements at sums of indices as elements of windows, and indices that are quotients and remainders of one.
#include "computed.hpp"
#include "index_sums.hpp"
#include "terms.hpp"

namespace lift::rewrite::detail {

using namespace build;

namespace {

// xs[2 * i + j + 1]  ->  slide(k, 2, drop(1, xs))[i][j]; nothing where a place may be outside.
std::optional<IndexedArray> windowsOf(Expr xs, AffineIndex at, const Counts& counts) {
  Nat last = at.constant;
  for (const auto& [index, factor] : at.terms) {
    if (factor <= 0) return std::nullopt;
    last = last + Nat(factor) * (counts.at(index) - Nat(1));
  }
  if (at.constant < 0 || at.terms.empty() || less(last, xs.type().length()) != Truth::proved) return std::nullopt;
  if (at.constant > 0) xs = drop(at.constant, xs);
  const auto [index, step] = at.terms.front();
  if (at.terms.size() == 1 && step == 1) return IndexedArray{xs, {index}};
  AffineIndex rest{{at.terms.begin() + 1, at.terms.end()}, 0};
  Nat size = 1;
  for (const auto& [inner, factor] : rest.terms) size = size + Nat(factor) * (counts.at(inner) - Nat(1));
  const Expr windows = call(Prim::slide, {size, Nat(step)}, {xs});
  if (rest.terms.empty()) return IndexedArray{windows, {index, integer(0)}};
  const Expr window = Expr::variable("w", windows.type().element());
  auto below = windowsOf(window, rest, counts);
  if (!below) return std::nullopt;
  below->indices.insert(below->indices.begin(), index);
  below->array = mapped(window, below->array, windows);
  return below;
}

// The same of each dimension of an array.
std::optional<IndexedArray> windowsOfAll(Expr xs, const std::vector<Expr>& indices, std::size_t from,
                                         const Counts& counts) {
  if (from == indices.size()) return IndexedArray{xs, {}};
  const Expr row = Expr::variable("row", xs.type().element());
  const auto rows = windowsOfAll(row, indices, from + 1, counts);
  if (!rows) return std::nullopt;
  xs = mapped(row, rows->array, xs);
  IndexedArray all{xs, {indices[from]}};
  if (const auto at = affineIndex(indices[from], counts); at && !at->terms.empty() && !counts.contains(indices[from])) {
    auto windows = windowsOf(xs, *at, counts);
    if (!windows) return std::nullopt;
    all = std::move(*windows);
  }
  all.indices.insert(all.indices.end(), rows->indices.begin(), rows->indices.end());
  return all;
}

}  // namespace

std::optional<Expr> windowsOfIndices(Expr e) {
  if (!spineOf(e).isPrim(Prim::generate)) return std::nullopt;
  const Counts counts = countsIn(e);
  e = withoutNamesOfIndices(e, [&](Expr value) { return affineIndex(value, counts).has_value(); });
  std::unordered_map<Expr, Expr> reads;
  forEachRead(e, [&](Expr term, const std::vector<Expr>& binders) {
    const auto read = readOf(term);
    if (!read || dependsOn(read->array, binders)) return false;
    const auto windows = windowsOfAll(read->array, read->indices, 0, counts);
    if (windows && windows->array != read->array) reads.emplace(term, elementAt(*windows));
    return true;
  });
  return reads.empty() ? std::nullopt : std::optional(etaLong(replaceTerms(e, reads)));
}

namespace {

// What is computed of an index t below `count` by its quotient and remainder alone, of the rows and columns in its
// place.
struct Digits {
  std::int64_t rows, columns;
  Expr term;
};
std::optional<Digits> digitsIn(Expr term, Expr t, std::optional<std::int64_t> count, Expr row, Expr column) {
  // t / c and t % c, of which the least c is the length of the rows.
  std::vector<std::pair<Expr, std::int64_t>> digits;
  std::int64_t length = 0;
  anyTerm(term, [&](Expr part) {
    const Spine d = spineOf(part);
    if (!d.isPrim(Prim::op) || d.arguments.size() != 2 || d.arguments[0] != t) return false;
    const auto c = d.head.op() == Op::div || d.head.op() == Op::mod ? integerOf(d.arguments[1]) : std::nullopt;
    if (c && *c > 1) digits.emplace_back(part, *c);
    if (c && *c > 1 && (length == 0 || *c < length)) length = *c;
    return false;
  });
  if (!count || length == 0 || *count % length != 0 || *count <= length) return std::nullopt;
  std::unordered_map<Expr, Expr> now;
  for (const auto& [part, c] : digits) {
    if (c % length != 0) return std::nullopt;
    const bool isQuotient = spineOf(part).head.op() == Op::div;
    if (c == length)
      now.emplace(part, isQuotient ? row : column);
    else if (isQuotient)
      now.emplace(part, operation(Op::div, {row, integer(c / length)}));
    else
      now.emplace(
          part,
          operation(Op::add,
                    {operation(Op::mul, {operation(Op::mod, {row, integer(c / length)}), integer(length)}), column}));
  }
  const Expr apart = replaceTerms(term, now);
  if (anyTerm(apart, [&](Expr part) { return part == t; })) return std::nullopt;
  return Digits{*count / length, length, apart};
}

}  // namespace

std::optional<Expr> digitsOfIndices(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::generate)) return std::nullopt;
  const Expr t = s.arguments[0].parameter();
  const Expr row = Expr::variable(t.name(), t.type()), column = Expr::variable(t.name(), t.type());
  const auto digits = digitsIn(s.arguments[0].body(), t, s.head.nats()[0].constant(), row, column);
  if (!digits) return std::nullopt;
  const Expr ofRow = call(Prim::generate, {digits->columns}, {Expr::lambda(column, digits->term)});
  return call(Prim::join, {call(Prim::generate, {digits->rows}, {Expr::lambda(row, ofRow)})});
}

std::optional<Expr> digitsOfReduced(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isCall(Prim::reduce) || !s.arguments[1].isLambda() || !isIndices(s.arguments[2])) return std::nullopt;
  const Expr p = s.arguments[1].parameter(), t = get(p, 1);
  const Expr outer = Expr::variable(p.name(), p.type()), inner = Expr::variable(p.name(), p.type());
  const auto digits =
      digitsIn(s.arguments[1].body(), t, s.arguments[2].type().length().constant(), get(outer, 1), get(inner, 1));
  if (!digits) return std::nullopt;
  const Expr step = replaceTerms(digits->term, {{get(p, 0), get(inner, 0)}});
  if (step.hasFree(p)) return std::nullopt;
  const Expr ofRow = call(Prim::reduce, {get(outer, 0), Expr::lambda(inner, step), indices(digits->columns)});
  return call(Prim::reduce, {s.arguments[0], Expr::lambda(outer, ofRow), indices(digits->rows)});
}

}  // namespace lift::rewrite::detail
