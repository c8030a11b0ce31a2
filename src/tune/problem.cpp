#include <algorithm>
#include <limits>

#include "lift/diagnostic.hpp"
#include "lift/kernel_passes.hpp"
#include "lift/tune.hpp"

namespace lift::tune {

SearchSpace searchSpaceOf(const std::string& name, const Space& space, const PlanOf& plan) {
  SearchSpace family;
  family.name = name;
  family.draw = [space](std::uint64_t seed) {
    const auto sampler = std::make_shared<Sampler>(space, seed);
    return [sampler] { return sampler->next(); };
  };
  family.forEach = [space](const std::function<bool(const Config&)>& visit) { space.forEach(visit); };
  family.neighbours = [space](const Config& config) { return space.neighbours(config); };
  if (plan)
    family.forecast = [plan](const Config& config) -> kernel::Forecast {
      try {
        return kernel::forecastOf(plan(config));
      } catch (const UserError&) {
        return {std::numeric_limits<double>::infinity(), {}};
      }
    };
  return family;
}

PlanOf planOf(const Program& program, const CompileOptions& options) {
  return [program, options](const Config& config) {
    std::map<NatVar, Nat> values;
    for (const NatVar t : program.tunables) {
      const auto value = config.find(t.name());
      if (value == config.end())
        throw UserError(ExitStatus::program, "the configuration has no value of the tunable " + t.name());
      values.emplace(t, Nat(value->second));
    }
    return compile(specialise(program, values), options);
  };
}

Regenerate regenerateBy(std::function<PlanOf(const std::string&)> planOf, std::string buildOptions) {
  const auto plans = std::make_shared<std::map<std::string, PlanOf>>();
  return [=](const std::string& family, const Config& config) -> std::string {
    try {
      const auto found = plans->find(family);
      const PlanOf& plan = found != plans->end() ? found->second : plans->emplace(family, planOf(family)).first->second;
      return plan ? kernelIdentity(plan(config), buildOptions) : "";
    } catch (const UserError&) {
      return "";  // another version's configuration: of other tunables, or beyond today's conditions
    }
  };
}

Subspace subspaceOf(const std::string& family, const Program& program, const Space& space, std::string derivation,
                    const CompileOptions& options) {
  const PlanOf plan = planOf(program, options);
  return {searchSpaceOf(family, space, plan), std::move(derivation), plan, space};
}

const Subspace& Problem::subspace(const std::string& family) const {
  for (const Subspace& s : subspaces)
    if (s.search.name == family) return s;
  throw InternalError("the problem has no family " + family);
}

std::map<std::string, Tensor> rowsOf(const std::map<std::string, Tensor>& tensors,
                                     const std::vector<std::int64_t>& rows) {
  if (rows.empty()) return tensors;
  std::map<std::string, Tensor> out;
  for (const auto& [name, all] : tensors) {
    std::vector<std::int64_t> shape = all.shape;
    const std::size_t bytes = all.bytes.size() / static_cast<std::size_t>(shape.at(0));
    shape[0] = static_cast<std::int64_t>(rows.size());
    Tensor some(all.scalar, std::move(shape));
    for (std::size_t i = 0; i < rows.size(); i++)
      std::copy_n(all.bytes.begin() + static_cast<std::ptrdiff_t>(bytes) * rows[i], bytes,
                  some.bytes.begin() + static_cast<std::ptrdiff_t>(bytes * i));
    out.emplace(name, std::move(some));
  }
  return out;
}

}  // namespace lift::tune
