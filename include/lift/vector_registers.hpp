// The vector registers of processors.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lift/device.hpp"

namespace lift::runtime {

// Those of processors with AVX-512, unless said otherwise.
struct VectorRegisters {
  std::int64_t lanes = 16;  // of f32
  std::int64_t count = 32;
  friend bool operator==(const VectorRegisters&, const VectorRegisters&) = default;
};

// Of a processor: AVX, SSE and the first NEON have 16 of them.
inline VectorRegisters vectorRegisters(const DeviceInfo& processor) {
  const std::int64_t lanes = std::clamp(processor.vectorWidthF32, 4, 16);
  return {lanes, lanes == 16 ? 32 : 16};
}

}  // namespace lift::runtime
