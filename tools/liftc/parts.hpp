// What `liftc explain` says of the parts of a program, and of the memory that they share.
#pragma once

#include "common.hpp"
#include "lift/operator.hpp"

namespace lift::liftc {

// The parts of a program in the order in which they run: pattern, place, families.
Json partsJson(const Program& program);
// How each part of the family `parts` is derived; of another family nothing. `otherwise` says where tunables are from
// that are not those of the part's choice.
Json partChoicesJson(const OperatorFamily& family, const Config& config, const std::string& otherwise = "as given");
// The same on one line: "p1 matrix product: panels, columns=32,lanes=16,rows=8 (the family's default); p2 …".
std::string partChoicesText(const Json& choices);
// The parts of a variant of the family `parts`, how each was derived, and its kernels in the plan; of other variants,
// an empty array.
Json partsJson(const Variant& variant, const Config& config, const kernel::Plan& plan,
               const std::string& otherwise = "as given");
void printParts(const Json& parts);

// The plan's temporaries: when each is needed, and where it is.
Json memoryJson(const kernel::Plan& plan);
void printMemory(const Json& memory);

}  // namespace lift::liftc
