// Index-set splitting, versions and nests of loops: the emulator runs loops before and after these passes.
#include <catch2/catch.hpp>

#include <random>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

constexpr int size = 64, longest = 40;

// Loops whose bodies read memory under random conditions and at random clamped, wrapped and mirrored places.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Kernel run() {
    in_ = m_.in("in", size);
    out_ = m_.out("out", 3 * 4 * longest);
    count_ = pick(0, longest);
    Nat n = count_;
    if (pick(0, 2) == 0) {
      size_ = m_.size("n");
      n = Nat(*size_) + Nat(pick(0, 2));
      count_ = std::max(count_, 3);
      bound_ = {{*size_, count_ - static_cast<int>((n - Nat(*size_)).constant().value())}};
    }
    width_ = pick(0, 1) ? 4 : 1;
    m_.k.body = block(seq("j", 3, [&](Nat j) {
      return seq("i", n, [&](Nat i) {
        const Nat at = width_ * (longest * j + i);
        Block b = block(Store{out_, at, value(i, j)});
        if (pick(0, 1) == 0)
          b = block(
              If{test({comparison(i, j)}), b, block(Store{out_, at, lanes([&](int) { return number(pick(1, 9)); })})});
        return b;
      });
    }));
    return m_.k;
  }
  const std::map<NatVar, std::int64_t>& bound() const { return bound_; }

 private:
  int pick(int lo, int hi) { return lo + static_cast<int>(random_() % static_cast<unsigned>(hi - lo + 1)); }

  template <class F>
  ExprPtr lanes(F&& lane) {
    if (width_ == 1) return lane(0);
    std::vector<ExprPtr> all;
    for (int l = 0; l < width_; l++) all.push_back(lane(l));
    return makeVector(all);
  }

  Nat affine(Nat i, Nat j) {
    const int factors[] = {1, 1, width_, width_, 2, -1};
    Nat a = factors[pick(0, 5)] * i + Nat(pick(-6, 6));
    if (pick(0, 2) == 0) a = a + Nat(pick(-2, 2)) * j;
    if (size_ && pick(0, 1) == 0) a = a - Nat(*size_);
    return a;
  }
  Nat place(Nat e, int how) {
    switch (how) {
      case 0: return mod(e, Nat(size));
      case 1: return min(max(e, Nat(3)), Nat(size - 5));
      case 2: {
        const Nat m = mod(e, Nat(2 * size));
        return min(m, Nat(2 * size - 1) - m);
      }
      case 3: return mod(mod(e, Nat(20)) + floorDiv(e, Nat(20)), Nat(size));
      default: return max(min(e, size_ ? min(Nat(*size_), Nat(size - 1)) : Nat(longest - 2)), Nat(0));
    }
  }
  Comparison comparison(Nat i, Nat j) {
    constexpr Relation relations[] = {Relation::less, Relation::lessEqual, Relation::equal, Relation::notEqual};
    const Nat bounds[] = {Nat(0), Nat(pick(0, longest)), size_ ? Nat(*size_) : Nat(longest), j};
    const Nat a = affine(i, j), b = bounds[pick(0, 3)];
    const Relation r = relations[pick(0, 3)];
    return pick(0, 1) ? Comparison{a, r, b} : Comparison{b, r, a};
  }

  ExprPtr value(Nat i, Nat j) {
    ExprPtr sum;
    for (int terms = pick(1, 3); terms > 0; terms--) {
      const Nat e = affine(i, j);
      const int how = pick(0, 6);
      const Comparison c = comparison(i, j);
      const ExprPtr term = lanes([&](int l) {
        const Nat at = e + Nat(l);
        if (how < 5) return load(in_, place(at, how));
        return choose(test({{Nat(0), Relation::lessEqual, at}, {at, Relation::less, Nat(size)}, c}), load(in_, at),
                      number(0.5));
      });
      sum = sum ? add(sum, term) : term;
    }
    return sum;
  }

  std::mt19937 random_;
  Maker m_;
  BufferId in_ = 0, out_ = 0;
  int count_ = 0, width_ = 1;
  std::optional<NatVar> size_;
  std::map<NatVar, std::int64_t> bound_;
};

