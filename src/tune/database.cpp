#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "fields.hpp"
#include "lift/diagnostic.hpp"
#include "lift/tune_db.hpp"
#include "sqlite.hpp"

namespace lift::tune {
namespace {

constexpr std::int64_t applicationId = 0x4C494654;  // "LIFT", in the file's header
constexpr std::int64_t schemaVersion = 3;

constexpr const char* rowTables = R"sql(
CREATE TABLE problem(key TEXT PRIMARY KEY, label TEXT, command TEXT, operations INTEGER, tensor_bytes INTEGER);
CREATE TABLE device(id TEXT PRIMARY KEY, name TEXT, vendor TEXT, platform TEXT, type TEXT, driver TEXT,
                    properties TEXT);
CREATE TABLE derivation(id TEXT PRIMARY KEY, text TEXT);
)sql";

constexpr const char* measurementTable = R"sql(
CREATE TABLE measurement(
  id INTEGER PRIMARY KEY,  -- order of insertion
  problem TEXT NOT NULL, device TEXT NOT NULL, kernels TEXT NOT NULL,
  family TEXT NOT NULL, config TEXT NOT NULL, stage TEXT NOT NULL, derivation TEXT NOT NULL, generator TEXT NOT NULL,
  status TEXT NOT NULL, times TEXT NOT NULL, median_ms REAL, workspace_bytes INTEGER, compile_ms REAL, build_ms REAL,
  first_ms REAL DEFAULT 0, timing_ms REAL DEFAULT 0, max_error REAL, tolerance REAL, detail TEXT, provenance TEXT, measured_at TEXT,
  UNIQUE(problem, device, kernels, family, config, stage));
)sql";

// The columns of a row in their order; times are no number, and have no unit in their name.
template <class Row>
std::vector<std::string> columnsOf() {
  std::vector<std::string> columns;
  const Row row{};
  forEachField(row, [&](std::string_view name, const auto&) {
    columns.emplace_back(name == "times_ms" ? std::string_view("times") : name);
  });
  return columns;
}

std::string measurementColumns() { return fmt::format("{}", fmt::join(columnsOf<Measurement>(), ", ")); }

constexpr const char* forecastTable =
    "CREATE TABLE IF NOT EXISTS forecast(kernels TEXT PRIMARY KEY, instructions REAL, features TEXT, names TEXT)";

std::string joinedFeatureNames() { return fmt::format("{}", fmt::join(kernel::featureNames(), " ")); }

// A file may come from anywhere: what is no value of ours is damage, not a bug.
template <class T>
T valid(const Connection& connection, std::optional<T> value) {
  if (!value) connection.fail(SQLITE_CORRUPT);
  return *value;
}

template <class T>
T parsed(const Connection& connection, const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<T>();
  } catch (const nlohmann::json::exception&) {
    connection.fail(SQLITE_CORRUPT);
  }
}

std::string stored(const std::string& text) { return text; }
std::int64_t stored(std::int64_t value) { return value; }
double stored(double value) { return value; }
std::string stored(Phase phase) { return std::string(name(phase)); }
std::string stored(Status status) { return std::string(name(status)); }
std::string stored(const Config& config) { return nlohmann::json(config).dump(); }
std::string stored(const std::vector<double>& times) { return nlohmann::json(times).dump(); }

template <class Row>
void bindFields(Statement& s, const Row& row) {
  forEachField(row, [&](const char*, const auto& value) { s.bind(stored(value)); });
}

void read(const Connection&, Statement& s, std::string& text) { text = s.text(); }
void read(const Connection&, Statement& s, std::int64_t& value) { value = s.integer(); }
void read(const Connection&, Statement& s, double& value) { value = s.real(); }
void read(const Connection& c, Statement& s, Phase& phase) { phase = valid(c, phaseNamed(s.text())); }
void read(const Connection& c, Statement& s, Status& status) { status = valid(c, statusNamed(s.text())); }
void read(const Connection& c, Statement& s, Config& config) { config = parsed<Config>(c, s.text()); }
void read(const Connection& c, Statement& s, std::vector<double>& times) {
  times = parsed<std::vector<double>>(c, s.text());
}

