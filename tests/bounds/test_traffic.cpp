#include <catch2/catch.hpp>

#include "lift/bounds.hpp"
#include "lift/conv_operator.hpp"
#include "lift/text.hpp"

using namespace lift;

namespace {

kernel::Plan planOf(const std::string& text) { return compile(parseProgram(*addSource("traffic.lift", text))); }

}  // namespace

TEST_CASE("what work-groups touch is counted once for each") {
  // Eight groups of four work-items; each group reads 4 + 2 elements of x, y whole, and writes 4.
  const auto plan = planOf(
      "def f(x: [34]f32, y: [5]f32) = join(mapWrg(0, fun ws => mapLcl(0, fun w => reduceSeq(reduceSeq(0.0, fun (s, v) "
      "=> s + "
      "v, y), fun (s, v) => s + v, w), ws), split(4, slide(3, 1, x))))");
  const auto t = bounds::trafficOf(plan);
  CHECK(t.groups ==
        plan.kernels[0].range.global[0].constant().value() / plan.kernels[0].range.local[0].constant().value());
  CHECK(t.counted == t.groups);
  CHECK(t.groups == 8);
  CHECK(t.distinct == 8 * (6 + 5 + 4) * 4);
  CHECK(t.workingSet == (6 + 5 + 4) * 4);
  CHECK(t.global.bytesLoaded == 32 * (3 + 5) * 4);
  CHECK(t.global.bytesStored == 32 * 4);
}

TEST_CASE("kernels of all families have more distinct traffic than the bound of their working set") {
  int kernels = 0;
  for (const char* text : {"ic16ih14oc32oh14kh3ph1", "ic8ih21oc16oh10kh5sh2ph1", "ic32ih9oc64kh1"}) {
    const ConvSpec c = parseConv(text);
    const Workload w = convWorkload(c);
    for (const OperatorFamily& f : w.families) {
      const Variant v = derive(w, f.name);
      const auto t = bounds::trafficOf(compileVariant(v, v.defaults));
      INFO(text << " by " << f.name);
      // What a group touches would fit: so its traffic is a schedule's.
      const auto fast = std::int64_t(t.workingSet / 4) + 1000;
      const bool winograd = f.name.rfind("winograd", 0) == 0;
      if (winograd) continue;
      CHECK(t.distinct / 4 >= double(bounds::boundOf(c, fast).bound));
      CHECK(t.distinct <= t.global.bytesLoaded + t.global.bytesStored);
      kernels++;
    }
  }
  CHECK(kernels >= 6);
}
