// The pass absent: what only adds zeros is left out.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include <random>
#include <string>

#include "harness/setting.hpp"
#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

Kernel withoutAbsent(const Kernel& k, bool isFinite = true) {
  PassOptions options;
  options.finiteMath = isFinite;
  return pass("absent", k, options);
}

}  // namespace

TEST_CASE("absent: iterations that only add what was padded with zeros are left out") {
  // Rows of 4, of which those outside of 1 to 16 are zero; sums of products of three of them.
  enum class Other { none, row, next };
  const auto body = [](bool isFinite, double padding, Other other, Op op, bool isFilledLater) {
    Maker m;
    const auto in = m.in("in", 68), w = m.in("w", 12), out = m.out("out", 16), tile = m.local("tile", 44);
    const VarId sum = m.var("sum");
    m.range({2, 1, 1}, {1, 1, 1});
    m.k.body = block(wrg("g", 2, [&](Nat g) {
      const For copy = seq("i", 11, [&](Nat i) {
        return seq("j", 4, [&](Nat j) {
          const Nat row = i + 8 * g;
          return Store{tile, 4 * i + j,
                       choose(kernel::test({{0, Relation::less, row}, {row, Relation::less, 17}}),
                              load(in, 4 * row + j - 4), number(padding))};
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
                    return other == Other::none ? block(added(at))
                                                : block(added(at), added(other == Other::row ? 4 * y + c : at + 4));
                  });
                }),
            Store{out, y + 8 * g, ref(sum, f32)});
      });
      return isFilledLater ? block(rows, copy) : block(copy, rows);
    }));
    return bodyText(withoutAbsent(m.k, isFinite));
  };
  const std::string with = body(true, 0, Other::none, Op::add, false);
  INFO(with);
  CHECK(with.find("if (8 * g + t + y > 0 && 8 * g + t + y < 17) {") != std::string::npos);
  CHECK(body(false, 0, Other::none, Op::add, false).find("if (") == std::string::npos);
  CHECK(body(true, 1, Other::none, Op::add, false).find("if (") == std::string::npos);
  const std::string next = body(true, 0, Other::next, Op::add, false);
  INFO(next);
  CHECK(next.find("if (8 * g + y > 0) {") != std::string::npos);
  CHECK(next.find("if (8 * g + y < 15) {") != std::string::npos);
  CHECK(body(true, 0, Other::row, Op::add, false).find("if (8 * g + y > 0) {") != std::string::npos);
  CHECK(body(true, 0, Other::none, Op::max, false).find("if (") == std::string::npos);
  CHECK(body(true, 0, Other::none, Op::add, true).find("if (") == std::string::npos);
}

