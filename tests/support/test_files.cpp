// Files are replaced whole, and stay what they were otherwise.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "lift/files.hpp"
#include "lift/process.hpp"

using namespace lift;
namespace fs = std::filesystem;

namespace {

std::ptrdiff_t filesIn(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

}  // namespace

TEST_CASE("a file of the longest name that there is can be written") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / std::string(255, 'n');
  writeFile(path, "one");
  writeFile(path, "another");
  CHECK(readFile(path) == "another");
  CHECK(filesIn(folder.path()) == 1);
}

TEST_CASE("a file that is replaced keeps its mode") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "secret";
  writeFile(path, "one");
  constexpr auto mine = fs::perms::owner_read | fs::perms::owner_write;
  fs::permissions(path, mine);
  writeFile(path, "another");
  CHECK(fs::status(path).permissions() == mine);
  CHECK(readFile(path) == "another");
}

TEST_CASE("through a link its file is written, whether it is there or not") {
  const TemporaryFolder folder;
  const fs::path link = folder.path() / "link";
  fs::create_directory(folder.path() / "below");
  fs::create_symlink("below/file", link);
  for (const char* contents : {"one", "another"}) {
    writeFile(link, contents);
    CHECK(fs::is_symlink(link));
    CHECK(readFile(folder.path() / "below" / "file") == contents);
  }
}
