#include "files.hpp"

#include <fmt/format.h>

#include <utility>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"

namespace lift::files {

void damaged(const std::string& name, const std::string& what, std::string hint) {
  throw UserError(ExitStatus::program, fmt::format("'{}': {}", name, what), std::move(hint));
}

std::string readFile(const std::filesystem::path& path) {
  auto contents = lift::readFile(path);
  if (!contents) damaged(path.string(), "cannot read: " + whyUnreadable());
  return std::move(*contents);
}

}  // namespace lift::files
