#include <catch2/catch.hpp>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

EmulatorReport run(const Kernel& k, Memory& memory, const EmulatorOptions& options = {}) {
  verify(k);
  return emulate(k, memory, {}, options);
}

bool reports(const Kernel& k, Memory memory, const std::string& text, const EmulatorOptions& options = {}) {
  const EmulatorReport r = run(k, memory, options);
  CAPTURE(r.findings, text);
  bool found = false;
  for (const std::string& f : r.findings) found = found || f.find(text) != std::string::npos;
  CHECK(found);
  return found;
}

// Two phases over one local array, the second one reading it back to front.
Kernel staged(bool barrier) {
  Maker m;
  const auto in = m.in("in", 16), out = m.out("out", 16), tile = m.local("tile", 8);
  m.range({16, 1, 1}, {8, 1, 1});
  m.k.body = block(wrg("g", 2, [&](Nat g) {
    Block b = block(lcl("l", 8, [&](Nat l) { return Store{tile, l, load(in, 8 * g + l)}; }));
    if (barrier) b.push_back({Barrier{true, false}});
    b.push_back({lcl("l", 8, [&](Nat l) { return Store{out, 8 * g + l, load(tile, 7 - l)}; })});
    return b;
  }));
  return m.k;
}

}  // namespace

TEST_CASE("emulator: groups, work-items, local memory") {
  Memory memory{floats(ramp(16)), floats(ramp(16))};
  CHECK(run(staged(true), memory).ok());
  CHECK(floats(memory[1]) == std::vector<float>{7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8});
}

TEST_CASE("emulator: a barrier taken away is a race") {
  reports(staged(false), {floats(ramp(16)), floats(ramp(16))},
          "race: read of tile[7] by work-item (0, 0, 0) of group (0, 0, 0), with its writer work-item (7, 0, 0)");
}

TEST_CASE("emulator: a barrier with the wrong fence is none") {
  Kernel k = staged(true);
  std::get<Barrier>(std::get<For>(k.body[0].node).body[1].node) = {false, true};
  reports(k, {floats(ramp(16)), floats(ramp(16))}, "race: read of tile");
}

TEST_CASE("emulator: writing what others read is a race") {
  Maker m;
  const auto out = m.out("out", 8);
  m.range({8, 1, 1}, {8, 1, 1});
  m.k.body = block(lcl("l", 8, [&](Nat l) { return Store{out, l, load(out, (l + 1) % 8)}; }));
  reports(m.k, {floats(ramp(8))}, "race: write of out[1] by work-item (1, 0, 0) of group (0, 0, 0), with the reader");
}

TEST_CASE("emulator: two writers are a race, of one value only if not allowed") {
  Maker m;
  const auto out = m.out("out", 8);
  m.range({8, 1, 1}, {8, 1, 1});
  m.k.body = block(Store{out, 0, number(3)});
  reports(m.k, {floats(ramp(8))}, "race: write of out[0]");
  EmulatorOptions options;
  options.allowUniformWrites = true;
  Memory memory{floats(ramp(8))};
  CHECK(run(m.k, memory, options).ok());
  m.k.body = block(lcl("l", 8, [&](Nat l) { return Store{out, 0, convertTo(index(l), Scalar::f32)}; }));
  reports(m.k, {floats(ramp(8))}, "race: write of out[0]", options);
}

TEST_CASE("emulator: groups race through global memory, barriers or not") {
  Maker m;
  const auto temp = m.out("temp", 4), out = m.out("out", 4);
  m.range({4, 1, 1}, {1, 1, 1});
  m.k.body = block(wrg("g", 4, [&](Nat g) {
    return block(Store{temp, g, number(1)}, Barrier{true, true}, Store{out, g, load(temp, 3 - g)});
  }));
  reports(m.k, {floats(ramp(4)), floats(ramp(4))}, "race: read of temp[1]");
  m.k.body = block(wrg("g", 4, [&](Nat g) { return Store{out, g / 2, number(1)}; }));
  reports(m.k, {floats(ramp(4)), floats(ramp(4))}, "with a write in group number 0");
}

TEST_CASE("emulator: groups update elements of global memory at once, which none of them reads or writes") {
  Maker m;
  const auto sums = m.out("sums", 2), out = m.out("out", 4);
  m.range({8, 1, 1}, {2, 1, 1});
  const auto update = [&](Nat i) { return Store{sums, i % 2, number(1), false, Op::add}; };
  m.k.body = block(glb("i", 8, [&](Nat i) { return update(i); }));
  Memory memory{floats(ramp(2)), floats(ramp(4))};
  CHECK(run(m.k, memory).ok());
  CHECK(floats(memory[0]) == std::vector<float>{4, 5});
  m.k.body = block(glb("i", 8, [&](Nat i) { return block(update(i), Store{out, i / 2, load(sums, i % 2)}); }));
  reports(m.k, {floats(ramp(2)), floats(ramp(4))}, "race: ");
  m.k.body = block(wrg("g", 4, [&](Nat g) {
    return block(Store{sums, 0, convertTo(index(g), Scalar::f32)}, update(0));
  }));
  reports(m.k, {floats(ramp(2)), floats(ramp(4))}, "race: update of sums[0]");
}

