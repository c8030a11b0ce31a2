#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis.hpp"
#include "lift/diagnostic.hpp"
#include "lift/kernel_walk.hpp"
#include "lift/stopwatch.hpp"
#include "lowering.hpp"

namespace lift {
namespace {

using detail::Stage;
using kernel::PlanBuffer;

class StageClock {
 public:
  explicit StageClock(CompileReport* report) : report_(report) {}

  // Adds the time since the last call to the stage.
  void lap(std::string_view stage) {
    const double ms = std::exchange(sinceLast_, {}).milliseconds();
    if (!report_) return;
    for (StageTime& t : report_->times)
      if (t.stage == stage) {
        t.milliseconds += ms;
        return;
      }
    report_->times.push_back({std::string(stage), ms});
  }

 private:
  CompileReport* report_;
  Stopwatch sinceLast_;
};

std::string printStages(const std::vector<Stage>& stages) {
  std::string text;
  for (const Stage& s : stages)
    text += fmt::format("-- {}: {}\n{}\n\n", s.output.name(), s.output.type().str(), print(s.body));
  return text;
}

// A text that is equal for stages whose kernels are equal but for the buffers that they are launched with.
std::string kernelKey(const Stage& stage, const detail::Keeping& keeping) {
  Expr closed = stage.body;
  const auto free = stage.body.freeVariables();
  const auto kept = [&](Expr v) {
    return std::string(keeping.halves.has(v) ? " halves" : "") + (keeping.images.contains(v) ? " image;" : ";");
  };
  std::string key = kept(stage.output);
  for (auto v = free.rbegin(); v != free.rend(); ++v) {
    closed = Expr::lambda(*v, closed);
    key += v->type().str() + kept(*v);
  }
  for (const Expr there : stage.inPlace) key += fmt::format("{} in place;", there.function().nats()[0].str());
  if (stage.start) key += "started;";
  return key + print(closed, Names::canonical);
}

class PlanBuilder {
 public:
  PlanBuilder(const Program& program, const CompileOptions& options, CompileReport* report)
      : program_(program), options_(options), report_(report), clock_(report) {
    if (report_ && !options_.passes.notes) options_.passes.notes = &report_->notes;
    plan_.name = program.name;
    plan_.sizes = program.sizes;
    plan_.sizes.insert(plan_.sizes.end(), program.tunables.begin(), program.tunables.end());
  }

  kernel::Plan run() {
    for (const Expr p : program_.parameters) {
      keeping_.halves.add(p);
      addBuffers(p, PlanBuffer::Role::input);
      if (std::ranges::count(options_.constants, p.name())) constant_.insert(p);
    }
    MappingOptions mapping = options_.mapping;
    mapping.isGpu = mapping.isGpu || options_.target.isGpu;
    const Program mapped = mapByDefault(program_, mapping, options_.passes.notes);
    if (options_.passes.verifyEach) verify(mapped);
    checkMapping(mapped);
    if (options_.dump) options_.dump("map", print(mapped));
    clock_.lap("map");
    const detail::Outline outline = detail::outline(mapped);
    const std::vector<Stage>& stages = outline.stages;
    if (options_.dump) options_.dump("outline", printStages(stages));
    clock_.lap("outline");
    const Expr out = Expr::variable("out", mapped.result());
    keeping_.halves.add(out);
    addBuffers(out, PlanBuffer::Role::output);
    detail::Launches launches{{}, {}, plan_.buffers, outline.loops, options_.passes.notes};
    for (std::size_t i = 0; i < stages.size(); i++) addStage(outline, i, mapped.spans, launches);
    for (const detail::Outline::Loop& l : outline.loops) {
      for (const Expr e : {l.state, l.next})
        for (const int b : buffersOfAll(e)) launches.fixed.insert(b);
      if (l.condition) launches.fixed.insert(buffers_.at(l.condition->holds).front());
    }
    detail::leaveOutUnneeded(launches);
    chooseRanges(launches);
    detail::joinNeighbours(launches);
    if (const detail::Step& last = launches.steps.back(); last.stage + 1 < stages.size())  // the last one was a copy
      launches.kernels[static_cast<std::size_t>(last.launch.kernel)].name = kernel::openclIdentifier(program_.name);
    finish(launches);
    for (const detail::Outline::Loop& l : outline.loops) addLoop(l, launches);
    dropUnusedTemporaries();
    return std::move(plan_);
  }

