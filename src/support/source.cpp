#include "lift/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>
#include <utility>

#include "lift/diagnostic.hpp"

namespace lift {

namespace {

bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// An offset clamped to the text and moved back to the first byte of its code point.
std::size_t anchored(const SourceFile& file, std::uint32_t offset) {
  const std::string& text = file.text;
  std::size_t at = std::min<std::size_t>(offset, text.size());
  // A code point has at most three continuation bytes; damaged text must not pull the offset further back.
  for (int i = 0; i < 3 && at > 0 && at < text.size() && isContinuation(text[at]); ++i) --at;
  return at;
}

std::size_t lineStart(const std::string& text, std::size_t at) {
  if (at == 0) return 0;
  const std::size_t newline = text.rfind('\n', at - 1);
  return newline == std::string::npos ? 0 : newline + 1;
}

}  // namespace

std::size_t codePointLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Overlong forms, surrogates and what lies beyond U+10FFFF.
  const unsigned second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) || (first == 0xF0 && second < 0x90) ||
      (first == 0xF4 && second >= 0x90))
    return 0;
  return length;
}

bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = codePointLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

const SourceFile* addSource(std::string name, std::string text) {
  // Spans hold 32-bit offsets.
  if (text.size() >= std::numeric_limits<std::uint32_t>::max())
    throw UserError(ExitStatus::program, "'" + name + "' is larger than 4 GiB");
  // Leaked on purpose: diagnostics may be rendered while static objects are being destroyed.
  static std::mutex& mutex = *new std::mutex;
  static std::deque<SourceFile>& files = *new std::deque<SourceFile>;
  const std::lock_guard lock(mutex);
  return &files.emplace_back(SourceFile{std::move(name), std::move(text)});
}

Position positionOf(const SourceFile& file, std::uint32_t offset) {
  const std::string& text = file.text;
  const std::size_t at = anchored(file, offset);
  const std::size_t start = lineStart(text, at);
  Position position;
  position.line += static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start), '\n'));
  for (std::size_t i = start; i < at; ++i) position.column += !isContinuation(text[i]);
  return position;
}

std::string_view lineAt(const SourceFile& file, std::uint32_t offset) {
  const std::string& text = file.text;
  const std::size_t at = anchored(file, offset);
  const std::size_t start = lineStart(text, at);
  const std::size_t end = std::min(text.find('\n', at), text.size());
  std::string_view line = std::string_view(text).substr(start, end - start);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string placeOf(Span span) {
  if (!span) return {};
  const Position position = positionOf(*span.file, span.begin);
  return fmt::format("{}:{}:{}", span.file->name, position.line, position.column);
}

Span cover(Span a, Span b) {
  if (!a) return b;
  if (!b) return a;
  ensure(a.file == b.file, "cover: spans of different files");
  return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

}  // namespace lift
