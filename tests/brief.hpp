// Diagnostics in few words.
#pragma once

#include <cctype>
#include <sstream>
#include <string>

namespace lift::test {

// Rendered diagnostics, a line each: "1:14-15 message (hint)", the columns instead of the source line and its carets;
// without the file's name and "error: ".
inline std::string brief(const std::string& rendered) {
  std::string text;
  std::istringstream in(rendered);
  for (std::string line, source, carets; std::getline(in, line);) {
    if (line.starts_with("  hint: ")) {
      text += " (" + line.substr(8) + ")";
      continue;
    }
    if (!text.empty()) text += "\n";
    const std::size_t file = line.find(':'), row = line.find(':', file + 1), column = line.find(':', row + 1);
    if (column == std::string::npos || !std::isdigit(static_cast<unsigned char>(line[file + 1]))) {
      text += line;
      continue;
    }
    std::getline(in, source);
    std::getline(in, carets);
    const std::size_t first = std::stoul(line.substr(row + 1)), width = carets.size() - carets.find('^');
    const std::string message = line.substr(column + 2);
    text += line.substr(file + 1, column - file - 1) + (width > 1 ? "-" + std::to_string(first + width - 1) : "") +
            " " + message.substr(message.starts_with("error: ") ? 7 : 0);
  }
  return text;
}

}  // namespace lift::test
