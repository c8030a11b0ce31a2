#include "../../src/runtime/cl_program.hpp"
#include "fixtures.hpp"

using namespace lift;
using namespace lift::runtime;
using namespace lift::runtime::testing;

TEST_CASE("all kernels share a program unless their names clash", "[null]") {
  const std::vector<ProgramGroup> groups =
      groupSources({{"f", "F"}, {"g", "G"}, {"f", "F"}, {"f", "F2"}, {"h", "H"}, {"f", "F2"}});
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].sources == std::vector<std::string>{"F", "G", "H"});
  CHECK(groups[0].units == std::vector<std::size_t>{0, 1, 2, 4});
  CHECK(groups[1].sources == std::vector<std::string>{"F2"});
  CHECK(groups[1].units == std::vector<std::size_t>{3, 5});
  CHECK(groupSources({}).empty());
}

TEST_CASE("helper functions of several sources are kept apart", "[null]") {
  const std::string helper = "static inline int f(int a) { return a; }\n";
  const std::string other = "static long g(long a) { return a; }";
  CHECK(concatenate({helper}) == helper);
  CHECK(concatenate({helper, other}) == helper + other + "\n");
  CHECK(concatenate({helper, helper + other}) == helper + "#define f f_1\n" + helper + other + "\n#undef f\n");
}

TEST_CASE("so are their tables of constants", "[null]") {
  const std::string table = "__constant float table[2] = {0.5f, 1.0f};\n__kernel void f(__constant float* x) {}\n";
  const std::string second = "__constant int table_1[2] = {1, 2};\n";  // the name that the other's would get
  CHECK(concatenate({table, table + second}) == table + "#define table table_1_\n" + table + second + "#undef table\n");
  CHECK(concatenate({table, table}) == table + "#define table table_1\n" + table + "#undef table\n");
}

TEST_CASE("a kernel is found under the name that its source gives it", "[null]") {
  CHECK(kernelNameIn("__kernel void add(int a) {}", "add") == "add");
  CHECK(kernelNameIn("__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\nvoid map_1(int a) {}", "map") ==
        "map_1");
  CHECK(kernelNameIn("", "add") == "add");
}

TEST_CASE("errors of OpenCL have names and hints", "[null]") {
  CHECK(clErrorName(-5) == "CL_OUT_OF_RESOURCES (-5)");
  CHECK(clErrorName(-54) == "CL_INVALID_WORK_GROUP_SIZE (-54)");
  CHECK(clErrorName(-4242) == "unknown error (-4242)");
  const std::string m = messageOf(
      ExitStatus::device, [] { guarded("allocate 4 bytes for x", [] { throw cl::Error(-4, "clCreateBuffer"); }); });
  CHECK(
      has(m, "error: cannot allocate 4 bytes for x: clCreateBuffer failed with CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)"));
  CHECK(has(m, "another program"));
}
