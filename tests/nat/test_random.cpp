// Random expressions against a naive evaluator that knows nothing of the module: values, bounds and proofs are compared
// at every point of the variables' ranges.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "harness/setting.hpp"
#include "lift/nat.hpp"

using namespace lift;

namespace {

// ------------------------------------------------------------------------------------------------- naive expressions

struct Tree;
using TreePtr = std::shared_ptr<const Tree>;

struct Tree {
  char op;  // 'c' constant, 'v' variable, + - * / % m(in) M(ax)
  std::int64_t value = 0;
  TreePtr left, right;
};

using Point = std::vector<std::int64_t>;

// Floor division by definition: the only q with b*q between a - b and a.
std::int64_t naiveFloor(std::int64_t a, std::int64_t b) {
  std::int64_t q = 0;
  if (b < 0) return naiveFloor(-a, -b);
  while (q * b > a) --q;
  while ((q + 1) * b <= a) ++q;
  return q;
}

// No value where a divisor is zero.
std::optional<std::int64_t> eval(const Tree& t, const Point& p) {
  if (t.op == 'c') return t.value;
  if (t.op == 'v') return p[static_cast<std::size_t>(t.value)];
  const auto a = eval(*t.left, p);
  const auto b = eval(*t.right, p);
  if (!a || !b) return std::nullopt;
  switch (t.op) {
    case '+': return *a + *b;
    case '-': return *a - *b;
    case '*': return *a * *b;
    case 'm': return std::min(*a, *b);
    case 'M': return std::max(*a, *b);
    default: break;
  }
  if (*b == 0 || std::abs(*a) > 2000) return std::nullopt;
  const std::int64_t q = naiveFloor(*a, *b);
  return t.op == '/' ? q : *a - *b * q;
}

std::string show(const Tree& t) {
  if (t.op == 'c') return std::to_string(t.value);
  if (t.op == 'v') return "v" + std::to_string(t.value);
  return "(" + show(*t.left) + " " + t.op + " " + show(*t.right) + ")";
}

// ---------------------------------------------------------------------------------------------------------- variables

struct World {
  std::vector<NatVar> variables;
  std::vector<Point> points;  // all of them
  std::map<NatVar, std::size_t> position;
};

// Extends each point by every value of one more variable.
void extend(World& world, NatVar v, const std::function<std::int64_t(const Point&)>& upper) {
  std::vector<Point> extended;
  for (const Point& p : world.points) {
    for (std::int64_t x = v.lower(); x <= upper(p); ++x) {
      Point q = p;
      q.push_back(x);
      extended.push_back(q);
    }
  }
  world.position.emplace(v, world.variables.size());
  world.variables.push_back(v);
  world.points = std::move(extended);
}

World constantWorld(std::mt19937& random) {
  World world{{}, {{}}, {}};
  for (const char* name : {"a", "b", "c"}) {
    const std::int64_t lower = static_cast<std::int64_t>(random() % 6) - 3;
    const std::int64_t upper = lower + static_cast<std::int64_t>(random() % 5);
    extend(world, NatVar::fresh(name, lower, Nat(upper)), [=](const Point&) { return upper; });
  }
  return world;
}

// Two sizes whose upper bound the module is not told, and two loop indices below them.
World symbolicWorld(std::mt19937& random) {
  World world{{}, {{}}, {}};
  for (const char* name : {"n", "m"}) extend(world, NatVar::size(name), [](const Point&) { return 5; });
  const std::size_t first = random() % 2;
  for (const std::size_t k : {first, 1 - first}) {
    const std::int64_t less = random() % 4 == 0 ? 2 : 0;  // a loop that does not run for small sizes
    const NatVar v = NatVar::index(k == 0 ? "i" : "j", Nat(world.variables[k]) - less);
    extend(world, v, [=](const Point& p) { return p[k] - less - 1; });
  }
  return world;
}

// --------------------------------------------------------------------------------------------------------- generation

struct Sample {
  TreePtr tree;
  Nat nat;
};

class Generator {
 public:
  Generator(std::mt19937& random, const World& world) : random_(random), world_(world) {}

