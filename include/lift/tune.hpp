// Tuning: points chosen by an explorer are built, run, checked and remembered.
//
//   Problem problem{row, subspaces, data};
//   auto measurer = makeWorkers({"/usr/bin/liftc", "tune-worker", …}, problem.data(), {});
//   SweepResult result = sweep(problem, device, database, *measurer, {.points = 300});
//
// A problem is what is to be computed, with inputs and the results that are right; its subspaces are those of the
// families of programs that compute it. Every point is built and run in a child process, with
// limits of time, so that what hangs or crashes costs a point and not the sweep; its results are compared with the
// reference before its time counts. Builds go on in parallel; a run has the machine to itself.
//
// Every measurement is committed when it is made. A sweep that is stopped or killed goes on where it was when it is
// started again: the explorer takes the same way, and what is in the database is not measured again, as long as the
// point still compiles to the kernels that were measured.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lift/codegen.hpp"
#include "lift/device.hpp"
#include "lift/explorer.hpp"
#include "lift/kernel.hpp"
#include "lift/space.hpp"
#include "lift/tensor.hpp"
#include "lift/tune_db.hpp"

namespace lift::tune {

// ---------------------------------------------------------------------------------------------------------- problems

using PlanOf = std::function<kernel::Plan(const Config&)>;  // throws UserError where a point does not compile

// The configurations of one family.
struct Subspace {
  SearchSpace search;
  std::string derivation;  // how its program came about
  PlanOf plan;
  std::optional<Space> space = {};  // what `search` was made of, if anything
};

// The plans of a program's configurations: specialised, then compiled.
PlanOf planOf(const Program& program, const CompileOptions& options);
// What `planOf(family)` makes of configurations; a family of which it makes nothing has no kernels. It is asked once
// for each family.
Regenerate regenerateBy(std::function<PlanOf(const std::string& family)> planOf, std::string buildOptions = {});
// With the forecasts of the plans, where these are given.
SearchSpace searchSpaceOf(const std::string& name, const Space& space, const PlanOf& plan = {});
Subspace subspaceOf(const std::string& family, const Program& program, const Space& space, std::string derivation,
                    const CompileOptions& options = {});

struct ProblemData {
  std::map<std::string, Tensor> inputs, expected;
  double tolerance = 0;  // of |got - want| / max(|want|, root mean square of all wanted)
  // What `expected` has of the results: these elements of the outermost dimension, in this order. Empty: all.
  std::vector<std::int64_t> rows = {};
};
// These rows of each tensor; all where there are none.
std::map<std::string, Tensor> rowsOf(const std::map<std::string, Tensor>& tensors,
                                     const std::vector<std::int64_t>& rows);

struct Problem {
  ProblemRow row;
  std::vector<Subspace> subspaces;
  std::function<ProblemData()> data;         // may take its time
  std::vector<std::string> passedOver = {};  // families that are not searched, and why; for people

