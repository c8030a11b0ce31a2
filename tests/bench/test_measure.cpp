// The measurer with contestants whose times are known.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <ctime>
#include <limits>
#include <map>
#include <thread>

#include "lift/bench.hpp"
#include "lift/diagnostic.hpp"

using namespace lift;
using namespace lift::bench;

namespace {

// Takes its times from a list, the last one for ever, and writes its name into a log for each run.
class Fake final : public Contestant {
 public:
  Fake(char name, std::vector<double> times, std::string& log) : name_(name), times_(std::move(times)), log_(log) {}

  double run(int runs) override {
    log_ += name_;
    batches.push_back(runs);
    const std::size_t i = std::min(next_++, times_.size() - 1);
    return times_[i];
  }
  std::map<std::string, Tensor> outputs() override { return {{"out", result}}; }
  Memory memory() const override { return {1, 2, 3}; }
  std::string implementation() const override { return std::string(1, name_); }

  Tensor result;
  std::vector<int> batches;

 private:
  char name_;
  std::vector<double> times_;
  std::string& log_;
  std::size_t next_ = 0;
};

}  // namespace

TEST_CASE("medians") {
  CHECK(runtime::median({3}) == 3);
  CHECK(runtime::median({5, 1, 3}) == 3);
  CHECK(runtime::median({4, 1, 3, 2}) == 2.5);
  CHECK_THROWS_AS(runtime::median({}), InternalError);
  CHECK(runtime::quantile({4, 1, 3, 2, 5}, 0.25) == 2);
  CHECK(runtime::quantile({1, 2}, 0.75) == 1.75);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  CHECK(runtime::median({infinite, infinite}) == infinite);
  CHECK(runtime::median({1, infinite}) == infinite);
  CHECK(runtime::spread({4, 1, 3, 2, 5}) == Approx(2.0 / 3));
  CHECK(runtime::spread({7}) == 0);
  CHECK(runtime::spread({0, 0, 0}) == 0);
}

TEST_CASE("what other programs use is told, and what this one uses is not among it") {
  const OtherLoad others;
  CHECK_FALSE(others.processors());  // too early
  const pid_t child = fork();
  REQUIRE(child >= 0);
  const auto spin = [](double seconds) {
    for (const Stopwatch watch; watch.seconds() < seconds;) {
    }
  };
  if (child == 0) {
    spin(10);
    _exit(0);
  }
  const Stopwatch watch;
  const std::clock_t before = std::clock();
  spin(1);
  const double own = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC / watch.seconds();
  const auto processors = others.processors();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (!processors) {
    WARN("the system does not tell");
    return;
  }
  CHECK(*processors > 0.1);
  CHECK(*processors + own < std::thread::hardware_concurrency() + 0.2);
}

TEST_CASE("contestants take turns, each turn with a run that is not counted and a silence before it") {
  std::string log;
  Fake a('a', {9, 30, 9, 40, 9, 50}, log), b('b', {90, 99}, log);
  TurnOptions options;
  options.repetitions = 3;
  options.rounds = 1;
  options.quieten = [&] { log += '.'; };
  const auto times = measureInTurns({&a, &b}, options);
  CHECK(log == ".aa.bb.aa.bb.aa.bb");
  CHECK(times == std::vector<std::vector<double>>{{30, 40, 50}, {99, 99, 99}});
}

TEST_CASE("who was disturbed takes its turns again, and so do all others") {
  std::string log;
  Fake noisy('n', {9, 90, 9, 30, 9, 30}, log), other('o', {30}, log);
  TurnOptions options;
  options.repetitions = 2;
  auto times = measureInTurns({&noisy, &other}, options);  // of {90, 30} the median is 60
  CHECK(log == "nnoonnoonnoonnoo");                        // of {90, 30, 30, 30} it is 30
  CHECK(times == std::vector<std::vector<double>>{{90, 30, 30, 30}, {30, 30, 30, 30}});

  // One whose times never agree ends, too.
  Fake uneven('u', {9, 30, 9, 90, 9, 30, 9, 90, 9, 30, 9, 90, 9, 30, 9, 90, 9, 30, 9, 90}, log);
  times = measureInTurns({&uneven}, options);
  CHECK(times[0] == std::vector<double>{30, 90, 30, 90, 30, 90, 30, 90});
}

