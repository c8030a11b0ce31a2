// .npy files: what is read is written as a file that reads the same.
#include "fuzz/target.hpp"
#include "lift/tensor.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lift::fuzz::onText(data, size, [](std::string_view contents) {
    const lift::Tensor tensor = lift::parseNpy(contents, "fuzz.npy");
    const lift::Tensor again = lift::parseNpy(lift::formatNpy(tensor), "again.npy");
    lift::ensure(again.bytes == tensor.bytes && again.shape == tensor.shape && again.scalar == tensor.scalar,
                 "what is written reads back as something else");
  });
}
