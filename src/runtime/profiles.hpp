// The profiles of profiles/, which are part of the library.
#pragma once

#include <string_view>
#include <vector>

namespace lift::runtime {

struct ShippedProfile {
  std::string_view name, json;
};
const std::vector<ShippedProfile>& shippedProfiles();

}  // namespace lift::runtime
