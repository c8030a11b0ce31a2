#include "parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "lift/parts.hpp"
#include "lift/plan_memory.hpp"

namespace lift::liftc {
namespace {

using kernel::Plan;
using kernel::PlanBuffer;

Json describe(const Part& part) {
  Json families = Json::array();
  for (const OperatorFamily& f : part.workload.families) families.push_back(f.name);
  Json row{{"part", part.name},
           {"pattern", name(part.pattern)},
           {"place", part.place},
           {"elementwise_maps_of_result", part.epilogues},
           {"result", part.term.type().str()},
           {"families", families}};
  if (part.same && part.same->op != part.workload.op) row["same"] = part.same->key();
  return row;
}

// Its steps, as they stand in the derivation of the whole.
Json stepsOf(const Part& part, const rewrite::Derivation& derivation) {
  Json steps = Json::array();
  for (const rewrite::Step& s : derivation.steps)
    if (s.path.size() >= part.path.size() && std::equal(part.path.begin(), part.path.end(), s.path.begin()))
      steps.push_back(s.str());
  return steps;
}

Config configOf(const Part& part, const Config& whole) {
  Config config;
  const std::string prefix = part.name + "_";
  for (const auto& [name, value] : whole)
    if (name.starts_with(prefix)) config[name.substr(prefix.size())] = value;
  return config;
}

Json describeChoice(const Part& part, const PartChoice& choice, const Config& config, const std::string& otherwise) {
  Json row = describe(part);
  const bool isOwn = config.empty() || std::ranges::all_of(choice.config, [&](const auto& tunable) {
                       const auto given = config.find(tunable.first);
                       return given != config.end() && given->second == tunable.second;
                     });
  row.update({{"family", choice.family}, {"config", config}, {"origin", isOwn ? choice.origin : otherwise}});
  if (!choice.reason.empty()) row["reason"] = choice.reason;
  return row;
}

// Launches of the part alone.
std::size_t launchesOf(const Part& part, const PartChoice& choice, const Config& config) {
  return compileVariant(derive(part.workload, choice.family), config).launches.size();
}

std::optional<std::int64_t> bytesOf(const PlanBuffer& buffer) {
  const auto count = buffer.count().constant();
  if (!count) return std::nullopt;
  return *count * static_cast<std::int64_t>(info(buffer.scalar).bytes);
}

}  // namespace

Json partsJson(const Program& program) {
  Json parts = Json::array();
  for (const Part& part : partsOf(program).parts) parts.push_back(describe(part));
  return parts;
}

Json partChoicesJson(const OperatorFamily& family, const Config& config, const std::string& otherwise) {
  Json rows = Json::array();
  if (!family.parted) return rows;
  for (std::size_t i = 0; i < family.parted->parts.size(); i++) {
    const Part& part = family.parted->parts[i];
    rows.push_back(describeChoice(part, (*family.choices)[i], configOf(part, config), otherwise));
  }
  return rows;
}

std::string partChoicesText(const Json& choices) {
  constexpr std::size_t most = 4;
  std::vector<std::string> texts;
  std::size_t more = 0;  // by the default mapping, or one too many for a line
  for (const Json& c : choices) {
    const auto family = c["family"].get<std::string>();
    if ((family == defaultFamily && !c.contains("reason")) || texts.size() == most) {
      more++;
      continue;
    }
    const auto config = c["config"].get<Config>();
    const std::string why = c[c.contains("reason") ? "reason" : "origin"].get<std::string>();
    texts.push_back(fmt::format("{} {}: {}{}{} ({})", c["part"], c["pattern"],
                                family == defaultFamily ? "default mapping" : family, config.empty() ? "" : ", ",
                                str(config), why));
  }
  if (more > 0 && !texts.empty()) texts.push_back(fmt::format("{} more", more));
  return fmt::format("{}", fmt::join(texts, "; "));
}

Json partsJson(const Variant& variant, const Config& config, const Plan& plan, const std::string& otherwise) {
  const OperatorFamily& family = variant.workload.family(variant.family);
  Json parts = Json::array();
  if (!family.parted) return parts;
  std::vector<std::size_t> launches;
  for (std::size_t i = 0; i < family.parted->parts.size(); i++) {
    const Part& part = family.parted->parts[i];
    const PartChoice& choice = (*family.choices)[i];
    const Config own = configOf(part, config);
    Json row = describeChoice(part, choice, own, otherwise);
    row["steps"] = stepsOf(part, variant.derivation);
    launches.push_back(launchesOf(part, choice, own));
    row["launches"] = launches.back();
    parts.push_back(std::move(row));
  }
  // The launches of the parts follow one another, but for steps of an iteration.
  std::size_t all = 0;
  for (const std::size_t n : launches) all += n;
  if (all != plan.launches.size()) return parts;
  std::size_t at = 0;
  for (std::size_t i = 0; i < launches.size(); i++) {
    parts[i]["kernels"] = Json::array();
    for (const std::size_t end = at + launches[i]; at < end; at++)
      parts[i]["kernels"].push_back(plan.kernels[static_cast<std::size_t>(plan.launches[at].kernel)].name);
  }
  return parts;
}

void printParts(const Json& parts) {
  for (const Json& p : parts) {
    const int epilogues = p["elementwise_maps_of_result"].get<int>();
    std::cout << fmt::format("  {}  {}{}{}: {}\n", p["part"], p["pattern"],
                             epilogues == 0   ? std::string()
                             : epilogues == 1 ? " and an elementwise map of its result"
                                              : fmt::format(" and {} elementwise maps of its result", epilogues),
                             p["place"] == "" ? "" : " at " + p["place"].get<std::string>(), p["result"]);
    if (p.contains("same")) std::cout << fmt::format("      computes {}\n", p["same"]);
    if (!p.contains("family")) {
      std::cout << fmt::format("      families {}\n", fmt::join(p["families"].get<std::vector<std::string>>(), ", "));
      continue;
    }
    const auto config = p["config"].get<Config>();
    std::cout << fmt::format("      family {}{}{}: {}, {} steps\n", p["family"], config.empty() ? "" : ", ",
                             str(config), p["origin"], p["steps"].size());
    if (p.contains("reason")) std::cout << fmt::format("      {}\n", p["reason"]);
    if (p.contains("kernels"))
      std::cout << fmt::format("      kernels {}\n", fmt::join(p["kernels"].get<std::vector<std::string>>(), ", "));
    else
      std::cout << fmt::format(
          "      launches {} by itself; short neighbours share one (of an iteration: in each step)\n", p["launches"]);
  }
}

Json memoryJson(const Plan& plan) {
  const auto lifetimes = kernel::temporaryLifetimes(plan);
  std::vector<std::int64_t> bytes;
  for (const PlanBuffer& b : plan.buffers) bytes.push_back(bytesOf(b).value_or(1));
  const auto slots = kernel::shareTemporaries(plan, bytes);
  Json rows = Json::array();
  std::int64_t unshared = 0;
  bool known = true;
  for (std::size_t b = 0; b < plan.buffers.size(); b++) {
    if (!lifetimes[b]) continue;
    const auto size = bytesOf(plan.buffers[b]);
    unshared += size.value_or(0);
    known = known && size;
    rows.push_back({{"buffer", plan.buffers[b].name},
                    {"bytes", size ? Json(*size) : Json(nullptr)},
                    {"first", lifetimes[b]->first + 1},
                    {"last", lifetimes[b]->last + 1},
                    {"slot", slots.slot[b] + 1}});
  }
  Json memory{{"temporaries", rows}, {"slots", slots.of.size()}};
  if (known) {
    std::int64_t workspace = 0;
    for (const std::int64_t n : slots.bytes) workspace += n;
    memory.update({{"workspace_bytes", workspace}, {"workspace_bytes_unshared", unshared}});
  }
  return memory;
}

void printMemory(const Json& memory) {
  for (const Json& t : memory["temporaries"])
    std::cout << fmt::format("  {:<8} {:>12} launches {} to {}, memory {}\n", t["buffer"],
                             t["bytes"].is_null() ? "" : fmt::format("{} bytes", t["bytes"]), t["first"], t["last"],
                             t["slot"]);
  if (memory.contains("workspace_bytes"))
    std::cout << fmt::format("  workspace {} bytes, {} if none were shared\n", memory["workspace_bytes"],
                             memory["workspace_bytes_unshared"]);
}

}  // namespace lift::liftc