TEST_CASE("emulator: out of bounds") {
  Maker m;
  const auto in = m.in("in", 4), out = m.out("out", 4), p = m.priv("p", 2);
  m.k.body = block(seq("i", 5, [&](Nat i) { return Store{out, i, number(1)}; }));
  reports(m.k, {floats(ramp(4)), floats(ramp(4))},
          "out of bounds: write of out[4], which has 4 elements, by work-item");
  m.k.body = block(Store{out, 0, load(in, -1)});
  reports(m.k, {floats(ramp(4)), floats(ramp(4))}, "out of bounds: read of in[-1]");
  m.k.body = block(Store{out, 0, load(in, 2, vec(4))});
  reports(m.k, {floats(ramp(4)), floats(ramp(4))}, "out of bounds: read of in[4]");
  m.k.body = block(Allocate{p}, Store{p, 2, number(0)});
  reports(m.k, {floats(ramp(4)), floats(ramp(4))}, "out of bounds: write of p[2]");
}

TEST_CASE("emulator: a guarded read is not made") {
  Maker m;
  const auto in = m.in("in", 4), out = m.out("out", 4);
  const Nat i = counter("i", 4);
  m.k.body = block(seq(i, Store{out, i, choose(test({{i, Relation::less, 3}}), load(in, i + 1), number(-1))}));
  Memory memory{floats(ramp(4)), floats(ramp(4))};
  CHECK(run(m.k, memory).ok());
  CHECK(floats(memory[1]) == std::vector<float>{1, 2, 3, -1});
}

TEST_CASE("emulator: && and || read their right side only where the left one leaves it open") {
  Maker m;
  const auto in = m.in("in", 4), out = m.out("out", 4);
  const auto either = [&](Op op, Nat i, std::int64_t least) {
    return operation(op,
                     {test({{Nat(least), Relation::lessEqual, i}}), operation(Op::gt, {load(in, i + 1), number(2.5)})});
  };
  const Nat i = counter("i", 4);
  m.k.body = block(seq(i, Store{out, i, choose(either(Op::logicalOr, i, 3), number(1), number(0))}));
  Memory memory{floats(ramp(4)), floats(ramp(4))};
  CHECK(run(m.k, memory).ok());
  CHECK(floats(memory[1]) == std::vector<float>{0, 0, 1, 1});
  m.k.body = block(Store{out, 0, choose(either(Op::logicalAnd, 3, 4), number(1), number(0))});
  CHECK(run(m.k, memory).ok());
  CHECK(floats(memory[1])[0] == 0);
  m.k.body = block(Store{out, 0, choose(either(Op::logicalOr, 3, 4), number(1), number(0))});
  reports(m.k, {floats(ramp(4)), floats(ramp(4))}, "out of bounds: read of in[4]");
}

TEST_CASE("emulator: uninitialised memory and variables") {
  Maker m;
  const auto in = m.in("in", 4), out = m.out("out", 4), p = m.priv("p", 2), tile = m.local("tile", 2);
  const VarId v = m.var("v"), w = m.var("w", vec(2));
  const Memory memory{floats(ramp(4)), floats(ramp(4))};
  m.k.body = block(Allocate{p}, Store{out, 0, load(p, 1)});
  reports(m.k, memory, "uninitialised read of p[1]");
  m.k.body = block(Store{tile, 0, number(0)}, Store{out, 0, load(tile, 1)});
  reports(m.k, memory, "uninitialised read of tile[1]");
  m.k.body = block(Declare{v, {}}, Store{out, 0, ref(v, f32)});
  reports(m.k, memory, "uninitialised read of variable v");
  m.k.body = block(Declare{w, {}}, AssignLane{w, 0, number(1)}, Store{out, 0, lane(ref(w, vec(2)), 0)},
                   Store{out, 0, lane(ref(w, vec(2)), 1)});
  reports(m.k, memory, "uninitialised read of variable w");
  EmulatorOptions options;
  options.uninitialised = {false, true};
  m.k.body = block(Store{out, 0, load(out, 1)});
  reports(m.k, memory, "uninitialised read of out[1]", options);
  (void)in;
}

