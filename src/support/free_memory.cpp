#include "lift/free_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

#include "lift/files.hpp"

namespace lift {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

// The number behind a word of a text; nothing where there is none ("max").
std::optional<std::int64_t> numberAfter(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return std::nullopt;
  const char* const begin = text.c_str() + at + word.size();
  char* end = nullptr;
  const long long value = std::strtoll(begin, &end, 10);
  return end == begin ? std::nullopt : std::optional<std::int64_t>(value);
}
std::optional<std::int64_t> numberIn(const std::filesystem::path& file) {
  const auto text = readFile(file);
  return text ? numberAfter(*text, "") : std::nullopt;
}

// What the control groups around the process leave. Pages of files that were read can be had back.
std::int64_t leftByGroups() {
  const auto own = readFile("/proc/self/cgroup");
  if (!own) return unlimited;
  const std::filesystem::path root = "/sys/fs/cgroup";
  std::int64_t left = unlimited;
  const auto ask = [&](const std::filesystem::path& group, const char* limit, const char* usage) {
    const auto most = numberIn(group / limit), used = numberIn(group / usage);
    if (!most || !used) return;
    const auto statistics = readFile(group / "memory.stat");
    const std::int64_t files = statistics ? numberAfter(*statistics, "inactive_file ").value_or(0) : 0;
    left = std::min(left, std::max<std::int64_t>(0, *most - (*used - files)));
  };
  // "0::/a/b" of version 2, "4:memory:/a/b" of version 1; groups may be mounted from another root.
  for (std::size_t at = 0; at < own->size();) {
    const std::size_t end = std::min(own->find('\n', at), own->size());
    const std::string line = own->substr(at, end - at);
    at = end + 1;
    const std::size_t slash = line.find(":/");
    const bool isFirst = line.find(":memory:") != std::string::npos, isSecond = line.starts_with("0::");
    if (slash == std::string::npos || (!isFirst && !isSecond)) continue;
    const std::filesystem::path top = isFirst ? root / "memory" : root;
    for (std::filesystem::path below = line.substr(slash + 2);; below = below.parent_path()) {
      if (isFirst)
        ask(top / below, "memory.limit_in_bytes", "memory.usage_in_bytes");
      else
        ask(top / below, "memory.max", "memory.current");
      if (below.empty()) break;
    }
  }
  return left;
}

std::int64_t leftOfAddresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  const std::int64_t used = numberIn("/proc/self/statm").value_or(0) * sysconf(_SC_PAGESIZE);
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - used);
}

}  // namespace

std::int64_t freeMemory() {
  std::int64_t left = std::min(leftByGroups(), leftOfAddresses());
  if (const auto system = readFile("/proc/meminfo"))
    if (const auto kilobytes = numberAfter(*system, "MemAvailable:")) left = std::min(left, *kilobytes * 1024);
  return left;
}

}  // namespace lift
