#include "lift/diagnostic.hpp"
#include "lift/tune.hpp"

namespace lift::tune {

Family familyOf(const std::string& name, const Space& space) {
  Family family;
  family.name = name;
  family.draw = [space](std::uint64_t seed) {
    const auto sampler = std::make_shared<Sampler>(space, seed);
    return [sampler] { return sampler->next(); };
  };
  family.forEach = [space](const std::function<bool(const Config&)>& visit) { space.forEach(visit); };
  family.neighbours = [space](const Config& config) { return space.neighbours(config); };
  return family;
}

Variant variantOf(const std::string& family, const Program& program, const Space& space, std::string derivation,
                  const CompileOptions& options) {
  const auto plan = [program, options](const Config& config) {
    std::map<NatVar, Nat> values;
    for (const NatVar t : program.tunables) values.emplace(t, Nat(config.at(t.name())));
    return compile(specialise(program, values), options);
  };
  return {familyOf(family, space), std::move(derivation), plan, space};
}

const Variant& Problem::variant(const std::string& family) const {
  for (const Variant& v : variants)
    if (v.family.name == family) return v;
  throw InternalError("the problem has no family " + family);
}

}  // namespace lift::tune
