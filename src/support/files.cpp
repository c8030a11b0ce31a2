#include "lift/files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "lift/diagnostic.hpp"

namespace lift {

namespace fs = std::filesystem;

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

std::string whyUnreadable() {
  return errno == EISDIR ? "it is a directory" : std::generic_category().message(errno != 0 ? errno : EIO);
}

std::string readInput(const fs::path& path) {
  auto contents = readFile(path);
  if (!contents)
    throw UserError(ExitStatus::program, fmt::format("cannot read '{}': {}", path.string(), whyUnreadable()));
  return std::move(*contents);
}

namespace {

[[noreturn]] void cannotWrite(const fs::path& path, const std::string& why) {
  throw UserError(ExitStatus::program, fmt::format("cannot write '{}': {}", path.string(), why));
}

// What went wrong; 0 for nothing.
int writeStream(const fs::path& path, std::string_view contents, fs::perms mode = fs::perms::unknown) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  std::error_code ignored;  // some file systems have no modes
  if (out && mode != fs::perms::unknown) fs::permissions(path, mode, ignored);
  out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  out.close();
  return out ? 0 : errno != 0 ? errno : EIO;
}

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

void writeFile(const fs::path& path, std::string_view contents) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) cannotWrite(path, "it is a directory");
  const bool isDangling = !fs::exists(status) && fs::is_symlink(fs::symlink_status(path, error));
  if (isDangling || (fs::exists(status) && !fs::is_regular_file(status))) {
    if (const int cause = writeStream(path, contents)) cannotWrite(path, reason(cause));
    return;
  }
  // Through a link the file that it names is replaced, not the link.
  const fs::path target = fs::exists(status) ? fs::canonical(path, error) : path;
  if (error && fs::exists(status)) cannotWrite(path, error.message());
  static std::atomic<unsigned> counter{0};
  const fs::path temporary = target.parent_path() / fmt::format(".lift-{}-{}.tmp", ::getpid(), counter++);
  if (const int cause = writeStream(temporary, contents, status.permissions())) {
    fs::remove(temporary, error);
    cannotWrite(path, reason(cause));
  }
  fs::rename(temporary, target, error);
  if (error) {
    const std::string cause = error.message();
    fs::remove(temporary, error);
    cannotWrite(path, cause);
  }
}

}  // namespace lift
