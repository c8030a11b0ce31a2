// Databases as text: JSON lines, and the T4 format of the auto-tuning community.
#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <ostream>
#include <set>
#include <utility>

#include "json.hpp"
#include "lift/diagnostic.hpp"

namespace lift::tune {
namespace {

constexpr int linesSchema = 2;  // 1 is read as well
constexpr const char* fileKind = "liftc-tuning";
constexpr const char* writer = "`liftc db export` writes such files";

std::string dump(const Json& j, int indent = -1) { return j.dump(indent, ' ', false, Json::error_handler_t::replace); }

// What T4 calls the reasons for which a configuration has no time.
const char* invalidity(Status status) {
  switch (status) {
    case Status::ok:
    case Status::skipped: return "correct";
    case Status::wrong: return "correctness";
    case Status::buildError: return "compile";
    case Status::buildTimeout:
    case Status::runTimeout: return "timeout";
    case Status::crash: return "runtime";
  }
  throw InternalError("unknown status");
}

Json t4Result(const Measurement& m) {
  const double compilation = (m.compileMs + m.buildMs) * 1e-3;
  std::vector<double> seconds;
  for (const double ms : m.times) seconds.push_back(ms * 1e-3);
  Json measurements = Json::array();
  if (!m.times.empty()) measurements.push_back({{"name", "time"}, {"value", m.median() * 1e-3}, {"unit", "seconds"}});
  measurements.push_back({{"name", "workspace"}, {"value", m.workspaceBytes}, {"unit", "bytes"}});
  Json configuration = m.key.config;
  configuration["family"] = m.key.family;
  const bool correct = m.status == Status::ok || m.status == Status::skipped;
  return {{"timestamp", m.measuredAt},
          {"configuration", configuration},
          {"objectives", {"time"}},
          {"times", {{"compilation_time", compilation}, {"compilation", compilation}, {"runtimes", seconds}}},
          {"invalidity", invalidity(m.status)},
          {"correctness", correct ? 1 : 0},
          {"measurements", measurements}};
}

void importLine(Database& db, const Json& j, Database::Merged& count) {
  const std::string kind = j.at("kind");
  if (kind == "problem")
    db.add(fromJson<ProblemRow>(j));
  else if (kind == "device")
    db.add(fromJson<DeviceRow>(j));
  else if (kind == "derivation")
    db.add(fromJson<DerivationRow>(j));
  else if (kind == "measurement")
    ++(db.add(fromJson<Measurement>(j)) ? count.added : count.present);
  else if (kind != fileKind)
    throw nlohmann::json::other_error::create(501, "unknown kind '" + kind + "'", &j);
  else if (j.at("schema") != linesSchema && j.at("schema") != 1)
    throw nlohmann::json::other_error::create(501, "schema " + dump(j.at("schema")) + " is not known", &j);
}

}  // namespace

void exportLines(const Database& db, std::ostream& out) {
  out << dump({{"kind", fileKind}, {"schema", linesSchema}}) << "\n";
  for (const ProblemRow& row : db.problems()) out << dump(toJson(row)) << "\n";
  for (const DeviceRow& row : db.devices()) out << dump(toJson(row)) << "\n";
  for (const DerivationRow& row : db.derivations()) out << dump(toJson(row)) << "\n";
  std::vector<std::string> lines;  // a line begins with its key
  for (const Measurement& m : db.select({})) lines.push_back(dump(toJson(m)));
  std::ranges::sort(lines);
  for (const std::string& line : lines) out << line << "\n";
}

std::string exportLine(const Measurement& measurement) { return dump(toJson(measurement)); }

Database::Merged importLines(Database& db, std::istream& in, const std::string& name) {
  Database read = Database::inMemory();
  Database::Merged repeated;  // within the file; not of interest
  std::string line;
  bool begun = false;
  for (int number = 1; std::getline(in, line); number++) {
    if (line.empty()) continue;
    try {
      const Json j = Json::parse(line);
      if (!begun && j.at("kind") != fileKind)
        throw nlohmann::json::other_error::create(501, "the first line says what the file is", &j);
      begun = true;
      importLine(read, j, repeated);
    } catch (const nlohmann::json::exception& e) {
      if (number == 1 && line.starts_with("SQLite format 3"))
        throw UserError(ExitStatus::program, fmt::format("'{}' is a tuning database itself", name),
                        "`liftc db merge` adds what another has");
      const std::string what = e.what();  // "[json.exception.parse_error.101] …"
      throw UserError(
          ExitStatus::program,
          fmt::format("{}:{}: not a line of an exported database: {}", name, number, what.substr(what.find("] ") + 2)),
          writer);
    }
  }
  if (!begun) throw UserError(ExitStatus::program, fmt::format("'{}' is empty", name), writer);
  std::set<std::string> known;  // without its row nobody could say what a problem is
  for (const Database* of : {&std::as_const(read), &std::as_const(db)})
    for (const ProblemRow& row : of->problems()) known.insert(row.key);
  for (const Measurement& m : read.select({}))
    if (!known.contains(m.key.problem))
      throw UserError(ExitStatus::program,
                      fmt::format("'{}' has measurements of '{}', but not its line", name, m.key.problem), writer);
  return db.merge(read);
}

std::string exportT4(const std::vector<Measurement>& measurements) {
  Json results = Json::array();
  for (const Measurement& m : measurements) results.push_back(t4Result(m));
  return dump({{"schema_version", "1.0.0"}, {"results", results}}, 2) + "\n";
}

}  // namespace lift::tune
