// Parts of programs: found by pattern wherever they stand, derived apart, composed, with memory that they share.
#include <set>

#include "lift/diagnostic.hpp"
#include "lift/plan_memory.hpp"
#include "parted.hpp"
#include "programs/catalogue.hpp"

using namespace lift;

namespace {

const parted::Case& caseNamed(const std::string& name) {
  for (const parted::Case& c : parted::cases())
    if (c.name == name) return c;
  throw InternalError("no such case");
}

// The last line of "f.lift:3:5" or "f.lift:3:5 to 4:9".
std::string lineOf(const std::string& place) {
  const auto colon = place.rfind(':');
  const auto line = place.find_last_of(": ", colon - 1) + 1;
  return place.substr(line, colon - line);
}

}  // namespace

TEST_CASE("every part has its pattern and a family that derives it", "[null]") {
  for (const parted::Case& c : parted::cases()) DYNAMIC_SECTION(c.name) {
      const PartedProgram parted = partsOf(parted::load(c));
      verify(parted.program);
      std::vector<std::string> found, expected;
      for (const Part& p : parted.parts)
        found.push_back(std::string(name(p.pattern)) + ": " + defaultChoice(p).family + " " + defaultChoice(p).reason);
      for (const auto& [pattern, family] : c.parts)
        expected.push_back(std::string(name(pattern)) + ": " + family + " ");
      if (c.name != "odd") CHECK(found == expected);
      if (c.name == "odd") CHECK(found[0] == expected[0] + "no vector divides 13 columns, which are not copied");
    }
}

TEST_CASE("parts compute what the program does", "[null]") {
  const auto device = runtime::makeEmulatorDevice();
  for (const parted::Case& c : parted::cases()) DYNAMIC_SECTION(c.name) {
      CHECK(parted::errorOn(*device, c) < parted::tolerance);
    }
}

TEST_CASE("parts say where they stand", "[null]") {
  const PartedProgram parted = partsOf(parted::load(caseNamed("sequence")));
  std::vector<std::string> lines;
  for (const Part& p : parted.parts) lines.push_back(lineOf(p.place));
  CHECK(lines == std::vector<std::string>{"1", "3", "7"});
}

TEST_CASE("the derivation of the whole is one that replays", "[null]") {
  for (const parted::Case& c : parted::cases()) DYNAMIC_SECTION(c.name) {
      const Variant v = derive(programWorkload(parted::load(c), 0), partsFamilyName);
      const Program again = rewrite::replay(v.source, v.derivation);
      CHECK(print(again.body, Names::canonical) == print(v.program.body, Names::canonical));
    }
}

TEST_CASE("what parts leave to each other shares memory", "[null]") {
  const Variant v = derive(programWorkload(parted::load(caseNamed("sequence")), 0), partsFamilyName);
  const kernel::Plan plan = compileVariant(v, v.defaults);
  std::vector<std::int64_t> bytes;
  std::int64_t unshared = 0, shared = 0;
  const auto lifetimes = kernel::temporaryLifetimes(plan);
  for (std::size_t b = 0; b < plan.buffers.size(); b++) {
    bytes.push_back(*plan.buffers[b].count().constant() * 4);
    if (lifetimes[b]) unshared += bytes[b];
  }
  for (const std::int64_t n : kernel::shareTemporaries(plan, bytes).bytes) shared += n;
  CHECK(plan.launches.size() == 4);  // product, padding, stencil, map
  CHECK(shared < unshared);
}

TEST_CASE("equal parts of different programs are one problem to the tuner", "[null]") {
  const auto sequence = partsOf(parted::load(caseNamed("sequence")));
  parted::Case alone = caseNamed("odd");
  alone.sizes = caseNamed("sequence").sizes;
  const auto product = partsOf(parted::load(alone));
  CHECK(sequence.parts.at(0).workload.key() == product.parts.at(0).workload.key());
  CHECK(sequence.parts.at(0).workload.key() != partsOf(parted::load(caseNamed("odd"))).parts.at(0).workload.key());
  CHECK(!derive(product.parts[0].workload, "tiles").program.tunables.empty());
}