TEST_CASE("a turn repeats short runs, and wakes nobody who takes long") {
  std::string log;
  Fake quick('q', {1, 8}, log), slow('s', {500}, log);
  TurnOptions options;
  options.repetitions = 2;
  options.batchMilliseconds = 1;
  const auto times = measureInTurns({&quick, &slow}, options);
  CHECK(log == "qqqqssqqqqs");
  CHECK(times[0].size() == 6);
  CHECK(times[1].size() == 2);
}

TEST_CASE("runs shorter than a batch are timed several at once") {
  std::string log;
  Fake quick('q', {0.5, 0.1, 0.01, 0}, log), alone('a', {0.5}, log);
  TurnOptions options;
  options.repetitions = 1;
  options.turnMilliseconds = 2.5;
  options.batchMilliseconds = 1;
  measureInTurns({&quick}, options);
  CHECK(std::vector(quick.batches.begin(), quick.batches.begin() + 5) == std::vector{1, 2, 10, 100, 2048});
  options.batchMilliseconds = 0;
  measureInTurns({&alone}, options);
  CHECK(alone.batches == std::vector{1, 1, 1, 1, 1, 1});
}

TEST_CASE("who has spent the time for all turns is passed over, after a first turn") {
  std::string log;
  Fake slow('s', {3000}, log), other('o', {30}, log);
  TurnOptions options;
  options.repetitions = 4;
  const auto times = measureInTurns({&slow, &other}, options);
  CHECK(log == "ssoooooooo");
  CHECK(times[0].size() == 1);
  CHECK(times[1].size() == 4);
}

TEST_CASE("a clock that stands still ends a turn all the same") {
  std::string log;
  Fake idle('i', {0}, log);
  TurnOptions options;
  options.repetitions = 1;
  const auto times = measureInTurns({&idle}, options);
  CHECK(times[0].size() > 1);
  CHECK(times[0].size() <= 1001);
}

TEST_CASE("results are compared with the reference; who is absent says why") {
  const ConvSpec spec = parseConv("ic3ih5oc4kh3ph1");
  const ConvTensors tensors = randomConvTensors(spec, 1);
  std::string log;
  auto right = std::make_unique<Fake>('r', std::vector<double>{7, 30}, log);
  auto wrong = std::make_unique<Fake>('w', std::vector<double>{7, 20}, log);
  const Tensor expected = convReference(spec, tensors.input, tensors.weights, tensors.bias);
  right->result = expected;
  wrong->result = right->result;
  wrong->result.set(11, 100);
  std::vector<Entry> entries;
  entries.push_back({"wrong", {std::move(wrong)}});
  entries.push_back({"nobody", {nullptr, "not built in"}});
  entries.push_back({"right", {std::move(right)}});
  TurnOptions options;
  options.repetitions = 3;

  const std::vector<Result> results = compare({{"out", expected}}, convTolerance(spec, Scalar::f32), entries, options);
  REQUIRE(results.size() == 3);
  CHECK(results[0].name == "wrong");
  CHECK(results[0].milliseconds == 20);
  CHECK(results[0].fastest == 20);
  CHECK(results[0].times.size() == 3);
  CHECK_FALSE(results[0].ok);
  CHECK(results[0].error > 1);
  CHECK(results[1].absent == "not built in");
  CHECK(results[1].times.empty());
  CHECK(results[2].absent.empty());
  CHECK(results[2].milliseconds == 30);
  CHECK(results[2].implementation == "r");
  CHECK(results[2].memory.prepared == 3);
  CHECK(results[2].ok);
  CHECK(results[2].error == 0);
}
