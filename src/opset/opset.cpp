#include "lift/opset.hpp"

#include "products.hpp"

namespace lift {

std::vector<Operator> tensorOperators() {
  const auto convNd = [](bool transposed) {
    return [transposed](std::string_view text) { return convNdWorkload(parseConvNd(text, transposed)); };
  };
  return {
      {"gemv", "matrix times vector", "m1024k512", opset::gemv},
      {"gemm", "matrix product, perhaps a batch of them", "b2m64n48k32", opset::gemm},
      {"bilinear", "bilinear form of two rows and a matrix, for all rows and matrices", "i8j16k32l32", opset::bilinear},
      {"bcm", "product with a matrix of circulant blocks", "n64p4q4b16", opset::blockCirculant},
      {"shift", "every channel of an image moved by its own amount", "mb1c64h56w56k3p1", opset::shift},
      {"conv3d", "convolution with bias in one, two or three dimensions", "benchdnn's: ic64id16ih28oc128kd3kh3pd1ph1",
       convNd(false)},
      {"deconv", "transposed convolution with bias in one, two or three dimensions",
       "benchdnn's: ic64ih14oc32kh4sh2ph1", convNd(true)}};
}

}  // namespace lift