  Sample expression(int depth) {
    if (depth == 0 || pick(6) == 0) return leaf();
    static constexpr char ops[] = {'+', '+', '-', '*', '/', '/', '%', '%', 'm', 'M'};
    const char op = ops[pick(std::size(ops))];
    const Sample a = expression(depth - 1);
    const Sample b = op == '/' || op == '%' ? divisor(depth - 1) : expression(depth - 1);
    return combine(op, a, b);
  }

  // i*n + j shapes under / and %, as index computations have them.
  Sample indexLike() {
    const Sample n = divisor(1);
    Sample e = combine('+', combine('*', leaf(), n), leaf());
    if (pick(2)) e = combine(pick(2) ? '+' : '-', e, leaf());
    const Sample d = pick(3) ? n : combine('*', n, divisor(0));
    e = combine(pick(2) ? '/' : '%', e, d);
    if (pick(2)) e = combine(pick(2) ? '/' : '%', e, divisor(1));
    if (pick(3) == 0) e = combine('+', combine('*', combine('/', e, n), n), combine('%', e, n));
    return e;
  }

  Sample combine(char op, const Sample& a, const Sample& b) {
    const auto tree = std::make_shared<Tree>(Tree{op, 0, a.tree, b.tree});
    switch (op) {
      case '+': return {tree, a.nat + b.nat};
      case '-': return {tree, a.nat - b.nat};
      case '*': return {tree, a.nat * b.nat};
      case '/': return {tree, a.nat / b.nat};
      case '%': return {tree, a.nat % b.nat};
      case 'm': return {tree, min(a.nat, b.nat)};
      default: return {tree, max(a.nat, b.nat)};
    }
  }

  std::size_t pick(std::size_t count) { return random_() % count; }

  // Mostly positive constants and sizes; now and then anything that is not the constant zero.
  Sample divisor(int depth) {
    const std::size_t choice = pick(8);
    if (choice < 4) return constant(static_cast<std::int64_t>(pick(8)) + 1);
    if (choice == 4) return constant(-static_cast<std::int64_t>(pick(4)) - 1);
    const Sample s = choice < 7 ? leaf() : expression(depth);
    return s.nat == Nat(0) ? constant(2) : s;
  }

 private:
  Sample constant(std::int64_t value) { return {std::make_shared<Tree>(Tree{'c', value, {}, {}}), Nat(value)}; }

  Sample leaf() {
    if (pick(3) == 0) return constant(static_cast<std::int64_t>(pick(13)) - 4);
    const std::size_t v = pick(world_.variables.size());
    return {std::make_shared<Tree>(Tree{'v', static_cast<std::int64_t>(v), {}, {}}), Nat(world_.variables[v])};
  }

