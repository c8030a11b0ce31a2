// Exact fractions of 64-bit integers. What does not fit throws UserError (program).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lift {

// In lowest terms; the denominator is positive.
class Rational {
 public:
  Rational(std::int64_t value = 0) : numerator_(value) {}  // NOLINT: integers are fractions
  // The denominator is not 0.
  Rational(std::int64_t numerator, std::int64_t denominator);
  // "3", "-5/8"; nothing for other texts.
  static std::optional<Rational> parse(std::string_view text);

  std::int64_t numerator() const { return numerator_; }
  std::int64_t denominator() const { return denominator_; }
  double toDouble() const { return static_cast<double>(numerator_) / static_cast<double>(denominator_); }
  std::string str() const;

  friend Rational operator+(Rational a, Rational b);
  friend Rational operator-(Rational a, Rational b);
  friend Rational operator*(Rational a, Rational b);
  friend Rational operator/(Rational a, Rational b);  // b is not 0
  Rational operator-() const { return Rational(0) - *this; }
  bool operator==(const Rational&) const = default;

 private:
  std::int64_t numerator_ = 0, denominator_ = 1;
};

}  // namespace lift
