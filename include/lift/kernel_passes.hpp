// Optimising passes over kernels, and counters.
//
// A pass is a named pure function from kernel to kernel; the pipeline is a list of passes. Lowering may produce naive
// kernels without barriers, with small loops and private arrays; the pipeline makes them fast and correct.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lift/kernel.hpp"

namespace lift::kernel {

// Something a pass could not do, and why.
struct Note {
  std::string pass;
  std::string text;  // "acc stays in memory: index i is not constant"
};
using Notes = std::vector<Note>;

struct Pass;
struct PassOptions {
  // Loops that index private arrays are unrolled unasked while the result has at most this many expression nodes; a
  // driver takes a minute for 30,000 of one chain.
  std::int64_t unrollBudget = 12000;
  // A loop that is to be unrolled completely stays one if that makes more nodes than this: drivers would not end.
  std::int64_t unrollLimit = 100'000;
  // Private arrays of more elements stay in memory.
  std::int64_t scalarLimit = 256;
#ifdef NDEBUG
  bool verifyEach = false;
#else
  bool verifyEach = true;
#endif
  // No value is infinite or NaN and the sign of a zero means nothing: products with a literal 0 vanish.
  bool finiteMath = false;
  // Scalars at neighbouring places of global memory are accessed as vectors of at most 16 bytes, where the place is
  // proved to be aligned: GPUs take as long for each access.
  bool joinVectors = false;
  int vectorBytes = 0;            // CompileTarget::vectorBytes
  int lineBytes = 0;              // CompileTarget::lineBytes
  std::int64_t cacheBytes = 0;    // CompileTarget::cacheBytes
  std::vector<std::string> skip;  // passes to leave out
  std::function<void(const Pass&, const Kernel&)> after;
  Notes* notes = nullptr;  // filled when given
};

struct Pass {
  std::string_view name;
  std::string_view description;
  Kernel (*run)(Kernel, const PassOptions&);
};

const std::vector<Pass>& passes();             // every pass once, in order of first use
const Pass* passNamed(std::string_view name);  // null when there is none
std::vector<const Pass*> pipeline();           // what `optimise` runs; some passes run twice
Kernel optimise(Kernel kernel, const PassOptions& options = {});

// ----------------------------------------------------------------------------------------------------------- counts

struct Traffic {
  double loads = 0, stores = 0;  // accesses of any width
  double bytesLoaded = 0, bytesStored = 0;

  Traffic& operator+=(const Traffic& other);
  Traffic operator*(double times) const;
};

// What one launch does, summed over all work-items, and what the source contains. Conditionals count as taken on both
// sides; a count that depends on an outer loop's index is taken at that loop's every iteration.
struct Counts {
  double flops = 0;       // floating-point operations by lane; fma counts two, conversions and comparisons none
  double halfFlops = 0;   // of these, those in h16
  double integerOps = 0;  // of integers and booleans, by lane; comparisons and index arithmetic are not counted
  double operations = 0;  // as flops, but of any width, and fma counts one
  double laneMoves = 0;   // lanes that are put into vectors or taken out of them one by one
  Traffic global, local, priv;
  double barriers = 0;  // executed, by work-item
  int loops = 0;        // statements that print as `for`
  int statements = 0;
  int vectorOperations = 0;            // arithmetic statements' operations of width > 1
  std::int64_t localBytes = 0;         // per work-group
  std::int64_t privateArrayBytes = 0;  // per work-item, arrays only
  int privateArrays = 0;
  // Per work-item, the most that a loop keeps in registers: variables from outside of it that it uses.
  std::int64_t liveBytes = 0;
};
Counts count(const Kernel& kernel, const std::map<NatVar, std::int64_t>& sizes = {});

// Instructions of all work-items of all launches: accesses, operations, and what registers do not hold. Comparable
// between plans of one problem; smaller is better. Says nothing of caches.
double estimateOf(const Plan& plan);

// What a learning model is told of a plan: its instructions, and features that mean the same for all plans, as
// logarithms to the base 2. What grows with a problem is told per floating-point operation, so that plans of problems
// of different sizes compare.
struct Forecast {
  double instructions = 0;  // as estimateOf
  std::vector<float> features;
};
Forecast forecastOf(const Plan& plan);
const std::vector<std::string_view>& featureNames();  // of Forecast::features, in their order

// Named integers of Counts for structure tests: barrier, loop, if, statement, private_array, local_bytes.
std::map<std::string, std::int64_t> structure(const Kernel& kernel);

}  // namespace lift::kernel
