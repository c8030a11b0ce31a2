// Indices that several statements compute of data by the same expression.
#pragma once

#include "lift/kernel.hpp"

namespace lift::kernel {

// An index that is computed by the same expression as one in scope is that one, where nothing changes what it is
// computed of.
void joinEqualIndices(Kernel& kernel);

}  // namespace lift::kernel