 private:
  // The i-th stage: where its result is kept, its kernel, and its launch.
  void addStage(const detail::Outline& outline, std::size_t i, const detail::Spans& spans, detail::Launches& launches) {
    const Stage& stage = outline.stages[i];
    const bool last = i + 1 == outline.stages.size();
    const bool starts = !last && outline.stages[i + 1].start == stage.output;
    const Stage& whole = starts ? outline.stages[i + 1] : stage;
    const auto isState = [&](const detail::Outline::Loop& l) {
      return l.state == whole.output || l.next.hasFree(whole.output);
    };
    const bool changes = std::ranges::any_of(outline.loops, isState);
    const bool copies = !changes && !options_.target.wideCopies && keeping_.halves.areAllOf(stage.body);
    if (whole.result || copies) keeping_.halves.add(stage.output);
    if (stage.inImage && !stage.result) keeping_.images.insert(stage.output);
    if (stage.start)
      buffers_[stage.output] = buffers_.at(*stage.start);
    else if (whole.result)
      buffers_[stage.output] = results(*whole.result);
    else
      addBuffers(stage.output, PlanBuffer::Role::temporary, stage.inPlace);
    const std::string name =
        kernel::openclIdentifier(last ? program_.name : fmt::format("{}_{}", program_.name, i + 1));
    const std::size_t unit = unitOf(stage, name, spans, launches);
    const bool repeats = starts || stage.start || std::ranges::any_of(outline.loops, [&](const auto& l) {
                           return (l.first <= i && i < l.last) || l.state == stage.output;
                         });
    launches.steps.push_back({i, launchOf(stage, unit), !repeats && isPreparation(stage)});
  }

  void addLoop(const detail::Outline::Loop& l, const detail::Launches& launches) {
    const auto firstLaunch = [&](std::size_t stage) {
      return static_cast<std::size_t>(
          std::ranges::count_if(launches.steps, [&](const detail::Step& s) { return !s.prepares && s.stage < stage; }));
    };
    kernel::LaunchLoop loop{firstLaunch(l.first), firstLaunch(l.last), l.count, {}};
    const std::vector<int> state = buffersOfAll(l.state), next = buffersOfAll(l.next);
    for (std::size_t leaf = 0; leaf < state.size(); leaf++)
      if (state[leaf] != next[leaf]) loop.swaps.emplace_back(state[leaf], next[leaf]);
    if (l.condition) loop.condition = {firstLaunch(l.condition->at), buffers_.at(l.condition->holds).front()};
    plan_.loops.push_back(std::move(loop));
  }

  // `inPlace`: components of the variable get(i, state) whose buffers the variable shares.
  void addBuffers(Expr variable, PlanBuffer::Role role, const std::vector<Expr>& inPlace = {}) {
    std::vector<int> ids;
    for (const Leaf& l : leavesOf(variable.type())) {
      const auto there = std::ranges::find_if(inPlace, [&](Expr component) {
        return (l.path + ".").starts_with(fmt::format(".{}.", component.function().nats()[0].str()));
      });
      if (there != inPlace.end()) {
        ids.push_back(buffers_.at(there->argument())[ids.size()]);
        continue;
      }
      std::string base = variable.name();
      if (role == PlanBuffer::Role::temporary) base += std::to_string(++temporaries_);
      const Scalar scalar = keeping_.halves.has(variable) ? l.scalar : detail::keptAs(l.scalar);
      plan_.buffers.push_back({base + l.path, scalar, l.shape, role, keeping_.images.contains(variable)});
      ids.push_back(static_cast<int>(plan_.buffers.size()) - 1);
    }
    buffers_[variable] = std::move(ids);
  }

