// A fuzz target is a function from bytes to 0; libFuzzer or standalone.cpp call it. What a user can cause is a
// UserError and caught; anything else (InternalError, a crash, a sanitizer's report) is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lift/diagnostic.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace lift::fuzz {

template <class F>
int onText(const std::uint8_t* data, std::size_t size, F&& f) {
  try {
    f(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const UserError& e) {
    render(e.diagnostics());
  }
  return 0;
}

}  // namespace lift::fuzz
