// Programs compiled to C, built by the system's compiler, and judged by what knows nothing of it: the references of the
// catalogue, and the interpreter.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "c_target/library.hpp"
#include "differential/judges.hpp"
#include "lift/codegen.hpp"
#include "lift/diagnostic.hpp"
#include "lift/inputs.hpp"
#include "lift/interpreter.hpp"
#include "lift/text.hpp"
#include "programs/catalogue.hpp"
#include "programs/conversions.hpp"

namespace lift::c_target {
namespace {

using Tensors = std::map<std::string, Tensor>;

// Why a plan is refused, or nothing.
std::string refusal(const UserError& e) {
  const std::string& message = e.diagnostics().at(0).message;
  CHECK(e.status() == ExitStatus::program);
  const bool known =
      message.find("is no plain C: ") != std::string::npos &&
      (message.find("(a barrier)") != std::string::npos || message.find("put values together") != std::string::npos ||
       message.find("from one parallel loop to the next") != std::string::npos);
  return known ? "" : render(e.diagnostics());
}

bool same(const ScalarValue& a, const ScalarValue& b, double tolerance) {
  if (!isFloat(a.type)) return a.integer == b.integer;
  if (std::isnan(a.real) || std::isnan(b.real)) return std::isnan(a.real) && std::isnan(b.real);
  return a.real == b.real || std::abs(a.real - b.real) <= tolerance * std::max(1.0, std::abs(b.real));
}

std::string differences(const Tensors& actual, const Tensors& expected, double tolerance) {
  std::string wrong;
  for (const auto& [name, e] : expected) {
    const Tensor& a = actual.at(name);
    for (std::int64_t i = 0; i < e.size(); i++)
      if (!same(a.at(i), e.at(i), tolerance)) {
        wrong += fmt::format("{}[{}] is {}, not {}\n", name, i, a.get(i), e.get(i));
        break;
      }
  }
  return wrong;
}

// Judged by the interpreter.
struct Judged {
  std::string text;
  Program program;
  Tensors inputs;
  double tolerance;
  std::size_t plan = 0;
};

Program parsed(const std::string& text, std::int64_t n) {
  const Program program = parseProgram(*addSource("c.lift", text));
  std::map<NatVar, Nat> sizes;
  for (const NatVar v : program.sizes) sizes.emplace(v, Nat(n));
  return specialise(program, sizes);
}

void judgeAll(std::vector<Judged> all) {
  Library library;
  for (Judged& j : all) j.plan = library.add(compile(j.program));
  REQUIRE(library.build() == "");
  for (const Judged& j : all) {
    INFO(j.text);
    CHECK(differences(library.run(j.plan, j.inputs), interpret(j.program, j.inputs), j.tolerance) == "");
  }
}

constexpr std::int64_t length = 48;  // of every width

// Values that what is left undefined by C would show in; divisors are not 0.
Tensor values(Scalar t, std::uint64_t seed, bool divides) {
  Tensor x(t, {length});
  fillRandom(x, seed, divides ? "y" : "x");
  if (t == Scalar::boolean) return x;
  if (isFloat(t)) {
    const double special[] = {NAN, INFINITY, -INFINITY, -0.0, 0, 1, -1, 2.5, 0.5, -2.5, 1e4, -7};
    for (int i = 0; i < 12; i++) x.set(divides ? (5 * i + 3) % length : i, special[i]);
    return x;
  }
  const ScalarValue low = ScalarValue::extreme(t, ScalarValue::Extreme::lowest);
  const ScalarValue high = ScalarValue::extreme(t, ScalarValue::Extreme::highest);
  for (int i = 0; i < 8; i++) {
    x.put(divides ? 3 * i : i, i % 2 == 0 ? low : high);
    x.put(divides ? 2 * i + 9 : i + 8, ScalarValue::ofInteger(t, i < 4 ? -1 : 37 * i));
  }
  if (divides)
    for (std::int64_t i = 0; i < length; i++)
      if (x.at(i).integer == 0) x.set(i, 3);
  return x;
}

// Every operation on the type, each an output of one program.
Judged operations(Scalar t, int width) {
  const auto spread = [&](const char* name) {
    return width == 1 ? std::string(name) : fmt::format("asVector({}, {})", width, name);
  };
  std::string outputs;
  const auto add = [&](const std::string& result) {
    outputs += outputs.empty() ? "" : ", ";
    outputs += width == 1 ? fmt::format("map(fun (v, w) => {}, p)", result)
                          : fmt::format("map(vectorize({}, fun (v, w) => {}), p) |> asScalar", width, result);
  };
  for (int o = 0; o < opCount; o++) {
    const OpInfo& row = info(static_cast<Op>(o));
    if (row.op == Op::select) continue;
    const std::vector<Scalar> operands(static_cast<std::size_t>(row.arity), t);
    if (!resultType(row.op, operands)) continue;
    const std::string call = fmt::format("{}({})", row.name,
                                         row.arity == 1   ? "v"
                                         : row.arity == 2 ? "v, w"
                                                          : "v, w, v");
    add(call);
  }
  if (t != Scalar::boolean) add("if v < w && !(v == w) then v else w");
  const std::string text = fmt::format("def main(x: [n]{0}, y: [n]{0}) = let p = zip({1}, {2}) in ({3})", info(t).name,
                                       spread("x"), spread("y"), outputs);
  return {text, parsed(text, length), {{"x", values(t, 1, false)}, {"y", values(t, 2, true)}}, 1e-5};
}

}  // namespace

TEST_CASE("C computes what the references of the catalogue compute, or says why it cannot") {
  Library library;
  std::vector<std::pair<const programs::CatalogueEntry*, std::size_t>> compiled;
  std::size_t refused = 0;
  for (const programs::CatalogueEntry& entry : programs::catalogue()) {
    INFO(entry.name());
    const kernel::Plan plan = compile(programs::load(entry));
    try {
      compiled.emplace_back(&entry, library.add(plan));
    } catch (const UserError& e) {
      refused++;
      CHECK(refusal(e) == "");
    }
  }
  CHECK(refused * 20 < compiled.size());
  REQUIRE(library.build() == "");
  for (const auto& [entry, plan] : compiled) {
    INFO(entry->name());
    const Tensors inputs = programs::inputsOf(*entry, programs::load(*entry));
    CHECK(programs::judge(*entry, library.run(plan, inputs), entry->reference(inputs)) == "");
  }
}

TEST_CASE("every operation means the same in C, on scalars and on vectors") {
  std::vector<Judged> all;
  for (int s = 0; s < scalarCount; s++)
    for (const int width : {1, 3, 8}) all.push_back(operations(static_cast<Scalar>(s), width));
  for (const int width : {2, 4, 16}) all.push_back(operations(Scalar::f32, width));
  judgeAll(std::move(all));
}

// Some of all numbers of f32, by their bits.
Tensor anyNumbers(std::int64_t n, std::int64_t seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  Tensor x(Scalar::f32, {n});
  for (std::int64_t i = 0; i < n; i++) {
    float v = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (i % 2 == 0) v = std::remainder(v, 110.0F);  // half of them where most functions are neither 0 nor infinite
    x.set(i, static_cast<double>(v));
  }
  const double special[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 88.7, 89, -87.4, -103.9, -104.1, 1e-40};
  for (std::int64_t i = 0; i < std::ssize(special); i++) x.set(i, special[i]);
  return x;
}

// In units of the last place of f32.
double distance(double actual, double exact) {
  if (std::isnan(actual) || std::isnan(exact)) return std::isnan(actual) == std::isnan(exact) ? 0 : INFINITY;
  const double rounded = static_cast<float>(exact);
  if (actual == rounded) return 0;
  const double unit = std::ldexp(1, std::max(std::ilogb(exact) - 23, -149));
  return std::abs(actual - exact) / unit;
}

TEST_CASE("functions of f32 are exact to some units in the last place in C, on scalars and on vectors") {
  struct Function {
    const char* name;
    double (*exact)(double);
    double units = 4;  // of libmvec
  };
  const Function functions[] = {
      {"exp", std::exp, 1.1}, {"sqrt", std::sqrt, 0.6}, {"exp2", std::exp2}, {"log", std::log},   {"log2", std::log2},
      {"log10", std::log10},  {"sin", std::sin},        {"cos", std::cos},   {"tan", std::tan},   {"tanh", std::tanh},
      {"sinh", std::sinh},    {"cosh", std::cosh},      {"atan", std::atan}, {"asin", std::asin}, {"acos", std::acos},
      {"erf", std::erf},      {"cbrt", std::cbrt}};
  constexpr std::int64_t n = 1 << 14;
  const std::int64_t seed = test::seedOr(1);
  INFO("LIFT_TEST_SEED=" << seed);
  const Tensor x = anyNumbers(n, seed);
  Library library;
  std::vector<std::size_t> plans;
  for (const char* text :
       {"def main(x: [n]f32) = map({}, x)", "def main(x: [n]f32) = asScalar(map(vectorize(8, {}), asVector(8, x)))"})
    for (const Function& f : functions)
      plans.push_back(library.add(compile(parsed(fmt::format(fmt::runtime(text), f.name), n))));
  REQUIRE(library.build() == "");
  for (std::size_t p = 0; p < plans.size(); p++) {
    const Function& f = functions[p % std::size(functions)];
    const Tensor y = library.run(plans[p], {{"x", x}}).at("out");
    double worst = 0;
    for (std::int64_t i = 0; i < n; i++) {
      const double units = distance(y.get(i), f.exact(x.get(i)));
      if (units > f.units) UNSCOPED_INFO(f.name << " of " << x.get(i) << " is " << y.get(i));
      worst = std::max(worst, units);
      if (units > f.units) break;
    }
    INFO(f.name << (p < std::size(functions) ? "" : " of vectors"));
    CHECK(worst <= f.units);
  }
}

TEST_CASE("for targets of C, the sources of a plan are C where they can be") {
  CompileOptions options;
  options.target.isC = true;
  const Program program = parsed("def main(x: [n]f32) = map(log, x)", 64);
  const std::string source = compile(program, options).sources.at(0);
  CHECK(source.find("static void main__kernel(") != std::string::npos);
  CHECK(compile(program).sources.at(0).find("__kernel") != std::string::npos);
  // GCC keeps to the registers that there are, and computes the logarithm in vectors.
  for (const char* line :
       {"#pragma GCC optimize (\"no-predictive-commoning\")", "#pragma GCC target (\"tune=generic\")",
        "__attribute__((const, simd(\"notinbranch\"))) float logf(float);"})
    CHECK(source.find(line) != std::string::npos);
}

TEST_CASE("C stores large results past the caches, wherever they begin") {
  constexpr std::int64_t n = 1024;
  CompileOptions options;
  options.passes.lineBytes = 64;
  options.passes.cacheBytes = 1;
  options.passes.vectorBytes = 32;
  Library library;
  for (const char* type : {"f32", "i32", "f64"}) {
    const Program program =
        parsed(fmt::format("def main(x: [n]{}) = x |> asVector(16) |> map(fun v => v + v) |> asScalar", type), n);
    const kernel::Plan plan = compile(program, options);
    REQUIRE(kernel::printC(plan.kernels).text.find("_stream(") != std::string::npos);
    library.add(plan);
  }
  REQUIRE(library.build() == "");
  std::size_t plan = 0;
  for (const Scalar scalar : {Scalar::f32, Scalar::i32, Scalar::f64}) {
    Tensor x(scalar, {n});
    for (std::int64_t i = 0; i < n; i++) x.set(i, static_cast<double>(i - 100));
    // Their memory begins at any multiple of 16.
    std::vector<std::map<std::string, Tensor>> results;
    for (int run = 0; run < 8; run++) results.push_back(library.run(plan, {{"x", x}}));
    for (const auto& result : results)
      for (std::int64_t i = 0; i < n; i++) REQUIRE(result.at("out").get(i) == static_cast<double>(2 * (i - 100)));
    plan++;
  }
}

TEST_CASE("C converts between all types as the interpreter does, and reads tables of all types") {
  std::vector<Judged> all;
  for (int s = 0; s < scalarCount; s++) {
    const auto from = static_cast<Scalar>(s);
    std::vector<double> numbers = programs::conversionValues(from);
    numbers.resize(length, 1);
    Tensor xs(from, {length});
    for (std::size_t i = 0; i < numbers.size(); i++) xs.set(static_cast<std::int64_t>(i), numbers[i]);
    std::string targets;
    for (int i = 0; i < scalarCount; i++)
      targets += fmt::format("{}{}(x)", targets.empty() ? "" : ", ", info(static_cast<Scalar>(i)).name);
    const std::string text =
        fmt::format("def main(x: [n]{}) = map(fun x => ({}), x) |> unzip", info(from).name, targets);
    all.push_back({text, parsed(text, length), {{"x", xs}}, 0});
  }
  for (const programs::LiteralTable& table : programs::tables()) {
    Tensor at(Scalar::i32, {4});
    for (int i = 0; i < 4; i++) at.set(i, i);
    all.push_back({table.program, parsed(table.program, 4), {{"at", at}}, 0});
  }
  judgeAll(std::move(all));
}

TEST_CASE("sizes left open are parameters in C, of loops of launches, too") {
  struct Case {
    std::string text;
    std::vector<std::map<std::string, std::int64_t>> sizes;
  };
  const std::vector<Case> cases{
      {"def main(x: [n]f32, y: [n]f32) = zip(x, y) |> map(fun (a, b) => a * b) |> reduce(0.0, add)",
       {{{"n", 1}}, {{"n", 511}}, {{"n", 5000}}}},
      {"def main(x: [n][m]f32) = transpose(x) |> map(scan(0.0, add))", {{{"n", 1}, {"m", 7}}, {{"n", 33}, {"m", 20}}}},
      {"def main(k: nat in 0.., x: [n]f32) = let s = x[0] * 0.5 in "
       "(iterate(k, fun y => map(fun v => v * 0.5 + s, reorder(reverse, y)), x), maximum(x))",
       {{{"k", 0}, {"n", 9}}, {{"k", 1}, {"n", 9}}, {{"k", 20}, {"n", 100}}, {{"k", 21}, {"n", 100}}}},
  };
  Library library;
  std::vector<std::size_t> plans;
  for (const Case& c : cases) plans.push_back(library.add(compile(parseProgram(*addSource("c.lift", c.text)))));
  REQUIRE(library.build() == "");
  for (std::size_t i = 0; i < cases.size(); i++)
    for (const auto& named : cases[i].sizes) {
      INFO(cases[i].text);
      const Program open = parseProgram(*addSource("c.lift", cases[i].text));
      const Program fixed = atValues(open, named);
      const Tensors inputs = randomInputs(fixed, 1);
      CHECK(differences(library.run(plans[i], inputs, named), interpret(fixed, inputs), 2e-5) == "");
    }
}

TEST_CASE("C records the first wrong index") {
  const Program program = parsed("def main(x: [n]i32) = map(fun i => 10 / (x[i + 1] - 3), x)", 4);
  CompileOptions options;
  options.checkBounds = true;
  const kernel::Plan plan = compile(program, options);
  Library library;
  library.add(plan);
  REQUIRE(library.build() == "");
  Tensor x(Scalar::i32, {4});
  const auto faults = [&](std::vector<int> values) {
    for (int i = 0; i < 4; i++) x.set(i, values[static_cast<std::size_t>(i)]);
    const Tensor found = library.run(0, {{"x", x}}).at("faults");
    return std::vector<double>{found.get(0), found.get(1), found.get(2)};
  };
  CHECK(faults({0, 1, 2, 0}) == std::vector<double>{-1, -1, -1});
  const std::vector<double> wrong = faults({0, 1, 1, 3});
  REQUIRE(wrong[0] >= 1);
  CHECK(plan.sites.at(static_cast<std::size_t>(wrong[0]) - 1).message.find("out of range") != std::string::npos);
  CHECK(wrong[1] == 4);
  CHECK(wrong[2] == 4);
}

TEST_CASE("random programs mean the same in C") {
  const std::int64_t seed = test::seedOr(1), count = 60 / differential::thinning;
  INFO("LIFT_TEST_SEED=" << seed);
  Library library;
  std::vector<std::pair<differential::Case, std::size_t>> cases;
  for (std::int64_t i = 0; i < count; i++) {
    auto choices = differential::Choices::random(static_cast<std::uint64_t>(seed * 1000 + i));
    differential::Case c(differential::generate(choices).text);
    INFO(c.text);
    try {
      const std::size_t plan = library.add(c.plan);
      cases.emplace_back(std::move(c), plan);
    } catch (const UserError& e) {
      CHECK(refusal(e) == "");
    }
  }
  CHECK(cases.size() * 2 > static_cast<std::size_t>(count));
  REQUIRE(library.build("-O1 -march=native -fopenmp") == "");
  for (const auto& [c, plan] : cases) {
    INFO(c.text);
    std::map<std::string, std::int64_t> sizes;
    for (const NatVar v : c.program.sizes) sizes[v.name()] = differential::symbolicSize;
    CHECK(differential::compareResults(library.run(plan, c.inputs, sizes), c.expected,
                                       {1e-5, differential::longestSum(c.specialised)}) == "");
  }
}

}  // namespace lift::c_target
