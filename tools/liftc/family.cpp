#include "family.hpp"

#include <fmt/format.h>

#include <chrono>

#include "lift/conv_family.hpp"
#include "lift/diagnostic.hpp"

namespace liftc {

void FamilyOptions::add(CLI::App& app) {
  std::vector<std::string> names;
  for (const lift::ConvFamily& f : lift::convFamilies()) names.emplace_back(f.name);
  app.add_option("--family", family, "How the layer is computed")->check(CLI::IsMember(names))->capture_default_str();
  app.add_option("--config", config, "Values of the family's tunables, in place of its defaults")
      ->type_name("NAME=VALUE,...");
}

std::optional<CompiledLayer> FamilyOptions::compile(const lift::ConvSpec& spec, const CodegenOptions& codegen) const {
  const auto start = std::chrono::steady_clock::now();
  return compileVariant(lift::deriveConv(spec, family), parseValues(config, "--config"), codegen, start);
}

std::optional<CompiledLayer> compileVariant(const lift::ConvVariant& variant, const lift::ConvConfig& config,
                                            const CodegenOptions& codegen,
                                            std::chrono::steady_clock::time_point start) {
  CompiledLayer layer;
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
  return layer;
}

std::vector<lift::ConvSpec> readLayers(const std::string& path) {
  std::vector<lift::ConvSpec> layers = lift::readShapes(path);
  if (layers.empty()) throw lift::UserError(lift::ExitStatus::program, fmt::format("'{}' has no descriptors", path));
  return layers;
}

}  // namespace liftc
