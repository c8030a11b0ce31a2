// Memory of a plan's temporaries: when each is needed, and which share memory. Devices, host code and reports of
// workspace all go by it.
//
//   const Slots slots = shareTemporaries(plan, bytes);          // bytes of each buffer
//   slots.slot[b], slots.bytes                             // where buffer b is; what to allocate
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lift/kernel.hpp"

namespace lift::kernel {

// When a temporary is needed: positions in the sequence preparation, launches; both ends included. What preparation
// leaves for the launches is kept to the end, since the launches may be repeated.
struct Lifetime {
  int first = 0;
  int last = 0;
  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};
// One entry per plan buffer: nothing for inputs, outputs and temporaries that no launch uses.
std::vector<std::optional<Lifetime>> temporaryLifetimes(const Plan& plan);

// Buffers in one slot are never alive together. Loops of launches may exchange the memory of two slots: these are of
// one size.
struct Slots {
  std::vector<int> slot;                     // by buffer; -1 for none
  std::vector<std::vector<std::size_t>> of;  // by slot: the buffers that its memory must hold, in ascending order
  std::vector<std::int64_t> bytes;           // by slot: of the largest of these
};
// Places buffers in slots, the largest first. `exchanged` are pairs of buffers that loops exchange. Where sizes are
// symbolic, bytes may be estimates: slots are right whatever they are, if each then gets the most that `of` says.
Slots shareMemory(const std::vector<std::optional<Lifetime>>& lifetimes, const std::vector<std::int64_t>& bytes,
                  const std::vector<std::pair<int, int>>& exchanged = {});
Slots shareTemporaries(const Plan& plan, const std::vector<std::int64_t>& bytes);
// Bytes of the slots of a plan without symbolic sizes.
std::int64_t workspaceOf(const Plan& plan);

}  // namespace lift::kernel
