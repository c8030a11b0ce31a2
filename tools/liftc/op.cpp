// liftc conv and liftc op: workloads of operators from their descriptors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iostream>
#include <limits>
#include <memory>

#include "common.hpp"
#include "lift/diagnostic.hpp"
#include "lift/listed.hpp"
#include "lift/parallel.hpp"
#include "lift/space.hpp"
#include "workload.hpp"

namespace lift::liftc {
namespace {

struct Options {
  std::vector<std::string> words;  // [DESCRIPTOR] ACTION, with the operator's name before them for `op`
  std::string shapes;
  FamilyOptions family;
  LayoutOptions layouts;  // of conv
  DataOptions data;
  DeviceOptions device;
  CodegenOptions codegen;
  std::string output, prefix;
  std::uint64_t seed = 1;
  int samples = 0;
  int repetitions = 3;
  std::string mutate;
  bool json = false;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (from.empty() || at == std::string::npos)
    throw UserError(ExitStatus::usage, fmt::format("--test-mutate: the kernels do not contain '{}'", from));
  return text.replace(at, from.size(), to);
}

void mutate(kernel::Plan& plan, const std::string& mutation) {
  const auto arrow = mutation.find("=>");
  if (arrow == std::string::npos) throw UserError(ExitStatus::usage, "--test-mutate: expected FROM=>TO");
  plan.sources.back() = replaced(plan.sources.back(), mutation.substr(0, arrow), mutation.substr(arrow + 2));
}

// What `check` compiles of a workload: the configuration asked for or known, or --samples random ones of the family's
// space.
std::vector<CompiledWorkload> candidates(const Workload& workload, const Options& o,
                                         const runtime::DeviceInfo& device) {
  std::vector<CompiledWorkload> out;
  const auto add = [&](std::optional<CompiledWorkload> compiled) {
    if (!compiled) return;
    if (!o.mutate.empty()) mutate(compiled->plan, o.mutate);
    out.push_back(std::move(*compiled));
  };
  if (o.samples == 0) {
    add(o.family.compile(workload, o.codegen, &device));
    return out;
  }
  const Variant variant = derive(workload, o.family.familyOf(workload));
  Sampler sampler(spaceOf(variant, parseDeviceLimits(device.toJson())), o.seed);
  constexpr int drawsOfSample = 16;  // where most need too much workspace
  int drawn = 0;
  for (; std::ssize(out) < o.samples && drawn < drawsOfSample * o.samples; drawn++) {
    const auto config = sampler.next();
    if (!config) break;  // the space has no more
    auto compiled = compileAt(variant, *config, o.codegen, {}, &device);
    if (!compiled) break;
    if (o.family.isWithin(compiled->plan)) add(std::move(compiled));
  }
  if (out.empty() && drawn > 0)
    throw UserError(ExitStatus::program,
                    fmt::format("none of {} configurations of {} that were drawn uses at most {} bytes of workspace",
                                drawn, variant.family, o.family.maxWorkspace),
                    "`liftc tune --max-workspace` searches");
  return out;
}

// The error's norm relative to the results'.
double normError(const std::map<std::string, Tensor>& actual, const std::map<std::string, Tensor>& expected) {
  double errors = 0, squares = 0;
  for (const auto& [name, wanted] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end() || found->second.shape != wanted.shape) return std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < wanted.size(); i++) {
      errors += std::pow(found->second.get(i) - wanted.get(i), 2);
      squares += std::pow(wanted.get(i), 2);
    }
  }
  return errors == 0 ? 0 : std::sqrt(errors / squares);
}

// One row of `check`: compiled, run, timed, compared. Of several configurations, the fastest.
struct Row {
  Json json;
  bool ok = true;
};

using Executables = std::vector<std::unique_ptr<runtime::Executable>>;

