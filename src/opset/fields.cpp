#include "fields.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lift/characters.hpp"
#include "lift/integers.hpp"

namespace lift::opset {

namespace {

bool isFiller(char c) { return c == ' ' || c == '\t' || c == '_'; }

std::string namesOf(const std::vector<Key>& keys) {
  std::string names;
  for (const Key& k : keys) names += (names.empty() ? "" : " ") + std::string(k.key);
  return names;
}

}  // namespace

Fields::Fields(std::string_view op, std::string_view text, const std::vector<Key>& keys)
    : file_(addSource("<descriptor>", std::string(text))) {
  const std::string& all = file_->text;
  for (std::size_t at = 0; at < all.size();) {
    if (isFiller(all[at]))
      at++;
    else if (all.compare(at, 2, "n\"") == 0)
      at = readName(at);
    else
      at = readKey(at, op, keys);
  }
  std::string absent;
  for (const Key& k : keys) {
    if (isWritten(k.key)) continue;
    if (k.otherwise)
      given_[k.key] = {*k.otherwise, {}};
    else
      absent += fmt::format("{}'{}' ({})", absent.empty() ? "" : ", ", k.key, k.meaning);
  }
  if (!absent.empty()) missing(absent);
}

Span Fields::span(std::size_t begin, std::size_t end) const {
  return {file_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

std::size_t Fields::readName(std::size_t at) {
  const std::size_t from = at + 2, to = file_->text.find('"', from);
  if (to == std::string::npos) {
    errors_.push_back({Severity::error, span(at, file_->text.size()), "the name's quote is not closed", {}, {}});
    return file_->text.size();
  }
  name_ = file_->text.substr(from, to - from);
  if (name_.find_first_of("\r\n") != std::string::npos || !isUtf8(name_))
    errors_.push_back({Severity::error, span(at, to + 1), "a name must be UTF-8 text without line breaks", {}, {}});
  return to + 1;
}

std::size_t Fields::readKey(std::size_t begin, std::string_view op, const std::vector<Key>& keys) {
  const std::string_view all = file_->text;
  const auto fail = [&](std::size_t end, std::string message, std::string hint = {}) {
    errors_.push_back({Severity::error, span(begin, end), std::move(message), std::move(hint), {}});
    return end;
  };
  std::size_t at = begin;
  while (at < all.size() && isLetter(all[at])) at++;
  const std::string_view word = all.substr(begin, at - begin);
  const auto [value, length] = leadingNumber(all.substr(at));
  at += length;
  const std::string hint = fmt::format("keys of {} are {}", op, namesOf(keys));
  if (word.empty()) return fail(std::max(at, begin + 1), "expected a key", hint);
  const auto key = std::ranges::find_if(keys, [&](const Key& k) { return k.key == word; });
  if (key == keys.end()) return fail(at, fmt::format("unknown key '{}'", word), hint);
  if (length == 0) {
    given_[key->key] = {key->least, span(begin, at)};  // not missing as well
    return fail(at, fmt::format("expected a number after '{}'", word));
  }
  if (isWritten(key->key)) return fail(at, fmt::format("'{}' is given twice", word));
  given_[key->key] = {value, span(begin, at)};
  if (value < key->least) return fail(at, fmt::format("'{}' must be at least {}", word, key->least));
  if (value > largestInt) return fail(at, fmt::format("'{}' must be at most {}", word, largestInt));
  return at;
}

void Fields::error(std::string_view key, std::string message, std::string hint) {
  const auto found = given_.find(key);
  const bool known = found != given_.end() && found->second.span;
  errors_.push_back({Severity::error,
                     known ? found->second.span : span(0, file_->text.size()),
                     std::move(message),
                     std::move(hint),
                     {}});
}

void Fields::missing(const std::string& what) {
  const std::size_t end = file_->text.size();
  errors_.push_back({Severity::error, span(end, end), "missing " + what, {}, {}});
}

void Fields::check() {
  throwErrors(std::move(errors_));
  errors_.clear();
}

void checkElements(Fields& fields, std::string_view array, const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t n : shape)
    if (__builtin_mul_overflow(elements, n, &elements) || elements > largestInt)
      return fields.error("", fmt::format("{} has more than {} elements", array, largestInt));
}

}  // namespace lift::opset
