#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

// A direct 3x3 convolution, blocked for registers: the naive form that lowering produces.
Kernel convolution(int channels, int size, int kernels, int pixels, int vectors, int unroll) {
  Maker m("conv");
  const int padded = size + 2, h = size, blocks = channels / 16;
  const auto in = m.in("in", channels * padded * padded), w = m.in("w", kernels * channels * 9),
             bias = m.in("bias", kernels), out = m.out("out", kernels * h * h);
  const auto acc = m.priv("acc", pixels * vectors, 16), weights = m.priv("weights", vectors, 16);
  m.range({h / pixels, h, kernels / (16 * vectors)}, {1, 1, 1});
  const Nat kb = counter("kb", kernels / (16 * vectors)), y = counter("y", h), xt = counter("xt", h / pixels),
            cb = counter("cb", blocks), t = counter("t", 9), c = counter("c", 16), p = counter("p", pixels),
            v = counter("v", vectors);
  const Nat x0 = xt * pixels, sum = p * vectors + v, weight = (((kb * blocks + cb) * 9 + t) * 16 + c) * 16,
            pixel = ((cb * padded + y + t / 3) * padded + x0 + p + t % 3) * 16 + c;
  const ExprPtr product =
      operation(Op::fma, {splat(load(in, pixel), 16), load(weights, v, vec(16)), load(acc, sum, vec(16))});
  For channel = seq(c, Allocate{weights}, seq(v, Store{weights, v, load(w, weight * vectors + v * 16, vec(16))}),
                    seq(p, seq(v, Store{acc, sum, product})));
  channel.unroll = unroll;
  For tap = seq(t, channel);
  tap.unroll = 1;
  const Block tile =
      block(Allocate{acc}, seq(p, seq(v, Store{acc, sum, load(bias, (kb * vectors + v) * 16, vec(16))})), seq(cb, tap),
            seq(p, seq(v, Store{out, (((kb * vectors + v) * h + y) * h + x0 + p) * 16, load(acc, sum, vec(16))})));
  const For row = over(LoopKind::group, 1, y, block(over(LoopKind::group, 0, xt, tile)));
  m.k.body = block(over(LoopKind::group, 2, kb, block(row)));
  return m.k;
}

}  // namespace

TEST_CASE("passes: listed once, found by name") {
  CHECK(passes().size() == 16);
  for (const Pass& p : passes()) {
    CHECK(passNamed(p.name) == &p);
    CHECK(!p.description.empty());
  }
  CHECK(passNamed("nonsense") == nullptr);
  CHECK(pipeline().size() >= passes().size());
}

TEST_CASE("passes: after every pass one can look, and passes can be left out") {
  std::vector<std::string> seen;
  PassOptions options;
  options.skip = {"hoist", "barriers"};
  options.after = [&](const Pass& p, const Kernel& k) {
    verify(k);
    seen.emplace_back(p.name);
  };
  optimise(convolution(16, 4, 16, 2, 1, 1), options);
  CHECK(seen == std::vector<std::string>{"trips", "own", "unroll", "trips", "simplify", "split", "scalars", "declare",
                                         "copies", "dead", "fuse", "unswitch", "absent", "order", "join"});
}

TEST_CASE("trips: parallel loops against the launch") {
  Maker m;
  const NatVar n = m.size("n");
  const auto out = m.out("out", Nat(n) * 64);
  m.range({ceilDiv(Nat(n), 64) * 64, 8, 1}, {64, 4, 1});
  const auto body = [&](Nat i) { return Store{out, i, number(0)}; };
  m.k.body = block(glb("i", Nat(n), body), wrg("g", ceilDiv(Nat(n), 64), body), lcl("l", 64, body), lcl("k", 10, body),
                   lcl("j", 100, body), wrg("h", 2, 1, body), wrg("q", 1, 1, body), lcl("r", 4, 1, body));
  const Kernel k = pass("trips", m.k);
  const Trip expected[] = {Trip::atMostOnce, Trip::exactlyOnce, Trip::exactlyOnce, Trip::atMostOnce,
                           Trip::any,        Trip::exactlyOnce, Trip::atMostOnce,  Trip::exactlyOnce};
  for (std::size_t i = 0; i < 8; i++) {
    CAPTURE(i);
    CHECK(std::get<For>(k.body[i].node).trip == expected[i]);
  }
}