  // The buffers of a variable, of a component of one, or of a tuple of those.
  std::vector<int> buffersOfAll(Expr e) const {
    const Spine s = spineOf(e);
    std::vector<int> ids;
    if (s.isPrim(Prim::tuple)) {
      for (const Expr x : s.arguments) {
        const std::vector<int> own = buffersOfAll(x);
        ids.insert(ids.end(), own.begin(), own.end());
      }
      return ids;
    }
    if (!s.isPrim(Prim::get)) return buffers_.at(e);
    const std::vector<int> all = buffersOfAll(s.arguments[0]);
    const auto component = static_cast<std::size_t>(*s.head.nats()[0].constant());
    std::size_t first = 0;
    for (std::size_t i = 0; i < component; i++) first += leavesOf(s.arguments[0].type().components()[i]).size();
    for (std::size_t i = 0; i < leavesOf(e.type()).size(); i++) ids.push_back(all[first + i]);
    return ids;
  }

  // The buffers of a part of the result.
  std::vector<int> results(const std::string& path) const {
    std::vector<int> ids;
    for (std::size_t b = 0; b < plan_.buffers.size(); b++) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.role != PlanBuffer::Role::output) continue;
      const std::string part = buffer.name.substr(std::string("out").size());
      if (part.starts_with(path) && (part.size() == path.size() || part[path.size()] == '.'))
        ids.push_back(static_cast<int>(b));
    }
    return ids;
  }

  // The kernel that computes the stage, one for all stages of its form.
  std::size_t unitOf(const Stage& stage, const std::string& name, const detail::Spans& spans,
                     detail::Launches& launches) {
    // Kernels that check know their places: each stage has its own.
    const std::string key = options_.checkBounds ? name : kernelKey(stage, keeping_);
    const auto [found, isNew] = units_.emplace(key, launches.kernels.size());
    if (isNew) {
      detail::LoweredKernel lowered =
          detail::lower(stage, name, spans, keeping_, options_.checkBounds ? &plan_.sites : nullptr);
      detail::checkSharing(lowered);
      built_.push_back({std::move(lowered.arguments), stage.body.freeVariables(), stage.output});
      launches.kernels.push_back(std::move(lowered.kernel));
      clock_.lap("lower");
    }
    return found->second;
  }

  // Gives each kernel its range; one of unlike nests becomes several.
  void chooseRanges(detail::Launches& launches) const {
    std::vector<kernel::Kernel> kernels;
    std::vector<detail::Step> steps;
    std::map<int, std::pair<std::size_t, std::size_t>> parts;  // of a kernel: [first, last)
    for (const detail::Step& s : launches.steps) {
      const auto [found, isNew] = parts.try_emplace(s.launch.kernel);
      if (isNew) {
        found->second.first = kernels.size();
        for (kernel::Kernel& k :
             detail::withRanges(std::move(launches.kernels[static_cast<std::size_t>(s.launch.kernel)]), options_))
          kernels.push_back(std::move(k));
        found->second.second = kernels.size();
      }
      for (std::size_t k = found->second.first; k < found->second.second; k++)
        steps.push_back({s.stage, {static_cast<int>(k), s.launch.arguments}, s.prepares});
    }
    launches.kernels = std::move(kernels);
    launches.steps = std::move(steps);
  }

