// Elements at indices that are held at the ends of an array, wrap around or turn back there, as elements of the array
// with padding; and elements at several places beside an index as elements of one window.
#include <algorithm>
#include <unordered_set>

#include "computed.hpp"
#include "index_sums.hpp"
#include "terms.hpp"

namespace lift::rewrite::detail {

using namespace build;

namespace {

// An element of an array that is read with padding: at each index, or at a sum that may go beyond the ends.
struct BorderedRead {
  Expr array;
  std::vector<std::pair<Expr, std::optional<BorderedIndex>>> indices;
  std::optional<Expr> value;  // what stands beyond the ends
};

// xs[max(i - 1, 0)], or the element of one array that a condition chooses.
struct PiecewiseRead {
  Expr array;
  std::vector<std::pair<Expr, std::optional<PiecewiseIndex>>> indices;
};

std::optional<PiecewiseRead> piecewiseRead(Expr e, const Counts& counts) {
  const Spine s = spineOf(e);
  const bool chooses = s.isPrim(Prim::ifThenElse) || (s.isPrim(Prim::op) && s.head.op() == Op::select);
  if (!chooses || s.arguments.size() != 3) {
    const auto read = readOf(e);
    if (!read) return std::nullopt;
    PiecewiseRead all{read->array, {}};
    for (const Expr i : read->indices) all.indices.emplace_back(i, piecewiseIndex(i, counts));
    return all;
  }
  const auto condition = piecewiseIndex(s.arguments[0], counts);
  auto a = condition ? piecewiseRead(s.arguments[1], counts) : std::nullopt;
  const auto b = a ? piecewiseRead(s.arguments[2], counts) : std::nullopt;
  if (!b || a->array != b->array || a->indices.size() != b->indices.size()) return std::nullopt;
  for (std::size_t i = 0; i < a->indices.size(); i++) {
    if (a->indices[i].first == b->indices[i].first) continue;
    const auto &x = a->indices[i].second, &y = b->indices[i].second;
    a->indices[i].second = x && y ? chosenIndex(*condition, *x, *y) : std::nullopt;
    if (!a->indices[i].second) return std::nullopt;
  }
  return a;
}

std::optional<BorderedRead> borderedRead(Expr e, const Counts& counts) {
  const auto read = piecewiseRead(e, counts);
  if (!read) return std::nullopt;
  BorderedRead all{read->array, {}, {}};
  Type type = read->array.type();
  for (const auto& [index, pieces] : read->indices) {
    const auto length = type.length().constant();
    type = type.element();
    const auto bordered = pieces && length ? borderedIndex(*pieces, *length) : std::nullopt;
    const bool isOfLoops = pieces && !pieces->sum.terms.empty();
    if (!bordered && isOfLoops) return std::nullopt;
    all.indices.emplace_back(index, bordered);
  }
  return all;
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
  if (!s.isPrim(Prim::ifThenElse) || s.arguments.size() != 3) return std::nullopt;
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

// A read that is guarded by just the bounds of the array.
std::optional<BorderedRead> valueBorderedRead(Expr e, const Counts& counts) {
  const auto guarded = guardedRead(e, counts);
  const auto read = guarded ? readOf(guarded->read) : std::nullopt;
  if (!read || !guarded->read.type().isScalar()) return borderedRead(e, counts);
  BorderedRead all{read->array, {}, guarded->otherwise};
  std::vector<bool> isBound(guarded->bounds.size());
  Type type = read->array.type();
  for (const Expr index : read->indices) {
    const auto length = type.length().constant();
    type = type.element();
    const auto sum = affineIndex(index, counts);
    const auto range = sum ? rangeOf(*sum, counts) : std::nullopt;
    all.indices.emplace_back(index, std::nullopt);
    if (!range || !length) {
      if (sum) return std::nullopt;
      continue;
    }
    AffineIndex left{{}, *length - 1};  // behind the element
    left.add(*sum, -1);
    bool first = range->first >= 0, last = range->second < *length;
    for (std::size_t i = 0; i < guarded->bounds.size(); i++) {
      const bool isFirst = areEqual(guarded->bounds[i], *sum), isLast = areEqual(guarded->bounds[i], left);
      first = first || isFirst;
      last = last || isLast;
      isBound[i] = isBound[i] || isFirst || isLast;
    }
    if (!first || !last) return std::nullopt;
    BorderedIndex bordered{*sum};
    bordered.front = std::max<std::int64_t>(0, -range->first);
    bordered.behind = std::max<std::int64_t>(0, range->second - *length + 1);
    if (bordered.front > 0 || bordered.behind > 0) bordered.border = Border::value;
    all.indices.back().second = bordered;
  }
  for (std::size_t i = 0; i < isBound.size(); i++) {
    const auto range = rangeOf(guarded->bounds[i], counts);
    if (!isBound[i] && (!range || range->first < 0)) return std::nullopt;  // it leaves out what the array has
  }
  return all;
}

// How an array is padded in one dimension.
struct Padding {
  Border border = Border::none;
  std::int64_t front = 0, behind = 0;
};

Expr padded(Expr array, const std::vector<Padding>& padding, std::size_t from, const std::optional<Expr>& value) {
  if (from == padding.size()) return array;
  const Expr row = Expr::variable("row", array.type().element());
  array = mapped(row, padded(row, padding, from + 1, value), array);
  const auto& [border, front, behind] = padding[from];
  switch (border) {
    case Border::none: return array;
    case Border::clamp: return call(Prim::padClamp, {front, behind}, {array});
    case Border::mirror: return call(Prim::padMirror, {front, behind}, {array});
    case Border::wrap: return call(Prim::padWrap, {front, behind}, {array});
    case Border::value: break;
  }
  std::vector<Nat> lengths;
  for (Type t = array.type().element(); t.isArray(); t = t.element()) lengths.push_back(t.length());
  Expr values = *value;
  for (auto n = lengths.rbegin(); n != lengths.rend(); ++n) values = fill(*n, values);
  return call(Prim::pad, {front, behind}, {values, array});
}

// What is read of an array, and how it has to be padded for all of that.
struct PaddedArray {
  Expr array;
  std::vector<std::pair<Expr, BorderedRead>> reads;
  std::vector<Padding> dimensions;
  std::optional<Expr> value;
  bool inWindows = false;  // indices of other loops are added

  // Whether no dimension would be padded in two ways.
  bool takes(const BorderedRead& read) const {
    if (array != read.array || (value && read.value && *value != *read.value)) return false;
    for (std::size_t i = 0; i < std::min(read.indices.size(), dimensions.size()); i++) {
      const Border now = dimensions[i].border;
      const auto& index = read.indices[i].second;
      if (index && now != Border::none && index->border != Border::none && now != index->border) return false;
    }
    return true;
  }

  void add(Expr term, const BorderedRead& read) {
    dimensions.resize(std::max(dimensions.size(), read.indices.size()));
    for (std::size_t i = 0; i < read.indices.size(); i++) {
      const auto& index = read.indices[i].second;
      if (!index) continue;
      inWindows = inWindows || index->sum.terms.size() > 1;
      if (index->border == Border::none) continue;
      Padding& p = dimensions[i];
      p = {index->border, std::max(p.front, index->front), std::max(p.behind, index->behind)};
    }
    if (read.value) value = read.value;
    reads.emplace_back(term, read);
  }
};

using Reading = std::optional<BorderedRead> (*)(Expr term, const Counts& counts);

std::optional<Expr> withPadding(Expr e, Reading readingOf) {
  constexpr std::int64_t most = 64;  // elements of padding for one element of the array
  if (!spineOf(e).isPrim(Prim::generate)) return std::nullopt;
  const Counts counts = countsIn(e);
  e = withoutNamesOfIndices(e, [&](Expr value) { return piecewiseIndex(value, counts).has_value(); });
  std::vector<PaddedArray> arrays;
  forEachRead(e, [&](Expr term, const std::vector<Expr>& binders) {
    const auto read = readingOf(term, counts);
    if (!read || dependsOn(read->array, binders)) return false;
    auto array = std::ranges::find_if(arrays, [&](const PaddedArray& a) { return a.takes(*read); });
    if (array == arrays.end()) array = arrays.insert(array, PaddedArray{read->array, {}, {}, {}});
    array->add(term, *read);
    return true;
  });
  std::unordered_map<Expr, Expr> replaced;
  for (const PaddedArray& all : arrays) {
    const auto isPadded = [](const Padding& p) { return p.border != Border::none; };
    const bool large = std::ranges::any_of(all.dimensions, [&](const Padding& p) {
      return std::max(p.front, p.behind) > most && !(all.value && all.inWindows);
    });
    if (std::ranges::none_of(all.dimensions, isPadded) || large) continue;
    const Expr whole = padded(all.array, all.dimensions, 0, all.value);
    for (const auto& [term, read] : all.reads) {
      if (all.value && all.inWindows && !read.value) continue;  // a convolution reads nothing else
      if (std::any_of(all.dimensions.begin() + static_cast<std::ptrdiff_t>(read.indices.size()), all.dimensions.end(),
                      isPadded))
        continue;  // whole rows
      IndexedArray now{whole, {}};
      for (std::size_t i = 0; i < read.indices.size(); i++) {
        const auto& [index, bordered] = read.indices[i];
        AffineIndex sum = bordered ? bordered->sum : AffineIndex{{{index, 1}}, 0};
        sum.constant += all.dimensions[i].front;
        now.indices.push_back(indexOf(sum));
      }
      replaced.emplace(term, elementAt(now));
    }
  }
  return replaced.empty() ? std::nullopt : std::optional(etaLong(replaceTerms(e, replaced)));
}

}  // namespace

std::optional<Expr> paddingOfIndices(Expr generate) { return withPadding(generate, valueBorderedRead); }

std::optional<Expr> bordersOfIndices(Expr generate) { return withPadding(generate, borderedRead); }

namespace {

// One dimension of the elements that are read beside an index: xs[step * i + rest].
struct Beside {
  std::optional<Expr> index;  // of a loop around; none: it is read at any place
  std::int64_t step = 1;
  std::int64_t least = 0, most = 0;  // of rest

