// Sweeps with an invented measurer: order, budgets, going on.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <random>
#include <set>

#include "lift/experience.hpp"
#include "lift/tune.hpp"

using namespace lift;
using namespace lift::tune;

namespace {

std::vector<Config> points() {
  std::vector<Config> all;
  for (std::int64_t a = 1; a <= 10; a++)
    for (std::int64_t b = 1; b <= 10; b++) all.push_back({{"a", a}, {"b", b}});
  return all;
}

Problem problem() {
  return {
      {"p", "a problem", "--conv p", 1000, 10},
      {{searchSpaceOfPoints("one", points()), "derived so", {}}, {searchSpaceOfPoints("two", points()), "and so", {}}},
      {}};
}

// Time is a function of the point, unless it is measured again; some points fail. Counts what it did.
class Invented : public Measurer {
 public:
  void measure(const Feed& feed, const BestMs& best, const std::function<void(std::size_t, Measurement)>& done,
               const Stop& stop, const Stop& late) override {
    given.clear();
    for (std::size_t number = 0; !stop() && !late(); number++) {
      if (number == given.size())
        for (Task& t : feed()) given.push_back(std::move(t));
      if (number == given.size()) return;
      const Point& p = given[number].point;
      CHECK(measured.insert(p).second);
      bests.push_back(best());
      Measurement m;
      m.times = {static_cast<double>(p.config.at("a") * 10 + p.config.at("b")) + (p.family == "one" ? 0.5 : 0)};
      if (p.config.at("a") == 7) m.status = Status::crash, m.times.clear();
      if (!given[number].trouble.empty()) m.detail = given[number].trouble;
      done(number, m);
    }
  }

  std::vector<std::vector<double>> retime(const std::vector<Point>& again, int rounds, const Stop& /*stop*/) override {
    retimed = again;
    std::vector<std::vector<double>> times;
    for (const Point& p : again) times.emplace_back(rounds, slower + 100.0 - 5 * static_cast<double>(p.config.at("b")));
    return times;
  }

  std::vector<Task> given;
  std::set<Point> measured;
  std::vector<Point> retimed;
  double slower = 0;  // when it measures again
  std::vector<double> bests;
};

DeviceRow device() { return {"d", "device", "v", "p", "gpu", "1", "{}"}; }

std::set<Point> pointsIn(const Database& db) {
  std::set<Point> found;
  for (const Measurement& m : db.select({.phase = Phase::sweep})) found.insert({m.key.family, m.key.config});
  return found;
}

}  // namespace

TEST_CASE("a sweep measures as many points as asked for, once, and times the best again") {
  for (const std::string& explorer : explorerNames()) {
    INFO(explorer);
    Database db = Database::inMemory();
    Invented measurer;
    const SweepResult result = sweep(problem(), device(), db, measurer, {.points = 50, .explorer = explorer});
    CHECK(result.ended == "points");
    CHECK(result.points == 50);
    CHECK(result.fresh == 50);
    CHECK(measurer.measured.size() == 50);
    CHECK(pointsIn(db) == measurer.measured);
    // The eight best, and the first of the search, whose time is good enough or not.
    const Point first{measurer.given[0].point};
    CHECK(std::ranges::count(measurer.retimed, first) == 1);
    CHECK((measurer.retimed.size() == 8 || (measurer.retimed.size() == 9 && measurer.retimed[8] == first)));
    CHECK(db.select({.phase = Phase::retime}).size() == measurer.retimed.size());
    std::int64_t all = 0;
    for (const auto& [status, count] : result.byStatus) all += count;
    CHECK(all == 50);
    // Of these, the one with the largest b is fastest the second time.
    std::int64_t largest = 0;
    for (const Point& p : measurer.retimed) largest = std::max(largest, p.config.at("b"));
    REQUIRE(result.best);
    CHECK(result.best->key.phase == Phase::retime);
    CHECK(result.best->key.config.at("b") == largest);
    CHECK(db.derivations().size() == 2);
    CHECK(db.problems().size() == 1);
  }
}

TEST_CASE("what is taken untuned, the first point, stays the best where no other is clearly faster") {
  class Alike : public Invented {
   public:
    std::vector<std::vector<double>> retime(const std::vector<Point>& again, int rounds, const Stop& stop) override {
      Invented::retime(again, rounds, stop);
      std::vector<std::vector<double>> times;
      for (const Point& p : again) times.push_back({p == given[0].point ? 1.0 : faster});
      return times;
    }
    double faster = 0.99;
  };
  for (const double faster : {0.99, 0.9}) {
    Database db = Database::inMemory();
    Alike measurer;
    measurer.faster = faster;
    const SweepResult result = sweep(problem(), device(), db, measurer, {.points = 20});
    REQUIRE(result.best);
    const Point best{result.best->key.family, result.best->key.config};
    CHECK((best == measurer.given[0].point) == (faster > 0.98));
  }
}

