// Threads that compute together.
#include <array>
#include <atomic>
#include <numeric>
#include <stdexcept>

#include "catch2/catch.hpp"
#include "team.hpp"

using lift::runtime::Team;

TEST_CASE("a team runs a function on each of its threads, and again", "[null]") {
  Team team(4);
  for (int call = 0; call < 100; call++) {
    std::array<std::atomic<int>, 4> ran{};
    team.run([&](int member) { ran[static_cast<std::size_t>(member)]++; });
    for (const auto& n : ran) CHECK(n == 1);
  }
}

TEST_CASE("members share out numbers and meet", "[null]") {
  constexpr std::size_t most = 1000, rounds = 50;
  Team team(3);
  std::vector<std::atomic<int>> given(most);
  std::atomic<int> early = 0;
  team.run([&](int) {
    for (std::size_t round = 1; round <= rounds; round++) {
      for (std::size_t i; (i = team.next()) < most;) given[i]++;
      team.meet();
      // Whoever is here sees what all have done in this round, and nothing of the next.
      if (given[round].load() != static_cast<int>(round)) early++;
      team.meet();
    }
  });
  CHECK(early == 0);
  for (const auto& n : given) REQUIRE(n == static_cast<int>(rounds));
}

TEST_CASE("what a member throws ends the work of all, and the caller gets it", "[null]") {
  Team team(3);
  for (int call = 0; call < 20; call++) {
    CHECK_THROWS_WITH(team.run([&](int member) {
      for (int meeting = 0;; meeting++) {
        if (member == 1 && meeting == call) throw std::runtime_error("no");
        team.meet();
      }
    }),
                      "no");
    int ran = 0;
    team.run([&](int member) {
      team.meet();
      if (member == 0) ran++;
    });
    CHECK(ran == 1);
  }
}

TEST_CASE("callers on several threads are served in turn", "[null]") {
  Team team(2);
  std::atomic<int> inside = 0, together = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; c++)
    callers.emplace_back([&] {
      for (int call = 0; call < 50; call++)
        team.run([&](int) {
          if (++inside > 2) together++;
          team.meet();
          --inside;
          team.meet();
        });
    });
  for (std::thread& t : callers) t.join();
  CHECK(together == 0);
}
