#include "family.hpp"

#include <fmt/format.h>

#include <chrono>

#include "lift/diagnostic.hpp"
#include "lift/space.hpp"

namespace liftc {
namespace {

namespace tune = lift::tune;

lift::Layout layoutOf(const std::string& name, const char* option, bool weights) {
  if (name == "any") return weights ? lift::Layout::ohwi : lift::Layout::nhwc;  // what all families like best
  const auto layout = lift::layoutNamed(name);
  if (!layout || lift::isWeightLayout(*layout) != weights)
    throw lift::UserError(lift::ExitStatus::usage, fmt::format("{}: unknown layout '{}'", option, name),
                          weights ? "use ohwi, oihw or any" : "use nhwc, nchw or any");
  return *layout;
}

std::optional<tune::Best> knownBest(const lift::ConvSpec& spec, const lift::ConvLayouts& layouts,
                                    const lift::runtime::DeviceInfo& device, const std::vector<std::string>& families,
                                    const std::filesystem::path& path) {
  std::optional<tune::Database> own;
  if (std::filesystem::exists(path)) own = tune::Database::open(path);
  const auto regenerate = tune::regenerateBy([&](const std::string& family) {
    const bool wanted = std::find(families.begin(), families.end(), family) != families.end();
    return wanted ? layerPlan(lift::deriveConv(spec, family, layouts)) : tune::PlanOf();
  });
  return tune::bestFor(own ? &*own : nullptr, tune::shippedDefaults(), problemKey(spec, layouts),
                       tune::deviceRow(device), regenerate);
}

lift::Space spaceOn(const lift::ConvVariant& variant, const lift::runtime::DeviceInfo& device) {
  return lift::spaceOf(variant.program, lift::parseDeviceLimits(device.toJson()));
}

// Whether it had to. Where no lower ones fit either, they stay, and the compiler says what they exceed.
bool lowerDefaults(lift::ConvVariant& variant, const lift::runtime::DeviceInfo& device) {
  const auto lowered = spaceOn(variant, device).lowered(variant.defaults);
  if (!lowered || *lowered == variant.defaults) return false;
  variant.defaults = *lowered;
  return true;
}

// The options for layouts that are not natural.
std::vector<std::string> layoutWords(const lift::ConvLayouts& layouts) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, lift::Layout layout, lift::Layout natural) {
    if (layout != natural) words.insert(words.end(), {option, std::string(lift::layoutName(layout))});
  };
  add("--in-layout", layouts.input, lift::Layout::nhwc);
  add("--out-layout", layouts.output, lift::Layout::nhwc);
  add("--weights-layout", layouts.weights, lift::Layout::ohwi);
  return words;
}

// The layer goes by its sizes alone: no kernel depends on its name.
Provenance provenanceOf(const lift::ConvVariant& variant, const lift::ConvConfig& config,
                        const CodegenOptions& codegen) {
  lift::ConvSpec spec = variant.spec;
  spec.name.clear();
  Provenance provenance{{"conv", spec.str(), "compile", "--family", variant.family}};
  const auto layouts = layoutWords(variant.layouts);
  provenance.command.insert(provenance.command.end(), layouts.begin(), layouts.end());
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

tune::Database openExistingDatabase(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path))
    throw lift::UserError(lift::ExitStatus::program, fmt::format("there is no tuning database '{}'", path.string()),
                          "`liftc tune` writes one; --db names another");
  return tune::Database::open(path);
}

void LayoutOptions::add(cli::App& app) {
  app.add_option("--in-layout", input, "Layout of the input: nhwc, nchw or any (ours to choose)")
      ->capture_default_str();
  app.add_option("--out-layout", output, "Layout of the output: nhwc, nchw or any")->capture_default_str();
  app.add_option("--weights-layout", weights, "Layout of the weights: ohwi, oihw or any")->capture_default_str();
}

Json toJson(const lift::ConvLayouts& layouts) {
  return {{"input", lift::layoutName(layouts.input)},
          {"weights", lift::layoutName(layouts.weights)},
          {"output", lift::layoutName(layouts.output)}};
}

