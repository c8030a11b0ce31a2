#include "faults/active.hpp"

#include <cstdlib>
#include <string>

namespace lift::faults {

bool active(std::string_view name) {
  static const std::string chosen = [] {
    const char* value = std::getenv("LIFT_FAULT");
    return std::string(value ? value : "");
  }();
  return name == chosen;
}

}  // namespace lift::faults
