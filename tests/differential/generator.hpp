// Random typed programs as text: chains of stages over arrays of f32, or maps spread over work-groups and work-items.
#pragma once

#include <map>
#include <string>

#include "differential/choices.hpp"

namespace lift::differential {

struct Generated {
  std::string text;                 // a definition `main` of array parameters x, y; sizes are numbers or n
  std::map<std::string, int> used;  // how often each construct stands in it
};

Generated generate(Choices& choices);

}  // namespace lift::differential
