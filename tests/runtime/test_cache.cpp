#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "../../src/runtime/cache.hpp"
#include "fixtures.hpp"
#include "lift/files.hpp"

using namespace lift;
using namespace lift::runtime;
using namespace lift::runtime::testing;

namespace fs = std::filesystem;

namespace {

std::string contentsOf(const fs::path& path) { return lift::readFile(path).value(); }

void write(const fs::path& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

const std::string payload("a binary\0with a zero", 20);
const Digest key = cacheKey({"source", "options"});

}  // namespace

TEST_CASE("SHA-256 of the standard's examples", "[null]") {
  CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("keys depend on every part and on where parts end", "[null]") {
  CHECK(cacheKey({"ab", "c"}) == cacheKey({"ab", "c"}));
  CHECK(cacheKey({"ab", "c"}) != cacheKey({"a", "bc"}));
  CHECK(cacheKey({"ab", "c"}) != cacheKey({"ab", "d"}));
  CHECK(cacheKey({"ab"}) != cacheKey({"ab", ""}));
}

TEST_CASE("an entry comes back as it was stored", "[null]") {
  const TemporaryFolder folder;
  const ProgramCache cache(folder.path() / "not" / "there" / "yet");
  CHECK_FALSE(cache.load(key).has_value());
  cache.store(key, payload);
  CHECK(cache.load(key) == payload);
  CHECK_FALSE(cache.load(cacheKey({"other"})).has_value());
  cache.store(key, "newer");
  CHECK(cache.load(key) == "newer");
  CHECK(cache.summary().entries == 1);
}

TEST_CASE("an entry truncated at any length is a miss, and can be stored again", "[null]") {
  const TemporaryFolder folder;
  const ProgramCache cache(folder.path());
  cache.store(key, payload);
  const fs::path file = *cache.file(key);
  const std::string whole = contentsOf(file);
  for (std::size_t length = 0; length < whole.size(); length++) {
    write(file, whole.substr(0, length));
    INFO(length);
    REQUIRE_FALSE(cache.load(key).has_value());
  }
  write(file, whole + "x");
  CHECK_FALSE(cache.load(key).has_value());
  cache.store(key, payload);
  CHECK(cache.load(key) == payload);
}

TEST_CASE("an entry with any byte flipped is a miss", "[null]") {
  const TemporaryFolder folder;
  const ProgramCache cache(folder.path());
  cache.store(key, payload);
  const fs::path file = *cache.file(key);
  const std::string whole = contentsOf(file);
  for (std::size_t i = 0; i < whole.size(); i++) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    write(file, damaged);
    INFO(i);
    REQUIRE_FALSE(cache.load(key).has_value());
  }
}

TEST_CASE("an entry under another key's name is a miss", "[null]") {
  const TemporaryFolder folder;
  const ProgramCache cache(folder.path());
  cache.store(key, payload);
  const Digest other = cacheKey({"other"});
  fs::copy_file(*cache.file(key), *cache.file(other));
  CHECK_FALSE(cache.load(other).has_value());
}

TEST_CASE("concurrent writers and readers: every hit is whole", "[null]") {
  const TemporaryFolder folder;
  const ProgramCache cache(folder.path());
  const auto version = [](int i) {
    return std::string(static_cast<std::size_t>(1000 + 997 * i), static_cast<char>('a' + i));
  };
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; round++) {
        cache.store(key, version(t));
        const std::optional<std::string> got = cache.load(key);
        if (!got || got->empty() || *got != version(got->front() - 'a')) bad++;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(bad == 0);
  // And nothing else is left behind.
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a directory that cannot be made is a cache that is always empty", "[null]") {
  const TemporaryFolder folder;
  write(folder.path() / "file", "");
  const ProgramCache cache(folder.path() / "file" / "cache");
  cache.store(key, payload);
  CHECK_FALSE(cache.load(key).has_value());
  CHECK(cache.summary().entries == 0);
  CHECK(cache.clear() == 0);
  const ProgramCache none(std::nullopt);
  none.store(key, payload);
  CHECK_FALSE(none.load(key).has_value());
  CHECK_FALSE(none.summary().enabled);
}

TEST_CASE("an entry that is a directory is a miss", "[null]") {
  const TemporaryFolder folder;
  const ProgramCache cache(folder.path());
  fs::create_directories(*cache.file(key));
  CHECK_FALSE(cache.load(key).has_value());
  cache.store(key, payload);
}

TEST_CASE("an entry that is a pipe is a miss, and keeps nobody waiting", "[null]") {
  const TemporaryFolder folder;
  const ProgramCache cache(folder.path());
  REQUIRE(mkfifo(cache.file(key)->c_str(), 0600) == 0);
  CHECK_FALSE(cache.load(key).has_value());
}

TEST_CASE("the environment says where the cache is and whether there is one", "[null]") {
  const TemporaryFolder folder;
  const Variable xdg("XDG_CACHE_HOME", folder.path().string());
  CHECK(cacheSummary().directory == folder.path() / "liftc" / "programs");
  CHECK(cacheSummary().enabled);
  {
    const Variable relative("XDG_CACHE_HOME", "somewhere");  // to be ignored
    const Variable home("HOME", (folder.path() / "home").string());
    CHECK(cacheSummary().directory == folder.path() / "home" / ".cache" / "liftc" / "programs");
    const Variable homeless("HOME", std::nullopt);
    CHECK_FALSE(cacheSummary().enabled);
  }
  for (const char* off : {"off", "0", "none"}) {
    const Variable cache("LIFTC_CACHE", off);
    CHECK_FALSE(cacheSummary().enabled);
    ProgramCache::fromEnvironment().store(key, payload);
    CHECK_FALSE(ProgramCache::fromEnvironment().load(key).has_value());
  }
  CHECK(cacheSummary().entries == 0);
  ProgramCache::fromEnvironment().store(key, payload);
  CHECK(cacheSummary().entries == 1);
  CHECK(cacheSummary().bytes > static_cast<std::int64_t>(payload.size()));
  CHECK(clearCache() == 1);
  CHECK(cacheSummary().entries == 0);
}

TEST_CASE("clearing removes entries and leftovers of writers, and nothing else", "[null]") {
  const TemporaryFolder folder;
  const ProgramCache cache(folder.path());
  for (int i = 0; i < 5; i++) cache.store(cacheKey({std::to_string(i)}), payload);
  write(folder.path() / "README", "mine");
  write(folder.path() / "notes.bin", "mine");
  write(folder.path() / (hex(key) + ".1-2-3.part"), "half");
  CHECK(cache.summary().entries == 5);
  CHECK(cache.clear() == 5);
  CHECK(fs::exists(folder.path() / "README"));
  CHECK(fs::exists(folder.path() / "notes.bin"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 2);
}

TEST_CASE("beyond its limit the cache drops what was unused for longest", "[null]") {
  const TemporaryFolder folder;
  const ProgramCache cache(folder.path(), 10'000);
  const auto entry = [](int i) { return cacheKey({std::to_string(i)}); };
  const std::string kilobyte(1000, 'x');
  const auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 20; i++) {
    cache.store(entry(i), kilobyte);
    fs::last_write_time(*cache.file(entry(i)), now - std::chrono::hours(100 - i));
  }
  CHECK(cache.load(entry(0)).has_value());  // used just now
  cache.prune();
  CHECK(cache.summary().bytes <= 5'000);
  CHECK(cache.load(entry(0)).has_value());
  CHECK(cache.load(entry(19)).has_value());
  CHECK_FALSE(cache.load(entry(1)).has_value());
  const std::int64_t left = cache.summary().entries;
  cache.prune();
  CHECK(cache.summary().entries == left);
}
