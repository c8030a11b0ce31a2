// Turns, results compared, and what else ran.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "lift/bench.hpp"
#include "lift/diagnostic.hpp"

namespace lift::bench {
namespace {

// A run longer than this is not noticeably longer for threads to be woken and caches to be filled.
constexpr double longMilliseconds = 100;

// One contestant's account.
struct Account {
  Contestant* contestant;
  std::vector<double> times = {};
  double spent = 0;

  void takeTurn(const TurnOptions& options) {
    double last = times.empty() ? 0 : times.back();
    if (last < longMilliseconds) {
      last = contestant->run(1);
      spent += last;
    }
    double turn = 0;
    do {
      const int runs = runtime::runsInBatch(last, options.batchMilliseconds);
      last = contestant->run(runs);
      times.push_back(last);
      // A clock that stands still (the null device) must not hold us.
      turn += std::max(runs * last, options.turnMilliseconds / 1000);
    } while (turn < options.turnMilliseconds);
    spent += turn;
  }

  bool disturbed(const TurnOptions& options) const {
    return runtime::median(times) > options.disturbed * *std::ranges::min_element(times);
  }
};

}  // namespace

void waitUntilQuiet() {
  using namespace std::chrono_literals;
  const auto processorTime = [] { return std::clock() * (1000.0 / CLOCKS_PER_SEC); };  // of all threads, in ms
  for (int slice = 0; slice < 40; ++slice) {
    const double before = processorTime();
    std::this_thread::sleep_for(5ms);
    if (processorTime() - before < 0.5) return;
  }
}

std::optional<double> OtherLoad::seconds() {
  // Waiting for a disk is idle time; what virtual machines of this one use is in `user` already.
  std::ifstream stat("/proc/stat");
  std::string word;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, lateInterrupts = 0, stolen = 0;
  if (!(stat >> word >> user >> nice >> system >> idle >> waiting >> interrupts >> lateInterrupts >> stolen))
    return std::nullopt;
  double ours = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage use = {};
    if (getrusage(who, &use) != 0) return std::nullopt;
    for (const timeval& t : {use.ru_utime, use.ru_stime})
      ours += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  }
  const double ticks = user + nice + system + interrupts + lateInterrupts + stolen;
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) - ours;
}

std::optional<double> OtherLoad::processors() const {
  constexpr double shortest = 0.5;
  const double passed = watch_.seconds();
  const std::optional<double> now = seconds();
  if (!before_ || !now || passed < shortest) return std::nullopt;
  return std::max((*now - *before_) / passed, 0.0);
}

std::vector<std::vector<double>> measureInTurns(const std::vector<Contestant*>& contestants,
                                                const TurnOptions& options) {
  ensure(options.repetitions >= 1 && options.rounds >= 1, "a measurement needs a turn");
  std::vector<Account> accounts;
  for (Contestant* c : contestants) accounts.push_back({c});
  const auto isDisturbed = [&](const Account& a) { return a.disturbed(options); };
  for (int round = 0; round < options.rounds; ++round) {
    if (round > 0 && std::ranges::none_of(accounts, isDisturbed)) break;
    for (int turn = 0; turn < options.repetitions; ++turn)
      for (Account& account : accounts) {
        if (!account.times.empty() && account.spent > options.totalMilliseconds) continue;
        if (options.quieten) options.quieten();
        account.takeTurn(options);
      }
  }
  std::vector<std::vector<double>> times;
  for (Account& account : accounts) times.push_back(std::move(account.times));
  return times;
}

std::vector<Result> compare(const std::map<std::string, Tensor>& expected, double tolerance,
                            const std::vector<Entry>& entries, const TurnOptions& options) {
  std::vector<Contestant*> present;
  for (const Entry& e : entries)
    if (e.setup.contestant) present.push_back(e.setup.contestant.get());
  std::vector<std::vector<double>> times = measureInTurns(present, options);

  std::vector<Result> results;
  auto next = times.begin();
  for (const Entry& e : entries) {
    Result r;
    r.name = e.name;
    r.absent = e.setup.absent;
    if (Contestant* c = e.setup.contestant.get()) {
      r.implementation = c->implementation();
      r.times = std::move(*next++);
      r.fastest = *std::ranges::min_element(r.times);
      r.milliseconds = runtime::median(r.times);
      r.spread = runtime::spread(r.times);
      r.memory = c->memory();
      r.error = largestError(c->outputs(), expected);
      r.ok = r.error <= tolerance;
    }
    results.push_back(std::move(r));
  }
  return results;
}

}  // namespace lift::bench
