// Programs that say where they run: tiles staged for a work-group.
#pragma once

#include <string>

#include "differential/drawing.hpp"

namespace lift::differential {

// Tiles are staged for a work-group and rearranged, so that work-items read what others wrote; then each of them
// reduces a row. The text of a definition.
std::string tiledProgram(Drawing& drawing, const std::string& groups);

}  // namespace lift::differential
