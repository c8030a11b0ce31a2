// Headers of generated kernels: the command that generates a kernel again, and the digest of its text, as comments.
//
//   // liftc conv g1mb1ic3… compile --family blocked --config pixels=14,vectors=2
//   // kernel conv_1, sha256 9f86d081…, by liftc 0.1.0
//   // conv_1: global (4, 1, 1), local (4, 1, 1)
//   __kernel …
//
// Plans carry kernels without headers: what drivers build, caches keep and digests cover is the text below the two
// lines. Headers are put on where kernels leave liftc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lift/kernel.hpp"

namespace lift::runtime {

struct KernelHeader {
  std::string command;    // "liftc conv …", one line, as a shell reads it
  std::string kernel;     // name
  std::string digest;     // SHA-256 of the text, 64 hexadecimal digits
  std::string generator;  // "liftc 0.1.0"

  std::string str() const;  // two lines
};

std::string kernelDigest(std::string_view source);

// The plan with a header on each of its sources.
kernel::Plan withHeaders(kernel::Plan plan, const std::string& command, const std::string& generator);

// The kernels with headers in a text, in order; what stands before the first header is left out.
struct HeadedKernel {
  KernelHeader header;
  std::string source;  // without the header
  bool unchanged() const { return kernelDigest(source) == header.digest; }
};
std::vector<HeadedKernel> readHeaders(std::string_view text);

}  // namespace lift::runtime