  const Subspace& subspace(const std::string& family) const;
};

// --------------------------------------------------------------------------------------------------------- measuring

struct Limits {
  double buildSeconds = 60;     // of one point: our compiler and the driver's
  double runSeconds = 30;       // of one point: transfers, preparation, all repetitions; less once others have run
  double leastRunSeconds = 10;  // of that, whatever others took: drivers compile at the first launch, too
  double hopeless = 5;          // a repetition this many times slower than the best ends a point: skipped
  double sampleSeconds = 0.2;   // repetitions are made for about this long, but from 3 to 20
  double turnsSeconds = 15;     // of the best points, measured again: once that is over, three turns are enough
};

// A point to be measured. `trouble` (loop, crash, wrong, build) puts a fault into its kernels, for tests.
struct Task {
  Point point;
  std::string trouble = {};
  double statements = 0;  // of the kernels, which say how long a driver compiles; 0: unknown
};

// Asked about ten times a second, and after each point.
using Stop = std::function<bool()>;

// Further tasks, whenever there is time to build them: none where there are none now, though there may be once others
// are done. At the end of it all there are none with nothing under way.
using Feed = std::function<std::vector<Task>()>;
Feed feedOf(std::vector<Task> tasks);    // all at once
using BestMs = std::function<double()>;  // milliseconds of the best so far; infinite at first

class Measurer {
 public:
  virtual ~Measurer() = default;
  // Measures what `feed` gives and reports each task, by its number, as soon as it is known, with family, config and
  // what came of it; not necessarily in order. Returns early when `stop` says so; once `late` does, no build is begun,
  // and what is built is still timed.
  virtual void measure(const Feed& feed, const BestMs& bestMs,
                       const std::function<void(std::size_t task, Measurement)>& done, const Stop& stop,
                       const Stop& late) = 0;
  // Runs the points in turns, `rounds` times; fewer where that takes long. A point that fails has no times.
  virtual std::vector<std::vector<double>> retime(const std::vector<Point>& points, int rounds, const Stop& stop) = 0;
};

// Measures in child processes. `command` starts one; it must end up in serveWorker with the same problem. Children end
// with this process, whatever ends it. Linux only.
std::unique_ptr<Measurer> makeWorkers(std::vector<std::string> command, const ProblemData& data, const Limits& limits,
                                      int workers);

// The child's side: takes requests until the parent closes. Returns an exit status.
int serveWorker(const Problem& problem, runtime::Device& device, const runtime::LoadOptions& options);

// ------------------------------------------------------------------------------------------------------------- sweeps

struct SweepOptions {
  std::int64_t points = 1000;                                // budget: points, those that the database had included
  double seconds = std::numeric_limits<double>::infinity();  // budget: time of this call
  std::int64_t patience = 0;                                 // budget: points without a gain of 1 %; 0: any number
  std::int64_t maxWorkspace = std::numeric_limits<std::int64_t>::max();  // bytes; points with more cannot be the best
  double maxError = std::numeric_limits<double>::infinity();  // relative; points with more cannot be the best
  Limits limits = {};  // of the measurer: what smaller ones ended is measured again
  std::uint64_t seed = 1;
  std::string explorer = "random";
  std::shared_ptr<const Experience> experience = {};  // of explorers that go by a model
  std::string generator = {};                         // version of the compiler, for the records
  std::string buildOptions = {};                      // of the driver's compiler
  std::string provenance = {};                        // the command, for the records
  int retimed = 8;                                    // so many of the best are measured again,…
  int rounds = 10;                                    // …in so many turns, with what is taken untuned
  Stop stop = [] { return false; };
  std::map<std::int64_t, std::string> troubles = {};  // by position in the search, from 1; for tests
};

struct SweepResult {
  std::int64_t points = 0;  // of the search
  std::int64_t fresh = 0;   // of them, measured now
  std::int64_t equal = 0;   // of them, taken from points with equal kernels
  std::map<Status, std::int64_t> byStatus;
  std::optional<Measurement> best;
  std::string ended;  // why: "points", "time", "patience", "all points", "stopped"

  // Where the time went, in seconds.
  struct Seconds {
    double reference = 0;  // the expected results, before the search; not of its budget
    double choosing = 0;   // the explorer, and what it compiles; mostly while others build
    double building = 0;   // waiting for builds and first runs, several at a time
    double timing = 0;     // one at a time
    double again = 0;      // the best ones
  } seconds;
  double compilerSeconds = 0, driverSeconds = 0, firstSeconds = 0;  // of `building`, in all processes together
};

// What a sweep tells while it goes on.
struct Progress {
  const Measurement& measurement;  // the latest
  bool fresh = true;               // false: from the database
  bool improved = false;           // it is the best so far
  const SweepResult& soFar;
  std::int64_t points = 0;                 // budget
  std::optional<double> secondsLeft = {};  // an estimate
};

SweepResult sweep(const Problem& problem, const DeviceRow& device, Database& database, Measurer& measurer,
                  const SweepOptions& options, const std::function<void(const Progress&)>& tell = {});

}  // namespace lift::tune