// The rows that the statement finds, whose columns are those of a row.
template <class Row>
std::vector<Row> rowsOf(const Connection& connection, Statement& s) {
  std::vector<Row> rows;
  while (s.next()) {
    Row& row = rows.emplace_back();
    forEachField(row, [&](const char*, auto& value) { read(connection, s, value); });
  }
  return rows;
}
template <class Row>
std::vector<Row> rowsOf(const Connection& connection, const char* order) {
  Statement s(connection, fmt::format("SELECT * FROM {} ORDER BY {}", kindOf(Row()), order));
  return rowsOf<Row>(connection, s);
}

}  // namespace

struct Database::Impl {
  Impl(const std::string& path, const std::string& shown, int patienceMs) : connection(path, shown, patienceMs) {
    useWriteAheadLog(patienceMs);
    prepare();
  }

  // To read; `flags` say how.
  Impl(const std::string& path, const std::string& shown, int patienceMs, int flags)
      : connection(path, shown, patienceMs, flags) {
    checkWhole();
    const bool isEmpty = connection.integer("SELECT count(*) FROM sqlite_master") == 0;
    if (isEmpty) connection.fail(SQLITE_NOTADB);
    if (connection.integer("PRAGMA application_id") != applicationId) isForeign();
    checkVersion();
  }

