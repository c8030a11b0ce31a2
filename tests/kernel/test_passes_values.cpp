// Passes that change values and variables: simplify, scalars, declare, copies, dead.
#include <catch2/catch.hpp>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

TEST_CASE("simplify: proved and refuted conditions") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 8);
  const Nat i = counter("i", 8);
  m.k.body = block(
      seq(i, Store{out, i, choose(test({{0, Relation::lessEqual, i}, {i, Relation::less, 8}}), load(in, i), number(0))},
          Store{out, i, choose(test({{8, Relation::lessEqual, i}}), load(in, i), number(0))},
          If{test({{i, Relation::less, 4}}),
             block(Store{out, i, choose(test({{i, Relation::less, 4}, {1, Relation::less, i}}), number(1), number(2))}),
             {}},
          If{test({{i, Relation::less, 0}}), block(Store{out, i, number(1)}), block(Store{out, i, number(2)})}));
  CHECK(bodyText(pass("simplify", m.k)) == R"(  for (int i = 0; i < 8; i++) {
    out[i] = in[i];
    out[i] = 0.0f;
    if (i < 4) {
      out[i] = i > 1 ? 1.0f : 2.0f;
    }
    out[i] = 2.0f;
  }
)");
}

TEST_CASE("simplify: what a condition implies holds under it, so that lanes become a vector") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 8);
  const NatVar n = NatVar::size("n");
  m.k.sizes = {n};
  const Nat i = counter("i", 8);
  const auto guarded = [&](Nat x) { return choose(test({{x, Relation::less, Nat(n)}}), load(in, x), number(0)); };
  const auto stored = [&](Nat x) {
    return Store{out, i, choose(test({{x, Relation::less, 6}}), number(1), number(2))};
  };
  m.k.body =
      block(seq(i,
                If{test({{i + 1, Relation::less, Nat(n)}}),
                   block(Store{out, i, makeVector({guarded(i), guarded(i + 1)})}), block(Store{out, i, guarded(i)})},
                Store{out, i, choose(test({{i + 1, Relation::less, Nat(n)}}), guarded(i + 2), number(0))},
                If{test({{i, Relation::less, 4}}), block(stored(i), stored(i + 1), stored(i + 2), stored(i + 3)), {}}));
  CHECK(bodyText(pass("simplify", m.k)) == R"(  for (int i = 0; i < 8; i++) {
    if (i + 1 < n) {
      vstore2(vload2(0, in + i), 0, out + i);
    } else {
      out[i] = i < n ? in[i] : 0.0f;
    }
    out[i] = i + 1 < n && i + 2 < n ? in[i + 2] : 0.0f;
    if (i < 4) {
      out[i] = 1.0f;
      out[i] = 1.0f;
      out[i] = 1.0f;
      out[i] = i < 3 ? 1.0f : 2.0f;
    }
  }
)");
}

TEST_CASE("simplify: conditions read well") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 8);
  const auto inside = [&](Nat x) { return test({{-1, Relation::less, x}, {x, Relation::less, 6}}); };
  const Nat i = counter("i", 9), j = counter("j", 9);
  m.k.body = block(seq(
      i, seq(j,
             // One condition, the constants collected.
             Store{out, i, choose(inside(i - 1), choose(inside(j - 2), load(in, i - 1), number(0)), number(0))},
             // Another value outside: two conditions.
             Store{out, i, choose(inside(i - 1), choose(inside(j - 2), load(in, i - 1), number(-0.0)), number(0))})));
  CHECK(bodyText(pass("simplify", m.k)) == R"(  for (int i = 0; i < 9; i++) {
    for (int j = 0; j < 9; j++) {
      out[i] = i > 0 && i < 7 && j > 1 && j < 8 ? in[i - 1] : 0.0f;
      out[i] = i > 0 && i < 7 ? j > 1 && j < 8 ? in[i - 1] : -0.0f : 0.0f;
    }
  }
)");
}

