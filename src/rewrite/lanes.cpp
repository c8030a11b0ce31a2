// Reductions by several accumulators that take turns: the lanes of vectors where functions of scalars make accumulators
// and elements, else an array of accumulators.
#include <fmt/format.h>

#include <algorithm>

#include "computed.hpp"
#include "lift/build.hpp"
#include "lift/terms.hpp"

namespace lift::rewrite::detail {

using namespace build;

namespace {

// An array as arrays of scalars, and one of its elements from theirs.
struct Columns {
  using Row = std::function<Expr(const std::vector<Expr>& elements)>;
  std::vector<Expr> arrays;
  Row row;
};

std::optional<Columns> columnsOf(Expr in);

std::optional<Columns> columnsOf(const std::vector<Expr>& zipped) {
  Columns all;
  std::vector<Columns> parts;
  for (const Expr array : zipped) {
    auto part = columnsOf(array);
    if (!part) return std::nullopt;
    all.arrays.insert(all.arrays.end(), part->arrays.begin(), part->arrays.end());
    parts.push_back(std::move(*part));
  }
  all.row = [parts](const std::vector<Expr>& elements) {
    std::vector<Expr> components;
    auto from = elements.begin();
    for (const Columns& part : parts) {
      const auto to = from + static_cast<std::ptrdiff_t>(part.arrays.size());
      components.push_back(part.row({from, to}));
      from = to;
    }
    return tuple(components);
  };
  return all;
}

std::optional<Columns> columnsOf(Expr in) {
  const Type element = in.type().element();
  const Spine s = spineOf(in);
  if (s.isPrim(Prim::zip)) return columnsOf(s.arguments);
  const bool computes = s.isPrim(Prim::generate) && !isIndices(in);
  if (s.isPrim(Prim::map) || computes) {
    const auto below = columnsOf(computes ? indices(in.type().length()) : s.arguments[1]);
    if (!below) return std::nullopt;
    return Columns{below->arrays, [f = s.arguments[0], row = below->row](const std::vector<Expr>& elements) {
                     const Expr g = withFreshBinders(f);
                     return let(g.parameter(), row(elements), g.body());
                   }};
  }
  if (s.isPrim(Prim::take) || s.isPrim(Prim::drop)) {
    auto whole = columnsOf(s.arguments[0]);
    if (!whole) return std::nullopt;
    for (Expr& array : whole->arrays)
      array = s.isPrim(Prim::take) ? take(s.head.nats()[0], array) : drop(s.head.nats()[0], array);
    return whole;
  }
  if (element.isScalar()) return Columns{{in}, [](const std::vector<Expr>& elements) { return elements[0]; }};
  if (!element.isTuple()) return std::nullopt;
  return columnsOf(components(call(Prim::unzip, {in})));
}

// Whether a term of scalars, of which `lanes` differ from lane to lane, is computed lane by lane on vectors.
bool isLanewise(Expr e, std::vector<Expr> lanes) {
  if (!e.type().isTuple() && !e.type().isScalar()) return false;
  if (std::ranges::none_of(lanes, [&](Expr v) { return e.hasFree(v); })) return e.type().isScalar();
  if (e.isVariable()) return true;
  const Spine s = spineOf(e);
  if (!s.head.isPrimitive()) return false;
  const auto all = [&](const std::vector<Expr>& terms) {
    return std::ranges::all_of(terms, [&](Expr t) { return isLanewise(t, lanes); });
  };
  switch (s.head.prim()) {
    case Prim::let:
      if (!isLanewise(s.arguments[1], lanes)) return false;
      lanes.push_back(s.arguments[0].parameter());
      return isLanewise(s.arguments[0].body(), lanes);
    case Prim::convert:
    case Prim::op:
    case Prim::tuple:
    case Prim::get:
    case Prim::ifThenElse: return all(s.arguments);
    default: return false;
  }
}

// The term without names of what only moves data, and with one for each component of a tuple.
Expr namesOfValuesOnly(Expr e) {
  const Spine s = spineOf(e);
  if (s.isCall(Prim::let)) {
    if (onlyMovesData(s.arguments[1]))
      return namesOfValuesOnly(substitute(s.arguments[0].body(), s.arguments[0].parameter(), s.arguments[1]));
    if (const auto apart = letTuple(e)) return namesOfValuesOnly(*apart);
  }
  return withParts(e, namesOfValuesOnly);
}

// The function that computes one lane, from the scalars that several vectors have in that lane as one tuple, named as
// `toBody` needs them; nothing where lanes are not computed one like the other.
template <class F>
std::optional<Expr> laneFunction(const std::vector<Type>& scalars, const F& toBody) {
  const Expr lane = Expr::variable("v", Type::tuple(scalars));
  const Expr body = namesOfValuesOnly(etaLong(toBody(components(lane))));
  if (!isLanewise(body, {lane})) return std::nullopt;
  return Expr::lambda(lane, body);
}

// f((x, y)) of what stands in both halves of the values.
Expr ofHalves(Expr f, const std::vector<Expr>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  const Expr function = withFreshBinders(f);
  return let(function.parameter(), tuple({tuple({values.begin(), middle}), tuple({middle, values.end()})}),
             function.body());
}

// The lanes of vectors put together: halves of them, then halves of what these give, down to one lane. Every step waits
// for the one before, so that there are few.
std::optional<Expr> foldedLanes(Expr vectors, Expr combine, std::int64_t width) {
  const std::int64_t half = width / 2;
  const Expr name = Expr::variable(fmt::format("lanes{}", width), vectors.type());
  std::vector<Expr> halves;
  std::vector<Type> scalars;
  for (const int i : {0, 1})
    for (const Expr vector : components(name)) {
      const Expr lanes = call(Prim::asScalar, {fill(1, vector)});
      const Expr parts = half == 1 ? lanes : call(Prim::asVector, {Nat(half)}, {lanes});
      halves.push_back(call(Prim::at, {integer(i), parts}));
      scalars.push_back(lanes.type().element());
    }
  if (half == 1) return let(name, vectors, ofHalves(combine, halves));
  const auto step = laneFunction(scalars, [&](const std::vector<Expr>& lane) { return ofHalves(combine, lane); });
  if (!step) return std::nullopt;
  const auto rest = foldedLanes(call(Prim::vectorize, {Nat(half)}, {*step, tuple(halves)}), combine, half);
  return rest ? std::optional(let(name, vectors, *rest)) : std::nullopt;
}

// The accumulators as lanes of vectors, once all elements of `in` are reduced, and these put together.
std::optional<Expr> reducedInVectors(const Accumulation& accumulation, Expr f, Expr in, Nat lanes, Prim loop) {
  const auto width = lanes.constant();
  if (!width || *width > 16 || (*width & (*width - 1)) != 0) return std::nullopt;  // no vectors of so many lanes
  const std::vector<Expr> starts = components(accumulation.start);
  const auto columns = columnsOf(in);
  if (!columns) return std::nullopt;
  std::vector<Expr> startVectors, vectors;
  std::vector<Type> scalars;
  for (const Expr start : starts) {
    if (!start.type().isScalar()) return std::nullopt;
    scalars.push_back(start.type());
    startVectors.push_back(splat(lanes, start));
  }
  for (const Expr array : columns->arrays) {
    scalars.push_back(array.type().element());
    vectors.push_back(call(Prim::asVector, {lanes}, {array}));
  }
  // One lane of an accumulator and of an element.
  const auto function = laneFunction(scalars, [&](const std::vector<Expr>& lane) {
    const auto middle = lane.begin() + static_cast<std::ptrdiff_t>(starts.size());
    const Expr g = withFreshBinders(f);
    return let(g.parameter(), tuple({tuple({lane.begin(), middle}), columns->row({middle, lane.end()})}), g.body());
  });
  if (!function) return std::nullopt;
  const Expr xs = zip(vectors);
  const Expr start = tuple(startVectors);
  const Expr p = Expr::variable("p", Type::tuple({start.type(), xs.type().element()}));
  std::vector<Expr> operands = components(get(p, 0));
  const std::vector<Expr> elements = vectors.size() == 1 ? std::vector<Expr>{get(p, 1)} : components(get(p, 1));
  operands.insert(operands.end(), elements.begin(), elements.end());
  const Expr step = call(Prim::vectorize, {lanes}, {*function, tuple(operands)});
  return foldedLanes(call(loop, {start, Expr::lambda(p, step), xs}), accumulation.combine, *width);
}

Expr reducedInArray(const Accumulation& accumulation, Expr f, Expr in, Nat lanes) {
  const Type row = Type::array(lanes, in.type().element());
  const Expr p = Expr::variable("p", Type::tuple({Type::array(lanes, accumulation.start.type()), row}));
  const Expr step = call(Prim::mapSeq, {withFreshBinders(f), zip({get(p, 0), get(p, 1)})});
  return reduceSeq(fill(lanes, accumulation.start), Expr::lambda(p, step), split(lanes, in));
}

// The elements that chunks of so many leave, one after the other.
Expr withRest(Expr done, Expr f, Expr in, Nat chunk) {
  if (dividesEvenly(chunk, in.type().length())) return done;
  return reduceSeq(done, f, drop(in.type().length() / chunk * chunk, in));
}
Expr withoutRest(Expr in, Nat chunk) {
  return dividesEvenly(chunk, in.type().length()) ? in : take(in.type().length() / chunk * chunk, in);
}

}  // namespace

std::optional<Expr> vectorReduction(const Accumulation& accumulation, Expr init, Expr f, Expr in, Nat lanes,
                                    Prim loop) {
  const auto vectors = reducedInVectors(accumulation, f, withoutRest(in, lanes), lanes, loop);
  if (!vectors) return std::nullopt;
  const Expr combine = withFreshBinders(accumulation.combine);
  const bool changesNothing = init == accumulation.start;
  return withRest(changesNothing ? *vectors : let(combine.parameter(), tuple({init, *vectors}), combine.body()), f, in,
                  lanes);
}

Expr laneReduction(const Accumulation& accumulation, Expr init, Expr f, Expr in, Nat lanes) {
  if (const auto vectors = vectorReduction(accumulation, init, f, in, lanes, Prim::reduceSeq)) return *vectors;
  const Expr array = reducedInArray(accumulation, f, withoutRest(in, lanes), lanes);
  return withRest(call(Prim::reduceSeqUnroll, {Nat(0)}, {init, withFreshBinders(accumulation.combine), array}), f, in,
                  lanes);
}

}  // namespace lift::rewrite::detail