TEST_CASE("parts of symbolic sizes fall back to what takes them, and say so", "[null]") {
  const parted::Case& c = caseNamed("sequence");
  const Program program = parted::symbolic(c);
  const PartedProgram parted = partsOf(program);
  REQUIRE(parted.parts.size() == 3);
  for (const Part& p : parted.parts) CHECK(defaultChoice(p).family == defaultFamily);
  CHECK(defaultChoice(parted.parts[0]).reason == "the size n is not known");
  const Program concrete = parted::load(c);
  const auto inputs = parted::inputsOf(concrete);
  const Variant v = derive(programWorkload(program, 0), partsFamilyName);
  const auto run = runtime::makeEmulatorDevice()->load(compileVariant(v, {}))->run(inputs);
  CHECK(largestError(run.outputs, interpret(concrete, inputs)) < 1e-5);
}

TEST_CASE("every program of the catalogue is right when its parts are derived", "[null]") {
  const auto device = runtime::makeEmulatorDevice();
  int derived = 0;
  std::set<Pattern> patterns;
  for (const programs::CatalogueEntry& entry : programs::catalogue()) {
    const Program program = programs::load(entry);
    if (isMapped(program) || !program.tunables.empty()) continue;
    CAPTURE(entry.name());
    const Workload w = programWorkload(program, 0);
    const OperatorFamily& family = w.family(partsFamilyName);
    for (std::size_t i = 0; i < family.choices->size(); i++) {
      derived += (*family.choices)[i].family != defaultFamily;
      patterns.insert(family.parted->parts[i].pattern);
    }
    const Variant v = derive(w, partsFamilyName);
    const auto inputs = programs::inputsOf(entry, program);
    const auto run = device->load(compileVariant(v, v.defaults))->run(inputs);
    CHECK(programs::judge(entry, run.outputs, entry.reference(inputs)) == "");
  }
  CHECK(derived >= 10);
  CHECK(patterns.size() >= 6);
}

namespace {

PartedProgram productOf(std::int64_t n, std::int64_t k, std::int64_t m) {
  parted::Case c = caseNamed("odd");
  c.sizes = {{"n", n}, {"k", k}, {"m", m}};
  return partsOf(parted::load(c));
}

}  // namespace

TEST_CASE("what a model of a device prefers is a point of the family's space", "[null]") {
  std::vector<runtime::DeviceInfo> devices(4);
  devices[0].type = "gpu";
  devices[0].computeUnits = 80;
  for (std::size_t i = 1; i < devices.size(); i++) {
    devices[i].type = "cpu";
    devices[i].computeUnits = static_cast<int>(i);
    devices[i].vectorWidthF32 = 2 << i;
  }
  int checked = 0;
  for (const std::int64_t n : {2, 8, 13, 64, 499})
    for (const std::int64_t m : {2, 12, 33, 40, 77, 256}) {
      const Workload w = productOf(n, 31, m).parts[0].workload;
      for (const OperatorFamily& family : w.families) {
        if (!family.preferred) continue;
        CAPTURE(n, m, family.name);
        const Variant v = derive(w, family.name);
        const Space space = spaceOf(v, {});
        for (const runtime::DeviceInfo& device : devices) {
          CHECK(space.contains(family.preferred(device)));
          checked++;
        }
      }
    }
  CHECK(checked >= 100);
}

TEST_CASE("of large results the interpreter judges some rows", "[null]") {
  CHECK(productOf(64, 64, 64).parts[0].workload.judgedRows.empty());
  const auto large = productOf(1024, 1024, 1024).parts[0].workload.judgedRows;
  REQUIRE(large.size() >= 3);
  CHECK(large.front() == 0);
  CHECK(large.back() == 1023);

  Workload w = productOf(12, 5, 8).parts[0].workload;
  const auto inputs = w.makeInputs(3);
  const auto all = w.expected(inputs);
  w.judgedRows = {0, 4, 11};
  const auto some = w.expected(inputs);
  CHECK(some.at("out").shape == std::vector<std::int64_t>{3, 8});
  CHECK(largestError(tune::rowsOf(all, w.judgedRows), some) == 0);
  CHECK(largestError(tune::rowsOf(all, {0, 5, 11}), some) > 0);
}
