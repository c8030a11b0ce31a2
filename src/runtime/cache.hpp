// The files of the cache of program binaries. Every failure to read is a miss, every failure to write is ignored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lift/device.hpp"
#include "lift/digest.hpp"

namespace lift::runtime {

// What a binary depends on, hashed; the strings are kept apart, so that ("ab", "c") differs from ("a", "bc").
Digest cacheKey(const std::vector<std::string>& parts);

class ProgramCache {
 public:
  // Keeps entries in `directory`, which need not exist yet; none: every lookup misses.
  explicit ProgramCache(std::optional<std::filesystem::path> directory,
                        std::int64_t limitBytes = std::int64_t{1} << 30);
  // The one that the environment names, none when it is switched off.
  static ProgramCache fromEnvironment();

  std::optional<std::string> load(const Digest& key) const;
  // The entry appears whole or not at all, also with several writers.
  void store(const Digest& key, std::string_view binary) const;
  // Removes the entries unused for longest until those left take at most half of the limit, if they exceed it.
  void prune() const;

  CacheSummary summary() const;
  std::int64_t clear() const;
  std::optional<std::filesystem::path> file(const Digest& key) const;

 private:
  std::vector<std::filesystem::path> entries() const;

  std::optional<std::filesystem::path> directory_;
  std::int64_t limitBytes_;
};

}  // namespace lift::runtime