TEST_CASE("simplify: what is no more than a number is less than the next") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 8);
  const NatVar n = NatVar::size("n"), most = NatVar::size("most");
  m.k.sizes = {n, most};
  const Nat i = counter("i", 9);
  const auto atMost = [&](Nat bound) {
    return Store{out, i, choose(test({{i, Relation::lessEqual, bound}}), load(in, i), number(0))};
  };
  const std::int64_t greatest = std::numeric_limits<std::int32_t>::max();
  m.k.body = block(seq(i, atMost(5), atMost(Nat(n) - 1), atMost(Nat(most)), atMost(Nat(n) - 1 - greatest)));
  CHECK(bodyText(pass("simplify", m.k)) == R"(  for (int i = 0; i < 9; i++) {
    out[i] = i < 6 ? in[i] : 0.0f;
    out[i] = i < n ? in[i] : 0.0f;
    out[i] = i <= most ? in[i] : 0.0f;
    out[i] = i < n - 2147483647 ? in[i] : 0.0f;
  }
)");
}

TEST_CASE("simplify: operations on literals") {
  Maker m;
  const auto out = m.out("out", 8), ints = m.out("ints", 8, Scalar::i32);
  m.k.body =
      block(Store{out, 0, mul(add(number(1), number(2)), number(4))},
            Store{ints, 0, operation(Op::div, {integer(7), integer(0)})},
            Store{out, 1, operation(Op::select, {operation(Op::lt, {number(1), number(2)}), number(5), number(6)})},
            Store{out, 4, splat(add(number(1), number(1)), 4)},
            Store{out, 2, operation(Op::sin, {convertTo(kernel::index(1), Scalar::f32)})});
  CHECK(bodyText(pass("simplify", m.k)) ==
        "  out[0] = 12.0f;\n  ints[0] = 7 / 0;\n  out[1] = 5.0f;\n  vstore4((float4)(2.0f), 0, out + 4);\n"
        "  out[2] = 0.84147096f;\n");
}

TEST_CASE("simplify: constants in conditions") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 8);
  const Nat i = counter("i", 8);
  const ExprPtr yes = literal(ScalarValue::ofInteger(Scalar::boolean, 1)),
                no = literal(ScalarValue::ofInteger(Scalar::boolean, 0)),
                a = operation(Op::lt, {load(in, 0), number(1)}), b = test({{i, Relation::less, 4}});
  const auto both = [](ExprPtr x, ExprPtr y) { return operation(Op::logicalAnd, {x, y}); };
  const auto either = [](ExprPtr x, ExprPtr y) { return operation(Op::logicalOr, {x, y}); };
  const auto not_ = [](ExprPtr x) { return operation(Op::logicalNot, {x}); };
  const auto stored = [&](ExprPtr condition) {
    Maker one = m;
    const ExprPtr value = choose(condition, number(1), number(2));
    one.k.body = block(seq(i, Store{out, 0, value}));
    const std::string text = bodyText(pass("simplify", one.k));
    const std::size_t from = text.find("= ", text.find("out[0]")) + 2;
    return text.substr(from, text.find(';', from) - from);
  };
  CHECK(stored(both(both(b, yes), yes)) == "i < 4 ? 1.0f : 2.0f");
  CHECK(stored(both(a, no)) == "2.0f");
  CHECK(stored(either(a, yes)) == "1.0f");
  CHECK(stored(either(either(a, no), no)) == "in[0] < 1.0f ? 1.0f : 2.0f");
  CHECK(stored(not_(not_(a))) == "in[0] < 1.0f ? 1.0f : 2.0f");
  CHECK(stored(not_(yes)) == "2.0f");
  CHECK(stored(choose(a, yes, no)) == "in[0] < 1.0f ? 1.0f : 2.0f");
  CHECK(stored(choose(a, no, yes)) == "!(in[0] < 1.0f) ? 1.0f : 2.0f");
  CHECK(stored(choose(a, b, no)) == "in[0] < 1.0f && i < 4 ? 1.0f : 2.0f");
  CHECK(stored(choose(b, yes, a)) == "i < 4 || in[0] < 1.0f ? 1.0f : 2.0f");
  CHECK(stored(operation(Op::select, {a, yes, no})) == "in[0] < 1.0f ? 1.0f : 2.0f");
}

