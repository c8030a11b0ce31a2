#include <catch2/catch.hpp>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

std::string complaint(const Kernel& k) {
  try {
    verify(k);
  } catch (const InternalError& e) {
    return e.what();
  }
  return "";
}

bool says(const Kernel& k, const char* text) {
  const std::string s = complaint(k);
  CAPTURE(s, text);
  CHECK(s.find(text) != std::string::npos);
  return s.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("builders: types follow from operands") {
  const auto x = number(1);
  CHECK(add(x, x)->type == f32);
  CHECK(operation(Op::lt, {x, x})->type == ValueType{Scalar::boolean, 1});
  CHECK(operation(Op::lt, {splat(x, 4), splat(x, 4)})->type == ValueType{Scalar::boolean, 4});
  CHECK(operation(Op::select, {operation(Op::lt, {x, x}), integer(1), integer(2)})->type == i32);
  CHECK(index(3)->type == i32);
  CHECK(convertTo(x, Scalar::f16)->type == f32);
  CHECK(convertTo(splat(load(0, 0), 4), Scalar::i32)->type == ValueType{Scalar::i32, 4});
  CHECK(makeVector({x, x, x})->type == vec(3));
  CHECK(load(0, 0, {Scalar::f16, 4})->type == vec(4));
}

TEST_CASE("builders: ill-typed expressions cannot be built") {
  const auto x = number(1), v = splat(load(0, 0), 4);
  CHECK_THROWS_AS(add(x, integer(1)), InternalError);
  CHECK_THROWS_AS(add(x, v), InternalError);
  CHECK_THROWS_AS(operation(Op::add, {x}), InternalError);
  CHECK_THROWS_AS(operation(Op::bitAnd, {x, x}), InternalError);
  CHECK_THROWS_AS(operation(Op::sqrt, {integer(1)}), InternalError);
  CHECK_THROWS_AS(operation(Op::logicalAnd, {x, x}), InternalError);
  CHECK_THROWS_AS(operation(Op::select, {x, x, x}), InternalError);
  CHECK_THROWS_AS(choose(x, x, x), InternalError);
  CHECK_THROWS_AS(lane(v, 4), InternalError);
  CHECK_THROWS_AS(splat(v, 4), InternalError);
  CHECK_THROWS_AS(makeVector({x, integer(1)}), InternalError);
}

TEST_CASE("builders: lanes of what is put together are taken apart") {
  const auto x = load(0, 0), y = load(0, 1);
  CHECK(lane(splat(x, 4), 2) == x);
  CHECK(lane(makeVector({x, y}), 1) == y);
  CHECK(lane(x, 0) == x);
  CHECK(splat(x, 1) == x);
  CHECK(convertTo(x, Scalar::f32) == x);
}

TEST_CASE("builders: a plan's buffers have the product of their shape as size") {
  PlanBuffer b;
  CHECK(b.count() == Nat(1));
  b.shape = {3, 4, 5};
  CHECK(b.count() == Nat(60));
}

TEST_CASE("verify: a good kernel passes") {
  Maker m;
  const auto in = m.in("in", 4), out = m.out("out", 4);
  m.k.body = block(seq("i", 4, [&](Nat i) { return Store{out, i, load(in, i)}; }));
  CHECK(complaint(m.k).empty());
}

TEST_CASE("verify: variables and their scopes") {
  Maker m;
  const auto out = m.out("out", 4);
  const VarId v = m.var("v");
  m.k.body = block(Store{out, 0, ref(v, f32)});
  says(m.k, "v is used outside of its scope");
  m.k.body = block(seq("i", 2, [&](Nat) { return Declare{v, number(0)}; }), Assign{v, number(1)});
  says(m.k, "v is used outside of its scope");
  m.k.body = block(Declare{v, number(0)}, Declare{v, number(0)});
  says(m.k, "v is declared twice");
  m.k.body = block(Declare{v, integer(0)});
  says(m.k, "v is initialised with another type");
  m.k.body = block(Declare{v, number(0)}, Store{out, 0, ref(v, vec(4))});
  says(m.k, "v is used with another type");
  m.k.body = block(Assign{7, number(0)});
  says(m.k, "variable 7 of 1");
}

TEST_CASE("verify: integers must be defined where they are used") {
  Maker m;
  const auto out = m.out("out", 4);
  const NatVar i = NatVar::index("i", 4);
  m.k.body = block(Store{out, Nat(i), number(0)});
  says(m.k, "mentions i, which nothing in scope defines");
  m.k.body = block(For{i, 4, LoopKind::sequential, 0, Trip::any, 0, {}}, Store{out, Nat(i), number(0)});
  says(m.k, "mentions i");
  m.k.body = block(
      For{i, 4, LoopKind::sequential, 0, Trip::any, 0, block(For{i, 4, LoopKind::sequential, 0, Trip::any, 0, {}})});
  says(m.k, "already defined");
  m.k.body = {};
  m.k.range.global[0] = Nat(i);
  says(m.k, "global range");
}

TEST_CASE("verify: loops that may end early, and faults") {
  Maker m;
  const auto out = m.out("out", 4);
  const VarId running = m.var("running", {Scalar::boolean, 1}), number_ = m.var("v");
  For f = seq("i", 4, [&](Nat i) { return Store{out, i, number(0)}; });
  f.running = running;
  m.k.body = block(For(f));
  says(m.k, "running is used outside of its scope");
  f.running = number_;
  m.k.body = block(Declare{number_, number(0)}, For(f));
  says(m.k, "v is used with another type");
  f.running = running;
  f.kind = LoopKind::local;
  m.k.body = block(Declare{running, test({})}, For(f));
  says(m.k, "may end early");
  m.k.body = block(Fault{1, integer(0), 4});
  says(m.k, "a fault without a buffer");
}

TEST_CASE("verify: buffers") {
  Maker m;
  const auto in = m.in("in", 4), out = m.out("out", 4), p = m.priv("p", 4), wide = m.priv("wide", 4, 4);
  m.k.body = block(Store{in, 0, number(0)});
  says(m.k, "store to the read-only in");
  m.k.body = block(Store{p, 0, number(0)});
  says(m.k, "store of p outside of its scope");
  m.k.body = block(Store{out, 0, integer(0)});
  says(m.k, "store of out: i32 instead of f32");
  m.k.body = block(Allocate{wide}, Store{wide, 0, number(0)});
  says(m.k, "width 1 instead of 4");
  m.k.body = block(Allocate{p}, Allocate{p});
  says(m.k, "p is allocated twice");
  m.k.body = block(Allocate{out});
  says(m.k, "no private array");
  m.k.body = block(Store{99, 0, number(0)});
  says(m.k, "buffer 99");
  m.k.body = {};
  m.k.arguments.pop_back();
  says(m.k, "global buffer out is no argument");
}

TEST_CASE("verify: conditions are scalar booleans") {
  Maker m;
  m.k.body = block(If{number(1), {}, {}});
  says(m.k, "no bool");
}

TEST_CASE("sizes are checked against 32-bit indices") {
  Maker m;
  const NatVar n = m.size("n");
  m.out("out", Nat(n) * Nat(n));
  CHECK_NOTHROW(checkSizes(m.k, {{n, 1000}}));
  CHECK_THROWS_AS(checkSizes(m.k, {{n, 100000}}), UserError);
  CHECK_THROWS_AS(checkSizes(m.k, {{n, 0}}), UserError);
  CHECK_THROWS_AS(checkSizes(m.k, {}), UserError);
}
