// An entry is: magic, format number, key, payload length, SHA-256 of the payload, payload. Numbers are little endian.
#include "cache.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <random>
#include <system_error>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"

namespace lift::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "LIFTPROG";
constexpr std::uint32_t formatNumber = 1;
constexpr std::size_t headerBytes = magic.size() + 4 + sizeof(Digest) + 8 + sizeof(Digest);
constexpr std::string_view extension = ".bin";
constexpr std::string_view temporaryExtension = ".part";

std::string littleEndian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; i++) out += static_cast<char>((value >> (8 * i)) & 0xFFU);
  return out;
}

std::string_view view(const Digest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

std::string header(const Digest& key, std::string_view payload) {
  std::string out(magic);
  out += littleEndian(formatNumber, 4);
  out += view(key);
  out += littleEndian(payload.size(), 8);
  out += view(sha256(payload));
  return out;
}

// Only names of this form are ever read, counted or removed.
bool isEntry(const fs::path& path, std::string_view ending) {
  const std::string name = path.filename().string();
  return name.size() >= 64 + ending.size() && name.substr(name.size() - ending.size()) == ending &&
         std::all_of(name.begin(), name.begin() + 64,
                     [](char c) { return std::string_view("0123456789abcdef").find(c) != std::string_view::npos; });
}

std::vector<fs::path> filesIn(const fs::path& directory, std::string_view ending) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::directory_iterator it(directory, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error))
    if (isEntry(it->path(), ending)) files.push_back(it->path());
  return files;
}

std::optional<fs::path> directoryFromEnvironment() {
  // The XDG specification: relative paths are to be ignored.
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && *xdg == '/') return fs::path(xdg) / "liftc" / "programs";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return fs::path(home) / ".cache" / "liftc" / "programs";
  return std::nullopt;
}

bool switchedOff() {
  const char* value = std::getenv("LIFTC_CACHE");
  if (value == nullptr) return false;
  const std::string_view v = value;
  return v == "off" || v == "0" || v == "none";
}

}  // namespace

Digest sha256(std::string_view bytes) {
  Digest digest{};
  unsigned int length = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  ensure(ok == 1 && length == digest.size(), "SHA-256 is not available");
  return digest;
}

std::string hex(const Digest& digest) {
  std::string out;
  for (unsigned char byte : digest) out += fmt::format("{:02x}", byte);
  return out;
}

Digest cacheKey(const std::vector<std::string>& parts) {
  std::string all = littleEndian(formatNumber, 4);
  for (const std::string& part : parts) all += littleEndian(part.size(), 8) + part;
  return sha256(all);
}

ProgramCache::ProgramCache(std::optional<fs::path> directory, std::int64_t limitBytes)
    : directory_(std::move(directory)), limitBytes_(limitBytes) {}

ProgramCache ProgramCache::fromEnvironment() {
  return ProgramCache(switchedOff() ? std::nullopt : directoryFromEnvironment());
}

std::optional<fs::path> ProgramCache::file(const Digest& key) const {
  if (!directory_) return std::nullopt;
  return *directory_ / (hex(key) + std::string(extension));
}

std::optional<std::string> ProgramCache::load(const Digest& key) const {
  const std::optional<fs::path> path = file(key);
  std::error_code ignored;
  if (!path || !fs::is_regular_file(*path, ignored)) return std::nullopt;  // a pipe might keep us waiting
  const auto contents = readFile(*path);
  if (!contents || contents->size() < headerBytes) return std::nullopt;
  const std::string_view payload = std::string_view(*contents).substr(headerBytes);
  // The header is a function of key and payload: one comparison finds every kind of damage.
  if (std::string_view(*contents).substr(0, headerBytes) != header(key, payload)) return std::nullopt;
  fs::last_write_time(*path, fs::file_time_type::clock::now(), ignored);  // used: prune() removes it last
  return std::string(payload);
}

void ProgramCache::store(const Digest& key, std::string_view binary) const {
  static std::atomic<std::uint64_t> stores{0};
  const std::optional<fs::path> path = file(key);
  if (!path || binary.empty()) return;
  const std::uint64_t number = stores++;
  std::error_code error;
  fs::create_directories(*directory_, error);
  if (error) return;
  const fs::path temporary = *directory_ / fmt::format("{}.{}-{}-{:08x}{}", hex(key), getpid(), number,
                                                       std::random_device{}(), temporaryExtension);
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << header(key, binary) << binary;
    out.close();
    if (!out) {
      fs::remove(temporary, error);
      return;
    }
  }
  fs::rename(temporary, *path, error);
  if (error) fs::remove(temporary, error);
  if (number % 64 == 0) prune();
}

std::vector<fs::path> ProgramCache::entries() const {
  return directory_ ? filesIn(*directory_, extension) : std::vector<fs::path>{};
}

void ProgramCache::prune() const {
  struct Entry {
    fs::file_time_type used;
    std::int64_t bytes;
    fs::path path;
  };
  std::vector<Entry> all;
  std::int64_t total = 0;
  for (const fs::path& path : entries()) {
    std::error_code error;
    const auto used = fs::last_write_time(path, error);
    if (error) continue;
    const auto bytes = fs::file_size(path, error);
    if (error) continue;
    all.push_back({used, static_cast<std::int64_t>(bytes), path});
    total += static_cast<std::int64_t>(bytes);
  }
  if (total <= limitBytes_) return;
  std::ranges::sort(all, [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& e : all) {
    if (total <= limitBytes_ / 2) break;
    std::error_code ignored;
    fs::remove(e.path, ignored);
    total -= e.bytes;
  }
}

CacheSummary ProgramCache::summary() const {
  CacheSummary s;
  s.enabled = directory_.has_value();
  if (directory_) s.directory = *directory_;
  for (const fs::path& path : entries()) {
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error) continue;
    s.entries++;
    s.bytes += static_cast<std::int64_t>(bytes);
  }
  return s;
}

std::int64_t ProgramCache::clear() const {
  std::int64_t removed = 0;
  std::error_code ignored;
  for (const fs::path& path : entries())
    if (fs::remove(path, ignored)) removed++;
  // What writers left that were killed. One that is writing now finds its file gone, which is only a missing entry.
  if (directory_)
    for (const fs::path& path : filesIn(*directory_, temporaryExtension)) fs::remove(path, ignored);
  return removed;
}

// Switched off or not, the entries are where they are: these two look at the directory all the same.
CacheSummary cacheSummary() {
  CacheSummary s = ProgramCache(directoryFromEnvironment()).summary();
  s.enabled = s.enabled && !switchedOff();
  return s;
}

std::int64_t clearCache() { return ProgramCache(directoryFromEnvironment()).clear(); }

}  // namespace lift::runtime
