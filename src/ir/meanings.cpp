// The meaning of every primitive, one function each, and their table in the order of the enumeration: a meaning sees
// one complete application (its sizes, its arguments as values) and returns a value. Nothing here looks at how terms
// are compiled, and types are consulted only where a value alone does not tell (lanes of tuples, rows of an array of no
// rows).
#include "meanings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "lift/diagnostic.hpp"

namespace lift {
namespace {

using namespace detail;
using Int = std::int64_t;
using Sequence = Value::Sequence;

// A primitive with all its arguments.
class Call {
 public:
  Call(Expr prim, std::vector<Value> arguments, const Arithmetic& arithmetic)
      : prim_(prim), arguments_(std::move(arguments)), arithmetic_(arithmetic) {}

  Expr prim() const { return prim_; }
  const Arithmetic& arithmetic() const { return arithmetic_; }
  Int nat(std::size_t i) const { return constantOf(prim_.nats()[i]); }

  std::vector<Value>& arguments() { return arguments_; }
  const Value& argument(std::size_t i) const { return arguments_[i]; }
  const Sequence& array(std::size_t i) const { return arguments_[i].sequence(); }
  Value call(std::size_t function, const Value& x) const { return arguments_[function].function()(x); }

  // Refuses the program unless the condition holds; the message follows the name of the primitive.
  template <class... Ints>
  void require(bool condition, fmt::string_view message, Ints... numbers) const {
    if (condition) return;
    fail(fmt::format("{}: {}", info(prim_.prim()).name, fmt::vformat(message, fmt::make_format_args(numbers...))));
  }
  [[noreturn]] void fail(const std::string& message) const {
    throw UserError(ExitStatus::program, message, {}, prim_.place());
  }