TEST_CASE("emulator: an array is new in every iteration that allocates it") {
  Maker m;
  const auto out = m.out("out", 4), p = m.priv("p", 1);
  const Nat i = counter("i", 2);
  m.k.body = block(seq(i, Allocate{p}, If{test({{i, Relation::less, 1}}), block(Store{p, 0, number(1)}), {}},
                       Store{out, i, load(p, 0)}));
  reports(m.k, {floats(ramp(4))}, "uninitialised read of p[0]");
}

TEST_CASE("emulator: divergent barriers") {
  Maker m;
  const auto out = m.out("out", 8);
  m.range({8, 1, 1}, {8, 1, 1});
  m.k.body = block(lcl("l", 5, [&](Nat l) { return block(Store{out, l, number(0)}, Barrier{true, true}); }));
  reports(m.k, {floats(ramp(8))}, "divergent barrier: not reached by work-item (5, 0, 0) of group (0, 0, 0)");
}

TEST_CASE("emulator: work-items put together what each has, and all of them must") {
  Maker m;
  const auto out = m.out("out", 8), parts = addBuffer(m.k, {"parts", Scalar::f32, 1, AddressSpace::local, 8});
  m.range({8, 1, 1}, {8, 1, 1});
  const ValueType f32{Scalar::f32, 1};
  const auto together = [&](int items) {
    const VarId v = addVariable(m.k, "v", f32);
    m.k.body = block(lcl("l", items, [&](Nat l) {
      return block(Declare{v, convertTo(index(l), Scalar::f32)}, Combine{v, Op::add, parts},
                   Store{out, l, ref(v, f32)});
    }));
  };
  together(8);
  Memory memory{floats(ramp(8))};
  CHECK(run(m.k, memory).ok());
  CHECK(floats(memory[0]) == std::vector<float>(8, 28));
  together(5);
  reports(m.k, {floats(ramp(8))}, "divergent combination: not reached by work-item (5, 0, 0) of group (0, 0, 0)");
}

TEST_CASE("emulator: wrong claims about trip counts") {
  Maker m;
  const auto out = m.out("out", 8);
  m.range({8, 1, 1}, {8, 1, 1});
  For f = lcl("l", 5, [&](Nat l) { return Store{out, l, number(0)}; });
  f.trip = Trip::exactlyOnce;
  m.k.body = block(f);
  reports(m.k, {floats(ramp(8))}, "claims to run exactly once but runs 0 times for work-item (5, 0, 0)");
  For g = lcl("l", 8, [&](Nat l) { return Store{out, l, number(0)}; });
  g.trip = Trip::atMostOnce;
  m.range({4, 1, 1}, {4, 1, 1});
  m.k.body = block(g);
  reports(m.k, {floats(ramp(8))}, "claims to run at most once but runs 2 times");
}

TEST_CASE("emulator: division by zero") {
  Maker m;
  const auto in = m.in("in", 2, Scalar::i32), out = m.out("out", 2, Scalar::i32);
  m.k.body = block(Store{out, 0, operation(Op::div, {load(in, 0, i32), load(in, 1, i32)})});
  reports(m.k, {std::vector<std::byte>(8), std::vector<std::byte>(8)}, "integer division by zero");
}

TEST_CASE("emulator: the step limit ends it") {
  Maker m;
  const auto out = m.out("out", 8);
  m.k.body = block(seq("i", 1000000000, [&](Nat i) { return Store{out, i % 8, number(0)}; }));
  EmulatorOptions options;
  options.stepLimit = 1000;
  Memory memory{floats(ramp(8))};
  const auto r = run(m.k, memory, options);
  CHECK(!r.completed);
  CHECK(!r.ok());
  CHECK(r.findings.empty());
}

TEST_CASE("emulator: many findings are counted, few are listed") {
  Maker m;
  const auto out = m.out("out", 8);
  m.k.body = block(seq("i", 1000, [&](Nat i) { return Store{out, i + 8, number(0)}; }));
  Memory memory{floats(ramp(8))};
  const auto r = run(m.k, memory);
  CHECK(r.findings.size() == 3);
  CHECK(r.suppressed == 997);
}

TEST_CASE("emulator: wrong arguments are the caller's error") {
  Maker m;
  const NatVar n = m.size("n");
  m.out("out", Nat(n));
  Memory none, small{floats(ramp(3))}, right{floats(ramp(4))};
  CHECK_THROWS_AS(emulate(m.k, none, {{n, 4}}), UserError);
  CHECK_THROWS_AS(emulate(m.k, small, {{n, 4}}), UserError);
  CHECK_THROWS_AS(emulate(m.k, right, {}), UserError);
  CHECK(emulate(m.k, right, {{n, 4}}).ok());
  m.range({10, 1, 1}, {4, 1, 1});
  CHECK_THROWS_AS(emulate(m.k, right, {{n, 4}}), UserError);
}

