// Elements at sums of indices as elements of windows, and indices that are quotients and remainders of one.
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

// An integer that is written out, perhaps as a size.
std::optional<std::int64_t> integerOf(Expr e) {
  if (e.is(Expr::Form::literal) && e.value().type == Scalar::i32) return e.value().integer;
  if (e.is(Expr::Form::natLiteral)) return e.natValue().constant();
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::op) || s.head.op() != Op::mul) return std::nullopt;
  const auto a = integerOf(s.arguments[0]), b = integerOf(s.arguments[1]);
  return a && b ? std::optional(*a * *b) : std::nullopt;
}

std::optional<AffineIndex> affineIndex(Expr e, const Counts& counts) {
  if (counts.contains(e)) return AffineIndex{{{e, 1}}, 0};
  if (const auto constant = integerOf(e)) return AffineIndex{{}, *constant};
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

// An element of an array: the array and the indices, the outermost first.
std::optional<IndexedArray> readOf(Expr e) {
  IndexedArray read{e, {}};
  for (Spine s = spineOf(e); s.isCall(Prim::at); s = spineOf(read.array)) {
    read.indices.insert(read.indices.begin(), s.arguments[0]);
    read.array = s.arguments[1];
  }
  return read.indices.empty() ? std::nullopt : std::optional(read);
}

// Names of sums of indices replaced by these.
Expr withoutNamesOfIndices(Expr e, const Counts& counts) {
  const Spine s = spineOf(e);
  if (s.isCall(Prim::let) && affineIndex(s.arguments[1], counts))
    return withoutNamesOfIndices(substitute(s.arguments[0].body(), s.arguments[0].parameter(), s.arguments[1]), counts);
  return withParts(e, [&](Expr part) { return withoutNamesOfIndices(part, counts); });
}

// An element that is read where conditions hold, and what stands for it elsewhere.
struct GuardedRead {
  Expr read, otherwise;
  std::vector<AffineIndex> bounds;  // sums that are not negative where it is read
};

// The condition (or its opposite) as such bounds.
bool addBounds(Expr condition, bool holds, const Counts& counts, std::vector<AffineIndex>& bounds) {
  const Spine s = spineOf(condition);
  if (!s.isPrim(Prim::op)) return false;
  const auto& a = s.arguments;
  const Op op = s.head.op();
  if (op == Op::logicalNot) return addBounds(a[0], !holds, counts, bounds);
  if (op == (holds ? Op::logicalAnd : Op::logicalOr))
    return addBounds(a[0], holds, counts, bounds) && addBounds(a[1], holds, counts, bounds);
  const bool isLess = op == Op::lt || op == Op::le;
  if (!isLess && op != Op::gt && op != Op::ge) return false;
  const bool firstIsLess = isLess == holds, strictly = (op == Op::lt || op == Op::gt) == holds;
  const auto less = affineIndex(a[firstIsLess ? 0 : 1], counts), greater = affineIndex(a[firstIsLess ? 1 : 0], counts);
  if (!less || !greater) return false;
  AffineIndex difference = *greater;
  difference.add(*less, -1);
  if (strictly) difference.constant--;
  bounds.push_back(std::move(difference));
  return true;
}

std::optional<GuardedRead> guardedRead(Expr e, const Counts& counts) {
  const Spine s = spineOf(e);
  if (!s.isCall(Prim::ifThenElse)) return std::nullopt;
  const bool elseIsConstant = s.arguments[2].freeVariables().empty();
  const Expr otherwise = s.arguments[elseIsConstant ? 2 : 1], inside = s.arguments[elseIsConstant ? 1 : 2];
  if (!otherwise.freeVariables().empty() || !onlyMovesData(otherwise)) return std::nullopt;
  GuardedRead guarded{inside, otherwise, {}};
  if (auto inner = guardedRead(inside, counts)) {
    if (inner->otherwise != otherwise) return std::nullopt;
    guarded = std::move(*inner);
  }
  if (!addBounds(s.arguments[0], elseIsConstant, counts, guarded.bounds)) return std::nullopt;
  return guarded;
}

// The least and the greatest value of a sum of indices.
std::optional<std::pair<std::int64_t, std::int64_t>> rangeOf(const AffineIndex& sum, const Counts& counts) {
  std::int64_t least = sum.constant, most = sum.constant;
  for (const auto& [index, factor] : sum.terms) {
    const auto count = counts.at(index).constant();
    if (!count) return std::nullopt;
    (factor < 0 ? least : most) += factor * (*count - 1);
  }
  return std::pair(least, most);
}

bool areEqual(const AffineIndex& a, const AffineIndex& b) {
  AffineIndex difference = a;
  difference.add(b, -1);
  return difference.constant == 0 && std::ranges::all_of(difference.terms, [](const auto& t) { return t.second == 0; });
}

// So many elements in front of an array and behind it, in each dimension.
using Padding = std::vector<std::pair<std::int64_t, std::int64_t>>;

Expr padded(Expr array, const Padding& padding, std::size_t from, Expr value) {
  if (std::all_of(padding.begin() + static_cast<std::ptrdiff_t>(from), padding.end(),
                  [](const auto& p) { return p == std::pair<std::int64_t, std::int64_t>(0, 0); }))
    return array;
  const Expr row = Expr::variable("row", array.type().element());
  if (from + 1 < padding.size()) array = mapped(row, padded(row, padding, from + 1, value), array);
  const auto [front, behind] = padding[from];
  if (front == 0 && behind == 0) return array;
  std::vector<Nat> lengths;
  for (Type t = array.type().element(); t.isArray(); t = t.element()) lengths.push_back(t.length());
  for (auto n = lengths.rbegin(); n != lengths.rend(); ++n) value = fill(*n, value);
  return call(Prim::pad, {front, behind}, {value, array});
}

// A read that is guarded by just the bounds of the array, at sums of several indices: of the array with padding.
std::optional<IndexedArray> paddedRead(const GuardedRead& guarded, const Counts& counts) {
  auto read = readOf(guarded.read);
  if (!read || !guarded.read.type().is(Type::Kind::scalar)) return std::nullopt;
  std::vector<bool> isBound(guarded.bounds.size());
  Padding padding;
  bool windows = false;
  Type type = read->array.type();
  for (Expr& index : read->indices) {
    const auto length = type.length().constant();
    type = type.element();
    const auto sum = affineIndex(index, counts);
    const auto range = sum ? rangeOf(*sum, counts) : std::nullopt;
    padding.emplace_back(0, 0);
    if (!range || !length) {
      if (sum) return std::nullopt;
      continue;
    }
    AffineIndex left{{}, *length - 1};  // behind the element
    left.add(*sum, -1);
    bool first = range->first >= 0, last = range->second < *length;
    for (std::size_t i = 0; i < guarded.bounds.size(); i++) {
      const bool isFirst = areEqual(guarded.bounds[i], *sum), isLast = areEqual(guarded.bounds[i], left);
      first = first || isFirst;
      last = last || isLast;
      isBound[i] = isBound[i] || isFirst || isLast;
    }
    if (!first || !last) return std::nullopt;
    padding.back() = {std::max<std::int64_t>(0, -range->first), std::max<std::int64_t>(0, range->second - *length + 1)};
    windows = windows || sum->terms.size() > 1;
    if (padding.back().first > 0)
      index = operation(Op::add, {index, Expr::literal(ScalarValue::ofInteger(Scalar::i32, padding.back().first))});
  }
  for (std::size_t i = 0; i < isBound.size(); i++) {
    const auto range = rangeOf(guarded.bounds[i], counts);
    if (!isBound[i] && (!range || range->first < 0)) return std::nullopt;  // it leaves out what the array has
  }
  if (!windows) return std::nullopt;
  read->array = padded(read->array, padding, 0, guarded.otherwise);
  return read;
}

// How a term within loops over indices is read from an array that is bound outside of these loops; nothing where it is
// not.
using Reading = std::optional<IndexedArray> (*)(Expr term, const Counts& counts);

std::optional<Expr> withWindows(Expr e, Reading readingOf) {
  if (!spineOf(e).isPrim(Prim::generate)) return std::nullopt;
  Counts counts;
  anySubterm(e, [&](Expr term, const std::vector<Expr>&) {
    if (const Spine s = spineOf(term); s.isCall(Prim::generate))
      counts.emplace(s.arguments[0].parameter(), s.head.nats()[0]);
    return false;
  });
  const bool hasNames = anyTerm(e, [](Expr term) {
    const Spine s = spineOf(term);
    return s.isCall(Prim::let) && s.arguments[1].type() == Type::scalar(Scalar::i32);
  });
  if (hasNames) e = withoutNamesOfIndices(e, counts);
  std::unordered_map<Expr, Expr> reads;
  std::unordered_set<Expr> inner;  // reads of rows of which an element is read
  anySubterm(e, [&](Expr term, const std::vector<Expr>& binders) {
    const auto read = inner.contains(term) ? std::nullopt : readingOf(term, counts);
    if (!read || std::ranges::any_of(binders, [&](Expr b) { return read->array.hasFree(b); })) return false;
    for (Spine s = spineOf(term); s.isCall(Prim::at); s = spineOf(s.arguments[1])) inner.insert(s.arguments[1]);
    const auto windows = windowsOfAll(read->array, read->indices, 0, counts);
    if (!windows || windows->array == read->array) return false;
    Expr now = windows->array;
    for (const Expr i : windows->indices) now = call(Prim::at, {i, now});
    reads.emplace(term, now);
    return false;
  });
  return reads.empty() ? std::nullopt : std::optional(etaLong(replaceTerms(e, reads)));
}

}  // namespace

