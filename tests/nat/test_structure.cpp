// Construction, traversal, substitution, evaluation, order, and expressions that are large or deep.
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/nat.hpp"

using namespace lift;

namespace {

std::vector<std::string> texts(const std::vector<Nat>& nats) {
  std::vector<std::string> result;
  for (Nat n : nats) result.push_back(n.str());
  return result;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("variables have identity, not only names") {
  const NatVar first = NatVar::size("n");
  const NatVar second = NatVar::size("n");
  CHECK_FALSE(first == second);
  CHECK(first < second);
  CHECK(Nat(first) == Nat(first));
  CHECK(Nat(first) != Nat(second));
  CHECK((Nat(first) - Nat(second)) != Nat(0));
  CHECK((Nat(first) + Nat(second)).operands().size() == 2);
}

TEST_CASE("variables keep their attributes") {
  const NatVar n = NatVar::size("n");
  CHECK(n.name() == "n");
  CHECK(n.role() == NatVar::Role::size);
  CHECK(n.lower() == 1);
  CHECK_FALSE(n.upper().has_value());
  const NatVar i = NatVar::index("i", n);
  CHECK(i.role() == NatVar::Role::index);
  CHECK(i.lower() == 0);
  CHECK(*i.upper() == Nat(n) - 1);
  CHECK(Nat(i).variable() == i);
  CHECK_FALSE((Nat(i) + 1).variable().has_value());
  CHECK(NatVar::fresh("k", 2, Nat(9), NatVar::Role::tunable).role() == NatVar::Role::tunable);
}

TEST_CASE("kinds and operands") {
  const Nat n = NatVar::size("n"), m = NatVar::size("m");
  CHECK(Nat(3).kind() == Nat::Kind::constant);
  CHECK(n.kind() == Nat::Kind::variable);
  CHECK(n.operands().empty());
  CHECK((n + 1).kind() == Nat::Kind::sum);
  CHECK(texts((n - 2 * m + 1).operands()) == Texts{"n", "-2*m", "1"});
  CHECK((2 * n).kind() == Nat::Kind::product);
  CHECK(texts((2 * n).operands()) == Texts{"2", "n"});
  CHECK(texts((-n * n * m).operands()) == Texts{"-1", "m", "n", "n"});
  CHECK(texts((n * m).operands()) == Texts{"m", "n"});
  CHECK((n / 4).kind() == Nat::Kind::floorDiv);
  CHECK(texts((n / 4).operands()) == Texts{"n", "4"});
  CHECK((n % m).kind() == Nat::Kind::mod);
  CHECK(texts(min(n, m).operands()) == Texts{"m", "n"});
  CHECK(max(n, m).kind() == Nat::Kind::max);
}

TEST_CASE("operands rebuild their expression") {
  const Nat n = NatVar::size("n"), m = NatVar::size("m");
  const Nat e = 3 * n * n * (m / 4) - 2 * min(n, m) + n % 7 - 5;
  CHECK(sum(e.operands()) == e);
  for (Nat term : e.operands()) {
    if (term.kind() != Nat::Kind::product) continue;
    Nat product = 1;
    for (Nat factor : term.operands()) product = product * factor;
    CHECK(product == term);
  }
}

TEST_CASE("constant bounds") {
  const Nat n = NatVar::size("n");
  const Nat i = NatVar::fresh("i", -2, Nat(5));
  CHECK(n.lower() == 1);
  CHECK_FALSE(n.upper().has_value());
  CHECK((2 * i + 1).lower() == -3);
  CHECK((2 * i + 1).upper() == 11);
  CHECK((-i).lower() == -5);
  CHECK((i * i).upper() == 25);
  CHECK((i / 2).lower() == -1);
  CHECK((i % 3).lower() == 0);
  CHECK((i % 3).upper() == 2);
  CHECK((n % 3).upper() == 2);
  CHECK((-n).upper() == -1);
  CHECK_FALSE((-n).lower().has_value());
  CHECK(min(n, i).upper() == 5);
  CHECK(max(n, i).lower() == 1);
  CHECK((Nat(7) / (n + 1)).upper() == 3);
}

TEST_CASE("variables and mentions") {
  const NatVar n = NatVar::size("n"), m = NatVar::size("m"), k = NatVar::size("k");
  const Nat e = Nat(m) * Nat(n) / 4 + min(Nat(n), 7) % Nat(m);
  CHECK(e.variables() == std::vector<NatVar>{n, m});
  CHECK(e.mentions(n));
  CHECK_FALSE(e.mentions(k));
  CHECK(Nat(3).variables().empty());
  CHECK((Nat(n) - Nat(n) + Nat(k)).variables() == std::vector<NatVar>{k});
}

TEST_CASE("substitution is simultaneous") {
  const NatVar n = NatVar::size("n"), m = NatVar::size("m");
  const Nat e = Nat(n) - 2 * Nat(m);
  CHECK(e.substitute({{n, m}, {m, n}}) == Nat(m) - 2 * Nat(n));
  CHECK(e.substitute({}) == e);
  CHECK(e.substitute({{n, 8}, {m, 3}}) == Nat(2));
  CHECK((Nat(n) / Nat(m)).substitute({{m, 4}}) == Nat(n) / 4);
  CHECK((Nat(n) / Nat(m)).substitute({{n, Nat(m) * 3}}) == Nat(3));
  CHECK_THROWS_AS((Nat(n) / Nat(m)).substitute({{m, 0}}), UserError);
}

TEST_CASE("evaluation") {
  const NatVar n = NatVar::size("n"), m = NatVar::fresh("m", 0, std::nullopt);
  const auto value = [&](NatVar v) { return v == n ? std::int64_t{13} : std::int64_t{0}; };
  CHECK((Nat(n) / 4 + Nat(n) % 4 * 10).evaluate(value) == 13);
  CHECK(max(Nat(n), Nat(m)).evaluate(value) == 13);
  CHECK_THROWS_AS((Nat(n) / Nat(m)).evaluate(value), UserError);
  CHECK_THROWS_AS(Nat(n).evaluate([](NatVar) -> std::int64_t { throw InternalError("missing"); }), InternalError);
}

TEST_CASE("linear coefficients") {
  const NatVar n = NatVar::size("n"), i = NatVar::index("i", n);
  const auto linear = (3 * Nat(i) * Nat(n) + Nat(i) + Nat(n) / 2).linearIn(i);
  REQUIRE(linear.has_value());
  CHECK(linear->coefficient == 3 * Nat(n) + 1);
  CHECK(linear->rest == Nat(n) / 2);
  CHECK_FALSE((Nat(i) * Nat(i)).linearIn(i).has_value());
  CHECK_FALSE((Nat(i) + Nat(i) % 4).linearIn(i).has_value());
  CHECK(Nat(n).linearIn(i)->coefficient == Nat(0));
}

TEST_CASE("the structural order is total and follows names") {
  const Nat b = NatVar::size("b"), a = NatVar::size("a"), other = NatVar::size("a");
  CHECK(structurallyLess(a, b));
  CHECK_FALSE(structurallyLess(b, a));
  CHECK_FALSE(structurallyLess(a, a));
  CHECK(structurallyLess(a, other) != structurallyLess(other, a));
  const std::vector<Nat> some{a, b, a + 1, a * b, a / b, b / a, a % 3, min(a, b), max(a, b), Nat(0), Nat(1), Nat(-1)};
  for (Nat x : some) {
    for (Nat y : some) {
      CHECK((x == y) == (!structurallyLess(x, y) && !structurallyLess(y, x)));
      for (Nat z : some)
        if (structurallyLess(x, y) && structurallyLess(y, z)) CHECK(structurallyLess(x, z));
    }
  }
}

TEST_CASE("hashes are equal for equal nodes and spread") {
  const Nat n = NatVar::size("n");
  CHECK((n + 1).hash() == (1 + n).hash());
  CHECK(std::hash<Nat>()(n) == n.hash());
  std::vector<std::size_t> hashes;
  for (int k = 0; k < 1000; ++k) hashes.push_back((n * k + k / 3).hash());
  std::sort(hashes.begin(), hashes.end());
  CHECK(std::unique(hashes.begin(), hashes.end()) == hashes.end());
}

TEST_CASE("loops that never run do no harm") {
  const Nat never = NatVar::index("never", 0);
  const Nat n = NatVar::size("n");
  CHECK((never * n + n / (never + 1) + never % 4).node() != nullptr);
  CHECK(less(never, 0) == Truth::proved);
}

TEST_CASE("a sum of ten thousand terms") {
  std::vector<Nat> terms;
  for (int k = 0; k < 10000; ++k) terms.push_back(Nat(NatVar::size("n" + std::to_string(k))) * (k + 1));
  const Nat total = sum(terms);
  CHECK(total.operands().size() == 10000);
  CHECK(total.lower() == 50005000);
  CHECK(total.variables().size() == 10000);
  CHECK(total - total == Nat(0));
  CHECK(total.evaluate([](NatVar) { return 1; }) == 50005000);
  CHECK(total.substitute({{total.variables().front(), 0}}).operands().size() == 9999);
  CHECK(total.str().size() > 50000);
  CHECK((2 * total) / 2 == total);
  CHECK(lessEqual(1, total) == Truth::proved);
}

TEST_CASE("a sum of two thousand terms, one by one") {
  Nat total = 0;
  for (int k = 0; k < 2000; ++k) total = total + NatVar::size("n" + std::to_string(k % 10));
  CHECK(total.operands().size() == 2000);
}

TEST_CASE("a chain of three thousand operations") {
  const NatVar i = NatVar::index("i", 1 << 20);
  Nat e = i;
  for (int k = 0; k < 1000; ++k) {
    e = e / 3 + Nat(NatVar::index("j", 5));
    e = min(e, Nat(NatVar::size("n")));
    e = e * 2 + 1;
  }
  CHECK(e.variables().size() == 2001);
  CHECK(e.evaluate([](NatVar) { return 1; }) > 0);
  CHECK(e.substitute({{i, 5}}).variables().size() == 2000);
  CHECK(e.str().size() > 3000);
  CHECK(equal(e, e + 1) == Truth::refuted);
}

TEST_CASE("thirty thousand index expressions") {
  const Nat n = NatVar::size("n");
  int flat = 0;
  for (int k = 2; k <= 10001; ++k) {
    const Nat i = NatVar::index("i", n);
    const Nat j = NatVar::index("j", k);
    const Nat e = i * k + j;
    flat += e / k == i && e % k == j;
  }
  CHECK(flat == 10000);
}

TEST_CASE("shared structure is visited once") {
  // 2^60 paths, 60 nodes.
  const NatVar n = NatVar::size("n");
  Nat e = n;
  for (int k = 0; k < 60; ++k) e = min(e / 2, Nat(NatVar::size("m"))) + (e / 3) % 5;
  CHECK(e.variables().size() == 61);
  CHECK(e.evaluate([](NatVar) { return 9; }) >= 0);
  CHECK(e.substitute({{n, 100}}).mentions(n) == false);
}

TEST_CASE("threads share one table") {
  const Nat n = NatVar::size("n"), m = NatVar::size("m");
  const auto build = [&] {
    std::vector<Nat> result;
    for (int k = 1; k < 500; ++k) result.push_back((n * k + m) / (k % 7 + 1) + min(n, m * k) % (n + k));
    for (Nat e : result) (void)e.operands();
    return result;
  };
  std::vector<std::vector<Nat>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&] { result = build(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) CHECK(result == results[0]);
}