TEST_CASE("trips: loops that run never or once disappear") {
  Maker m;
  const auto out = m.out("out", 64);
  const auto body = [&](Nat i) { return Store{out, i, number(0)}; };
  m.k.body = block(seq("i", 0, body), seq("j", 1, body), wrg("g", 1, body), lcl("l", 0, body),
                   seq("t", 2, [&](Nat t) { return seq("u", Nat(1), [&](Nat u) { return body(t + u); }); }));
  CHECK(bodyText(pass("trips", m.k)) == R"(  out[0] = 0.0f;
  out[0] = 0.0f;
  for (int t = 0; t < 2; t++) {
    out[t] = 0.0f;
  }
)");
}

TEST_CASE("unroll: completely, where asked for") {
  Maker m;
  const auto out = m.out("out", 64);
  const VarId v = m.var("v");
  m.k.body = block(seq("i", 2, -1, [&](Nat i) {
    return block(Declare{v, convertTo(index(i), Scalar::f32)}, seq("j", 2, -1, [&](Nat j) {
                   return Store{out, 2 * i + j, ref(v, f32)};
                 }));
  }));
  CHECK(bodyText(pass("unroll", m.k)) == R"(  const float v = (float)0;
  out[0] = v;
  out[1] = v;
  const float v_1 = (float)1;
  out[2] = v_1;
  out[3] = v_1;
)");
}

TEST_CASE("unroll: loops over private arrays, unasked") {
  Maker m;
  const auto in = m.in("in", 4), out = m.out("out", 4), p = m.priv("p", 4);
  const Nat i = counter("i", 4), j = counter("j", 4);
  m.k.body = block(Allocate{p}, seq(i, Store{p, i, load(in, i)}), seq(j, Store{out, j, load(in, j)}));
  const auto s = structure(pass("unroll", m.k));
  CHECK(s.at("loop") == 1);
  CHECK(s.at("statement") == 1 + 4 + 2);
}

TEST_CASE("unroll: not beyond the budget, and the note says so") {
  Maker m;
  const auto in = m.in("in", 200), p = m.priv("p", 200);
  m.k.body = block(Allocate{p}, seq("i", 200, [&](Nat i) { return Store{p, i, load(in, i)}; }));
  PassOptions options;
  Notes notes;
  options.notes = &notes;
  options.unrollBudget = 200;
  CHECK(structure(pass("unroll", m.k, options)).at("loop") == 1);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].text.find("exceed the budget of 200") != std::string::npos);
}

TEST_CASE("unroll: no loop over a private array where another one over it exceeds the budget") {
  Maker m;
  const auto in = m.in("in", 20), p = m.priv("p", 20);
  const Nat i = counter("i", 20), j = counter("j", 20);
  Block many;
  for (int n = 0; n < 10; n++) many.push_back({Store{p, j, load(in, j)}});
  m.k.body = block(Allocate{p}, seq(i, Store{p, i, load(in, i)}), over(LoopKind::sequential, 0, j, many));
  PassOptions options;
  options.unrollBudget = 200;
  CHECK(structure(pass("unroll", m.k, options)).at("loop") == 2);
  options.unrollBudget = 2000;
  CHECK(structure(pass("unroll", m.k, options)).at("loop") == 0);
}