  // The plan's kernels and launches, optimised and printed.
  void finish(detail::Launches& launches) {
    std::map<int, int> numbers;  // in the order of their first launches
    std::set<std::string> names;
    for (detail::Step& s : launches.steps) {
      const auto [number, isNew] = numbers.try_emplace(s.launch.kernel, static_cast<int>(plan_.kernels.size()));
      if (isNew) addKernel(std::move(launches.kernels[static_cast<std::size_t>(s.launch.kernel)]), names);
      s.launch.kernel = number->second;
      const kernel::Kernel& k = plan_.kernels[static_cast<std::size_t>(number->second)];
      const std::vector<bool>& used = used_[static_cast<std::size_t>(number->second)];
      std::size_t i = 0;
      std::erase_if(s.launch.arguments, [&](int) { return !used[i++]; });
      ensure(s.launch.arguments.size() == k.arguments.size(), "one buffer for each argument");
      (s.prepares ? plan_.preparation : plan_.launches).push_back(s.launch);
    }
  }

  void addKernel(kernel::Kernel k, std::set<std::string>& names) {
    for (const std::string wish = k.name; !names.insert(k.name).second;)
      k.name = fmt::format("{}_{}", wish, names.size());
    kernel::PassOptions passes = options_.passes;
    if (passes.vectorBytes == 0) passes.vectorBytes = options_.target.vectorBytes;
    if (passes.lineBytes == 0) passes.lineBytes = options_.target.lineBytes;
    if (passes.cacheBytes == 0) passes.cacheBytes = options_.target.cacheBytes;
    passes.joinVectors |= options_.opencl.alignedVectors;  // compilers that want the one want the other
    passes.after = [&](const kernel::Pass& pass, const kernel::Kernel& after) {
      clock_.lap(pass.name);
      if (options_.passes.after) options_.passes.after(pass, after);
      if (options_.dump) options_.dump(pass.name, kernel::printOpenCL(after));
    };
    detail::guardSharedStores(k);
    if (options_.passes.verifyEach) kernel::verify(k);
    clock_.lap("lower");
    if (options_.dump) options_.dump("lower", kernel::printOpenCL(k));
    k = kernel::optimise(std::move(k), passes);
    // Arguments that no statement mentions are left out: what fills them need not be the kernel's.
    std::set<kernel::BufferId> mentioned = kernel::usedBuffers(k.body);
    if (k.faults) mentioned.insert(*k.faults);
    std::vector<bool>& used = used_.emplace_back();
    for (const kernel::BufferId b : k.arguments) used.push_back(mentioned.contains(b));
    std::erase_if(k.arguments, [&](kernel::BufferId b) { return !mentioned.contains(b); });
    clock_.lap("optimise");
    plan_.sources.push_back(sourceOf(k));
    plan_.kernels.push_back(std::move(k));
    clock_.lap("print");
    if (options_.dump) options_.dump("print", plan_.sources.back());
  }

  // Temporaries without a launch, which were results after all or read by nobody, are none of the plan's.
  void dropUnusedTemporaries() {
    std::set<int> used;
    for (const auto* list : {&plan_.preparation, &plan_.launches})
      for (const kernel::Launch& l : *list) used.insert(l.arguments.begin(), l.arguments.end());
    for (const kernel::LaunchLoop& l : plan_.loops) {
      for (const auto& [a, b] : l.swaps) used.insert({a, b});
      if (l.condition) used.insert(l.condition->buffer);
    }
    std::vector<PlanBuffer> buffers;
    std::vector<int> now;
    for (std::size_t b = 0; b < plan_.buffers.size(); b++) {
      now.push_back(static_cast<int>(buffers.size()));
      if (plan_.buffers[b].role != PlanBuffer::Role::temporary || used.contains(static_cast<int>(b)))
        buffers.push_back(std::move(plan_.buffers[b]));
    }
    plan_.buffers = std::move(buffers);
    const auto renumber = [&](int& b) { b = now[static_cast<std::size_t>(b)]; };
    for (auto* list : {&plan_.preparation, &plan_.launches})
      for (kernel::Launch& l : *list) std::ranges::for_each(l.arguments, renumber);
    for (kernel::LaunchLoop& l : plan_.loops) {
      for (auto& [a, b] : l.swaps) {
        renumber(a);
        renumber(b);
      }
      if (l.condition) renumber(l.condition->buffer);
    }
    if (plan_.faults) renumber(*plan_.faults);
  }

