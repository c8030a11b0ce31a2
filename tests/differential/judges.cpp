#include "differential/judges.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "differential/generator.hpp"
#include "lift/diagnostic.hpp"
#include "lift/interpreter.hpp"
#include "lift/text.hpp"

namespace lift::differential {
namespace {

constexpr int fillSeed = 5;
constexpr int symbolicSize = 3;

Program atSize(const Program& program) {
  std::map<NatVar, Nat> sizes;
  for (const NatVar v : program.sizes) sizes.emplace(v, Nat(symbolicSize));
  return specialise(program, sizes);
}

Tensors inputsOf(const Program& program) {
  Tensors inputs;
  for (const Expr p : program.parameters) {
    std::vector<std::int64_t> shape;
    for (const Nat n : shapeOf(p.type())) shape.push_back(n.constant().value());
    Tensor t(scalarOf(baseOf(p.type())), shape);
    fillRandom(t, fillSeed, p.name());
    inputs.emplace(p.name(), std::move(t));
  }
  return inputs;
}

kernel::Plan compileVerified(const Program& program, CompileOptions options = {}) {
  options.passes.verifyEach = true;
  return compile(program, options);
}

void countStructure(const kernel::Plan& plan, std::map<std::string, int>& counts) {
  std::set<std::string> present;
  for (const kernel::Kernel& k : plan.kernels)
    for (const auto& [what, n] : kernel::structure(k))
      if (n > 0) present.insert(what);
  for (const std::string& what : present) counts[what]++;
}

Program parse(const std::string& text) { return parseProgram(*addSource("program.lift", text)); }

// f(), or what it throws.
template <class F>
std::string orError(F&& f) {
  try {
    return f();
  } catch (const UserError& e) {
    return render(e.diagnostics());
  } catch (const InternalError& e) {
    return e.what();
  }
}

}  // namespace

std::int64_t setting(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

Case::Case(const std::string& text)
    : text(text),
      program(parse(text)),
      specialised(atSize(program)),
      inputs(inputsOf(specialised)),
      expected(interpret(specialised, inputs)),
      plan(compileVerified(program)) {}

std::string compareResults(const Tensors& actual, const Tensors& expected, double tolerance) {
  for (const auto& [name, wanted] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end()) return "no result " + name;
    const Difference d = compare(found->second, wanted, 1.0);
    if (!d.sameShape) return name + " has another shape";
    if (!d.finite || d.maxRel > tolerance)
      return fmt::format("element {} of {} is {}, expected {}", d.at, name, found->second.get(d.at), wanted.get(d.at));
  }
  return "";
}

std::string disagreement(const std::string& text, runtime::Device& device, std::map<std::string, int>* exercised) {
  return orError([&]() -> std::string {
    const Case c(text);
    verify(c.program);
    const Program mapped = mapByDefault(c.program);
    verify(mapped);
    if (const std::string wrong = compareResults(interpret(atSize(mapped), c.inputs), c.expected); !wrong.empty())
      return "the default mapping changes the meaning: " + wrong;
    if (print(parse(print(c.program)), Names::canonical) != print(c.program, Names::canonical))
      return "printing does not parse back";
    if (exercised) countStructure(c.plan, *exercised);
    const std::string wrong = compareResults(device.load(c.plan)->run(c.inputs).outputs, c.expected);
    if (!wrong.empty()) return wrong;
    CompileOptions otherSizes;
    otherSizes.local = {3, 2, 1};
    otherSizes.groups = {2, 1, 1};
    otherSizes.mapping.chunk = 3;  // reductions are divided
    return compareResults(device.load(compileVerified(c.program, otherSizes))->run(c.inputs).outputs, c.expected);
  });
}

// ------------------------------------------------------------------------------------------------------------ batches

Batch::Batch(std::vector<Case> cases) : cases_(std::move(cases)) {
  plan_.name = "batch";
  for (std::size_t i = 0; i < cases_.size(); i++) append(cases_[i].plan, prefixOf(i));
}

std::string Batch::prefixOf(std::size_t i) { return fmt::format("p{}_", i); }

void Batch::append(const kernel::Plan& plan, const std::string& prefix) {
  plan_.sizes.insert(plan_.sizes.end(), plan.sizes.begin(), plan.sizes.end());
  const auto firstBuffer = static_cast<int>(plan_.buffers.size());
  const auto firstKernel = static_cast<int>(plan_.kernels.size());
  for (kernel::PlanBuffer b : plan.buffers) {
    b.name = prefix + b.name;
    plan_.buffers.push_back(std::move(b));
  }
  for (kernel::Kernel k : plan.kernels) {
    k.name = prefix + k.name;
    plan_.sources.push_back(printOpenCL(k));
    plan_.kernels.push_back(std::move(k));
  }
  for (kernel::LaunchLoop l : plan.loops) {
    l.first += plan_.launches.size();
    l.last += plan_.launches.size();
    for (auto& [a, b] : l.swaps) a += firstBuffer, b += firstBuffer;
    plan_.loops.push_back(std::move(l));
  }
  const auto appendLaunches = [&](const std::vector<kernel::Launch>& from, std::vector<kernel::Launch>& to) {
    for (kernel::Launch l : from) {
      l.kernel += firstKernel;
      for (int& a : l.arguments) a += firstBuffer;
      to.push_back(std::move(l));
    }
  };
  appendLaunches(plan.preparation, plan_.preparation);
  appendLaunches(plan.launches, plan_.launches);
}

std::vector<std::string> Batch::run(runtime::Device& device, const runtime::LoadOptions& options,
                                    double tolerance) const {
  Tensors inputs;
  for (std::size_t i = 0; i < cases_.size(); i++)
    for (const auto& [name, tensor] : cases_[i].inputs) inputs.emplace(prefixOf(i) + name, tensor);
  Tensors outputs;
  const std::string failed = orError([&] {
    outputs = device.load(plan_, {}, options)->run(inputs).outputs;
    return std::string();
  });
  std::vector<std::string> wrong(cases_.size(), failed);
  for (std::size_t i = 0; failed.empty() && i < cases_.size(); i++) {
    Tensors expected;
    for (const auto& [name, tensor] : cases_[i].expected) expected.emplace(prefixOf(i) + name, tensor);
    wrong[i] = compareResults(outputs, expected, tolerance);
  }
  return wrong;
}

// ---------------------------------------------------------------------------------------------------------- shrinking

Reproducer shrinkProgram(const Choices::List& failing, int attempts,
                         const std::function<std::string(const std::string& text)>& judge) {
  const auto smallest = shrink(failing, attempts, [&](const Choices::List& list) -> std::optional<Choices::List> {
    Choices choices = Choices::replay(list);
    const std::string text = generate(choices).text;
    if (judge(text).empty()) return std::nullopt;
    return choices.drawn();
  });
  Choices choices = Choices::replay(smallest);
  Reproducer r{generate(choices).text, ""};
  r.wrong = judge(r.program);
  return r;
}

std::string Reproducer::str(const std::string& device) const {
  const std::string size = program.find("[n]") == std::string::npos ? "" : fmt::format(" --size n={}", symbolicSize);
  return fmt::format(
      "{0}\n"
      "cat >wrong.lift <<'END'\n{1}END\n"
      "liftc eval wrong.lift --fill random:{2}{4} -o expected.npz --quiet\n"
      "liftc run wrong.lift --fill random:{2}{4} --device '{3}' --expect expected.npz\n",
      wrong, program, fillSeed, device, size);
}

}  // namespace lift::differential
