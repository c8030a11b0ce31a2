// Descriptors of convolution layers, one or a file of them: what is read has a canonical descriptor that reads the
// same.
#include "fuzz/target.hpp"
#include "lift/conv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto check = [](const lift::ConvSpec& spec) {
    lift::ensure(lift::parseConv(spec.str()).str() == spec.str(), "a descriptor reads back as something else");
  };
  lift::fuzz::onText(data, size, [&](std::string_view text) { check(lift::parseConv(text)); });
  return lift::fuzz::onText(data, size, [&](std::string_view text) {
    for (const auto& spec : lift::parseShapes(text, "fuzz.txt")) check(spec);
  });
}