TEST_CASE("what was measured again before takes part when there is more to compare, with times of the same turns") {
  for (const std::string& explorer : explorerNames()) {
    INFO(explorer);
    Database db = Database::inMemory();
    Invented measurer;
    sweep(problem(), device(), db, measurer, {.points = 30, .explorer = explorer});
    const std::vector<Point> before = measurer.retimed;
    Invented same;
    sweep(problem(), device(), db, same, {.points = 30, .explorer = explorer});
    CHECK(same.retimed.empty());
    Invented more;
    more.slower = 1000;
    const SweepResult result = sweep(problem(), device(), db, more, {.points = 60, .explorer = explorer});
    for (const Point& p : before) CHECK(std::ranges::count(more.retimed, p) == 1);
    for (const Measurement& m : db.select({.phase = Phase::retime})) CHECK(m.median() > 1000);
    REQUIRE(result.best);
    CHECK(result.best->median() > 1000);
  }
}

TEST_CASE("points with more memory than allowed are kept, but are not the best") {
  class Memory : public Invented {
   public:
    void measure(const Feed& feed, const BestMs& best, const std::function<void(std::size_t, Measurement)>& done,
                 const Stop& stop, const Stop& late) override {
      Invented::measure(
          feed, best,
          [&](std::size_t task, Measurement m) {
            m.workspaceBytes = 110 - 10 * given[task].point.config.at("a");  // the faster the more
            m.maxError = 1.0 - 0.1 * static_cast<double>(given[task].point.config.at("a"));
            done(task, std::move(m));
          },
          stop, late);
    }
  };
  for (const std::string& explorer : explorerNames()) {
    INFO(explorer);
    Database db = Database::inMemory();
    Memory measurer;
    const SweepResult result =
        sweep(problem(), device(), db, measurer, {.points = 200, .maxWorkspace = 60, .explorer = explorer});
    REQUIRE(result.best);
    CHECK(result.best->workspaceBytes <= 60);
    CHECK(db.select({.phase = Phase::sweep}).size() == 200);
    for (const Point& p : measurer.retimed) CHECK(p.config.at("a") >= 5);

    Memory again;
    Database other = Database::inMemory();
    const SweepResult exact =
        sweep(problem(), device(), other, again, {.points = 200, .maxError = 0.45, .explorer = explorer});
    REQUIRE(exact.best);
    CHECK(exact.best->maxError <= 0.45);
    for (const Point& p : again.retimed) CHECK(p.config.at("a") >= 6);
  }
}

TEST_CASE("a sweep that was stopped anywhere goes on to the same points, and measures none twice") {
  for (const std::string& explorer : explorerNames()) {
    INFO(explorer);
    Database whole = Database::inMemory();
    Invented once;
    sweep(problem(), device(), whole, once, {.points = 60, .seed = 3, .explorer = explorer});

    Database db = Database::inMemory();
    Invented measurer;  // checks that nothing is measured twice
    int starts = 0;
    for (std::int64_t at : {5, 1, 17, 2, 1000}) {
      const std::int64_t goal = static_cast<std::int64_t>(measurer.measured.size()) + at;
      const SweepResult result = sweep(problem(), device(), db, measurer,
                                       {.points = 60, .seed = 3, .explorer = explorer, .stop = [&] {
                                          return static_cast<std::int64_t>(measurer.measured.size()) >= goal;
                                        }});
      CHECK(result.ended == (at == 1000 ? "points" : "stopped"));
      starts++;
    }
    CHECK(starts == 5);
    CHECK(pointsIn(db) == pointsIn(whole));
    CHECK(db.select({}).size() == whole.select({}).size());

    // Once more: nothing is left to do.
    const SweepResult again = sweep(problem(), device(), db, measurer, {.points = 60, .seed = 3, .explorer = explorer});
    CHECK(again.fresh == 0);
    CHECK(again.points == 60);
    CHECK(again.best->key ==
          sweep(problem(), device(), whole, once, {.points = 60, .seed = 3, .explorer = explorer}).best->key);
  }
}