TEST_CASE("simplify: lanes that are neighbours in memory are a vector of it") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 64);
  const auto tile = m.local("tile", 64), own = m.priv("own", 8);
  const auto lanes = [](BufferId b, const std::vector<Nat>& at) {
    std::vector<ExprPtr> all;
    for (const Nat a : at) all.push_back(load(b, a));
    return makeVector(std::move(all));
  };
  m.k.body = block(seq("i", 4, [&](Nat i) {
    return block(Allocate{own}, Store{out, 4 * i, lanes(in, {3 * i, 3 * i + 1, 3 * i + 2, 3 * i + 3})},
                 Store{out, 4 * i, lanes(tile, {i, 1 + i})}, Store{out, 4 * i, lanes(in, {i, i + 2})},
                 Store{out, 4 * i, lanes(own, {2, 3})});  // may become scalars
  }));
  CHECK(bodyText(pass("simplify", m.k)) == R"(  __local float tile[64];
  for (int i = 0; i < 4; i++) {
    float own[8];
    vstore4(vload4(0, in + 3 * i), 0, out + 4 * i);
    vstore2(vload2(0, tile + i), 0, out + 4 * i);
    vstore2((float2)(in[i], in[i + 2]), 0, out + 4 * i);
    vstore2((float2)(own[2], own[3]), 0, out + 4 * i);
  }
)");
}

TEST_CASE("simplify: sums of nothing are no statements") {
  Maker m;
  const auto in = m.in("in", 1), out = m.out("out", 8), sums = m.priv("sums", 2);
  const VarId sum = m.var("sum");
  const auto zero = [&] { return mul(number(0), load(in, 0)); };
  m.k.body = block(Allocate{sums}, Declare{sum, load(in, 0)}, Assign{sum, add(ref(sum, f32), zero())},
                   Store{sums, 1, add(load(sums, 1), zero())}, Store{sums, 0, add(load(sums, 1), zero())},
                   Store{out, 0, add(load(out, 0), zero())});
  PassOptions finite;
  finite.finiteMath = true;
  CHECK(bodyText(pass("simplify", m.k, finite)) == R"(  float sums[2];
  const float sum = in[0];
  sums[0] = sums[1];
  out[0] = out[0];
)");
}

TEST_CASE("scalars: one variable per element") {
  Maker m;
  const auto in = m.in("in", 4), out = m.out("out", 4), p = m.priv("acc", 2);
  m.k.body = block(Allocate{p}, Store{p, 0, load(in, 0)}, Store{p, 1, load(in, 1)},
                   Store{out, 0, add(load(p, 0), load(p, 1))});
  CHECK(bodyText(pass("scalars", m.k)) == R"(  float acc_0;
  float acc_1;
  acc_0 = in[0];
  acc_1 = in[1];
  out[0] = acc_0 + acc_1;
)");
}

TEST_CASE("scalars: vector elements, aligned vector accesses, mixed accesses") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 8);
  const auto a = m.priv("a", 2, 4), b = m.priv("b", 8), c = m.priv("c", 4);
  m.k.body = block(Allocate{a}, Store{a, 1, load(in, 0, vec(4))}, Store{out, 0, load(a, 1, vec(4))}, Allocate{b},
                   Store{b, 4, load(in, 0, vec(4))}, Store{out, 0, load(b, 4, vec(4))}, Allocate{c},
                   Store{c, 0, load(in, 0, vec(4))}, Store{out, 0, load(c, 2)}, Store{out, 0, load(c, 1, vec(2))});
  CHECK(bodyText(pass("scalars", m.k)) == R"(  float4 a_1;
  a_1 = vload4(0, in);
  vstore4(a_1, 0, out);
  float4 b_1;
  b_1 = vload4(0, in);
  vstore4(b_1, 0, out);
  float c_0;
  float c_1;
  float c_2;
  float c_3;
  const float4 c_v = vload4(0, in);
  c_0 = c_v.s0;
  c_1 = c_v.s1;
  c_2 = c_v.s2;
  c_3 = c_v.s3;
  out[0] = c_2;
  vstore2((float2)(c_1, c_2), 0, out);
)");
}

TEST_CASE("scalars: what stays in memory, and why") {
  Maker m;
  const NatVar n = m.size("n");
  const auto out = m.out("out", 8), in = m.in("in", 8, Scalar::i32);
  const auto p = m.priv("p", 4), q = m.priv("q", 4), h = m.priv("h", 4, 1, Scalar::f16), big = m.priv("big", 5000);
  const NatVar at = NatVar::fresh("at", 0, Nat(3), NatVar::Role::index);
  m.k.body =
      block(DeclareIndex{at, load(in, 0, i32)}, Allocate{p}, Store{p, Nat(at), number(0)}, Allocate{q},
            Store{q, 9, number(0)}, Allocate{h}, Store{h, 0, number(0)}, Allocate{big}, Store{big, 0, number(0)});
  PassOptions options;
  Notes notes;
  options.notes = &notes;
  CHECK(structure(pass("scalars", m.k, options)).at("private_array") == 4);
  std::vector<std::string> texts;
  for (const Note& x : notes) texts.push_back(x.text);
  CHECK(texts == std::vector<std::string>{"p stays in memory: index at is not constant",
                                          "q stays in memory: index 9 is out of bounds",
                                          "h stays in memory: half is a storage type",
                                          "big stays in memory: 5000 elements exceed the limit of 256"});
  (void)out, (void)n;
}

