#include "tables.hpp"

#include <fmt/format.h>

#include "computed.hpp"
#include "lift/cook_toom.hpp"
#include "lift/diagnostic.hpp"

namespace lift::rewrite {
namespace {

RuleTable table(std::string_view name, std::string_view meaning, const std::vector<RuleRow>& rows) {
  RuleTable out{std::string(name), std::string(meaning), {}};
  out.rules.reserve(rows.size());
  for (const RuleRow& row : rows) out.rules.emplace_back(row);
  return out;
}

RuleTable table(std::string_view name, std::string_view meaning, const std::vector<RuleRow>& rows,
                const std::vector<Rule>& computed) {
  RuleTable out = table(name, meaning, rows);
  out.rules.insert(out.rules.end(), computed.begin(), computed.end());
  return out;
}

// Of the rules that are made for sizes and points, those of the sizes in use.
RuleTable cookToomTable() {
  RuleTable out{"Cook-Toom", "filters by fewer products; made for any sizes and points", {}};
  for (const auto& [m, r] : {std::pair(2, 3), {4, 3}, {6, 3}, {4, 5}}) {
    out.rules.push_back(cookToomRule({cookToom(m, r)}));
    out.rules.push_back(cookToomRule({cookToom(m, r), cookToom(m, r)}));
  }
  return out;
}

std::vector<RuleTable>& tables() {
  static auto& tables = *new std::vector<RuleTable>{
      table("simplification", "smaller terms; every one ends", detail::simplificationRules()),
      table("algorithmic", "what is computed in which order", detail::algorithmicRules()),
      table("reduction", "reductions split, reordered and moved through maps", detail::reductionRules()),
      table("movement", "layouts moved through maps and through each other", detail::movementRules(),
            {detail::transpositionRule()}),
      table("tiling", "windows and maps in tiles", detail::tilingRules()),
      table("partial", "windows in tiles, reductions in two steps", detail::partialRules()),
      table("filters", "sums of products over channels, and linear maps around them", detail::filterRules()),
      cookToomTable(),
      table("groups", "many groups of few channels: lanes over groups", detail::groupRules()),
      {"names", "names given, moved and dropped; tuples", detail::namingRules()},
      {"parts", "reductions and scans in parts, by element and by index", detail::chunkingRules()},
      {"results", "what is done with the elements of a result", detail::resultRules()},
      {"places", "of a part of the term; made for any place", detail::placeRules()},
      table("vectorisation", "lanes", detail::vectorRules(), detail::computedVectorRules()),
      table("memory", "copies, and what is computed ahead", detail::memoryRules()),
      table("lowering", "where work runs: functional to OpenCL primitives", detail::loweringRules()),
      table("placing", "lowering that keeps the program's names, for the default mapping", detail::placingRules()),
      table("raising", "OpenCL primitives back to functional ones, to start anew", detail::raisingRules()),
      table("further", "not used by liftc itself: standard laws, for scripts and strategies of one's own",
            detail::furtherRules()),
  };
  return tables;
}

}  // namespace

const std::vector<RuleTable>& ruleTables() { return tables(); }

void registerRules(RuleTable table) { tables().push_back(std::move(table)); }

std::string_view meaning(When when) {
  switch (when) {
    case When::always: return {};
    case When::inlines: return "x only moves data or f uses it once";
    case When::rounds: return "sums may round differently";
    case When::linear: return "f is linear; sums may round differently";
    case When::moves: return "f only moves data";
    case When::selects: return "f only moves data or takes elements of it";
    case When::computes: return "f does more than move data";
    case When::accumulates: return "f only adds to its accumulator";
  }
  return {};
}

const Rule& ruleNamed(std::string_view name) {
  for (const RuleTable& t : ruleTables())
    for (const Rule& r : t.rules)
      if (r.name() == name) return r;
  if (isCookToomName(name)) return cookToomNamed(name);
  if (detail::isPlaceRuleName(name)) return detail::placeRuleNamed(name);
  throw UserError(ExitStatus::usage, fmt::format("there is no rule '{}'", name), "`liftc rules` lists the rules");
}

}  // namespace lift::rewrite
