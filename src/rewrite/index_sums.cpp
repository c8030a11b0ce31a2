#include "index_sums.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_set>

#include "terms.hpp"

namespace lift::rewrite::detail {

using namespace build;

Counts countsIn(Expr e) {
  Counts counts;
  anySubterm(e, [&](Expr term, const std::vector<Expr>&) {
    const Spine s = spineOf(term);
    const auto loops = [&](Prim prim, std::size_t arguments, std::size_t f) {
      return s.isPrim(prim) && s.arguments.size() == arguments && s.arguments[f].isLambda();
    };
    if (loops(Prim::generate, 1, 0))
      counts.emplace(s.arguments[0].parameter(), s.head.nats()[0]);
    else if (loops(Prim::map, 2, 0) && isIndices(s.arguments[1]))
      counts.emplace(s.arguments[0].parameter(), s.arguments[1].type().length());
    else if (loops(Prim::reduce, 3, 1) && isIndices(s.arguments[2]))
      counts.emplace(get(s.arguments[1].parameter(), 1), s.arguments[2].type().length());
    return false;
  });
  return counts;
}

void AffineIndex::add(const AffineIndex& other, std::int64_t factor) {
  for (const auto& [index, f] : other.terms) {
    const auto same = std::ranges::find_if(terms, [&i = index](const auto& t) { return t.first == i; });
    if (same == terms.end())
      terms.emplace_back(index, factor * f);
    else
      same->second += factor * f;
  }
  constant += factor * other.constant;
}

std::optional<std::int64_t> integerOf(Expr e) {
  if (e.isLiteral() && e.value().type == Scalar::i32) return e.value().integer;
  if (e.isNatLiteral()) return e.natValue().constant();
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

Expr indexOf(const AffineIndex& sum) {
  std::optional<Expr> e;
  for (const auto& [index, factor] : sum.terms) {
    if (factor == 0) continue;
    const Expr term = factor == 1 ? index : operation(Op::mul, {integer(factor), index});
    e = e ? operation(Op::add, {*e, term}) : term;
  }
  if (!e) return integer(sum.constant);
  return sum.constant == 0 ? *e : operation(Op::add, {*e, integer(sum.constant)});
}

bool areEqual(const AffineIndex& a, const AffineIndex& b) {
  AffineIndex difference = a;
  difference.add(b, -1);
  return difference.constant == 0 && std::ranges::all_of(difference.terms, [](const auto& t) { return t.second == 0; });
}

std::optional<std::pair<std::int64_t, std::int64_t>> rangeOf(const AffineIndex& sum, const Counts& counts) {
  std::int64_t least = sum.constant, most = sum.constant;
  for (const auto& [index, factor] : sum.terms) {
    const auto count = counts.at(index).constant();
    if (!count) return std::nullopt;
    (factor < 0 ? least : most) += factor * (*count - 1);
  }
  return std::pair(least, most);
}

std::optional<IndexedArray> readOf(Expr e) {
  IndexedArray read{e, {}};
  for (Spine s = spineOf(e); s.isCall(Prim::at); s = spineOf(read.array)) {
    read.indices.insert(read.indices.begin(), s.arguments[0]);
    read.array = s.arguments[1];
  }
  return read.indices.empty() ? std::nullopt : std::optional(read);
}

Expr elementAt(const IndexedArray& read) {
  Expr e = read.array;
  for (const Expr i : read.indices) e = call(Prim::at, {i, e});
  return e;
}

bool dependsOn(Expr e, const std::vector<Expr>& binders) {
  return std::ranges::any_of(binders, [&](Expr b) { return e.hasFree(b); });
}

void forEachRead(Expr e, const std::function<bool(Expr, const std::vector<Expr>&)>& visit) {
  std::unordered_set<Expr> inner;
  anySubterm(e, [&](Expr term, const std::vector<Expr>& binders) {
    if (inner.contains(term) || !visit(term, binders)) return false;
    Spine s = spineOf(term);
    if (!s.isPrim(Prim::at))  // a choice of elements
      for (const Expr part : s.arguments) anyTerm(part, [&](Expr x) { return inner.insert(x), false; });
    for (; s.isCall(Prim::at); s = spineOf(s.arguments[1])) inner.insert(s.arguments[1]);
    return false;
  });
}

Expr withoutNamesOfIndices(Expr e, const std::function<bool(Expr)>& isIndex) {
  const auto namesIndex = [&](Expr term) {
    const Spine s = spineOf(term);
    return s.isCall(Prim::let) && s.arguments[0].isLambda() && s.arguments[1].type() == Type::scalar(Scalar::i32) &&
           isIndex(s.arguments[1]);
  };
  const std::function<Expr(Expr)> without = [&](Expr term) {
    while (namesIndex(term)) {
      const Spine s = spineOf(term);
      term = substitute(s.arguments[0].body(), s.arguments[0].parameter(), s.arguments[1]);
    }
    return withParts(term, without);
  };
  return anyTerm(e, namesIndex) ? without(e) : e;
}

Expr mapped(Expr element, Expr body, Expr xs) { return body == element ? xs : map(Expr::lambda(element, body), xs); }

// ------------------------------------------------------------------------------------------------------------ pieces

namespace {

using Pieces = std::vector<Piece>;

constexpr std::size_t mostPieces = 16;
constexpr std::int64_t unbounded = std::int64_t(1) << 61;  // the range of a constant

// `add` appends what it makes of two pieces over the same range.
template <class Add>
std::optional<Pieces> combined(const Pieces& a, const Pieces& b, Add&& add) {
  Pieces all;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    Piece x = a[i], y = b[j];
    x.from = y.from = std::max(x.from, y.from);
    x.to = y.to = std::min(x.to, y.to);
    add(x, y, all);
    if (all.size() > mostPieces) return std::nullopt;
    if (a[i].to == x.to) i++;
    if (b[j].to == x.to) j++;
  }
  return all;
}

void append(Pieces& all, Piece piece) {
  if (!all.empty() && all.back().to + 1 == piece.from && all.back().slope == piece.slope &&
      all.back().shift == piece.shift)
    all.back().to = piece.to;
  else
    all.push_back(piece);
}

// Both pieces cut where the comparison changes; `keep` makes one of each two parts.
template <class Test, class Keep>
auto cutWhere(Test test, Keep keep) {
  return [=](Piece a, Piece b, Pieces& all) {
    const std::int64_t to = a.to;
    while (a.from <= to) {
      a.to = b.to = firstChange(a.from, to, [&](std::int64_t v) { return test(a.at(v), b.at(v)); }) - 1;
      append(all, keep(a, b));
      a.from = b.from = a.to + 1;
    }
  };
}

std::optional<Pieces> least(const Pieces& a, const Pieces& b, bool greatest) {
  const auto isLess = [](std::int64_t x, std::int64_t y) { return x < y; };
  return combined(a, b, cutWhere(isLess, [=](const Piece& x, const Piece& y) {
                    return (x.at(x.from) < y.at(x.from)) != greatest ? x : y;
                  }));
}

// 1 where the comparison holds: `sign` tells apart less, equal and greater.
template <class Holds>
std::optional<Pieces> compared(const Pieces& a, const Pieces& b, Holds holds) {
  const auto sign = [](std::int64_t x, std::int64_t y) { return x < y ? -1 : x > y ? 1 : 0; };
  return combined(a, b, [&](Piece x, Piece y, Pieces& all) {
    const std::int64_t to = x.to;
    while (x.from <= to) {  // equal at one place, or everywhere: the sign changes at each end of that
      const int now = sign(x.at(x.from), y.at(x.from));
      const auto same = [&](std::int64_t v) { return sign(x.at(v), y.at(v)) == now; };
      x.to = firstChange(x.from, to, same) - 1;
      append(all, {x.from, x.to, 0, holds(now) ? 1 : 0});
      x.from = x.to + 1;
    }
  });
}

std::optional<Pieces> remainders(const Pieces& a, std::int64_t divisor) {
  return combined(a, {{-unbounded, unbounded, 0, divisor}}, [&](Piece x, const Piece&, Pieces& all) {
    const std::int64_t to = x.to;
    while (x.from <= to && all.size() <= mostPieces) {
      const std::int64_t quotient = x.at(x.from) / divisor;
      x.to = firstChange(x.from, to, [&](std::int64_t v) { return x.at(v) / divisor == quotient; }) - 1;
      append(all, {x.from, x.to, x.slope, x.shift - quotient * divisor});
      x.from = x.to + 1;
    }
  });
}

bool hasIntegers(const Pieces& pieces) {
  constexpr std::int64_t most = INT32_MAX;
  return std::ranges::all_of(pieces, [](const Piece& p) {
    if (p.slope == 0) return std::abs(p.shift) <= most;
    return std::abs(p.at(p.from)) <= most && std::abs(p.at(p.to)) <= most;
  });
}

std::optional<Pieces> operationOf(Op op, const Pieces& a, const Pieces& b) {
  const auto linear = [&](auto&& f) { return combined(a, b, f); };
  switch (op) {
    case Op::add:
      return linear([](const Piece& x, const Piece& y, Pieces& all) {
        append(all, {x.from, x.to, x.slope + y.slope, x.shift + y.shift});
      });
    case Op::sub:
      return linear([](const Piece& x, const Piece& y, Pieces& all) {
        append(all, {x.from, x.to, x.slope - y.slope, x.shift - y.shift});
      });
    case Op::min: return least(a, b, false);
    case Op::max: return least(a, b, true);
    case Op::mod:
      if (b.size() != 1 || b[0].slope != 0 || b[0].shift <= 0) return std::nullopt;
      return remainders(a, b[0].shift);
    case Op::lt: return compared(a, b, [](int sign) { return sign < 0; });
    case Op::le: return compared(a, b, [](int sign) { return sign <= 0; });
    case Op::gt: return compared(a, b, [](int sign) { return sign > 0; });
    case Op::ge: return compared(a, b, [](int sign) { return sign >= 0; });
    case Op::eq: return compared(a, b, [](int sign) { return sign == 0; });
    case Op::ne: return compared(a, b, [](int sign) { return sign != 0; });
    case Op::logicalAnd: return least(a, b, false);
    case Op::logicalOr: return least(a, b, true);
    default: return std::nullopt;
  }
}

bool sameSum(const PiecewiseIndex& a, const PiecewiseIndex& b) {
  return a.sum.terms.empty() || b.sum.terms.empty() || areEqual(a.sum, b.sum);
}

}  // namespace

std::optional<PiecewiseIndex> chosenIndex(const PiecewiseIndex& condition, const PiecewiseIndex& a,
                                          const PiecewiseIndex& b) {
  const std::array all{&condition, &a, &b};
  const auto varying = std::ranges::find_if(all, [](const auto* x) { return !x->sum.terms.empty(); });
  const AffineIndex sum = varying == all.end() ? AffineIndex{} : (*varying)->sum;
  for (const PiecewiseIndex* x : all)
    if (!x->sum.terms.empty() && !areEqual(x->sum, sum)) return std::nullopt;
  // Each of them where the condition holds or not, and 0 elsewhere.
  const auto where = [&](const Pieces& pieces, std::int64_t value) {
    return combined(condition.pieces, pieces, [&](const Piece& c, const Piece& x, Pieces& made) {
      append(made, c.shift == value ? x : Piece{x.from, x.to, 0, 0});
    });
  };
  const auto first = where(a.pieces, 1), second = where(b.pieces, 0);
  const auto both = first && second ? operationOf(Op::add, *first, *second) : std::nullopt;
  return both ? std::optional(PiecewiseIndex{sum, *both}) : std::nullopt;
}

std::optional<PiecewiseIndex> piecewiseIndex(Expr e, const Counts& counts) {
  if (e.type() != Type::scalar(Scalar::i32) && e.type() != Type::scalar(Scalar::boolean)) return std::nullopt;
  if (auto sum = affineIndex(e, counts)) {
    std::erase_if(sum->terms, [](const auto& t) { return t.second == 0; });
    const std::int64_t constant = sum->constant;
    if (sum->terms.empty()) return PiecewiseIndex{{}, {{-unbounded, unbounded, 0, constant}}};
    sum->constant = 0;
    const bool negative = sum->terms.front().second < 0;
    if (negative)
      for (auto& [index, factor] : sum->terms) factor = -factor;
    const auto range = rangeOf(*sum, counts);
    const PiecewiseIndex index{*sum,
                               {{range ? range->first : 0, range ? range->second : 0, negative ? -1 : 1, constant}}};
    return range && hasIntegers(index.pieces) ? std::optional(index) : std::nullopt;
  }
  const Spine s = spineOf(e);
  const auto operands = ofAll(s.arguments, [&](Expr a) { return piecewiseIndex(a, counts); });
  if (!operands) return std::nullopt;
  const auto& o = *operands;
  if (s.isPrim(Prim::ifThenElse) && o.size() == 3) return chosenIndex(o[0], o[1], o[2]);
  if (!s.isPrim(Prim::op)) return std::nullopt;
  if (s.head.op() == Op::select && o.size() == 3) return chosenIndex(o[0], o[1], o[2]);
  std::optional<Pieces> pieces;
  if (s.head.op() == Op::logicalNot)
    pieces = operationOf(Op::sub, {{-unbounded, unbounded, 0, 1}}, o[0].pieces);
  else if (s.head.op() == Op::neg)
    pieces = operationOf(Op::sub, {{-unbounded, unbounded, 0, 0}}, o[0].pieces);
  else if (s.head.op() == Op::abs) {
    if (const auto negative = operationOf(Op::sub, {{-unbounded, unbounded, 0, 0}}, o[0].pieces))
      pieces = operationOf(Op::max, o[0].pieces, *negative);
  } else if (o.size() == 2 && sameSum(o[0], o[1]))
    pieces = operationOf(s.head.op(), o[0].pieces, o[1].pieces);
  if (!pieces || !hasIntegers(*pieces)) return std::nullopt;
  return PiecewiseIndex{o.size() < 2 || !o[0].sum.terms.empty() ? o[0].sum : o[1].sum, *pieces};
}

std::optional<BorderedIndex> borderedIndex(const PiecewiseIndex& index, std::int64_t length) {
  const auto& pieces = index.pieces;
  if (index.sum.terms.empty()) return std::nullopt;
  const auto size = [](const Piece& p) { return p.slope == 1 ? p.to - p.from : -1; };
  const Piece& inside = *std::ranges::max_element(pieces, {}, size);
  if (inside.slope != 1) return std::nullopt;
  BorderedIndex bordered{index.sum};
  bordered.sum.constant = inside.shift;
  const Piece line{pieces.front().from, pieces.back().to, 1, inside.shift};
  bordered.front = std::max<std::int64_t>(0, -line.at(line.from));
  bordered.behind = std::max<std::int64_t>(0, line.at(line.to) - length + 1);
  if (bordered.front > length || bordered.behind > length) return std::nullopt;
  // Of each kind, what is read at a place in front of the array, and behind it.
  const auto reads = [&](Border border, std::int64_t v) {
    const std::int64_t at = line.at(v), beyond = at < 0 ? 0 : length - 1;
    if (at >= 0 && at < length) return at;
    return border == Border::clamp  ? beyond
           : border == Border::wrap ? at + (at < 0 ? length : -length)
                                    : 2 * beyond - at + (at < 0 ? -1 : 1);
  };
  const auto isOf = [&](Border border) {
    return std::ranges::all_of(pieces, [&](const Piece& p) {  // each is linear between the ends of the array
      for (std::int64_t from = p.from, to; from <= p.to; from = to + 1) {
        const auto part = [&](std::int64_t v) { return line.at(v) < 0 ? -1 : line.at(v) >= length ? 1 : 0; };
        const int now = part(from);
        to = firstChange(from, p.to, [&](std::int64_t v) { return part(v) == now; }) - 1;
        if (p.at(from) != reads(border, from) || p.at(to) != reads(border, to)) return false;
      }
      return true;
    });
  };
  if (bordered.front == 0 && bordered.behind == 0) return isOf(Border::clamp) ? std::optional(bordered) : std::nullopt;
  for (const Border border : {Border::clamp, Border::wrap, Border::mirror})
    if (isOf(border)) {
      bordered.border = border;
      return bordered;
    }
  return std::nullopt;
}

}  // namespace lift::rewrite::detail
