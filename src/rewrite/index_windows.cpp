// Elements at sums of indices as elements of windows.
#include <algorithm>
#include <unordered_set>

#include "computed.hpp"
#include "terms.hpp"

namespace lift::rewrite::detail {

using namespace build;

namespace {

// A sum of indices of generate, each with a factor, from the outermost; and of a constant.
struct AffineIndex {
  std::vector<std::pair<Expr, std::int64_t>> terms;
  std::int64_t constant = 0;

  void add(const AffineIndex& other, std::int64_t factor) {
    for (const auto& [index, f] : other.terms) {
      const auto same = std::ranges::find_if(terms, [&i = index](const auto& t) { return t.first == i; });
      if (same == terms.end())
        terms.emplace_back(index, factor * f);
      else
        same->second += factor * f;
    }
    constant += factor * other.constant;
  }
};

using Counts = std::unordered_map<Expr, Nat>;  // of indices of generate

std::optional<AffineIndex> affineIndex(Expr e, const Counts& counts) {
  if (counts.contains(e)) return AffineIndex{{{e, 1}}, 0};
  if (e.is(Expr::Form::literal) && e.value().type == Scalar::i32) return AffineIndex{{}, e.value().integer};
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::op) || s.arguments.size() != 2) return std::nullopt;
  const auto a = affineIndex(s.arguments[0], counts), b = affineIndex(s.arguments[1], counts);
  if (!a || !b) return std::nullopt;
  AffineIndex sum;
  switch (s.head.op()) {
    case Op::add:
    case Op::sub:
      sum.add(*a, 1);
      sum.add(*b, s.head.op() == Op::add ? 1 : -1);
      return sum;
    case Op::mul:
      if (!a->terms.empty() && !b->terms.empty()) return std::nullopt;
      sum.add(a->terms.empty() ? *b : *a, a->terms.empty() ? a->constant : b->constant);
      return sum;
    default: return std::nullopt;
  }
}

// An array, or its rows at any depth, so that the elements at sums of indices are those at one index after another.
struct IndexedArray {
  Expr array;
  std::vector<Expr> indices;
};

// map(fun element => body, xs)
Expr mapped(Expr element, Expr body, Expr xs) { return body == element ? xs : map(Expr::lambda(element, body), xs); }

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
  const Expr zero = Expr::literal(ScalarValue::ofInteger(Scalar::i32, 0));
  if (rest.terms.empty()) return IndexedArray{windows, {index, zero}};
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
  Counts counts;
  anySubterm(e, [&](Expr term, const std::vector<Expr>&) {
    if (const Spine s = spineOf(term); s.isPrim(Prim::generate) && s.arguments.size() == 1)
      counts.emplace(s.arguments[0].parameter(), s.head.nats()[0]);
    return false;
  });
  std::unordered_map<Expr, Expr> reads;
  std::unordered_set<Expr> inner;  // reads of rows of which an element is read
  anySubterm(e, [&](Expr term, const std::vector<Expr>& binders) {
    Expr array = term;
    std::vector<Expr> indices;
    for (Spine s = spineOf(array); s.isPrim(Prim::at) && s.arguments.size() == 2; s = spineOf(array)) {
      indices.insert(indices.begin(), s.arguments[0]);
      array = s.arguments[1];
      inner.insert(array);
    }
    if (indices.empty() || inner.contains(term)) return false;
    if (std::ranges::any_of(binders, [&](Expr b) { return array.hasFree(b); })) return false;
    const auto windows = windowsOfAll(array, indices, 0, counts);
    if (!windows || windows->array == array) return false;
    Expr now = windows->array;
    for (const Expr i : windows->indices) now = call(Prim::at, {i, now});
    reads.emplace(term, now);
    return false;
  });
  return reads.empty() ? std::nullopt : std::optional(etaLong(replaceTerms(e, reads)));
}

}  // namespace lift::rewrite::detail
