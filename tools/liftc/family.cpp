#include "family.hpp"

#include <fmt/format.h>

#include <chrono>

#include "lift/conv_program.hpp"
#include "lift/diagnostic.hpp"

namespace liftc {

void FamilyOptions::add(CLI::App& app) {
  app.add_option("--family", family, "How the layer is computed")
      ->check(CLI::IsMember({"naive"}))
      ->capture_default_str();
  app.add_option("--config", config, "Values of the family's tunables, in place of its defaults")
      ->type_name("NAME=VALUE,...");
}

std::optional<CompiledLayer> FamilyOptions::compile(const lift::ConvSpec& spec, const CodegenOptions& codegen) const {
  const auto start = std::chrono::steady_clock::now();
  const lift::Program program = lift::convProgram(spec);
  CompiledLayer layer;
  layer.config = parseValues(config, "--config");
  checkValues(program, layer.config);
  const double parse = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  lift::CompileReport report;
  auto plan = codegen.compile(program, parse, &report);
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