// Drivers take their time to build: all cores do.
Executables loadAll(const std::vector<CompiledWorkload>& all, const Options& o, runtime::Device& device) {
  Executables built(all.size());
  std::vector<std::exception_ptr> failed(all.size());
  parallelFor(static_cast<std::int64_t>(all.size()), [&](std::int64_t index) {
    const auto i = static_cast<std::size_t>(index);
    try {
      built[i] = device.load(all[i].plan, {}, o.device.load());
    } catch (...) {
      failed[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& e : failed)
    if (e) std::rethrow_exception(e);
  return built;
}

std::optional<Row> checkWorkload(const Workload& workload, const Options& o, runtime::Device& device) {
  const std::vector<CompiledWorkload> all = candidates(workload, o, device.info());
  if (all.empty()) return std::nullopt;
  checkMemory(workload.outer ? workload.outer(workload.program) : workload.program, device.info());
  Executables built = loadAll(all, o, device);
  const auto inputs = workload.makeInputs(o.seed);
  const auto expected = workload.expected(inputs);
  runtime::MeasureOptions measure;
  measure.repetitions = o.samples > 0 ? 1 : o.repetitions;
  measure.warmup = o.samples > 0 ? 0 : 1;
  measure.outputs = true;
  Row row;
  Json configs = Json::array();
  double worst = 0, worstNorm = 0;
  for (std::size_t i = 0; i < all.size(); i++) {
    const auto timing = built[i]->measure(inputs, measure);
    const double buildMilliseconds = built[i]->build().milliseconds;
    built[i].reset();  // its memory
    const double error = largestError(timing.outputs, expected), ms = timing.median();
    const bool ok = error <= all[i].tolerance;
    row.ok = row.ok && ok;
    const double norm = normError(timing.outputs, expected);
    worst = std::max(worst, error);
    worstNorm = std::max(worstNorm, norm);
    Json found = toJson(workload);
    if (!workload.label.empty()) found["name"] = workload.label;
    found.update({{"family", all[i].family},
                  {"config", all[i].config},
                  {"config_origin", all[i].origin},
                  {"device", device.info().name},
                  {"ok", ok},
                  {"max_rel_err", error},
                  {"norm_rel_err", norm},
                  {"tolerance", all[i].tolerance},
                  {"reference", workload.judge},
                  {"ms", ms},
                  {"launches", toJson(timing.launches)},
                  {"gflops", gflops(workload.operations, ms)},
                  {"compile_ms", all[i].milliseconds},
                  {"build_ms", buildMilliseconds},
                  {"tensor_bytes", workload.tensorBytes},
                  {"workspace_bytes", timing.memory.temporaries}});
    if (o.samples > 0) configs.push_back(found);
    if (row.json.is_null() || ms < row.json["ms"].get<double>()) row.json = found;
    if (!ok && !o.json && o.samples > 0)
      std::cerr << fmt::format("{} is wrong with --config {}\n", workload.key(), str(all[i].config));
  }
  row.json["ok"] = row.ok;
  row.json["max_rel_err"] = worst;
  row.json["norm_rel_err"] = worstNorm;
  if (o.samples > 0) row.json["samples"] = configs;
  return row;
}

// "oneDNN 2.6.3"; where there are several, "oneDNN 2.6.3 (conv), plain loops (deconv, gemv)".
std::string judgesOf(const std::vector<Workload>& workloads) {
  std::vector<std::pair<std::string, std::vector<std::string>>> judges;  // and the operators that they judge
  for (const Workload& w : workloads) {
    auto judge = std::ranges::find(judges, w.judge, &std::pair<std::string, std::vector<std::string>>::first);
    if (judge == judges.end()) judge = judges.insert(judge, {w.judge, {}});
    if (std::ranges::find(judge->second, w.op) == judge->second.end()) judge->second.push_back(w.op);
  }
  if (judges.size() == 1) return judges[0].first;
  return listed(judges, [](const auto& j) { return fmt::format("{} ({})", j.first, fmt::join(j.second, ", ")); });
}

int check(const std::vector<Workload>& workloads, const Options& o) {
  const auto device = o.device.open();
  const bool isMixed = std::ranges::any_of(workloads, [&](const Workload& w) { return w.op != workloads[0].op; });
  Json rows = Json::array();
  auto status = ExitStatus::ok;  // of the first layer that is not right
  for (const Workload& w : workloads) {
    std::optional<Row> row;
    std::string refused;
    try {
      row = checkWorkload(w, o, *device);
      if (!row) return 0;
      if (!row->ok && status == ExitStatus::ok) status = ExitStatus::wrong;
    } catch (const UserError& e) {
      if (o.shapes.empty()) throw;  // of a sweep, the other layers are still checked
      refused = e.diagnostics().front().message;
      row = Row{toJson(w), false};
      row->json.update({{"ok", false}, {"error", refused}});
      if (status == ExitStatus::ok) status = e.status();
    }
    if (!o.json && rows.empty())
      std::cout << fmt::format("{:<40} {:>10} {:>9} {:>10} {:>9} {:>9} {:>11} {:>10}  {}\n",
                               isMixed ? "" : workloads[0].op, "ms", "GFLOP/s", "memory MB", "work MB", "norm err",
                               "max rel err", "tolerance", "result");
    rows.push_back(row->json);
    const std::string label = !w.label.empty() ? w.label : isMixed ? w.key() : w.descriptor;
    if (!o.json && !refused.empty()) {
      std::cout << fmt::format("{:<40} {}\n", label, "error: " + refused) << std::flush;
    } else if (!o.json) {
      const Json& r = row->json;
      const std::string of = o.samples > 0 ? fmt::format(", the fastest of {}", r["samples"].size()) : "";
      std::cout << fmt::format("{:<40} {:>10.3f} {:>9.2f} {:>10.2f} {:>9.2f} {:>9.2e} {:>11.2e} {:>10.2e}  {}\n", label,
                               r["ms"], r["gflops"], r["tensor_bytes"].get<double>() * 1e-6,
                               r["workspace_bytes"].get<double>() * 1e-6, r["norm_rel_err"], r["max_rel_err"],
                               r["tolerance"], (row->ok ? "ok" : "WRONG") + of)
                << std::flush;
      if (o.samples == 0) o.family.tellWithin(r["family"], r["config_origin"]);
    }
  }
  if (o.json)
    printJson(o.shapes.empty() ? rows[0] : Json{{"schema", 1}, {"rows", rows}});
  else
    std::cout << fmt::format(
        "on {}; errors against {}, relative to the norm, and to max(|expected|, root mean square)\n",
        device->info().name, judgesOf(workloads));
  return static_cast<int>(status);
}

// Families whose kernels a profile allows, as they are chosen for it.
std::vector<std::string> fittingFamilies(const Workload& workload, const runtime::DeviceInfo& device,
                                         const Options& o) {
  std::vector<std::string> fitting;
  for (const OperatorFamily& f : workload.families) try {
      FamilyOptions family = o.family;
      family.family = f.name;
      family.config.clear();
      o.device.checkFits(family.compile(workload, o.codegen, &device)->plan);
      fitting.push_back(f.name);
    } catch (const UserError&) {
    }
  return fitting;
}

int compile(const Workload& workload, const Options& o) {
  const runtime::DeviceInfo device = o.device.compilesFor();
  auto compiled = o.family.compile(workload, o.codegen, &device);
  if (!compiled) return 0;
  try {
    o.device.checkFits(compiled->plan);
  } catch (const UserError& refusal) {
    std::vector<Diagnostic> told = refusal.diagnostics();
    const std::vector<std::string> fitting = fittingFamilies(workload, device, o);
    told.front().hint =
        fitting.empty() ? "no family fits" : fmt::format("families that fit: {}", fmt::join(fitting, ", "));
    throw UserError(refusal.status(), std::move(told));
  }
  const auto forAny = [&]() -> std::optional<kernel::Plan> {
    const Choice same = choose(workload, nullptr, {.family = compiled->family, .config = compiled->config});
    auto again = compileAt(same.variant, compiled->config, o.codegen.within(&device).silent(), {});
    return again ? std::optional(std::move(again->plan)) : std::nullopt;
  };
  if (!areForAny(compiled->plan, forAny))
    for (const std::string& word : o.device.words(device)) compiled->provenance.command.push_back(word);
  compiled->provenance.addChoice(device, compiled->origin);
  if (!o.json && o.family.config.empty())
    std::cerr << fmt::format("{} for {}\n  {}: {}\n", workload.key(), device.name, compiled->family, compiled->origin);
  deliver(compiled->plan, compiled->provenance, o.output, o.json, compiled->milliseconds, o.prefix, o.device.target);
  return 0;
}

int run(const Workload& workload, const Options& o) {
  const auto device = o.device.open();
  const auto compiled = o.family.compile(workload, o.codegen, &device->info());
  if (!compiled) return 0;
  DataOptions data = o.data;
  if (!o.output.empty()) data.outputs = {o.output};
  const Program program = workload.outer ? workload.outer(workload.program) : workload.program;
  const Inputs inputs = makeInputs(program, {}, data);
  const auto executable = device->load(compiled->plan, {}, o.device.load());
  auto e = executable->run(inputs.tensors);
  Json report = toJson(workload);
  report.update({{"device", device->info().name},
                 {"ms", e.milliseconds()},
                 {"family", compiled->family},
                 {"config", compiled->config},
                 {"config_origin", compiled->origin}});
  const int code = finishOutputs(e.outputs, data, o.json, report);
  if (o.json)
    printJson(report);
  else if (!data.quiet)
    std::cerr << fmt::format("{} on {}: {:.3f} ms\n  {}: {}\n", workload.key(), device->info().name, e.milliseconds(),
                             compiled->family, compiled->origin);
  return code;
}

// Options that only some actions have, which others would ignore.
void checkOptions(const cli::App& sub, const std::string& action) {
  const std::vector<std::string> run{"run"}, check{"check"}, compile{"compile"}, writing{"compile", "run"};
  const std::vector<std::pair<const char*, const std::vector<std::string>&>> options = {
      {"--input", run},     {"--fill", run},   {"--expect", run},   {"--rtol", run},       {"--output", writing},
      {"--samples", check}, {"--seed", check}, {"--repeat", check}, {"--target", compile}, {"--profile", compile}};
  for (const auto& [option, actions] : options)
    if (std::ranges::find(actions, action) == actions.end())
      refuse(sub, {option}, fmt::format("{}", fmt::join(actions, " and ")));
}

int act(const std::string& action, const std::vector<Workload>& workloads, const Options& o) {
  if (o.repetitions < 1) throw UserError(ExitStatus::usage, "--repeat: at least 1");
  // Before a device is looked for: a wrong name is wrong without one, too. A family that only some layers of a sweep
  // lack is said beside these.
  std::vector<UserError> lacking;
  for (const Workload& w : workloads) try {
      static_cast<void>(o.family.familyOf(w));
    } catch (const UserError& e) {
      lacking.push_back(e);
    }
  if (!lacking.empty() && lacking.size() == workloads.size()) throw UserError(lacking.front());
  if (action == "check") return check(workloads, o);
  if (action == "explain") {
    std::optional<runtime::DeviceInfo> device;
    if (o.device.isGiven()) device = o.device.compilesFor();
    return explain(workloads.at(0), o.family, o.json, device ? &*device : nullptr);
  }
  if (action == "compile") return compile(workloads.at(0), o);
  return run(workloads.at(0), o);
}

void checkWords(const std::vector<std::string>& words, std::size_t most, const char* usage) {
  if (words.size() > most) throw UserError(ExitStatus::usage, fmt::format("'{}' is not expected", words[most]), usage);
  const std::string& action = words.back();
  if (action == "run" || action == "check" || action == "compile" || action == "explain") return;
  if (words.size() < most)
    throw UserError(ExitStatus::usage, fmt::format("an action is missing behind '{}'", action), usage);
  throw UserError(ExitStatus::usage, fmt::format("unknown action '{}'", action), usage);
}

void addOptions(cli::App& sub, Options& o) {
  o.family.add(sub);
  o.family.addMaxWorkspace(sub);
  sub.add_option("-i,--input", o.data.inputs, "run: tensors NAME=FILE, of a layer input, weights, biases")
      ->type_name("NAME=FILE");
  sub.add_option("--fill", o.data.fill, "run: contents of tensors that no file gives: zeros, ones or random:SEED");
  sub.add_option("--expect", o.data.expect, "run: compare the result with this tensor; exit status 4 when it differs");
  sub.add_option("--rtol", o.data.rtol, "run: largest relative error for --expect")
      ->nonNegative()
      ->capture_default_str();
  addPrefix(sub, o.prefix)->needs(sub.add_option("-o,--output", o.output, "compile: folder; run: file of the result"));
  sub.add_option("--samples", o.samples,
                 "check: so many random configurations of the family, each run once, not the given one")
      ->positive();
  sub.add_option("--seed", o.seed, "check: seed of the random tensors and configurations")->capture_default_str();
  sub.add_option("--repeat", o.repetitions, "check: timed repetitions, of which the median is printed")
      ->capture_default_str();
  sub.add_flag("--json", o.json, "Print a report as JSON");
  sub.add_option("--test-mutate", o.mutate, "check: FROM=>TO replaces text in the kernel, to see the check fail")
      ->group("");
  o.device.add(sub);
  o.device.addProfile(sub);
  o.codegen.add(sub);
}

}  // namespace

void addConv(cli::App& app, int& status) {
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand(
      "conv", "Compile, run or check a convolution layer given by its descriptor (benchdnn's or MIOpenDriver's)");
  sub->add_option("words", o->words, "[DESCRIPTOR] run|check|compile|explain")->expected(1, -1);
  sub->add_option("--shapes", o->shapes, "File of descriptors, one a line, in place of the descriptor");
  o->layouts.add(*sub);
  addOptions(*sub, *o);
  onCall(*sub, status, [o, sub] {
    constexpr const char* usage = "write liftc conv DESCRIPTOR run|check|compile|explain";
    if (o->words.empty())
      throw UserError(ExitStatus::usage, "give a descriptor or --shapes FILE, and an action", usage);
    const bool lists = !o->shapes.empty();
    if (lists && o->words.size() == 2)
      throw UserError(ExitStatus::usage, fmt::format("--shapes stands in place of the descriptor '{}'", o->words[0]),
                      "leave one of them out");
    checkWords(o->words, lists ? 1 : 2, usage);
    const std::string action = o->words.back();
    checkOptions(*sub, action);
    if (!lists && o->words.size() == 1)
      throw UserError(ExitStatus::usage, "give a descriptor or --shapes FILE",
                      "for example liftc conv mb1ic64ih56oc64oh56kh3ph1 check");
    const LayoutOptions layouts = o->layouts.on(o->device);
    const std::vector<Workload> layers =
        lists ? readWorkloads(o->shapes, "conv", layouts) : std::vector{layouts.workload(parseConv(o->words[0]))};
    if (action != "check" && layers.size() != 1) throw UserError(ExitStatus::usage, "--shapes goes with check");
    return act(action, layers, *o);
  });
}

void addOp(cli::App& app, int& status) {
  auto o = std::make_shared<Options>();
  cli::App* sub =
      app.add_subcommand("op", "Compile, run or check a workload of an operator; alone, list the operators");
  sub->add_option("words", o->words, "OPERATOR DESCRIPTOR run|check|compile|explain")->expected(0, -1);
  sub->add_option("--shapes", o->shapes, "File of descriptors, one a line, in place of the descriptor");
  addOptions(*sub, *o);
  onCall(*sub, status, [o, sub] {
    if (o->words.empty()) {
      for (const Operator& op : operators())
        std::cout << fmt::format("{:<12} {}\n{:<12} descriptors: {}\n", op.name, op.meaning, "", op.syntax);
      return 0;
    }
    constexpr const char* usage = "write liftc op OPERATOR DESCRIPTOR run|check|compile|explain";
    if (o->words.size() < (o->shapes.empty() ? 3 : 2))
      throw UserError(ExitStatus::usage, "give an operator, a descriptor or --shapes FILE, and an action", usage);
    checkWords(o->words, o->shapes.empty() ? 3 : 2, usage);
    const std::string action = o->words.back();
    checkOptions(*sub, action);
    if (!o->shapes.empty() && action != "check") throw UserError(ExitStatus::usage, "--shapes goes with check");
    static_cast<void>(operatorNamed(o->words[0]));
    return act(action,
               o->shapes.empty() ? std::vector{workloadNamed(o->words[0], o->words[1])}
                                 : readWorkloads(o->shapes, o->words[0], {}),
               *o);
  });
}

}  // namespace lift::liftc
