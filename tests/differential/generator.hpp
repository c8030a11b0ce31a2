// Random typed programs as text: chains of stages over arrays of f32, programs over rows of any length, and maps spread
// over work-groups and work-items.
//
// generator.cpp draws whole programs; arrays.hpp the stages over arrays of any rank, rows.hpp those over one dimension,
// tiles.hpp the maps; drawing.hpp is what they have in common.
#pragma once

#include <map>
#include <string>

#include "differential/choices.hpp"

namespace lift::differential {

struct Generated {
  // A definition `main` of array parameters x, y, behind those that it uses; sizes are numbers or n.
  std::string text;
  // The same program where definitions are replaced by what they are defined as; empty where there are none.
  std::string expanded;
  std::map<std::string, int> used;  // how often each construct stands in it
};

Generated generate(Choices& choices);

}  // namespace lift::differential
