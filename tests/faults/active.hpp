// Which seeded fault is switched on: the one that the environment variable LIFT_FAULT names.
#pragma once

#include <string_view>

namespace lift::faults {

bool active(std::string_view name);

}  // namespace lift::faults
