// What a compiler of kernels says, as a diagnostic.
#pragma once

#include <string>

#include "lift/diagnostic.hpp"

namespace lift::runtime {

// Of status `device`, with the beginnings of the compiler's log and of the source.
UserError buildFailure(std::string message, std::string hint, const std::string& log, const std::string& source);

}  // namespace lift::runtime