TEST_CASE("unroll: a loop asked not to be unrolled keeps its array in memory") {
  Maker m;
  const auto in = m.in("in", 4), out = m.out("out", 4), p = m.priv("p", 4);
  m.k.body = block(Allocate{p},
                   seq("i", 4, 1,
                       [&](Nat i) {
                         return Store{p, i, load(in, i)};
                       }),
                   Store{out, 0, load(p, 3)});
  PassOptions options;
  Notes notes;
  options.notes = &notes;
  const Kernel k = optimise(m.k, options);
  CHECK(structure(k).at("private_array") == 1);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].pass == "scalars");
  CHECK(notes[0].text == "p stays in memory: index i is not constant");
}

TEST_CASE("unroll: too much of it is the user's error") {
  Maker m;
  const auto out = m.out("out", 100000);
  m.k.body = block(seq("i", 100000, -1, [&](Nat i) { return Store{out, i, number(0)}; }));
  PassOptions options;
  options.unrollLimit = 1000;
  CHECK_THROWS_AS(pass("unroll", m.k, options), UserError);
}

TEST_CASE("unroll: a symbolic count cannot be unrolled") {
  Maker m;
  const NatVar n = m.size("n");
  const auto out = m.out("out", Nat(n));
  m.k.body = block(seq("i", Nat(n), -1, [&](Nat i) { return Store{out, i, number(0)}; }));
  PassOptions options;
  Notes notes;
  options.notes = &notes;
  CHECK(structure(pass("unroll", m.k, options)).at("loop") == 1);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].text == "i is not unrolled: its count n is not constant");
}

TEST_CASE("unroll: inner loops whose count depends on the outer index") {
  Maker m;
  const auto out = m.out("out", 16);
  m.k.body = block(seq("i", 4, -1, [&](Nat i) {
    return seq("j", i, -1, [&](Nat j) { return Store{out, 4 * i + j, number(0)}; });
  }));
  CHECK(structure(pass("unroll", m.k)).at("statement") == 6);
}

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

TEST_CASE("simplify: operations on literals") {
  Maker m;
  const auto out = m.out("out", 8), ints = m.out("ints", 8, Scalar::i32);
  m.k.body =
      block(Store{out, 0, mul(add(number(1), number(2)), number(4))},
            Store{ints, 0, operation(Op::div, {integer(7), integer(0)})},
            Store{out, 1, operation(Op::select, {operation(Op::lt, {number(1), number(2)}), number(5), number(6)})},
            Store{out, 4, splat(add(number(1), number(1)), 4)});
  CHECK(bodyText(pass("simplify", m.k)) ==
        "  out[0] = 12.0f;\n  ints[0] = 7 / 0;\n  out[1] = 5.0f;\n  vstore4((float4)(2.0f), 0, out + 4);\n");
}