lift::ConvLayouts LayoutOptions::layouts() const {
  return {layoutOf(input, "--in-layout", false), layoutOf(weights, "--weights-layout", true),
          layoutOf(output, "--out-layout", false)};
}

std::vector<std::string> LayoutOptions::words() const { return layoutWords(layouts()); }

std::string problemKey(lift::ConvSpec spec, const lift::ConvLayouts& layouts) {
  spec.name.clear();
  const std::string order = layouts.str();
  return "conv " + spec.str() + (order.empty() ? "" : " with " + order);
}

tune::ProblemRow problemRow(const lift::ConvSpec& spec, const LayoutOptions& layouts) {
  std::vector<std::string> words{"--conv", spec.str()};
  const auto order = layouts.words();
  words.insert(words.end(), order.begin(), order.end());
  return {problemKey(spec, layouts.layouts()), spec.name, commandLine(words), spec.operations(), spec.tensorBytes()};
}

void FamilyOptions::add(cli::App& app) {
  familyOption_ =
      app.add_option("--family", family, "How the layer is computed")->oneOf(familyNames())->capture_default_str();
  app.add_option("--config", config, "Values of the family's tunables, in place of the best known or its defaults")
      ->type_name("NAME=VALUE,...");
  app.add_option("--db", db,
                 "Database of what tuning has found (default: LIFTC_DB, else liftc/tune.db in XDG_DATA_HOME)");
  layouts.add(app);
  app.add_flag("--no-tuned", noTuned, "Take the family's defaults, whatever tuning has found");
}

std::vector<std::string> FamilyOptions::families() const {
  return familyOption_->count() > 0 ? std::vector{family} : familyNames();
}

std::filesystem::path FamilyOptions::databasePath() const {
  return db.empty() ? tune::defaultDatabasePath() : std::filesystem::path(db);
}

std::optional<CompiledLayer> FamilyOptions::compile(const lift::ConvSpec& spec, const CodegenOptions& codegen,
                                                    const lift::runtime::DeviceInfo* device) const {
  const lift::ConvLayouts order = layouts.layouts();
  std::optional<tune::Best> best;
  if (device != nullptr && !device->pseudo() && config.empty() && !noTuned)
    best = knownBest(spec, order, *device, families(), databasePath());
  std::string origin = config.empty() ? "the family's default" : "as given";
  const auto start = std::chrono::steady_clock::now();
  lift::ConvVariant variant = lift::deriveConv(spec, best ? best->measurement.key.family : family, order);
  if (best && best->match != tune::Match::exact && !spaceOn(variant, *device).contains(best->measurement.key.config)) {
    origin += fmt::format("; the best known, {}, is beyond this device's limits", best->str());
    best.reset();
    variant = lift::deriveConv(spec, family, order);
  }
  if (device != nullptr && config.empty() && !best && lowerDefaults(variant, *device))
    origin += ", lowered to this device's limits";
  auto layer =
      compileVariant(variant, best ? best->measurement.key.config : parseValues(config, "--config"), codegen, start);
  if (layer) layer->origin = best ? best->str() : origin;
  return layer;
}

lift::ConvVariant variantFor(const lift::ConvSpec& spec, std::string_view family, const lift::ConvLayouts& layouts,
                             const lift::runtime::DeviceInfo& device) {
  lift::ConvVariant variant = lift::deriveConv(spec, family, layouts);
  lowerDefaults(variant, device);
  return variant;
}

std::optional<CompiledLayer> compileVariant(const lift::ConvVariant& variant, const lift::ConvConfig& config,
                                            const CodegenOptions& codegen,
                                            std::chrono::steady_clock::time_point start) {
  CompiledLayer layer;
  layer.layouts = variant.layouts;
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

tune::PlanOf layerPlan(const lift::ConvVariant& variant) {
  return [variant](const lift::Config& config) { return lift::compileConv(variant, config); };
}

std::vector<lift::ConvSpec> readLayers(const std::string& path) {
  std::vector<lift::ConvSpec> layers = lift::readShapes(path);
  if (layers.empty()) throw lift::UserError(lift::ExitStatus::program, fmt::format("'{}' has no descriptors", path));
  return layers;
}

}  // namespace liftc