TEST_CASE("emulator: half storage rounds, arithmetic is float") {
  Maker m;
  const auto out = m.out("out", 2, Scalar::f16), wide = m.out("wide", 2);
  m.k.body = block(Store{out, 0, number(2049)}, Store{wide, 0, load(out, 0)});
  Memory memory{std::vector<std::byte>(4), floats(ramp(2))};
  CHECK(run(m.k, memory).ok());
  CHECK(floats(memory[1])[0] == 2048);
}

TEST_CASE("emulator: vectors, lanes, conversions, booleans") {
  Maker m;
  const auto in = m.in("in", 4), out = m.out("out", 8), ints = m.out("ints", 4, Scalar::i32),
             bools = m.out("bools", 4, Scalar::boolean);
  const VarId v = m.var("v", vec(4));
  const auto x = load(in, 0, vec(4));
  m.k.body =
      block(Declare{v, operation(Op::fma, {x, splat(load(in, 1), 4), x})}, AssignLane{v, 3, number(-1.5)},
            Store{out, 0, ref(v, vec(4))}, Store{ints, 0, convertTo(ref(v, vec(4)), Scalar::i32)},
            Store{bools, 0, operation(Op::lt, {x, splat(load(in, 2), 4)})},
            Store{out, 4, operation(Op::select, {load(bools, 0, {Scalar::boolean, 4}), x, operation(Op::neg, {x})})});
  Memory memory{floats(ramp(4, 1)), floats(ramp(8)), std::vector<std::byte>(16), std::vector<std::byte>(4)};
  const auto report = run(m.k, memory);
  CAPTURE(report.findings);
  CHECK(report.ok());
  CHECK(floats(memory[1]) == std::vector<float>{3, 6, 9, -1.5, 1, 2, -3, -4});
  int got[4];
  std::memcpy(got, memory[2].data(), 16);
  CHECK(std::vector<int>(got, got + 4) == std::vector<int>{3, 6, 9, -1});
  CHECK(memory[3] == std::vector<std::byte>{std::byte{1}, std::byte{1}, std::byte{0}, std::byte{0}});
}

TEST_CASE("emulator: floor division of negative integers") {
  Maker m;
  const NatVar n = m.size("n");
  const auto out = m.out("out", 8, Scalar::i32);
  const Nat i = counter("i", 4);
  m.k.body = block(seq(i, Store{out, 2 * i, index((i - Nat(n)) / 4)}, Store{out, 2 * i + 1, index((i - Nat(n)) % 4)}));
  Memory memory{std::vector<std::byte>(32)};
  CHECK(emulate(m.k, memory, {{n, 2}}).ok());
  int got[8];
  std::memcpy(got, memory[0].data(), 32);
  CHECK(std::vector<int>(got, got + 8) == std::vector<int>{-1, 2, -1, 3, 0, 0, 0, 1});
}

TEST_CASE("emulator: a loop ends early for each work-item by itself") {
  Maker m;
  const auto out = m.out("out", 4);
  const VarId running = m.var("running", {Scalar::boolean, 1}), n = m.var("n");
  m.range({4, 1, 1}, {4, 1, 1});
  const Nat i = counter("i", 10);
  m.k.body = block(lcl("l", 4, [&](Nat l) {
    For f = seq(i, Assign{n, add(ref(n, f32), number(1))}, Assign{running, test({{i, Relation::less, l}})});
    f.running = running;
    return block(Declare{n, number(0)}, Declare{running, test({{0, Relation::less, l}})}, std::move(f),
                 Store{out, l, ref(n, f32)});
  }));
  for (const Kernel& k : {m.k, optimise(m.k)}) {
    Memory memory{floats(ramp(4))};
    CHECK(run(k, memory).ok());
    CHECK(floats(memory[0]) == std::vector<float>{0, 2, 3, 4});
    CHECK_THAT(printOpenCL(k), Catch::Contains("i < 10 && running"));
  }
}

TEST_CASE("emulator: the first fault is kept") {
  Maker m;
  const auto faults = m.out("faults", 3, Scalar::i32);
  m.k.faults = faults;
  m.range({4, 1, 1}, {4, 1, 1});
  const Nat l = counter("l", 4);
  m.k.body = block(lcl(l, If{test({{l, Relation::less, 2}}), {}, block(Fault{7, index(l), 2})}));
  for (const Kernel& k : {m.k, optimise(m.k)}) {
    Memory memory{std::vector<std::byte>(12, std::byte{0xFF})};
    CHECK(run(k, memory).ok());
    std::int32_t record[3];
    std::memcpy(record, memory[0].data(), sizeof record);
    CHECK(record[0] == 7);
    CHECK(record[1] == 2);
    CHECK(record[2] == 2);
    CHECK_THAT(printOpenCL(k), Catch::Contains("record_fault(faults, 7, l, 2);"));
  }
}
