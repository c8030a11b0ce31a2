#include "differential/judges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "lift/diagnostic.hpp"
#include "lift/inputs.hpp"
#include "lift/interpreter.hpp"
#include "lift/terms.hpp"
#include "lift/text.hpp"

namespace lift::differential {
namespace {

constexpr int fillSeed = 5;
constexpr double epsilonF32 = 0x1p-23;
// What is computed from a sum makes its error greater, by a few stages.
constexpr double roundingsOfAStage = 8;

Program atSize(const Program& program, std::int64_t size = symbolicSize) {
  std::map<NatVar, Nat> sizes;
  for (const NatVar v : program.sizes) sizes.emplace(v, Nat(size));
  return specialise(program, sizes);
}

Tensors inputsOf(const Program& program) { return randomInputs(program, fillSeed); }

kernel::Plan compileVerified(const Program& program, CompileOptions options = {}) {
  options.passes.verifyEach = true;
  return compile(program, options);
}

void countStructure(const kernel::Plan& plan, const kernel::Notes& notes, std::map<std::string, int>& counts) {
  std::set<std::string> present;
  if (!plan.loops.empty()) present.insert("launch loop");
  if (std::ranges::any_of(plan.loops, [](const auto& l) { return l.condition.has_value(); }))
    present.insert("launch loop with a condition");
  for (const kernel::Note& n : notes)
    if (n.text.find("chunks in parallel") != std::string::npos) present.insert("divided reduction");
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

Case::Case(const std::string& text)
    : text(text),
      program(parse(text)),
      specialised(atSize(program)),
      inputs(inputsOf(specialised)),
      expected(interpret(specialised, inputs)),
      plan(compileVerified(program)) {}

double longestSum(const Program& program) {
  double longest = 0;
  const std::function<void(Expr)> visit = [&](Expr e) {
    if (e.isLambda()) return visit(e.body());
    if (!e.isApply()) return;
    const Spine s = spineOf(e);
    if (s.isPrim(Prim::reduce) || s.isPrim(Prim::reduceByIndex))
      longest = std::max(longest, static_cast<double>(s.arguments[2].type().length().constant().value_or(0)));
    for (const Expr a : s.arguments) visit(a);
  };
  visit(program.body);
  return longest;
}

std::string compareResults(const Tensors& actual, const Tensors& expected, const Tolerance& tolerance) {
  for (const auto& [name, wanted] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end()) return "no result " + name;
    const Difference d = compare(found->second, wanted, 1.0);
    if (!d.sameShape) return name + " has another shape";
    const double allowed =
        isFloat(wanted.scalar) ? tolerance.fused + roundingsOfAStage * tolerance.sums * epsilonF32 : 0;
    if (!d.finite || d.maxRel > allowed)
      return fmt::format("element {} of {} is {}, expected {}", d.at, name, found->second.get(d.at), wanted.get(d.at));
  }
  return "";
}

std::string disagreement(const Generated& program, runtime::Device& device, std::map<std::string, int>* exercised) {
  return orError([&]() -> std::string {
    const Case c(program.text);
    verify(c.program);
    if (!program.expanded.empty()) {
      const std::string wrong =
          compareResults(c.expected, interpret(atSize(parse(program.expanded)), c.inputs), Tolerance{0, 0});
      if (!wrong.empty()) return "definitions change the meaning: " + wrong;
    }
    const Mapping mapping = mappingOf(c.program);
    const Program& mapped = mapping.program;
    verify(mapped);
    const auto steps = rewrite::Derivation::parse(mapping.derivation.str(), c.program);
    if (print(rewrite::replay(c.program, steps), Names::canonical) != print(mapped, Names::canonical))
      return "the steps of the default mapping lead elsewhere";
    const Tolerance tolerance{Tolerance{}.fused, longestSum(c.specialised)};
    if (const std::string wrong = compareResults(interpret(atSize(mapped), c.inputs), c.expected, tolerance);
        !wrong.empty())
      return "the default mapping changes the meaning: " + wrong;
    if (print(parse(print(c.program)), Names::canonical) != print(c.program, Names::canonical))
      return "printing does not parse back";
    const std::string wrong = compareResults(device.load(c.plan)->run(c.inputs).outputs, c.expected, tolerance);
    if (!wrong.empty()) return wrong;
    kernel::Notes notes;
    CompileOptions otherwise;
    // A state of symbolic size is in memory: of work-items and groups that are not asked for, one writes what the
    // others read. That takes barriers, which loops that end early cannot contain.
    const auto endsEarly = [](Expr p) { return p.prim() == Prim::iterateWhile; };
    if (c.program.sizes.empty() || !anyPrimitive(c.program.body, endsEarly)) {
      otherwise.local = {3, 2, 1};
      otherwise.groups = {2, 1, 1};
    }
    otherwise.mapping.chunk = 3;  // reductions are divided
    otherwise.passes.notes = &notes;
    // What many work-items of a GPU update together.
    if (anyPrimitive(c.program.body, [](Expr p) { return p.prim() == Prim::reduceByIndex; })) {
      CompileOptions gpu = otherwise;
      gpu.mapping.isGpu = true;
      const auto isByGroup = [](Expr p) { return p.prim() == Prim::reduceLcl; };
      if (gpu.local[0] && anyPrimitive(mapByDefault(c.program, gpu.mapping).body, isByGroup))
        gpu.local = {6, 1, 1};  // such a reduction takes groups of one dimension
      const kernel::Plan together = compileVerified(c.program, gpu);
      const std::string differs = compareResults(device.load(together)->run(c.inputs).outputs, c.expected, tolerance);
      if (!differs.empty()) return "for a GPU: " + differs;
    }
    const kernel::Plan plan = compileVerified(c.program, otherwise);
    if (exercised) {
      countStructure(c.plan, {}, *exercised);
      countStructure({}, notes, *exercised);
    }
    if (c.program.sizes.empty()) return compareResults(device.load(plan)->run(c.inputs).outputs, c.expected, tolerance);
    const Program larger = atSize(c.program, otherSymbolicSize);
    const Tensors inputs = inputsOf(larger);
    const std::string differs = compareResults(device.load(plan)->run(inputs).outputs, interpret(larger, inputs),
                                               {tolerance.fused, longestSum(larger)});
    return differs.empty() ? "" : fmt::format("at n = {}: {}", otherSymbolicSize, differs);
  });
}

std::string disagreement(const std::string& text, runtime::Device& device) {
  return disagreement(Generated{text, "", {}}, device);
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
    if (l.condition) l.condition->at += plan_.launches.size(), l.condition->buffer += firstBuffer;
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

std::vector<std::string> Batch::run(runtime::Device& device, const runtime::LoadOptions& options, double fused) const {
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
    wrong[i] = compareResults(outputs, expected, {fused, longestSum(cases_[i].specialised)});
  }
  return wrong;
}

// ---------------------------------------------------------------------------------------------------------- shrinking

Reproducer shrinkProgram(const Choices::List& failing, int attempts,
                         const std::function<std::string(const Generated&)>& judge) {
  const auto smallest = shrink(failing, attempts, [&](const Choices::List& list) -> std::optional<Choices::List> {
    Choices choices = Choices::replay(list);
    if (judge(generate(choices)).empty()) return std::nullopt;
    return choices.drawn();
  });
  Choices choices = Choices::replay(smallest);
  const Generated program = generate(choices);
  return {program.text, judge(program)};
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