TEST_CASE("declare: declarations meet their first assignment") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 8);
  const VarId a = m.var("a"), b = m.var("b"), c = m.var("c");
  const Nat i = counter("i", 4);
  m.k.body = block(Declare{a, {}}, Declare{b, {}}, Declare{c, {}}, Store{out, 0, number(0)}, Assign{a, load(in, 0)},
                   seq(i, Assign{b, load(in, i)}), Store{out, 1, add(ref(a, f32), ref(b, f32))});
  CHECK(bodyText(pass("declare", m.k)) == R"(  out[0] = 0.0f;
  const float a = in[0];
  float b;
  for (int i = 0; i < 4; i++) {
    b = in[i];
  }
  out[1] = a + b;
)");
}

TEST_CASE("copies: used once means used in place") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 8);
  const VarId a = m.var("a"), b = m.var("b"), c = m.var("c");
  m.k.body = block(Declare{a, load(in, 0)}, Declare{b, ref(a, f32)}, Declare{c, number(2)},
                   Store{out, 0, mul(ref(b, f32), ref(c, f32))});
  CHECK(bodyText(pass("copies", m.k)) == "  out[0] = in[0] * 2.0f;\n");
}

TEST_CASE("copies: not across a store, an assignment, a barrier or into a loop") {
  Maker m;
  const auto out = m.out("out", 8), tile = m.local("tile", 8);
  const VarId a = m.var("a"), b = m.var("b"), c = m.var("c"), d = m.var("d"), x = m.var("x");
  const Nat i = counter("i", 4);
  m.k.body =
      block(Declare{a, load(out, 0)}, Store{out, 0, number(1)}, Store{out, 1, ref(a, f32)}, Declare{x, number(0)},
            Assign{x, load(out, 3)}, Declare{b, add(ref(x, f32), ref(x, f32))}, Assign{x, number(3)},
            Store{out, 2, add(ref(b, f32), ref(x, f32))}, Declare{c, load(tile, 0)}, Barrier{true, false},
            Store{tile, 0, ref(c, f32)}, Declare{d, load(tile, 1)}, seq(i, Store{out, i, ref(d, f32)}));
  CHECK(bodyText(pass("copies", m.k)) == bodyText(m.k));
}

TEST_CASE("copies: a value that changes later is no name for another") {
  Maker m;
  const auto out = m.out("out", 8);
  const VarId u = m.var("u"), v = m.var("v");
  m.k.body = block(Declare{u, {}}, Assign{u, number(1)}, seq("i", 4, [&](Nat i) {
                     return block(Declare{v, ref(u, f32)}, Assign{u, add(ref(u, f32), number(1))},
                                  Store{out, i, add(ref(v, f32), ref(v, f32))});
                   }));
  CHECK(bodyText(pass("copies", m.k)) == bodyText(m.k));
}

TEST_CASE("dead: unused variables, arrays never read, empty loops and conditionals") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 8), p = m.priv("p", 4), tile = m.local("tile", 4);
  const VarId a = m.var("a"), b = m.var("b"), c = m.var("c");
  const NatVar at = NatVar::fresh("at", 0, Nat(3), NatVar::Role::index);
  const Nat i = counter("i", 4);
  m.k.body =
      block(Declare{a, load(in, 0)}, Declare{b, ref(a, f32)}, Allocate{p},
            seq(i, Store{p, i, ref(b, f32)}, Store{tile, i, ref(b, f32)}), Declare{c, number(0)},
            Assign{c, add(ref(c, f32), number(1))}, DeclareIndex{at, index(2)},
            If{operation(Op::lt, {ref(a, f32), number(0)}), block(Assign{c, number(1)}), {}}, Store{out, 0, number(1)});
  CHECK(bodyText(pass("dead", m.k)) == "  out[0] = 1.0f;\n");
}