TEST_CASE("own: what work-items share out of a private array is each one's own part") {
  const auto made = [](std::int64_t items, std::int64_t stride, bool reversed) {
    Maker m;
    m.range({8, 1, 1}, {8, 1, 1});
    const auto in = m.in("in", 32), out = m.out("out", 32), p = m.priv("acc", 64);
    const auto own = [&](Nat l, Nat i) { return stride * l + i; };
    const auto fill = [&](Nat l) {
      return seq("i", 4, [&](Nat i) { return Store{p, own(l, i), load(in, 4 * l + i)}; });
    };
    const auto use = [&](Nat l) {
      const Nat from = reversed ? 7 - l : l;
      return seq("i", 4, [&](Nat i) { return Store{out, 4 * l + i, load(p, own(from, i))}; });
    };
    m.k.body = block(Allocate{p}, lcl("l", items, fill), lcl("l", items, use));
    return pass("own", pass("trips", m.k)).buffers[p].count;
  };
  CHECK(made(8, 4, false) == Nat(4));
  CHECK(made(8, 8, false) == Nat(4));
  CHECK(made(5, 4, false) == Nat(4));
  CHECK(made(16, 4, false) == Nat(64));  // a work-item runs the loop twice
  CHECK(made(8, 0, false) == Nat(64));   // every work-item has all of it
  CHECK(made(8, 4, true) == Nat(64));    // what is read lies elsewhere
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

TEST_CASE("fuse: loops of one count that read the same memory") {
  Maker m;
  const auto in = m.in("in", 8), other = m.in("other", 8), out = m.out("out", 8);
  const VarId a = m.var("a"), b = m.var("b"), c = m.var("c"), d = m.var("d");
  const auto sum = [&](const char* index, VarId into, auto term) {
    return seq(index, 4, [&](Nat i) { return Assign{into, add(ref(into, f32), term(i))}; });
  };
  const auto first = [&](Nat i) { return load(in, i); };
  m.k.body = block(Declare{a, number(0)}, sum("i", a, first), Store{out, 0, ref(a, f32)}, Declare{b, number(1)},
                   sum("j", b, [&](Nat j) { return mul(load(in, j), load(other, j)); }),
                   // needs a
                   Declare{c, ref(a, f32)}, sum("k", c, first),
                   // reads other memory
                   Declare{d, number(0)}, sum("l", d, [&](Nat l) { return load(other, l); }),
                   Store{out, 1, add(ref(b, f32), add(ref(c, f32), ref(d, f32)))});
  CHECK(bodyText(pass("fuse", m.k)) == R"(  float a = 0.0f;
  float b = 1.0f;
  float d = 0.0f;
  for (int i = 0; i < 4; i++) {
    a = a + in[i];
    b = b + in[i] * other[i];
    d = d + other[i];
  }
  out[0] = a;
  float c = a;
  for (int k_1 = 0; k_1 < 4; k_1++) {
    c = c + in[k_1];
  }
  out[1] = b + (c + d);
)");
}

TEST_CASE("fuse: not loops that store, that are of other counts, or that memory stands between") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 8);
  const VarId a = m.var("a"), b = m.var("b"), c = m.var("c");
  const auto sum = [&](const char* index, std::int64_t count, VarId into, BufferId from) {
    return seq(index, count, [&](Nat i) { return Assign{into, add(ref(into, f32), load(from, i))}; });
  };
  const Nat k = counter("k", 4);
  m.k.body = block(Declare{a, number(0)}, Declare{b, number(0)}, Declare{c, number(0)}, sum("i", 4, a, in),
                   sum("j", 5, b, in), seq(k, Store{out, k, load(in, k)}), sum("l", 4, a, out),
                   Store{out, 3, number(7)}, sum("m", 4, c, out), Store{out, 4, ref(c, f32)});
  CHECK(bodyText(pass("fuse", m.k)) == bodyText(m.k));
}

namespace {

// Sums of 3 rows; of each, `taps` values inside of rows 1 to 2, the first one not in column 0; `together` or each under
// a condition of its own.
Kernel guarded(int taps, bool together) {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 6);
  const VarId acc = m.var("acc");
  const auto column = [&](Nat x) {
    return block(Declare{acc, number(0)},
                 seq("row", 3,
                     [&](Nat row) {
                       Block body;
                       for (int t = 0; t < taps; t++) {
                         std::vector<Comparison> all = {{0, Relation::less, row}};
                         if (!together) all[0] = {t, Relation::less, row + x * 3};
                         if (t == 0) all.push_back({0, Relation::less, x});
                         body.push_back({Assign{
                             acc, add(ref(acc, f32), choose(test(all), load(in, row * 8 + x + t), number(0)))}});
                       }
                       return body;
                     }),
                 Store{out, x, ref(acc, f32)});
  };
  m.k.body = block(seq("x", 6, column));
  return m.k;
}

}  // namespace

