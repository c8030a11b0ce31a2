// liftc bench: our kernels and their peers on convolution layers, in turns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "budget.hpp"
#include "common.hpp"
#include "family.hpp"
#include "lift/bench.hpp"
#include "lift/diagnostic.hpp"
#include "lift/tune_db.hpp"
#include "sweep.hpp"

namespace liftc {
namespace {

namespace bench = lift::bench;
namespace tune = lift::tune;

struct Options {
  std::string descriptor, shapes;
  std::vector<std::string> peers;  // groups; "none"
  FamilyOptions family;
  DeviceOptions device;
  CodegenOptions codegen;
  int repetitions = 10;
  std::uint64_t seed = 1;
  std::string tuneTime;  // of each layer, before it is measured
  bool keep = false;     // in the database
  bool json = false;
};

// One layer: our result first, then the peers'.
struct Row {
  lift::ConvSpec spec;
  std::string family;
  std::map<std::string, std::int64_t> config;
  lift::ConvLayouts layouts;
  std::vector<bench::Result> results;

  const bench::Result& ours() const { return results.front(); }
  double gflops(const bench::Result& r) const {
    return r.milliseconds > 0 ? static_cast<double>(spec.operations()) * 1e-6 / r.milliseconds : 0;
  }
};

constexpr const char* untuned = "untuned";  // the group and the name of our own defaults

// The groups of the table, each once, and our own defaults; "none" chooses no peer.
std::vector<std::string> groups() {
  std::vector<std::string> names;
  for (const bench::Peer& p : bench::peers())
    if (names.empty() || names.back() != p.group) names.push_back(p.group);
  names.emplace_back(untuned);
  return names;
}

bool chosen(const Options& o, const std::string& group) {
  return o.peers.empty() || std::find(o.peers.begin(), o.peers.end(), group) != o.peers.end();
}

// The family's default configuration, where another one is ours.
bench::Setup setUpUntuned(const lift::ConvSpec& spec, const CompiledLayer& ours, const lift::ConvTensors& tensors,
                          const Options& o, lift::runtime::Device& device) {
  const lift::ConvVariant variant = variantFor(spec, o.family.family, ours.layouts, device.info());
  if (ours.family == variant.family && ours.config == variant.defaults) return {nullptr, "ours is the default"};
  const auto compiled = compileVariant(variant, {}, o.codegen, std::chrono::steady_clock::now());
  return {bench::contestPlan(device, compiled->plan, tensors, ours.layouts, o.device.load())};
}

Row measure(const lift::ConvSpec& spec, const CompiledLayer& compiled, const Options& o,
            lift::runtime::Device& device) {
  const lift::ConvTensors tensors = lift::randomConvTensors(spec, o.seed);
  std::vector<bench::Entry> entries;
  entries.push_back({"ours", {bench::contestPlan(device, compiled.plan, tensors, compiled.layouts, o.device.load())}});
  for (const bench::Peer& p : bench::peers())
    if (chosen(o, p.group)) entries.push_back({p.name, p.setUp({spec, tensors, device})});
  if (chosen(o, untuned)) entries.push_back({untuned, setUpUntuned(spec, compiled, tensors, o, device)});
  bench::TurnOptions turns;
  turns.repetitions = o.repetitions;
  turns.quieten = bench::waitUntilQuiet;
  return {spec, compiled.family, compiled.config, compiled.layouts, bench::compare(spec, tensors, entries, turns)};
}

// ------------------------------------------------------------------------------------------------------------ JSON

void addMeasured(Json& j, const bench::Result& r, double gflops, double peak) {
  j["ms"] = r.milliseconds;
  j["min_ms"] = r.fastest;
  j["gflops"] = gflops;
  j["of_peak"] = peak > 0 ? gflops / peak : 0.0;
  j["runs"] = r.times.size();
  j["tensor_bytes"] = r.memory.tensors;
  j["workspace_bytes"] = r.memory.workspace;
  j["prepared_bytes"] = r.memory.prepared;
  j["max_rel_err"] = r.check.difference.maxRel;
  j["ok"] = r.check.ok();
}

Json rowJson(const Row& row, double peak) {
  Json j{{"conv", row.spec.str()}, {"family", row.family}, {"config", Json::object()}};
  for (const auto& [name, value] : row.config) j["config"][name] = value;
  j["layouts"] = toJson(row.layouts);
  addMeasured(j, row.ours(), row.gflops(row.ours()), peak);
  j["tolerance"] = row.ours().check.tolerance;
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
void remember(const Row& row, const LayoutOptions& layouts, const lift::runtime::DeviceInfo& device,
              tune::Database& db) {
  const tune::DeviceRow deviceRow = tune::deviceRow(device);
  const tune::ProblemRow problem = problemRow(row.spec, layouts);
  const tune::DerivationRow derivation = tune::derivationRow("");
  db.add(deviceRow);
  db.add(problem);
  db.add(derivation);
  for (std::size_t i = 1; i < row.results.size(); ++i) {
    const bench::Result& r = row.results[i];
    if (!r.absent.empty()) continue;
    tune::Measurement m;
    m.key = {problem.key, deviceRow.id, r.implementation, tune::peerFamily(r.name), {}};
    m.derivation = derivation.id;
    m.status = r.check.ok() ? tune::Status::ok : tune::Status::wrong;
    m.times = r.times;
    m.workspaceBytes = r.memory.workspace;
    m.maxError = r.check.difference.maxRel;
    m.tolerance = r.check.tolerance;
    m.provenance = "liftc bench " + problem.command;
    db.add(m);
  }
}

// ----------------------------------------------------------------------------------------------------------- table

void printRow(const Row& row, std::size_t number, double peak) {
  const lift::ConvSpec& s = row.spec;
  std::cout << fmt::format("{}: {}\n", s.name.empty() ? fmt::format("#{}", number) : s.name, s.str());
  for (const bench::Result& r : row.results) {
    if (!r.absent.empty()) {
      std::cout << fmt::format("  {:<18} {}\n", r.name, r.absent);
      continue;
    }
    const double gflops = row.gflops(r);
    std::cout << fmt::format(
        "  {:<18} {:>10.3f} {:>9.1f} {:>6.1f} {:>8.3f} {:>9.2f} {:>9.2f} {:>9.2f} {:>8.1e}{}  {}\n", r.name,
        r.milliseconds, gflops, peak > 0 ? 100 * gflops / peak : 0, r.milliseconds / row.ours().milliseconds,
        static_cast<double>(r.memory.tensors) * 1e-6, static_cast<double>(r.memory.workspace) * 1e-6,
        static_cast<double>(r.memory.prepared) * 1e-6, r.check.difference.maxRel, r.check.ok() ? "" : " WRONG",
        r.implementation);
  }
  std::cout << std::flush;
}

void printHeader(double peak, const lift::runtime::DeviceInfo& device) {
  std::cout << fmt::format("{}: fused multiply-adds reach {:.1f} GFLOP/s\n", device.name, peak)
            << fmt::format("  {:<18} {:>10} {:>9} {:>6} {:>8} {:>9} {:>9} {:>9} {:>8}  {}\n", "", "ms", "GFLOP/s",
                           "% peak", "to ours", "tensor MB", "work MB", "prep. MB", "rel err", "implementation");
}

// Over the layers where a peer ran and was right.
void printMeans(const std::vector<Row>& rows) {
  for (std::size_t i = 1; i < rows.front().results.size(); ++i) {
    double logarithms = 0;
    int layers = 0;
    for (const Row& row : rows) {
      const bench::Result& r = row.results[i];
      if (!r.absent.empty() || !r.check.ok() || !row.ours().check.ok()) continue;
      logarithms += std::log(r.milliseconds / row.ours().milliseconds);
      ++layers;
    }
    if (layers > 0)
      std::cout << fmt::format("geometric mean of {} / ours over {} {}: {:.3f}\n", rows.front().results[i].name, layers,
                               layers == 1 ? "layer" : "layers", std::exp(logarithms / layers));
  }
}

int run(const std::vector<lift::ConvSpec>& specs, const Options& o) {
  if (!o.tuneTime.empty())
    for (const lift::ConvSpec& spec : specs)
      if (!tuneLayer(spec, o.family.layouts, o.device, secondsOf(o.tuneTime, "--tune-time"), o.family.db, o.json))
        break;
  // Before anything is measured or printed: what cannot be compiled is said at once.
  const auto device = o.device.open();
  std::vector<CompiledLayer> layers;
  for (const lift::ConvSpec& spec : specs) {
    auto compiled = o.family.compile(spec, o.codegen, &device->info());
    if (!compiled) return 0;
    layers.push_back(std::move(*compiled));
  }
  const double peak = bench::peakGflops(*device);
  if (!o.json) printHeader(peak, device->info());
  std::optional<tune::Database> db;
  if (o.keep) db = tune::Database::open(o.family.databasePath());
  std::vector<Row> rows;
  bool ok = true;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    rows.push_back(measure(specs[i], layers[i], o, *device));
    ok = ok && rows.back().ours().check.ok();
    if (!o.json) printRow(rows.back(), i, peak);
    if (db) remember(rows.back(), o.family.layouts, device->info(), *db);
  }
  if (o.json) {
    Json j{{"schema", 1}, {"device", Json::parse(device->info().toJson())}, {"peak_gflops", peak}};
    j["rows"] = Json::array();
    for (const Row& row : rows) j["rows"].push_back(rowJson(row, peak));
    std::cout << j.dump(2) << "\n";
  } else {
    printMeans(rows);
  }
  return ok ? 0 : static_cast<int>(lift::ExitStatus::wrong);
}

}  // namespace

void addBench(cli::App& app, int& status) {
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand(
      "bench", "Measure convolution layers and their peers in turns, and compare all results with the reference");
  sub->add_option("--conv", o->descriptor, "A layer's descriptor (benchdnn's or MIOpenDriver's)");
  sub->add_option("--shapes", o->shapes, "File of descriptors, one a line");
  std::vector<std::string> names = groups();
  names.emplace_back("none");
  sub->add_option("--peers", o->peers, "Whom to measure besides us; all where not given")->delimiter(',')->oneOf(names);
  sub->add_option("--repetitions", o->repetitions, "Turns of each, of whose runs the median is printed")
      ->positive()
      ->capture_default_str();
  sub->add_option("--seed", o->seed, "Seed of the random tensors")->capture_default_str();
  sub->add_option("--tune-time", o->tuneTime, "Tune each layer so long before it is measured: 60s, 5m");
  sub->add_flag("--keep", o->keep, "Keep the peers' results in the database, for reports");
  sub->add_flag("--json", o->json, "Print a report as JSON");
  o->family.add(*sub);
  o->device.add(*sub);
  o->codegen.add(*sub);
  sub->callback([o, &status] {
    status = guarded([&] {
      if (o->descriptor.empty() == o->shapes.empty())
        throw lift::UserError(lift::ExitStatus::usage, "give a layer: --conv DESCRIPTOR or --shapes FILE",
                              "for example liftc bench --conv ic64ih56oc64kh3ph1");
      return run(o->shapes.empty() ? std::vector{lift::parseConv(o->descriptor)} : readLayers(o->shapes), *o);
    });
  });
}

}  // namespace liftc