Kernel copyOf(Nat n, Nat length) {
  Maker m("copy");
  const auto in = m.in("in", n), out = m.out("out", length);
  m.k.body = block(seq("i", length, [&](Nat i) {
    return Store{out, i, load(in, min(max(i - 2, Nat(0)), n - 1), f32)};
  }));
  return m.k;
}

}  // namespace

TEST_CASE("split: random loops compute the same") {
  constexpr unsigned first = 7000, samples = 3000;
  int split = 0, symbolic = 0;
  for (unsigned seed = first; seed < first + samples; seed++) {
    CAPTURE(seed);
    Generator generator(seed);
    const Kernel naive = generator.run();
    const Kernel k = pass("split", naive);
    const bool changed = structure(k) != structure(naive);
    split += changed;
    symbolic += changed && !generator.bound().empty();
    Memory expected{floats(ramp(size, -5)), floats(ramp(3 * 4 * longest))}, actual = expected;
    const auto reference = emulate(naive, expected, generator.bound());
    CAPTURE(reference.findings);
    REQUIRE(reference.ok());
    INFO(printOpenCL(naive) << printOpenCL(k));
    const auto report = emulate(k, actual, generator.bound());
    CAPTURE(report.findings);
    REQUIRE(report.ok());
    REQUIRE(actual == expected);
  }
  INFO("seeds from " << first << ": " << split << " of " << samples << " split, " << symbolic << " of unknown size");
  CHECK(split > 500);
  CHECK(symbolic > 50);
}

TEST_CASE("split: a copy with clamped borders") {
  CHECK(bodyText(pass("split", copyOf(100, 105))) ==
        "  out[0] = in[0];\n"
        "  out[1] = in[0];\n"
        "  for (int i = 0; i < 100; i++) {\n"
        "    out[i + 2] = in[i];\n"
        "  }\n"
        "  out[102] = in[99];\n"
        "  out[103] = in[99];\n"
        "  out[104] = in[99];\n");
}

TEST_CASE("split: arrays shorter than their padding") {
  Maker m;
  const NatVar n = m.size("n");
  const auto in = m.in("in", n), out = m.out("out", n);
  m.k.body = block(seq("i", n, [&](Nat i) {
    const ExprPtr ends = add(load(in, max(i - 6, Nat(0))), load(in, min(i + 6, n - 1)));
    return Store{out, i, add(load(out, i), ends)};  // once each
  }));
  const Kernel k = pass("split", m.k);
  CHECK(structure(k).at("loop") == 3);
  for (std::int64_t length = 1; length < 20; length++) {
    CAPTURE(length);
    const auto elements = static_cast<std::size_t>(length);
    Memory expected{floats(ramp(elements)), floats(ramp(elements))}, actual = expected;
    REQUIRE(emulate(m.k, expected, {{n, length}}).ok());
    REQUIRE(emulate(k, actual, {{n, length}}).ok());
    CHECK(actual == expected);
  }
}

TEST_CASE("split: lanes in the middle are one vector, and so is the border that one condition leaves") {
  Maker m;
  const auto in = m.in("in", 128), out = m.out("out", 128);
  m.k.body = block(seq("i", 8, [&](Nat i) {
    std::vector<ExprPtr> lanes;
    for (int l = 0; l < 16; l++) {
      const Nat at = 16 * i + Nat(l - 1);
      lanes.push_back(choose(test({{Nat(-1), Relation::less, at}}), load(in, at), number(0)));
    }
    return Store{out, 16 * i, makeVector(lanes)};
  }));
  const std::string text = bodyText(pass("split", m.k));
  CHECK(text.find("for (int i = 0; i < 7; i++) {\n    vstore16(vload16(0, in + 16 * i + 15), 0, out + 16 * i + 16);") !=
        std::string::npos);
}

