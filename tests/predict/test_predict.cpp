#include <catch2/catch.hpp>
#include <cmath>

#include "lift/conv_operator.hpp"
#include "lift/diagnostic.hpp"
#include "lift/predict.hpp"

using namespace lift;

namespace {

kernel::Plan planOf(const char* layer, const char* family, const Config& config) {
  return compileVariant(derive(convWorkload(parseConv(layer)), family), config);
}

const kernel::Kernel& kernelNamed(const kernel::Plan& plan, const std::string& name) {
  for (const kernel::Kernel& k : plan.kernels)
    if (k.name == name) return k;
  FAIL("no kernel " << name);
  return plan.kernels[0];
}

const Config fourByFour{{"pixels", 4}, {"kernels", 4}, {"vector", 4}, {"unroll", 1}};
constexpr const char* layer10 = "ic128ih56oc256kh3ph1";

}  // namespace

TEST_CASE("a kernel's work is what its text says") {
  // Of each work-item: 9 · 32 steps of 4 inputs and 4 weights, all vectors of 4 floats; a vector of biases, 4 stores.
  // Of a quad, neighbours have four groups of kernels of one tile: inputs are of one line, weights of one, the biases
  // of 4 · 4 kernels and the sums of each pixel, too.
  const KernelWork w =
      workOf(kernelNamed(planOf(layer10, "tiled", fourByFour), "conv"), runtime::readProfile("mali-g72"));
  const double items = 56 * 14 * 64;
  CHECK(w.items == items);
  CHECK(w.bundles == items / 4);
  CHECK(w.accesses == Approx(w.bundles * (9 * 32 * 8 + 1 + 4)));
  CHECK(w.lines == Approx(w.accesses));
  CHECK(w.operations == Approx(items * 9 * 32 * 64));
  CHECK(w.bufferBytes == 4.0 * (58 * 58 * 128 + 9 * 128 * 256 + 256 + 56 * 56 * 256));
  // Neighbours that read places far apart touch a line each.
  const KernelWork naive = workOf(kernelNamed(planOf(layer10, "naive", {}), "conv"), runtime::readProfile("mali-g72"));
  CHECK(naive.lines > 2 * naive.accesses);
}

TEST_CASE("the slowest resource is what a kernel takes") {
  runtime::DeviceInfo device = runtime::readProfile("mali-g72");
  const kernel::Plan plan = planOf(layer10, "tiled", fourByFour);
  const auto main = [&] { return predict(plan, device).kernels.back(); };
  const KernelPrediction before = main();
  CHECK(before.milliseconds ==
        Approx(std::max({before.arithmetic, before.accesses, before.cache, before.memory}) + before.launch));
  CHECK(before.limit == "arithmetic");
  // A plan takes as long as its kernels one after the other.
  const PlanPrediction whole = predict(plan, device);
  REQUIRE(whole.kernels.size() > 1);
  double sum = 0;
  for (const KernelPrediction& k : whole.kernels) sum += k.milliseconds;
  CHECK(whole.milliseconds == Approx(sum));
  device.throughput.bandwidth = 10;
  CHECK(main().limit == "memory");
  device.throughput.bandwidth = 30000;
  device.throughput.accessesPer100Cycles = 5;
  CHECK(main().limit == "loads and stores");
  device.throughput.accessesPer100Cycles = 1'000'000;
  device.throughput.cachePerCycle = 1;
  CHECK(main().limit == "cache");
  device.throughput.launchNanoseconds = 2'000'000'000;
  CHECK(main().limit == "launch");
  CHECK(main().milliseconds > 2000);
  device.throughput.accessesPer100Cycles = 5;
  device.clockMHz *= 2;
  CHECK(main().accesses == Approx(before.accesses * 100 / 5 / 2));
  // What a compiler spills is loaded and stored.
  KernelStatistics spilled;
  spilled.spills = 100;
  CHECK(predict(plan, device, {{"conv", spilled}}).kernels.back().accesses > 2 * main().accesses);
}

