// Random programs derived part by part, against the interpreter. LIFT_DIFF_SEED and LIFT_DIFF_COUNT choose another or a
// longer run.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <iostream>
#include <random>

#include "differential/judges.hpp"
#include "lift/diagnostic.hpp"
#include "lift/parts.hpp"

using namespace lift;
using namespace lift::differential;

namespace {

// What programs consist of is drawn from few spellings, so that most parts have a family that derives them.
class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    const int n = number(2, 16), k = number(1, 6), m = number(0, 1) == 0 ? number(4, 40) : 2 * number(2, 20);
    const bool stored = number(0, 2) == 0;  // by its columns
    const std::string columns = stored ? "b" : "transpose(b)";
    const std::string term = one({"dotProduct(row, column)", "dotProduct(column, row)",
                                  "(zip(row, column) |> map(fun (x, y) => x * y) |> sum)",
                                  "(zip(column, row) |> map(fun (x, y) => square(x - y)) |> sum)"});
    const bool columnsFirst = number(0, 3) == 0;
    std::string body = columnsFirst
                           ? fmt::format("{} |> map(fun column => a |> map(fun row => {}))", columns, rest(term))
                           : fmt::format("a |> map(fun row => {} |> map(fun column => {}))", columns, rest(term));
    if (number(0, 1) == 0) body += " |> map2D(fun x => max(x, -0.5))";
    const int h = number(1, 3), w = number(1, 3);
    body = one({fmt::format("padClamp2D(1, 1, 1, 1, {})", body), fmt::format("padWrap2D(1, 1, 1, 1, {})", body),
                fmt::format("pad2D(1, 1, 1, 1, 0.25, {})", body), fmt::format("transpose({})", body),
                fmt::format("padMirror2D(2, 2, 1, 1, {})", body)});
    body = fmt::format("{} |> slide2D({}, {}, {}, {}) |> map2D(fun window => {})", body, h, w, number(1, 2),
                       number(1, 2) / 2 + 1,
                       rest(one({"dotProduct(join(window), join(w))", "sum(join(window))", "maximum(join(window))"})));
    if (number(0, 1) == 0) body += " |> map2D(fun x => 0.5 * x)";
    return fmt::format("def main(a: [{}][{}]f32, b: {}f32, w: [{}][{}]f32) =\n  {}\n", n, k,
                       stored ? fmt::format("[{}][{}]", m, k) : fmt::format("[{}][{}]", k, m), h, w, body);
  }

 private:
  int number(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::string one(const std::vector<std::string>& of) {
    return of[static_cast<std::size_t>(number(0, static_cast<int>(of.size()) - 1))];
  }
  // What is done with the value, perhaps nothing.
  std::string rest(const std::string& value) {
    return one({value, fmt::format("max({}, 0.0)", value), fmt::format("0.5 * {} + 1.0", value)});
  }

  std::mt19937_64 random_;
};

// A family of the part at a point of its space; the default mapping where the family does not derive the part.
PartChoice drawn(const Part& part, std::uint64_t seed) {
  const auto& families = part.workload.families;
  try {
    const Variant v = derive(part.workload, families[seed % families.size()].name);
    const auto point = Sampler(spaceOf(v, {}), seed).next();
    if (point || v.program.tunables.empty()) return {v.family, point.value_or(Config()), "drawn"};
  } catch (const UserError&) {
  }
  return {defaultFamily, {}, "drawn"};
}

}  // namespace

TEST_CASE("random products and stencils mean the same when they are derived", "[null]") {
  const std::int64_t count = setting("LIFT_DIFF_COUNT", thinning > 1 ? 80 : 160);  // each family has its share
  const std::int64_t seed = setting("LIFT_DIFF_SEED", 31);
  const auto device = runtime::makeEmulatorDevice();
  std::map<std::string, int> families;
  for (std::int64_t i = 0; i < count; i++) {
    const Case c(Drawing(static_cast<std::uint64_t>(seed * 1000003 + i)).program());
    INFO("LIFT_DIFF_SEED=" << seed << ", program " << i << "\n" << c.text);
    const Workload w = programWorkload(c.specialised, 0);
    // Each part by a family drawn of those that derive it, some at other points than the default.
    const PartedProgram& parted = *w.family(partsFamilyName).parted;
    std::vector<PartChoice> choices;
    for (const Part& part : parted.parts) choices.push_back(drawn(part, static_cast<std::uint64_t>(i)));
    for (const PartChoice& choice : choices) families[choice.family]++;
    Workload by = w;
    by.families = {partsFamily(parted, choices)};
    const Variant v = derive(by, partsFamilyName);
    const auto outputs = device->load(compileVariant(v, v.defaults))->run(c.inputs).outputs;
    REQUIRE(compareResults(outputs, c.expected, {Tolerance{}.fused, longestSum(c.specialised)}) == "");
  }
  std::string text = fmt::format("random products and stencils: {} of seed {};", count, seed);
  for (const auto& [name, n] : families) text += fmt::format(" {} {}", name, n);
  std::cout << text << std::endl;
  for (const char* family : {"tiles", "panels", "lanes", "default"}) CHECK(families[family] * 12 >= count);
}

TEST_CASE("random programs mean the same when their parts are derived", "[null]") {
  const std::int64_t count = setting("LIFT_DIFF_COUNT", 600 / thinning);
  const std::int64_t seed = setting("LIFT_DIFF_SEED", 31);
  const auto device = runtime::makeEmulatorDevice();
  std::int64_t programs = 0, parts = 0, several = 0;
  std::map<std::string, int> families;
  for (std::int64_t i = 0; i < count; i++) {
    Choices choices = Choices::random(static_cast<std::uint64_t>(seed * 1000003 + i));
    const Case c(generate(choices).text);
    if (isMapped(c.specialised)) continue;
    INFO("LIFT_DIFF_SEED=" << seed << ", program " << i << "\n" << c.text);
    const Workload w = programWorkload(c.specialised, 0);
    const Variant v = derive(w, partsFamilyName);
    verify(v.program);
    const auto outputs = device->load(compileVariant(v, v.defaults))->run(c.inputs).outputs;
    REQUIRE(compareResults(outputs, c.expected, {Tolerance{}.fused, longestSum(c.specialised)}) == "");
    const OperatorFamily& family = w.family(partsFamilyName);
    programs++;
    parts += std::ssize(*family.choices);
    several += family.choices->size() > 1;
    for (const PartChoice& choice : *family.choices) families[choice.family]++;
  }
  std::string text = fmt::format("random programs by parts: {} of seed {}, {} parts;", programs, seed, parts);
  for (const auto& [name, n] : families) text += fmt::format(" {} {}", name, n);
  std::cout << text << std::endl;
  CHECK(programs * 2 >= count);
  CHECK(several * 10 >= count);
}