  bool isAlong(const Beside& other) const { return index == other.index && step == other.step; }
  bool hasWindow() const { return index && (most > least || step > 1); }
};

// An array whose outer dimension is moved behind so many others.
Expr movedInward(Expr array, std::size_t dimensions) {
  if (dimensions == 0) return array;
  const Expr turned = call(Prim::transpose, {array});
  const Expr row = Expr::variable("row", turned.type().element());
  return mapped(row, movedInward(row, dimensions - 1), turned);
}

// The places of the loops in front, then those in the windows.
Expr windowsBeside(Expr array, const std::vector<Beside>& dimensions, std::size_t from) {
  if (from == dimensions.size()) return array;
  const auto inner =
      static_cast<std::size_t>(std::count_if(dimensions.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                                             dimensions.end(), [](const Beside& d) { return d.index.has_value(); }));
  const Expr row = Expr::variable("row", array.type().element());
  array = mapped(row, windowsBeside(row, dimensions, from + 1), array);
  const Beside& d = dimensions[from];
  if (!d.index) return movedInward(array, inner);
  if (!d.hasWindow()) return d.least == 0 ? array : drop(d.least, array);
  if (d.least > 0) array = drop(d.least, array);
  array = call(Prim::slide, {d.most - d.least + 1, d.step}, {array});
  const Expr window = Expr::variable("w", array.type().element());
  return mapped(window, movedInward(window, inner), array);
}

using Nest = std::unordered_set<Expr>;  // indices of the loops around

// A read, and of each of its indices what is left of the sum without the index of a loop around.
struct BesideRead {
  Expr term;
  std::vector<std::pair<Expr, AffineIndex>> indices;
};

// Reads of one array along the same loops.
struct ReadsBeside {
  Expr array;
  std::vector<Beside> dimensions;
  std::vector<BesideRead> reads;