TEST_CASE("absent: rows that several stores fill are padded where all of them say so") {
  // Rows of 4 as an element, two in a loop of their own, and another element, which may not be padded.
  enum class Last { padded, zero, inner, other, branch, farther };
  const auto made = [](Last last) {
    Maker m;
    const auto in = m.in("in", 64), w = m.in("w", 12), out = m.out("out", 16), tile = m.local("tile", 41);
    const VarId sum = m.var("sum");
    m.range({2, 1, 1}, {1, 1, 1});
    m.k.body = block(wrg("g", 2, [&](Nat g) {
      const auto rows = [&](Nat i) { return Comparison{0, Relation::less, i + 8 * g}; };
      const auto fill = [&](Nat i, Nat j, std::vector<Comparison> all) {
        return Store{tile, 4 * i + j,
                     choose(kernel::test(std::move(all)), load(in, 4 * i + 32 * g + j - 4), number(0))};
      };
      return block(seq("i", 9,
                       [&](Nat i) {
                         Stmt end{fill(i, 3, {rows(i)})};
                         // Of the loop inside alone, with a condition on its index, too.
                         if (last == Last::inner)
                           return block(Declare{m.var("unused"), number(0)}, seq("j", 4, [&](Nat j) {
                                          return fill(i, j, {rows(i), {j, Relation::less, i + 3}});
                                        }));
                         if (last == Last::zero) end = Stmt{Store{tile, 4 * i + 3, number(0)}};
                         if (last == Last::other) end = Stmt{Store{tile, 4 * i + 3, number(1)}};
                         if (last == Last::branch)
                           end = Stmt{If{kernel::test({{4, Relation::less, i}}), block(end), {}}};
                         if (last == Last::farther) end = Stmt{fill(i, 4, {rows(i)})};
                         return block(fill(i, 0, {rows(i), {-1, Relation::less, i}}),
                                      seq("j", 2, [&](Nat j) { return fill(i, j + 1, {rows(i)}); }), end);
                       }),
                   seq("y", 8, [&](Nat y) {
                     return block(
                         Declare{sum, number(1)},
                         seq("t", 2,
                             [&](Nat t) {
                               return seq("c", 4, [&](Nat c) {
                                 const Nat at = 4 * y + 4 * t + c;
                                 return Assign{sum, add(ref(sum, f32), mul(load(tile, at), load(w, 4 * t + c)))};
                               });
                             }),
                         Store{out, y + 8 * g, ref(sum, f32)});
                   }));
    }));
    return m;
  };
  const auto isLeftOut = [&](Last last) {
    return bodyText(withoutAbsent(made(last).k)).find("if (8 * g + t + y > 0) {") != std::string::npos;
  };
  CHECK(isLeftOut(Last::padded));
  CHECK(isLeftOut(Last::inner));
  CHECK(isLeftOut(Last::zero));
  CHECK_FALSE(isLeftOut(Last::other));
  CHECK_FALSE(isLeftOut(Last::branch));
  CHECK_FALSE(isLeftOut(Last::farther));
  Memory a = {floats(ramp(64, 1)), floats(ramp(12, 1)), floats(std::vector<float>(16))}, b = a;
  CHECK(emulate(made(Last::padded).k, a).ok());
  CHECK(emulate(withoutAbsent(made(Last::padded).k), b).ok());
  CHECK(a == b);
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
      return block(
          Declare{sum, number(1)},
          If{kernel::test({{2, Relation::less, i}}), block(added(i, load(w, i))), block(added(i, number(value)))},
          Store{out, i, ref(sum, f32)});
    }));
    return bodyText(withoutAbsent(m.k, isFinite));
  };
  INFO(body(true, 0, Op::add));
  CHECK(body(true, 0, Op::add).find("else") == std::string::npos);
  CHECK(body(false, 0, Op::add).find("else") != std::string::npos);
  CHECK(body(true, 1, Op::add).find("else") != std::string::npos);
  CHECK(body(true, 0, Op::max).find("else") != std::string::npos);
}

namespace {

// Sums over the taps of windows of a row, `pixels` of them at once by each group, which first copies what they read
// with zeros around it. Taps and channels are one loop or two.
struct Row {
  int width = 28, pixels = 14, taps = 3, stride = 1, dilation = 1, padding = 1, channels = 2;
  bool isFused = true;
  std::optional<int> other = {};  // of every two channels the one that is 3 beyond the row's end; both have loops then

  int outputs() const { return (width + 2 * padding - (taps - 1) * dilation - 1) / stride + 1; }
  int groups() const { return outputs() / pixels; }
  int copied() const { return (pixels - 1) * stride + (taps - 1) * dilation + 1; }
  std::string text() const {
    return fmt::format("width {}, {} pixels, {} taps, stride {}, dilation {}, padding {}, {} channels, {}, other {}",
                       width, pixels, taps, stride, dilation, padding, channels, isFused ? "one loop" : "two loops",
                       other.value_or(-1));
  }

  Kernel kernel() const {
    Maker m;
    const auto in = m.in("in", width * channels), w = m.in("w", taps * channels), out = m.out("out", outputs()),
               tile = m.local("tile", copied() * channels);
    m.range({groups(), 1, 1}, {1, 1, 1});
    std::vector<VarId> sums;
    for (int p = 0; p < pixels; p++) sums.push_back(m.var(fmt::format("acc_{}", p)));
    const auto adds = [&](Nat tap, Nat channel) {
      Block b;
      for (int p = 0; p < pixels; p++) {
        const Nat place = channels * (p * stride + dilation * tap) + channel;
        b.push_back({Assign{sums[std::size_t(p)], add(ref(sums[std::size_t(p)], f32),
                                                      mul(load(tile, place), load(w, channels * tap + channel)))}});
      }
      return b;
    };
    m.k.body = block(wrg("g", groups(), [&](Nat g) {
      Block b = block(seq("x", copied(), [&](Nat x) {
        const Nat at = x + pixels * stride * g;
        const Comparison begins{padding - 1, Relation::less, at}, ends{at, Relation::less, padding + width};
        const auto fill = [&](Nat c, bool isOther) {
          const ExprPtr element = load(in, channels * (at - padding) + c);
          const ExprPtr value = isOther ? choose(kernel::test({ends}), element, number(3)) : element;
          std::vector<Comparison> condition{begins};
          if (!isOther) condition.push_back(ends);
          return Store{tile, channels * x + c, choose(kernel::test(condition), value, number(0))};
        };
        if (!other) return block(seq("c", channels, [&](Nat c) { return fill(c, false); }));
        return block(seq("c", channels / 2, [&](Nat c) { return fill(2 * c, *other == 0); }),
                     seq("c", channels / 2, [&](Nat c) { return fill(2 * c + 1, *other == 1); }));
      }));
      for (const VarId v : sums) b.push_back({Declare{v, number(1)}});
      b.push_back({isFused && dilation == 1
                       ? seq("i", taps * channels, [&](Nat i) { return adds(floorDiv(i, channels), mod(i, channels)); })
                       : seq("t", taps, [&](Nat t) { return seq("c", channels, [&](Nat c) { return adds(t, c); }); })});
      for (int p = 0; p < pixels; p++) b.push_back({Store{out, p + pixels * g, ref(sums[std::size_t(p)], f32)}});
      return b;
    }));
    return m.k;
  }