  std::string sourceOf(const kernel::Kernel& k) const {
    return options_.target.isC && kernel::whyNotC(k).empty() ? kernel::printC({k}).text
                                                             : kernel::printOpenCL(k, options_.opencl);
  }

  kernel::Launch launchOf(const Stage& stage, std::size_t unit) {
    const Built& built = built_[unit];
    kernel::Launch launch;
    launch.kernel = static_cast<int>(unit);
    for (const detail::KernelArgument& a : built.arguments) {
      if (a.faults) {
        launch.arguments.push_back(faults());
        continue;
      }
      if (a.temporary) {
        const Leaf leaf = leavesOf(a.variable.type())[static_cast<std::size_t>(a.leaf)];
        plan_.buffers.push_back({fmt::format("tmp{}{}", ++temporaries_, leaf.path), detail::keptAs(leaf.scalar),
                                 leaf.shape, PlanBuffer::Role::temporary});
        launch.arguments.push_back(static_cast<int>(plan_.buffers.size()) - 1);
        continue;
      }
      // The kernel may have been made for another stage of the same form: go by position.
      Expr variable = stage.output;
      for (std::size_t i = 0; i < built.free.size(); i++)
        if (built.free[i] == a.variable) variable = stage.body.freeVariables()[i];
      launch.arguments.push_back(buffers_.at(variable)[static_cast<std::size_t>(a.leaf)]);
    }
    return launch;
  }

  int faults() {
    if (!plan_.faults) {
      plan_.faults = static_cast<int>(plan_.buffers.size());
      plan_.buffers.push_back({"faults", Scalar::i32, {Nat(3)}, PlanBuffer::Role::output});
    }
    return *plan_.faults;
  }

  // A stage that reads only what stays the same from call to call; its result is such a thing, too.
  bool isPreparation(const Stage& stage) {
    if (options_.checkBounds) return false;  // faults are those of a run
    const auto& read = stage.body.freeVariables();
    const bool prepares = buffersOf(stage.output).role == PlanBuffer::Role::temporary &&
                          std::ranges::all_of(read, [&](Expr v) { return constant_.count(v) > 0; });
    if (prepares) constant_.insert(stage.output);
    return prepares;
  }
  const PlanBuffer& buffersOf(Expr variable) const {
    return plan_.buffers[static_cast<std::size_t>(buffers_.at(variable)[0])];
  }

  struct Built {
    std::vector<detail::KernelArgument> arguments;
    std::vector<Expr> free;
    Expr output = Expr::nat(0);
  };

  const Program& program_;
  CompileOptions options_;
  CompileReport* report_;
  StageClock clock_;
  kernel::Plan plan_;
  detail::Keeping keeping_;
  std::unordered_map<Expr, std::vector<int>> buffers_;
  std::unordered_set<Expr> constant_;
  std::map<std::string, std::size_t> units_;  // kernels of stages, by their keys
  std::vector<Built> built_;                  // of these
  std::vector<std::vector<bool>> used_;       // of the plan's kernels: which arguments of those made are left
  int temporaries_ = 0;
};

}  // namespace

double CompileReport::total() const {
  double sum = 0;
  for (const StageTime& t : times) sum += t.milliseconds;
  return sum;
}

kernel::Plan compile(const Program& program, const CompileOptions& options, CompileReport* report) {
  if (!program.tunables.empty())
    throw UserError(ExitStatus::program, fmt::format("the tunable {} has no value", program.tunables[0].name()),
                    fmt::format("give one with --size {}=…", program.tunables[0].name()));
  return PlanBuilder(program, options, report).run();
}

}  // namespace lift
