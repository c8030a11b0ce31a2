#include "lift/rational.hpp"

#include <charconv>
#include <limits>
#include <numeric>

#include "lift/diagnostic.hpp"

namespace lift {
namespace {

[[noreturn]] void overflow() { throw UserError(ExitStatus::program, "a fraction does not fit 64 bits"); }

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) overflow();
  return result;
}

}  // namespace

Rational::Rational(std::int64_t numerator, std::int64_t denominator) {
  ensure(denominator != 0, "a fraction with the denominator 0");
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  if (numerator == lowest || denominator == lowest) overflow();
  const std::int64_t divisor = std::gcd(numerator, denominator) * (denominator < 0 ? -1 : 1);
  numerator_ = numerator / divisor;
  denominator_ = denominator / divisor;
}

std::optional<Rational> Rational::parse(std::string_view text) {
  const auto integer = [](std::string_view digits) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
  };
  const std::size_t slash = text.find('/');
  const auto numerator = integer(text.substr(0, slash));
  const auto denominator = slash == std::string_view::npos ? 1 : integer(text.substr(slash + 1));
  if (!numerator || !denominator || *denominator <= 0) return std::nullopt;
  return Rational(*numerator, *denominator);
}

std::string Rational::str() const {
  const std::string whole = std::to_string(numerator_);
  return denominator_ == 1 ? whole : whole + "/" + std::to_string(denominator_);
}

Rational operator+(Rational a, Rational b) {
  const std::int64_t common = std::gcd(a.denominator_, b.denominator_);
  const std::int64_t scaleA = b.denominator_ / common, scaleB = a.denominator_ / common;
  return {sum(product(a.numerator_, scaleA), product(b.numerator_, scaleB)), product(a.denominator_, scaleA)};
}

Rational operator-(Rational a, Rational b) { return a + Rational(product(b.numerator_, -1), b.denominator_); }

Rational operator*(Rational a, Rational b) {
  const Rational p(a.numerator_, b.denominator_), q(b.numerator_, a.denominator_);  // cancelled before multiplying
  return {product(p.numerator_, q.numerator_), product(p.denominator_, q.denominator_)};
}

Rational operator/(Rational a, Rational b) {
  ensure(b.numerator_ != 0, "division of a fraction by 0");
  return a * Rational(b.denominator_, b.numerator_);
}

}  // namespace lift