  void add(BesideRead read, const std::vector<Beside>& of) {
    for (std::size_t i = 0; i < of.size(); i++) {
      dimensions[i].least = std::min(dimensions[i].least, of[i].least);
      dimensions[i].most = std::max(dimensions[i].most, of[i].most);
    }
    reads.push_back(std::move(read));
  }

  bool areWorthWindows() const {
    constexpr std::int64_t most = 256;  // elements of a window in one dimension
    const bool small = std::ranges::all_of(dimensions, [](const Beside& d) { return d.most - d.least < most; });
    const bool beside = std::ranges::any_of(dimensions, [](const Beside& d) { return d.index && d.most > d.least; });
    const auto isSame = [&](const BesideRead& r) { return r.term == reads.front().term; };
    // Of one read, windowsOfIndices makes windows in the order of its loops, unless one goes backwards.
    const bool backwards = std::ranges::any_of(reads.front().indices, [](const auto& index) {
      return std::ranges::any_of(index.second.terms, [](const auto& term) { return term.second < 0; });
    });
    return small && beside && (backwards || !std::ranges::all_of(reads, isSame));
  }

  // What is read, of windows that windowsBeside makes.
  Expr elementOf(const BesideRead& read, Expr windows) const {
    IndexedArray now{windows, {}};
    std::vector<Expr> inWindow;
    for (std::size_t i = 0; i < dimensions.size(); i++) {
      const auto& [index, rest] = read.indices[i];
      const Beside& d = dimensions[i];
      if (!d.index) inWindow.push_back(index);
      if (!d.index) continue;
      now.indices.push_back(*d.index);
      AffineIndex place = rest;
      place.constant -= d.least;
      if (d.hasWindow()) inWindow.push_back(indexOf(place));
    }
    now.indices.insert(now.indices.end(), inWindow.begin(), inWindow.end());
    return elementAt(now);
  }
};

// One dimension of a read by the sum, which loses the index of the loop around; nothing where it may be outside of so
// many elements, or is no element beside that index.
std::optional<Beside> besideOf(AffineIndex& sum, std::optional<std::int64_t> length, const Counts& counts,
                               const Nest& nest) {
  std::erase_if(sum.terms, [](const auto& t) { return t.second == 0; });
  const auto inNest = [&](const auto& t) { return nest.contains(t.first); };
  const auto along = std::ranges::find_if(sum.terms, inNest);
  if (along == sum.terms.end()) return Beside();
  const auto whole = rangeOf(sum, counts);
  if (!length || !whole || whole->first < 0 || whole->second >= *length) return std::nullopt;
  if (along->second < 1 || std::ranges::count_if(sum.terms, inNest) != 1) return std::nullopt;
  Beside beside{along->first, along->second};
  sum.terms.erase(along);
  const auto rest = rangeOf(sum, counts);
  beside.least = rest->first;
  beside.most = rest->second;
  return beside;
}

// Adds the read to those of its array; false where it is none that windows replace.
bool addRead(std::vector<ReadsBeside>& groups, Expr term, const IndexedArray& read, const Counts& counts,
             const Nest& nest) {
  BesideRead now{term, {}};
  std::vector<Beside> dimensions;
  Type type = read.array.type();
  for (const Expr index : read.indices) {
    const auto length = type.length().constant();
    type = type.element();
    auto sum = affineIndex(index, counts);
    const auto beside = sum ? besideOf(*sum, length, counts, nest) : Beside();
    if (!beside) return false;
    const bool ofInner = !beside->index && std::ranges::any_of(counts, [&](const auto& loop) {
      return !nest.contains(loop.first) && anyTerm(index, [&](Expr part) { return part == loop.first; });
    });
    if (ofInner) return false;  // a sum of rows beside each other: those are read in its order
    now.indices.emplace_back(index, sum.value_or(AffineIndex{}));
    dimensions.push_back(*beside);
  }
  const auto isAlong = [](const Beside& a, const Beside& b) { return a.isAlong(b); };
  const auto group = std::ranges::find_if(groups, [&](const ReadsBeside& g) {
    return g.array == read.array && std::ranges::equal(g.dimensions, dimensions, isAlong);
  });
  if (group == groups.end())
    groups.push_back({read.array, std::move(dimensions), {std::move(now)}});
  else
    group->add(std::move(now), dimensions);
  return true;
}

}  // namespace

std::optional<Expr> windowsBesideIndices(Expr e) {
  const Counts counts = countsIn(e);
  Nest nest;
  for (Spine s = spineOf(e); s.isPrim(Prim::generate); s = spineOf(s.arguments[0].body()))
    nest.insert(s.arguments[0].parameter());
  if (nest.empty()) return std::nullopt;
  std::vector<ReadsBeside> groups;
  forEachRead(e, [&](Expr term, const std::vector<Expr>& binders) {
    const auto read = readOf(term);
    return read && !dependsOn(read->array, binders) && addRead(groups, term, *read, counts, nest);
  });
  std::unordered_map<Expr, Expr> replaced;
  for (const ReadsBeside& group : groups) {
    if (!group.areWorthWindows()) continue;
    const Expr windows = windowsBeside(group.array, group.dimensions, 0);
    for (const BesideRead& read : group.reads) replaced.emplace(read.term, group.elementOf(read, windows));
  }
  return replaced.empty() ? std::nullopt : std::optional(etaLong(replaceTerms(e, replaced)));
}

}  // namespace lift::rewrite::detail
