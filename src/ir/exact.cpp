#include "lift/exact.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "lift/diagnostic.hpp"

namespace lift {
namespace field {
namespace {

__extension__ using Wide = unsigned __int128;

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result;
}

}  // namespace

std::int64_t ofInteger(std::int64_t value) {
  const std::int64_t rest = value % prime;
  return rest < 0 ? rest + prime : rest;
}

std::int64_t add(std::int64_t a, std::int64_t b) {
  const std::int64_t sum = a + b;
  return sum >= prime ? sum - prime : sum;
}

std::int64_t subtract(std::int64_t a, std::int64_t b) { return a >= b ? a - b : a - b + prime; }

std::int64_t multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<Wide>(a) * static_cast<Wide>(b) % static_cast<Wide>(prime));
}

std::int64_t inverse(std::int64_t a) {
  ensure(a != 0, "0 has no inverse");
  return power(a, prime - 2);
}

std::int64_t ofReal(double value) {
  constexpr std::int64_t half = prime / 2;
  if (std::isnan(value)) return half - 1;
  if (std::isinf(value)) return value > 0 ? half : half + 1;
  constexpr int digits = std::numeric_limits<double>::digits;
  int exponent = 0;
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), digits));
  exponent -= digits;
  const std::int64_t scale = power(2, std::abs(exponent));
  return multiply(ofInteger(mantissa), exponent < 0 ? inverse(scale) : scale);
}

// Of p / q with |p|, q below 2^30 there is at most one (Wang's reconstruction by the Euclidean algorithm).
std::string show(std::int64_t element) {
  constexpr std::int64_t bound = std::int64_t{1} << 30;
  std::int64_t r0 = prime, r1 = element, t0 = 0, t1 = 1;
  while (r1 >= bound) {
    const std::int64_t q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    t0 = std::exchange(t1, t0 - q * t1);
  }
  if (t1 == 0 || std::abs(t1) >= bound) return fmt::format("#{}", element);
  if (t1 < 0) r1 = -r1, t1 = -t1;
  return t1 == 1 ? fmt::format("{}", r1) : fmt::format("{}/{}", r1, t1);
}

}  // namespace field

namespace {

// The representative nearest to zero.
std::int64_t nearest(std::int64_t element) { return element > field::prime / 2 ? element - field::prime : element; }

std::uint64_t mixed(std::uint64_t hash, std::uint64_t x) {  // the finaliser of SplitMix64
  hash = (hash ^ x) + 0x9E3779B97F4A7C15u;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9u;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBu;
  return hash ^ (hash >> 31);
}

class ExactArithmetic final : public Arithmetic {
 public:
  ScalarValue literal(const ScalarValue& v) const override {
    return isFloat(v.type) ? element(v.type, field::ofReal(v.real)) : v;
  }

  ScalarValue apply(Op op, std::span<const ScalarValue> v) const override {
    if (op == Op::select) return v[0].truth() ? v[1] : v[2];
    if (!isFloat(v[0].type)) return lift::apply(op, v);
    const std::int64_t a = v[0].integer, b = v.size() > 1 ? v[1].integer : 0;
    const auto number = [&](std::int64_t e) { return element(v[0].type, e); };
    const auto truth = [](bool t) { return ScalarValue::ofInteger(Scalar::boolean, t); };
    switch (op) {
      case Op::add: return number(field::add(a, b));
      case Op::sub: return number(field::subtract(a, b));
      case Op::mul: return number(field::multiply(a, b));
      case Op::fma: return number(field::add(field::multiply(a, b), v[2].integer));
      case Op::neg: return number(field::subtract(0, a));
      case Op::div: return number(b == 0 ? unknown(op, v) : field::multiply(a, field::inverse(b)));
      case Op::min: return v[nearest(a) <= nearest(b) ? 0 : 1];
      case Op::max: return v[nearest(a) >= nearest(b) ? 0 : 1];
      case Op::abs: return number(nearest(a) < 0 ? field::subtract(0, a) : a);
      case Op::lt: return truth(nearest(a) < nearest(b));
      case Op::le: return truth(nearest(a) <= nearest(b));
      case Op::gt: return truth(nearest(a) > nearest(b));
      case Op::ge: return truth(nearest(a) >= nearest(b));
      case Op::eq: return truth(a == b);
      case Op::ne: return truth(a != b);
      default: return number(unknown(op, v));
    }
  }

  // Between floating-point types nothing is rounded.
  ScalarValue convert(const ScalarValue& v, Scalar to) const override {
    if (!isFloat(v.type)) {
      if (!isFloat(to)) return lift::convert(v, to);
      if (v.type != Scalar::u64) return element(to, field::ofInteger(v.integer));
      const auto bits = static_cast<std::uint64_t>(v.integer);
      return element(to, static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(field::prime)));
    }
    if (isFloat(to)) return element(to, v.integer);
    constexpr std::int64_t small = std::int64_t{1} << 31;
    const std::int64_t number = nearest(v.integer);
    if (std::abs(number) <= small) return ScalarValue::of(to, static_cast<double>(number));
    return ScalarValue::ofInteger(
        to, static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(to), static_cast<std::uint64_t>(v.integer))));
  }

 private:
  static ScalarValue element(Scalar type, std::int64_t e) { return {type, 0, e}; }

  static std::int64_t unknown(Op op, std::span<const ScalarValue> v) {
    std::uint64_t hash = static_cast<std::uint64_t>(op) + 1;
    for (const ScalarValue& x : v) hash = mixed(hash, static_cast<std::uint64_t>(x.integer));
    return static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(field::prime));
  }
};

std::string shown(const ScalarValue& v) {
  return isFloat(v.type) ? field::show(v.integer) : fmt::format("{}", v.integer);
}

std::optional<std::string> differ(const Value& a, const Value& b, const std::string& at, std::int64_t& compared) {
  if (const auto* x = std::get_if<ScalarValue>(&a.data)) {
    compared++;
    const ScalarValue& y = b.scalar();
    if (x->type == y.type && x->integer == y.integer) return std::nullopt;
    return fmt::format("element {} is {} before and {} after", at.empty() ? "out" : at, shown(*x), shown(y));
  }
  const Value::Sequence &xs = a.sequence(), &ys = b.sequence();
  if (xs.size() != ys.size())
    return fmt::format("{} has {} elements before and {} after", at.empty() ? "out" : at, xs.size(), ys.size());
  for (std::size_t i = 0; i < xs.size(); i++)
    if (auto what = differ(xs[i], ys[i], fmt::format("{}[{}]", at, i), compared)) return what;
  return std::nullopt;
}

}  // namespace

const Arithmetic& exactArithmetic() {
  static const ExactArithmetic exact;
  return exact;
}

Value interpretExactly(const Program& program, const std::map<std::string, Tensor>& inputs) {
  return evaluate(program, inputs, exactArithmetic());
}

std::optional<std::string> exactDifference(const Value& before, const Value& after, std::int64_t* compared) {
  std::int64_t count = 0;
  auto what = differ(before, after, "", count);
  if (compared != nullptr) *compared += count;
  return what;
}

}  // namespace lift
