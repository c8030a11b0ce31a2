// Cook-Toom algorithms: the matrices against direct sums in fractions, the errors against the model, and wrong rules.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "lift/cook_toom.hpp"
#include "lift/diagnostic.hpp"
#include "lift/rewrite_check.hpp"

using namespace lift;
using namespace lift::rewrite;

namespace {

constexpr std::uint64_t seed = 3;

template <class T, class M>
std::vector<T> product(const M& matrix, const std::vector<T>& x) {
  std::vector<T> y;
  for (const auto& row : matrix) {
    T sum = 0;
    for (std::size_t i = 0; i < row.size(); i++) sum = sum + row[i] * x[i];
    y.push_back(sum);
  }
  return y;
}

template <class T>
std::vector<std::vector<T>> rounded(const Matrix& m) {
  std::vector<std::vector<T>> out;
  for (const auto& row : m) {
    out.emplace_back();
    for (const Rational& x : row) out.back().push_back(static_cast<T>(x.toDouble()));
  }
  return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

bool isFoundWrong(std::string text, int samples = 20) {
  // Of f32 alone: forms of halves have texts of their own.
  for (std::size_t at = 0; (at = text.find("float", at)) != std::string::npos;) text.replace(at, 5, "f32");
  const CheckResult r = checkRule(Rule(RuleRow{"broken", text, "broken", When::rounds}), {.samples = samples});
  return r.disagreement.has_value();
}

}  // namespace

TEST_CASE("the algorithms are filters, exactly") {
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const std::vector<Rational> pool = {0, 1, -1, 2, -2, {1, 2}, {-1, 2}, {5, 8}, {-5, 8}, {3, 2}, {-3, 2}, {3, 4}, 3};
  int checked = 0;
  for (int m = 1; m <= 6; m++)
    for (int r = 1; r <= 5; r++)
      for (int draw = 0; draw < 4; draw++) {
        std::vector<Rational> points = pool;
        std::shuffle(points.begin(), points.end(), random);
        points.resize(static_cast<std::size_t>(m + r - 2));
        const CookToom f = cookToom(m, r, draw == 0 ? defaultPoints(m, r) : points);
        std::vector<Rational> d, g, products;
        for (int i = 0; i < m + r - 1; i++) d.emplace_back(static_cast<std::int64_t>(random() % 21) - 10);
        for (int i = 0; i < r; i++) g.emplace_back(static_cast<std::int64_t>(random() % 21) - 10, 3);
        const auto u = product(f.g, g), v = product(f.bt, d);
        for (std::size_t i = 0; i < u.size(); i++) products.push_back(u[i] * v[i]);
        const auto y = product(f.at, products);
        REQUIRE(y.size() == static_cast<std::size_t>(m));
        for (int i = 0; i < m; i++) {
          Rational direct = 0;
          for (int j = 0; j < r; j++)
            direct = direct + d[static_cast<std::size_t>(i + j)] * g[static_cast<std::size_t>(j)];
          CHECK(y[static_cast<std::size_t>(i)] == direct);
        }
        checked++;
      }
  CHECK(checked == 120);
}

TEST_CASE("points must be different and as many as the algorithm takes") {
  CHECK_THROWS_AS(cookToom(4, 3, {0, 1, -1}), UserError);
  CHECK_THROWS_AS(cookToom(2, 3, {0, 1, 1}), UserError);
  CHECK_THROWS_AS(cookToom(0, 3, {0}), UserError);
}

// In two dimensions and 64 channels, relative to the root mean square of the results.
TEST_CASE("algorithms round no more than their amplification says") {
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto error = [&](const CookToom& f) {
    constexpr int channels = 64, tiles = 40;
    const int n = f.m + f.r - 1;
    const auto at = rounded<float>(f.at), g = rounded<float>(f.g), bt = rounded<float>(f.bt);
    using Plane = std::vector<std::vector<float>>;
    const auto drawn = [&](int size) {
      Plane p(static_cast<std::size_t>(size), std::vector<float>(static_cast<std::size_t>(size)));
      for (auto& row : p)
        for (float& x : row) x = static_cast<float>(normal(random));
      return p;
    };
    const auto transposed = [](const Plane& p) {
      Plane t(p[0].size(), std::vector<float>(p.size()));
      for (std::size_t i = 0; i < p.size(); i++)
        for (std::size_t j = 0; j < p[0].size(); j++) t[j][i] = p[i][j];
      return t;
    };
    const auto both = [&](const Plane& matrix, Plane p) {
      for (int side = 0; side < 2; side++) {
        Plane columns;
        for (const auto& column : transposed(p)) columns.push_back(product(matrix, column));
        p = columns;
      }
      return p;
    };
    double errors = 0, squares = 0;
    for (int tile = 0; tile < tiles; tile++) {
      const auto size = static_cast<std::size_t>(n);
      Plane sum(size, std::vector<float>(size));
      std::vector<std::vector<double>> direct(static_cast<std::size_t>(f.m),
                                              std::vector<double>(static_cast<std::size_t>(f.m)));
      for (int c = 0; c < channels; c++) {
        const Plane d = drawn(n), k = drawn(f.r), u = both(g, k), v = both(bt, d);
        for (std::size_t i = 0; i < size; i++)
          for (std::size_t j = 0; j < size; j++) sum[i][j] += u[i][j] * v[i][j];
        for (std::size_t y = 0; y < direct.size(); y++)
          for (std::size_t x = 0; x < direct.size(); x++)
            for (std::size_t i = 0; i < k.size(); i++)
              for (std::size_t j = 0; j < k.size(); j++) direct[y][x] += static_cast<double>(d[y + i][x + j]) * k[i][j];
      }
      const Plane result = both(at, sum);
      for (std::size_t y = 0; y < direct.size(); y++)
        for (std::size_t x = 0; x < direct.size(); x++) {
          errors += std::pow(result[y][x] - direct[y][x], 2);
          squares += std::pow(direct[y][x], 2);
        }
    }
    return std::sqrt(errors / squares);
  };
  // The direct sum of 576 products has 0.45e-6 (Higham's √R u / 3, about).
  constexpr double direct = 0.45e-6;
  for (const int m : {2, 4, 6}) {
    const CookToom f = cookToom(m, 3);
    const double e = error(f), a = std::pow(amplification(f), 2);
    INFO("F(" << m << ", 3): error " << e << ", amplification " << a);
    CHECK(e < direct * a);
    CHECK(e > direct * a / 20);  // the model says something
    CHECK(e < 2e-5);
  }
  // The default points of F(4, 3) are better than those in common use.
  const CookToom common = cookToom(4, 3, {0, 1, -1, 2, -2});
  CHECK(error(common) > 1.5 * error(cookToom(4, 3)));
  CHECK(amplification(common) > 1.5 * amplification(cookToom(4, 3)));
}

TEST_CASE("rules are found by their names") {
  const Rule& one = cookToomRule({cookToom(4, 3)});
  CHECK(one.name() == "cookToom<4,3: 0 5/8 -5/8 3/2 -3/2>");
  CHECK(ruleNamed(one.name()).text() == one.text());
  const Rule& two = cookToomRule({cookToom(2, 3), cookToom(4, 5)});
  CHECK(&ruleNamed(two.name()) == &two);
  CHECK(Derivation::parse(Step{one.name(), {}, {0, 1}}.str(), {}).steps.at(0).rule == one.name());
  for (const char* name : {"cookToom<", "cookToom<>", "cookToom<4,3: 0 1>", "cookToom<4: 0>", "cookToom<a,3: 0>",
                           "cookToom<2,3: 0 1 x>", "cookToom<2,3: 0 1 -1; 2,3: 0 1 -1; 2,3: 0 1 -1>"}) {
    INFO(name);
    CHECK_THROWS_AS(ruleNamed(name), UserError);
  }
}

// Every literal of f16 and h16 is rounded to 11 bits.
TEST_CASE("rules of halves are exact, whose literals hold few bits") {
  for (const auto& [m, r] : {std::pair(2, 3), {4, 3}, {6, 3}, {2, 5}, {4, 5}}) {
    const Rule& rule = cookToomRule({cookToom(m, r)});
    INFO(rule.name());
    REQUIRE(rule.forms().size() == 3);  // f16, h16, f64
    for (const Rule& form : rule.forms()) {
      INFO(form.text());
      const CheckResult result = checkRule(form, {.samples = 8, .seed = seed});
      CHECK(!result.disagreement);
      CHECK(result.exact == 8);
    }
  }
  // As it is in f32: 2975 is 2976 in half.
  const std::string text = cookToomRule({cookToom(4, 3)}).forms()[0].text();
  CHECK(text.find("2975") == std::string::npos);
  CHECK(text.find("/ 175.0 / 17.0") != std::string::npos);
}

TEST_CASE("of algorithms to choose from each is exact, and a wrong entry of one is found") {
  std::vector<CookToom> all;
  for (const auto& points : goodPoints(4, 3)) all.push_back(cookToom(4, 3, points));
  REQUIRE(all.size() >= 3);
  const Rule& rule = cookToomRule(std::vector<std::vector<CookToom>>{all});
  CHECK(&ruleNamed(rule.name()) == &rule);
  CHECK(rule.tunables() == std::vector<std::string>{"points"});
  CHECK(!checkRule(rule, {.samples = 30, .seed = seed}).disagreement);
  // The product of the points' squares, in the first row of the inputs' matrix.
  const std::string list = "[0.87890625, 4.0, 1.0, 1.0][";
  REQUIRE(rule.text().find(list) != std::string::npos);
  for (std::size_t i = 0, at = 0; i < all.size(); i++, at = list.find(", ", at) + 2) {
    std::string wrong = list;
    wrong.replace(at + (i == 0 ? 1 : 0), list.find_first_of(",]", at) - at - (i == 0 ? 1 : 0), "7.0");
    INFO(wrong);
    CHECK(isFoundWrong(replaced(rule.text(), list, wrong), 60));
  }
}

TEST_CASE("a coefficient may be 0 at some of the points to choose from") {
  for (const char* name : {"cookToom<2,3: 0 1 -1 | 0 1 2>", "cookToom<2,3: 0 1 2 | 0 1 -1>",
                           "cookToom<4,3: 0 1 -1 2 -2 | 0 1 -1 2 3>", "cookToom<3,3: 1 2 3 4 | 0 1 -1 2>"}) {
    const Rule& rule = ruleNamed(name);
    INFO(rule.text());
    const auto says = [&](const char* part) { return rule.text().find(part) != std::string::npos; };
    CHECK((says("[0.0, ") || says(", 0.0][(min(points")));
    for (const CheckResult& r :
         {checkRule(rule, {.samples = 30, .seed = seed}), checkRule(rule.forms()[0], {.samples = 8, .seed = seed})}) {
      CHECK(!r.disagreement);
      CHECK(r.exact > 0);
    }
  }
}

TEST_CASE("wrong algorithms are found wrong") {
  const std::string right = cookToomRule({cookToom(4, 3)}).text();
  REQUIRE(!isFoundWrong(right));
  // An entry of each matrix, a sign, a tap, and a last input that is forgotten.
  CHECK(isFoundWrong(replaced(right, "0.390625 * s0 + 2.25 * s2", "0.390625 * s0 + 2.5 * s2")));
  CHECK(isFoundWrong(replaced(right, "(256.0 / 225.0) * x[0]", "(256.0 / 224.0) * x[0]")));
  CHECK(isFoundWrong(replaced(right, "0.87890625 * x[0]", "0.875 * x[0]")));
  CHECK(isFoundWrong(replaced(right, "s0 + s1, s0 - s1", "s0 + s1, s0 + s1")));
  CHECK(isFoundWrong(replaced(right, " + 3.375 * s3 + x[5]", " + 3.375 * s3")));
  // A point that one matrix has and the others have not.
  const CookToom f = cookToom(4, 3);
  CookToom other = cookToom(4, 3, {0, {5, 8}, {-5, 8}, {3, 2}, -2});
  CHECK(isFoundWrong(replaced(right, linearMap(f.at), linearMap(other.at))));
  CHECK(isFoundWrong(replaced(right, linearMap(f.bt), linearMap(other.bt))));
}

TEST_CASE("linear maps move out of sums only where they are linear") {
  const Rule& rule = ruleNamed("linearOutOfSum");
  CHECK(rule.when() == When::linear);
  // The same without the condition is wrong.
  const CheckResult r = checkRule(Rule(RuleRow{"broken", rule.text(), "broken", When::rounds}), {.samples = 50});
  CHECK(r.disagreement);
}
