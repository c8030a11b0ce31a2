#include "files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"

namespace lift::files {

namespace fs = std::filesystem;

void damaged(const std::string& name, const std::string& what, std::string hint) {
  throw UserError(ExitStatus::program, fmt::format("'{}': {}", name, what), std::move(hint));
}

namespace {

std::string reason(int error) { return std::generic_category().message(error != 0 ? error : EIO); }

bool writeStream(const fs::path& path, std::string_view contents) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  out.close();
  return static_cast<bool>(out);
}

}  // namespace

std::string readFile(const fs::path& path) {
  auto contents = lift::readFile(path);
  if (!contents) damaged(path.string(), "cannot read: " + (errno == EISDIR ? "it is a directory" : reason(errno)));
  return std::move(*contents);
}

void writeFile(const fs::path& path, std::string_view contents) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) damaged(path.string(), "cannot write: it is a directory");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    if (!writeStream(path, contents)) damaged(path.string(), "cannot write: " + reason(errno));
    return;
  }
  // Through a link the file that it names is replaced, not the link.
  const fs::path target = fs::exists(status) ? fs::canonical(path, error) : path;
  if (error && fs::exists(status)) damaged(path.string(), "cannot write: " + error.message());
  static std::atomic<unsigned> counter{0};
  fs::path temporary = target;
  temporary += fmt::format(".{}-{}.tmp", ::getpid(), counter++);
  if (!writeStream(temporary, contents)) {
    const int cause = errno;
    fs::remove(temporary, error);
    damaged(path.string(), "cannot write: " + reason(cause));
  }
  fs::rename(temporary, target, error);
  if (error) {
    const std::string cause = error.message();
    fs::remove(temporary, error);
    damaged(path.string(), "cannot write: " + cause);
  }
}

}  // namespace lift::files