TEST_CASE("unswitch: what many values share is asked once") {
  const Kernel before = guarded(9, true), after = pass("unswitch", before);
  const std::string text = bodyText(after);
  INFO(text);
  CHECK(structure(before)["if"] == 0);
  CHECK(structure(after)["if"] == 1);
  CHECK(std::count(text.begin(), text.end(), '?') == 1);  // of the value that asks for its column, too
  Memory a = {floats(ramp(64, 1)), floats(std::vector<float>(6))}, b = a;
  CHECK(emulate(before, a).ok());
  CHECK(emulate(after, b).ok());
  CHECK(a == b);
  CHECK(floats(a[1])[0] != 0);
}

TEST_CASE("unswitch: not for few values, nor where they share nothing") {
  for (const Kernel& k : {guarded(7, true), guarded(12, false)}) CHECK(bodyText(pass("unswitch", k)) == bodyText(k));
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

TEST_CASE("hoist: sums that a loop would repeat") {
  Maker m;
  const NatVar n = m.size("n");
  const auto in = m.in("in", Nat(n) * Nat(n)), out = m.out("out", Nat(n) * Nat(n));
  m.k.body = block(seq("y", Nat(n), [&](Nat y) {
    return seq("x", Nat(n) - 1, [&](Nat x) { return Store{out, y * Nat(n) + x, load(in, y * Nat(n) + x + 1)}; });
  }));
  CHECK(bodyText(pass("hoist", m.k)) == R"(  for (int y = 0; y < n; y++) {
    for (int x = 0; x < n - 1; x++) {
      const int in_at = n * y + x;
      out[in_at] = in[in_at + 1];
    }
  }
)");
}

TEST_CASE("hoist: quotients that are used twice") {
  Maker m;
  const auto in = m.in("in", 200), out = m.out("out", 20);
  const Nat i = counter("i", 18);
  m.k.body = block(seq(i, Store{out, i, add(load(in, 10 * (i / 3) + i % 3), load(in, i / 3))}));
  CHECK(bodyText(pass("hoist", m.k)) == R"(  for (int i = 0; i < 18; i++) {
    const int i_div_3 = i / 3;
    out[i] = in[10 * i_div_3 + i % 3] + in[i_div_3];
  }
)");
}

TEST_CASE("hoist: nothing to gain, nothing done") {
  Maker m;
  const auto in = m.in("in", 100), out = m.out("out", 100);
  const Nat i = counter("i", 9), j = counter("j", 10);
  m.k.body = block(seq(i, seq(j, Store{out, 10 * i + j, load(in, i + j)})));
  CHECK(bodyText(pass("hoist", m.k)) == bodyText(m.k));
}

TEST_CASE("absent: iterations that only add what was padded with zeros are left out") {
  // Rows of 4, of which those outside of 1 to 16 are zero; sums of products of three of them.
  const auto body = [](bool isFinite, double padding, bool isOtherRow, Op op, bool isFilledLater) {
    Maker m;
    const auto in = m.in("in", 64), w = m.in("w", 12), out = m.out("out", 16), tile = m.local("tile", 40);
    const VarId sum = m.var("sum");
    m.range({2, 1, 1}, {1, 1, 1});
    m.k.body = block(wrg("g", 2, [&](Nat g) {
      const For copy = seq("i", 10, [&](Nat i) {
        return seq("j", 4, [&](Nat j) {
          const Nat row = i + 8 * g;
          return Store{tile, 4 * i + j,
                       choose(test({{0, Relation::less, row}, {row, Relation::less, 17}}), load(in, 4 * row + j - 4),
                              number(padding))};
        });
      });
      const For rows = seq("y", 8, [&](Nat y) {
        return block(
            Declare{sum, number(1)},
            seq("t", 3,
                [&](Nat t) {
                  return seq("c", 4, [&](Nat c) {
                    const Nat at = 4 * y + 4 * t + c;
                    const auto added = [&](Nat place) {
                      return Assign{sum, operation(op, {ref(sum, f32), mul(load(tile, place), load(w, 4 * t + c))})};
                    };
                    return isOtherRow ? block(added(at), added(4 * y + c)) : block(added(at));
                  });
                }),
            Store{out, y + 8 * g, ref(sum, f32)});
      });
      return isFilledLater ? block(rows, copy) : block(copy, rows);
    }));
    PassOptions options;
    options.finiteMath = isFinite;
    return bodyText(pass("absent", m.k, options));
  };
  const std::string with = body(true, 0, false, Op::add, false);
  INFO(with);
  CHECK(with.find("if (8 * g + t + y > 0 && 8 * g + t + y < 17) {") != std::string::npos);
  CHECK(body(false, 0, false, Op::add, false).find("if (") == std::string::npos);
  CHECK(body(true, 1, false, Op::add, false).find("if (") == std::string::npos);
  CHECK(body(true, 0, true, Op::add, false).find("if (") == std::string::npos);
  CHECK(body(true, 0, false, Op::max, false).find("if (") == std::string::npos);
  CHECK(body(true, 0, false, Op::add, true).find("if (") == std::string::npos);
}