namespace {

// A row of so many pixels, in tiles of which each is a work-group's, of sums of `taps` neighbours; with padding.
Kernel rowOfTiles(std::int64_t tiles, std::int64_t pixels, std::int64_t taps, std::int64_t padding, bool inLoop) {
  Maker m;
  const std::int64_t columns = tiles * pixels + taps - 1 - 2 * padding;
  const auto in = m.in("in", columns), out = m.out("out", tiles * pixels);
  const auto sum = [&](Nat tile, Nat pixel) {
    const VarId acc = m.var("acc");
    Block b = block(Declare{acc, number(0)});
    for (std::int64_t t = 0; t < taps; t++) {
      const Nat at = Nat(pixels) * tile + pixel + Nat(t - padding);
      b.push_back({Assign{
          acc, add(ref(acc, f32), choose(test({{Nat(-1), Relation::less, at}, {at, Relation::less, Nat(columns)}}),
                                         load(in, at), number(0.5)))}});
    }
    b.push_back({Store{out, Nat(pixels) * tile + pixel, ref(acc, f32)}});
    return b;
  };
  m.k.body = block(wrg("tile", tiles, [&](Nat tile) {
    if (inLoop) return block(seq("pixel", pixels, [&](Nat pixel) { return sum(tile, pixel); }));
    Block b;
    for (std::int64_t p = 0; p < pixels; p++) {
      const Block one = sum(tile, p);
      b.insert(b.end(), one.begin(), one.end());
    }
    return b;
  }));
  m.range({Nat(tiles), Nat(1), Nat(1)}, {Nat(1), Nat(1), Nat(1)});
  return pass("trips", m.k);
}

}  // namespace

TEST_CASE("split: work-groups at borders have their own statements") {
  int borders = 0, samples = 0;
  for (const std::int64_t tiles : {1, 2, 3, 7})
    for (const std::int64_t pixels : {4, 7, 9})
      for (const std::int64_t taps : {3, 5, 7})
        for (const std::int64_t padding : {std::int64_t{0}, taps / 2, taps / 2 + 1})
          for (const bool inLoop : {false, true}) {
            CAPTURE(tiles, pixels, taps, padding, inLoop);
            const Kernel naive = rowOfTiles(tiles, pixels, taps, padding, inLoop), k = pass("split", naive);
            borders += structure(k).contains("if");
            samples++;
            const std::size_t columns = k.buffers[0].count.constant().value(), results = tiles * pixels;
            Memory expected{floats(ramp(columns, 1)), floats(ramp(results))}, actual = expected;
            REQUIRE(emulate(naive, expected).ok());
            INFO(printOpenCL(k));
            REQUIRE(emulate(k, actual).ok());
            CHECK(actual == expected);
          }
  CHECK(samples == 216);
  CHECK(borders > 30);
}

TEST_CASE("split: first, middle and last work-groups") {
  const std::string text = bodyText(pass("simplify", pass("split", rowOfTiles(5, 4, 7, 3, false))));
  CHECK(text.find('?') == std::string::npos);
  CHECK(text.find("if (tile < 1)") != std::string::npos);
  CHECK(text.find("if (tile < 4)") != std::string::npos);
  // Few conditions stay.
  const Kernel few = rowOfTiles(5, 4, 3, 1, false);
  CHECK(printOpenCL(pass("split", few)) == printOpenCL(few));
}

