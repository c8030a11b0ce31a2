// Passes that change loops: trips, unroll, fuse, unswitch.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

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

TEST_CASE("unroll: loops of a few iterations inside others, unasked") {
  const auto loops = [](const std::function<For(const LoopMaker& inner, const std::function<Store(Nat)>&)>& make) {
    Maker m;
    const auto in = m.in("in", 512), out = m.out("out", 512);
    m.k.body = block(make(seq, [&](Nat i) { return Store{out, i, load(in, i)}; }));
    return structure(pass("unroll", m.k)).at("loop");
  };
  const auto nested = [&](std::int64_t count, int unroll) {
    return loops([&](const LoopMaker& inner, const auto& body) {
      return seq("i", 64, [&](Nat i) { return inner("j", count, unroll, [&](Nat j) { return body(count * i + j); }); });
    });
  };
  CHECK(nested(4, 0) == 1);
  CHECK(nested(5, 0) == 2);
  CHECK(nested(4, 1) == 2);  // never, says the program
  CHECK(loops([](const LoopMaker& loop, const auto& body) { return loop("i", 4, body); }) == 1);
}

TEST_CASE("unroll: short loops whose iterations compute differently, unasked") {
  // The iterations below each threshold, of `count`, take another element.
  const auto loops = [](std::int64_t count, const std::vector<std::int64_t>& thresholds, int unroll = 0) {
    Maker m;
    const auto in = m.in("in", 512), out = m.out("out", 512);
    m.k.body = block(seq("i", count, unroll, [&](Nat i) {
      ExprPtr value = load(in, 100);
      for (const std::int64_t t : thresholds)
        value = choose(test({{i, Relation::less, Nat(t)}}), load(in, 200 + Nat(t)), value);
      return Store{out, i, value};
    }));
    return structure(pass("unroll", m.k)).at("loop");
  };
  CHECK(loops(4, {3, 2, 1}) == 0);
  CHECK(loops(8, {7, 5, 3, 1}) == 0);
  CHECK(loops(4, {3, 2, 1}, 1) == 1);  // never, says the program
  CHECK(loops(8, {7, 1}) == 1);        // a border at each side: `split` is for that
  CHECK(loops(9, {8, 7, 6, 5, 4, 3, 2, 1}) == 1);
  CHECK(loops(4, {4, 20, 30}) == 1);  // those say nothing
}

TEST_CASE("unroll: not beyond the budget, and the note says so") {
  Maker m;
  const auto in = m.in("in", 60), p = m.priv("p", 60);
  m.k.body = block(Allocate{p}, seq("i", 60, [&](Nat i) { return Store{p, i, load(in, i)}; }));
  PassOptions options;
  Notes notes;
  options.notes = &notes;
  options.unrollBudget = 60;
  CHECK(structure(pass("unroll", m.k, options)).at("loop") == 1);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].text.find("exceed the budget of 60") != std::string::npos);
}

TEST_CASE("unroll: not for the sake of more scalars than registers, but of as many in vectors") {
  const auto loops = [](int elements, int width, int read = 0) {
    Maker m;
    const auto in = m.in("in", elements), out = m.out("out", elements), p = m.priv("p", elements);
    m.k.body = block(Allocate{p}, seq("i", elements / width, [&](Nat i) {
                       return Store{p, width * i, load(in, width * i, {Scalar::f32, width})};
                     }));
    if (read > 0)
      m.k.body.push_back({seq("j", elements / read, [&](Nat j) {
        return Store{out, read * j, load(p, read * j, {Scalar::f32, read})};
      })});
    return structure(pass("unroll", m.k)).at("loop");
  };
  CHECK(loops(64, 1) == 0);
  CHECK(loops(65, 1) == 1);
  CHECK(loops(256, 4) == 0);
  CHECK(loops(64, 1, 4) == 0);
  CHECK(loops(128, 1, 4) == 2);
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

TEST_CASE("unroll: what would become too large stays a loop") {
  Maker m;
  const auto out = m.out("out", 100000);
  m.k.body = block(seq("i", 100000, -1, [&](Nat i) { return Store{out, i, number(0)}; }));
  PassOptions options;
  Notes notes;
  options.notes = &notes;
  options.unrollLimit = 1000;
  CHECK(structure(pass("unroll", m.k, options)).at("loop") == 1);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].text == "i is not unrolled: 100000 iterations of 2 nodes exceed the budget of 1000");
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

