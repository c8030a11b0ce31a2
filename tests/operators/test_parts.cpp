// Parts of programs: found by pattern wherever they stand, derived apart, composed, with memory that they share.
#include <set>

#include "harness/sample.hpp"
#include "harness/work.hpp"
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

TEST_CASE("what windows and rows are read of is computed where it is read, or in front: no work-item keeps all of it",
          "[null]") {
  for (const char* name :
       {"a stencil of what a map and a stencil compute", "products in batches, of what is computed for each",
        "rows that are joined after a reduction of each"}) {
    INFO(name);
    const Variant v = derive(programWorkload(parted::load(caseNamed(name)), 0), partsFamilyName);
    for (const kernel::Kernel& k : compileVariant(v, v.defaults).kernels) {
      INFO(k.name);
      for (const kernel::Buffer& b : k.buffers)
        if (b.space == kernel::AddressSpace::priv) CHECK(b.count.constant().value_or(0) <= 256);
    }
  }
}

TEST_CASE("what is computed in order, and what rows share, is computed once", "[null]") {
  const std::vector<std::pair<const char*, const char*>> grows{
      {"states along time, in a batch, read in the order of time", "t"},
      {"long states along time, in a batch", "t"},
      {"running sums of rows in a batch, each with another row", "t"},
      {"running sums of rows in a batch, joined", "t"},
      {"rows over their lengths, which have no names", "m"},
  };
  for (const auto& [name, size] : grows) {
    INFO(name);
    parted::Case c = caseNamed(name);
    const auto work = [&] {
      const Variant v = derive(programWorkload(parted::load(c), 0), partsFamilyName);
      return test::work(compileVariant(v, v.defaults));
    };
    const double once = work();
    c.sizes.at(size) *= 2;
    CHECK(work() <= 3 * once);  // short loops are written out, and keep their arrays in registers
  }
}

TEST_CASE("families that keep the order of sums round as the program does", "[null]") {
  const auto device = runtime::makeEmulatorDevice();
  std::map<std::string, int> kept;
  int others = 0;  // programs whose usual families round otherwise
  for (const parted::Case& c : parted::cases()) {
    INFO(c.name);
    const Program program = parted::load(c);
    const auto inputs = parted::inputsOf(program);
    const auto expected = interpret(program, inputs);
    const auto errorOf = [&](const Workload& w) {
      const Variant v = derive(w, partsFamilyName);
      CompileOptions options;
      options.mapping.strictReductions = true;
      return largestError(device->load(compileVariant(v, v.defaults, options))->run(inputs).outputs, expected);
    };
    const Workload usual = programWorkload(program, 0), ordered = inOrder(usual);
    CHECK(errorOf(ordered) == 0);
    others += errorOf(usual) > 0;
    for (const PartChoice& choice : *ordered.family(partsFamilyName).choices) kept[choice.family]++;
  }
  for (const char* family : {"tiles", "near", "strips"}) CHECK(kept[family] > 0);
  for (const char* family : {"rows", "dots"}) CHECK(kept[family] == 0);
  CHECK(others > 0);
}

