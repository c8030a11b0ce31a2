#include "fixtures.hpp"

using namespace lift;
using namespace lift::runtime;
using namespace lift::runtime::testing;

namespace {

using Role = kernel::PlanBuffer::Role;
using Shape = std::vector<std::int64_t>;

const NatVar n = NatVar::size("n");
const NatVar m = NatVar::size("m");

// A plan of inputs only, called a, b, … .
kernel::Plan inputs(std::vector<NatVar> sizes, const std::vector<std::vector<Nat>>& shapes) {
  kernel::Plan p;
  p.sizes = std::move(sizes);
  char name = 'a';
  for (const std::vector<Nat>& s : shapes) p.buffers.push_back(planBuffer(std::string(1, name++), s, Role::input));
  return p;
}

std::map<std::string, ArrayType> types(const std::vector<Shape>& shapes) {
  std::map<std::string, ArrayType> all;
  char name = 'a';
  for (const Shape& s : shapes) all[std::string(1, name++)] = {Scalar::f32, s};
  return all;
}

std::string failure(const kernel::Plan& plan, const std::map<std::string, ArrayType>& in,
                    const std::map<std::string, std::int64_t>& given = {}) {
  return messageOf(ExitStatus::program, [&] { bindSizes(plan, in, given); });
}

}  // namespace

TEST_CASE("a size is read off a dimension", "[null]") {
  const Binding b = bindSizes(inputs({n, m}, {{n, m}}), types({{3, 224}}));
  CHECK(b.sizes.at(n) == 3);
  CHECK(b.sizes.at(m) == 224);
  CHECK(b.shapes == std::vector<Shape>{{3, 224}});
  CHECK(b.bytes == std::vector<std::int64_t>{3 * 224 * 4});
}

TEST_CASE("linear dimensions are solved", "[null]") {
  CHECK(bindSizes(inputs({n}, {{Nat(n) + 2}}), types({{12}})).sizes.at(n) == 10);
  CHECK(bindSizes(inputs({n}, {{2 * Nat(n)}}), types({{12}})).sizes.at(n) == 6);
  CHECK(bindSizes(inputs({n}, {{3 * Nat(n) - 1}}), types({{11}})).sizes.at(n) == 4);
  CHECK(bindSizes(inputs({n}, {{100 - Nat(n)}}), types({{30}})).sizes.at(n) == 70);
}

TEST_CASE("solving continues with what is known, in any order", "[null]") {
  // a is n*m, b is m + n, c is m.
  const kernel::Plan p = inputs({n, m}, {{Nat(n) * m}, {Nat(m) + n}, {m}});
  const Binding b = bindSizes(p, types({{35}, {12}, {5}}));
  CHECK(b.sizes.at(n) == 7);
  CHECK(b.sizes.at(m) == 5);
}

TEST_CASE("dimensions that are not linear are checked", "[null]") {
  const kernel::Plan p = inputs({n}, {{n}, {floorDiv(n, 4)}});
  CHECK(bindSizes(p, types({{19}, {4}})).sizes.at(n) == 19);
  const std::string e = failure(p, types({{19}, {5}}));
  CHECK(has(e, "input b: expected f32["));
  CHECK(has(e, "got f32[5]: dimension 0 should be 4"));
  CHECK(has(e, "n is 19 from dimension 0 of input a"));
}

TEST_CASE("contradictions say where the size came from", "[null]") {
  const std::string e = failure(inputs({n}, {{n, 3}, {n}}), types({{7, 3}, {8}}));
  CHECK(has(e, "error: input b: expected f32[n], got f32[8]: dimension 0 should be 7"));
  CHECK(has(e, "n is 7 from dimension 0 of input a"));
}

TEST_CASE("dimensions without solution", "[null]") {
  CHECK(has(failure(inputs({n}, {{2 * Nat(n)}}), types({{7}})),
            "expected f32[2*n], got f32[7]: dimension 0 is 7, and no integer n makes 2*n that"));
  CHECK(has(failure(inputs({n}, {{Nat(n) + 2}}), types({{2}})), "n would be 0, but must be at least 1"));
}

TEST_CASE("constants must agree", "[null]") {
  CHECK(has(failure(inputs({}, {{3, 224}}), types({{3, 225}})),
            "input a: expected f32[3][224], got f32[3][225]: dimension 1 should be 224"));
}

TEST_CASE("ranks and element types must agree", "[null]") {
  const kernel::Plan p = inputs({n}, {{3, n}});
  CHECK(has(failure(p, types({{5}})), "input a: expected f32[3][n], got f32[5]: 1 dimensions instead of 2"));
  std::map<std::string, ArrayType> wrong = types({{3, 5}});
  wrong["a"].scalar = Scalar::f64;
  CHECK(has(failure(p, wrong), "input a: expected f32[3][n], got f64[3][5]: the elements are f64"));
}

