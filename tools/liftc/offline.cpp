// liftc offline: kernels built by compilers for devices that are not at hand, and what these say of them.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "common.hpp"
#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/listed.hpp"
#include "lift/offline.hpp"
#include "lift/predict.hpp"
#include "program.hpp"
#include "workload.hpp"

namespace lift::liftc {
namespace {

struct Options {
  std::string what;  // a layer's descriptor, a program, or a folder
  std::string shapes;
  std::vector<std::string> op;
  std::vector<std::string> targets;
  ProgramOptions program;
  FamilyOptions family;
  LayoutOptions layouts;
  CodegenOptions codegen;
  std::string profile;
  bool json = false;
};

// A plan's kernels, and what it is.
struct Subject {
  std::string title, choice;
  std::vector<KernelText> kernels;
  std::optional<kernel::Plan> plan = {};  // where it was compiled here
};

// What `liftc … compile -o FOLDER` left.
Subject ofFolder(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "manifest.json";
  const Json j = Json::parse(readInput(file), nullptr, false);
  const auto wrong = [&](const char* what) {
    throw UserError(ExitStatus::program, fmt::format("'{}': {}", file.string(), what),
                    "`liftc compile … -o FOLDER` writes one");
  };
  if (!j.is_object() || !j.contains("kernels") || j.value("target", "opencl") != "opencl")
    wrong("it is no manifest of OpenCL kernels");
  Subject s{folder.string(), j.value("compiled_for", ""), {}};
  try {
    for (const Json& k : j["kernels"]) {
      const Json& needs = j.at("requires");
      KernelText text{
          {k.at("name"), {1, 1, 1}, 0, needs.at("fp64"), needs.value("fp16", false), needs.value("images", false)},
          readInput(folder / k.at("file"))};
      for (std::size_t d = 0; d < 3; d++)
        if (k.at("local").at(d).is_number()) text.needs.group[d] = k["local"][d];
      if (k.at("local_memory_bytes").is_number()) text.needs.localBytes = k["local_memory_bytes"];
      s.kernels.push_back(std::move(text));
    }
  } catch (const Json::exception&) {
    wrong("its kernels are not described as they should be");
  }
  return s;
}

Subject ofWorkload(const Workload& w, const Options& o, const runtime::DeviceInfo& device) {
  FamilyOptions family = o.family;
  family.config = o.program.config;
  const auto compiled = family.compile(w, o.codegen, &device);
  if (!compiled) return {};
  return {w.label.empty() ? w.key() : w.label,
          fmt::format("{} {}: {}", compiled->family, str(compiled->config), compiled->origin),
          kernelsOf(compiled->plan), compiled->plan};
}

Subject ofProgram(const Options& o, const runtime::DeviceInfo& device) {
  Options own = o;
  own.program.file = o.what;
  if (!own.family.family.empty()) own.family.config = std::exchange(own.program.config, {});
  const auto compiled = compileProgram(own.program.readAtValues(), own.family, own.codegen, 0, &device);
  if (!compiled) return {};
  return {o.what, fmt::format("{}: {}", compiled->family, compiled->origin), kernelsOf(compiled->plan), compiled->plan};
}

std::vector<Subject> subjects(const Options& o, const runtime::DeviceInfo& device) {
  if (std::filesystem::is_directory(o.what)) return {ofFolder(o.what)};
  if (std::filesystem::path(o.what).extension() == ".lift") return {ofProgram(o, device)};
  std::vector<Workload> workloads;
  if (!o.op.empty()) workloads.push_back(workloadNamed(o.op[0], o.op[1]));
  if (!o.what.empty()) workloads.push_back(o.layouts.workload(parseConv(o.what)));
  if (!o.shapes.empty())
    for (Workload& w : readWorkloads(o.shapes, "conv", o.layouts)) workloads.push_back(std::move(w));
  std::vector<Subject> all;
  for (const Workload& w : workloads) all.push_back(ofWorkload(w, o, device));
  return all;
}

std::string text(const std::optional<std::int64_t>& n) { return n ? std::to_string(*n) : ""; }

std::string cyclesText(const KernelStatistics& s) {
  std::string line;
  for (const auto& [pipe, cycles] : s.cycles)
    if (cycles > 0) line += fmt::format("{}{} {:.2f}", line.empty() ? "" : ", ", pipe, cycles);
  return line;
}

Json toJson(const KernelText& k, const KernelReport& r) {
  Json j{{"kernel", r.kernel},
         {"ok", r.fits},
         {"built", r.built},
         {"group", k.needs.items()},
         {"local_memory_bytes", k.needs.localBytes}};
  if (!r.fits) j["error"] = r.error;
  const KernelStatistics& s = r.statistics;
  const auto add = [&](const char* key, const std::optional<std::int64_t>& n) {
    if (n) j[key] = *n;
  };
  add("instructions", s.instructions);
  add("loads", s.loads);
  add("registers", s.registers);
  add("spills", s.spills);
  add("scratch_bytes", s.scratchBytes);
  add("occupancy", s.occupancy);
  for (const auto& [pipe, cycles] : s.cycles) j["cycles"][pipe] = cycles;
  if (!s.warnings.empty()) j["warnings"] = s.warnings;
  return j;
}

void printRow(const KernelText& k, const KernelReport& r) {
  const KernelStatistics& s = r.statistics;
  std::cout << fmt::format("  {:<16} {:>6} {:>7} {:>7} {:>6} {:>6} {:>7} {:>8} {:>10}  {}\n", r.kernel, k.needs.items(),
                           k.needs.localBytes, text(s.instructions), text(s.loads), text(s.registers), text(s.spills),
                           text(s.scratchBytes), text(s.occupancy), cyclesText(s));
  for (const std::string& w : s.warnings) std::cout << "    " << w << "\n";
  if (!r.fits) std::cout << "    FAILED: " << r.error << "\n";
  std::cout << std::flush;
}

// What a run is predicted to take, and what limits each kernel.
void printPrediction(const PlanPrediction& p) {
  const std::string kernels = listed(p.kernels, [](const KernelPrediction& k) {
    return fmt::format("{} {:.2f} ms by {}", k.kernel, k.milliseconds, k.limit);
  });
  std::cout << fmt::format("    predicted: {:.2f} ms ({})\n", p.milliseconds, kernels) << std::flush;
}

void addPrediction(Json& j, const PlanPrediction& p) {
  j["predicted_ms"] = p.milliseconds;
  for (const KernelPrediction& k : p.kernels)
    j["predicted"].push_back({{"kernel", k.kernel},
                              {"ms", k.milliseconds},
                              {"limit", k.limit},
                              {"arithmetic_ms", k.arithmetic},
                              {"accesses_ms", k.accesses},
                              {"images_ms", k.images},
                              {"cache_ms", k.cache},
                              {"memory_ms", k.memory},
                              {"launch_ms", k.launch},
                              {"filled", k.filled}});
}

std::string toInstall(const OfflineTools& tools) {
  return listed(
      tools.missing, [](const auto& need) { return fmt::format("{} ({})", need.name, need.install); }, "; ");
}

int list() {
  for (const OfflineTarget& t : offlineTargets()) {
    const OfflineTools tools = findTools(t);
    std::cout << fmt::format("{:<12} {}{}\n", t.name, t.meaning,
                             tools.missing.empty() ? "" : "\n             missing: " + toInstall(tools));
  }
  return 0;
}

// The kernels of all that was asked for on a target. False where one fails.
bool judge(const OfflineTarget& target, const Options& o, Json& report) {
  const OfflineTools tools = findTools(target);
  const runtime::DeviceInfo device = runtime::readProfile(o.profile.empty() ? target.profile : o.profile);
  const std::vector<Subject> all = subjects(o, device);
  if (!o.json) {
    std::cout << fmt::format("{}: {}; limits of {}\n", target.name, target.meaning, device.name);
    if (!target.occupancyUnit.empty()) std::cout << fmt::format("  occupancy: {}\n", target.occupancyUnit);
    std::cout << fmt::format("  {:<16} {:>6} {:>7} {:>7} {:>6} {:>6} {:>7} {:>8} {:>10}  {}\n", "kernel", "group",
                             "local B", "instr.", "loads", "regs", "spills", "scratch", "occupancy", "cycles");
  }
  bool ok = true;
  for (const Subject& s : all) {
    if (!o.json) std::cout << fmt::format("  {}  {}\n", s.title, s.choice);
    Json j{{"target", target.name}, {"subject", s.title}, {"choice", s.choice}, {"kernels", Json::array()}};
    StatisticsByKernel statistics;
    for (const KernelText& k : s.kernels) {
      const KernelReport r = buildOffline(target, tools, k, device);
      ok = ok && r.fits;
      j["kernels"].push_back(toJson(k, r));
      statistics[k.needs.kernel] = r.statistics;
      if (!o.json) printRow(k, r);
    }
    if (s.plan && s.plan->sizes.empty() && canPredict(device)) {
      const PlanPrediction p = predict(*s.plan, device, statistics);
      addPrediction(j, p);
      if (!o.json) printPrediction(p);
    }
    report["rows"].push_back(std::move(j));
  }
  return ok;
}

int offline(const Options& o) {
  if (o.targets.empty() && o.what.empty() && o.shapes.empty() && o.op.empty()) return list();
  if (int{!o.what.empty()} + int{!o.shapes.empty()} + int{!o.op.empty()} != 1)
    throw UserError(
        ExitStatus::usage, "give a layer's descriptor, a program, a folder, --op or --shapes",
        "for example liftc offline mb1ic64ih56oc64oh56kh3ph1 --target spirv,sm_80, the names without spaces");
  const bool all = o.targets.empty() || std::ranges::find(o.targets, "all") != o.targets.end();
  std::vector<const OfflineTarget*> targets;
  const auto add = [&](const OfflineTarget& t) {  // each once, however often it is named
    if (std::ranges::find(targets, &t) == targets.end()) targets.push_back(&t);
  };
  for (const std::string& name : o.targets)
    if (name != "all") add(offlineTarget(name));
  if (all) std::ranges::for_each(offlineTargets(), add);
  if (std::filesystem::is_directory(o.what)) ofFolder(o.what);  // wrong ones are refused whichever compilers are here
  Json report{{"schema", 1}, {"rows", Json::array()}};
  bool ok = true, anyFound = false;
  for (const OfflineTarget* t : targets) {
    const OfflineTools tools = findTools(*t);
    if (tools.missing.empty()) {
      anyFound = true;
      ok = judge(*t, o, report) && ok;
      continue;
    }
    const std::string what = fmt::format("{}: not found: {}", t->name, toInstall(tools));
    if (!all) throw UserError(ExitStatus::device, what);
    report["missing"].push_back({{"target", t->name}, {"install", toInstall(tools)}});
    if (!o.json) std::cout << what << "\n";
  }
  if (!anyFound)
    throw UserError(ExitStatus::device, "no target has its compilers here: nothing was judged",
                    "`liftc offline` alone lists what to install");
  if (o.json) printJson(report);
  return ok ? 0 : static_cast<int>(ExitStatus::wrong);
}

}  // namespace

void addOffline(cli::App& app, int& status) {
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand(
      "offline", "Build kernels by compilers for devices that are not at hand, and print what they cost there");
  sub->add_option("what", o->what,
                  "A layer's descriptor, a program (.lift), or a folder that `compile -o` wrote; alone, list targets");
  sub->add_option("--target", o->targets,
                  "mali-g72, mali-g57, adreno-630, gfx900, gfx1030, sm_80, dg2, spirv, all; default: "
                  "all that are found")
      ->delimiter(',')
      ->allow_extra_args(false);
  sub->add_option("--op", o->op, "An operator and its descriptor")->expected(2)->type_name("NAME DESCRIPTOR");
  sub->add_option("--shapes", o->shapes, "File of layers' descriptors, one a line");
  o->program.addValues(*sub);
  sub->add_option("--config", o->program.config, "Values of tunables, in place of the best known or the defaults")
      ->type_name("NAME=VALUE,...");
  o->family.addOfProgram(*sub);
  o->layouts.add(*sub);
  o->codegen.add(*sub);
  sub->add_option("--profile", o->profile, "Limits and defaults, in place of the target's own")->type_name("NAME|FILE");
  sub->add_flag("--json", o->json, "Print a report as JSON");
  onCall(*sub, status, [o] { return offline(*o); });
}

}  // namespace lift::liftc