  std::mt19937& random_;
  const World& world_;
};

std::function<std::int64_t(NatVar)> at(const World& world, const Point& point) {
  return [&](NatVar v) { return point[world.position.at(v)]; };
}

// Checks an expression at all points; the number of points where it has a value.
int checkValues(const World& world, const Sample& s) {
  int points = 0;
  for (const Point& p : world.points) {
    const auto expected = eval(*s.tree, p);
    if (!expected) continue;
    ++points;
    // A simplified expression may be undefined only where the original is.
    const std::int64_t actual = s.nat.evaluate(at(world, p));
    const bool boundsHold = s.nat.lower().value_or(actual) <= actual && actual <= s.nat.upper().value_or(actual);
    if (actual == *expected && boundsHold) continue;
    std::string where;
    for (std::int64_t x : p) where += std::to_string(x) + " ";
    FAIL(show(*s.tree) << " simplified to " << s.nat.str() << " at " << where << ": " << actual << ", expected "
                       << *expected << (boundsHold ? "" : ", out of bounds"));
  }
  return points;
}

void checkSamples(std::uint32_t seed, int worlds, bool symbolic) {
  INFO("LIFT_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  int samples = 0;
  int points = 0;
  for (int w = 0; w < worlds; ++w) {
    const World world = symbolic ? symbolicWorld(random) : constantWorld(random);
    Generator generator(random, world);
    for (int k = 0; k < 30; ++k) {
      const Sample s = k % 2 ? generator.indexLike() : generator.expression(2 + k % 3);
      const int here = checkValues(world, s);
      points += here;
      if (here > 0) ++samples;
    }
  }
  CHECK(samples > worlds * 25);
  CHECK(points > samples * 10);
}

struct Comparison {
  bool always = true;
  bool never = true;
  int points = 0;
};

Comparison compare(const World& world, const Sample& a, const Sample& b,
                   const std::function<bool(std::int64_t, std::int64_t)>& holds,
                   const std::function<bool(const Point&)>& where = {}) {
  Comparison result;
  for (const Point& p : world.points) {
    const auto x = eval(*a.tree, p);
    const auto y = eval(*b.tree, p);
    if (!x || !y || (where && !where(p))) continue;
    ++result.points;
    (holds(*x, *y) ? result.never : result.always) = false;
  }
  return result;
}

bool agrees(Truth truth, const Comparison& c) {
  return truth == Truth::unknown || c.points == 0 || (truth == Truth::proved ? c.always : c.never);
}

void checkProofs(std::uint32_t seed, bool symbolic) {
  INFO("LIFT_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  int samples = 0;
  int decided = 0;
  for (int w = 0; w < 60; ++w) {
    const World world = symbolic ? symbolicWorld(random) : constantWorld(random);
    Generator generator(random, world);
    for (int k = 0; k < 20; ++k) {
      const Sample a = k % 2 ? generator.indexLike() : generator.expression(2);
      const Sample b = k % 3 ? generator.expression(2) : generator.combine('+', a, generator.expression(1));
      INFO(show(*a.tree) << " and " << show(*b.tree));
      const auto check = [&](const char* relation, Truth truth, const Comparison& c) {
        ++samples;
        decided += truth != Truth::unknown;
        if (!agrees(truth, c)) FAIL("wrong proof of " << relation);
      };
      check("equal", equal(a.nat, b.nat), compare(world, a, b, [](auto x, auto y) { return x == y; }));
      check("less", less(a.nat, b.nat), compare(world, a, b, [](auto x, auto y) { return x < y; }));
      check("lessEqual", lessEqual(a.nat, b.nat), compare(world, a, b, [](auto x, auto y) { return x <= y; }));
      if (b.nat != Nat(0)) {
        const auto divisible = [](auto x, auto y) { return y == 0 ? x == 0 : x % y == 0; };
        check("divides", divides(b.nat, a.nat), compare(world, a, b, divisible));
      }
    }
  }
  CHECK(samples > 4000);
  CHECK(decided > samples / 8);
}

}  // namespace

TEST_CASE("random expressions over constant ranges keep their values") {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) checkSamples(seed, 60, false);
}

TEST_CASE("random expressions over symbolic ranges keep their values") {
  for (std::uint32_t seed = 11; seed <= 14; ++seed) checkSamples(seed, 60, true);
}

TEST_CASE("random expressions from a new seed keep their values") {
  const std::uint32_t seed = test::newSeed();
  checkSamples(seed, 30, false);
  checkSamples(seed, 30, true);
}

TEST_CASE("proofs over constant ranges are never wrong") { checkProofs(21, false); }

TEST_CASE("proofs over symbolic ranges are never wrong") { checkProofs(22, true); }

TEST_CASE("proofs from a new seed are never wrong") {
  const std::uint32_t seed = test::newSeed();
  checkProofs(seed, false);
  checkProofs(seed, true);
}

TEST_CASE("substituting variables by themselves changes nothing") {
  INFO("seed 31");
  std::mt19937 random(31);
  int samples = 0;
  for (int w = 0; w < 40; ++w) {
    const World world = w % 2 ? symbolicWorld(random) : constantWorld(random);
    Generator generator(random, world);
    std::map<NatVar, Nat> identity;
    std::map<NatVar, Nat> away;
    std::map<NatVar, Nat> back;
    for (NatVar v : world.variables) {
      identity.emplace(v, v);
      std::optional<Nat> upper = v.upper();
      if (upper) upper = upper->substitute(away);
      const NatVar other = NatVar::fresh(v.name(), v.lower(), upper, v.role());
      away.emplace(v, other);
      back.emplace(other, v);
    }
    for (int k = 0; k < 30; ++k, ++samples) {
      const Sample s = k % 2 ? generator.indexLike() : generator.expression(3);
      INFO(show(*s.tree) << " = " << s.nat.str());
      CHECK(s.nat.substitute(identity) == s.nat);
      // There and back rebuilds every node.
      CHECK(s.nat.substitute(away).str() == s.nat.str());
      CHECK(s.nat.substitute(away).substitute(back) == s.nat);
    }
  }
  CHECK(samples == 1200);
}

TEST_CASE("substituting constants is evaluation") {
  INFO("seed 41");
  std::mt19937 random(41);
  int samples = 0;
  for (int w = 0; w < 40; ++w) {
    const World world = w % 2 ? symbolicWorld(random) : constantWorld(random);
    Generator generator(random, world);
    for (int k = 0; k < 20; ++k) {
      const Sample s = k % 2 ? generator.indexLike() : generator.expression(3);
      for (int l = 0; l < 5; ++l) {
        const Point& p = world.points[generator.pick(world.points.size())];
        const auto expected = eval(*s.tree, p);
        if (!expected) continue;
        ++samples;
        std::map<NatVar, Nat> values;
        for (std::size_t v = 0; v < world.variables.size(); ++v) values.emplace(world.variables[v], p[v]);
        INFO(show(*s.tree) << " = " << s.nat.str());
        CHECK(s.nat.substitute(values).constant() == expected);
      }
    }
  }
  CHECK(samples > 2000);
}

TEST_CASE("simplification and equality under facts are never wrong") {
  const std::uint32_t seed = test::newSeed();
  INFO("LIFT_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  int samples = 0;
  int simplified = 0;
  for (int w = 0; w < 150; ++w) {
    const World world = w % 2 ? symbolicWorld(random) : constantWorld(random);
    Generator generator(random, world);
    for (int k = 0; k < 20; ++k) {
      std::vector<Sample> divisors;
      std::vector<Sample> numbers;
      std::vector<Divides> facts;
      for (std::size_t f = 0; f <= generator.pick(2); ++f) {
        divisors.push_back(generator.divisor(0));
        numbers.push_back(generator.expression(static_cast<int>(generator.pick(3))));
        facts.push_back({divisors.back().nat, numbers.back().nat});
      }
      const auto holds = [&](const Point& p) {
        for (std::size_t f = 0; f < facts.size(); ++f) {
          const auto d = eval(*divisors[f].tree, p);
          const auto x = eval(*numbers[f].tree, p);
          if (!d || !x || *d == 0 || *x % *d != 0) return false;
        }
        return true;
      };
      const Sample quotient = generator.combine('/', numbers[0], divisors[0]);
      Sample e = k % 3 ? generator.indexLike() : generator.combine('*', quotient, divisors[0]);
      e = generator.combine('+', e, generator.expression(2));
      const Nat result = simplifyUnder(facts, e.nat);
      simplified += result != e.nat;
      const Sample other = k % 2 ? generator.expression(2) : e;
      INFO("under " << facts[0].divisor.str() << " | " << facts[0].number.str() << ": " << e.nat.str() << " is "
                    << result.str());
      for (const Point& p : world.points) {
        const auto expected = eval(*e.tree, p);
        if (!expected || !holds(p)) continue;
        ++samples;
        if (result.evaluate(at(world, p)) != *expected) FAIL("wrong value");
      }
      const auto same = [](auto x, auto y) { return x == y; };
      if (!agrees(equalUnder(facts, e.nat, other.nat), compare(world, e, other, same, holds))) FAIL("wrong proof");
      if (!agrees(equalUnder(facts, e.nat, result), compare(world, e, e, same, holds))) FAIL("wrong refutation");
    }
  }
  CHECK(samples > 10000);
  CHECK(simplified > 100);
}
