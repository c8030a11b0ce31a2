// Arrays that kernels leave to each other in images.
#include "codegen/helpers.hpp"
#include "lift/host_code.hpp"
#include "lift/plan_memory.hpp"

namespace lift::codegen_tests {

namespace {

std::string refusal(const std::string& text) {
  return test::refusalOf([&] { compile(parse(text)); });
}

bool has(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("toImage: one kernel writes whole texels, others read them") {
  for (const char* scalar : {"f32", "f16", "h16"}) {
    INFO(scalar);
    const std::string text = fmt::format(
        "def main(x: [4 * n]{0}): ([n]<4>{0}, [n]<4>{0}) = let y = toImage(mapGlb(0, fun v => v, asVector(4, x))) in "
        "(mapGlb(0, fun v => v + v, y), mapGlb(0, fun v => v * v, reorder(reverse, y)))",
        scalar);
    const kernel::Plan plan = compile(parse(text));
    REQUIRE(plan.kernels.size() == 2);
    CHECK(has(plan.sources[0], "__write_only image2d_t"));
    CHECK(has(plan.sources[0], std::string(scalar) == "h16" ? "write_imageh(" : "write_imagef("));
    CHECK(has(plan.sources[1], "__read_only image2d_t"));
    CHECK(has(plan.sources[1], std::string(scalar) == "h16" ? "read_imageh(" : "read_imagef("));
    CHECK(std::ranges::count_if(plan.buffers, &kernel::PlanBuffer::isImage) == 1);
    const std::string host = printHostCode(plan).source;
    CHECK(has(host, std::string(scalar) == "f32" ? ", CL_FLOAT)" : ", CL_HALF_FLOAT)"));
    CHECK(host.find("reserve(") == std::string::npos);  // of buffers there is none
    CHECK(wrong(at(parse(text), {{"n", 7}})) == "");
  }
}

TEST_CASE("an image's memory is shared with nothing") {
  const kernel::Plan plan = compile(parse(R"(
    def main(x: [1024]f32): [1024]f32 =
      asVector(4, x) |> mapGlb(0)(fun v => v + v) |> toImage |> mapGlb(0)(fun v => v * v) |> toGlobal
      |> mapGlb(0)(fun v => v + v) |> toImage |> mapGlb(0)(fun v => v * v) |> asScalar)"));
  CHECK(kernel::shareTemporaries(plan, std::vector<std::int64_t>(plan.buffers.size(), 4096)).of.size() == 3);
}

TEST_CASE("toImage wants whole texels, outside of every map") {
  CHECK(has(refusal("def main(x: [8]f32): [8]f32 = mapGlb(0, fun v => v + 1.0, toImage(mapGlb(0, fun v => v, x)))"),
            "in whole vectors of 4 floats"));
  CHECK(has(refusal("def main(x: [8]<4>f32): [32]f32 = "
                    "mapGlb(0, fun v => v + 1.0, asScalar(toImage(mapGlb(0, fun v => v, x))))"),
            "is read otherwise than in whole vectors of 4 floats"));
  CHECK(has(refusal("def main(x: [8]<4>i32): [8]<4>i32 = mapGlb(0, fun v => v + v, toImage(mapGlb(0, fun v => v, x)))"),
            "toImage of i32: images hold f32, f16 or h16"));
  CHECK(has(refusal("def main(x: [8][8]<4>f32): [8][8]<4>f32 = "
                    "mapGlb(0, fun r => mapSeq(fun v => v + v, toImage(mapSeq(fun v => v, r))), x)"),
            "toImage inside of a map"));
}

}  // namespace lift::codegen_tests