  Memory memory() const {
    return {floats(ramp(std::size_t(width * channels), -7)), floats(ramp(std::size_t(taps * channels), 1)),
            floats(std::vector<float>(std::size_t(outputs())))};
  }
};

// Additions that a run makes.
std::int64_t additions(const Block& block, std::int64_t times = 1) {
  std::int64_t count = 0;
  for (const Stmt& s : block) {
    if (std::holds_alternative<Assign>(s.node)) count += times;
    const auto* f = std::get_if<For>(&s.node);
    const std::int64_t n = f == nullptr || f->kind == LoopKind::group ? 1 : f->count.constant().value_or(1);
    if (f != nullptr) count += additions(f->body, times * n);
    if (const auto* b = std::get_if<If>(&s.node)) count += additions(b->then, times) + additions(b->otherwise, times);
  }
  return count;
}

}  // namespace

TEST_CASE("absent: pixels at the border of an image leave out the taps that lie beyond it") {
  // One group: of 14 pixels and 3 taps the first misses one tap, and so does the last.
  for (const bool isFused : {true, false}) {
    const Row row{.width = 14, .isFused = isFused};
    const Kernel k = withoutAbsent(row.kernel());
    INFO(bodyText(k));
    CHECK(additions(row.kernel().body) == 2 * 3 * 14);
    CHECK(additions(k.body) == 2 * (3 * 14 - 2));
    CHECK(bodyText(k).find("if (") == std::string::npos);
  }
  // Two groups: each has another border.
  const Kernel two = withoutAbsent(Row{.width = 28}.kernel());
  INFO(bodyText(two));
  CHECK(bodyText(two).find("if (14 * g > 0) {") != std::string::npos);
  CHECK(bodyText(two).find("if (14 * g < 14) {") != std::string::npos);
  CHECK(additions(two.body) == 2 * (14 + 2 * (14 + 13)));
  // Of many groups few are at a border.
  CHECK(additions(withoutAbsent(Row{.width = 224}.kernel()).body) == 2 * 3 * 14);
  // Where numbers may be infinite, all products count.
  CHECK(additions(withoutAbsent(Row{.width = 14}.kernel(), false).body) == 2 * 3 * 14);
  // Columns that no pixel has go, with their loop.
  const Kernel wide = withoutAbsent(Row{.width = 6, .pixels = 6, .dilation = 6, .padding = 6}.kernel());
  INFO(bodyText(wide));
  CHECK(additions(wide.body) == 2 * 6);
}

TEST_CASE("absent: rows without additions of zeros are computed as before") {
  const std::uint32_t seed = lift::test::newSeed();
  std::mt19937 random(seed);
  const auto draw = [&](int first, int last) { return std::uniform_int_distribution(first, last)(random); };
  int shorter = 0, cases = 0;
  while (cases < 300) {
    Row row{.width = draw(1, 30),
            .pixels = draw(1, 14),
            .taps = draw(1, 6),
            .stride = draw(1, 3),
            .dilation = draw(1, 3),
            .padding = draw(0, 6),
            .channels = draw(1, 3),
            .isFused = draw(0, 1) == 1};
    if (row.channels == 2 && draw(0, 1) == 1) row.other = draw(0, 1);
    if (row.width + 2 * row.padding <= (row.taps - 1) * row.dilation || row.outputs() % row.pixels != 0) continue;
    cases++;
    INFO("LIFT_TEST_SEED=" << seed << ", " << row.text());
    const Kernel before = row.kernel(), after = withoutAbsent(before);
    Memory a = row.memory(), b = a;
    REQUIRE(emulate(before, a).ok());
    REQUIRE(emulate(after, b).ok());
    CHECK(a == b);
    shorter += bodyText(after) != bodyText(before);
  }
  CHECK(shorter >= 50);
}
