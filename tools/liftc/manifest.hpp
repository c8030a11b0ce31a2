// What `liftc compile -o DIR` leaves: kernels, and how to launch them.
#pragma once

#include <filesystem>

#include "common.hpp"
#include "lift/kernel.hpp"

namespace liftc {

// Kernels with argument order and launch geometry, buffers with shapes, launches in order. Sizes that are not
// constants are expressions over the symbolic sizes.
Json manifest(const lift::kernel::Plan& plan);

// DIR/KERNEL.cl for each kernel, DIR/manifest.json, and DIR/host.h and DIR/host.c that launch them (host_code.hpp).
void writeArtefacts(const std::filesystem::path& directory, const lift::kernel::Plan& plan);

}  // namespace liftc