  // SQLite does not wait for a lock in this one case, since two processes doing it could wait for each other.
  void useWriteAheadLog(int patienceMs) const {
    constexpr std::chrono::milliseconds pause{5};
    for (auto waited = pause * 0;; waited += pause) {
      const int code = sqlite3_exec(connection.handle(), "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr);
      if (code == SQLITE_OK) return;
      if ((code & 0xFF) != SQLITE_BUSY || waited.count() >= patienceMs) connection.fail(code);
      std::this_thread::sleep_for(pause);
    }
  }

  // These tell whether they changed anything.
  bool put(const Measurement& m, const char* statement) const;
  template <class Row>
  bool add(const Row& row) const {
    const std::vector<std::string> places(columnsOf<Row>().size(), "?");
    Statement s(connection, fmt::format("INSERT OR IGNORE INTO {} VALUES({})", kindOf(row), fmt::join(places, ",")));
    bindFields(s, row);
    return done(s);
  }
  void prepare() {
    connection.run("PRAGMA synchronous=FULL");
    checkWhole();
    if (connection.integer("PRAGMA application_id") == applicationId) return migrate();
    Transaction t(connection);
    if (connection.integer("PRAGMA application_id") == applicationId) return;  // another process was faster
    if (connection.integer("SELECT count(*) FROM sqlite_master") > 0) isForeign();
    connection.run(rowTables);
    connection.run(measurementTable);
    connection.run(
        fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", applicationId, schemaVersion).c_str());
    t.commit();
  }

  void checkWhole() const {
    Statement s(connection, "PRAGMA quick_check(1)");
    if (!s.next() || s.text() != "ok") connection.fail(SQLITE_CORRUPT);
  }

  [[noreturn]] void isForeign() const {
    throw UserError(ExitStatus::program, fmt::format("'{}' is a database of another program", connection.shown()),
                    "name another file with --db");
  }

  // Version 1 had the compiler's version and the derivation in the place of the kernels' identity; version 2 did not
  // tell what the runs took.
  void migrate() {
    checkVersion();
    if (connection.integer("PRAGMA user_version") == schemaVersion) return;
    Transaction t(connection);
    const std::int64_t version = connection.integer("PRAGMA user_version");
    if (version == schemaVersion) return;  // another process was faster
    if (version == 1) migrateVersion1();
    if (version == 2)
      connection.run(
          "ALTER TABLE measurement ADD COLUMN first_ms REAL DEFAULT 0;"
          "ALTER TABLE measurement ADD COLUMN timing_ms REAL DEFAULT 0");
    connection.run(fmt::format("PRAGMA user_version={}", schemaVersion).c_str());
    t.commit();
  }

  void migrateVersion1() const {
    connection.run("ALTER TABLE measurement RENAME TO measurement_1");
    connection.run(measurementTable);
    connection.run(
        fmt::format("INSERT INTO measurement({0}, median_ms) SELECT {1}, median_ms FROM measurement_1 ORDER BY id",
                    measurementColumns(), columnsOfVersion1())
            .c_str());
    connection.run("DROP TABLE measurement_1");
  }

  static std::string columnsOfVersion1() {
    std::string selected = measurementColumns();
    const auto replace = [&](const std::string& column, const std::string& expression) {
      const auto at = selected.find(column);
      ensure(at != std::string::npos, "measurements have these columns");
      selected.replace(at, column.size(), expression);
    };
    // unknownKernels, in SQL
    replace("kernels", "'" + unknownKernels("' || generator || '", "' || derivation || '") + "'");
    replace("first_ms", "0");
    replace("timing_ms", "0");
    return selected;
  }

  void checkVersion() const {
    const std::int64_t version = connection.integer("PRAGMA user_version");
    if (version > schemaVersion)
      throw UserError(ExitStatus::program,
                      fmt::format("the tuning database '{}' has format {}, this liftc knows {}", connection.shown(),
                                  version, schemaVersion),
                      "use the liftc that wrote it, or `liftc db export` it there");
  }

  bool done(Statement& s) const {
    s.next();
    return connection.changed();
  }

  Connection connection;
};

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

Database Database::open(const std::filesystem::path& path, int patienceMs) {
  std::error_code ignored;  // what is wrong with the folder, opening the file says
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  return Database(std::make_unique<Impl>(path.string(), path.string(), patienceMs));
}

Database Database::openToRead(const std::filesystem::path& path, int patienceMs) {
  const std::string shown = path.string();
  std::error_code unreachable;
  if (std::filesystem::file_size(path, unreachable) == 0 && !unreachable) return inMemory();  // nothing is in it yet
  std::unique_ptr<Impl> impl;
  try {  // SQLite only reads what may not be written
    impl = std::make_unique<Impl>(shown, shown, patienceMs, SQLITE_OPEN_READWRITE);
  } catch (const UserError&) {  // perhaps the log of a whole database, which cannot stand in its folder
    std::string escaped;
    for (const char c : shown)
      escaped +=
          std::string_view("%?#").find(c) == std::string_view::npos ? std::string(1, c) : fmt::format("%{:02x}", c);
    const std::string uri = fmt::format("file:{}?immutable=1", escaped);
    try {
      impl = std::make_unique<Impl>(uri, shown, patienceMs, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    } catch (const UserError&) {
    }
    if (!impl) throw;
  }
  // What an earlier liftc wrote is brought up to date in a copy.
  if (impl->connection.integer("PRAGMA user_version") == schemaVersion) return Database(std::move(impl));
  auto copy = std::make_unique<Impl>(":memory:", shown, 0);
  sqlite3_backup* backup = sqlite3_backup_init(copy->connection.handle(), "main", impl->connection.handle(), "main");
  sqlite3_backup_step(backup, -1);
  if (const int code = sqlite3_backup_finish(backup); code != SQLITE_OK) impl->connection.fail(code);
  copy->migrate();
  return Database(std::move(copy));
}

Database Database::inMemory() { return Database(std::make_unique<Impl>(":memory:", "<memory>", 0)); }

bool Database::Impl::put(const Measurement& m, const char* statement) const {
  const std::vector<std::string> places(columnsOf<Measurement>().size() + 1, "?");
  Statement s(connection, fmt::format("{} INTO measurement({}, median_ms) VALUES({})", statement, measurementColumns(),
                                      fmt::join(places, ",")));
  bindFields(s, m);
  s.bind(m.median());
  return done(s);
}

bool Database::add(const Measurement& m) { return impl_->put(m, "INSERT OR IGNORE"); }

void Database::replace(const Measurement& m) { impl_->put(m, "INSERT OR REPLACE"); }

bool Database::add(const ProblemRow& row) { return impl_->add(row); }
bool Database::add(const DeviceRow& row) { return impl_->add(row); }
bool Database::add(const DerivationRow& row) { return impl_->add(row); }

std::optional<Measurement> Database::find(const Key& key) const {
  Statement s(impl_->connection, fmt::format("SELECT {} FROM measurement WHERE {}=?", measurementColumns(),
                                             fmt::join(columnsOf<Key>(), "=? AND ")));
  bindFields(s, key);
  const auto found = rowsOf<Measurement>(impl_->connection, s);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::vector<Measurement> Database::select(const Filter& filter) const {
  Statement s(impl_->connection,
              fmt::format("SELECT {} FROM measurement WHERE ?1 IN ('', problem) AND ?2 IN ('', device) "
                          "AND ?3 IN ('', family) AND ?4 IN ('', stage) AND ?5 IN ('', config) "
                          "AND ?6 IN ('', kernels) ORDER BY id",
                          measurementColumns()));
  s.bind(filter.problem).bind(filter.device).bind(filter.family);
  s.bind(filter.phase ? stored(*filter.phase) : "").bind(filter.config ? stored(*filter.config) : "");
  s.bind(filter.kernels);
  return rowsOf<Measurement>(impl_->connection, s);
}

std::vector<ProblemRow> Database::problems() const { return rowsOf<ProblemRow>(impl_->connection, "key"); }
std::vector<DeviceRow> Database::devices() const { return rowsOf<DeviceRow>(impl_->connection, "id"); }
std::vector<DerivationRow> Database::derivations() const { return rowsOf<DerivationRow>(impl_->connection, "id"); }

void Database::keep(const std::string& kernels, const kernel::Forecast& forecast) {
  impl_->connection.run(forecastTable);
  Statement s(impl_->connection, "INSERT OR REPLACE INTO forecast VALUES(?,?,?,?)");
  s.bind(kernels).bind(forecast.instructions).bind(nlohmann::json(forecast.features).dump()).bind(joinedFeatureNames());
  s.next();
}

std::map<std::string, kernel::Forecast> Database::forecasts() const {
  if (impl_->connection.integer("SELECT count(*) FROM sqlite_master WHERE name='forecast'") == 0) return {};
  Statement s(impl_->connection, "SELECT kernels, instructions, features FROM forecast WHERE names=?");
  s.bind(joinedFeatureNames());
  std::map<std::string, kernel::Forecast> found;
  while (s.next()) {
    std::string kernels = s.text();
    const double instructions = s.real();
    found.emplace(std::move(kernels),
                  kernel::Forecast{instructions, parsed<std::vector<float>>(impl_->connection, s.text())});
  }
  return found;
}

Database::Merged Database::merge(const Database& other) {
  Transaction t(impl_->connection);
  for (const ProblemRow& row : other.problems()) add(row);
  for (const DeviceRow& row : other.devices()) add(row);
  for (const DerivationRow& row : other.derivations()) add(row);
  Merged merged;
  for (const Measurement& m : other.select({})) ++(add(m) ? merged.added : merged.present);
  for (const auto& [kernels, forecast] : other.forecasts()) keep(kernels, forecast);
  t.commit();
  return merged;
}

std::filesystem::path defaultDatabasePath() {
  const auto folder = [](const char* variable) -> std::filesystem::path {
    const char* value = std::getenv(variable);
    return value != nullptr && *value == '/' ? value : "";  // the XDG specification: relative paths are to be ignored
  };
  if (const char* file = std::getenv("LIFTC_DB"); file != nullptr && *file != '\0') return file;
  if (const auto data = folder("XDG_DATA_HOME"); !data.empty()) return data / "liftc" / "tune.db";
  if (const auto home = folder("HOME"); !home.empty()) return home / ".local" / "share" / "liftc" / "tune.db";
  throw UserError(ExitStatus::usage, "there is no place for the tuning database: HOME is not set",
                  "name a file with --db or LIFTC_DB");
}

}  // namespace lift::tune
