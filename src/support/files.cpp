#include "lift/files.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

namespace lift {

std::optional<std::string> readFile(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);  // opens like a file, and fails when it is read
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (folder) errno = EISDIR;
  if (folder || !in) return std::nullopt;
  std::string bytes;
  char piece[1 << 16];  // pipes have no size, and a file may grow or shrink meanwhile
  while (in.read(piece, sizeof piece), in.gcount() > 0) bytes.append(piece, static_cast<std::size_t>(in.gcount()));
  return in.bad() ? std::nullopt : std::optional(std::move(bytes));
}

}  // namespace lift
