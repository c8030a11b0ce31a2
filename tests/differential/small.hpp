// All small programs: every chain of stages over eight primitives (map, reduce, split, join, slide, pad, transpose,
// zip), each with a few arguments, applied to the whole array or under a map.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace lift::differential {

struct SmallProgram {
  std::string text;
  std::set<std::string> used;  // primitives
};

// All of `stages` stages, for each input shape; those of fewer stages are not among them.
std::vector<SmallProgram> smallPrograms(int stages);

}  // namespace lift::differential
