// Spaces of configurations: which values the tunables of a program may take together, and why.
//
//   const Space space = {program.tunables, constraintsOf(program, parseDeviceLimits(json))};
//   Sampler sampler(space, /*seed=*/1);
//   while (const auto config = sampler.next()) …            // distinct valid points until there are no more
//   for (const Constraint* c : space.why(config)) …         // what a point breaks
//
// A tunable is a variable of a program with a range ("tune k in 1..32"). Constraints are read off the typed term: what
// its primitives require of sizes, what its types require, and what the device imposes on the work and memory of the
// OpenCL patterns in it. After "Automatic Generation of Specialized Direct Convolutions for Mobile GPUs" (Mogers et
// al., 2020), section 5.
//
// All values are immutable and cheap to copy; everything but a Sampler may be used from several threads at once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lift/compile_target.hpp"
#include "lift/expr.hpp"
#include "lift/nat.hpp"

namespace lift {

// ------------------------------------------------------------------------------------------------- limits of a device

// What a device can hold; bytes and work-items. A limit that is not known is `unlimited`.
struct DeviceLimits {
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

  std::string name = "any device";
  std::int64_t groupSize = unlimited;  // work-items of a group
  std::array<std::int64_t, 3> groupSizes{unlimited, unlimited, unlimited};
  std::array<std::int64_t, 3> globalSizes{unlimited, unlimited, unlimited};  // of an NDRange
  std::int64_t privateBytes = unlimited;                                     // arrays of one work-item: a budget
  std::int64_t localBytes = unlimited;
  std::int64_t bufferBytes = unlimited;    // the largest one
  std::int64_t globalBytes = unlimited;    // all buffers of a program
  std::int64_t imageElements = unlimited;  // the largest image, of rows of ImageLayout::rowElements; 0: has none
  CompileTarget target;                    // what its type, compiler and vectors ask of kernels' code
};

// Reads an object as `liftc devices --json` prints it, of which it needs "name" and takes what is there of
// "max_work_group_size", "max_work_item_sizes", "local_memory_bytes", "global_memory_bytes", "max_allocation_bytes",
// "max_image_width", "max_image_height", and of "type", "fp16", "platform", "language_version" and "vector_width_f32"
// what the kernels' code depends on; a profile may add "max_global_sizes" and "private_memory_bytes". Throws UserError
// (program).
DeviceLimits parseDeviceLimits(std::string_view json, const std::string& file = "device");

// --------------------------------------------------------------------------------------------------------- constraints

struct Constraint {
  enum class Kind : std::uint8_t {
    algorithm,  // needed for a meaning: exact quotients, lengths, windows that cover
    hardware,   // needed to run on the device
    user,       // declared: the ranges of tunables
  };

  SizeCondition condition;  // its `origin`: "split(k) of [n]f32 at conv.lift:12:7"
  Kind kind = Kind::algorithm;
  std::vector<NatVar> variables;  // in order of creation: tunables, and sizes where the program is symbolic in them

  std::string str() const;  // "k | n: split(k) of [n]f32 at conv.lift:12:7"
};
std::string_view name(Constraint::Kind kind);

// The constraints of a program on its tunables; those that hold anyway are left out, equal ones are one. A program
// that says nothing of where it runs (isMapped) has no hardware constraints but memory: map it first.
std::vector<Constraint> constraintsOf(const Program& program, const DeviceLimits& limits);

// -------------------------------------------------------------------------------------------------------------- spaces

// One value for every tunable, by name.
using Config = std::map<std::string, std::int64_t>;

std::string str(const Config& config);  // "k=4,n=16"

struct Tunable {
  NatVar variable;
  std::vector<std::int64_t> values;  // ascending: those of its range that no constraint on it alone excludes

  const std::string& name() const { return variable.name(); }
};

// How many points there are. An estimate comes with an interval that holds it with 95 % confidence.
struct Count {
  bool exact = true;
  double points = 0;
  double low = 0, high = 0;
};

namespace detail {
struct SpaceData;
class SearchTree;
}  // namespace detail

class Space {
 public:
  // Throws UserError (program) where a constraint mentions another variable, where a range is unbounded or too wide to
  // list, and where tunables share a name.
  Space(const std::vector<NatVar>& tunables, std::vector<Constraint> constraints);

  const std::vector<Tunable>& tunables() const;
  const std::vector<Constraint>& constraints() const;

  // Both throw UserError (usage) for a configuration that lacks a tunable or names another.
  bool contains(const Config& config) const;
  std::vector<const Constraint*> why(const Config& config) const;  // what it violates, in the order of constraints()

  // The configuration itself if it is a point, else a smaller one: tunables are lowered in the order of tunables(),
  // each as little as makes a point of it, else to its least; then up again, along neighbours() below the
  // configuration. Nothing where the first leads to no point. Throws as contains() does.
  std::optional<Config> lowered(Config config) const;

  // Exact where at most `effort` values of tunables must be tried, which takes well under a second, else an estimate
  // from random probes of the search tree (Knuth 1975).
  static constexpr std::int64_t defaultEffort = 2'000'000;
  Count count(std::int64_t effort = defaultEffort) const;

  // Calls back for every point until it returns false; the order is fixed.
  void forEach(const std::function<bool(const Config&)>& visit) const;

  // The points next to a valid one: a tunable changed to the next smaller or larger value that is valid with the
  // others as they are; and two tunables that a constraint ties, the first by one value of its domain and the second
  // to the nearest that makes the point valid again (so that tile and padding move together). Distinct; the order is
  // fixed.
  std::vector<Config> neighbours(const Config& config) const;

  const std::shared_ptr<const detail::SpaceData>& data() const { return data_; }

 private:
  std::shared_ptr<const detail::SpaceData> data_;
};

// constraintsOf and the program's tunables, as a space.
Space spaceOf(const Program& program, const DeviceLimits& limits);

// Draws distinct points of a space; the sequence depends on the seed and the space only.
//
// Tunables are sorted so that what a constraint divides comes before its divisor and bounds come before what they
// bound; ties are broken at random, once per sampler. They are then given values one by one, each uniformly among those
// that the constraints and the points drawn before leave; a value that turns out to lead nowhere is given up, and never
// tried again.
//
//   asConstrained  the paper's search. Not uniform over points: a point with few siblings is likelier than one with
//                  many. Favours rare combinations and costs least.
//   uniform        every set of points is as likely as every other of its size: values are weighted by the number of
//                  points below them. Throws UserError (program) where the space cannot be counted exactly.
class Sampler {
 public:
  enum class Mode : std::uint8_t { asConstrained, uniform };

  Sampler(const Space& space, std::uint64_t seed, Mode mode = Mode::asConstrained);
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;
  ~Sampler();

  // The next point; nothing once every point has been drawn.
  std::optional<Config> next();

 private:
  std::unique_ptr<detail::SearchTree> tree_;
};

}  // namespace lift
