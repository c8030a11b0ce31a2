// Programs compiled, and run in the emulator against the interpreter.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "lift/codegen.hpp"
#include "lift/device.hpp"
#include "lift/diagnostic.hpp"
#include "lift/inputs.hpp"
#include "lift/interpreter.hpp"
#include "lift/kernel_passes.hpp"
#include "lift/text.hpp"
#include "refusals.hpp"

namespace lift::codegen_tests {

using Sizes = std::map<std::string, std::int64_t>;
using Tensors = std::map<std::string, Tensor>;

inline Program parse(const std::string& text, const std::string& entry = {}) {
  return parseProgram(*addSource("test.lift", text), entry);
}
inline Program example(const std::string& name) {
  return readProgram(std::string(LIFT_SOURCE_DIR) + "/examples/" + name + ".lift");
}

inline Program at(const Program& program, const Sizes& sizes) { return atValues(program, sizes); }
inline Tensors inputsOf(const Program& program) { return randomInputs(program, 1); }

inline Tensors emulate(const kernel::Plan& plan, const Tensors& inputs, const Sizes& sizes = {}) {
  return runtime::makeEmulatorDevice()->load(plan, sizes)->run(inputs).outputs;
}

// How results differ, or nothing. Errors are relative to max(|expected|, 1).
inline std::string differences(const Tensors& actual, const Tensors& expected, double tolerance) {
  if (actual.size() != expected.size()) return fmt::format("{} results, not {}", actual.size(), expected.size());
  for (const auto& [name, wanted] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end()) return "no result " + name;
    if (found->second.scalar != wanted.scalar) return name + " is of another type";
    const Difference d = compare(found->second, wanted, 1);
    if (!d.sameShape) return fmt::format("{} is {}, not {}", name, found->second.describe(), wanted.describe());
    if (!(d.maxRel <= tolerance))
      return fmt::format("{} at {} is {}, not {}", name, d.at, found->second.get(d.at), wanted.get(d.at));
  }
  return {};
}

// Sums of a few dozen products of numbers below one, in any order.
constexpr double sumTolerance = 2e-5;

// What the emulator finds wrong with the program's kernels, or how their results differ from the interpreter's.
inline std::string wrong(const Program& program, CompileOptions options = {}, double tolerance = sumTolerance) {
  try {
    options.passes.verifyEach = true;
    const Tensors inputs = inputsOf(program);
    return differences(emulate(compile(program, options), inputs), interpret(program, inputs), tolerance);
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
}
inline std::string wrong(const std::string& text, const Sizes& sizes = {}, const CompileOptions& options = {}) {
  return wrong(at(parse(text), sizes), options);
}

// The kernel without its first line, which is a comment on the launch.
inline std::string sourceOf(const kernel::Plan& plan, std::size_t k = 0) {
  const std::string& text = plan.sources.at(k);
  return text.substr(text.find('\n') + 1);
}
inline int occurrences(const std::string& text, const std::string& what) {
  int n = 0;
  for (auto p = text.find(what); p != std::string::npos; p = text.find(what, p + what.size())) n++;
  return n;
}
inline bool contains(const std::string& text, const std::string& what) { return occurrences(text, what) > 0; }

inline int temporariesOf(const kernel::Plan& plan) {
  int n = 0;
  for (const auto& b : plan.buffers) n += b.role == kernel::PlanBuffer::Role::temporary;
  return n;
}
// "64x2x1 of 4x2x1"
inline std::string rangeOf(const kernel::Kernel& k) {
  const auto text = [](const std::array<Nat, 3>& n) {
    return fmt::format("{} {} {}", n[0].str(), n[1].str(), n[2].str());
  };
  return fmt::format("{}; {}", text(k.range.global), text(k.range.local));
}
// The program with the default mapping, whose steps replay.
inline std::string mapped(const std::string& text) {
  const Program program = parse(text);
  const Mapping mapping = mappingOf(program);
  const auto steps = rewrite::Derivation::parse(mapping.derivation.str(), program);
  CHECK(print(rewrite::replay(program, steps), Names::canonical) == print(mapping.program, Names::canonical));
  return print(mapping.program.body);
}

// What a compilation complains of; empty when it does not.
inline std::vector<Diagnostic> complaints(const Program& program, const CompileOptions& options = {}) {
  return test::diagnosticsOf([&] { compile(program, options); });
}

// Chunks so small that every reduction of these tests is divided.
inline CompileOptions inChunks(std::int64_t chunk) {
  CompileOptions options;
  options.mapping.chunk = chunk;
  return options;
}

// Operations of all launches.
inline double operationsOf(const kernel::Plan& plan) {
  double total = 0;
  for (const kernel::Launch& l : plan.launches) {
    const kernel::Counts c = kernel::count(plan.kernels[static_cast<std::size_t>(l.kernel)]);
    total += c.operations + c.integerOps;
  }
  return total;
}

}  // namespace lift::codegen_tests