TEST_CASE("missing and unknown inputs name the inputs there are", "[null]") {
  const kernel::Plan p = inputs({n}, {{3, n}, {n}});
  const std::string missing = failure(p, {{"a", {Scalar::f32, {3, 5}}}});
  CHECK(has(missing, "input b : f32[n] is missing"));
  CHECK(has(missing, "the inputs are a : f32[3][n], b : f32[n]"));
  auto more = types({{3, 5}, {5}});
  more["weight"] = {};
  CHECK(has(failure(p, more), "the program has no input weight"));
  CHECK(has(failure(inputs({}, {}), more), "the program has no inputs"));
}

TEST_CASE("sizes may be given, and must then fit", "[null]") {
  const kernel::Plan p = inputs({n, m}, {{Nat(n) * m}});
  CHECK(bindSizes(p, types({{12}}), {{"n", 4}}).sizes.at(m) == 3);
  const std::string e = failure(p, types({{12}}), {{"n", 4}, {"m", 4}});
  CHECK(has(e, "dimension 0 should be 16"));
  CHECK(has(e, "n is 4 as given"));
  CHECK(has(failure(p, types({{12}}), {{"n", 5}}), "no integer m makes"));
  CHECK(has(failure(p, types({{12}}), {{"k", 5}}), "the program has no size k"));
  CHECK(has(failure(p, types({{12}}), {{"k", 5}}), "its sizes are n, m"));
  CHECK(has(failure(p, types({{12}}), {{"n", 0}}), "size n is 0, but must be at least 1"));
}

TEST_CASE("undetermined sizes are an error", "[null]") {
  const std::string e = failure(inputs({n, m}, {{Nat(n) * m}}), types({{12}}));
  CHECK(has(e, "size n does not follow from the inputs"));
  CHECK(has(e, "give its value"));
  // A contradiction elsewhere is the better message.
  CHECK(has(failure(inputs({n, m}, {{Nat(n) * m}, {3}}), types({{12}, {4}})), "dimension 0 should be 3"));
}

TEST_CASE("upper bounds of sizes hold", "[null]") {
  const NatVar k = NatVar::fresh("k", 1, Nat(n) - 1);
  const kernel::Plan p = inputs({n, k}, {{n}, {k}});
  CHECK(bindSizes(p, types({{4}, {3}})).sizes.at(k) == 3);
  CHECK(has(failure(p, types({{4}, {4}})), "size k is 4, but may be at most 3"));
}

TEST_CASE("shapes of outputs and temporaries follow", "[null]") {
  kernel::Plan p = inputs({n}, {{n}});
  p.buffers.push_back(planBuffer("t", {2, Nat(n) + 1}, Role::temporary));
  p.buffers.push_back(planBuffer("out", {Nat(n) - 2}, Role::output));
  const Binding b = bindSizes(p, types({{6}}));
  CHECK(b.shapes == std::vector<Shape>{{6}, {2, 7}, {4}});
  CHECK(b.bytes == std::vector<std::int64_t>{24, 56, 16});
  CHECK(bindSizes(p, types({{2}})).bytes.back() == 0);
  CHECK(has(failure(p, types({{1}})), "would be f32[-1]"));
}

TEST_CASE("inputs have elements", "[null]") {
  const NatVar k = NatVar::fresh("k", 0, Nat(8));
  const kernel::Plan p = inputs({k}, {{k}});
  CHECK(bindSizes(p, types({{8}})).sizes.at(k) == 8);
  CHECK(has(failure(p, types({{0}})), "would be f32[0]"));
  CHECK(bindSizes(inputs({n, k}, {{Nat(n) + k}}), types({{4}}), {{"k", 0}}).sizes.at(n) == 4);
}

TEST_CASE("byte counts beyond 64 bits are an error of the program", "[null]") {
  kernel::Plan p = inputs({n}, {{n}});
  p.buffers.push_back(planBuffer("t", {n, n}, Role::temporary));
  CHECK(has(failure(p, types({{std::int64_t{1} << 40}})), "does not fit 64 bits"));
}

TEST_CASE("a scalar input has no dimensions", "[null]") {
  const Binding b = bindSizes(inputs({}, {{}}), types({{}}));
  CHECK(b.bytes == std::vector<std::int64_t>{4});
  CHECK(typesOf({{"a", Tensor(Scalar::i8, {2, 3})}}).at("a").shape == Shape{2, 3});
}
