// Limits of devices, from the JSON of `liftc devices` and of profiles.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lift/diagnostic.hpp"
#include "lift/image_layout.hpp"
#include "lift/space.hpp"

namespace lift {
namespace {

using Json = nlohmann::json;

class Profile {
 public:
  Profile(std::string_view text, const std::string& file)
      : file_(file), json_(Json::parse(text, nullptr, /*allow_exceptions=*/false)) {
    if (!json_.is_object()) fail("expected a JSON object", "an entry of `liftc devices --json` is one");
  }

  std::string text(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_string()) fail(fmt::format("expected a text \"{}\"", key));
    return *found;
  }

  // Whether the key has that value.
  bool is(const char* key, const Json& value) const {
    const auto found = json_.find(key);
    return found != json_.end() && *found == value;
  }

  bool atLeast(const char* key, std::int64_t least) const {
    return json_.contains(key) && limit(key) >= least && !is(key, 0);
  }

  // A positive number; unlimited where there is none, or zero.
  std::int64_t limit(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? DeviceLimits::unlimited : limit(*found, key);
  }

  std::array<std::int64_t, 3> limits(const char* key) const {
    std::array<std::int64_t, 3> result;
    result.fill(DeviceLimits::unlimited);
    const auto found = json_.find(key);
    if (found == json_.end()) return result;
    if (!found->is_array() || found->size() != result.size())
      fail(fmt::format("expected three numbers in \"{}\"", key));
    for (std::size_t d = 0; d < result.size(); d++) result[d] = limit((*found)[d], key);
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const {
    throw UserError(ExitStatus::program, fmt::format("'{}': {}", file_, what), hint);
  }

  std::int64_t limit(const Json& value, const char* key) const {
    if (!value.is_number_integer() || value < 0) fail(fmt::format("expected a number of at least 0 in \"{}\"", key));
    const auto bound = static_cast<std::uint64_t>(DeviceLimits::unlimited);
    const std::uint64_t number = value;
    return number == 0 || number > bound ? DeviceLimits::unlimited : static_cast<std::int64_t>(number);
  }

  const std::string& file_;
  const Json json_;
};

}  // namespace

DeviceLimits parseDeviceLimits(std::string_view json, const std::string& file) {
  const Profile profile(json, file);
  DeviceLimits limits;
  limits.name = profile.text("name");
  limits.groupSize = profile.limit("max_work_group_size");
  limits.groupSizes = profile.limits("max_work_item_sizes");
  limits.globalSizes = profile.limits("max_global_sizes");
  limits.privateBytes = profile.limit("private_memory_bytes");
  limits.localBytes = profile.limit("local_memory_bytes");
  limits.bufferBytes = profile.limit("max_allocation_bytes");
  limits.globalBytes = profile.limit("global_memory_bytes");
  // Rows are of one width: a device that says nothing of images has none.
  const std::int64_t rows =
      profile.atLeast("max_image_width", ImageLayout::rowTexels) ? profile.limit("max_image_height") : 0;
  limits.imageElements = rows == DeviceLimits::unlimited ? rows : rows * ImageLayout::rowElements;
  limits.target.groupSize = limits.groupSize;
  limits.target.groupSizes = limits.groupSizes;
  limits.target.wideCopies = profile.is("type", "cpu") && profile.is("fp16", false);
  limits.target.isC = profile.is("language_version", "C11");
  limits.target.isGpu = profile.is("type", "gpu");
  if (limits.target.isC && !profile.is("platform", "clang") && profile.atLeast("vector_width_f32", 2))
    limits.target.vectorBytes = static_cast<int>(profile.limit("vector_width_f32") * std::int64_t{sizeof(float)});
  // Clang's and GCC's way to ask for a line is that of C and of PoCL; others may not have it.
  if (limits.target.isC || (profile.is("type", "cpu") && profile.is("platform", "Portable Computing Language")))
    limits.target.lineBytes = profile.atLeast("cache_line_bytes", 16)
                                  ? static_cast<int>(std::min<std::int64_t>(profile.limit("cache_line_bytes"), 4096))
                                  : 64;
  if (limits.target.lineBytes > 0 && profile.atLeast("cache_bytes", 1))
    limits.target.cacheBytes = profile.limit("cache_bytes");
  return limits;
}

}  // namespace lift
