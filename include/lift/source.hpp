// Source text and positions in it.
//
// Source files are registered once and live as long as the process, so that a Span is a plain value that can be
// kept in any side table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lift {

// A named text. `name` is what diagnostics print (a path, "<command line>", "prelude.lift").
struct SourceFile {
  std::string name;
  std::string text;
};

// Registers a text under a name and returns its permanent address. Thread-safe.
const SourceFile* addSource(std::string name, std::string text);

// One-based line and column of a byte offset. Columns count UTF-8 code points.
struct Position {
  int line = 1;
  int column = 1;
};
Position positionOf(const SourceFile& file, std::uint32_t offset);

// The line (without its newline) that contains the byte offset.
std::string_view lineAt(const SourceFile& file, std::uint32_t offset);

// Bytes of the UTF-8 code point at the front of a text; 0 if it is none.
std::size_t codePointLength(std::string_view text);
bool isUtf8(std::string_view text);

// A half-open byte range of a source file; `file == nullptr` means "no position".
struct Span {
  const SourceFile* file = nullptr;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  explicit operator bool() const { return file != nullptr; }
};

// Where it begins, "file:line:column"; empty without a position.
std::string placeOf(Span span);

// The smallest span that covers both (they must be of one file; an empty span is neutral).
Span cover(Span a, Span b);

}  // namespace lift