TEST_CASE("absent: branches that only add zeros are left out") {
  const auto body = [](bool isFinite, double value, Op op) {
    Maker m;
    const auto w = m.in("w", 12), out = m.out("out", 12);
    const VarId sum = m.var("sum");
    const auto added = [&](Nat i, ExprPtr e) {
      const VarId x = m.var("x");
      return seq("c", 3, [&](Nat c) {
        return block(Declare{x, e}, Assign{sum, operation(op, {ref(sum, f32), mul(ref(x, f32), load(w, 3 * i + c))})});
      });
    };
    m.k.body = block(seq("i", 4, [&](Nat i) {
      return block(Declare{sum, number(1)},
                   If{test({{2, Relation::less, i}}), block(added(i, load(w, i))), block(added(i, number(value)))},
                   Store{out, i, ref(sum, f32)});
    }));
    PassOptions options;
    options.finiteMath = isFinite;
    return bodyText(pass("absent", m.k, options));
  };
  INFO(body(true, 0, Op::add));
  CHECK(body(true, 0, Op::add).find("else") == std::string::npos);
  CHECK(body(false, 0, Op::add).find("else") != std::string::npos);
  CHECK(body(true, 1, Op::add).find("else") != std::string::npos);
  CHECK(body(true, 0, Op::max).find("else") != std::string::npos);
}

TEST_CASE("join: neighbouring scalars become vectors where their place is aligned") {
  Maker m;
  const auto in = m.in("in", 100), bytes = m.in("bytes", 100, Scalar::u8), out = m.out("out", 100);
  const VarId a = m.var("a"), b = m.var("b"), c = m.var("c"), d = m.var("d");
  const auto sum = [&](VarId v) { return ref(v, f32); };
  const auto byte = [&](Nat i) { return convertTo(load(bytes, i, {Scalar::u8, 1}), Scalar::f32); };
  m.k.body = block(seq("i", 8, [&](Nat i) {
    const Nat at = 4 * i;
    return block(Declare{a, load(in, at)}, Declare{b, load(in, at + 1)}, Declare{c, load(in, at + 2)},
                 Declare{d, load(in, at + 3)}, Store{out, at, sum(a)}, Store{out, at + 1, sum(b)},
                 Store{out, at + 2, sum(c)}, Store{out, at + 3, sum(d)},
                 // two of them: four are not aligned
                 Store{out, at + 38, sum(a)}, Store{out, at + 39, sum(b)}, Store{out, at + 40, sum(c)},
                 // at odd places
                 Store{out, i, sum(a)}, Store{out, i + 1, sum(b)},
                 // in another order; of what memory has, which may change
                 Store{out, at + 61, sum(a)}, Store{out, at + 60, sum(b)}, Store{out, at + 64, load(out, 0)},
                 Store{out, at + 65, load(out, 1)}, Store{out, at + 68, byte(at)}, Store{out, at + 69, byte(at + 1)});
  }));
  CHECK(bodyText(pass("join", m.k)) == bodyText(m.k));  // unless asked for
  PassOptions options;
  options.joinVectors = true;
  CHECK(bodyText(pass("join", m.k, options)) == R"(  for (int i = 0; i < 8; i++) {
    const float4 in_v = vload4(0, in + 4 * i);
    const float a = in_v.s0;
    const float b = in_v.s1;
    const float c = in_v.s2;
    const float d = in_v.s3;
    vstore4((float4)(a, b, c, d), 0, out + 4 * i);
    vstore2((float2)(a, b), 0, out + 4 * i + 38);
    out[4 * i + 40] = c;
    out[i] = a;
    out[i + 1] = b;
    out[4 * i + 61] = a;
    out[4 * i + 60] = b;
    out[4 * i + 64] = out[0];
    out[4 * i + 65] = out[1];
    out[4 * i + 68] = (float)bytes[4 * i];
    out[4 * i + 69] = (float)bytes[4 * i + 1];
  }
)");
}

