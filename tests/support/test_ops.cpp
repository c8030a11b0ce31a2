#include <bit>
#include <catch2/catch.hpp>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <random>
#include <set>
#include <type_traits>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/ops.hpp"

using namespace lift;

namespace {

using Limits64 = std::numeric_limits<std::int64_t>;
constexpr double infinity = std::numeric_limits<double>::infinity();
const double notANumber = std::nan("");

ScalarValue integer(Scalar type, std::int64_t value) { return ScalarValue::ofInteger(type, value); }
ScalarValue real(Scalar type, double value) { return ScalarValue::of(type, value); }
ScalarValue f32(double value) { return real(Scalar::f32, value); }
ScalarValue boolean(bool value) { return integer(Scalar::boolean, value); }

ScalarValue run(Op op, std::initializer_list<ScalarValue> operands) {
  return apply(op, std::span(operands.begin(), operands.size()));
}

// Bit by bit.
template <class T>
bool bitOf(T x, int i) {
  return (static_cast<std::uint64_t>(x) >> i & 1) != 0;
}
template <class T>
int ones(T x) {
  int n = 0;
  for (int i = 0; i < 8 * static_cast<int>(sizeof(T)); ++i) n += bitOf(x, i);
  return n;
}
template <class T>
int leadingZeros(T x) {
  int n = 0;
  for (int i = 8 * static_cast<int>(sizeof(T)) - 1; i >= 0 && !bitOf(x, i); --i) ++n;
  return n;
}
template <class T>
std::int64_t rotated(T x, int by) {
  const int bits = 8 * static_cast<int>(sizeof(T));
  std::uint64_t result = 0;
  for (int i = 0; i < bits; ++i)
    if (bitOf(x, i)) result |= std::uint64_t{1} << ((i + by) % bits);
  return static_cast<std::int64_t>(result);
}

// The upper half of the product, which for u64 is no number of a signed type.
template <class T>
T highOf(T a, T b) {
  __extension__ using Product = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return static_cast<T>((Product(a) * Product(b)) >> (8 * sizeof(T)));
}

// The C arithmetic of a type as wide as T, by its definition: exact in 128 bits (products modulo 2^64),
// then the low bits.
template <class T>
void checkAgainstC(Scalar type, const std::vector<T>& values) {
  __extension__ using Wide = __int128;
  for (const T a : values)
    for (const T b : values) {
      CAPTURE(+a, +b);
      const ScalarValue x = integer(type, static_cast<std::int64_t>(a));
      const ScalarValue y = integer(type, static_cast<std::int64_t>(b));
      const auto is = [&](Op op, Wide expected) {
        CAPTURE(info(op).name);
        const ScalarValue result = run(op, {x, y});
        REQUIRE(result.type == type);
        REQUIRE(static_cast<T>(result.integer) == static_cast<T>(expected));
        REQUIRE(integer(type, result.integer).integer == result.integer);  // wrapped to the type
      };
      is(Op::add, Wide(a) + b);
      is(Op::sub, Wide(a) - b);
      is(Op::mul, static_cast<Wide>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)));
      if (b != 0) {
        is(Op::div, Wide(a) / b);
        is(Op::mod, Wide(a) % b);
      }
      is(Op::min, a < b ? a : b);
      is(Op::max, a < b ? b : a);
      is(Op::bitAnd, a & b);
      is(Op::bitOr, a | b);
      is(Op::bitXor, a ^ b);
      const int bits = 8 * static_cast<int>(sizeof(T));
      const int amount = static_cast<int>(b) & (bits - 1);
      is(Op::shl, Wide(a) * (Wide(1) << amount));
      is(Op::shr, Wide(a) >> amount);
      is(Op::rotateBits, rotated(a, amount));
      is(Op::mulHigh, highOf(a, b));
      REQUIRE(static_cast<T>(run(Op::bitNot, {x}).integer) == static_cast<T>(~a));
      REQUIRE(run(Op::popcount, {x}).integer == ones(a));
      REQUIRE(run(Op::clz, {x}).integer == leadingZeros(a));
      REQUIRE(static_cast<T>(run(Op::neg, {x}).integer) == static_cast<T>(-Wide(a)));
      REQUIRE(static_cast<T>(run(Op::abs, {x}).integer) == static_cast<T>(a < 0 ? -Wide(a) : Wide(a)));
      REQUIRE(run(Op::lt, {x, y}).truth() == (a < b));
      REQUIRE(run(Op::le, {x, y}).truth() == (a <= b));
      REQUIRE(run(Op::gt, {x, y}).truth() == (a > b));
      REQUIRE(run(Op::ge, {x, y}).truth() == (a >= b));
      REQUIRE(run(Op::eq, {x, y}).truth() == (a == b));
      REQUIRE(run(Op::ne, {x, y}).truth() == (a != b));
    }
}

