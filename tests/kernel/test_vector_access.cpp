// The definitions that are put in front of OpenCL programs.
#include <catch2/catch.hpp>

#include "lift/vector_access.hpp"

using lift::kernel::vectorAccess;

namespace {

bool has(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("vector access: of the types and widths that stand in the sources") {
  const std::string text = vectorAccess({"const float* in; vload16(0, in);", "int* out; vstore4((int4)(0), 0, out);"});
  CHECK(text.starts_with("#ifdef POCL_DEVICE_ADDRESS_BITS\n"));
  CHECK(
      text.ends_with("LIFT_ACCESS(int, 4)\nLIFT_ACCESS(float, 4)\nLIFT_ACCESS(int, 16)\nLIFT_ACCESS(float, 16)\n"
                     "#define vload4 lift_vload4\n#define vstore4 lift_vstore4\n"
                     "#define vload16 lift_vload16\n#define vstore16 lift_vstore16\n#endif\n"));
}

TEST_CASE("vector access: a type that an extension has is defined with it") {
  CHECK(has(vectorAccess({"double* in; vload8(0, in);"}),
            "#ifdef cl_khr_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\nLIFT_ACCESS(double, 8)\n#endif\n"));
}

TEST_CASE("vector access: nothing where no source loads or stores vectors") {
  CHECK(vectorAccess({}).empty());
  CHECK(vectorAccess({"float x = in[0]; // float16", "float3 y = vload3(0, in);"}).empty());
  CHECK(vectorAccess({"float16 x = vload_half16(0, in);", "float my_vload16 = 0;"}).empty());
}
