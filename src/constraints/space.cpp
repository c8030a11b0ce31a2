#include "lift/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "lift/diagnostic.hpp"
#include "lift/listed.hpp"
#include "search.hpp"

namespace lift {
namespace {

using detail::Counter;
using detail::Predicate;
using detail::Random;
using detail::Search;
using detail::SpaceData;

constexpr std::int64_t widestRange = 1 << 20;  // values of a tunable that are listed

std::vector<std::int64_t> valuesOf(NatVar tunable) {
  const auto upper = tunable.upper() ? tunable.upper()->upper() : std::nullopt;
  std::int64_t width = 0;
  if (!upper || __builtin_sub_overflow(*upper, tunable.lower(), &width) || width >= widestRange)
    throw UserError(ExitStatus::program, fmt::format("the range of the tunable {} is too wide", tunable.name()),
                    fmt::format("at most {} values are listed", widestRange));
  std::vector<std::int64_t> values;
  for (std::int64_t v = tunable.lower(); v <= *upper; v++) values.push_back(v);
  return values;
}

std::map<NatVar, int> slotsOf(const std::vector<NatVar>& tunables) {
  std::map<NatVar, int> slots;
  std::set<std::string> names;
  for (const NatVar t : tunables) {
    slots.emplace(t, static_cast<int>(slots.size()));
    if (!names.insert(t.name()).second)
      throw UserError(ExitStatus::program, fmt::format("there are two tunables named {}", t.name()));
  }
  return slots;
}

void checkClosed(const Constraint& constraint, const std::map<NatVar, int>& slots) {
  for (const NatVar v : constraint.variables)
    if (!slots.count(v))
      throw UserError(ExitStatus::program, fmt::format("the size {} has no value", v.name()),
                      fmt::format("it occurs in {}; give one with --size {}=…", constraint.str(), v.name()));
}

void narrow(std::vector<std::int64_t>& domain, const Predicate& predicate, std::vector<std::int64_t>& scratch) {
  const auto slot = static_cast<std::size_t>(predicate.variables().front());
  domain.erase(std::remove_if(domain.begin(), domain.end(),
                              [&](std::int64_t value) {
                                scratch[slot] = value;
                                return !predicate.holdsAt(scratch);
                              }),
               domain.end());
}

// Calls back for every point below a level; false once the caller has enough.
bool forEachBelow(Search& search, std::size_t level, const std::function<bool()>& visit) {
  if (level == search.levels()) return visit();
  for (const std::int64_t value : search.narrowed(level)) {
    search.assign(level, value);
    const bool goOn = forEachBelow(search, level + 1, visit);
    search.release(level);
    if (!goOn) return false;
  }
  return true;
}

// One random way down: the product of the numbers of choices is an unbiased estimate of the number of leaves.
double probe(Search& search, Random& random) {
  double leaves = 1;
  std::size_t level = 0;
  for (; level < search.levels() && leaves > 0; level++) {
    const auto values = search.narrowed(level);
    leaves *= static_cast<double>(values.size());
    if (!values.empty()) search.assign(level, values[random.below(values.size())]);
  }
  return leaves;
}

Count estimate(const std::shared_ptr<const SpaceData>& data, std::int64_t effort) {
  constexpr int fewest = 1'000;
  constexpr double confidence = 1.96;  // 95 % of a normal distribution
  Random random(1);
  const std::vector<int> order = searchOrder(*data);
  std::int64_t triesOfProbe = 0;
  for (const Tunable& t : data->tunables) triesOfProbe += static_cast<std::int64_t>(t.values.size());
  const auto probes =
      static_cast<double>(std::max<std::int64_t>(fewest, effort / std::max<std::int64_t>(1, triesOfProbe)));
  double sum = 0, squares = 0;
  for (int i = 0; i < probes; i++) {
    Search search(data, order);
    const double x = probe(search, random);
    sum += x;
    squares += x * x;
  }
  const double mean = sum / probes;
  const double error = std::sqrt(std::max(0.0, squares / probes - mean * mean) / probes);
  return {false, mean, std::max(0.0, mean - confidence * error), mean + confidence * error};
}

}  // namespace

// ------------------------------------------------------------------------------------------------------ configurations

std::string str(const Config& config) {
  return listed(
      config, [](const auto& c) { return fmt::format("{}={}", c.first, c.second); }, ",");
}

bool detail::SpaceData::holds(const std::vector<std::int64_t>& values) const {
  return std::ranges::all_of(predicates, [&](const Predicate& p) { return p.holdsAt(values); });
}

Config detail::SpaceData::config(const std::vector<std::int64_t>& values) const {
  Config config;
  for (std::size_t i = 0; i < size(); i++) config.emplace(tunables[i].name(), values[i]);
  return config;
}

std::vector<std::int64_t> detail::SpaceData::values(const Config& config) const {
  std::vector<std::int64_t> values;
  for (const Tunable& t : tunables) {
    const auto found = config.find(t.name());
    if (found == config.end()) throw UserError(ExitStatus::usage, fmt::format("the tunable {} has no value", t.name()));
    values.push_back(found->second);
  }
  for (const auto& [name, value] : config)
    if (std::ranges::none_of(tunables, [&, n = name](const Tunable& t) { return t.name() == n; }))
      throw UserError(ExitStatus::usage, fmt::format("there is no tunable {}", name));
  return values;
}

// -------------------------------------------------------------------------------------------------------------- spaces

Space::Space(const std::vector<NatVar>& tunables, std::vector<Constraint> constraints) {
  const std::map<NatVar, int> slots = slotsOf(tunables);
  auto data = std::make_shared<SpaceData>();
  for (const NatVar t : tunables) data->tunables.push_back({t, valuesOf(t)});
  for (const Constraint& c : constraints) {
    checkClosed(c, slots);
    data->predicates.emplace_back(c.condition, slots);
  }
  data->constraints = std::move(constraints);
  std::vector<std::int64_t> scratch(tunables.size());
  for (const Predicate& predicate : data->predicates) {
    if (predicate.variables().empty()) data->possible = data->possible && predicate.holdsAt(scratch);
    if (predicate.variables().size() == 1)
      narrow(data->tunables[static_cast<std::size_t>(predicate.variables().front())].values, predicate, scratch);
  }
  data_ = std::move(data);
}

const std::vector<Tunable>& Space::tunables() const { return data_->tunables; }
const std::vector<Constraint>& Space::constraints() const { return data_->constraints; }

bool Space::contains(const Config& config) const { return data_->holds(data_->values(config)); }

std::vector<const Constraint*> Space::why(const Config& config) const {
  const std::vector<std::int64_t> values = data_->values(config);
  std::vector<const Constraint*> violated;
  for (std::size_t i = 0; i < data_->predicates.size(); i++)
    if (!data_->predicates[i].holdsAt(values)) violated.push_back(&data_->constraints[i]);
  return violated;
}

namespace {

// How far a tunable goes down where none of its values makes a point of the space.
enum class Down : std::uint8_t {
  asOthersAllow,  // as far as no constraint is violated that was not before
  toLeast,
};

std::optional<Config> loweredInTurn(const Space& space, Config config, Down down) {
  std::vector<const Constraint*> violated = space.why(config);
  for (const Tunable& t : space.tunables()) {
    if (violated.empty()) return config;
    std::int64_t& value = config.at(t.name());
    std::int64_t least = value;
    for (auto v = std::ranges::lower_bound(t.values, value); v != t.values.begin();) {
      value = *--v;
      const std::vector<const Constraint*> now = space.why(config);
      if (now.empty()) return config;
      if (down == Down::toLeast || std::ranges::includes(violated, now)) least = value;
    }
    value = least;
    violated = space.why(config);
  }
  return violated.empty() ? std::optional(config) : std::nullopt;
}

// The sum of logarithms; below 0 where a value is above that of `most`.
double sizeBelow(const Config& most, const Config& config) {
  double size = 0;
  for (const auto& [name, value] : config) {
    if (value > most.at(name)) return -1;
    size += std::log1p(static_cast<double>(value));
  }
  return size;
}

}  // namespace

std::optional<Config> Space::lowered(Config config) const {
  std::optional<Config> point = loweredInTurn(*this, config, Down::asOthersAllow);
  if (!point) point = loweredInTurn(*this, config, Down::toLeast);
  // Values that constraints tie to each other go to their least in turn, though less may be enough of them together.
  for (std::optional<Config> higher = point; higher;) {
    point = std::exchange(higher, std::nullopt);
    double most = sizeBelow(config, *point) + 1e-9;
    for (Config& next : neighbours(*point))
      if (const double size = sizeBelow(config, next); size > most) {
        most = size;
        higher = std::move(next);
      }
  }
  return point;
}

Count Space::count(std::int64_t effort) const {
  if (!data_->possible) return {};
  Search search(data_, searchOrder(*data_));
  if (const auto points = Counter(search, effort).below(0)) {
    const auto n = static_cast<double>(*points);
    return {true, n, n, n};
  }
  return estimate(data_, effort);
}

void Space::forEach(const std::function<bool(const Config&)>& visit) const {
  if (!data_->possible) return;
  Search search(data_, searchOrder(*data_));
  forEachBelow(search, 0, [&] { return visit(data_->config(search.values())); });
}

std::vector<Config> Space::neighbours(const Config& config) const {
  const std::vector<std::int64_t> start = data_->values(config);
  std::vector<Config> found;
  std::set<std::vector<std::int64_t>> seen{start};
  const auto add = [&](const std::vector<std::int64_t>& values) {
    if (!data_->holds(values)) return false;
    if (seen.insert(values).second) found.push_back(data_->config(values));
    return true;
  };
  // The values of a tunable's domain on one side of a value, nearest first.
  const auto beside = [&](std::size_t t, std::int64_t value, bool above) {
    const auto& all = data_->tunables[t].values;
    if (above) return std::vector(std::ranges::upper_bound(all, value), all.end());
    return std::vector(std::make_reverse_iterator(std::ranges::lower_bound(all, value)), all.rend());
  };
  const auto tied = [&](std::size_t a, std::size_t b) {
    return std::ranges::any_of(data_->predicates, [&](const Predicate& r) {
      return r.mentions(static_cast<int>(a)) && r.mentions(static_cast<int>(b));
    });
  };
  for (std::size_t a = 0; a < data_->size(); a++)
    for (const bool above : {false, true}) {
      const auto steps = beside(a, start[a], above);
      std::vector<std::int64_t> moved = start;
      for (const std::int64_t value : steps) {
        moved[a] = value;
        if (add(moved)) break;
      }
      if (steps.empty()) continue;
      for (std::size_t b = 0; b < data_->size(); b++) {
        if (a == b || !tied(a, b)) continue;
        moved = start;
        moved[a] = steps.front();
        std::vector<std::int64_t> others = data_->tunables[b].values;
        std::ranges::stable_sort(
            others, [&](std::int64_t x, std::int64_t y) { return std::abs(x - start[b]) < std::abs(y - start[b]); });
        for (const std::int64_t value : others) {
          moved[b] = value;
          if (value != start[b] && add(moved)) break;
        }
      }
    }
  return found;
}

Space spaceOf(const Program& program, const DeviceLimits& limits) {
  return Space(program.tunables, constraintsOf(program, limits));
}

// ------------------------------------------------------------------------------------------------------------ sampling

Sampler::Sampler(const Space& space, std::uint64_t seed, Mode mode)
    : tree_(std::make_unique<detail::SearchTree>(space.data(), seed, mode)) {}
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::~Sampler() = default;

std::optional<Config> Sampler::next() { return tree_->next(); }

}  // namespace lift
