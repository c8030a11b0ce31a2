// .npz archives: what is read is written as an archive that reads the same.
#include "fuzz/target.hpp"
#include "lift/tensor.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lift::fuzz::onText(data, size, [](std::string_view contents) {
    const auto tensors = lift::parseNpz(contents, "fuzz.npz");
    const auto again = lift::parseNpz(lift::formatNpz(tensors), "again.npz");
    lift::ensure(again.size() == tensors.size(), "what is written reads back as something else");
    for (const auto& [name, tensor] : tensors)
      lift::ensure(again.at(name).bytes == tensor.bytes, "what is written reads back as something else");
  });
}
