// Private to kernel: loops in pieces.
#pragma once

#include <optional>
#include <set>

#include "lift/kernel.hpp"

namespace lift::kernel {

// Where conditions change: known when the loop begins only, or always.
enum class Points : bool { given, constant };

// Copies of a loop for pieces of its range, one after the other, in which conditions around memory accesses are known;
// none where nothing is gained. `uniform`: variables that conditions may be about, whose values all work-items share.
std::optional<Block> inPieces(Kernel& kernel, const For& loop, Points at, const std::set<NatVar>& uniform);

}  // namespace lift::kernel
