// liftc bench: our kernels and their peers on workloads, in turns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <thread>

#include "budget.hpp"
#include "common.hpp"
#include "lift/bench.hpp"
#include "lift/conv_operator.hpp"
#include "lift/diagnostic.hpp"
#include "lift/tune_db.hpp"
#include "sweep.hpp"
#include "workload.hpp"

namespace lift::liftc {
namespace {

struct Options {
  ProgramOptions program;
  double rtol = 1e-4;  // of the program's results
  std::string descriptor;
  std::vector<std::string> shapes;  // files of descriptors
  std::vector<std::string> op;      // an operator and its descriptor
  std::vector<std::string> peers;   // groups; "none"
  FamilyOptions family;
  LayoutOptions layouts;
  DeviceOptions device;
  CodegenOptions codegen;
  int repetitions = 10;
  bool latency = false;
  std::uint64_t seed = 1;
  std::string tuneTime;  // of each layer, before it is measured
  bool keep = false;     // in the database
  bool json = false;
};

// What is measured; of a layer what its peers are given, too.
struct Subject {
  Workload workload;
  std::optional<ConvSpec> layer;
  ConvLayouts layouts;    // of the layer
  std::string list = {};  // the file that it stands in
};

// One workload: our result first, then the peers'.
struct Row {
  Subject subject;
  std::string family;
  Config config;
  double tolerance = 0;
  std::vector<bench::Result> results;

  const bench::Result& ours() const { return results.front(); }
  double gflops(const bench::Result& r) const { return liftc::gflops(subject.workload.operations, r.milliseconds); }
};

constexpr const char* untuned = "untuned";        // the group and the name of our own defaults
constexpr const char* byDefault = "default_map";  // of a program by the default mapping
constexpr const char* byC = "native";  // ours, where the device is a processor that is reached by way of C, too

// Whether a row of the table is ours.
bool isOurs(const std::string& name) { return name == untuned || name == byDefault || name == byC; }

// The groups of the table, each once, and what else is ours; "none" chooses no peer.
std::vector<std::string> groups() {
  std::vector<std::string> names;
  for (const bench::Peer& p : bench::peers())
    if (names.empty() || names.back() != p.group) names.push_back(p.group);
  names.emplace_back(untuned);
  names.emplace_back(byDefault);
  names.emplace_back(byC);
  return names;
}

bool chosen(const Options& o, const std::string& group) {
  return o.peers.empty() || std::ranges::find(o.peers, group) != o.peers.end();
}

// A contestant whose results are checked in some of their rows only.
class JudgedByRows final : public bench::Contestant {
 public:
  JudgedByRows(std::unique_ptr<bench::Contestant> contestant, std::vector<std::int64_t> rows)
      : contestant_(std::move(contestant)), rows_(std::move(rows)) {}
  double run(int runs) override { return contestant_->run(runs); }
  std::map<std::string, Tensor> outputs() override { return tune::rowsOf(contestant_->outputs(), rows_); }
  bench::Memory memory() const override { return contestant_->memory(); }
  std::string implementation() const override { return contestant_->implementation(); }

