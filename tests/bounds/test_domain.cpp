#include <catch2/catch.hpp>
#include <cmath>

#include "lift/bounds.hpp"
#include "lift/conv_operator.hpp"

using namespace lift;
using bounds::Inequality;

namespace {

// The number of ordered factorisations, by brute force.
double splits(std::int64_t n, int parts) {
  if (parts == 1) return 1;
  double count = 0;
  for (std::int64_t d = 1; d <= n; d++)
    if (n % d == 0) count += splits(n / d, parts - 1);
  return count;
}

// Points of a row of Table 2 with tiles that satisfy `accepts`, in plain loops over the tiles' sizes.
template <class F>
double points(const bounds::TemplateSpace& s, const F& accepts) {
  const ConvSpec& c = s.layer;
  const auto sums = s.winograd ? splits(c.ic, 2) : splits(c.ic, 3) * splits(c.kh, 3) * splits(c.kw, 3);
  const std::int64_t height = s.winograd ? 1 : c.oh, width = s.winograd ? 49 : c.ow;
  double count = 0;
  for (std::int64_t z = 1; z <= c.oc; z++)
    for (std::int64_t y = 1; y <= height; y++)
      for (std::int64_t x = 1; x <= width; x++)
        if (c.oc % z == 0 && height % y == 0 && width % x == 0 && accepts(double(x * y), double(z)))
          count += splits(z, 3) * splits(x, 3) * (s.winograd ? 1 : splits(y, 3));
  return count * sums * 6;
}

// In three digits.
bool printsAs(double count, double printed) {
  return std::abs(count - printed) <= 0.00501 * std::pow(10, std::floor(std::log10(printed)));
}

double exact(const Space& s) {
  const Count count = s.count(50'000'000);
  CHECK(count.exact);
  return count.points;
}

}  // namespace

TEST_CASE("Table 2 of the paper as integers") {
  // 48 KiB of a multiprocessor's 96, as floats.
  constexpr std::int64_t fast = 12288;
  const double whole[] = {9289728, 224532000, 18662400, 15396480, 259200, 158400};
  const double domain[] = {4810752, 47628000, 4510080, 5225472, 136080, 80640};
  std::size_t row = 0;
  for (const bounds::TemplateSpace& s : bounds::templateSpaces()) {
    INFO(s.name);
    CHECK(exact(bounds::spaceOf(s, fast, {})) == whole[row]);
    CHECK(exact(bounds::spaceOf(s, fast, {Inequality::channels})) == domain[row]);
    CHECK(points(s, [](double, double) { return true; }) == whole[row]);
    CHECK(printsAs(whole[row], s.printed));
    CHECK(printsAs(domain[row], s.printedDomain));
    row++;
  }
  CHECK(row == 6);
}

TEST_CASE("of the inequalities of Table 1 only z <= sqrt(S / R) gives the sizes that the paper prints") {
  int fits[8] = {};
  for (unsigned subset = 0; subset < 8; subset++)
    for (std::int64_t fast = 512; fast <= 65536; fast += 128) {
      bool all = true;
      for (const bounds::TemplateSpace& s : bounds::templateSpaces()) {
        const double r = s.reuse(), f = double(fast);
        all = all && printsAs(points(s,
                                     [&](double xy, double z) {
                                       return ((subset & 1) == 0 || xy * z <= f) &&
                                              ((subset & 2) == 0 || z <= std::sqrt(f / r)) &&
                                              ((subset & 4) == 0 || xy <= std::sqrt(f * r));
                                     }),
                              s.printedDomain);
        if (!all) break;
      }
      fits[subset] += all;
    }
  for (unsigned subset = 0; subset < 8; subset++) {
    INFO("subset " << subset << ": " << fits[subset] << " sizes of fast memory");
    CHECK((fits[subset] > 0) == (subset == 2));
  }
}

TEST_CASE("the domain of a family is what its tiles satisfy") {
  const ConvSpec c = parseConv("ic16ih14oc32oh14kh3ph1");
  const Workload w = convWorkload(c);
  constexpr std::int64_t fast = 512;  // z <= 7 of R = 9
  int families = 0;
  for (const char* family : {"blocked", "paper", "winograd", "winogradFused", "winogradStaged"}) {
    const Variant v = derive(w, family);
    const auto further = bounds::optimalityDomain(c, family, v.program, fast);
    INFO(family);
    REQUIRE(!further.empty());
    const Space whole = lift::spaceOf(v, {}), domain = lift::spaceOf(v, {}, further);
    CHECK(domain.count().points < whole.count().points);
    int points = 0;
    Sampler sampler(domain, 1);
    for (int i = 0; i < 40; i++) {
      const auto p = sampler.next();
      if (!p) break;
      const auto at = [&](const char* name) { return p->count(name) ? p->at(name) : 1; };
      double z = double(at("vectors") * at("lanes")), xy = double(at("tiles"));
      double r = 1;
      if (p->count("block")) xy = double(at("block"));
      if (std::string(family) == "blocked")
        z *= double(at("groups")), xy = double(at("bands") * at("rows") * at("pixels")), r = 9;
      if (std::string(family) == "winogradStaged")
        z = double(at("kernels") * at("kernelItems")), xy = double(at("tiles") * at("tileItems"));
      if (std::string(family) == "paper") z = double(at("kappa")), xy = std::pow(double(at("theta") - 2), 2), r = 9;
      CHECK(z * z * r <= fast);
      CHECK(xy * xy <= fast * r);
      CHECK(xy * z <= fast);
      points++;
    }
    CHECK(points >= 10);
    families++;
  }
  CHECK(families == 5);
  CHECK(bounds::optimalityDomain(c, "naive", derive(w, "naive").program, fast).empty());
  // The rest are searched whole, if their tiles are not known.
  for (const OperatorFamily& f : w.families)
    CHECK_NOTHROW(bounds::optimalityDomain(c, f.name, derive(w, f.name).program, fast));
}
