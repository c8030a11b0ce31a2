#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <set>
#include <tuple>

#include "bounds/pebbles.hpp"
#include "lift/bounds.hpp"
#include "lift/diagnostic.hpp"

using namespace lift;

namespace {

// A layer by the dataflow's tiles on a machine that counts, element by element: one input channel at a time, of which
// inputs or weights of a tile stay.
struct Played {
  std::int64_t traffic;
  bool ok;
};
Played play(const ConvSpec& c, const bounds::Tile& tile, std::int64_t room) {
  pebbles::Machine m(room);
  const std::int64_t icg = c.icPerGroup(), ocg = c.ocPerGroup();
  for (std::int64_t g = 0; g < c.groups; g++)
    for (std::int64_t k0 = 0; k0 < ocg; k0 += tile.channels)
      for (std::int64_t n0 = 0; n0 < c.batch; n0 += tile.images)
        for (std::int64_t y0 = 0; y0 < c.oh; y0 += tile.rows)
          for (std::int64_t x0 = 0; x0 < c.ow; x0 += tile.columns) {
            const std::int64_t k1 = std::min(k0 + tile.channels, ocg), n1 = std::min(n0 + tile.images, c.batch),
                               y1 = std::min(y0 + tile.rows, c.oh), x1 = std::min(x0 + tile.columns, c.ow);
            const std::int64_t sums = (k1 - k0) * (n1 - n0) * (y1 - y0) * (x1 - x0);
            for (std::int64_t k = k0; k < k1; k++) m.load(k), m.free();  // biases, of which the sums are made
            for (std::int64_t s = 0; s < sums; s++) m.hold();
            for (std::int64_t i = 0; i < icg; i++) {
              std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> inputs;
              std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> weights;
              for (std::int64_t n = n0; n < n1; n++)
                for (std::int64_t y = y0; y < y1; y++)
                  for (std::int64_t x = x0; x < x1; x++)
                    for (std::int64_t a = 0; a < c.kh; a++)
                      for (std::int64_t b = 0; b < c.kw; b++) {
                        const std::int64_t row = y * c.sh - c.padTop + a * (c.dh + 1);
                        const std::int64_t column = x * c.sw - c.padLeft + b * (c.dw + 1);
                        if (row < 0 || row >= c.ih || column < 0 || column >= c.iw) continue;
                        inputs.insert({n, row, column});
                        for (std::int64_t k = k0; k < k1; k++) weights.insert({k, a, b});
                      }
              if (sums == 1) {  // both operands come for each product
                for (std::size_t e = 0; e < inputs.size(); e++)
                  m.load(0), m.load(0), m.hold(), m.free(2), m.hold(), m.free(2);
                continue;
              }
              const auto stay = std::int64_t(std::min(inputs.size(), weights.size()));
              const auto come = std::int64_t(std::max(inputs.size(), weights.size()));
              for (std::int64_t e = 0; e < stay; e++) m.load(e);
              for (std::int64_t e = 0; e < come; e++) m.load(e), m.hold(), m.hold(), m.free(3);  // product and new sum
              m.free(stay);
            }
            for (std::int64_t s = 0; s < sums; s++) m.store();
            m.free(sums);
          }
  return {m.traffic(), m.ok()};
}

ConvSpec random(std::mt19937& random) {
  const auto draw = [&](int low, int high) { return std::int64_t(std::uniform_int_distribution(low, high)(random)); };
  for (;;) {
    ConvSpec c;
    c.groups = draw(1, 2);
    c.batch = draw(1, 2);
    c.ic = c.groups * draw(1, 6);
    c.oc = c.groups * draw(1, 8);
    c.ih = draw(1, 12), c.iw = draw(1, 12);
    c.kh = draw(1, 4), c.kw = draw(1, 4);
    c.sh = draw(1, 3), c.sw = draw(1, 3);
    c.dh = draw(0, 1), c.dw = draw(0, 1);
    const std::int64_t p = draw(0, 2);
    if (c.ih + 2 * p < c.extentH() || c.iw + 2 * p < c.extentW()) continue;
    c.setPadding(p, p, p, p);
    if (c.problems().empty()) return c;
  }
}

}  // namespace

TEST_CASE("the dataflow's volume is what a machine counts, and above the bound") {
  const unsigned seed = 20261122;
  std::mt19937 engine(seed);
  int played = 0, tight = 0;
  for (int i = 0; i < 200; i++) {
    const ConvSpec c = random(engine);
    const std::int64_t fast = std::uniform_int_distribution<std::int64_t>(4, 50)(engine);
    const bounds::ConvBound b = bounds::boundOf(c, fast);
    INFO(c.str() << " with " << fast << " elements; seed " << seed);
    REQUIRE(b.dataflow.has_value());
    CHECK(b.dataflow->memory <= fast);
    const Played p = play(c, b.dataflow->tile, b.dataflow->memory);
    CHECK(p.ok);
    CHECK(p.traffic == b.dataflow->volume);
    CHECK(b.bound <= p.traffic);
    CHECK(b.bound >= b.compulsory);
    played++;
    tight += b.bound > b.compulsory && double(p.traffic) < 4 * double(b.bound);
  }
  CHECK(played == 200);
  CHECK(tight >= 10);
}

