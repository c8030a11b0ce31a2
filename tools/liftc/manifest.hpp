// What `liftc compile -o DIR` leaves: kernels, and how to launch them.
#pragma once

#include <string>
#include <vector>

#include "common.hpp"
#include "lift/kernel.hpp"

namespace lift::liftc {

inline constexpr const char* generator = "liftc " LIFT_VERSION;

// How a plan came to be, for the headers of its kernels (kernel_header.hpp) and its manifest.
struct Provenance {
  std::vector<std::string> command;  // arguments of liftc that generate it again
  Json details = Json::object();     // what is to stand in the manifest besides

  // For which device it was compiled, and where its configuration comes from.
  void addChoice(const runtime::DeviceInfo& device, const std::string& origin);
};

// Where it comes from; kernels with digest, argument order and launch geometry, buffers with shapes, launches in order.
// Sizes that are not constants are expressions over the symbolic sizes.
Json manifest(const kernel::Plan& plan, const Provenance& provenance);

// --prefix, of the names in host.h and host.c, or in the library of C.
cli::Option* addPrefix(cli::App& app, std::string& prefix);

// What the subcommands that compile do with a plan. Where `directory` is not empty they write DIR/KERNEL.cl for each
// kernel, DIR/manifest.json, and DIR/host.h and DIR/host.c that launch them (host_code.hpp), whose names begin with
// `prefix`, or the plan's name where that is empty. Then they print the manifest as JSON, the names of the files, or
// the kernels. For the target "c" the files are DIR/NAME.c, DIR/NAME.h and the manifest (printCCode), and the source is
// what is printed.
void deliver(const kernel::Plan& plan, const Provenance& provenance, const std::string& directory, bool json,
             double compileMilliseconds, const std::string& prefix = {}, const std::string& target = "opencl");

}  // namespace lift::liftc
