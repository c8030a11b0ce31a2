// Private to opset: the operators of products.cpp, by their descriptors.
#pragma once

#include <string_view>

#include "lift/operator.hpp"

namespace lift::opset {

Workload gemv(std::string_view text);
Workload gemm(std::string_view text);
Workload bilinear(std::string_view text);
Workload blockCirculant(std::string_view text);
Workload shift(std::string_view text);

}  // namespace lift::opset