TEST_CASE("dead: what matters stays") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 8), ints = m.in("ints", 4, Scalar::i32), p = m.priv("p", 4);
  const VarId a = m.var("a");
  const NatVar at = NatVar::fresh("at", 0, Nat(3), NatVar::Role::index);
  const Nat i = counter("i", 4);
  m.k.body = block(DeclareIndex{at, load(ints, 0, i32)}, Allocate{p}, Store{p, 0, load(in, Nat(at))},
                   Declare{a, load(p, 0)}, seq(i, Store{out, i, ref(a, f32)}));
  CHECK(bodyText(pass("dead", m.k)) == bodyText(m.k));
}

TEST_CASE("dead: zeros that are added to a sum that begins with 0") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 8);
  const VarId a = m.var("a");
  const auto text = [&](double start, const ExprPtr& added) {
    m.k.body = block(Declare{a, number(start)},
                     seq("i", 4,
                         [&](Nat i) {
                           return block(Assign{a, add(ref(a, f32), load(in, i))});
                         }),
                     seq("j", 4,
                         [&](Nat) {
                           return block(Assign{a, add(ref(a, f32), added)});
                         }),
                     Store{out, 0, ref(a, f32)});
    return bodyText(pass("dead", m.k));
  };
  const auto loops = [](const std::string& s) { return s.find("int i") != s.npos && s.find("int j") != s.npos; };
  CHECK(!loops(text(0, number(0))));
  CHECK(!loops(text(0, number(-0.0))));
  CHECK(loops(text(-0.0, number(0))));  // may be -0, which 0 would make 0
  CHECK(loops(text(0, number(1))));
  m.k.body = block(Declare{a, number(0)}, Assign{a, load(in, 0)}, Assign{a, add(ref(a, f32), number(0))},
                   Store{out, 0, ref(a, f32)});
  CHECK(bodyText(pass("dead", m.k)) == bodyText(m.k));
}

TEST_CASE("fuse: indices that are computed by the same expression are one, where what they are computed of stays") {
  Maker m;
  const auto out = m.out("out", 32), ints = m.in("ints", 8, Scalar::i32), counts = m.local("counts", 8, Scalar::i32);
  const auto named = [](const char* name) { return NatVar::fresh(name, 0, Nat(7), NatVar::Role::index); };
  const auto declare = [&](NatVar at, BufferId from, Nat place) { return DeclareIndex{at, load(from, place, i32)}; };
  const auto store = [&](std::int64_t row, NatVar at) { return Store{out, Nat(at) + 8 * row, number(1)}; };
  const NatVar a = named("a"), b = named("b"), c = named("c"), d = named("d");
  // In one block, by way of another index, and in the body of a loop; not of another place.
  m.k.body = block(declare(a, ints, 0), declare(b, ints, 0), declare(c, ints, Nat(a)), declare(d, ints, Nat(b)),
                   store(0, b), store(1, d));
  CHECK(bodyText(pass("fuse", m.k)) ==
        "  const int a = ints[0];\n  const int c = ints[a];\n  out[a] = 1.0f;\n  out[c + 8] = 1.0f;\n");
  const Nat i = counter("i", 4);
  m.k.body = block(declare(a, ints, 0), seq(i, declare(b, ints, 0), declare(c, ints, i), store(0, b), store(1, c)));
  CHECK(bodyText(pass("fuse", m.k)) ==
        "  const int a = ints[0];\n  for (int i = 0; i < 4; i++) {\n    const int c = ints[i];\n    out[a] = 1.0f;\n"
        "    out[c + 8] = 1.0f;\n  }\n");
  // Not of memory that is written, of a variable that changes, or out of the scope of the first.
  const VarId v = m.var("v", i32);
  m.k.body =
      block(declare(a, counts, 0), Store{counts, 0, integer(3)}, declare(b, counts, 0), store(0, a), store(1, b));
  CHECK(bodyText(pass("fuse", m.k)) == bodyText(m.k));
  m.k.body = block(Declare{v, integer(1)}, DeclareIndex{a, ref(v, i32)}, Assign{v, integer(2)},
                   DeclareIndex{b, ref(v, i32)}, store(0, a), store(1, b));
  CHECK(bodyText(pass("fuse", m.k)) == bodyText(m.k));
  m.k.body = block(seq(counter("j", 4), declare(a, ints, 0), store(0, a)), declare(b, ints, 0), store(1, b));
  CHECK(bodyText(pass("fuse", m.k)) == bodyText(m.k));
}
