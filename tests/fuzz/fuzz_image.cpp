// .pgm and .ppm images: what is read is written as an image that reads the same.
#include "fuzz/target.hpp"
#include "lift/tensor.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lift::fuzz::onText(data, size, [](std::string_view contents) {
    const lift::Tensor image = lift::parseImage(contents, "fuzz.ppm");
    const lift::Tensor again = lift::parseImage(lift::formatImage(image), "again.ppm");
    lift::ensure(again.bytes == image.bytes && again.shape == image.shape,
                 "what is written reads back as something else");
  });
}
