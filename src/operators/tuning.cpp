// Workloads as problems for the tuner, and what tuning knows of them.
#include <fmt/format.h>

#include <algorithm>

#include "lift/diagnostic.hpp"
#include "lift/operator.hpp"
#include "lift/parts.hpp"
#include "lift/plan_memory.hpp"

namespace lift {
namespace {

constexpr const char* byModel = "preferred by a model of the device";

tune::PlanOf planOf(const Variant& variant) {
  return [variant](const Config& config) { return compileVariant(variant, config); };
}

bool hasPoint(const Space& space) {
  bool found = false;
  space.forEach([&](const Config&) {
    found = true;
    return false;
  });
  return found;
}

DeviceLimits limitsOf(const runtime::DeviceInfo& device) { return parseDeviceLimits(device.toJson()); }

Workload within(const DeviceLimits& limits, Workload workload) {
  workload.target = limits.target;
  return workload;
}

std::optional<tune::Best> bestKnown(const Workload& workload, const runtime::DeviceInfo& device,
                                    const ChoiceOptions& options) {
  std::vector<std::string> families;
  if (!options.family.empty()) families.push_back(options.family);
  return tune::bestFor(options.own, tune::shippedDefaults(), workload.key(), tune::deviceRow(device),
                       regenerate(workload, limitsOf(device), {}, families));
}

// Why the device does not take the kernels of a configuration; empty where it does.
std::string whyNotOn(const runtime::DeviceInfo& device, const Variant& variant, const Config& config) {
  if (!device.takesC()) return {};
  for (const kernel::Kernel& k : compileVariant(variant, config).kernels)
    if (std::string why = kernel::whyNotC(k); !why.empty()) return why;
  return {};
}

// Why the configuration takes too much memory; empty where it does not.
std::string whyNotWithin(std::int64_t maxWorkspace, const Variant& variant, const Config& config) {
  if (maxWorkspace == anyWorkspace) return {};
  const std::int64_t workspace = kernel::workspaceOf(compileVariant(variant, config));
  return workspace <= maxWorkspace ? std::string() : fmt::format("needs {} bytes of workspace", workspace);
}

// Not lowered to the device's limits. Empty: the family's defaults are what is known.
Config preferredOn(const runtime::DeviceInfo& device, const OperatorFamily& family) {
  return family.preferred ? family.preferred(device) : Config();
}

// All, those for graphics processors first on one.
std::vector<std::string> familiesInOrder(const Workload& workload, const runtime::DeviceInfo* device) {
  std::vector<std::string> families;
  for (const OperatorFamily& f : workload.families) families.push_back(f.name);
  if (device != nullptr && device->type == "gpu")
    std::stable_partition(families.begin(), families.end(),
                          [&](const std::string& name) { return workload.family(name).forGpus; });
  if (device != nullptr)
    std::stable_partition(families.begin(), families.end(), [&](const std::string& name) {
      const OperatorFamily& f = workload.family(name);
      return f.firstOn && f.firstOn(*device);
    });
  return families;
}

// The family whose parts are derived by what has the tunables that are given: the first may be other on another device.
OperatorFamily withPartsOf(const Config& config, const OperatorFamily& family) {
  std::vector<PartChoice> choices = *family.choices;
  for (std::size_t i = 0; i < choices.size(); i++) {
    const Part& part = family.parted->parts[i];
    const std::string prefix = part.name + "_";
    Config own;
    for (const auto& [name, value] : config)
      if (name.starts_with(prefix)) own.emplace(name.substr(prefix.size()), value);
    const auto hasThem = [&](const OperatorFamily& f) {
      return std::ranges::all_of(own, [&](const auto& given) { return f.defaults.count(given.first) > 0; });
    };
    const auto hasNoOthers = [&](const OperatorFamily& f) { return hasThem(f) && f.defaults.size() == own.size(); };
    const auto& all = part.workload.families;
    const OperatorFamily& chosen = part.workload.family(choices[i].family);
    if (own.empty() || hasNoOthers(chosen)) continue;
    auto other = std::ranges::find_if(all, hasNoOthers);
    if (other == all.end() && !hasThem(chosen)) other = std::ranges::find_if(all, hasThem);
    if (other != all.end()) choices[i] = {other->name, other->defaults, "as given"};
  }
  return partsFamily(*family.parted, std::move(choices));
}

bool areOfSameFamilies(const OperatorFamily& a, const OperatorFamily& b) {
  return std::ranges::equal(*a.choices, *b.choices, {}, &PartChoice::family, &PartChoice::family);
}

// The variant that has the configuration: of a program's parts other families may be meant than those chosen first.
Variant deriveAt(const Workload& workload, const std::string& family, const Config& config) {
  if (!workload.family(family).parted) return derive(workload, family);
  Workload composed = workload;
  for (OperatorFamily& f : composed.families)
    if (f.name == family) f = withPartsOf(config, f);
  return derive(composed, family);
}

// Why what was measured is not taken, but what would be taken had nothing been measured; empty where it is. Where that
// choice was measured, too, the times decide; where it was not, it is taken if its kernels promise to take clearly
// less.
std::string whyNotBetter(const tune::Measurement& known, const Choice& unmeasured, const tune::Database& own) {
  if (known.key.family == unmeasured.variant.family && known.key.config == unmeasured.config) return {};
  tune::Filter filter{.problem = known.key.problem,
                      .device = known.key.device,
                      .family = unmeasured.variant.family,
                      .phase = tune::Phase::retime,
                      .config = unmeasured.config};
  if (known.key.phase == tune::Phase::retime)
    for (const tune::Measurement& m : own.select(filter))
      if (m.valid() && m.key.kernels == tune::kernelIdentity(compileVariant(unmeasured.variant, unmeasured.config), {}))
        return isClearlyBetter(known, m) ? std::string() : "is not clearly faster than what is taken untuned";
  filter.phase = tune::Phase::sweep;
  if (!own.select(filter).empty()) return {};
  constexpr double clearly = 2;
  const Variant variant = deriveAt(unmeasured.variant.workload, known.key.family, known.key.config);
  const bool isDearer = kernel::estimateOf(compileVariant(variant, known.key.config)) >
                        clearly * kernel::estimateOf(compileVariant(unmeasured.variant, unmeasured.config));
  return isDearer ? "is expected to be slower" : "";
}

// The best known of the workload, where it is a point on the device and better than what is taken where nothing was
// measured; else why not, where something is known.
struct Known {
  std::optional<Choice> choice;
  std::string refused;
};
Known knownOf(const Workload& workload, const runtime::DeviceInfo& device, const ChoiceOptions& options,
              const std::function<Choice()>& unmeasured) {
  if (device.pseudo() || !options.tuned) return {};
  const auto best = bestKnown(workload, device, options);
  if (!best) return {};
  const auto& key = best->measurement.key;
  if (const auto& known = workload.families;
      std::ranges::none_of(known, [&](const OperatorFamily& f) { return f.name == key.family; }))
    return {std::nullopt, fmt::format("the best known, {}, is of a family that is not asked for", best->str())};
  if (!best->shipped && best->match == tune::Match::exact)
    if (const std::string why = whyNotBetter(best->measurement, unmeasured(), *options.own); !why.empty())
      return {std::nullopt, fmt::format("the best known, {}, {}", best->str(), why)};
  if (best->stale && best->match != tune::Match::exact)
    return {std::nullopt, fmt::format("the best known, {}, is no longer what was measured there", best->str())};
  Variant variant = deriveAt(workload, key.family, key.config);
  if (best->match != tune::Match::exact && !spaceOf(variant, limitsOf(device)).contains(variant.completed(key.config)))
    return {std::nullopt, fmt::format("the best known, {}, is beyond this device's limits", best->str())};
  if (const std::string why = whyNotOn(device, variant, key.config); !why.empty())
    return {std::nullopt, fmt::format("the best known, {}, is not for this device: {}", best->str(), why)};
  if (const std::string why = whyNotWithin(options.maxWorkspace, variant, key.config); !why.empty())
    return {std::nullopt, fmt::format("the best known, {}, {}", best->str(), why)};
  return {Choice{std::move(variant), key.config, best->str(), true}, {}};
}

// Whether the family is none for the device, or is the first choice on others only.
bool isForOthers(const OperatorFamily& f, const runtime::DeviceInfo& device) {
  return (f.forProcessors && device.type == "gpu") || (f.firstOn && !f.firstOn(device));
}

// The choice for a part that an operator computes, or whose core an operator computes: what is taken for the operator's
// workload, among the families that derive the part.
std::optional<Choice> chosenAs(const Workload& same, const runtime::DeviceInfo& device, const ChoiceOptions& options) {
  Workload derived = same;
  std::erase_if(derived.families, [&](const OperatorFamily& f) { return !f.derive || isForOthers(f, device); });
  if (derived.families.empty()) return std::nullopt;
  try {
    return choose(derived, &device, {.own = options.own, .tuned = options.tuned});
  } catch (const UserError&) {  // no family derives it after all
    return std::nullopt;
  }
}

// Each part of the family by the best known of it, else by what a model of the device prefers. `origin` says which.
OperatorFamily withPartsFor(const runtime::DeviceInfo& device, const OperatorFamily& family,
                            const ChoiceOptions& options, std::string& origin) {
  std::vector<PartChoice> choices = *family.choices;
  const auto& parts = family.parted->parts;
  std::vector<std::string> measured;
  for (std::size_t i = 0; i < parts.size(); i++) {
    const Workload& part = parts[i].workload;
    if (parts[i].same) {
      // The operator's first family may be its program as it is.
      const OperatorFamily& first = parts[i].same->family(familiesInOrder(*parts[i].same, &device).front());
      if (!first.derive && first.firstOn && first.firstOn(device)) {
        choices[i] = {defaultFamily, {}, "the default mapping", parts[i].reason};
        continue;
      }
      if (const auto choice = chosenAs(*parts[i].same, device, options)) {
        choices[i] = {choice->variant.family, choice->config, choice->origin};
        if (choice->measured) measured.push_back(parts[i].name);
        continue;
      }
      if (device.type != "gpu") continue;
    }
    if (device.type == "gpu") {
      auto order = familiesInOrder(part, &device);
      std::erase_if(order, [&](const std::string& name) { return isForOthers(part.family(name), device); });
      if (order.front() != choices[i].family) choices[i] = defaultChoice(parts[i], order);
    }
    const Config preferred = preferredOn(device, part.family(choices[i].family));
    if (!preferred.empty()) choices[i] = {choices[i].family, preferred, byModel};
    const auto unmeasured = [&] { return Choice{derive(part, choices[i].family), choices[i].config, {}}; };
    if (const auto known = knownOf(part, device, {.own = options.own, .tuned = options.tuned}, unmeasured).choice) {
      choices[i] = {known->variant.family, known->config, known->origin};
      measured.push_back(parts[i].name);
    } else if (!preferred.empty()) {
      origin = byModel;
    }
  }
  if (!measured.empty()) origin = fmt::format("the best known of {}", fmt::join(measured, ", "));
  return partsFamily(*family.parted, std::move(choices));
}

}  // namespace

DeviceLimits compiledWithin(DeviceLimits limits) {
  limits.groupSize = std::min(limits.groupSize, usualGroupSize);
  return limits;
}

Space spaceOf(const Variant& variant, const DeviceLimits& limits, std::vector<Constraint> further) {
  // Limits of the hardware need a mapping.
  std::vector<Constraint> constraints =
      constraintsOf(mapByDefault(variant.program, {.isGpu = limits.target.isGpu}), compiledWithin(limits));
  constraints.insert(constraints.end(), further.begin(), further.end());
  return {variant.program.tunables, std::move(constraints)};
}

namespace {

// The family's default, lowered to the device's limits. Nothing where there is no such point, or its tunables have too
// many values to look for it; and `why`.
std::optional<Config> loweredDefault(const Variant& variant, const DeviceLimits& limits, std::string& why) try {
  auto point = spaceOf(variant, limits).lowered(variant.defaults);
  if (!point) why = fmt::format("no configuration of {} is within this device's limits", variant.family);
  return point;
} catch (const UserError& e) {
  why = fmt::format("{}: {}", variant.family, e.diagnostics().front().message);
  return std::nullopt;
}

// Of some configurations drawn from the variant's space the one of the least estimate that needs no more memory than
// `most`; nothing where none of them does, and `why`.
std::optional<Config> drawnWithin(std::int64_t most, const Variant& variant, const runtime::DeviceInfo& device,
                                  std::string& why) try {
  constexpr int draws = 64;
  Sampler sampler(spaceOf(variant, limitsOf(device)), 1);
  std::optional<Config> best;
  double least = 0;
  int drawn = 0;
  for (auto config = sampler.next(); config && drawn < draws; config = sampler.next(), drawn++) {
    const kernel::Plan plan = compileVariant(variant, *config);
    const double estimate = kernel::estimateOf(plan);
    if (kernel::workspaceOf(plan) > most || (best && estimate >= least)) continue;
    if (!whyNotOn(device, variant, *config).empty()) continue;
    best = std::move(config);
    least = estimate;
  }
  if (!best) why += fmt::format(", and {} others that were tried need too much, too", drawn);
  return best;
} catch (const UserError&) {  // a space that cannot be listed
  return std::nullopt;
}

// The family's default on the device: what a model prefers or the family says, lowered to the device's limits. `draws`:
// where that needs more memory than it may, another configuration. Nothing where these leave no configuration, and
// `why`.
std::optional<Choice> defaultOn(const runtime::DeviceInfo& device, const Workload& workload, const std::string& family,
                                const ChoiceOptions& options, std::string& why, bool draws = false) {
  std::string origin = "the family's default";
  Workload composed = workload;
  if (!device.pseudo())
    for (OperatorFamily& f : composed.families) {
      if (f.name != family) continue;
      if (const Config preferred = preferredOn(device, f); !preferred.empty()) {
        origin = byModel;
        f.defaults = preferred;
      }
      if (f.parted) f = withPartsFor(device, f, options, origin);
      // Parts keep their intermediate results in memory for their families. Where no part has a family on this device,
      // the whole program is compiled as it is written.
      if (f.parted && device.type == "gpu" && options.family.empty() && !derivesAny(f)) {
        why = "parts: no family of the device derives one";
        return std::nullopt;
      }
    }
  Variant variant;
  try {
    variant = derive(composed, family);
  } catch (const UserError& e) {
    why = fmt::format("{}: {}", family, e.diagnostics().empty() ? e.what() : e.diagnostics()[0].message);
    return std::nullopt;
  }
  if (!variant.program.tunables.empty() && variant.program.sizes.empty()) {
    const auto lowered = loweredDefault(variant, limitsOf(device), why);
    if (!lowered) return std::nullopt;
    if (*lowered != variant.defaults) origin += ", lowered to this device's limits";
    variant.defaults = *lowered;
  }
  if (why = whyNotOn(device, variant, variant.defaults); !why.empty()) {
    why = fmt::format("{} is not for this device: {}", family, why);
    return std::nullopt;
  }
  if (why = whyNotWithin(options.maxWorkspace, variant, variant.defaults); !why.empty()) {
    why = fmt::format("{} {}", family, why);
    if (!draws || variant.program.tunables.empty() || !variant.program.sizes.empty()) return std::nullopt;
    const auto drawn = drawnWithin(options.maxWorkspace, variant, device, why);
    if (!drawn) return std::nullopt;
    variant.defaults = *drawn;
    origin = "the best of some that need less workspace; by default " + why;
  }
  Config config = variant.defaults;
  return Choice{std::move(variant), std::move(config), std::move(origin)};
}

// What `choose` takes of the variant where nothing was measured, not lowered to the device's limits; the variant's own
// where the device has other families of its parts, with other tunables.
Config defaultsOn(const runtime::DeviceInfo& device, const Workload& workload, const Variant& variant) {
  const OperatorFamily& family = workload.family(variant.family);
  if (const Config preferred = preferredOn(device, family); !preferred.empty()) return preferred;
  std::string why;
  const auto usual = family.parted ? defaultOn(device, workload, family.name, {}, why) : std::nullopt;
  const auto sameTunable = [](const auto& a, const auto& b) { return a.first == b.first; };
  const Config& own = variant.defaults;
  return usual && std::ranges::equal(usual->config, own, sameTunable) ? usual->config : own;
}

// A configuration that leaves tunables out, with what the device prefers of them where that may stand beside the rest.
Config completedOn(const runtime::DeviceInfo& device, const Workload& workload, const Variant& variant, Config config) {
  if (config.size() >= variant.defaults.size()) return config;
  for (const auto& [name, value] : config)
    if (!variant.defaults.contains(name)) return config;  // refused where it is used
  Config completed = config;
  const Config usual = defaultsOn(device, workload, variant);
  completed.insert(usual.begin(), usual.end());
  return spaceOf(variant, limitsOf(device)).contains(completed) ? completed : config;
}

}  // namespace

Choice choose(const Workload& given, const runtime::DeviceInfo* device, const ChoiceOptions& options) {
  const Workload workload = device != nullptr ? within(limitsOf(*device), given) : given;
  std::vector<std::string> families =
      options.family.empty() ? familiesInOrder(workload, device) : std::vector{options.family};
  // What is computed as it is written needs no memory, but where it is not the first, any family that fits is faster.
  const auto isDerived = [&](const std::string& name) { return workload.family(name).derive != nullptr; };
  if (options.maxWorkspace != anyWorkspace && isDerived(families.front()))
    std::ranges::stable_partition(families, isDerived);
  if (options.config) {
    Workload composed = workload;
    for (OperatorFamily& f : composed.families)
      if (f.name == families.front() && f.parted) {
        const bool isGpu = device != nullptr && device->type == "gpu";  // whose parts have families of their own
        std::string origin;
        if (isGpu) f = withPartsFor(*device, f, {.tuned = false}, origin);
        f = withPartsOf(*options.config, f);
      }
    Variant variant = derive(composed, families.front());
    Config config = device != nullptr ? completedOn(*device, composed, variant, *options.config) : *options.config;
    return {std::move(variant), std::move(config), "as given"};
  }
  std::string notes;
  if (device != nullptr) {
    Known known =
        knownOf(workload, *device, options, [&] { return choose(workload, device, {.family = options.family}); });
    if (known.choice) return std::move(*known.choice);
    for (const bool draws : {false, true}) {
      if (draws && options.maxWorkspace == anyWorkspace) break;
      notes = known.refused.empty() ? "" : "; " + known.refused;
      for (const std::string& family : families) {
        std::string why;
        if (auto choice = defaultOn(*device, workload, family, options, why, draws)) {
          choice->origin += notes;
          return std::move(*choice);
        }
        notes += "; " + why;
      }
    }
  }
  for (const std::string& family : families) {
    Variant variant = derive(workload, family);
    const std::string why = whyNotWithin(options.maxWorkspace, variant, variant.defaults);
    Config config = variant.defaults;
    if (why.empty()) return {std::move(variant), std::move(config), "the family's default" + notes};
    if (device == nullptr) notes += fmt::format("; {} {}", family, why);
  }
  throw UserError(
      ExitStatus::program,
      fmt::format("no plan of {} uses at most {} bytes of workspace",
                  workload.label.empty() ? workload.descriptor : workload.label, options.maxWorkspace),
      notes.substr(std::min<std::size_t>(notes.size(), 2)) + "; `liftc tune --max-workspace` searches more");
}

tune::Problem tuningProblem(const Workload& given, const runtime::DeviceInfo& device,
                            const std::vector<std::string>& families, const FurtherConstraints& further) {
  Workload workload = within(limitsOf(device), given);
  if (device.type == "gpu")  // whose parts have families of their own
    for (OperatorFamily& f : workload.families)
      if (std::string origin; f.parted) f = withPartsFor(device, f, {.tuned = false}, origin);
  tune::Problem problem;
  problem.row = {workload.key(), workload.label, {}, workload.operations, workload.tensorBytes};
  // A family that is not asked for by name is passed over where it cannot be searched, if another can.
  const auto passOver = [&](const std::string& family, const UserError& e, bool isLast) {
    if (!families.empty() || isLast) throw;
    problem.passedOver.push_back(fmt::format("{}: {}", family, e.diagnostics().front().message));
  };
  std::vector<Variant> variants;
  const std::vector<std::string> names = families.empty() ? familiesInOrder(workload, &device) : families;
  for (const std::string& family : names) try {
      variants.push_back(derive(workload, family));
    } catch (const UserError& e) {
      passOver(family, e, variants.empty() && family == names.back());
    }
  if (families.empty()) {  // what has nothing to choose is measured only where nothing else is there
    const auto chooses = [](const Variant& v) { return !v.program.tunables.empty(); };
    if (std::ranges::any_of(variants, chooses)) std::erase_if(variants, std::not_fn(chooses));
  }
  // What would be taken with nothing measured is the first point of a search: no record makes things worse than none.
  std::optional<Choice> shipped = knownOf(workload, device, {}, nullptr).choice;
  if (shipped)
    std::stable_partition(variants.begin(), variants.end(),
                          [&](const Variant& v) { return v.family == shipped->variant.family; });

  const DeviceLimits limits = limitsOf(device);
  if (families.empty())
    std::erase_if(variants, [&](const Variant& v) {
      std::string ignored;
      const auto point = device.takesC() ? loweredDefault(v, limits, ignored) : std::nullopt;
      return point && !whyNotOn(device, v, *point).empty();
    });
  bool any = false;
  double tolerance = 0;
  for (const Variant& variant : variants) {
    auto more = further ? further(variant.family, variant.program) : std::vector<Constraint>();
    std::optional<Space> listed;
    try {
      listed = spaceOf(variant, limits, std::move(more));
    } catch (const UserError& e) {  // it has too many values
      passOver(variant.family, e, variants.size() == 1);
      continue;
    }
    const Space& space = *listed;
    any = any || hasPoint(space);
    tolerance = std::max(tolerance, variant.tolerance);
    const tune::PlanOf plan = planOf(variant);
    tune::Subspace made{tune::searchSpaceOf(variant.family, space, plan), variant.derivation.record(), plan, space};
    if (made.derivation.empty()) made.derivation = print(variant.program, Names::canonical);
    std::vector<Config> good;
    if (shipped && shipped->variant.family == variant.family) good.push_back(variant.completed(shipped->config));
    // What families for graphics processors do well with there says little of others, unless they are asked for.
    const bool elsewhere = families.empty() && device.type != "gpu" && workload.family(variant.family).forGpus;
    if (!elsewhere) good.push_back(defaultsOn(device, workload, variant));
    for (const Config& config : good)
      if (const auto start = space.lowered(config);
          start && std::ranges::find(made.search.start, *start) == made.search.start.end())
        made.search.start.push_back(*start);
    problem.subspaces.push_back(std::move(made));
  }
  if (!any)
    throw UserError(ExitStatus::program, "no values of the tunables satisfy all constraints",
                    "`liftc tune --explain-constraints` prints them");
  problem.data = [workload, tolerance] {
    tune::ProblemData data{workload.makeInputs(1), {}, tolerance, workload.judgedRows};
    data.expected = workload.expected(data.inputs);
    return data;
  };
  return problem;
}

tune::Regenerate regenerate(const Workload& given, const DeviceLimits& limits, std::string buildOptions,
                            std::vector<std::string> families) {
  const auto plan = [workload = within(limits, given), families](const std::string& family) {
    const bool wanted = families.empty() || std::ranges::find(families, family) != families.end();
    const auto& known = workload.families;
    const bool exists = std::ranges::any_of(known, [&](const OperatorFamily& f) { return f.name == family; });
    if (!wanted || !exists) return tune::PlanOf();
    const Variant usual = derive(workload, family);
    if (!workload.family(family).parted) return planOf(usual);
    return tune::PlanOf([=](const Config& config) {
      const OperatorFamily& chosen = workload.family(family);
      const bool isUsual = areOfSameFamilies(withPartsOf(config, chosen), chosen);
      return compileVariant(isUsual ? usual : deriveAt(workload, family, config), config);
    });
  };
  return tune::regenerateBy(plan, std::move(buildOptions));
}

}  // namespace lift