TEST_CASE("split: conditions that change where an outer loop says leave loops without conditions") {
  constexpr int rows = 50, columns = 30;
  Maker m;
  const auto in = m.in("in", size), out = m.out("out", rows * columns);
  m.k.body = block(seq("i", rows, [&](Nat i) {
    return seq("j", columns, [&](Nat j) {
      const ExprPtr band = choose(test({{Nat(20), Relation::less, i - j}}), number(7), load(in, i - j));
      const ExprPtr below = choose(test({{i + 2, Relation::less, j}}), number(5),
                                   choose(test({{i, Relation::less, j}}), number(3), band));
      return Store{out, columns * i + j, choose(test({{j, Relation::equal, i}}), number(9), below)};
    });
  }));
  const Kernel k = pass("split", m.k);
  INFO(printOpenCL(k));
  CHECK(bodyText(k).find('?') == std::string::npos);
  Memory expected{floats(ramp(size)), floats(ramp(rows * columns))}, actual = expected;
  REQUIRE(emulate(m.k, expected).ok());
  REQUIRE(emulate(k, actual).ok());
  CHECK(actual == expected);
  // Work-items whose pieces differ would wait for each other; a choice between numbers costs little.
  Maker other;
  const auto x = other.in("in", size), y = other.out("out", 2 * size * columns);
  const auto value = [&](Nat i, Nat j, const ExprPtr& v) {
    return choose(test({{j, Relation::lessEqual, i}}), v, number(0));
  };
  other.range({size, 1, 1}, {1, 1, 1});
  other.k.body = block(glb("i", size, [&](Nat i) {
    return block(
        seq("j", columns,
            [&](Nat j) {
              return Store{y, columns * i + j, value(i, j, load(x, i - j))};
            }),
        seq("r", size, [&](Nat r) {
          return seq("j", columns, [&](Nat j) { return Store{y, columns * (size + i) + j, value(r, j, number(1))}; });
        }));
  }));
  CHECK(printOpenCL(pass("split", other.k)) == printOpenCL(other.k));
}

TEST_CASE("split: halves that read different places, also of a private array") {
  Maker m;
  const auto in = m.in("in", size), out = m.out("out", 2 * size), step = m.priv("step", 2 * size);
  const auto halves = [&](BufferId from, Nat i) {
    const ExprPtr upper = choose(test({{i, Relation::less, Nat(100)}}), load(from, i - size), number(3));
    return choose(test({{i, Relation::less, Nat(size)}}), load(from, Nat(size - 1) - i), upper);
  };
  m.k.body = block(Allocate{step},
                   seq("i", 2 * size,
                       [&](Nat i) {
                         return Store{step, i, halves(in, i)};
                       }),
                   seq("i", 2 * size, [&](Nat i) {
                     return Store{out, i, halves(step, i)};
                   }));
  const Kernel k = pass("split", m.k);
  INFO(printOpenCL(k));
  CHECK(bodyText(k).find('?') == std::string::npos);
  CHECK(structure(k).at("loop") == 6);
  Memory expected{floats(ramp(size)), floats(ramp(2 * size))}, actual = expected;
  REQUIRE(emulate(m.k, expected).ok());
  REQUIRE(emulate(k, actual).ok());
  CHECK(actual == expected);
}

TEST_CASE("split: rows of a tile, where only the padding asks for the element") {
  Maker m;
  const auto in = m.in("in", 400), out = m.out("out", 22);
  const auto tile = m.local("tile", 22);
  m.k.body = block(wrg("g", 20, [&](Nat g) {
    return block(seq("i", 22,
                     [&](Nat i) {
                       const ExprPtr inside = test(
                           {{Nat(0), Relation::less, g}, {Nat(0), Relation::less, i}, {i, Relation::less, Nat(21)}});
                       return Store{tile, i, choose(inside, load(in, i + 20 * g - 1), number(0))};
                     }),
                 seq("k", 22, [&](Nat k) {
                   return Store{out, k, load(tile, k)};
                 }));
  }));
  const std::string text = bodyText(pass("split", m.k));
  INFO(text);
  CHECK(text.find("tile[0] = 0.0f;") != std::string::npos);
  CHECK(text.find("tile[i + 1] = g > 0 ? in[20 * g + i] : 0.0f;") != std::string::npos);
  CHECK(text.find("tile[21] = 0.0f;") != std::string::npos);
}

