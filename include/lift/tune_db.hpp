// The tuning database: what was measured, of which problem, on which device, with which program.
//
//   auto db = tune::Database::open("tune.db");
//   db.add(measurement);                                     // committed when it returns
//   for (const auto& m : db.select({.problem = key})) …      // in order of insertion
//
// A measurement is of kernels: their texts, build options and launch geometry are its identity, beside the problem and
// the device with its driver. Which family, configuration and derivation led to them, and which compiler, is recorded;
// but when a compiler makes other kernels of a configuration, what was measured of it before does not count for them.
// A key is in the database once. What measurements refer to (problems, devices, derivations) are rows of their own, so
// that a database, and its export, can be understood without the program that wrote it.
//
// The file is SQLite in write-ahead mode: every add is durable when it returns, several processes may write at once,
// and a process killed at any moment leaves a whole database. A file that is damaged, foreign, from a newer liftc or
// locked for too long is a UserError (program) that says which.
//
// Times are milliseconds on the device's clock, memory is in bytes. One Database is used by one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lift/device.hpp"
#include "lift/kernel.hpp"
#include "lift/kernel_passes.hpp"
#include "lift/space.hpp"

namespace lift::tune {

enum class Status {
  ok,
  skipped,       // given up on: right, but many times slower than the best; its time is a single repetition's
  wrong,         // results beyond the tolerance
  buildError,    // our compiler, the driver's or the device refused it
  buildTimeout,  // building took longer than its limit, which stands for its time
  runTimeout,    // running took longer than its limit; its time, where it has one, is what a repetition took at least
  crash,         // the process that ran it died
};
std::string_view name(Status status);
std::optional<Status> statusNamed(std::string_view name);

std::string utcNow();  // as Measurement::measuredAt

// What a time may be of: a point when a sweep came to it, or one of the best measured again, in turns with the others.
enum class Phase { sweep, retime };
std::string_view name(Phase phase);
std::optional<Phase> phaseNamed(std::string_view name);

struct Key {
  std::string problem;  // ProblemRow::key
  std::string device;   // DeviceRow::id
  std::string kernels;  // kernelIdentity; of a peer, its library and version
  std::string family;
  Config config;
  Phase phase = Phase::sweep;

  bool operator==(const Key&) const = default;
};

// What a time is of: a digest of the texts of the plan's kernels in the order of their launches, of their NDRanges, of
// the sizes of its buffers, and of the options that the driver's compiler gets.
std::string kernelIdentity(const kernel::Plan& plan, std::string_view buildOptions = {});
// In place of an identity, of measurements that were made before there were identities.
std::string unknownKernels(const std::string& generator, const std::string& derivation);
bool areUnknown(std::string_view kernels);

struct Measurement {
  Key key;
  std::string derivation = {};  // DerivationRow::id
  std::string generator = {};   // version of the compiler that made the kernels
  Status status = Status::ok;
  std::vector<double> times;  // all repetitions, in order; empty when it did not run
  std::int64_t workspaceBytes = 0;
  double compileMs = 0;  // our compiler
  double buildMs = 0;    // the driver's
  double firstMs = 0;    // the first run, at which drivers compile what they did not before, and its check
  double timingMs = 0;   // all further runs, in which the machine did nothing else; host clock, as of the three above
  double maxError = 0;   // largest relative error against the reference; NaN where results are not finite
  double tolerance = 0;
  std::string detail;      // what went wrong, or whose clock it was where not the device's; for people
  std::string provenance;  // the command that measured it
  std::string measuredAt;  // UTC, "2026-01-31T12:00:00Z"

