// liftc db: what tuning has measured.
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <set>
#include <sstream>

#include "common.hpp"
#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/tune_db.hpp"
#include "lift/tune_report.hpp"
#include "sweep.hpp"
#include "workload.hpp"

namespace lift::liftc {
namespace {

struct Options {
  std::string db;
  std::string problem, device, family;  // filters
  std::string file;
  std::string format = "jsonl";
  int top = 0;
  bool pareto = false, best = false;
  bool json = false;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A measurement with what its key refers to.
struct Row {
  tune::Measurement measurement;
  tune::ProblemRow problem;
  tune::DeviceRow device;
};

// Filters match parts of the problem's key or label, of the device's name or id, and the whole name of a family.
std::vector<Row> rows(const tune::Database& db, const Options& o) {
  std::map<std::string, tune::ProblemRow> problems;
  for (auto& p : db.problems()) problems[p.key] = p;
  std::map<std::string, tune::DeviceRow> devices;
  for (auto& d : db.devices()) devices[d.id] = d;
  std::vector<Row> found;
  for (auto& m : db.select({.family = o.family})) {
    tune::ProblemRow& p = problems[m.key.problem];
    p.key = m.key.problem;
    tune::DeviceRow& d = devices[m.key.device];
    d.id = m.key.device;
    if ((contains(p.key, o.problem) || contains(p.label, o.problem)) &&
        (contains(d.name, o.device) || contains(d.id, o.device)))
      found.push_back({std::move(m), p, d});
  }
  const bool asks = !(o.problem.empty() && o.device.empty() && o.family.empty());
  if (found.empty() && asks && !o.json)
    std::cerr << "the database has no measurements of what was asked for; `liftc db list` prints what it has\n";
  return found;
}

// The rows grouped by problem and device, in the order of their keys.
std::vector<std::vector<Row>> groups(const tune::Database& db, const Options& o) {
  std::map<std::pair<std::string, std::string>, std::vector<Row>> all;
  for (Row& row : rows(db, o)) all[{row.problem.key, row.device.id}].push_back(std::move(row));
  std::vector<std::vector<Row>> list;
  for (auto& [key, group] : all) list.push_back(std::move(group));
  return list;
}

std::vector<tune::Measurement> measurementsOf(const std::vector<Row>& group) {
  std::vector<tune::Measurement> measurements;
  for (const Row& row : group) measurements.push_back(row.measurement);
  return measurements;
}

std::optional<tune::Measurement> bestOf(const std::vector<Row>& group) { return tune::fastest(measurementsOf(group)); }

std::string labelOf(const tune::ProblemRow& p) { return p.label.empty() ? p.key : p.label; }

Json rowJson(const Row& row, const tune::Measurement& best) {
  Json j{{"problem", row.problem.key},
         {"label", row.problem.label},
         {"device", row.device.name},
         {"device_id", row.device.id}};
  j.update(bestJson(row.problem, best));
  j.update({{"measured_at", best.measuredAt}, {"command", againOn(row.device, row.problem, best)}});
  return j;
}

int list(const Options& o) {
  const std::string path = databasePath(o.db).string();
  const auto db = openExistingDatabase(path);
  Json out{{"schema", 1}, {"db", path}, {"rows", Json::array()}};
  if (!o.json)
    std::cout << fmt::format("{:<34} {:<34} {:>7} {:>7} {:>10}\n", "problem", "device", "points", "failed", "best ms");
  for (const auto& group : groups(db, o)) {
    std::int64_t points = 0, failed = 0;
    for (const Row& row : group) {
      if (row.measurement.key.phase != tune::Phase::sweep || tune::isPeer(row.measurement)) continue;
      points++;
      failed += row.measurement.status != tune::Status::ok && row.measurement.status != tune::Status::skipped;
    }
    const auto best = bestOf(group);
    const Row& first = group.front();
    out["rows"].push_back({{"problem", first.problem.key},
                           {"label", first.problem.label},
                           {"device", first.device.name},
                           {"points", points},
                           {"failed", failed},
                           {"best_ms", best ? Json(best->median()) : Json(nullptr)}});
    if (!o.json)
      std::cout << fmt::format("{:<34} {:<34} {:>7} {:>7} {:>10}\n", labelOf(first.problem), first.device.name, points,
                               failed, best ? fmt::format("{:.3f}", best->median()) : "-");
  }
  if (o.json) printJson(out);
  return 0;
}

Json showJson(const Row& row) {
  const tune::Measurement& m = row.measurement;
  return {{"problem", m.key.problem},
          {"device", row.device.name},
          {"family", m.key.family},
          {"config", m.key.config},
          {"stage", tune::name(m.key.phase)},
          {"status", tune::name(m.status)},
          {"ms", m.times.empty() ? Json(nullptr) : Json(m.median())},
          {"times_ms", m.times},
          {"spread", m.spread()},
          {"workspace_bytes", m.workspaceBytes},
          {"max_rel_err", std::isfinite(m.maxError) ? Json(m.maxError) : Json(nullptr)},
          {"detail", m.detail},
          {"measured_at", m.measuredAt},
          {"kernels", m.key.kernels},
          {"derivation", m.derivation},
          {"generator", m.generator}};
}

// For each problem on each device, the points that no other beats in both time and workspace.
std::vector<Row> paretoFronts(const tune::Database& db, const Options& o) {
  std::vector<Row> fronts;
  for (const auto& group : groups(db, o)) {
    for (const std::size_t i : tune::paretoFront(measurementsOf(group))) fronts.push_back(group[i]);
  }
  return fronts;
}

// The median time; for a point that was ended while it ran, the limit that it exceeded, after ">".
std::string timeOf(const tune::Measurement& m) {
  if (m.times.empty()) return "-";
  return fmt::format("{}{:.3f}", m.status == tune::Status::runTimeout ? ">" : "", m.median());
}

int show(const Options& o) {
  const auto db = openExistingDatabase(databasePath(o.db));
  std::vector<Row> found = o.pareto ? paretoFronts(db, o) : rows(db, o);
  if (o.top > 0) {
    std::ranges::stable_sort(found, [](const Row& a, const Row& b) {
      return std::pair(!a.measurement.valid(), a.measurement.median()) <
             std::pair(!b.measurement.valid(), b.measurement.median());
    });
    if (found.size() > static_cast<std::size_t>(o.top)) found.resize(static_cast<std::size_t>(o.top));
  }
  Json out{{"schema", 1}, {"rows", Json::array()}};
  for (const Row& row : found) {
    const tune::Measurement& m = row.measurement;
    if (o.json)
      out["rows"].push_back(showJson(row));
    else
      std::cout << fmt::format("{:<13} {:>10} ms  ±{:>4.1f} %  {:>9.2f} MB  {}  {} {}{}\n", tune::name(m.status),
                               timeOf(m), m.spread() * 100, static_cast<double>(m.workspaceBytes) * 1e-6,
                               labelOf(row.problem), m.key.family, str(m.key.config),
                               m.detail.empty() ? "" : "  -- " + m.detail.substr(0, m.detail.find('\n')));
  }
  if (o.json) printJson(out);
  return 0;
}

// The best of a group whose kernels are still made; `why` tells of one whose are not, or are not known to be.
std::optional<tune::Measurement> currentBestOf(const std::vector<Row>& group, std::string& why) {
  std::optional<tune::Regenerate> regenerate;
  try {
    const ProblemChoice problem = ProblemChoice::parse(group.front().problem.command);
    regenerate = problem.regenerate(group.front().device);
  } catch (const UserError& e) {
    why = fmt::format("its kernels were not compared: {}", e.diagnostics().front().message);
    return bestOf(group);
  }
  const auto found = tune::fastestCurrent(measurementsOf(group), *regenerate);
  if (!found) {
    const auto best = bestOf(group);
    if (best) why = "stale: its configuration does not compile any more";
    return best;
  }
  if (found->stale)
    why = tune::areUnknown(found->measurement.key.kernels) ? "stale: its kernels were not recorded"
                                                           : "stale: its kernels have changed since";
  return found->measurement;
}

int best(const Options& o) {
  const auto db = openExistingDatabase(databasePath(o.db));
  Json out{{"schema", 1}, {"rows", Json::array()}};
  for (const auto& group : groups(db, o)) {
    std::string why;
    const auto found = currentBestOf(group, why);
    if (!found) continue;
    const Row& first = group.front();
    out["rows"].push_back(rowJson(first, *found));
    out["rows"].back()["stale"] = why.empty() ? Json(false) : Json(why);
    if (!o.json)
      std::cout << fmt::format("{} on {}: {}{}\n  {}\n", labelOf(first.problem), first.device.name,
                               speed(first.problem, *found), why.empty() ? "" : fmt::format("  ({})", why),
                               againOn(first.device, first.problem, *found));
  }
  if (o.json) printJson(out);
  return 0;
}

// The measurements chosen: of each problem on each device, the best alone if that is asked for.
std::vector<tune::Measurement> chosen(const tune::Database& db, const Options& o) {
  std::vector<tune::Measurement> measurements;
  for (const auto& group : groups(db, o)) {
    if (!o.best)
      for (const Row& row : group) measurements.push_back(row.measurement);
    else if (auto best = bestOf(group))
      measurements.push_back(std::move(*best));
  }
  return measurements;
}

// A database of these measurements, and of the problems, devices and derivations that they refer to.
tune::Database databaseOf(const tune::Database& db, const std::vector<tune::Measurement>& measurements) {
  std::set<std::string> referred;
  for (const tune::Measurement& m : measurements) referred.insert({m.key.problem, m.key.device, m.derivation});
  auto part = tune::Database::inMemory();
  for (const tune::ProblemRow& row : db.problems())
    if (referred.count(row.key) > 0) part.add(row);
  for (const tune::DeviceRow& row : db.devices())
    if (referred.count(row.id) > 0) part.add(row);
  for (const tune::DerivationRow& row : db.derivations())
    if (referred.count(row.id) > 0) part.add(row);
  for (const tune::Measurement& m : measurements) part.add(m);
  return part;
}

int exportTo(const Options& o, std::ostream& out) {
  const auto db = openExistingDatabase(databasePath(o.db));
  const std::vector<tune::Measurement> measurements = chosen(db, o);
  if (o.format == "jsonl")
    tune::exportLines(databaseOf(db, measurements), out);
  else
    out << tune::exportT4(measurements);
  return 0;
}

int exportAs(const Options& o) {
  if (o.file.empty()) return exportTo(o, std::cout);
  std::ostringstream text;
  const int code = exportTo(o, text);
  writeFile(o.file, text.str());
  return code;
}

int report(const Options& o, const tune::Database::Merged& merged) {
  if (o.json)
    printJson(Json{{"added", merged.added}, {"present", merged.present}});
  else
    std::cout << fmt::format("{} measurements added, {} were there\n", merged.added, merged.present);
  return 0;
}

int import(const Options& o) {
  std::istringstream in(readInput(o.file));
  auto read = tune::Database::inMemory();
  tune::importLines(read, in, o.file);
  auto db = tune::Database::open(databasePath(o.db));
  return report(o, db.merge(read));
}

// Writes the report on the chosen problems, for the device that most of their measurements come from.
int writeReport(const Options& o) {
  const auto db = openExistingDatabase(databasePath(o.db));
  std::map<std::string, int> devices;
  std::vector<std::string> problems;
  for (const Row& row : rows(db, o)) {
    devices[row.device.id]++;
    if (std::ranges::find(problems, row.problem.key) == problems.end()) problems.push_back(row.problem.key);
  }
  if (devices.empty()) throw UserError(ExitStatus::program, "the database has no such measurements");
  const auto most = std::ranges::max_element(devices, [](const auto& a, const auto& b) { return a.second < b.second; });
  writeFile(o.file, tune::report(db, most->first, problems));
  return 0;
}

int merge(const Options& o) {
  const auto other = openExistingDatabase(o.file);
  auto db = tune::Database::open(databasePath(o.db));
  return report(o, db.merge(other));
}

}  // namespace

void addDb(cli::App& app, int& status) {
  cli::App* db = app.add_subcommand("db", "List, show, export and merge what tuning has measured");
  db->require_subcommand();
  const auto add = [&](const char* name, const char* meaning, int (*run)(const Options&)) {
    auto o = std::make_shared<Options>();
    cli::App* sub = db->add_subcommand(name, meaning);
    sub->add_option("--db", o->db, "Database (default: LIFTC_DB, else liftc/tune.db in XDG_DATA_HOME)");
    onCall(*sub, status, [o, run] { return run(*o); });
    return std::pair(sub, o);
  };
  const auto filtered = [&](const char* name, const char* meaning, int (*run)(const Options&)) {
    const auto [sub, o] = add(name, meaning, run);
    sub->add_option("problem", o->problem, "Only problems with this in their key or label");
    sub->add_option("--device", o->device, "Only devices with this in their name");
    sub->add_option("--family", o->family, "Only this family");
    return std::pair(sub, o);
  };
  const auto json = [](const auto& added) { added.first->add_flag("--json", added.second->json, "Print as JSON"); };
  json(filtered("list", "Problems and devices, how many points, the best time", &list));
  const auto shown = filtered("show", "Measurements, in order of insertion", &show);
  shown.first->add_option("--top", shown.second->top, "The fastest so many")->positive();
  shown.first->add_flag("--pareto", shown.second->pareto, "Those that no other beats in both time and workspace");
  json(shown);
  json(filtered("best", "The best configuration of each problem, and the command that runs it", &best));
  const auto exported = filtered("export", "Write as text: JSON lines or T4", &exportAs);
  exported.first->add_option("--format", exported.second->format, "jsonl or t4")
      ->oneOf({"jsonl", "t4"})
      ->capture_default_str();
  exported.first->add_flag("--best", exported.second->best, "Only the best measurement of each problem on each device");
  exported.first->add_option("-o,--output", exported.second->file, "File; default: print");
  const auto reported = filtered("report", "Write a report as HTML", &writeReport);
  reported.first->add_option("-o,--output", reported.second->file, "File")->required();
  const auto imported = add("import", "Add the measurements of a file of JSON lines", &import);
  imported.first->add_option("file", imported.second->file, "What `liftc db export` wrote")->required();
  json(imported);
  const auto merged = add("merge", "Add the measurements of another database", &merge);
  merged.first->add_option("file", merged.second->file, "The other database")->required();
  json(merged);
}

}  // namespace lift::liftc
