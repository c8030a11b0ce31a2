#include "lift/diagnostic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace lift {

namespace {

std::string_view word(Severity severity) {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::note: return "note";
  }
  return "error";
}

// Where the code point that begins at `at` ends; a byte that does not belong to UTF-8 stands for itself.
std::size_t next(std::string_view line, std::size_t at) {
  std::size_t end = at + 1;
  while (end < line.size() && end - at < 4 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) ++end;
  return end;
}

// `count` code points further, or the end of the line.
std::size_t forward(std::string_view line, std::size_t at, std::size_t count) {
  while (count-- > 0 && at < line.size()) at = next(line, at);
  return at;
}

// `count` code points back, or the start of the line.
std::size_t back(std::string_view line, std::size_t at, std::size_t count) {
  for (; count > 0 && at > 0; --count) {
    std::size_t begin = at - 1;
    while (begin > 0 && at - begin < 4 && (static_cast<unsigned char>(line[begin]) & 0xC0) == 0x80) --begin;
    at = next(line, begin) == at ? begin : at - 1;
  }
  return at;
}

// Longer lines (generated programs) are cut to a window around the caret, so that an excerpt costs no more there.
constexpr std::size_t widest = 200;
constexpr std::size_t before = 80;

void renderExcerpt(std::string& out, const Span& span) {
  const std::string_view line = lineAt(*span.file, span.begin);
  const std::size_t lineBegin = static_cast<std::size_t>(line.data() - span.file->text.data());
  const std::size_t first = std::min(span.begin - lineBegin, line.size());
  // A span that runs over several lines, or past the text, is underlined to the end of its first line.
  const std::size_t last = span.end <= lineBegin + line.size() ? span.end - lineBegin : line.size();

  std::size_t from = 0;
  std::size_t to = forward(line, 0, widest);
  if (to < line.size()) {
    from = back(line, first, before);
    to = forward(line, from, widest);
  }
  std::string text;
  std::string carets;
  if (from > 0) text += "...", carets += "   ";
  std::size_t underlined = 0;
  for (std::size_t at = from, end = 0; at < to; at = end) {
    end = next(line, at);
    const std::string_view point = line.substr(at, end - at);
    const bool control =
        point.size() == 1 && point != "\t" && (static_cast<unsigned char>(point[0]) < 0x20 || point[0] == 0x7F);
    text += control ? std::string_view("?") : point;
    // Tabs stay tabs so that the caret stands under its text whatever the terminal's tab width.
    if (end <= first)
      carets += point == "\t" ? '\t' : ' ';
    else if (at < last)
      ++underlined;
  }
  if (to < line.size()) text += "...";
  carets += '^';  // an empty span is a place: one caret
  if (underlined > 1) carets.append(underlined - 1, '~');
  out += fmt::format("{}\n{}\n", text, carets);
}

void renderInto(std::string& out, const Diagnostic& diagnostic) {
  if (diagnostic.span) out += placeOf(diagnostic.span) + ": ";
  out += fmt::format("{}: {}\n", word(diagnostic.severity), diagnostic.message);
  if (diagnostic.span) renderExcerpt(out, diagnostic.span);
  if (!diagnostic.hint.empty()) out += fmt::format("  hint: {}\n", diagnostic.hint);
  for (const Diagnostic& note : diagnostic.notes) renderInto(out, note);
}

}  // namespace

std::string render(const Diagnostic& diagnostic) {
  std::string out;
  renderInto(out, diagnostic);
  return out;
}

std::string render(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) renderInto(out, diagnostic);
  return out;
}

UserError::UserError(ExitStatus status, std::vector<Diagnostic> diagnostics)
    : std::runtime_error(render(diagnostics)), status_(status), diagnostics_(std::move(diagnostics)) {}

UserError::UserError(ExitStatus status, std::string message, std::string hint, Span span)
    : UserError(status,
                std::vector<Diagnostic>{Diagnostic{Severity::error, span, std::move(message), std::move(hint), {}}}) {}

void throwErrors(std::vector<Diagnostic> errors) {
  if (errors.empty()) return;
  std::ranges::stable_sort(errors,
                           [](const Diagnostic& a, const Diagnostic& b) { return a.span.begin < b.span.begin; });
  if (errors.size() > mostErrors) {
    const std::size_t more = errors.size() - mostErrors;
    errors.resize(mostErrors);
    errors.push_back(
        {Severity::note, {}, fmt::format("{} more error{} not shown", more, more == 1 ? "" : "s"), {}, {}});
  }
  throw UserError(ExitStatus::program, std::move(errors));
}

}  // namespace lift