std::optional<Expr> windowsOfIndices(Expr generate) {
  return withWindows(generate, [](Expr term, const Counts&) { return readOf(term); });
}

std::optional<Expr> paddingOfIndices(Expr generate) {
  return withWindows(generate, [](Expr term, const Counts& counts) -> std::optional<IndexedArray> {
    const auto guarded = guardedRead(term, counts);
    return guarded ? paddedRead(*guarded, counts) : std::nullopt;
  });
}

std::optional<Expr> digitsOfIndices(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::generate)) return std::nullopt;
  const auto count = s.head.nats()[0].constant();
  const Expr t = s.arguments[0].parameter(), body = s.arguments[0].body();
  // t / c and t % c, of which the least c is the length of the rows.
  std::vector<std::pair<Expr, std::int64_t>> digits;
  std::int64_t length = 0;
  anyTerm(body, [&](Expr term) {
    const Spine d = spineOf(term);
    if (!d.isPrim(Prim::op) || d.arguments.size() != 2 || d.arguments[0] != t) return false;
    const auto c = d.head.op() == Op::div || d.head.op() == Op::mod ? integerOf(d.arguments[1]) : std::nullopt;
    if (c && *c > 1) digits.emplace_back(term, *c);
    if (c && *c > 1 && (length == 0 || *c < length)) length = *c;
    return false;
  });
  if (!count || length == 0 || *count % length != 0 || *count <= length) return std::nullopt;
  const Expr row = Expr::variable(t.name(), t.type()), column = Expr::variable(t.name(), t.type());
  const auto number = [](std::int64_t n) { return Expr::literal(ScalarValue::ofInteger(Scalar::i32, n)); };
  std::unordered_map<Expr, Expr> now;
  for (const auto& [term, c] : digits) {
    if (c % length != 0) return std::nullopt;
    const bool isQuotient = spineOf(term).head.op() == Op::div;
    if (c == length)
      now.emplace(term, isQuotient ? row : column);
    else if (isQuotient)
      now.emplace(term, operation(Op::div, {row, number(c / length)}));
    else
      now.emplace(
          term, operation(Op::add, {operation(Op::mul, {operation(Op::mod, {row, number(c / length)}), number(length)}),
                                    column}));
  }
  const Expr element = replaceTerms(body, now);
  if (element.hasFree(t)) return std::nullopt;
  const Expr ofRow = call(Prim::generate, {length}, {Expr::lambda(column, element)});
  return call(Prim::join, {call(Prim::generate, {*count / length}, {Expr::lambda(row, ofRow)})});
}

}  // namespace lift::rewrite::detail
