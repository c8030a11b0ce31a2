// The parser: literals of numbers.
#include "syntax_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "lift/characters.hpp"
#include "lift/scalar.hpp"

namespace lift::syntax {
std::optional<std::uint64_t> parseInteger(std::string_view digits, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

namespace {

// Out of double's range gives infinity or zero, depending on where the first digit stands.
double parseReal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc::result_out_of_range) return value;
  const std::size_t e = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, e);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t digit = mantissa.find_first_of("123456789");
  if (digit == std::string_view::npos) return 0;
  double magnitude = static_cast<double>(point) - static_cast<double>(digit);
  if (e != std::string_view::npos) {
    std::int64_t exponent = 0;
    std::string_view digits = text.substr(e + 1);
    const bool negative = digits.front() == '-';
    if (negative || digits.front() == '+') digits.remove_prefix(1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc())
      exponent = std::numeric_limits<std::int32_t>::max();
    magnitude += static_cast<double>(negative ? -exponent : exponent);
  }
  return magnitude > 0 ? std::numeric_limits<double>::infinity() : 0;
}

// 0xff, 0b101: a suffix is the integer type behind the digits. In decimal an `e` belongs to the number if digits
// follow.
Numeral numeralOf(std::string_view whole) {
  const bool isHex = whole.starts_with("0x") || whole.starts_with("0X");
  const bool isBinary = whole.starts_with("0b") || whole.starts_with("0B");
  const std::size_t first = isHex || isBinary ? 2 : 0;
  const char* const allowed = isHex ? "0123456789abcdefABCDEF" : isBinary ? "01" : "0123456789.";
  std::size_t end = std::min(whole.find_first_not_of(allowed, first), whole.size());
  if (first == 0 && end < whole.size() && (whole[end] == 'e' || whole[end] == 'E')) {
    std::size_t digits = end + 1;
    if (digits < whole.size() && (whole[digits] == '+' || whole[digits] == '-')) ++digits;
    if (digits < whole.size() && isDigit(whole[digits]))
      end = std::min(whole.find_first_not_of("0123456789", digits), whole.size());
  }
  return {whole.substr(0, end), whole.substr(first, end - first), whole.substr(end), isHex ? 16 : isBinary ? 2 : 10};
}

}  // namespace

// A literal, with the sign before it if `sign` is a span: -128i8 fits where 128i8 does not.
ParsedExpr Parser::number(Span sign) {
  const Token token = take();
  const Span span = cover(sign, spanOf(token));
  const bool negative = static_cast<bool>(sign);
  if (token.kind != Tok::number) {
    const double value =
        token.kind == Tok::kwInf ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return node(span, 0, Syn::Real{negative ? -value : value, std::nullopt});
  }
  const Numeral n = numeralOf(text(token));
  const std::optional<Scalar> scalar = suffixType(token, n);
  if (n.base != 10 && n.digits.empty())
    fail(spanOf(token), fmt::format("{} has no digits", n.written), "literals are written 0xff, 0b101");
  const bool isReal = n.base == 10 && n.digits.find_first_not_of("0123456789") != std::string_view::npos;
  if (isReal && scalar && isInteger(*scalar))
    fail(spanOf(token), fmt::format("{} is no integer, as {} needs", n.digits, n.suffix),
         fmt::format("conversions are written {}({})", n.suffix, n.digits));
  if (!isReal && !(scalar && isFloat(*scalar))) return integer(n, scalar, negative, span);
  const double value = parseReal(n.digits);
  if (std::isinf(scalar ? ScalarValue::of(*scalar, value).real : value))
    fail(spanOf(token), fmt::format("{} is too large for {}", n.digits, scalar ? n.suffix : "f64"), "infinity is inf");
  return node(span, 0, Syn::Real{negative ? -value : value, scalar});
}

std::optional<Scalar> Parser::suffixType(const Token& token, const Numeral& n) {
  if (n.suffix.empty()) return std::nullopt;
  const std::optional<Scalar> scalar = scalarNamed(n.suffix);
  std::string hint = "literals are written 1, 1.5, 2e-3, 0xff, 0b101, with a type as in 3f32, 7i64";
  if (n.suffix == "f" || n.suffix == "F") hint = fmt::format("write {}f32", n.written);
  if (n.suffix == "u" || n.suffix == "U") hint = fmt::format("write {}u32", n.written);
  if (n.suffix == "L" || n.suffix == "l") hint = fmt::format("write {}i64", n.written);
  if (!scalar || *scalar == Scalar::boolean || (n.base != 10 && isFloat(*scalar)))
    fail(spanOf(token), fmt::format("'{}' is no type of {}", n.suffix, n.base == 10 ? "numbers" : "integers"),
         std::move(hint));
  return scalar;
}

// The magnitude fits if the type's greatest (or, negated, least) value reaches it. Without a suffix, what only u64
// holds is one.
ParsedExpr Parser::integer(const Numeral& n, std::optional<Scalar> scalar, bool negative, Span span) {
  const auto magnitude = parseInteger(n.digits, n.base);
  if (!scalar && !negative && (!magnitude || *magnitude > std::numeric_limits<std::int64_t>::max()))
    scalar = Scalar::u64;
  const Scalar type = scalar.value_or(Scalar::i64);
  const int bits = static_cast<int>(info(type).bytes) * 8;
  std::uint64_t limit = ~std::uint64_t{0} >> (64 - bits);
  if (negative || info(type).isSigned) limit = !info(type).isSigned ? 0 : limit / 2 + (negative ? 1 : 0);
  if (!magnitude || *magnitude > limit)
    fail(span, fmt::format("{}{} is out of range of {}", negative ? "-" : "",
                           n.written.size() > 40 ? "the integer" : n.written, info(type).name));
  const std::uint64_t pattern = negative ? 0 - *magnitude : *magnitude;
  return node(span, 0, Syn::Integer{static_cast<std::int64_t>(pattern), scalar});
}

}  // namespace lift::syntax