TEST_CASE("order: scalars stored far apart in turns are stored in the order of memory") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 256);
  const VarId v = m.var("v", vec(2)), w = m.var("w", vec(2));
  const auto first = [&](VarId x) { return lane(ref(x, vec(2)), 0); };
  const auto second = [&](VarId x) { return lane(ref(x, vec(2)), 1); };
  m.k.body = block(seq("i", 8, [&](Nat i) {
    return block(Declare{v, load(in, i * 4, vec(2))}, Store{out, i * 2, first(v)}, Store{out, i * 2 + 100, second(v)},
                 Declare{w, load(in, i * 4 + 2, vec(2))}, Store{out, i * 2 + 1, first(w)},
                 Store{out, i * 2 + 101, second(w)},
                 // in order; not known which is first; what is read may have been written
                 Store{out, i, first(v)}, Store{out, i + 1, first(w)}, Store{out, i * 3, first(v)},
                 Store{out, 9, first(v)}, Store{out, 8, load(out, 9)});
  }));
  CHECK(bodyText(pass("order", m.k)) == R"(  for (int i = 0; i < 8; i++) {
    const float2 v = vload2(0, in + 4 * i);
    const float2 w = vload2(0, in + 4 * i + 2);
    vstore2((float2)(v.s0, w.s0), 0, out + 2 * i);
    vstore2((float2)(v.s1, w.s1), 0, out + 2 * i + 100);
    out[i] = v.s0;
    out[i + 1] = w.s0;
    out[3 * i] = v.s0;
    out[9] = v.s0;
    out[8] = out[9];
  }
)");
  PassOptions aligned;
  aligned.joinVectors = true;  // vectors are left to `join`
  CHECK(bodyText(pass("order", m.k, aligned)).find("vstore") == std::string::npos);
}

TEST_CASE("unroll: short loops that store in turns what lies side by side") {
  Maker m;
  const auto out = m.out("out", 1024);
  const auto stores = [&](int apart, int step) {
    return seq("i", 4, [&](Nat i) {
      return block(Store{out, i * step, number(0)}, Store{out, i * step + apart, number(1)},
                   Store{out, i * step + 2 * apart, number(2)}, Store{out, i * step + 3 * apart, number(3)});
    });
  };
  m.k.body = block(stores(100, 1), stores(100, 8));
  const Kernel k = pass("unroll", m.k);
  CHECK(k.body.size() == 17);
  CHECK(bodyText(pass("order", k)).find("vstore4((float4)(3.0f), 0, out + 300)") != std::string::npos);
}