  bool valid() const { return status == Status::ok; }
  double median() const;  // infinite when there are no times
  double spread() const;  // distance of the quartiles over the median; 0 for fewer than two times
  // The lower quartile, infinite when there are no times: what others do on a machine makes times longer, and medians
  // of times with two peaks are in one or the other by chance.
  double undisturbed() const;
};

struct ProblemRow {
  std::string key;
  std::string label;            // for people
  std::string command;          // arguments of liftc that name it: "--conv ic64…"
  std::int64_t operations = 0;  // 0: unknown
  std::int64_t tensorBytes = 0;
  bool operator==(const ProblemRow&) const = default;
};

// `id` is a digest of `properties`: what a time may depend on and a driver tells. Amounts of memory and the clock,
// which change with the weather, do not belong to it.
struct DeviceRow {
  std::string id;
  std::string name, vendor, platform, type, driver;
  std::string properties;  // JSON
  bool operator==(const DeviceRow&) const = default;
};
DeviceRow deviceRow(const runtime::DeviceInfo& info);

struct DerivationRow {
  std::string id;    // a digest of the text
  std::string text;  // how the program came about
  bool operator==(const DerivationRow&) const = default;
};
DerivationRow derivationRow(std::string text);

// Empty strings match everything.
struct Filter {
  std::string problem = {};
  std::string device = {};
  std::string kernels = {};
  std::string family = {};
  std::optional<Phase> phase = {};
  std::optional<Config> config = {};
};

class Database {
 public:
  // Creates the file, and the folder it stands in, where they are missing. Waits for other writers up to `patienceMs`.
  static Database open(const std::filesystem::path& path, int patienceMs = 60'000);
  // Of a file that is there, to read: it may be one that cannot be written. Nothing is to be added.
  static Database openToRead(const std::filesystem::path& path, int patienceMs = 60'000);
  static Database inMemory();
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  // False when the key (for rows: the same row) is there already; then nothing changes.
  bool add(const Measurement& measurement);
  bool add(const ProblemRow& row);
  bool add(const DeviceRow& row);
  bool add(const DerivationRow& row);
  // In place of what is there under the key, if anything.
  void replace(const Measurement& measurement);

  std::optional<Measurement> find(const Key& key) const;
  std::vector<Measurement> select(const Filter& filter) const;
  std::vector<ProblemRow> problems() const;
  std::vector<DeviceRow> devices() const;
  std::vector<DerivationRow> derivations() const;

  // Forecasts of kernels, by their identity: kept so that models can be trained without compiling anything again. Those
  // of another liftc with other features are not found.
  void keep(const std::string& kernels, const kernel::Forecast& forecast);
  std::map<std::string, kernel::Forecast> forecasts() const;

  // All of `other` that is not here; one transaction.
  struct Merged {
    std::int64_t added = 0;    // measurements
    std::int64_t present = 0;  // measurements that were here already
  };
  Merged merge(const Database& other);

 private:
  struct Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// $LIFTC_DB, else liftc/tune.db in $XDG_DATA_HOME or ~/.local/share.
std::filesystem::path defaultDatabasePath();

// Times of someone else's implementation, "onednn_direct", are kept as those of a family, "peer:onednn_direct"; they
// are no configurations of ours. peerName gives the first from the second.
std::string peerFamily(std::string_view peer);
bool isPeer(const Measurement& measurement);
std::string peerName(std::string_view family);

// The fastest valid measurement of ours, by undisturbed times. Where points were measured again, only those count: the
// best single time among a thousand is a lucky one. Times that differ by 2 % at most cannot be told apart: of such, one
// that errs less than half as much as the fastest is taken.
std::optional<Measurement> fastest(const std::vector<Measurement>& measurements);
// Whether the first is faster by what can be told apart, or as fast and errs less than half as much.
bool isClearlyBetter(const Measurement& a, const Measurement& b);

// The identity of the kernels that a configuration of a family is compiled to now; empty where it does not compile.
using Regenerate = std::function<std::string(const std::string& family, const Config& config)>;

struct Current {
  Measurement measurement;
  bool stale = false;  // its kernels are others now, or those that were measured are not known
};
// Of the measurements that `fastest` ranks, the first whose configuration still gives the kernels that were measured;
// where none of the first few does, the first that compiles at all, which then is stale.
std::optional<Current> fastestCurrent(const std::vector<Measurement>& measurements, const Regenerate& regenerate);

// Which valid measurements of ours no other one beats in both time and workspace, by workspace; their indices.
std::vector<std::size_t> paretoFront(const std::vector<Measurement>& measurements);

// ------------------------------------------------------------------------------------------------- text formats

// JSON lines: one object a line, rows before the measurements that refer to them, sorted by key. Equal contents give
// equal bytes, whatever the order they came in.
void exportLines(const Database& db, std::ostream& out);
std::string exportLine(const Measurement& measurement);  // one of these
// Throws UserError (program), with the line where there is one, for what is no such file: the first line says that it
// is. Then nothing of it is imported.
Database::Merged importLines(Database& db, std::istream& in, const std::string& name);

// The auto-tuning community's T4 results format, schema version 1.0.0. Compile time is written twice, since the schema
// says `compilation_time` and Kernel Tuner `compilation`.
std::string exportT4(const std::vector<Measurement>& measurements);

// ------------------------------------------------------------------------------------------ best known configurations

// How much the device of a configuration and the device at hand have in common.
enum class Match { exact, architecture, vendor, any };
std::string_view name(Match match);
Match matchOf(const DeviceRow& known, const DeviceRow& wanted);

struct Best {
  Measurement measurement;
  Match match = Match::any;
  DeviceRow device;         // where it was measured
  bool shipped = false;     // from the defaults that come with liftc
  bool stale = false;       // see Current
  std::string str() const;  // "kappa=4,theta=5 of family paper, measured on this device (0.81 ms)"
};
// The fastest configuration known for the problem: of the nearest device, none of a processor whose vectors have
// another width; of one device, what is current before what is stale, and the user's own database before the shipped
// defaults.
std::optional<Best> bestFor(const Database* own, const Database& shipped, const std::string& problem,
                            const DeviceRow& device, const Regenerate& regenerate);
// The committed defaults (src/tune/defaults.jsonl), compiled into the library; parsed once.
const Database& shippedDefaults();

}  // namespace lift::tune