 private:
  std::unique_ptr<bench::Contestant> contestant_;
  std::vector<std::int64_t> rows_;
};

bench::Setup judged(bench::Setup setup, const Workload& w) {
  if (setup.contestant) setup.contestant = std::make_unique<JudgedByRows>(std::move(setup.contestant), w.judgedRows);
  return setup;
}

// A plan of ours on the workload's inputs. A layer's results are compared in the natural layout, as its peers' are.
std::unique_ptr<bench::Contestant> contestant(const Subject& subject, const kernel::Plan& plan, const Options& o,
                                              runtime::Device& device) {
  if (!subject.layer)
    return std::make_unique<JudgedByRows>(
        bench::contestPlan(device, plan, subject.workload.makeInputs(o.seed), o.device.load()),
        subject.workload.judgedRows);
  return bench::contestPlan(device, plan, randomConvTensors(*subject.layer, o.seed), subject.layouts, o.device.load());
}

// The family's default configuration, where another one is ours.
bench::Setup setUpUntuned(const Subject& subject, const CompiledWorkload& ours, const Options& o,
                          runtime::Device& device) {
  FamilyOptions family = o.family;
  family.noTuned = true;
  family.config.clear();
  const auto compiled = family.compile(subject.workload, o.codegen, &device.info());
  if (ours.family == compiled->family && ours.config == compiled->config) return {nullptr, "ours is the default"};
  return {contestant(subject, compiled->plan, o, device)};
}

bench::Setup setUpDefaultMapping(const Subject& subject, const CompiledWorkload& ours, const Options& o,
                                 runtime::Device& device) {
  if (ours.family == programFamily) return {nullptr, "ours is the default mapping"};
  FamilyOptions family = o.family;
  family.family = programFamily;
  family.config.clear();
  const auto compiled = family.compile(subject.workload, o.codegen, &device.info());
  return {contestant(subject, compiled->plan, o, device)};
}

// The processor by way of C, beside a device of OpenCL that is one, or why not: its threads wait awake, where drivers
// wake theirs for each launch.
struct ByC {
  std::unique_ptr<runtime::Device> device;
  std::string absent = {};
};

ByC processorByC(const Options& o, const runtime::DeviceInfo& device) {
  if (device.takesC()) return {nullptr, "ours runs by way of C"};
  if (device.type != "cpu") return {nullptr, "the device is no processor"};
  if (!o.device.buildOptions.empty()) return {nullptr, "--build-options are for the device's compiler"};
  try {
    return {runtime::openDevice({.platform = {}, .device = byC})};
  } catch (const UserError& e) {
    return {nullptr, e.diagnostics().front().message};
  }
}

bench::Setup setUpByC(const Subject& subject, const Options& o, const ByC& native) {
  if (!native.device) return {nullptr, native.absent};
  try {
    const auto compiled = o.family.compile(subject.workload, o.codegen, &native.device->info());
    return {contestant(subject, compiled->plan, o, *native.device)};
  } catch (const UserError& e) {
    return {nullptr, e.diagnostics().front().message};
  }
}

bench::TurnOptions turnsOf(const Options& o) {
  bench::TurnOptions turns;
  turns.repetitions = o.repetitions;
  if (o.latency) turns.batchMilliseconds = 0;
  turns.quieten = bench::waitUntilQuiet;
  return turns;
}

Row measure(const Subject& subject, const CompiledWorkload& compiled, const Options& o, runtime::Device& device,
            const ByC& native) {
  std::vector<bench::Entry> entries;
  entries.push_back({"ours", {contestant(subject, compiled.plan, o, device)}});
  std::optional<ConvTensors> tensors;
  std::map<std::string, Tensor> expected;
  if (subject.layer) {
    tensors = randomConvTensors(*subject.layer, o.seed);
    expected = {{"out", convReference(*subject.layer, tensors->input, tensors->weights, tensors->bias)}};
    for (const bench::Peer& p : bench::peers())
      if (chosen(o, p.group)) entries.push_back({p.name, p.setUp({*subject.layer, *tensors, device})});
  } else {
    const auto inputs = subject.workload.makeInputs(o.seed);
    expected = subject.workload.expected(inputs);
    for (const bench::WorkloadPeer& p : bench::peersOf(subject.workload))
      if (chosen(o, p.group)) entries.push_back({p.name, judged(p.setUp(inputs), subject.workload)});
  }
  if (chosen(o, untuned)) entries.push_back({untuned, setUpUntuned(subject, compiled, o, device)});
  if (chosen(o, byC)) entries.push_back({byC, setUpByC(subject, o, native)});
  if (!o.program.file.empty() && chosen(o, byDefault))
    entries.push_back({byDefault, setUpDefaultMapping(subject, compiled, o, device)});
  return {subject, compiled.family, compiled.config, compiled.tolerance,
          bench::compare(expected, compiled.tolerance, entries, turnsOf(o))};
}

// ------------------------------------------------------------------------------------------------------------ JSON

void addMeasured(Json& j, const bench::Result& r, double gflops, double peak) {
  j["ms"] = r.milliseconds;
  j["min_ms"] = r.fastest;
  j["spread"] = r.spread;
  j["gflops"] = gflops;
  j["of_peak"] = peak > 0 ? gflops / peak : 0.0;
  j["runs"] = r.times.size();
  j["tensor_bytes"] = r.memory.tensors;
  j["workspace_bytes"] = r.memory.workspace;
  j["prepared_bytes"] = r.memory.prepared;
  j["max_rel_err"] = r.error;
  j["ok"] = r.ok;
}

Json rowJson(const Row& row, double peak) {
  Json j = toJson(row.subject.workload);
  if (!row.subject.workload.label.empty()) j["name"] = row.subject.workload.label;
  j.update({{"family", row.family}, {"config", row.config}});
  addMeasured(j, row.ours(), row.gflops(row.ours()), peak);
  j["tolerance"] = row.tolerance;
  j["peers"] = Json::object();
  j["absent"] = Json::object();
  for (std::size_t i = 1; i < row.results.size(); ++i) {
    const bench::Result& r = row.results[i];
    if (!r.absent.empty()) {
      j["absent"][r.name] = r.absent;
      continue;
    }
    addMeasured(j["peers"][r.name], r, row.gflops(r), peak);
    j["peers"][r.name]["impl"] = r.implementation;
  }
  return j;
}

// -------------------------------------------------------------------------------------------------------- database

// The peers' results, for reports; what the database has of a peer stays.
void remember(const Row& row, const runtime::DeviceInfo& device, tune::Database& db) {
  const tune::DeviceRow deviceRow = tune::deviceRow(device);
  const Workload& w = row.subject.workload;
  const tune::ProblemRow problem{w.key(), w.label, commandLine(problemWords(w)), w.operations, w.tensorBytes};
  const tune::DerivationRow derivation = tune::derivationRow("");
  db.add(deviceRow);
  db.add(problem);
  db.add(derivation);
  for (std::size_t i = 1; i < row.results.size(); ++i) {
    const bench::Result& r = row.results[i];
    if (!r.absent.empty() || r.name == byC) continue;  // that is of another device
    tune::Measurement m;
    m.key = {problem.key, deviceRow.id, r.implementation, tune::peerFamily(r.name), {}};
    m.derivation = derivation.id;
    m.status = r.ok ? tune::Status::ok : tune::Status::wrong;
    m.times = r.times;
    m.workspaceBytes = r.memory.workspace;
    m.maxError = r.error;
    m.tolerance = row.tolerance;
    m.provenance = "liftc bench " + problem.command;
    db.add(m);
  }
}

// ----------------------------------------------------------------------------------------------------------- table

void printRow(const Row& row, std::size_t number, double peak) {
  const Workload& w = row.subject.workload;
  std::cout << fmt::format("{}: {}\n", w.label.empty() ? fmt::format("#{}", number) : w.label, w.descriptor);
  for (const bench::Result& r : row.results) {
    if (!r.absent.empty()) {
      std::cout << fmt::format("  {:<18} {}\n", r.name, r.absent);
      continue;
    }
    const double gflops = row.gflops(r);
    std::cout << fmt::format(
        "  {:<18} {:>10.3f} {:>8.1f} {:>9.1f} {:>6.1f} {:>8.3f} {:>9.2f} {:>9.2f} {:>9.2f} {:>8.1e}{}  {}\n", r.name,
        r.milliseconds, 100 * r.spread, gflops, peak > 0 ? 100 * gflops / peak : 0,
        r.milliseconds / row.ours().milliseconds, static_cast<double>(r.memory.tensors) * 1e-6,
        static_cast<double>(r.memory.workspace) * 1e-6, static_cast<double>(r.memory.prepared) * 1e-6, r.error,
        r.ok ? "" : " WRONG", r.implementation);
  }
  std::cout << std::flush;
}

void printHeader(double peak, double emptyRun, const runtime::DeviceInfo& device) {
  const std::string reached = peak > 0 ? fmt::format("fused multiply-adds reach {:.1f} GFLOP/s; ", peak) : "";
  const std::string driver = device.builtIn() ? "" : fmt::format(" ({} {})", device.platform, device.driverVersion);
  std::cout << fmt::format("{}{}: {}a run of an empty kernel takes {:.1f} us\n", device.name, driver, reached,
                           1e3 * emptyRun)
            << fmt::format("  {:<18} {:>10} {:>8} {:>9} {:>6} {:>8} {:>9} {:>9} {:>9} {:>8}  {}\n", "", "ms",
                           "spread %", "GFLOP/s", "% peak", "to ours", "tensor MB", "work MB", "prep. MB", "rel err",
                           "implementation");
}

// The geometric mean of times relative to ours, one of each row.
struct Mean {
  double logarithms = 0;
  int rows = 0;