TEST_CASE("optimise: the blocked convolution becomes what one would write by hand") {
  const Kernel k = optimise(convolution(32, 8, 64, 2, 2, 4));
  CHECK(bodyText(k) == R"(  const int kb = get_group_id(2);
  const int y = get_group_id(1);
  const int xt = get_group_id(0);
  float16 acc_0 = vload16(0, bias + 32 * kb);
  float16 acc_1 = vload16(0, bias + 32 * kb + 16);
  float16 acc_2 = vload16(0, bias + 32 * kb);
  float16 acc_3 = vload16(0, bias + 32 * kb + 16);
  const int in_at = 32 * xt + 160 * y;
  for (int cb = 0; cb < 2; cb++) {
    const int w_at = 4608 * cb + 9216 * kb;
    const int in_at_1 = 1600 * cb + in_at;
    #pragma unroll 1
    for (int t = 0; t < 9; t++) {
      const int w_at_1 = 512 * t + w_at;
      const int in_at_2 = in_at_1 + 160 * (t / 3) + 16 * (t % 3);
      #pragma unroll 4
      for (int c = 0; c < 16; c++) {
        const int w_at_2 = 32 * c + w_at_1;
        const float16 weights_0 = vload16(0, w + w_at_2);
        const float16 weights_1 = vload16(0, w + w_at_2 + 16);
        acc_0 = fma((float16)(in[c + in_at_2]), weights_0, acc_0);
        acc_1 = fma((float16)(in[c + in_at_2]), weights_1, acc_1);
        acc_2 = fma((float16)(in[c + in_at_2 + 16]), weights_0, acc_2);
        acc_3 = fma((float16)(in[c + in_at_2 + 16]), weights_1, acc_3);
      }
    }
  }
  const int out_at = 2048 * kb + 32 * xt + 128 * y;
  vstore16(acc_0, 0, out + out_at);
  vstore16(acc_1, 0, out + out_at + 1024);
  vstore16(acc_2, 0, out + out_at + 16);
  vstore16(acc_3, 0, out + out_at + 1040);
)");
}

TEST_CASE("optimise: the blocked convolution computes the same as before") {
  const Kernel naive = convolution(16, 4, 32, 2, 2, 1);
  Memory before;
  for (const BufferId b : naive.arguments) {
    std::vector<float> v(static_cast<std::size_t>(*naive.buffers[b].count.constant()));
    for (std::size_t i = 0; i < v.size(); i++) v[i] = static_cast<float>(i * 7 % 13) - 6;
    before.push_back(floats(v));
  }
  Memory after = before;
  CHECK(emulate(naive, before).ok());
  CHECK(emulate(optimise(naive), after).ok());
  CHECK(before == after);
}

TEST_CASE("optimise: thousands of operations take time in proportion") {
  const auto milliseconds = [](const Kernel& k) {
    PassOptions options;
    options.verifyEach = false;
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
      const auto start = std::chrono::steady_clock::now();
      const std::string text = printOpenCL(optimise(k, options));
      best =
          std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
  };
  const double small = milliseconds(convolution(16, 8, 64, 4, 4, -1)),
               large = milliseconds(convolution(16, 32, 256, 32, 16, -1));
  CAPTURE(small, large);  // 320 and 8,704 operations: 27 times as many
  CHECK(large < 27 * 8 * small + 50);
}

TEST_CASE("optimise: long chains of single uses do not nest without end") {
  Maker m;
  const auto in = m.in("in", 8000), out = m.out("out", 1);
  Block b;
  VarId last = m.var("s");
  b.push_back({Declare{last, load(in, 0)}});
  for (int i = 1; i < 8000; i++) {
    const VarId next = m.var("s");
    b.push_back({Declare{next, add(ref(last, f32), load(in, i))}});
    last = next;
  }
  b.push_back({Store{out, 0, ref(last, f32)}});
  m.k.body = std::move(b);
  const Kernel k = optimise(m.k);
  Memory memory{floats(std::vector<float>(8000, 1)), floats(ramp(1))};
  CHECK(emulate(k, memory).ok());
  CHECK(floats(memory[1])[0] == 8000);
  CHECK(structure(k).at("statement") < 1000);
}
