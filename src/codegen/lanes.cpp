// Reductions by several accumulators that take turns: the lanes of vectors where functions of scalars make accumulators
// and elements, else an array of accumulators.
#include <algorithm>

#include "build.hpp"
#include "lift/terms.hpp"
#include "transform.hpp"

namespace lift::detail {
namespace {

// Lanes of vectors; booleans and halves have none in memory.
bool isLane(Type type) { return type.isScalar() && scalarOf(type) != Scalar::boolean && scalarOf(type) != Scalar::f16; }

std::vector<Expr> partsOf(Expr e) {
  if (!e.type().is(Type::Kind::tuple)) return {e};
  if (const Spine s = spineOf(e); s.isPrim(Prim::tuple)) return s.arguments;
  std::vector<Expr> parts;
  for (int i = 0; i < static_cast<int>(e.type().components().size()); i++) parts.push_back(get(e, i));
  return parts;
}

Expr together(const std::vector<Expr>& parts) { return parts.size() == 1 ? parts[0] : tuple(parts); }

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
                     return bind(g.parameter(), row(elements), g.body());
                   }};
  }
  if (s.isPrim(Prim::take) || s.isPrim(Prim::drop)) {
    auto whole = columnsOf(s.arguments[0]);
    if (!whole) return std::nullopt;
    for (Expr& array : whole->arrays)
      array = s.isPrim(Prim::take) ? take(s.head.nats()[0], array) : drop(s.head.nats()[0], array);
    return whole;
  }
  if (isLane(element)) return Columns{{in}, [](const std::vector<Expr>& elements) { return elements[0]; }};
  if (!element.is(Type::Kind::tuple)) return std::nullopt;
  std::vector<Type> types;
  for (const Type component : element.components()) types.push_back(Type::array(in.type().length(), component));
  return columnsOf(partsOf(call(Prim::unzip, {}, {in}, Type::tuple(types))));
}

// Whether a term of scalars, of which `lanes` differ from lane to lane, is computed lane by lane on vectors.
bool isLanewise(Expr e, std::vector<Expr> lanes) {
  if (!e.type().is(Type::Kind::tuple) && !e.type().isScalar()) return false;
  if (std::none_of(lanes.begin(), lanes.end(), [&](Expr v) { return e.hasFree(v); })) return isLane(e.type());
  if (e.is(Expr::Form::variable)) return true;
  const Spine s = spineOf(e);
  if (!s.head.is(Expr::Form::primitive)) return false;
  const auto all = [&](const std::vector<Expr>& terms) {
    return std::all_of(terms.begin(), terms.end(), [&](Expr t) { return isLanewise(t, lanes); });
  };
  switch (s.head.prim()) {
    case Prim::let:
      if (!isLanewise(s.arguments[1], lanes)) return false;
      lanes.push_back(s.arguments[0].parameter());
      return isLanewise(s.arguments[0].body(), lanes);
    case Prim::convert:
      return s.head.target() != Scalar::f16 && all(s.arguments);
    case Prim::op:
    case Prim::tuple:
    case Prim::get:
    case Prim::ifThenElse:
      return all(s.arguments);
    default:
      return false;
  }
}

// The accumulators as lanes of vectors, once all elements of `in` are reduced; an array of them.
std::optional<Expr> reducedInVectors(const Accumulation& accumulation, Expr f, Expr in, int lanes) {
  const std::vector<Expr> starts = partsOf(accumulation.start);
  const auto columns = columnsOf(in);
  if (!columns) return std::nullopt;
  std::vector<Expr> startVectors, vectors;
  std::vector<Type> scalars, accumulatorTypes;
  for (const Expr start : starts) {
    if (!isLane(start.type())) return std::nullopt;
    scalars.push_back(start.type());
    startVectors.push_back(splat(lanes, start));
    accumulatorTypes.push_back(startVectors.back().type());
  }
  for (const Expr array : columns->arrays) {
    const Type vector = Type::vector(lanes, array.type().element());
    scalars.push_back(array.type().element());
    vectors.push_back(call(Prim::asVector, {Nat(lanes)}, {array}, Type::array(array.type().length() / lanes, vector)));
  }
  // One lane of an accumulator and of an element: its scalars in one tuple.
  const Expr lane = Expr::variable("v", Type::tuple(scalars));
  const std::vector<Expr> all = partsOf(lane);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(starts.size());
  const Expr function = withFreshBinders(f);
  const Expr body = namesOfValuesOnly(
      etaLong(bind(function.parameter(), tuple({together({all.begin(), middle}), columns->row({middle, all.end()})}),
                   function.body())));
  if (!isLanewise(body, {lane})) return std::nullopt;
  // The reduction of vectors, and its lanes as an array.
  const Expr xs = vectors.size() == 1 ? vectors[0] : zip(vectors);
  const Expr start = together(startVectors);
  const Expr p = Expr::variable("p", Type::tuple({start.type(), xs.type().element()}));
  std::vector<Expr> operands = partsOf(get(p, 0));
  const std::vector<Expr> elements = vectors.size() == 1 ? std::vector<Expr>{get(p, 1)} : partsOf(get(p, 1));
  operands.insert(operands.end(), elements.begin(), elements.end());
  const Expr step = call(Prim::vectorize, {Nat(lanes)}, {Expr::lambda(lane, body), tuple(operands)}, start.type());
  const Expr reduced = reduceOver(Prim::reduceSeq, start, Expr::lambda(p, step), xs);
  const Expr name = Expr::variable("lanes", reduced.type());
  std::vector<Expr> arrays;
  for (const Expr part : partsOf(name))
    arrays.push_back(
        call(Prim::asScalar, {}, {fill(1, part)}, Type::array(lanes, Type::scalar(scalarOf(part.type())))));
  return bind(name, reduced, arrays.size() == 1 ? arrays[0] : zip(arrays));
}

Expr reducedInArray(const Accumulation& accumulation, Expr f, Expr in, int lanes) {
  const Type row = Type::array(lanes, in.type().element());
  const Expr p = Expr::variable("p", Type::tuple({Type::array(lanes, accumulation.start.type()), row}));
  const Expr step = mapOver(Prim::mapSeq, {}, withFreshBinders(f), zip({get(p, 0), get(p, 1)}));
  return reduceOver(Prim::reduceSeq, fill(lanes, accumulation.start), Expr::lambda(p, step), split(lanes, in));
}

}  // namespace

Expr laneReduction(const Accumulation& accumulation, Expr init, Expr f, Expr in, int lanes) {
  const Nat length = in.type().length(), chunked = length / lanes * lanes;
  const bool divides = chunked == length || lift::divides(lanes, length) == Truth::proved;
  const Expr whole = divides ? in : take(chunked, in);
  const auto vectors = reducedInVectors(accumulation, f, whole, lanes);
  const Expr all = vectors ? *vectors : reducedInArray(accumulation, f, whole, lanes);
  const Expr done =
      call(Prim::reduceSeqUnroll, {Nat(0)}, {init, withFreshBinders(accumulation.combine), all}, init.type());
  return divides ? done : reduceOver(Prim::reduceSeq, done, f, drop(chunked, in));
}

}  // namespace lift::detail
