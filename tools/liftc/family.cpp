#include "family.hpp"

#include <fmt/format.h>

#include <chrono>

#include "lift/diagnostic.hpp"

namespace liftc {
namespace {

namespace tune = lift::tune;

std::optional<tune::Best> knownBest(const lift::ConvSpec& spec, const lift::runtime::DeviceInfo& device,
                                    const std::vector<std::string>& families, const std::filesystem::path& path) {
  std::optional<tune::Database> own;
  if (std::filesystem::exists(path)) own = tune::Database::open(path);
  std::map<std::string, std::string> derivations;
  for (const std::string& family : families)
    derivations[family] = tune::derivationRow(lift::deriveConv(spec, family).derivation.str()).id;
  return tune::bestFor(own ? &*own : nullptr, tune::shippedDefaults(), problemKey(spec), tune::deviceRow(device),
                       derivations);
}

// The layer goes by its sizes alone: no kernel depends on its name.
Provenance provenanceOf(const lift::ConvVariant& variant, const lift::ConvConfig& config,
                        const CodegenOptions& codegen) {
  lift::ConvSpec spec = variant.spec;
  spec.name.clear();
  Provenance provenance{{"conv", spec.str(), "compile", "--family", variant.family}};
  if (!config.empty()) provenance.command.insert(provenance.command.end(), {"--config", lift::str(config)});
  const auto words = codegen.words();
  provenance.command.insert(provenance.command.end(), words.begin(), words.end());
  provenance.details = {
      {"conv", variant.spec.str()}, {"family", variant.family}, {"config", config}, {"derivation", Json::array()}};
  for (const lift::rewrite::Step& step : variant.derivation.steps)
    provenance.details["derivation"].push_back(step.str());
  return provenance;
}

std::vector<std::string> familyNames() {
  std::vector<std::string> names;
  for (const lift::ConvFamily& f : lift::convFamilies()) names.emplace_back(f.name);
  return names;
}

}  // namespace

std::string problemKey(lift::ConvSpec spec) {
  spec.name.clear();
  return "conv " + spec.str();
}

tune::ProblemRow problemRow(const lift::ConvSpec& spec) {
  return {problemKey(spec), spec.name, commandLine({"--conv", spec.str()}), spec.operations(), spec.tensorBytes()};
}

void FamilyOptions::add(CLI::App& app) {
  familyOption_ = app.add_option("--family", family, "How the layer is computed")
                      ->check(CLI::IsMember(familyNames()))
                      ->capture_default_str();
  app.add_option("--config", config, "Values of the family's tunables, in place of the best known or its defaults")
      ->type_name("NAME=VALUE,...");
  app.add_option("--db", db,
                 "Database of what tuning has found (default: LIFTC_DB, else liftc/tune.db in XDG_DATA_HOME)");
  app.add_flag("--no-tuned", noTuned, "Take the family's defaults, whatever tuning has found");
}

std::filesystem::path FamilyOptions::databasePath() const {
  return db.empty() ? tune::defaultDatabasePath() : std::filesystem::path(db);
}

std::optional<CompiledLayer> FamilyOptions::compile(const lift::ConvSpec& spec, const CodegenOptions& codegen,
                                                    const lift::runtime::DeviceInfo* device) const {
  std::optional<tune::Best> best;
  if (device != nullptr && !device->pseudo() && config.empty() && !noTuned)
    best = knownBest(spec, *device, familyOption_->count() > 0 ? std::vector{family} : familyNames(), databasePath());
  const auto start = std::chrono::steady_clock::now();
  const lift::ConvVariant variant = lift::deriveConv(spec, best ? best->measurement.key.family : family);
  auto layer =
      compileVariant(variant, best ? best->measurement.key.config : parseValues(config, "--config"), codegen, start);
  if (layer) layer->origin = best ? best->str() : config.empty() ? "the family's default" : "as given";
  return layer;
}

std::optional<CompiledLayer> compileVariant(const lift::ConvVariant& variant, const lift::ConvConfig& config,
                                            const CodegenOptions& codegen,
                                            std::chrono::steady_clock::time_point start) {
  CompiledLayer layer;
  layer.family = variant.family;
  layer.config = variant.defaults;
  for (const auto& [name, value] : config) layer.config[name] = value;
  const lift::Program program = lift::configured(variant, layer.config);
  const double derive = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  CodegenOptions options = codegen;
  options.constants = lift::convConstants();
  lift::CompileReport report;
  auto plan = options.compile(program, derive, &report);
  if (!plan) return std::nullopt;
  layer.plan = std::move(*plan);
  layer.milliseconds = report.total();
  layer.provenance = provenanceOf(variant, layer.config, codegen);
  return layer;
}

std::vector<lift::ConvSpec> readLayers(const std::string& path) {
  std::vector<lift::ConvSpec> layers = lift::readShapes(path);
  if (layers.empty()) throw lift::UserError(lift::ExitStatus::program, fmt::format("'{}' has no descriptors", path));
  return layers;
}

}  // namespace liftc
