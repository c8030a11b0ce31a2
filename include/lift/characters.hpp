// Characters of ASCII, in every locale, for the readers of text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "lift/integers.hpp"

namespace lift {

constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The decimal number at the front of `text`, with sign, and how many characters it takes: none where there is no
// number. Too large for an int, they all read as the same number.
constexpr std::pair<std::int64_t, std::size_t> leadingNumber(std::string_view text) {
  const bool isNegative = text.starts_with('-');
  std::size_t length = isNegative ? 1 : 0;
  if (length == text.size() || !isDigit(text[length])) return {0, 0};
  std::int64_t value = 0;
  for (; length < text.size() && isDigit(text[length]); ++length)
    value = std::min(value * 10 + (text[length] - '0'), 4 * largestInt);
  return {isNegative ? -value : value, length};
}

}  // namespace lift