TEST_CASE("unswitch: what many values share where a condition does not hold is asked once there, too") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 144);
  m.k.body = block(seq("x", 8, [&](Nat x) {
    const ExprPtr isWhole = test({{x, Relation::less, 7}});
    Block stores;
    for (std::int64_t i = 0; i < 18; i++) {
      const ExprPtr isInside = test({{Nat(i / 9), Relation::less, x}});
      const ExprPtr value = choose(isWhole, load(in, x + i), load(in, x + 2 * i));
      stores.push_back({Store{out, 18 * x + i, choose(isInside, value, number(0))}});
    }
    return stores;
  }));
  const Kernel after = pass("unswitch", m.k);
  const std::string text = bodyText(after);
  INFO(text);
  CHECK(std::count(text.begin(), text.end(), '?') == 0);
  Memory a = {floats(ramp(64, 1)), floats(std::vector<float>(144))}, b = a;
  CHECK(emulate(m.k, a).ok());
  CHECK(emulate(after, b).ok());
  CHECK(a == b);
}

TEST_CASE("unswitch: what is declared for a branch by its condition is declared there, unless it is read after it") {
  const auto branching = [](bool isReadAfter) {
    Maker m;
    const auto in = m.in("in", 16), out = m.out("out", 9);
    const VarId v = m.var("v");
    const auto body = [&](Nat x) {
      const ExprPtr isInner = test({{x, Relation::less, 7}});
      Block all =
          block(Declare{v, choose(isInner, load(in, x), load(in, x + 1))},
                If{isInner, block(Store{out, x, ref(v, f32)}), block(Store{out, 8, add(ref(v, f32), number(1))})});
      if (isReadAfter) all.push_back({Store{out, 7, ref(v, f32)}});
      return all;
    };
    m.k.body = block(seq("x", 8, body));
    return m.k;
  };
  const Kernel before = branching(false), after = pass("unswitch", before);
  const std::string text = bodyText(after);
  INFO(text);
  CHECK(std::count(text.begin(), text.end(), '?') == 0);
  Memory a = {floats(ramp(16, 1)), floats(std::vector<float>(9))}, b = a;
  CHECK(emulate(before, a).ok());
  CHECK(emulate(after, b).ok());
  CHECK(a == b);
  CHECK(bodyText(pass("unswitch", branching(true))) == bodyText(branching(true)));
}

TEST_CASE("unswitch: a branch that asks again for what it has been asked is decided, and what it alone reads is gone") {
  Maker m;
  const auto in = m.in("in", 16), out = m.out("out", 9);
  const VarId v = m.var("v"), w = m.var("w");
  m.k.body = block(seq("x", 8, [&](Nat x) {
    const ExprPtr isInner = test({{x, Relation::less, 7}});
    return block(
        Declare{v, choose(isInner, load(in, x), load(in, x + 1))},
        If{isInner, block(If{isInner, block(Store{out, x, ref(v, f32)}), {}}),
           block(Declare{w, add(ref(v, f32), number(1))},
                 If{test({{x, Relation::less, 7}, {0, Relation::less, x}}), block(Store{out, 8, ref(w, f32)}), {}})});
  }));
  const Kernel after = pass("dead", pass("unswitch", m.k));
  INFO(bodyText(after));
  CHECK(structure(after)["if"] == 1);
  CHECK(bodyText(after).find("else") == std::string::npos);
  Memory a = {floats(ramp(16, 1)), floats(std::vector<float>(9))}, b = a;
  CHECK(emulate(m.k, a).ok());
  CHECK(emulate(after, b).ok());
  CHECK(a == b);
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