namespace {

// Has several tasks under way, asks for more whenever there may be some, and ends them in any order.
class OutOfOrder : public Invented {
 public:
  explicit OutOfOrder(std::uint64_t seed) : random_(seed) {}
  void measure(const Feed& feed, const BestMs& best, const std::function<void(std::size_t, Measurement)>& done,
               const Stop& stop, const Stop& late) override {
    std::vector<Task> all;
    std::vector<std::size_t> underWay;
    for (;;) {
      for (Task& t : feed()) {
        underWay.push_back(all.size());
        all.push_back(std::move(t));
      }
      if (underWay.empty()) return;
      most = std::max(most, underWay.size());
      const auto at = static_cast<std::ptrdiff_t>(random_() % underWay.size());
      const std::size_t one = underWay[static_cast<std::size_t>(at)];
      underWay.erase(underWay.begin() + at);
      bool given = false;  // one task, measured as the other measurer does
      Invented::measure([&] { return std::exchange(given, true) ? std::vector<Task>() : std::vector{all[one]}; }, best,
                        [&](std::size_t, Measurement m) { done(one, std::move(m)); }, stop, late);
    }
  }
  std::size_t most = 0;  // tasks under way at once

 private:
  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("where a search goes does not depend on the order in which points are done") {
  for (const std::string& explorer : explorerNames()) {
    Database ordered = Database::inMemory();
    Invented once;
    sweep(problem(), device(), ordered, once, {.points = 70, .seed = 3, .explorer = explorer});
    for (std::uint64_t seed = 1; seed <= 5; seed++) {
      INFO(explorer << ", seed of the order: " << seed);
      Database db = Database::inMemory();
      OutOfOrder measurer(seed);
      const SweepResult result =
          sweep(problem(), device(), db, measurer, {.points = 70, .seed = 3, .explorer = explorer});
      CHECK(result.points == 70);
      CHECK(result.ended == "points");
      CHECK(pointsIn(db) == pointsIn(ordered));
      CHECK(measurer.most > 4);  // while the last of a batch are under way, others are
    }
  }
}

TEST_CASE("budgets") {
  Database db = Database::inMemory();
  Invented measurer;
  CHECK(sweep(problem(), device(), db, measurer, {.points = 1000}).ended == "all points");
  CHECK(pointsIn(db).size() == 200);

  Database other = Database::inMemory();
  Invented second;
  const SweepResult patient = sweep(problem(), device(), other, second, {.points = 1000, .patience = 30});
  CHECK(patient.ended == "patience");
  CHECK(patient.points < 200);

  // Whatever the time, a problem has its first point.
  Database third = Database::inMemory();
  Invented one;
  const SweepResult hurried = sweep(problem(), device(), third, one, {.points = 1000, .seconds = 0});
  CHECK(hurried.ended == "time");
  CHECK(hurried.best);
  CHECK(one.measured.size() == 1);
}

TEST_CASE("progress tells the best, what is left, and troubles are for the points they name") {
  Database db = Database::inMemory();
  Invented measurer;
  std::int64_t told = 0;
  double best = std::numeric_limits<double>::infinity();
  sweep(problem(), device(), db, measurer, {.points = 20, .troubles = {{3, "loop"}}}, [&](const Progress& p) {
    told++;
    CHECK(p.soFar.points == told);
    CHECK(p.points == 20);
    CHECK(p.improved == (p.measurement.valid() && p.measurement.median() < best));
    if (p.improved) best = p.measurement.median();
    CHECK(p.soFar.best.has_value() == std::isfinite(best));
    CHECK((p.measurement.detail == "loop") == (told == 3));
    CHECK(p.secondsLeft.has_value());
  });
  CHECK(told == 20);
}

namespace {

// A problem whose kernels are `text`, which stands for what a rule or a pass makes of a configuration, and the values
// of all its tunables or only of `a`.
Problem compiledTo(const std::string& text, bool all = true) {
  const PlanOf plan = [=](const Config& config) {
    kernel::Plan p;
    p.kernels.resize(1);
    p.sources = {fmt::format("{} {}", text, all ? lift::str(config) : std::to_string(config.at("a")))};
    p.launches.push_back({0, {}});
    return p;
  };
  return {{"p", "a problem", "--conv p", 1000, 10}, {{searchSpaceOfPoints("one", points()), "derived", plan}}, {}};
}

// As a child: it tells the identity of what it ran.
class Compiling : public Invented {
 public:
  explicit Compiling(Problem problem) : problem_(std::move(problem)) {}
  void measure(const Feed& feed, const BestMs& best, const std::function<void(std::size_t, Measurement)>& done,
               const Stop& stop, const Stop& late) override {
    Invented::measure(
        feed, best,
        [&](std::size_t task, Measurement m) {
          const Point& p = given[task].point;
          m.key.kernels = kernelIdentity(problem_.subspace(p.family).plan(p.config));
          done(task, std::move(m));
        },
        stop, late);
  }