template <class T>
std::vector<T> interesting() {
  using L = std::numeric_limits<T>;
  std::vector<T> values{L::min(), static_cast<T>(L::min() + 1), static_cast<T>(L::max() - 1), L::max(),
                        static_cast<T>(L::max() / 2)};
  for (int i = -9; i <= 40; i += 1) values.push_back(static_cast<T>(i));
  return values;
}

}  // namespace

TEST_CASE("the table of operations is in order and its names are found") {
  std::set<std::string_view> names;
  std::set<std::string_view> infixes;
  for (int i = 0; i < opCount; ++i) {
    const OpInfo& row = info(static_cast<Op>(i));
    CAPTURE(row.name);
    CHECK(row.op == static_cast<Op>(i));
    CHECK(opNamed(row.name) == row.op);
    CHECK(names.insert(row.name).second);
    CHECK_FALSE(row.opencl.empty());
    CHECK_FALSE(row.meaning.empty());
    CHECK((row.arity >= 1 && row.arity <= 3));
    if (!row.infix.empty()) {
      CHECK(infixes.insert(row.infix).second);
      CHECK(opInfix(row.infix) == row.op);
      CHECK(row.arity == 2);
      CHECK(row.precedence > 0);
    }
    const bool isOperator = std::isalpha(static_cast<unsigned char>(row.opencl[0])) == 0 && row.opencl != "?:";
    CHECK((row.precedence > 0) == (isOperator || row.op == Op::mod));
    if (row.typing == OpTyping::floating || row.typing == OpTyping::integral) CHECK(row.openclInteger.empty());
  }
  CHECK_FALSE(opNamed("nothing").has_value());
  CHECK_FALSE(opInfix("").has_value());
}

TEST_CASE("operators bind as they do in C") {
  const std::vector<std::vector<Op>> levels{{Op::logicalOr},
                                            {Op::logicalAnd},
                                            {Op::bitOr},
                                            {Op::bitXor},
                                            {Op::bitAnd},
                                            {Op::eq, Op::ne},
                                            {Op::lt, Op::le, Op::gt, Op::ge},
                                            {Op::shl, Op::shr},
                                            {Op::add, Op::sub},
                                            {Op::mul, Op::div, Op::mod},
                                            {Op::neg, Op::logicalNot, Op::bitNot}};
  for (std::size_t i = 0; i < levels.size(); ++i)
    for (const Op op : levels[i]) {
      CHECK(info(op).precedence == info(levels[i][0]).precedence);
      if (i > 0) CHECK(info(op).precedence > info(levels[i - 1][0]).precedence);
    }
}

TEST_CASE("result types follow the table") {
  using S = Scalar;
  const auto type = [](Op op, std::vector<Scalar> operands) { return resultType(op, operands); };
  CHECK(type(Op::add, {S::i8, S::i8}) == S::i8);
  CHECK_FALSE(type(Op::add, {S::i8, S::i16}));
  CHECK_FALSE(type(Op::add, {S::i8}));
  CHECK_FALSE(type(Op::add, {S::boolean, S::boolean}));
  CHECK(type(Op::exp, {S::f64}) == S::f64);
  CHECK_FALSE(type(Op::exp, {S::i32}));
  CHECK(type(Op::shl, {S::u8, S::u8}) == S::u8);
  CHECK_FALSE(type(Op::shl, {S::f32, S::f32}));
  CHECK(type(Op::lt, {S::f16, S::f16}) == S::boolean);
  CHECK(type(Op::eq, {S::boolean, S::boolean}) == S::boolean);
  CHECK_FALSE(type(Op::lt, {S::boolean, S::boolean}));
  CHECK(type(Op::logicalNot, {S::boolean}) == S::boolean);
  CHECK_FALSE(type(Op::logicalAnd, {S::boolean, S::i32}));
  CHECK(type(Op::select, {S::boolean, S::u16, S::u16}) == S::u16);
  CHECK(type(Op::select, {S::boolean, S::boolean, S::boolean}) == S::boolean);
  CHECK_FALSE(type(Op::select, {S::i32, S::u16, S::u16}));
  CHECK_FALSE(type(Op::select, {S::boolean, S::u16, S::i16}));
}

