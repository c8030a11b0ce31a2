// The pass `prefetch`: lines of large results are asked for before they are stored to.
#include <catch2/catch.hpp>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

PassOptions linesOf(int bytes) {
  PassOptions options;
  options.lineBytes = bytes;
  return options;
}

// Sums of `taps` vectors of 8, for `pixels` of 64 channels, whose results stand in rows of 56 pixels.
struct Sums {
  Nat results = 1 << 20;
  std::int64_t taps = 9;
  int pixels = 2;
  Nat rows = 8;
  bool isPadded = false;  // the last pixel may be none

  Kernel kernel() const {
    Maker m;
    const auto in = m.in("in", 4096), out = m.out("out", results);
    m.k.body = block(wrg("g", 56 / pixels, 0, [&](Nat g) {
      return seq("row", rows, [&](Nat row) {
        return seq("c", 4, [&](Nat c) {
          Block body;
          std::vector<VarId> acc;
          for (int p = 0; p < pixels; p++) {
            acc.push_back(m.var("acc", vec(8)));
            body.push_back({Declare{acc.back(), splat(number(0), 8)}});
          }
          body.push_back({seq("k", taps, [&](Nat k) {
            Block adds;
            for (const VarId a : acc)
              adds.push_back({Assign{a, add(ref(a, vec(8)), load(in, 8 * k + 64 * row, vec(8)))}});
            return adds;
          })});
          for (int p = 0; p < pixels; p++) {
            const Nat at = 3584 * row + 64 * pixels * g + 64 * p + 16 * c;
            const auto a = ref(acc[static_cast<std::size_t>(p)], vec(8));
            Block stores = block(Store{out, at, a}, Store{out, at + 8, a});
            if (isPadded && p + 1 == pixels) stores = block(If{test({{g, Relation::less, 27}}), std::move(stores), {}});
            for (Stmt& s : stores) body.push_back(std::move(s));
          }
          return body;
        });
      });
    }));
    return m.k;
  }

  std::string with(const PassOptions& options) const {
    const Kernel k = pass("prefetch", kernel(), options);
    return bodyText(k);
  }
  bool isAsked() const { return with(linesOf(64)) != bodyText(kernel()); }
};

}  // namespace

TEST_CASE("prefetch: lines of the next row are asked for once each, where there are lines") {
  CHECK(Sums{}.with({}) == bodyText(Sums{}.kernel()));
  const std::string asked = Sums{}.with(linesOf(64));
  CHECK(asked.find(R"(        float8 acc_1 = (float8)(0.0f);
        prefetch_line(out + 16 * c + 128 * g + 3584 * row + 3584);
        prefetch_line(out + 16 * c + 128 * g + 3584 * row + 3648);
        for (int k_1 = 0; k_1 < 9; k_1++) {
)") != std::string::npos);
  Sums padded;
  padded.isPadded = true;
  const std::string all = padded.with(linesOf(64));
  CHECK(all.find("3584 * row + 3648);\n        for (int k") != std::string::npos);
  // Lines of 32 bytes are twice as many.
  CHECK(Sums{}.with(linesOf(32)).find("3584 * row + 3592);") != std::string::npos);
}

TEST_CASE("prefetch: not where it does not help") {
  CHECK(Sums{}.isAsked());
  Sums small, longer, one;
  small.results = 3584 * 8;  // 112 KiB
  CHECK_FALSE(small.isAsked());
  longer.taps = 1100;
  CHECK_FALSE(longer.isAsked());
  one.pixels = 1;
  CHECK_FALSE(one.isAsked());
}

TEST_CASE("prefetch: of a turn that comes soon, and whose indices are ints") {
  // The next row is 4 turns of 56 lines away, which are 14 KiB; where they are 112 lines, the next turn of `c` is asked
  // for.
  Sums wide, huge, open;
  wide.pixels = 56;
  wide.taps = 1;
  CHECK(wide.with(linesOf(64)).find("out + 16 * c + 3584 * g + 3584 * row + 3584)") != std::string::npos);
  wide.pixels = 112;
  CHECK(wide.with(linesOf(64)).find("out + 16 * c + 7168 * g + 3584 * row + 16)") != std::string::npos);
  // A row behind the last would not fit into an int: the next turn of `c` does.
  // Where no index has a bound, this turn is asked for.
  huge.results = Nat(std::int64_t{2147483647});
  huge.rows = 2147483647 / 3584;
  CHECK(huge.with(linesOf(64)).find("out + 16 * c + 128 * g + 3584 * row + 16)") != std::string::npos);
  Maker m;
  open.rows = Nat(m.size("n"));
  const auto n = *open.rows.variable();
  Kernel k = open.kernel();
  k.sizes.push_back(n);
  CHECK(bodyText(pass("prefetch", k, linesOf(64))).find("(out + 16 * c + 128 * g + 3584 * row);") != std::string::npos);
}

TEST_CASE("prefetch: indices that data name are left alone") {
  Maker m;
  const auto in = m.in("in", 4096), where = m.in("where", 64, Scalar::i32), out = m.out("out", 1 << 20);
  const auto a = m.var("a", vec(8));
  const NatVar at = NatVar::index("at", 4096);
  m.k.body = block(seq("i", 64, [&](Nat i) {
    return block(Declare{a, splat(number(0), 8)}, DeclareIndex{at, load(where, i, i32)},
                 seq("k", 9,
                     [&](Nat k) {
                       return Assign{a, add(ref(a, vec(8)), load(in, 8 * k + i, vec(8)))};
                     }),
                 Store{out, 64 * Nat(at), ref(a, vec(8))}, Store{out, 64 * Nat(at) + 32, ref(a, vec(8))});
  }));
  CHECK(bodyText(pass("prefetch", m.k, linesOf(64))) == bodyText(m.k));
}

TEST_CASE("prefetch: C asks in its own way, and the emulator does not mind where") {
  const Kernel k = pass("prefetch", Sums{}.kernel(), linesOf(64));
  CHECK(printC({k}).text.find("__builtin_prefetch(out + 16 * c + 128 * g + 3584 * row + 3584, 1);") !=
        std::string::npos);
  Memory memory{floats(std::vector<float>(4096, 1)), floats(std::vector<float>(1 << 20, 0))};
  CHECK(emulate(k, memory).ok());
  Kernel beyond = k;
  beyond.body.push_back({Prefetch{1, Nat(1 << 30)}});
  verify(beyond);
  CHECK(emulate(beyond, memory).ok());
}