TEST_CASE("the equations of the paper at the layers of AlexNet") {
  // conv3 of the paper's Table 2, S = 12288 elements: equations (13), (14), (21), (22) by a pocket calculator.
  const ConvSpec c = parseConv("ic256ih13oc384oh13kh3ph1");
  const bounds::ConvBound direct = bounds::boundOf(c, 12288);
  const double sums = 384.0 * 13 * 13 * 256 * 9, outputs = 384.0 * 13 * 13;
  CHECK(direct.reuse == 9);
  CHECK(direct.mostReuse == 9);
  CHECK(direct.order == Approx(sums / (4 * 470.30)).epsilon(1e-4));  // √(2 · 9 · 12288) = 470.30
  CHECK(direct.dataflow->ideal == Approx(2 * sums / 332.55 + outputs).epsilon(1e-4));
  CHECK(direct.dataflow->area == Approx(332.55).epsilon(1e-4));
  CHECK(direct.dataflow->channels == Approx(36.95).epsilon(1e-3));
  CHECK(direct.dataflow->area == Approx(direct.reuse * direct.dataflow->channels));

  // Equation (22) at the tile that fills fast memory, xyz = S e² / (2 (e+r-1)²) with xy = 9 z, is the total without the
  // outputs: with the √2.
  const bounds::ConvBound f = bounds::winogradBound(c, 2, 12288);
  const double xyz = 12288 * 4 / (2 * 16.0), z = std::sqrt(xyz / 9), xy = 9 * z;
  const double reading = outputs / xyz * (xy * 256 + z * 9 * 256);
  CHECK(f.algorithm == "F(2x2,3x3)");
  CHECK(f.dataflow->channels == Approx(z));
  CHECK(f.dataflow->area == Approx(xy));
  CHECK(f.dataflow->ideal == Approx(reading + outputs));
  CHECK(f.dataflow->ideal == Approx(2 * std::sqrt(2.0) * outputs * 256 * 3 * 4 / (2 * std::sqrt(12288.0)) + outputs));
  CHECK(f.order == Approx(outputs * 256 * 4 * 3 / (2 * std::sqrt(12288.0))));
  CHECK(bounds::boundOf(parseConv("ic3ih227oc96oh55kh11sh4ph0"), 12288).reuse == Approx(7.5625));
  CHECK(bounds::boundOf(parseConv("ic3ih227oc96oh55kh11sh4ph0"), 12288).mostReuse == 9);
}

TEST_CASE("what a Winograd schedule loads and stores is above the bound") {
  // All transformed tiles and kernels computed and stored, products of one position in tiles of t by t, their sums
  // stored, then transformed: counted by hand, in the terms that grow with the layer alone.
  int schedules = 0;
  for (const int m : {2, 4, 6})
    for (const char* text : {"ic64ih24oc64oh24kh3ph1", "ic256ih12oc256oh12kh3ph1", "ic512ih24oc512oh22kh3ph0"})
      for (const int t : {8, 30, 90}) {
        const ConvSpec c = parseConv(text);
        const std::int64_t fast = t * t + t + 200;  // a whole tile and its transform besides
        const std::int64_t tiles = ((c.oh + m - 1) / m) * ((c.ow + m - 1) / m), positions = (m + 2) * (m + 2);
        const std::int64_t blocks = ((tiles + t - 1) / t) * ((c.oc + t - 1) / t);
        const std::int64_t traffic = tiles * c.ic * positions * 2 + c.oc * c.ic * (9 + positions) +
                                     positions * blocks * 2 * t * c.ic + tiles * c.oc * positions * 2 +
                                     c.oh * c.ow * c.oc;
        const bounds::ConvBound b = bounds::winogradBound(c, m, fast);
        INFO(text << " m = " << m << " t = " << t << ": " << traffic << " of at least " << b.bound);
        CHECK(b.bound <= traffic);
        if (b.dataflow) CHECK(b.bound <= b.dataflow->volume);
        CHECK(b.composite <= double(b.bound));
        schedules++;
      }
  CHECK(schedules == 27);
  // A bound of products, and not of what is compulsory alone.
  const bounds::ConvBound large = bounds::winogradBound(parseConv("ic512ih56oc512oh56kh3ph1"), 2, 2048);
  CHECK(large.bound > 5 * large.compulsory);
}

TEST_CASE("layers that Winograd's bound is not for are refused with the reason") {
  CHECK_THROWS_AS(bounds::winogradBound(parseConv("ic4ih8oc4oh4kh3sh2ph1"), 2, 1000), UserError);
  CHECK_THROWS_AS(bounds::winogradBound(parseConv("ic4ih8oc4kh1"), 2, 1000), UserError);
  CHECK_THROWS_AS(bounds::winogradBound(parseConv("ic4ih8oc4kh3dh1"), 2, 1000), UserError);
  CHECK(bounds::whyNotWinograd(parseConv("ic4ih8oc4kh3")).empty());
}