TEST_CASE("arithmetic in half takes the time that the profile says, half as much on Mali") {
  const runtime::DeviceInfo device = runtime::readProfile("mali-g72");
  const auto planIn = [](Scalar elements) {
    const Workload w = convWorkload(parseConv(layer10), {.elements = elements});
    return compileVariant(derive(w, "tiled"), fourByFour);
  };
  const KernelPrediction whole = predict(planIn(Scalar::f32), device).kernels.back();
  CHECK(predict(planIn(Scalar::f16), device).kernels.back().arithmetic == Approx(whole.arithmetic));
  const kernel::Plan inHalf = planIn(Scalar::h16);
  const KernelPrediction half = predict(inHalf, device).kernels.back();
  CHECK(half.arithmetic == Approx(whole.arithmetic / 2));
  CHECK(half.memory <= whole.memory / 2);  // and the cache holds more of it
  const KernelWork w = workOf(kernelNamed(inHalf, "conv"), device);
  CHECK(w.halves == w.operations);
  runtime::DeviceInfo plain = device;
  plain.throughput.halfFmaPerCycle = 0;
  CHECK(predict(inHalf, plain).kernels.back().arithmetic == Approx(whole.arithmetic));
}

TEST_CASE("tiles in registers are predicted to be faster than none, few work-items slower than many") {
  const runtime::DeviceInfo device = runtime::readProfile("mali-g72");
  const auto ms = [&](const char* layer, const char* family, const Config& config) {
    return predict(planOf(layer, family, config), device).milliseconds;
  };
  CHECK(ms(layer10, "tiled", fourByFour) < 0.5 * ms(layer10, "naive", {}));
  CHECK(ms("ic512ih7oc16kh3ph1", "tiled", {{"pixels", 7}, {"kernels", 8}, {"vector", 4}, {"unroll", 1}}) >
        ms("ic512ih7oc16kh3ph1", "tiled", {{"pixels", 1}, {"kernels", 2}, {"vector", 4}, {"unroll", 1}}));
}

TEST_CASE("units that have nothing to do in the last round are not filled") {
  // On a unit less than there are groups, two rounds, of which the second is nearly empty.
  runtime::DeviceInfo device = runtime::readProfile("mali-g72");
  const kernel::Plan plan = planOf(layer10, "tiled", fourByFour);
  const auto groups = static_cast<int>(workOf(kernelNamed(plan, "conv"), device).groups);
  REQUIRE(groups > 2);
  device.computeUnits = groups;
  const double all = predict(plan, device).kernels.back().filled;
  device.computeUnits = groups - 1;
  CHECK(predict(plan, device).kernels.back().filled < 0.6 * all);
}

TEST_CASE("what is not known of a device is not predicted") {
  CHECK_FALSE(canPredict(runtime::readProfile("portable")));
  CHECK_THROWS_AS(predict(planOf(layer10, "tiled", fourByFour), runtime::readProfile("portable")), UserError);
  for (const char* profile : {"mali-g72", "mali-g57", "adreno-630", "intel-gpu", "amd-gfx900", "amd-gfx1030", "nvidia",
                              "nvidia-h200", "generic-cpu"})
    CHECK(canPredict(runtime::readProfile(profile)));
}

TEST_CASE("a search by predictions finds what it predicts to be the fastest") {
  const runtime::DeviceInfo device = runtime::readProfile("mali-g72");
  const tune::Problem problem = tuningProblem(convWorkload(parseConv("ic16ih14oc32kh3ph1")), device, {"tiled"}, {});
  auto db = tune::Database::inMemory();
  tune::SweepOptions options;
  options.points = 24;
  const auto result = tune::sweep(problem, tune::deviceRow(device), db, *makePredictor(problem, device), options);
  REQUIRE(result.best);
  CHECK(result.points == 24);
  double least = std::numeric_limits<double>::infinity();
  for (const tune::Measurement& m : db.select({})) {
    CHECK(m.detail == "predicted, not measured");
    least = std::min(least, m.median());
  }
  CHECK(result.best->median() == least);
}

TEST_CASE("rank correlation") {
  CHECK(rankCorrelation({1, 2, 3, 4}, {10, 20, 30, 40}) == Approx(1));
  CHECK(rankCorrelation({1, 2, 3, 4}, {4, 3, 2, 1}) == Approx(-1));
  CHECK(rankCorrelation({1, 2, 3}, {5, 5, 5}) == 0);
  CHECK(rankCorrelation({1, 1, 2}, {3, 3, 9}) == Approx(1));
  CHECK(rankCorrelation({1, 2, 3, 4}, {1, 2, 2, 4}) == Approx(std::sqrt(0.9)));  // of equal ones the mean rank
}