  void add(double ratio) {
    logarithms += std::log(ratio);
    ++rows;
  }
  void print(const std::string& whose, const std::string& where, const std::string& over = "ours") const {
    if (rows > 0)
      std::cout << fmt::format("geometric mean of {} / {} over {} {}{}: {:.3f}\n", whose, over, rows,
                               rows == 1 ? "layer" : "layers", where, std::exp(logarithms / rows));
  }
};

// Over the rows where a peer ran and was right; and of the fastest one in each row, where there are several peers, or
// there is another time of ours to compare it with.
void printMeans(const std::vector<Row>& rows, const std::string& list = {}) {
  std::vector<std::pair<std::string, Mean>> peers;
  Mean best, bestOverC;
  for (const Row& row : rows) {
    if (!row.ours().ok || (!list.empty() && row.subject.list != list)) continue;
    double fastest = 0, byCompiler = 0;
    for (std::size_t i = 1; i < row.results.size(); ++i) {
      const bench::Result& r = row.results[i];
      if (!r.absent.empty() || !r.ok) continue;
      const double ratio = r.milliseconds / row.ours().milliseconds;
      auto peer = std::ranges::find_if(peers, [&](const auto& p) { return p.first == r.name; });
      if (peer == peers.end()) peer = peers.insert(peers.end(), {r.name, {}});
      peer->second.add(ratio);
      if (r.name == byC) byCompiler = ratio;
      if (!isOurs(r.name) && (fastest == 0 || ratio < fastest)) fastest = ratio;
    }
    if (fastest > 0) best.add(fastest);
    if (fastest > 0 && byCompiler > 0) bestOverC.add(fastest / byCompiler);
  }
  const std::string where = list.empty() ? "" : " of " + list;
  for (const auto& [name, mean] : peers) mean.print(name, where);
  const auto others = std::ranges::count_if(peers, [](const auto& p) { return !isOurs(p.first); });
  if (others > 1) best.print("the best peer", where);
  bestOverC.print("the best peer", where, byC);
}

// The means of each list of shapes, then those of all.
void printAllMeans(const std::vector<Row>& rows) {
  std::vector<std::string> lists;
  for (const Row& row : rows)
    if (std::ranges::find(lists, row.subject.list) == lists.end()) lists.push_back(row.subject.list);
  if (lists.size() > 1)
    for (const std::string& list : lists) printMeans(rows, list);
  printMeans(rows);
}

// Implementations whose threads wait for each other lose more than others by what else runs.
void printOthers(const bench::OtherLoad& others) {
  constexpr double idle = 0.1;
  if (const auto processors = others.processors(); processors && *processors > idle)
    std::cout << fmt::format("other programs used {:.1f} of {} processors meanwhile: measure on an idle machine\n",
                             *processors, std::thread::hardware_concurrency());
}

Subject subjectOf(Workload w, const LayoutOptions& layouts, std::string list = {}) {
  Subject subject{std::move(w), {}, {}, std::move(list)};
  subject.layer = layerOf(subject.workload);
  if (subject.layer) {
    subject.layouts = layouts.of(*subject.layer);
    if (subject.layouts.elements != Scalar::f32)
      throw UserError(ExitStatus::usage, "bench compares layers of f32 alone",
                      "`liftc conv LAYER check --elements " + layouts.elements + "` times the others");
  }
  return subject;
}

// The workload compiled in the layouts that we choose, or in the natural ones where those alone have been tuned.
std::optional<CompiledWorkload> compileChosen(Subject& subject, const Options& o, const runtime::Device& device) {
  auto compiled = o.family.compile(subject.workload, o.codegen, &device.info());
  const LayoutOptions natural = o.layouts.natural();
  if (!compiled || compiled->measured || o.family.noTuned || !subject.layer ||
      natural.of(*subject.layer) == subject.layouts)
    return compiled;
  Subject other = subjectOf(natural.workload(*subject.layer), natural, subject.list);
  auto known = o.family.compile(other.workload, o.codegen, &device.info());
  if (!known || !known->measured) return compiled;
  subject = std::move(other);
  return known;
}

int run(std::vector<Subject>& subjects, const Options& o) {
  for (const Subject& subject : subjects) static_cast<void>(o.family.familyOf(subject.workload));
  if (!o.tuneTime.empty())
    for (const Subject& subject : subjects)
      if (!tuneWorkload(subject.workload, o.device, secondsOf(o.tuneTime, "--tune-time"), o.family.db, o.json))
        return interruptedStatus;
  const InterruptGuard guard;
  std::optional<tune::Database> db;
  if (o.keep) db = tune::Database::open(databasePath(o.family.db));
  // Before anything is measured or printed: what cannot be compiled is said at once.
  const auto device = o.device.open();
  std::vector<CompiledWorkload> compiled;
  for (Subject& subject : subjects) {
    if (InterruptGuard::isInterrupted()) break;
    auto one = compileChosen(subject, o, *device);
    if (!one) return 0;
    compiled.push_back(std::move(*one));
  }
  const ByC native = chosen(o, byC) ? processorByC(o, device->info()) : ByC();
  const bench::OtherLoad others;
  const double peak = bench::peakGflops(*device);
  const double emptyRun = bench::emptyRun(*device, turnsOf(o));
  if (!o.json) printHeader(peak, emptyRun, device->info());
  std::vector<Row> rows;
  bool ok = true;
  for (std::size_t i = 0; i < subjects.size() && !InterruptGuard::isInterrupted(); ++i) {
    rows.push_back(measure(subjects[i], compiled[i], o, *device, native));
    ok = ok && rows.back().ours().ok;
    if (!o.json) {
      printRow(rows.back(), i, peak);
      o.family.tellWithin(compiled[i].family, compiled[i].origin);
    }
    if (db) remember(rows.back(), device->info(), *db);
  }
  const bool interrupted = rows.size() < subjects.size();
  if (o.json) {
    Json j{{"schema", 1},
           {"device", Json::parse(device->info().toJson())},
           {"peak_gflops", peak},
           {"empty_run_ms", emptyRun},
           {"other_processors", others.processors() ? Json(*others.processors()) : Json()},
           {"interrupted", interrupted}};
    j["rows"] = Json::array();
    for (const Row& row : rows) j["rows"].push_back(rowJson(row, peak));
    printJson(j);
  } else {
    printAllMeans(rows);
    if (!device->info().builtIn()) printOthers(others);
    if (interrupted) std::cout << fmt::format("interrupted: {} of {} were measured\n", rows.size(), subjects.size());
  }
  if (!ok) return static_cast<int>(ExitStatus::wrong);
  return interrupted ? interruptedStatus : 0;
}

Subject programSubject(const Options& o) {
  const Program program = o.program.readAtValues();
  DataOptions data;
  data.fill = "random";
  static_cast<void>(makeInputs(program, {}, data));  // reports sizes without values
  return {programWorkload(program, o.rtol), {}, {}};
}

}  // namespace

void addBench(cli::App& app, int& status) {
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand(
      "bench", "Measure workloads and their peers in turns, and compare all results with the reference");
  sub->add_option("file", o->program.file,
                  "A program (.lift), at sizes: by its parts, untuned, and by the default mapping");
  o->program.addValues(*sub);
  sub->add_option("--rtol", o->rtol, "Of a program: largest error, relative to the root mean square of the results")
      ->nonNegative()
      ->capture_default_str();
  sub->add_option("--conv", o->descriptor, "A layer's descriptor (benchdnn's or MIOpenDriver's)");
  sub->add_option("--shapes", o->shapes,
                  "Files of descriptors, one a line, of layers, of --op NAME, or each behind its operator's name")
      ->delimiter(',');
  sub->add_option("--op", o->op, "Operator and its descriptor, or the operator of --shapes")
      ->expected(1, 2)
      ->type_name("NAME DESCRIPTOR");
  std::vector<std::string> names = groups();
  names.emplace_back("none");
  sub->add_option("--peers", o->peers, "Whom to measure besides us; all where not given")->delimiter(',')->oneOf(names);
  sub->add_flag("--latency", o->latency, "Wait for the result of each run; else runs below 10 ms follow one another");
  sub->add_option("--repetitions", o->repetitions, "Turns of each, of whose runs the median is printed")
      ->positive()
      ->capture_default_str();
  sub->add_option("--seed", o->seed, "Seed of the random tensors")->capture_default_str();
  sub->add_option("--tune-time", o->tuneTime, "Tune each layer so long before it is measured: 60s, 5m");
  sub->add_flag("--keep", o->keep, "Keep the peers' results in the database, for reports");
  sub->add_flag("--json", o->json, "Print a report as JSON");
  o->family.add(*sub);
  o->family.addMaxWorkspace(*sub);
  o->layouts.input = o->layouts.output = "any";  // as oneDNN's are, beside which layers are measured
  o->layouts.add(*sub);
  o->device.add(*sub);
  o->codegen.add(*sub);
  onCall(*sub, status, [o, sub] {
    const bool lists = !o->shapes.empty(), isProgram = !o->program.file.empty();
    constexpr const char* problems = "a program, --conv DESCRIPTOR, --op NAME DESCRIPTOR or --shapes FILE";
    checkOne({{isProgram, o->program.file},
              {!o->descriptor.empty(), "--conv"},
              {lists, "--shapes"},
              {o->op.size() == 2 || (!o->op.empty() && !lists), "--op"}},
             problems, "for example liftc bench --conv ic64ih56oc64kh3ph1");
    if (o->op.size() == 1 && !lists)
      throw UserError(ExitStatus::usage, fmt::format("--op {}: its descriptor is missing", o->op[0]),
                      "write --op NAME DESCRIPTOR, or --shapes FILE of such");
    if (isProgram && (o->keep || !o->tuneTime.empty()))
      throw UserError(ExitStatus::usage, "--keep and --tune-time are for layers and operators",
                      "`liftc tune FILE.lift` tunes a program");
    if (!isProgram) refuseValues(*sub);
    if (isProgram || o->op.size() == 2) refuseLayouts(*sub, "--conv and --shapes");
    if (!o->tuneTime.empty() && o->family.noTuned)
      throw UserError(ExitStatus::usage, "--no-tuned takes nothing of what --tune-time finds", "leave one of them out");
    if (!o->tuneTime.empty() && secondsOf(o->tuneTime, "--tune-time") == 0)
      throw UserError(ExitStatus::usage, "--tune-time: there is nothing to find in no time", "write 90s, 10m or 2h");
    if (o->peers.size() > 1 && std::ranges::find(o->peers, "none") != o->peers.end())
      throw UserError(ExitStatus::usage, "--peers: 'none' goes with no other", "leave it out, or the others");
    std::vector<Subject> subjects;
    const LayoutOptions layouts = o->layouts.on(o->device);
    if (isProgram) {
      subjects.push_back(programSubject(*o));
    } else if (lists) {
      for (const std::string& file : o->shapes)
        for (Workload& w : readWorkloads(file, o->op.empty() ? "conv" : o->op[0], layouts))
          subjects.push_back(subjectOf(std::move(w), layouts, std::filesystem::path(file).stem().string()));
    } else {
      subjects.push_back(o->op.empty() ? subjectOf(layouts.workload(parseConv(o->descriptor)), layouts)
                                       : Subject{workloadNamed(o->op[0], o->op[1]), {}, {}});
    }
    return run(subjects, *o);
  });
}

}  // namespace lift::liftc