 private:
  Problem problem_;
};

}  // namespace

TEST_CASE("a sweep goes on with the times of kernels that are still made, and measures others again") {
  Database db = Database::inMemory();
  const auto fresh = [&](const Problem& p) {
    Compiling measurer(p);
    const SweepResult result = sweep(p, device(), db, measurer, {.points = 40, .seed = 5});
    CHECK(result.points == 40);
    REQUIRE(result.best);
    return result.fresh;
  };
  CHECK(fresh(compiledTo("x + y")) == 40);
  CHECK(fresh(compiledTo("x + y")) == 0);
  CHECK(fresh(compiledTo("y + x")) == 40);  // another text: every point again, beside the old ones
  CHECK(db.select({.phase = Phase::sweep}).size() == 80);
  CHECK(fresh(compiledTo("y + x")) == 0);
  CHECK(fresh(compiledTo("x + y")) == 0);  // back again: its times are still there
}

TEST_CASE("points whose kernels are equal are measured once, and all have the time") {
  for (const std::string& explorer : explorerNames()) {
    INFO(explorer);
    Database db = Database::inMemory();
    const Problem p = compiledTo("x + y", /*all=*/false);
    Compiling measurer(p);
    const SweepResult result = sweep(p, device(), db, measurer, {.points = 1000, .explorer = explorer});
    CHECK(result.points == 100);
    CHECK(result.fresh == 10);  // values of a
    CHECK(result.equal == 90);
    CHECK(measurer.measured.size() == 10);
    std::map<std::string, std::set<double>> times;
    for (const Measurement& m : db.select({.phase = Phase::sweep})) times[m.key.kernels].insert(m.median());
    CHECK(times.size() == 10);
    for (const auto& [kernels, different] : times) CHECK(different.size() == 1);
    // What was learnt of kernels is kept beside them.
    CHECK(db.forecasts().size() == 10);
    CHECK(lessonsOf(db, device().id, "another problem").size() == 90);  // one value of a gives points without a time
    CHECK(lessonsOf(db, device().id, p.row.key).empty());
    CHECK(lessonsOf(db, "another device", "another problem").empty());
  }
}

TEST_CASE(
    "points are compiled in other processes, and one of which the compiler dies or hangs is measured like others") {
  const pid_t here = getpid();
  Problem p = compiledTo("x + y");
  const PlanOf inner = p.subspaces.front().plan;
  p.subspaces.front().plan = [=](const Config& config) {
    if (getpid() == here) FAIL("compiled in the process of the sweep");
    if (config == Config{{"a", 2}, {"b", 3}}) raise(SIGKILL);
    if (config == Config{{"a", 4}, {"b", 5}}) pause();
    if (config == Config{{"a", 6}, {"b", 1}}) throw std::bad_alloc();
    return inner(config);
  };
  Database db = Database::inMemory();
  Invented measurer;
  auto* goesOn = static_cast<bool*>(mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  REQUIRE(goesOn != MAP_FAILED);
  SweepResult result;
  try {
    result = sweep(p, device(), db, measurer, {.points = 1000, .limits = {.buildSeconds = 0.2}});
  } catch (const std::bad_alloc&) {  // a copy of this process, beyond what it was made for
    *goesOn = true;
    _exit(1);
  }
  CHECK_FALSE(*goesOn);
  munmap(goesOn, 1);
  CHECK(result.ended == "all points");
  CHECK(measurer.measured.size() == 100);
  CHECK(result.byStatus.at(Status::ok) == 90);
}

namespace {

// Nothing is ready within its limits.
class Late : public Invented {
 public:
  Late(Status status, double seconds) : status_(status), seconds_(seconds) {}
  void measure(const Feed& feed, const BestMs& best, const std::function<void(std::size_t, Measurement)>& done,
               const Stop& stop, const Stop& late) override {
    Invented::measure(
        feed, best,
        [&](std::size_t task, Measurement m) {
          m.status = status_;
          m.times.clear();
          (status_ == Status::buildTimeout ? m.buildMs : m.firstMs) = seconds_ * 1e3;
          done(task, std::move(m));
        },
        stop, late);
  }

 private:
  Status status_;
  double seconds_;
};

}  // namespace

TEST_CASE("what a limit ended is measured again under a larger one, and then is what it is now") {
  for (const Status status : {Status::buildTimeout, Status::runTimeout}) {
    Database db = Database::inMemory();
    const auto fresh = [&](double seconds) {
      Late measurer(status, seconds);
      const Limits limits{.buildSeconds = seconds, .runSeconds = seconds};
      return sweep(problem(), device(), db, measurer, {.points = 5, .limits = limits}).fresh;
    };
    CHECK(fresh(2) == 5);
    CHECK(fresh(2) == 0);
    CHECK(fresh(1) == 0);
    CHECK(fresh(4) == 5);
    CHECK(fresh(4) == 0);
    CHECK(pointsIn(db).size() == 5);
    CHECK(db.select({.phase = Phase::sweep}).size() == 5);
  }
}