 private:
  Expr prim_;
  std::vector<Value> arguments_;
  const Arithmetic& arithmetic_;
};

Value pair(const Value& a, const Value& b) { return Value::of(Sequence{a, b}); }
Int floorMod(Int a, Int n) { return ((a % n) + n) % n; }

// ---- computation

Value map(Call& c) {
  const Sequence& in = c.array(1);
  return build(length(in), [&](Int i) { return c.call(0, element(in, i)); });
}

Value reduce(Call& c) {
  Value accumulator = c.argument(0);
  for (const Value& x : c.array(2)) accumulator = c.call(1, pair(accumulator, x));
  return accumulator;
}

Value scan(Call& c) {
  Value accumulator = c.argument(0);
  const Sequence& in = c.array(2);
  return build(length(in), [&](Int i) { return accumulator = c.call(1, pair(accumulator, element(in, i))); });
}

Value scanExclusive(Call& c) {
  Value accumulator = c.argument(0);
  const Sequence& in = c.array(2);
  return build(length(in), [&](Int i) {
    if (i > 0) accumulator = c.call(1, pair(accumulator, element(in, i - 1)));
    return accumulator;
  });
}

Value reduceByIndex(Call& c) {
  Sequence out = c.array(0);
  for (const Value& indexed : c.array(2)) {
    const Int i = element(indexed.sequence(), 0).scalar().integer;
    if (i < 0 || i >= length(out)) continue;
    Value& x = out[static_cast<std::size_t>(i)];
    x = c.call(1, pair(x, element(indexed.sequence(), 1)));
  }
  return Value::of(std::move(out));
}

Value iterate(Call& c) {
  Value x = c.argument(1);
  for (Int i = 0; i < c.nat(0); i++) x = c.call(0, x);
  return x;
}

Value iterateWhile(Call& c) {
  Value x = c.argument(2);
  for (Int i = 0; i < c.nat(0) && c.call(0, x).scalar().truth(); i++) x = c.call(1, x);
  return x;
}

// Where the arguments are values already; see `applied`.
Value ifThenElse(Call& c) { return c.argument(c.argument(0).scalar().truth() ? 1 : 2); }

Value let(Call& c) { return c.call(0, c.argument(1)); }

Value id(Call& c) { return c.argument(0); }

Value generate(Call& c) {
  return build(c.nat(0), [&](Int i) { return c.call(0, index(i)); });
}

// Lane i of a vector; of a tuple or an array of vectors, the tuple or array of lanes.
Value lane(const Value& v, Type type, Int i) {
  if (type.isVector()) return element(v.sequence(), i);
  return build(length(v.sequence()), [&](Int k) {
    return lane(element(v.sequence(), k),
                type.isArray() ? type.element() : type.components()[static_cast<std::size_t>(k)], i);
  });
}

// The reverse: a vector from scalar lanes, a tuple or an array of vectors from lanes that are tuples or arrays.
Value fromLanes(const Sequence& lanes, Type laneType) {
  if (laneType.isScalar()) return Value::of(lanes);
  return build(length(lanes[0].sequence()), [&](Int k) {
    Sequence part;
    for (const Value& l : lanes) part.push_back(element(l.sequence(), k));
    return fromLanes(part,
                     laneType.isArray() ? laneType.element() : laneType.components()[static_cast<std::size_t>(k)]);
  });
}

Value vectorize(Call& c) {
  const Type function = c.prim().type().parameter();
  const Type vectors = c.prim().type().result().parameter();
  Sequence lanes;
  for (Int i = 0; i < c.nat(0); i++) lanes.push_back(c.call(0, lane(c.argument(1), vectors, i)));
  return fromLanes(lanes, function.result());
}

// ---- data layout

Value zip(Call& c) {
  const Int n = length(c.array(0));
  for (const Value& v : c.arguments())
    c.require(length(v.sequence()) == n, "arrays of {} and {} elements", n, length(v.sequence()));
  return build(n, [&](Int i) {
    Sequence row;
    row.reserve(c.arguments().size());
    for (const Value& v : c.arguments()) row.push_back(element(v.sequence(), i));
    return Value::of(std::move(row));
  });
}

Value unzip(Call& c) {
  const Sequence& in = c.array(0);
  const auto components = static_cast<Int>(c.prim().type().result().components().size());
  return build(components,
               [&](Int k) { return build(length(in), [&](Int i) { return element(element(in, i).sequence(), k); }); });
}

Value tuple(Call& c) { return Value::of(std::move(c.arguments())); }

Value get(Call& c) { return element(c.array(0), c.nat(0)); }

// Also asVector: a vector is a sequence of its lanes.
Value split(Call& c) {
  const Sequence& in = c.array(0);
  const Int size = c.nat(0), n = length(in);
  c.require(size > 0 && n % size == 0, "{} elements do not split into chunks of {}", n, size);
  return build(n / size, [&](Int i) { return build(size, [&](Int j) { return element(in, i * size + j); }); });
}

// Also asScalar.
Value join(Call& c) {
  Sequence out;
  for (const Value& row : c.array(0)) out.insert(out.end(), row.sequence().begin(), row.sequence().end());
  return Value::of(std::move(out));
}

Value slide(Call& c) {
  const Sequence& in = c.array(0);
  const Int size = c.nat(0), step = c.nat(1), n = length(in);
  c.require(size > 0 && step > 0 && size <= n, "no window of size {} with step {} in {} elements", size, step, n);
  return build((n - size) / step + 1,
               [&](Int i) { return build(size, [&](Int j) { return element(in, i * step + j); }); });
}

Value slideStrict(Call& c) {
  const Int size = c.nat(0), step = c.nat(1), n = length(c.array(0));
  c.require(step > 0 && (n - size) % step == 0, "windows of size {} with step {} do not cover {} elements", size, step,
            n);
  return slide(c);
}

// out[i] = source(i - left) for the l + n + r elements; a negative amount crops.
template <class F>
Value padded(Call& c, Int n, const F& source) {
  const Int left = c.nat(0), right = c.nat(1);
  c.require(n > 0 && left + n + right >= 0, "{} elements cannot be padded by {} and {}", n, left, right);
  return build(left + n + right, [&](Int i) { return source(i - left); });
}

Value pad(Call& c) {
  const Value& value = c.argument(0);
  const Sequence& in = c.array(1);
  const Int n = length(in);
  return padded(c, n, [&](Int i) { return 0 <= i && i < n ? element(in, i) : value; });
}

Value padClamp(Call& c) {
  const Sequence& in = c.array(0);
  const Int n = length(in);
  return padded(c, n, [&](Int i) { return element(in, std::clamp<Int>(i, 0, n - 1)); });
}

// … x1 x0 | x0 x1 … x(n-1) | x(n-1) x(n-2) …, with period 2n.
Value padMirror(Call& c) {
  const Sequence& in = c.array(0);
  const Int n = length(in);
  return padded(c, n, [&](Int i) {
    const Int j = floorMod(i, 2 * n);
    return element(in, j < n ? j : 2 * n - 1 - j);
  });
}

Value padWrap(Call& c) {
  const Sequence& in = c.array(0);
  const Int n = length(in);
  return padded(c, n, [&](Int i) { return element(in, floorMod(i, n)); });
}

Value transpose(Call& c) {
  const Sequence& in = c.array(0);
  const Int columns = constantOf(c.prim().type().result().length());
  return build(columns,
               [&](Int j) { return build(length(in), [&](Int i) { return element(element(in, i).sequence(), j); }); });
}

// out[i] = in[f(i)]; the table of index functions, as numbers.
Value reorder(Call& c) {
  const Sequence& in = c.array(0);
  const Int n = length(in);
  const auto permuted = [&](const auto& f) { return build(n, [&](Int i) { return element(in, f(i)); }); };
  switch (c.prim().indexFn()) {
    case IndexFn::reverse: return permuted([&](Int i) { return n - 1 - i; });
    case IndexFn::stride: {
      const Int s = c.nat(0);
      c.require(s > 0 && n % s == 0, "stride {} does not divide {} elements", s, n);
      return permuted([&](Int i) { return i / (n / s) + s * (i % (n / s)); });
    }
    case IndexFn::unstride: {
      const Int s = c.nat(0);
      c.require(s > 0 && n % s == 0, "unstride {} does not divide {} elements", s, n);
      return permuted([&](Int i) { return i / s + (n / s) * (i % s); });
    }
    case IndexFn::shift: return permuted([&](Int i) { return floorMod(i + c.nat(0), n); });
    case IndexFn::transpose: {
      const Int rows = c.nat(0), columns = c.nat(1);
      c.require(rows * columns == n, "{} elements are not {} rows of {}", n, rows, columns);
      return permuted([&](Int i) { return (i % rows) * columns + i / rows; });
    }
  }
  throw InternalError("unknown index function");
}

Value concat(Call& c) {
  Sequence out = c.array(0);
  out.insert(out.end(), c.array(1).begin(), c.array(1).end());
  return Value::of(std::move(out));
}

Value take(Call& c) {
  const Sequence& in = c.array(0);
  const Int count = c.nat(0);
  c.require(0 <= count && count <= length(in), "{} of {} elements", count, length(in));
  return Value::of(Sequence(in.begin(), in.begin() + count));
}

Value drop(Call& c) {
  const Sequence& in = c.array(0);
  const Int count = c.nat(0);
  c.require(0 <= count && count <= length(in), "{} of {} elements", count, length(in));
  return Value::of(Sequence(in.begin() + count, in.end()));
}

Value at(Call& c) {
  const Sequence& in = c.array(1);
  const Int i = c.argument(0).scalar().integer;
  if (i < 0 || length(in) <= i) c.fail(fmt::format(fault::index, i, length(in)));
  return element(in, i);
}

// ---- values

bool isVector(const Value& v) { return std::holds_alternative<std::shared_ptr<const Sequence>>(v.data); }

constexpr std::size_t maxOperands = 3;

// f on scalars; lane by lane where an argument is a vector (a scalar beside vectors counts for every lane).
template <class F>
Value lanewise(const std::vector<Value>& arguments, const F& f) {
  ensure(arguments.size() <= maxOperands, "too many operands");
  std::array<ScalarValue, maxOperands> scalars;
  const auto result = [&](Int lane) {
    for (std::size_t k = 0; k < arguments.size(); k++)
      scalars[k] = isVector(arguments[k]) ? element(arguments[k].sequence(), lane).scalar() : arguments[k].scalar();
    return Value::of(f(std::span(scalars.data(), arguments.size())));
  };
  const auto vector = std::ranges::find_if(arguments, isVector);
  return vector == arguments.end() ? result(0) : build(length(vector->sequence()), result);
}

Value op(Call& c) {
  const Op op = c.prim().op();
  return lanewise(c.arguments(), [&](std::span<const ScalarValue> v) {
    const bool divides = (op == Op::div || op == Op::mod) && !isFloat(v[0].type);
    if (divides && v[1].integer == 0) c.fail(std::string(fault::division));
    return c.arithmetic().apply(op, v);
  });
}

Value convert(Call& c) {
  const Scalar to = c.prim().target();
  return lanewise(c.arguments(), [&](std::span<const ScalarValue> v) { return c.arithmetic().convert(v[0], to); });
}

Value splat(Call& c) {
  return build(c.nat(0), [&](Int) { return c.argument(0); });
}

Value anyLane(Call& c) {
  const Sequence& lanes = c.array(0);
  bool holds = false;
  for (Int i = 0; i < length(lanes); i++) holds = holds || element(lanes, i).scalar().truth();
  return Value::of(ScalarValue::ofInteger(Scalar::boolean, holds ? 1 : 0));
}

Value dot(Call& c) {
  const Sequence &a = c.array(0), &b = c.array(1);
  std::vector<ScalarValue> products;
  for (Int i = 0; i < length(a); i++)
    products.push_back(c.arithmetic().apply(Op::mul, std::array{element(a, i).scalar(), element(b, i).scalar()}));
  const auto add = [&](ScalarValue& sum, const ScalarValue& x) {
    sum = c.arithmetic().apply(Op::add, std::array{sum, x});
  };
  for (; products.size() > dotFromLeft; products.resize(products.size() / 2))
    for (std::size_t i = 0; i < products.size() / 2; i++) add(products[i], products[products.size() / 2 + i]);
  for (std::size_t i = 1; i < products.size(); i++) add(products[0], products[i]);
  return Value::of(products[0]);
}

// ---- the table

using Meaning = Value (*)(Call&);
struct Row {
  Prim prim;
  Meaning meaning;
};

// clang-format off
constexpr std::array<Row, primCount> meanings{{
    {Prim::map, map}, {Prim::reduce, reduce}, {Prim::scan, scan}, {Prim::scanExclusive, scanExclusive},
    {Prim::reduceByIndex, reduceByIndex}, {Prim::iterate, iterate}, {Prim::iterateWhile, iterateWhile},
    {Prim::ifThenElse, ifThenElse}, {Prim::let, let}, {Prim::id, id}, {Prim::generate, generate},
    {Prim::vectorize, vectorize}, {Prim::zip, zip}, {Prim::unzip, unzip}, {Prim::tuple, tuple}, {Prim::get, get},
    {Prim::arrayOf, tuple}, {Prim::split, split}, {Prim::join, join}, {Prim::slide, slide},
    {Prim::slideStrict, slideStrict}, {Prim::pad, pad}, {Prim::padClamp, padClamp}, {Prim::padMirror, padMirror},
    {Prim::padWrap, padWrap}, {Prim::transpose, transpose}, {Prim::reorder, reorder}, {Prim::concat, concat},
    {Prim::take, take}, {Prim::drop, drop}, {Prim::at, at}, {Prim::asVector, split}, {Prim::asScalar, join},
    {Prim::op, op}, {Prim::convert, convert}, {Prim::splat, splat}, {Prim::dot, dot}, {Prim::anyLane, anyLane},
    {Prim::mapGlb, map}, {Prim::mapWrg, map}, {Prim::mapLcl, map}, {Prim::reduceLcl, reduce},
    {Prim::reduceByIndexLcl, reduceByIndex}, {Prim::reduceByIndexGlb, reduceByIndex}, {Prim::mapSeq, map},
    {Prim::mapSeqUnroll, map}, {Prim::reduceSeq, reduce}, {Prim::reduceSeqUnroll, reduce}, {Prim::scanSeq, scan},
    {Prim::scanExclusiveSeq, scanExclusive}, {Prim::toGlobal, id}, {Prim::toImage, id}, {Prim::toLocal, id},
    {Prim::toPrivate, id},
}};
// clang-format on

consteval bool inOrder() {
  for (int i = 0; i < primCount; i++)
    if (static_cast<int>(meanings[static_cast<std::size_t>(i)].prim) != i) return false;
  return true;
}
static_assert(inOrder(), "the table of meanings is out of order");

}  // namespace

Value detail::meaningOf(Expr prim, std::vector<Value> arguments, const Arithmetic& arithmetic) {
  Call call(prim, std::move(arguments), arithmetic);
  return meanings[static_cast<std::size_t>(prim.prim())].meaning(call);
}

}  // namespace lift
