// Names of indices that printers write as pointers.
//
// Where every use of a name adds it to an index of one array in global memory, "const int at = e; ... x[at + i]" is
// written as "const float* at = x + e; ... at[i]". A pointer is a base register. A sum of int is widened to 64 bits at
// each access, by Clang often in vector registers, which accumulators then lack.
#pragma once

#include <optional>
#include <unordered_map>

#include "lift/kernel.hpp"

namespace lift::kernel {

// By the name, the array that it points into. Neither a name's value nor what is added to it is ever negative, so that
// no pointer is before its array, and none that is used beyond it.
using Pointers = std::unordered_map<NatVar, BufferId>;
Pointers pointersOf(const Kernel& kernel);

// The term of the sum that is one of these names: the last that was made; none where the others may be negative.
template <class Names>
std::optional<NatVar> baseOf(Nat sum, const Names& names) {
  std::optional<NatVar> base;
  const auto consider = [&](Nat term) {
    const auto v = term.variable();
    if (v && names.contains(*v) && (!base || *base < *v)) base = v;
  };
  if (sum.kind() == Nat::Kind::sum)
    for (const Nat term : sum.operands()) consider(term);
  else
    consider(sum);
  if (!base) return base;
  const Nat rest = sum - Nat(*base);
  return rest.lower().value_or(-1) >= 0 && !rest.mentions(*base) ? base : std::nullopt;
}

}  // namespace lift::kernel