TEST_CASE("split: random padded rows of a tile are filled the same") {
  constexpr unsigned first = 700, samples = 200;
  int split = 0;
  for (unsigned seed = first; seed < first + samples; seed++) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](int lo, int hi) {
      return lo + static_cast<int>(random() % static_cast<unsigned>(hi - lo + 1));
    };
    const int n = pick(16, 32), before = pick(0, 4), after = pick(0, 4);
    Maker m("rows");
    m.range({3, 1, 1}, {1, 1, 1});
    const auto in = m.in("in", 64), out = m.out("out", 96), tile = m.local("tile", n);
    m.k.body = block(wrg("g", 3, [&](Nat g) {
      return block(seq("i", n,
                       [&](Nat i) {
                         const ExprPtr inside = test({{Nat(0), Relation::less, g},
                                                      {Nat(before), Relation::lessEqual, i},
                                                      {i, Relation::less, Nat(n - after)}});
                         return Store{tile, i, choose(inside, load(in, i + g), number(7))};
                       }),
                   seq("k", n, [&](Nat k) {
                     return Store{out, n * g + k, load(tile, k)};
                   }));
    }));
    const Kernel k = pass("split", m.k);
    split += structure(k) != structure(m.k);
    Memory expected{floats(ramp(64, 3)), floats(ramp(96))}, actual = expected;
    INFO(printOpenCL(k));
    REQUIRE(emulate(m.k, expected, {}).ok());
    REQUIRE(emulate(k, actual, {}).ok());
    REQUIRE(actual == expected);
  }
  INFO("seeds from " << first << ": " << split << " of " << samples << " are split");
  CHECK(split > 150);
}

TEST_CASE("split: what does not gain stays as it is") {
  Maker m;
  const auto in = m.in("in", 128), out = m.out("out", 4096);
  const auto tile = m.local("tile", 130);
  const NatVar n = m.size("n");
  const auto clamped = [&](Nat i) { return load(in, min(max(i - 1, Nat(0)), Nat(127)), f32); };
  const auto when = [&](Nat a, Nat b, Nat i) { return choose(test({{a, Relation::less, b}}), load(in, i), number(0)); };
  const auto result = [&](ExprPtr v, Nat i) { return Store{out, i, std::move(v)}; };
  // A tile is no result; a condition changes not by the index, or not linearly; a loop is parallel.
  m.k.body = block(seq("i", 130,
                       [&](Nat i) {
                         return Store{tile, i, clamped(i)};
                       }),
                   seq("i", 128, [&](Nat i) { return result(when(Nat(n), Nat(64), i), i); }),
                   seq("i", 128, [&](Nat i) { return result(when(i * i, Nat(64), i), i); }),
                   lcl("i", 130, [&](Nat i) { return result(clamped(i), i); }));
  CHECK(printOpenCL(pass("split", m.k)) == printOpenCL(m.k));
}

namespace {

// Work-groups that fill a tile each under random conditions and from random clamped places, in one loop or in two.
class Tiles {
 public:
  explicit Tiles(unsigned seed) : random_(seed) {}

  Kernel run() {
    Maker m("tiles");
    const int groups = pick(1, 6), n = pick(2, 24), inner = pick(0, 1) ? pick(1, 5) : 1, step = pick(1, 2 * n);
    m.range({groups, 1, 1}, {1, 1, 1});
    const auto in = m.in("in", size), out = m.out("out", groups * n * inner), tile = m.local("tile", n * inner);
    m.k.body = block(wrg("g", groups, [&](Nat g) {
      const auto fill = [&](Nat i, Nat j) {
        const Nat place = affine(step * g, i, j);
        const ExprPtr read = load(in, min(max(place, Nat(0)), Nat(size - 1)));
        std::vector<Comparison> all;
        for (int c = pick(0, 3); c > 0; c--) all.push_back(comparison(affine(step * g, i, j)));
        const Store store{tile, inner * i + j, all.empty() ? read : choose(test(all), read, number(pick(1, 9)))};
        return store;
      };
      return block(seq("i", n,
                       [&](Nat i) {
                         return inner == 1 ? block(fill(i, 0))
                                           : block(seq("j", inner, [&](Nat j) { return fill(i, j); }));
                       }),
                   seq("k", n * inner, [&](Nat k) {
                     return Store{out, n * inner * g + k, load(tile, k)};
                   }));
    }));
    return m.k;
  }