TEST_CASE("8-bit arithmetic is C's") {
  checkAgainstC<std::int8_t>(Scalar::i8, interesting<std::int8_t>());
  checkAgainstC<std::uint8_t>(Scalar::u8, interesting<std::uint8_t>());
}

TEST_CASE("16-bit arithmetic is C's") {
  checkAgainstC<std::int16_t>(Scalar::i16, interesting<std::int16_t>());
  checkAgainstC<std::uint16_t>(Scalar::u16, interesting<std::uint16_t>());
}

TEST_CASE("32-bit arithmetic is C's") {
  checkAgainstC<std::int32_t>(Scalar::i32, interesting<std::int32_t>());
  checkAgainstC<std::uint32_t>(Scalar::u32, interesting<std::uint32_t>());
}

TEST_CASE("64-bit arithmetic is C's") {
  checkAgainstC<std::int64_t>(Scalar::i64, interesting<std::int64_t>());
  checkAgainstC<std::uint64_t>(Scalar::u64, interesting<std::uint64_t>());
}

TEST_CASE("integer division by zero is a user error") {
  for (const Scalar type : {Scalar::i8, Scalar::u32, Scalar::i64, Scalar::u64})
    for (const Op op : {Op::div, Op::mod}) {
      CHECK_THROWS_AS(run(op, {integer(type, 7), integer(type, 0)}), UserError);
    }
  CHECK(run(Op::div, {f32(1), f32(0)}).real == infinity);
}

TEST_CASE("operands that do not fit are internal errors") {
  CHECK_THROWS_AS(run(Op::add, {f32(1)}), InternalError);
  CHECK_THROWS_AS(run(Op::add, {f32(1), real(Scalar::f64, 1)}), InternalError);
  CHECK_THROWS_AS(run(Op::sqrt, {integer(Scalar::i32, 4)}), InternalError);
  CHECK_THROWS_AS(run(Op::bitAnd, {f32(1), f32(1)}), InternalError);
  CHECK_THROWS_AS(run(Op::select, {integer(Scalar::i32, 1), f32(1), f32(1)}), InternalError);
}

TEST_CASE("f32 operations round to float") {
  CHECK(run(Op::add, {f32(16777216), f32(1)}).real == 16777216);
  CHECK(run(Op::div, {f32(1), f32(3)}).real == static_cast<double>(1.0f / 3.0f));
  CHECK(run(Op::mul, {f32(1e30), f32(1e30)}).real == infinity);
  CHECK(run(Op::exp, {f32(1)}).real == static_cast<double>(std::exp(1.0f)));
  CHECK(run(Op::add, {real(Scalar::f64, 16777216), real(Scalar::f64, 1)}).real == 16777217);
}

TEST_CASE("fma rounds once") {
  const float a = 1.0f + 0x1p-12f;
  const ScalarValue c = f32(-1);
  const ScalarValue product = run(Op::mul, {f32(a), f32(a)});
  CHECK(run(Op::add, {product, c}).real == 0x1p-11);
  CHECK(run(Op::fma, {f32(a), f32(a), c}).real == 0x1p-11 + 0x1p-24);
}

TEST_CASE("float functions mean what their names say") {
  const auto one = [](Op op, double x) { return run(op, {f32(x)}).real; };
  CHECK(one(Op::neg, 0.0) == 0);
  CHECK(std::signbit(one(Op::neg, 0.0)));
  CHECK(one(Op::abs, -2.5) == 2.5);
  CHECK(one(Op::floor, -2.5) == -3);
  CHECK(one(Op::ceil, -2.5) == -2);
  CHECK(one(Op::round, 2.5) == 3);
  CHECK(one(Op::round, -2.5) == -3);
  CHECK(one(Op::sqrt, 9) == 3);
  CHECK(one(Op::rsqrt, 4) == 0.5);
  CHECK(one(Op::exp, 0) == 1);
  CHECK(one(Op::log, 1) == 0);
  CHECK(one(Op::log, 0) == -infinity);
  CHECK(one(Op::sin, 1) == Approx(0.8414710));
  CHECK(one(Op::cos, 1) == Approx(0.5403023));
  CHECK(one(Op::tanh, 1) == Approx(0.7615942));
  CHECK(one(Op::trunc, -2.5) == -2);
  CHECK(one(Op::cbrt, 27) == Approx(3));
  CHECK(one(Op::exp2, 3) == 8);
  CHECK(one(Op::log2, 8) == 3);
  CHECK(one(Op::log10, 1000) == Approx(3));
  CHECK(one(Op::tan, 1) == Approx(1.5574077));
  CHECK(one(Op::asin, 1) == Approx(1.5707963));
  CHECK(one(Op::acos, -1) == Approx(3.1415927));
  CHECK(one(Op::atan, 1) == Approx(0.7853982));
  CHECK(run(Op::atan2, {f32(1), f32(-1)}).real == Approx(2.3561945));
  CHECK(one(Op::sinh, 1) == Approx(1.1752012));
  CHECK(one(Op::cosh, 1) == Approx(1.5430806));
  CHECK(one(Op::erf, 1) == Approx(0.8427008));
  CHECK(run(Op::pow, {f32(2), f32(10)}).real == 1024);
  CHECK(run(Op::sub, {f32(2), f32(10)}).real == -8);
  CHECK(run(Op::mod, {f32(-7.5), f32(2)}).real == -1.5);
}