TEST_CASE("few long rows are divided by the default mapping, unless a family is asked for", "[null]") {
  const auto part = [](std::int64_t rows, std::int64_t length) {
    const parted::Case c{"sums", "def main(x: [n][m]f32): [n]f32 = map(sum, x)\n", {{"n", rows}, {"m", length}}, {}};
    return partsOf(parted::load(c)).parts.at(0);
  };
  CHECK(defaultChoice(part(4, 100'000)).family == "default");
  CHECK(defaultChoice(part(64, 100'000)).family == "rows");
  CHECK(defaultChoice(part(4, 10'000)).family == "rows");
  const auto& families = part(4, 100'000).workload.families;
  CHECK(std::ranges::any_of(families, [](const OperatorFamily& f) { return f.name == "rows"; }));
}

TEST_CASE("rows have a lane each where private memory holds what they keep", "[null]") {
  parted::Case c;
  c.name = "recurrences";
  c.text =
      "def main(a: [n][k]f32, b: [n][m]f32): [n]f32 = zip(a, b) |> map(fun (xs, ys) =>\n"
      "  xs |> reduce(ys, fun (row, x) => scan(x, fun (left, v) => max(left - 0.5, v), row)) |> maximum)\n";
  for (const std::int64_t length : {100, 10000}) {
    c.sizes = {{"n", 2048}, {"k", 20}, {"m", length}};
    CHECK(defaultChoice(partsOf(parted::load(c)).parts.at(0)).family == (length == 100 ? "vectors" : "default"));
  }
  // Of columns what is written to the result is not kept.
  const auto ofColumns = [&](const std::string& f) {
    c.text = "def main(x: [m][n]f32): [m][n]f32 = transpose(map(fun c => " + f + ", transpose(x)))\n";
    c.sizes = {{"n", 2048}, {"m", 10000}};
    return defaultChoice(partsOf(parted::load(c)).parts.at(0)).family;
  };
  CHECK(ofColumns("cumsum(c)") == "vectors");
  CHECK(ofColumns("softmax(c)") == "vectors");
  CHECK(ofColumns("zipWith(sub, c, cumsum(c))") == "default");
}

TEST_CASE("rows that use what they are reduced to have a work-group each on GPUs", "[null]") {
  runtime::DeviceInfo gpu;
  gpu.type = "gpu";
  gpu.localMemoryIsDedicated = true;
  const auto emulator = runtime::makeEmulatorDevice();
  for (const char* body :
       {"map(softmax, x)", "map(variance, x)",
        "map(fun r => let m = mean(r) in let s = sqrt(mean(map(fun e => square(e - m), r)) + 0.1) in\n"
        "  map(fun e => (e - m) / s, r), x)"}) {
    INFO(body);
    const Program program =
        parted::load({"rows", fmt::format("def main(x: [n][m]f32) = {}", body), {{"n", 3}, {"m", 77}}, {}});
    const Workload w = programWorkload(program, 0);
    CHECK(w.family(partsFamilyName).firstOn(gpu));
    const PartedProgram whole = partsOf(program);
    REQUIRE(whole.parts.size() == 1);
    const Workload& rows = whole.parts[0].workload;
    CHECK(rows.family("groups").firstOn(gpu));
    const kernel::Plan plan = compileVariant(derive(rows, "groups"), {});
    CHECK(plan.kernels.size() == 1);
    const auto inputs = parted::inputsOf(rows.program);
    const auto expected = interpret(rows.program, inputs);
    CHECK(largestError(emulator->load(plan)->run(inputs).outputs, expected) < parted::tolerance);
  }
}

TEST_CASE("parts say where they stand", "[null]") {
  const PartedProgram parted = partsOf(parted::load(caseNamed("sequence")));
  std::vector<std::string> lines;
  for (const Part& p : parted.parts) lines.push_back(lineOf(p.place));
  CHECK(lines == std::vector<std::string>{"1", "3"});
}

TEST_CASE("lanes that have ended stay as they are, and those that do not choose a branch read nothing for it",
          "[null]") {
  const auto device = runtime::makeEmulatorDevice();
  for (const char* name : {"elements by indices, each with a loop that ends early", "a step on a torus, written out",
                           "neighbours that conditions choose, in a batch",
                           "branches that read other elements and divide, where one is chosen only if it may"})
    CHECK(parted::errorOn(*device, caseNamed(name)) < parted::tolerance);
}

TEST_CASE("choices deep within choices stay: the indices that they guard would grow with each", "[null]") {
  const std::string isLarge = "(i + 2 >= 0 && i + 2 < n && xs[i + 2] > 0.2)";
  const parted::Case c{"choices",
                       "def main(xs: [n]f32, is: [n]i32): [n]f32 = zip(indices(n), xs, is) |> map(fun (i, x, k) => "
                       "cos(x) + (if i < 0 || k == 0 then f32(k) else (if " +
                           isLarge + " || " + isLarge + " then (if " + isLarge +
                           " || k == 0 then (if i + k >= 0 && i + k < n then 1.5 + xs[i + k] else f32(k)) "
                           "else 1.5 * f32(i % k)) else (if k >= 0 && k < n && xs[k] > 0.2 then "
                           "(if i - 1 >= 0 && i - 1 < n then 1.5 + xs[i - 1] else f32(k)) else (if " +
                           isLarge + " then x else 1.5))) * f32(i % k)))",
                       {{"n", 33}},
                       {}};
  CHECK(defaultChoice(partsOf(parted::load(c)).parts.at(0)).family == "default");
  CHECK(parted::errorOn(*runtime::makeEmulatorDevice(), c) < parted::tolerance);
}

TEST_CASE("a list that a work-item keeps is read by indices, without padding", "[null]") {
  const parted::Case greatest{"the greatest in order",
                              "def main(xs: [n][m]f32): [n][6]f32 = xs |> map(fun row => reduce(fill(6, lowest),\n"
                              "  fun (best, x) => generate(6, fun j => if x <= best[j] then best[j]\n"
                              "    else if j > 0 && x > best[max(j - 1, 0)] then best[max(j - 1, 0)] else x), row))\n",
                              {{"n", 32}, {"m", 20}},
                              {}};
  const PartedProgram parted = partsOf(parted::load(greatest));
  REQUIRE(parted.parts.size() == 1);
  CHECK(print(parted.program.body).find("padClamp") == std::string::npos);
}

const parted::Case largestMeans{"the largest mean of a row's windows",
                                "def main(x: [n][m]f32): [n]f32 = map(fun row =>\n"
                                "  padClamp(2, 2, row) |> slide(5, 1) |> map(fun w => sum(w) / 5.0) |> maximum, x)\n",
                                {{"n", 1024}, {"m", 300}},
                                {}};

TEST_CASE("windows of which each takes long loops are not written out", "[null]") {
  const parted::Case attention{"attention within windows",
                               "def main(q: [n][64]f32, k: [n + 63][64]f32): [n][64]f32 =\n"
                               "  zip(q, slide(64, 1, k)) |> map(fun (q, near) =>\n"
                               "    let e = map(fun r => exp(dotProduct(q, r)), near) in\n"
                               "    transpose(near) |> map(fun c => dotProduct(e, c) / sum(e)))\n",
                               {{"n", 128}},
                               {}};
  for (const parted::Case* c : {&attention, &largestMeans}) {
    const Variant v = derive(programWorkload(parted::load(*c), 0), partsFamilyName);
    std::size_t longest = 0;
    for (const std::string& source : compileVariant(v, v.defaults).sources) longest = std::max(longest, source.size());
    INFO(c->name);
    CHECK(longest < 100'000);
  }
}

TEST_CASE("windows of much work are more strips where there are no other work-items", "[null]") {
  const Variant v = derive(programWorkload(parted::load(largestMeans), 0), partsFamilyName);
  CHECK(compileVariant(v, v.defaults).kernels.at(0).range.global[0].constant().value_or(0) >= 16);
}

TEST_CASE("the derivation of the whole is one that replays", "[null]") {
  for (const parted::Case& c : parted::cases()) DYNAMIC_SECTION(c.name) {
      const Variant v = derive(programWorkload(parted::load(c), 0), partsFamilyName);
      const Program again = rewrite::replay(v.source, v.derivation);
      CHECK(print(again.body, Names::canonical) == print(v.program.body, Names::canonical));
    }
}

TEST_CASE("what parts leave to each other shares memory", "[null]") {
  parted::Case twice = caseNamed("sequence");
  const auto once = twice.text.find("|> smooth(w)");
  twice.text.insert(once, "|> smooth(w) |> smooth(w) ");
  const Variant v = derive(programWorkload(parted::load(twice), 0), partsFamilyName);
  const kernel::Plan plan = compileVariant(v, v.defaults);
  std::vector<std::int64_t> bytes;
  std::int64_t unshared = 0, shared = 0;
  const auto lifetimes = kernel::temporaryLifetimes(plan);
  for (std::size_t b = 0; b < plan.buffers.size(); b++) {
    bytes.push_back(*plan.buffers[b].count().constant() * 4);
    if (lifetimes[b]) unshared += bytes[b];
  }
  for (const std::int64_t n : kernel::shareTemporaries(plan, bytes).bytes) shared += n;
  CHECK(plan.launches.size() == 4);  // product, stencil, stencil, stencil with a map
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

TEST_CASE("parts of symbolic sizes have families whose tiles are filled", "[null]") {
  const auto device = runtime::makeEmulatorDevice();
  std::set<std::string> families;
  test::Sample sample(3);
  std::size_t checked = 0;
  for (const parted::Case& c : parted::cases()) {
    INFO(c.name);
    const Program program = parted::symbolic(c);
    if (program.sizes.empty()) continue;
    const Workload w = programWorkload(program, 0);
    for (const PartChoice& choice : *w.family(partsFamilyName).choices) families.insert(choice.family);
    if (!sample.takes()) continue;
    checked++;
    const Variant v = derive(w, partsFamilyName);
    const auto executable = device->load(compileVariant(v, v.defaults));
    for (const std::int64_t more : {0, 1, 5}) {
      parted::Case at = c;
      for (auto& [name, size] : at.sizes) size += more;
      INFO("sizes greater by " << more);
      const Program concrete = parted::load(at);
      const auto inputs = parted::inputsOf(concrete);
      CHECK(largestError(executable->run(inputs).outputs, interpret(concrete, inputs)) < parted::tolerance);
    }
  }
  CHECK(checked >= parted::cases().size() / 6);
  for (const char* family : {"panels", "strips", "default"}) CHECK(families.count(family) == 1);
}

TEST_CASE("rows of windows of symbolic length are not cut as if they were windows", "[null]") {
  parted::Case c = caseNamed("windows of running sums in a batch");
  const Variant v = derive(programWorkload(parted::symbolic(c), 0), partsFamilyName);
  c.sizes = {{"b", 2}, {"h", 12}, {"w", 33}};
  const Program concrete = parted::load(c);
  const auto inputs = parted::inputsOf(concrete);
  const auto run = runtime::makeEmulatorDevice()->load(compileVariant(v, v.defaults))->run(inputs);
  CHECK(largestError(run.outputs, interpret(concrete, inputs)) < parted::tolerance);
}

TEST_CASE("rows of symbolic length are filled up where they are cut, whatever has their length within or is turned",
          "[null]") {
  const auto device = runtime::makeEmulatorDevice();
  for (const char* name : {"a stencil of rows beside one of columns", "a stencil whose result is turned"}) {
    INFO(name);
    const parted::Case& c = caseNamed(name);
    const Variant v = derive(programWorkload(parted::symbolic(c), 0), partsFamilyName);
    const auto inputs = parted::inputsOf(parted::load(c));
    const auto outputs = device->load(compileVariant(v, v.defaults))->run(inputs).outputs;
    CHECK(largestError(outputs, interpret(parted::load(c), inputs)) < parted::tolerance);
  }
}

TEST_CASE("strips of open sizes are of whole vectors but where their lanes are padded or left over", "[null]") {
  const Program program = parseProgram(
      {"distances.lift",
       "def main(u: [h][w]f32, t: [3][3]f32): [h][w]f32 = pad2D(1, 1, 1, 1, 0.0, u) |> slide2D(3, 3, 1, 1)\n"
       "  |> map2D(fun x => sum(map(square, zipWith(sub, flatten(x), flatten(t)))))\n"});
  const Variant v = derive(programWorkload(program, 0), partsFamilyName);
  const kernel::Plan plan = compileVariant(v, v.defaults);
  const std::string& source = plan.sources.at(0);
  const auto branch = source.find("if (at + 16 < w && at > 0) {"), otherwise = source.find("} else {", branch);
  REQUIRE(otherwise != std::string::npos);
  const std::string whole = source.substr(branch, otherwise - branch);
  CHECK(whole.find("vload16") != std::string::npos);
  CHECK(whole.find("min(") == std::string::npos);
  const auto device = runtime::makeEmulatorDevice();
  for (const std::int64_t w : {1, 15, 16, 17, 50, 160}) {
    INFO("w = " << w);
    const Program constant = atValues(program, {{"h", 3}, {"w", w}});
    const auto inputs = parted::inputsOf(constant);
    CHECK(largestError(device->load(plan)->run(inputs).outputs, interpret(constant, inputs)) < parted::tolerance);
  }
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

TEST_CASE("what moves computed elements takes a work-item for each", "[null]") {
  const Program program =
      parseProgram(*addSource("moved.lift", "def main(x: [7]f32) = padWrap(3, 1, map(fun a => a * 0.5, x))\n"));
  const kernel::Plan plan = compile(program);
  REQUIRE(plan.kernels.size() == 1);
  CHECK(plan.kernels[0].range.global[0] == Nat(11));
}

TEST_CASE("filled tiles need no barriers between their rows", "[null]") {
  const Variant v =
      derive(programWorkload(parted::symbolic(caseNamed("few rows, many columns that are read in order")), 0),
             partsFamilyName);
  for (const std::string& source : compileVariant(v, v.defaults).sources)
    CHECK(source.find("barrier(") == std::string::npos);
}

TEST_CASE("columns whose steps are far apart and that no cache holds are read in pairs of lines", "[null]") {
  parted::Case c;
  c.name = "deep sums";
  c.text = parted::product + "def main(a: [k][n]f32, b: [k][m]f32): [n][m]f32 = product(transpose(a), b)\n";
  c.sizes = {{"k", 50000}, {"n", 256}, {"m", 256}};
  const Workload w = partsOf(parted::load(c)).parts.at(0).workload;
  runtime::DeviceInfo device;
  device.type = "cpu";
  device.computeUnits = 2;
  device.vectorWidthF32 = 16;
  CHECK(w.family("tiles").preferred(device).at("columns") % 32 == 0);
}

TEST_CASE("rows whose steps are far apart are transposed in memory where many tiles read a large array", "[null]") {
  const auto device = runtime::makeEmulatorDevice();
  parted::Case c;
  c.name = "gradient of weights";
  c.text = parted::product + "def main(a: [k][n]f32, b: [k][m]f32): [n][m]f32 = product(transpose(a), b)\n";
  const auto kernels = [&](std::int64_t k, std::int64_t n, std::int64_t m) {
    c.sizes = {{"k", k}, {"n", n}, {"m", m}};
    Workload w = partsOf(parted::load(c)).parts.at(0).workload;
    const Variant v = derive(w, "near");
    Config config = v.defaults;
    config["columns"] = config["lanes"] = 16;  // the emulator has little local memory
    const kernel::Plan plan = compileVariant(v, config);
    if (k < 1000) {
      w.judgedRows = {0, n / 2, n - 1};
      const auto inputs = w.makeInputs(5);
      const auto outputs = device->load(plan)->run(inputs).outputs;
      CHECK(largestError(tune::rowsOf(outputs, w.judgedRows), w.expected(inputs)) < parted::tolerance);
    }
    return plan.kernels.size();
  };
  CHECK(kernels(907, 301, 65) == 2);
  CHECK(kernels(907, 37, 65) == 1);    // the second cache holds the array
  CHECK(kernels(4001, 301, 33) == 1);  // few tiles read it
}

TEST_CASE("long sums of few results are divided into chunks, unless sums keep their order", "[null]") {
  parted::Case c;
  c.name = "long";
  const auto patterns = [&](bool inOrder) {
    std::vector<Pattern> found;
    for (const Part& p : partsOf(parted::load(c), inOrder).parts) found.push_back(p.pattern);
    return found;
  };
  c.text = "def main(x: [n][k]f32, g: [n][m]f32): [m][k]f32 = matmul(transpose(g), x)\n";
  c.sizes = {{"n", 50000}, {"k", 576}, {"m", 64}};
  CHECK(patterns(false) == std::vector{Pattern::product, Pattern::rows});
  CHECK(patterns(true) == std::vector{Pattern::product});
  c.sizes["n"] = 1000;
  CHECK(patterns(false) == std::vector{Pattern::product});
  c.text = "def main(x: [n][m]f32): [m]f32 = map(sum, transpose(x))\n";
  c.sizes = {{"n", 4099}, {"m", 700}};  // no chunk divides the rows
  CHECK(patterns(false) == std::vector{Pattern::rows, Pattern::rows});
  CHECK(patterns(true) == std::vector{Pattern::rows});
  c.sizes["n"] = 100;
  CHECK(patterns(false) == std::vector{Pattern::rows});
}
