#include "family.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lift/conv_program.hpp"
#include "lift/diagnostic.hpp"
#include "lift/terms.hpp"

namespace lift {
namespace detail {

using namespace rewrite;

namespace {

std::size_t arityOf(Prim prim) {
  switch (prim) {
    case Prim::reduce:
      return 3;
    case Prim::map:
    case Prim::zip:
      return 2;
    default:
      return 1;
  }
}

}  // namespace

bool isApplied(Expr e, Prim prim) {
  const Spine s = spineOf(e);
  return s.isPrim(prim) && s.arguments.size() == arityOf(prim);
}

bool isMap(Expr e) { return isApplied(e, Prim::map); }

bool isComputingMap(Expr e) { return isMap(e) && !onlyMovesData(argumentOf(e, 0)); }

bool isMapOver(Expr e, Prim prim) { return isMap(e) && isApplied(argumentOf(e, 1), prim); }

Expr argumentOf(Expr application, std::size_t i) { return spineOf(application).arguments.at(i); }

Expr bodyOf(Expr map) { return argumentOf(map, 0).body(); }

std::int64_t largestDivisor(std::int64_t n, std::int64_t most) {
  for (std::int64_t d = std::min(n, most); d > 1; d--)
    if (n % d == 0) return d;
  return 1;
}

void exposeWindows(Rewriting& r) {
  r.apply(normalise(
      {"mapIdentity", "idAway", "transposeTwice", "letInline", "slideMap", "transposeMapSlide", "mapFusionMoves"}));
  r.apply(layoutsOut());
}

Strategy layoutsOut() { return normalise({"mapTransposeOut", "mapJoinOut", "mapSplitOut", "mapTakeOut", "mapMapOut"}); }

Strategy copyInParallel(int dimensions) {
  const Strategy here = use(fmt::format("mapToGlobal{}", dimensions - 1));
  if (dimensions == 1) return seq({use("copyMap"), here});
  return seq({use("copyMap"), function(body(copyInParallel(dimensions - 1))), here});
}

const std::vector<FamilyRow>& familyRows() {
  static const std::vector<FamilyRow> rows{
      {{"naive", "one output element per work-item: Listing 3 as it is"},
       [](const ConvSpec&, Rewriting&) {},
       [](const ConvSpec&) { return ConvConfig{}; }},
      {{"blocked", "register tiles of pixels by vectors of output channels, weights arranged once"},
       deriveBlocked,
       blockedDefaults},
      {{"paper", "pad, partial convolution of tiles, sum, crop: for GPUs"}, derivePaper, paperDefaults},
  };
  return rows;
}

}  // namespace detail

const std::vector<ConvFamily>& convFamilies() {
  static const std::vector<ConvFamily> families = [] {
    std::vector<ConvFamily> out;
    for (const detail::FamilyRow& row : detail::familyRows()) out.push_back(row.family);
    return out;
  }();
  return families;
}

ConvVariant deriveConv(const ConvSpec& spec, std::string_view family, const ConvLayouts& layouts) {
  for (const detail::FamilyRow& row : detail::familyRows()) {
    if (row.family.name != family) continue;
    ConvVariant variant;
    variant.spec = spec;
    variant.layouts = layouts;
    variant.family = family;
    variant.source = convProgram(spec);
    rewrite::Rewriting rewriting(variant.source);
    row.derive(spec, rewriting);
    variant.program = rewriting.program();
    variant.derivation = rewriting.derivation();
    // So that the derivation replays: its arguments mention the tunables, its rules stand on the conditions.
    variant.source.tunables = variant.program.tunables;
    variant.source.conditions = variant.program.conditions;
    variant.defaults = row.defaults(spec);
    return variant;
  }
  throw UserError(ExitStatus::usage, fmt::format("there is no family '{}'", family), "`liftc conv --help` lists them");
}

Program configured(const ConvVariant& variant, const ConvConfig& config) {
  const auto& tunables = variant.program.tunables;
  for (const auto& [name, value] : config)
    if (std::none_of(tunables.begin(), tunables.end(), [&wanted = name](NatVar t) { return t.name() == wanted; })) {
      std::string known;
      for (const NatVar t : tunables) known += (known.empty() ? "" : ", ") + t.name();
      throw UserError(ExitStatus::usage, fmt::format("family '{}' has no tunable '{}'", variant.family, name),
                      known.empty() ? "it has none" : "its tunables are " + known);
    }
  std::map<NatVar, Nat> sizes;
  for (const NatVar t : tunables) {
    const auto given = config.find(t.name());
    const std::int64_t value = given != config.end() ? given->second : variant.defaults.at(t.name());
    if (value < t.lower() || (t.upper() && less(*t.upper(), value) == Truth::proved))
      throw UserError(ExitStatus::program, fmt::format("{} = {} is out of its range, {} to {}", t.name(), value,
                                                       t.lower(), t.upper() ? t.upper()->str() : "any"));
    sizes.emplace(t, value);
  }
  return withLayouts(specialise(variant.program, sizes), variant.layouts);
}

std::vector<std::string> convConstants() { return {"weights", "biases"}; }

kernel::Plan compileConv(const ConvVariant& variant, const ConvConfig& config, CompileOptions options,
                         CompileReport* report) {
  options.constants = convConstants();
  return compile(configured(variant, config), options, report);
}

}  // namespace lift