TEST_CASE("min and max prefer a number to NaN") {
  CHECK(run(Op::min, {f32(notANumber), f32(1)}).real == 1);
  CHECK(run(Op::max, {f32(1), f32(notANumber)}).real == 1);
  CHECK(run(Op::min, {f32(-1), f32(2)}).real == -1);
  CHECK(run(Op::max, {f32(-1), f32(2)}).real == 2);
  CHECK(std::isnan(run(Op::max, {f32(notANumber), f32(notANumber)}).real));
}

TEST_CASE("comparisons with NaN are false but for not-equal") {
  for (const Op op : {Op::lt, Op::le, Op::gt, Op::ge, Op::eq}) CHECK_FALSE(run(op, {f32(notANumber), f32(1)}).truth());
  CHECK(run(Op::ne, {f32(notANumber), f32(notANumber)}).truth());
  CHECK(run(Op::eq, {f32(0.0), f32(-0.0)}).truth());
}

TEST_CASE("logic and selection") {
  for (const bool a : {false, true}) {
    CHECK(run(Op::logicalNot, {boolean(a)}).truth() == !a);
    for (const bool b : {false, true}) {
      CHECK(run(Op::logicalAnd, {boolean(a), boolean(b)}).truth() == (a && b));
      CHECK(run(Op::logicalOr, {boolean(a), boolean(b)}).truth() == (a || b));
      CHECK(run(Op::eq, {boolean(a), boolean(b)}).truth() == (a == b));
      CHECK(run(Op::ne, {boolean(a), boolean(b)}).truth() == (a != b));
    }
    CHECK(run(Op::select, {boolean(a), f32(1), f32(2)}).real == (a ? 1 : 2));
  }
}

TEST_CASE("half arithmetic keeps f32 precision until it is converted") {
  const ScalarValue big = real(Scalar::f16, 2048);
  const ScalarValue one = real(Scalar::f16, 1);
  const ScalarValue sum = run(Op::add, {big, one});
  CHECK(sum.type == Scalar::f16);
  CHECK(sum.real == 2049);
  CHECK(convert(sum, Scalar::f16).real == 2048);
  CHECK(convert(sum, Scalar::f32).real == 2049);
  CHECK(run(Op::sub, {sum, big}).real == 1);
  CHECK(run(Op::div, {one, real(Scalar::f16, 3)}).real == static_cast<double>(1.0f / 3.0f));
}

TEST_CASE("h16 rounds after each operation, as the compiler's _Float16 does") {
  __extension__ using Half = _Float16;
  std::mt19937 random(1);
  const auto pattern = [&] { return static_cast<std::uint16_t>(random()); };
  int compared = 0, rounded = 0;
  for (int i = 0; i < 100000; i++) {
    const std::uint16_t bits[] = {pattern(), pattern()};
    const ScalarValue a = loadScalar(Scalar::h16, reinterpret_cast<const std::byte*>(&bits[0]));
    const ScalarValue b = loadScalar(Scalar::h16, reinterpret_cast<const std::byte*>(&bits[1]));
    const Half x = std::bit_cast<Half>(bits[0]), y = std::bit_cast<Half>(bits[1]);
    const auto check = [&](Op op, std::initializer_list<ScalarValue> operands, Half want, double unrounded) {
      const ScalarValue got = run(op, operands);
      INFO(info(op).name << " of " << a.real << " and " << b.real);
      REQUIRE(got.type == Scalar::h16);
      REQUIRE(identical(got, {Scalar::h16, static_cast<double>(want), 0}));
      compared++;
      rounded += got.real != unrounded ? 1 : 0;
    };
    check(Op::add, {a, b}, static_cast<Half>(x + y), a.real + b.real);
    check(Op::sub, {a, b}, static_cast<Half>(x - y), a.real - b.real);
    check(Op::mul, {a, b}, static_cast<Half>(x * y), a.real * b.real);
    check(Op::div, {a, b}, static_cast<Half>(x / y), a.real / b.real);
    check(Op::sqrt, {a}, static_cast<Half>(std::sqrt(static_cast<float>(x))), std::sqrt(a.real));
    check(Op::neg, {a}, static_cast<Half>(-x), -a.real);
  }
  CHECK(compared == 600000);
  CHECK(rounded > 300000);
  CHECK(convert(real(Scalar::f32, 0.1), Scalar::h16).real == static_cast<double>(static_cast<Half>(0.1f)));
  CHECK(run(Op::fma, {real(Scalar::h16, 2048), real(Scalar::h16, 1), real(Scalar::h16, 1)}).real == 2048);
}

