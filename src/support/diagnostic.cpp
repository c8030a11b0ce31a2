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
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "error";
}

// The code points of a line; anything that is not UTF-8 is split into single bytes.
std::vector<std::string_view> codePoints(std::string_view line) {
  std::vector<std::string_view> points;
  for (std::size_t i = 0; i < line.size();) {
    std::size_t length = 1;
    while (length < 4 && i + length < line.size() && (static_cast<unsigned char>(line[i + length]) & 0xC0) == 0x80)
      ++length;
    points.push_back(line.substr(i, length));
    i += length;
  }
  return points;
}

// Longer lines (generated programs) are cut to a window around the caret.
constexpr std::size_t widest = 200;
constexpr std::size_t before = 80;

void renderExcerpt(std::string& out, const Span& span) {
  const std::string_view line = lineAt(*span.file, span.begin);
  const std::vector<std::string_view> points = codePoints(line);
  const std::size_t first =
      std::min(static_cast<std::size_t>(positionOf(*span.file, span.begin).column - 1), points.size());
  // A span that runs over several lines, or past the text, is underlined to the end of its first line.
  std::size_t last = points.size();
  const std::size_t lineBegin = static_cast<std::size_t>(line.data() - span.file->text.data());
  if (span.end <= lineBegin + line.size()) {
    std::size_t bytes = lineBegin;
    last = 0;
    while (last < points.size() && bytes < span.end) bytes += points[last++].size();
  }
  last = std::max(last, first + 1);  // an empty span is a place: one caret

  std::size_t from = 0;
  std::size_t to = points.size();
  if (points.size() > widest) {
    from = first > before ? first - before : 0;
    to = std::min(points.size(), from + widest);
  }
  std::string text;
  std::string carets;
  if (from > 0) text += "...", carets += "   ";
  for (std::size_t i = from; i < to; ++i) {
    const bool control = points[i].size() == 1 && points[i] != "\t" &&
                         (static_cast<unsigned char>(points[i][0]) < 0x20 || points[i][0] == 0x7F);
    text += control ? std::string_view("?") : points[i];
    // Tabs stay tabs so that the caret stands under its text whatever the terminal's tab width.
    if (i < first) carets += points[i] == "\t" ? '\t' : ' ';
  }
  if (to < points.size()) text += "...";
  carets += '^';
  const std::size_t end = std::min(last, std::max(to, first + 1));
  carets.append(end - first - 1, '~');
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

}  // namespace lift
