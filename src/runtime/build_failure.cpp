#include "build_failure.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lift::runtime {
namespace {

std::string firstLines(const std::string& text, int lines, std::size_t bytes) {
  std::size_t end = 0;
  for (int i = 0; i < lines && end < text.size(); i++) {
    const std::size_t newline = text.find('\n', end);
    end = newline == std::string::npos ? text.size() : newline + 1;
  }
  end = std::min(end, bytes);
  std::string out = text.substr(0, end);
  while (!out.empty() && (out.back() == '\n' || out.back() == '\0')) out.pop_back();
  return end < text.size() ? out + "\n…" : out;
}

}  // namespace

UserError buildFailure(std::string message, std::string hint, const std::string& log, const std::string& source) {
  Diagnostic d;
  d.message = std::move(message);
  d.hint = std::move(hint);
  const auto note = [&](const char* title, const std::string& text) {
    Diagnostic n;
    n.severity = Severity::note;
    n.message = fmt::format("{}\n{}", title, text);
    d.notes.push_back(std::move(n));
  };
  note("the driver's log:", log.empty() ? "(empty)" : firstLines(log, 40, 8000));
  note("the source begins:", firstLines(source, 20, 4000));
  return UserError(ExitStatus::device, std::vector<Diagnostic>{std::move(d)});
}

}  // namespace lift::runtime