TEST_CASE("floats convert to integers by truncation and saturate") {
  const auto to = [](Scalar type, double value) { return convert(real(Scalar::f64, value), type).integer; };
  CHECK(to(Scalar::i32, 2.9) == 2);
  CHECK(to(Scalar::i32, -2.9) == -2);
  CHECK(to(Scalar::i8, 1000) == 127);
  CHECK(to(Scalar::i8, -1000) == -128);
  CHECK(to(Scalar::u8, -3) == 0);
  CHECK(to(Scalar::u8, 255.9) == 255);
  CHECK(to(Scalar::u8, 256) == 255);
  CHECK(to(Scalar::u32, 5e9) == 4294967295);
  CHECK(to(Scalar::i64, infinity) == Limits64::max());
  CHECK(to(Scalar::i64, -infinity) == Limits64::min());
  CHECK(to(Scalar::i64, -0x1p63) == Limits64::min());
  CHECK(to(Scalar::u64, 0x1p63) == Limits64::min());  // the bit pattern
  CHECK(to(Scalar::u64, 1e30) == -1);
  CHECK(to(Scalar::u64, -1) == 0);
  for (int i = 1; i <= static_cast<int>(Scalar::u64); ++i) CHECK(to(static_cast<Scalar>(i), notANumber) == 0);
  CHECK(to(Scalar::boolean, 0.25) == 1);
  CHECK(to(Scalar::boolean, -0.0) == 0);
}

TEST_CASE("integers convert by wrapping") {
  CHECK(convert(integer(Scalar::i32, 300), Scalar::u8).integer == 44);
  CHECK(convert(integer(Scalar::i32, 200), Scalar::i8).integer == -56);
  CHECK(convert(integer(Scalar::i32, -1), Scalar::u32).integer == 4294967295);
  CHECK(convert(integer(Scalar::i8, -1), Scalar::u64).asDouble() == 0x1p64);
  CHECK(convert(integer(Scalar::u64, -1), Scalar::i64).integer == -1);
  CHECK(convert(integer(Scalar::i32, 256), Scalar::boolean).integer == 1);
  CHECK(convert(boolean(true), Scalar::f32).real == 1);
}

TEST_CASE("integers convert to floats with one rounding") {
  // Through double both would become a tie and go to the even neighbour below.
  const std::int64_t above = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;
  CHECK(convert(integer(Scalar::i64, above), Scalar::f32).real == 0x1p60 + 0x1p37);
  CHECK(convert(integer(Scalar::u64, above), Scalar::f32).real == 0x1p60 + 0x1p37);
  CHECK(convert(integer(Scalar::u64, -1), Scalar::f64).real == 0x1p64);
  CHECK(convert(integer(Scalar::i32, 70000), Scalar::f16).real == infinity);
  CHECK(convert(integer(Scalar::i32, 2049), Scalar::f16).real == 2048);
}

TEST_CASE("values are rounded and wrapped when they are made") {
  CHECK(ScalarValue::of(Scalar::f32, 0.1).real == static_cast<double>(0.1f));
  CHECK(ScalarValue::of(Scalar::f16, 0.1).real == static_cast<double>(halfToFloat(0x2E66)));
  CHECK(ScalarValue::of(Scalar::i16, 1e9).integer == 32767);
  CHECK(ScalarValue::ofInteger(Scalar::u8, -1).integer == 255);
  CHECK(ScalarValue::ofInteger(Scalar::boolean, 2).integer == 1);
  CHECK(ScalarValue::ofInteger(Scalar::f32, 16777217).real == 16777216);
  CHECK(ScalarValue::of(Scalar::f32, notANumber).truth());
  CHECK_FALSE(ScalarValue::of(Scalar::f32, -0.0).truth());
}
