#include "programs/catalogue.hpp"

#include <fmt/format.h>

#include "lift/inputs.hpp"
#include "lift/text.hpp"
#include "programs/reference.hpp"

namespace lift::programs {

// The files references_*.cpp.
const std::vector<CatalogueEntry>& catalogue() {
  static const Table table = [] {
    Table all;
    for (const auto add : {addBasics, addApplications, addStencils, addLayers, addPlans, addGuards, addLearning,
                           addImages, addNumbers, addLibrary, addProducts, addScience})
      add(all);
    return all;
  }();
  return table.rows();
}

std::string CatalogueEntry::name() const {
  std::string text = file;
  if (entry != "main") text += " " + entry;
  for (const auto& [size, value] : sizes) text += fmt::format(" {}={}", size, value);
  return text;
}

Program load(const CatalogueEntry& entry) {
  return atValues(readProgram(std::string(LIFT_SOURCE_DIR) + "/tests/programs/" + entry.file + ".lift", entry.entry),
                  entry.sizes);
}

Tensors inputsOf(const CatalogueEntry& entry, const Program& program) {
  Tensors inputs = randomInputs(program, 1);
  if (entry.prepare) entry.prepare(inputs);
  return inputs;
}

std::string judge(const CatalogueEntry& entry, const Tensors& actual, const Tensors& expected) {
  if (actual.size() != expected.size()) return fmt::format("{} results, expected {}", actual.size(), expected.size());
  for (const auto& [name, wanted] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end()) return "no result " + name;
    const Tensor& got = found->second;
    if (got.scalar != wanted.scalar || got.shape != wanted.shape)
      return fmt::format("{} is {}, expected {}", name, got.describe(), wanted.describe());
    const Difference d = compare(got, wanted, 1);
    if (!d.finite) return name + " is not finite where it should be";
    if (d.maxRel > entry.tolerance)
      return fmt::format("{} is wrong by {} (allowed {}) at {}: {}, expected {}", name, d.maxRel, entry.tolerance, d.at,
                         got.get(d.at), wanted.get(d.at));
  }
  return {};
}

}  // namespace lift::programs
