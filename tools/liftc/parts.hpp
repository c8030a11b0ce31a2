// What `liftc explain` says of the parts of a program, and of the memory that they share.
#pragma once

#include "common.hpp"
#include "lift/operator.hpp"

namespace liftc {

// The parts of a program in the order in which they run: pattern, place, families.
Json partsJson(const lift::Program& program);
// Of a variant of the family `parts` also how each was derived, and its kernels in the plan; of another nothing.
Json partsJson(const lift::Variant& variant, const lift::Config& config, const lift::kernel::Plan& plan);
void printParts(const Json& parts);

// The plan's temporaries: when each is needed, and where it is.
Json memoryJson(const lift::kernel::Plan& plan);
void printMemory(const Json& memory);

}  // namespace liftc