 private:
  int pick(int lo, int hi) { return lo + static_cast<int>(random_() % static_cast<unsigned>(hi - lo + 1)); }
  Nat affine(Nat first, Nat i, Nat j) {
    const int slopes[] = {1, 1, 1, 2, -1, 0};
    const Nat sum = first + slopes[pick(0, 5)] * i + slopes[pick(0, 5)] * j + Nat(pick(-8, 8));
    return pick(0, 4) == 0 ? pick(0, 1) ? min(sum, Nat(pick(0, 40))) : max(sum, Nat(pick(0, 20))) : sum;
  }
  Comparison comparison(Nat n) {
    const Nat bound = pick(0, 40);
    const Relation relations[] = {Relation::less, Relation::less, Relation::lessEqual, Relation::notEqual};
    const Relation relation = relations[pick(0, 3)];
    return pick(0, 1) ? Comparison{n, relation, bound} : Comparison{bound - 30, relation, n};
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("version, split: random tiles are filled the same") {
  constexpr unsigned first = 9000, samples = 3000;
  int versions = 0, split = 0;
  for (unsigned seed = first; seed < first + samples; seed++) {
    CAPTURE(seed);
    const Kernel naive = Tiles(seed).run();
    const Kernel inPieces = pass("split", naive);
    split += structure(inPieces) != structure(naive);
    const Kernel k = pass("version", inPieces);
    versions += structure(k) != structure(inPieces);
    Memory expected{floats(ramp(size, -5)), floats(ramp(6 * 24 * 5))}, actual = expected;
    INFO(printOpenCL(naive) << printOpenCL(k));
    REQUIRE(emulate(naive, expected, {}).ok());
    REQUIRE(emulate(k, actual, {}).ok());
    REQUIRE(actual == expected);
  }
  INFO("seeds from " << first << " of " << samples << ": " << versions << " have versions, " << split << " are split");
  CHECK(versions > 500);
  CHECK(split > 60);
}

TEST_CASE("version: a padded tile") {
  Maker m("padded");
  const auto in = m.in("in", 100), out = m.out("out", 120);
  const auto tile = m.local("tile", 12);
  m.k.body = block(wrg("g", 10, [&](Nat g) {
    return block(seq("i", 12,
                     [&](Nat i) {
                       const Nat at = i + 10 * g;
                       const ExprPtr inside = test({{Nat(0), Relation::less, at}, {at, Relation::less, Nat(101)}});
                       return Store{tile, i, choose(inside, load(in, at - 1), number(0))};
                     }),
                 seq("k", 12, [&](Nat k) {
                   return Store{out, 12 * g + k, load(tile, k)};
                 }));
  }));
  const std::string text = bodyText(pass("version", m.k));
  CHECK(text.find("(10 * g > 0 && 10 * g + 11 < 101) {\n") != std::string::npos);
  INFO(text);
  CHECK(text.find("tile[i] = in[10 * g + i - 1];") != std::string::npos);
  CHECK(text.find("tile[i] = 10 * g + i > 0 && 10 * g + i < 101 ? in[10 * g + i - 1] : 0.0f;") != std::string::npos);
}

TEST_CASE("nest: joined rows are summed row by row") {
  Maker m("rows");
  const auto in = m.in("in", 3 * 8 * 20), out = m.out("out", 8);
  m.k.body = block(glb("g", 8, [&](Nat g) {
    const auto acc = m.var("acc");
    return block(Declare{acc, number(0)},
                 seq("i", 60,
                     [&](Nat i) {
                       const Nat at = floorDiv(i, 20) * 160 + 20 * g + i % 20;
                       return Assign{acc, add(ref(acc, f32), load(in, at))};
                     }),
                 Store{out, g, ref(acc, f32)});
  }));
  const std::string text = bodyText(pass("nest", m.k));
  INFO(text);
  CHECK(text.find("for (int i = 0; i < 3; i++) {\n") != std::string::npos);
  CHECK(text.find("for (int i_1 = 0; i_1 < 20; i_1++) {\n") != std::string::npos);
  CHECK(text.find("in[20 * g + 160 * i + i_1]") != std::string::npos);
}

TEST_CASE("nest: both results of a butterfly share a sine") {
  const auto butterflies = [](bool inPlace, int half) {
    Maker m("butterflies");
    const auto in = m.in("in", 64), y = m.out("y", 64), out = inPlace ? y : m.out("out", 64);
    m.k.body = block(seq("i", 64, [&](Nat i) {
      const auto sine = m.var("sine"), a = m.var("a"), b = m.var("b");
      const Nat k = i % (2 * half) % half, at = floorDiv(i, 2 * half) * half + k;
      return block(Declare{sine, operation(Op::sin, {convertTo(index(k), Scalar::f32)})},
                   Declare{a, load(inPlace ? y : in, at)},
                   Declare{b, mul(load(inPlace ? y : in, at + 32), ref(sine, f32))},
                   Store{out, i,
                         choose(test({{i % (2 * half), Relation::less, half}}), add(ref(a, f32), ref(b, f32)),
                                operation(Op::sub, {ref(a, f32), ref(b, f32)}))});
    }));
    const Kernel k = pass("nest", m.k);
    Memory expected{floats(ramp(64)), floats(ramp(64)), floats(ramp(64))}, actual = expected;
    expected.resize(m.k.buffers.size());
    actual.resize(m.k.buffers.size());
    REQUIRE(emulate(m.k, expected, {}).ok());
    REQUIRE(emulate(k, actual, {}).ok());
    CHECK(actual == expected);
    return bodyText(k);
  };
  for (const int half : {2, 8, 16}) {
    const std::string text = butterflies(false, half);
    INFO(text);
    CHECK(text.find("sin(") == text.rfind("sin("));
    CHECK(text.find('?') == std::string::npos);
    CHECK(text.find("+ b") != std::string::npos);
    CHECK(text.find("- b") != std::string::npos);
    CHECK(butterflies(true, half).find('?') != std::string::npos);  // what one stores, another may read
  }
}

TEST_CASE("nest: random quotients and remainders of an index mean the same") {
  constexpr unsigned first = 12000, samples = 1000;
  int nests = 0;
  for (unsigned seed = first; seed < first + samples; seed++) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](int lo, int hi) {
      return lo + static_cast<int>(random() % static_cast<unsigned>(hi - lo + 1));
    };
    Maker m("random");
    const int divisor = pick(2, 24), other = pick(2, 24), count = pick(1, 3) == 1 ? pick(1, 60) : divisor * pick(1, 4);
    const auto in = m.in("in", size), out = m.out("out", count);
    m.k.body = block(seq("i", count, [&](Nat i) {
      const auto part = [&] {
        const int by = pick(0, 2) == 0 ? other : divisor;
        const Nat of = pick(0, 5) == 0 ? i + Nat(pick(0, 3)) : i;
        return pick(0, 1) == 0 ? floorDiv(of, by) : pick(0, 3) == 0 ? floorDiv(of % by, 3) : of % by;
      };
      const Nat place = min(Nat(pick(0, 2)) * part() + part(), Nat(size - 1));
      const ExprPtr read = load(in, place);
      const Store store{out, i,
                        pick(0, 1) ? read : choose(test({{part(), Relation::less, Nat(pick(0, 9))}}), read, number(7))};
      if (pick(0, 1) == 0) return block(store);
      const auto angle = m.var("angle"), turned = m.var("turned");
      return block(Declare{angle, convertTo(index(part()), Scalar::f32)},
                   Declare{turned, operation(Op::sin, {ref(angle, f32)})},
                   Store{out, i, add(store.value, ref(pick(0, 2) == 0 ? angle : turned, f32))});
    }));
    const Kernel k = pass("nest", m.k);
    nests += structure(k) != structure(m.k);
    Memory expected{floats(ramp(size, -5)), floats(ramp(count))}, actual = expected;
    INFO(printOpenCL(m.k) << printOpenCL(k));
    REQUIRE(emulate(m.k, expected, {}).ok());
    REQUIRE(emulate(k, actual, {}).ok());
    REQUIRE(actual == expected);
  }
  INFO("seeds from " << first << ": " << nests << " of " << samples << " are nested");
  CHECK(nests > 200);
}
