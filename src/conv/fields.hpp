// The numbers of a descriptor: one table row each, read by both notations, the printer and the checks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lift/conv.hpp"

namespace lift::conv {

// Of each pair, the row value precedes the column value.
enum class Field { g, mb, ic, oc, ih, iw, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw };
inline constexpr int fieldCount = 16;

struct FieldInfo {
  Field field;
  std::string_view key;        // benchdnn
  std::string_view shortFlag;  // MIOpenDriver; empty where it has none
  std::string_view longFlag;
  std::string_view meaning;
  std::int64_t ConvSpec::*member;
  std::int64_t least;  // smallest legal value
  Field other;         // of the other axis; itself where there is none
};
const FieldInfo& info(Field field);
const std::array<FieldInfo, fieldCount>& fields();

struct Problem {
  Field field;
  bool whole = false;  // concerns the layer, not one number
  std::string message;
  std::string hint;
};
// How the user wrote a field.
using Spelling = std::function<std::string(Field)>;

// One axis: the members of ConvSpec that belong to it, and its words.
struct Axis {
  Field i, o, k, s, p, d;
  std::int64_t ConvSpec::*padEnd;
  std::string_view lines, end;  // "rows", "bottom"
  std::int64_t extent(const ConvSpec& spec) const;
  // Padding at the end that the output size asks for; negative: input lines that no window reads.
  std::int64_t endNeeded(const ConvSpec& spec) const;
  std::string describeKernel(const ConvSpec& spec) const;  // "kernel of 3 rows"
};
const std::array<Axis, 2>& axes();

// The checks. Each assumes that the numbers it looks at passed checkRange.
void checkRange(const FieldInfo& field, std::int64_t value, const Spelling& spelling, std::vector<Problem>& problems);
void checkGroups(const ConvSpec& spec, const Spelling& spelling, std::vector<Problem>& problems);
bool checkExtent(const ConvSpec& spec, const Axis& axis, std::vector<Problem>& problems);
bool checkFits(const ConvSpec& spec, const Axis& axis, std::int64_t padStart, std::int64_t padEnd,
               std::vector<Problem>& problems);
// `padGiven`: the padding at the start was chosen by the user, not derived from the output size.
bool checkOutput(const ConvSpec& spec, const Axis& axis, bool padGiven, std::vector<Problem>& problems);
void checkVolume(const ConvSpec& spec, std::vector<Problem>& problems);

}  // namespace lift::conv
