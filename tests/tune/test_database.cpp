// The database: what goes in comes out, whatever happens to the process, the file and the order of writing.
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/process.hpp"
#include "lift/text.hpp"
#include "lift/tune.hpp"
#include "refusals.hpp"

using namespace lift;
using namespace lift::tune;
using Catch::Matchers::Contains;

namespace {

namespace fs = std::filesystem;

struct Folder : TemporaryFolder {
  fs::path operator/(const std::string& name) const { return path() / name; }
};

Measurement point(std::int64_t n, double ms = 1.5) {
  Measurement m;
  m.key = {"conv x", "device", "kernels", "paper", {{"kappa", n}, {"theta", 5}}, Phase::sweep};
  m.derivation = "derivation";
  m.generator = "liftc 1";
  m.times = {ms, ms * 1.1, ms * 0.9};
  m.workspaceBytes = 1024 * n;
  m.compileMs = 3.25;
  m.buildMs = 100.1;
  m.firstMs = 7.5;
  m.timingMs = 200.5;
  m.maxError = 1e-7;
  m.tolerance = 1e-5;
  m.provenance = "liftc tune --seed 1";
  m.measuredAt = "2026-01-31T12:00:00Z";
  return m;
}

Measurement failed(std::int64_t n, Status status) {
  Measurement m = point(n);
  m.status = status;
  m.times.clear();
  m.maxError = std::numeric_limits<double>::quiet_NaN();
  m.detail = "because\nof \"this\"";
  return m;
}

// One of each kind of row.
void fill(Database& db) {
  db.add(ProblemRow{"conv x", "VGG 2", "--conv x", 1000000, 4096});
  db.add(DeviceRow{"device", "Mali-G72", "ARM", "ARM Platform", "gpu", "r12", "{}"});
  db.add(derivationRow("split(4) at 0"));
  for (int n = 1; n <= 20; n++) db.add(point(n, 1.0 / n));
  for (int s = 1; s < 7; s++) db.add(failed(100 + s, static_cast<Status>(s)));
}

std::string text(const Database& db) {
  std::ostringstream out;
  exportLines(db, out);
  return out.str();
}

void put(const fs::path& path, const std::string& contents) { std::ofstream(path, std::ios::binary) << contents; }

// A connection that knows nothing of ours.
struct Raw {
  explicit Raw(const fs::path& path) { REQUIRE(sqlite3_open(path.c_str(), &handle) == SQLITE_OK); }
  ~Raw() { sqlite3_close(handle); }
  void run(const char* sql) const { REQUIRE(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) == SQLITE_OK); }
  sqlite3* handle = nullptr;
};

}  // namespace

TEST_CASE("a measurement comes back as it was, once") {
  Database db = Database::inMemory();
  const Measurement m = point(4);
  CHECK(db.add(m));
  CHECK_FALSE(db.add(m));
  Measurement other = m;
  other.key.phase = Phase::retime;
  CHECK(db.add(other));
  CHECK(db.select({}).size() == 2);

  const auto found = db.find(m.key);
  REQUIRE(found);
  CHECK(found->key == m.key);
  CHECK(found->times == m.times);
  CHECK(found->workspaceBytes == m.workspaceBytes);
  CHECK(found->buildMs == m.buildMs);
  CHECK(found->firstMs == m.firstMs);
  CHECK(found->timingMs == m.timingMs);
  CHECK(found->maxError == m.maxError);
  CHECK(found->provenance == m.provenance);
  CHECK_FALSE(db.find(point(5).key));

  CHECK(db.add(failed(9, Status::crash)));
  const auto bad = db.find(point(9).key);
  REQUIRE(bad);
  CHECK(bad->status == Status::crash);
  CHECK(std::isnan(bad->maxError));
  CHECK(bad->times.empty());
  CHECK(bad->detail == failed(9, Status::crash).detail);
}

TEST_CASE("selection by parts of the key, in order of insertion") {
  Database db = Database::inMemory();
  for (const int n : {7, 3, 5}) db.add(point(n));
  Measurement other = point(1);
  other.key.family = "blocked";
  db.add(other);
  const auto paper = db.select({.problem = "conv x", .family = "paper"});
  REQUIRE(paper.size() == 3);
  CHECK(paper[0].key.config.at("kappa") == 7);
  CHECK(paper[2].key.config.at("kappa") == 5);
  CHECK(db.select({.family = "blocked"}).size() == 1);
  CHECK(db.select({.phase = Phase::retime}).empty());
}

TEST_CASE("median and spread") {
  Measurement m;
  CHECK(std::isinf(m.median()));
  m.times = {3, 1, 2, 10};
  CHECK(m.median() == 2.5);
  CHECK(m.spread() == Approx((4.75 - 1.75) / 2.5));
  m.times = {4};
  CHECK(m.spread() == 0);
}

TEST_CASE("where points were measured again, only those count") {
  Measurement lucky = point(1, 0.5), again = point(1, 1.0), other = point(2, 0.9), wrong = point(3, 0.1);
  again.key.phase = Phase::retime;
  wrong.status = Status::wrong;
  CHECK(fastest({lucky, wrong})->key == lucky.key);
  CHECK(fastest({lucky, again, other, wrong})->key == again.key);
  CHECK(fastest({lucky, again, wrong})->key == again.key);
  CHECK_FALSE(fastest({wrong}));
}

TEST_CASE("of points as fast as each other the best is one that errs far less") {
  const auto erring = [](std::int64_t n, double ms, double error) {
    Measurement m = point(n, ms);
    m.maxError = error;
    return m;
  };
  const Measurement fast = erring(1, 1.0, 9e-5), exact = erring(2, 1.01, 2e-5), little = erring(3, 1.015, 5e-5),
                    slow = erring(4, 1.03, 1e-6);
  CHECK(fastest({fast, exact, little, slow})->key == exact.key);
  CHECK(fastest({fast, little, slow})->key == fast.key);
}

TEST_CASE("points rank by times that nothing else made longer") {
  Measurement mostlyDisturbed = point(1), steady = point(2);
  mostlyDisturbed.times = {1.0, 1.0, 1.0, 1.6, 1.6, 1.6, 1.6};  // two peaks, the median in the later
  steady.times = {1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2};
  CHECK(fastest({steady, mostlyDisturbed})->key == mostlyDisturbed.key);
  CHECK(mostlyDisturbed.undisturbed() == 1.0);
  CHECK(std::isinf(Measurement().undisturbed()));
}

TEST_CASE("what is clearly better: faster by more than 2 %, or as fast with less than half of the error") {
  const auto erring = [](double ms, double error) {
    Measurement m = point(1, ms);
    m.maxError = error;
    return m;
  };
  CHECK(isClearlyBetter(erring(0.97, 1e-5), erring(1.0, 1e-5)));
  CHECK_FALSE(isClearlyBetter(erring(0.99, 1e-5), erring(1.0, 1e-5)));
  CHECK(isClearlyBetter(erring(1.01, 1e-6), erring(1.0, 1e-5)));
  CHECK_FALSE(isClearlyBetter(erring(1.03, 1e-6), erring(1.0, 1e-5)));
}

TEST_CASE("the Pareto front holds what nothing beats in both time and workspace") {
  // Workspace is 1024 bytes times the first number.
  std::vector<Measurement> all = {point(4, 1.0), point(1, 3.0), point(2, 3.5),
                                  point(3, 2.0), point(5, 0.5), point(3, 2.5)};
  all[4].status = Status::wrong;
  Measurement peer = point(0, 0.1);
  peer.key.family = peerFamily("onednn");
  all.push_back(peer);
  CHECK(paretoFront(all) == std::vector<std::size_t>{1, 3, 0});
  CHECK(paretoFront({}).empty());
}

TEST_CASE("export, import into an empty database and export give the same bytes") {
  Database db = Database::inMemory();
  fill(db);
  const std::string first = text(db);
  CHECK(std::count(first.begin(), first.end(), '\n') == 1 + 3 + 26);
  Database copy = Database::inMemory();
  std::istringstream in(first);
  const auto count = importLines(copy, in, "copy");
  CHECK(count.added == 26);
  CHECK(text(copy) == first);

  // Whatever the order of insertion was.
  std::vector<std::string> lines;
  std::istringstream again(first);
  for (std::string line; std::getline(again, line);) lines.insert(lines.begin() + (lines.empty() ? 0 : 1), line);
  std::string shuffled;
  for (const std::string& line : lines) shuffled += line + "\n";
  Database other = Database::inMemory();
  std::istringstream shuffledIn(shuffled);
  importLines(other, shuffledIn, "shuffled");
  CHECK(text(other) == first);

  std::istringstream twice(first);
  CHECK(importLines(other, twice, "twice").present == 26);
  CHECK(text(other) == first);
}

// A line of an export whose count of operations is this.
static std::string problemOf(const std::string& operations) {
  return R"({"kind":"problem","key":"k","label":"","command":"","tensor_bytes":1,"operations":)" + operations + "}";
}

TEST_CASE("a damaged import is refused whole, with its line") {
  Database db = Database::inMemory();
  fill(db);
  const std::string whole = text(db);
  for (const std::string& bad :
       {std::string("{\"kind\":\"measurement\"}"), std::string("not JSON"), std::string("{\"kind\":\"song\"}"),
        std::string("{\"kind\":\"liftc-tuning\",\"schema\":99}"), std::string("[1]"), problemOf("1e50"),
        problemOf("1.5"), problemOf("18446744073709551615"), problemOf("\"2\"")}) {
    INFO(bad);
    Database empty = Database::inMemory();
    std::istringstream in(whole + bad + "\n");
    CHECK_THAT(test::refusalOf([&] { importLines(empty, in, "file.jsonl"); }), Contains("file.jsonl:31: "));
    CHECK(empty.select({}).empty());
  }
}

TEST_CASE("a file without the line that says what it is cannot be imported") {
  Database db = Database::inMemory();
  for (const auto& [contents, refusal] :
       {std::pair("", "'file.jsonl' is empty"),
        {"\n\n", "'file.jsonl' is empty"},
        {"{\"kind\":\"derivation\",\"id\":\"1\",\"text\":\"\"}\n", "file.jsonl:1: "}}) {
    std::istringstream in(contents);
    CHECK_THAT(test::refusalOf([&] { importLines(db, in, "file.jsonl"); }), Contains(refusal));
  }
}

TEST_CASE("databases are merged") {
  Database a = Database::inMemory(), b = Database::inMemory();
  for (int n = 1; n <= 5; n++) a.add(point(n));
  for (int n = 4; n <= 9; n++) b.add(point(n, 2));
  const auto merged = a.merge(b);
  CHECK(merged.added == 4);
  CHECK(merged.present == 2);
  CHECK(a.find(point(4).key)->times == point(4).times);  // what was there stays
  CHECK(a.select({}).size() == 9);
}

TEST_CASE("files that are no tuning database are told apart") {
  const Folder folder;
  put(folder / "text.db", std::string(5000, 'x'));
  CHECK_THAT(test::refusalOf([&] { Database::open(folder / "text.db"); }),
             Contains("is no database") && Contains("text.db"));

  Raw(folder / "foreign.db").run("CREATE TABLE t(x)");
  CHECK_THAT(test::refusalOf([&] { Database::open(folder / "foreign.db"); }), Contains("another program"));

  { Database::open(folder / "newer.db"); }
  Raw(folder / "newer.db").run("PRAGMA user_version=99");
  CHECK_THAT(test::refusalOf([&] { Database::open(folder / "newer.db"); }), Contains("format 99"));

  {
    Database db = Database::open(folder / "good.db");
    for (int n = 0; n < 500; n++) db.add(point(n));
  }
  std::string bytes = readFile(folder / "good.db").value();
  REQUIRE(bytes.size() > 40000);
  for (std::size_t i = 8192; i < 32768; i++) bytes[i] = static_cast<char>(i * 7);
  put(folder / "damaged.db", bytes);
  CHECK_THAT(test::refusalOf([&] { Database::open(folder / "damaged.db").select({}); }), Contains("is damaged"));
  put(folder / "short.db", bytes.substr(0, 6000));
  CHECK_THAT(test::refusalOf([&] { Database::open(folder / "short.db").select({}); }), Contains("is damaged"));

  CHECK_THAT(test::refusalOf([&] { Database::open("/proc/no/such.db"); }), Contains("cannot be opened"));

  for (const char* damage : {"DROP TABLE measurement", "ALTER TABLE measurement RENAME COLUMN times TO spans"}) {
    fs::remove(folder / "other.db");
    { Database::open(folder / "other.db"); }
    Raw(folder / "other.db").run(damage);
    CHECK_THAT(test::refusalOf([&] { Database::open(folder / "other.db").select({}); }), Contains("is damaged"));
  }
}

TEST_CASE("a database is read without being changed, whatever liftc wrote it") {
  const Folder folder;
  CHECK_THAT(test::refusalOf([&] { Database::openToRead(folder / "none.db"); }), Contains("cannot be opened"));
  put(folder / "empty.db", "");
  CHECK(Database::openToRead(folder / "empty.db").select({}).empty());
  CHECK(fs::file_size(folder / "empty.db") == 0);

  const fs::path path = folder / "a ? b%20#.db";
  { Database::open(path).add(point(1)); }
  const Database db = Database::openToRead(path);
  CHECK(db.select({}).size() == 1);
  CHECK(db.forecasts().empty());

  Raw(path).run("ALTER TABLE measurement DROP COLUMN first_ms");
  Raw(path).run("ALTER TABLE measurement DROP COLUMN timing_ms");
  Raw(path).run("PRAGMA user_version=2");
  const std::string bytes = readFile(path).value();
  CHECK(Database::openToRead(path).select({}).at(0).times == point(1).times);
  CHECK(readFile(path).value() == bytes);
}

TEST_CASE("a lock that does not go away is told") {
  const Folder folder;
  Database db = Database::open(folder / "a.db", 50);
  REQUIRE(db.add(point(1)));
  Database other = Database::open(folder / "a.db", 50);
  const Raw holder(folder / "a.db");
  holder.run("BEGIN IMMEDIATE");
  CHECK_THAT(test::refusalOf([&] { db.add(point(2)); }), Contains("is locked by another program"));
  CHECK(other.select({}).size() == 1);  // readers are not disturbed
  holder.run("ROLLBACK");
  CHECK(db.add(point(2)));
}

TEST_CASE("processes that write at once, and are killed while they write, lose nothing they have written") {
  const Folder folder;
  const fs::path path = folder / "shared.db";
  constexpr int writers = 4, points = 60;
  std::vector<pid_t> children;
  for (int w = 0; w < writers; w++) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      try {
        Database db = Database::open(path);
        for (int n = 0; n < points; n++) {
          db.add(point(1000 * w + n));
          std::ofstream(folder / fmt::format("done-{}", w)) << n + 1;  // only then does the writer claim it
          if (w == writers - 1 && n == points / 2) raise(SIGKILL);
        }
      } catch (const std::exception& e) {
        fmt::print(stderr, "{}\n", e.what());
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
  }
  const Database db = Database::open(path);
  for (int w = 0; w < writers; w++) {
    int done = 0;
    std::ifstream(folder / fmt::format("done-{}", w)) >> done;
    CHECK(done == (w == writers - 1 ? points / 2 + 1 : points));
    for (int n = 0; n < done; n++) CHECK(db.find(point(1000 * w + n).key));
  }
}

TEST_CASE("T4: the schema's required fields, in every result") {
  Database db = Database::inMemory();
  fill(db);
  const auto t4 = nlohmann::json::parse(exportT4(db.select({})));
  std::ifstream in(fs::path(LIFT_SOURCE_DIR) / "tests/tune/t4_required.json");
  REQUIRE(in);
  const auto required = nlohmann::json::parse(in);
  const auto check = [](const nlohmann::json& object, const nlohmann::json& fields) {
    for (const auto& [field, type] : fields.items()) {
      INFO(field << " in " << object.dump());
      REQUIRE(object.contains(field));
      if (type.is_array())
        CHECK(std::find(type.begin(), type.end(), object[field]) != type.end());
      else
        CHECK(object[field].type_name() == type.get<std::string>());
    }
  };
  check(t4, required.at("top"));
  REQUIRE(t4.at("results").size() == 26);
  std::set<std::string> reasons;
  for (const auto& result : t4.at("results")) {
    check(result, required.at("result"));
    check(result.at("times"), required.at("times"));
    for (const auto& m : result.at("measurements")) check(m, required.at("measurement"));
    reasons.insert(result.at("invalidity"));
    CHECK(result.at("times").at("compilation") == result.at("times").at("compilation_time"));
    CHECK(result.at("configuration").at("family") == "paper");
  }
  CHECK(reasons == std::set<std::string>{"correct", "correctness", "compile", "timeout", "runtime"});
}

TEST_CASE("the nearest device's configuration is taken, and it is said whose it was") {
  const DeviceRow here{"id0", "Mali-G72", "ARM", "ARM Platform", "gpu", "r12", R"({"vector_width_f32":4})"};
  DeviceRow sister = here, cousin = here, stranger = here, cpu = here, otherCpu = here;
  sister.id = "id1", sister.name = "Mali-G76";
  cousin.id = "id2", cousin.name = "Immortalis-X";
  stranger.id = "id3", stranger.vendor = "NVIDIA", stranger.name = "H200";
  cpu.id = "id4", cpu.type = "cpu", cpu.vendor = "AuthenticAMD", cpu.platform = "PoCL";
  otherCpu = cpu, otherCpu.id = "id5", otherCpu.vendor = "GenuineIntel";
  CHECK(matchOf(here, here) == Match::exact);
  CHECK(matchOf(sister, here) == Match::architecture);
  CHECK(matchOf(cousin, here) == Match::vendor);
  CHECK(matchOf(stranger, here) == Match::any);
  CHECK(matchOf(cpu, otherCpu) == Match::architecture);
  otherCpu.properties = R"({"vector_width_f32":8})";
  CHECK(matchOf(cpu, otherCpu) == Match::any);

  const Regenerate asMeasured = [](const std::string&, const Config&) { return "kernels"; };
  Database own = Database::inMemory(), shipped = Database::inMemory();
  const auto add = [](Database& db, const DeviceRow& device, std::int64_t n, double ms) {
    db.add(device);
    Measurement m = point(n, ms);
    m.key.device = device.id;
    db.add(m);
  };
  CHECK_FALSE(bestFor(&own, shipped, "conv x", here, asMeasured));
  add(own, stranger, 3, 0.01);
  CHECK(bestFor(&own, shipped, "conv x", here, asMeasured)->match == Match::any);
  add(shipped, cousin, 2, 0.5);
  CHECK(bestFor(&own, shipped, "conv x", here, asMeasured)->match == Match::vendor);
  add(shipped, here, 1, 2);
  const auto best = bestFor(&own, shipped, "conv x", here, asMeasured);
  REQUIRE(best);
  CHECK(best->match == Match::exact);
  CHECK(best->shipped);
  CHECK_THAT(best->str(), Contains("kappa=1") && Contains("this device") && Contains("shipped"));
  add(own, here, 8, 3);  // slower, but the user's own
  CHECK_FALSE(bestFor(&own, shipped, "conv x", here, asMeasured)->shipped);
  CHECK_FALSE(bestFor(&own, shipped, "conv y", here, asMeasured));

  // Tiles of one processor's vectors are not for another's.
  Database ofProcessors = Database::inMemory();
  const Database none = Database::inMemory();
  add(ofProcessors, cpu, 5, 0.1);
  CHECK_FALSE(bestFor(&ofProcessors, none, "conv x", otherCpu, asMeasured));
  otherCpu.properties = "";  // of a row that does not say
  CHECK(bestFor(&ofProcessors, none, "conv x", otherCpu, asMeasured));
  otherCpu.properties = cpu.properties;
  CHECK(bestFor(&ofProcessors, none, "conv x", otherCpu, asMeasured));
}

TEST_CASE("of several devices of one architecture, one of the same vendor is nearer") {
  const DeviceRow amd{"id1", "EPYC", "AuthenticAMD", "PoCL", "cpu", "3.1", R"({"vector_width_f32":16})"};
  DeviceRow intel = amd, here = amd;
  intel.id = "id2", intel.name = "Xeon", intel.vendor = "GenuineIntel";
  Database shipped = Database::inMemory();
  for (const auto& [device, ms] : {std::pair(amd, 2.0), {intel, 1.0}}) {
    shipped.add(device);
    Measurement m = point(1, ms);
    m.key.device = device.id;
    shipped.add(m);
  }
  const Regenerate asMeasured = [](const std::string&, const Config&) { return "kernels"; };
  for (const DeviceRow& device : {amd, intel}) {
    here.id = "id3", here.vendor = device.vendor;
    const auto best = bestFor(nullptr, shipped, "conv x", here, asMeasured);
    REQUIRE(best);
    CHECK(best->match == Match::architecture);
    CHECK(best->device.id == device.id);
  }
}

TEST_CASE("what is known counts for the kernels that were measured") {
  const DeviceRow here{"id0", "Mali-G72", "ARM", "ARM Platform", "gpu", "r12", "{}"};
  Database own = Database::inMemory(), shipped = Database::inMemory();
  const auto add = [&](Database& db, std::int64_t n, double ms, const std::string& kernels) {
    db.add(here);
    Measurement m = point(n, ms);
    m.key.device = here.id;
    m.key.kernels = kernels;
    CHECK(db.add(m));
  };
  // A configuration's kernels are named after kappa here; those of 3 do not compile any more.
  const Regenerate regenerate = [](const std::string& family, const Config& config) -> std::string {
    const std::int64_t n = config.at("kappa");
    return n == 3 || family != "paper" ? "" : fmt::format("kernels {}", n);
  };
  const auto best = [&] { return bestFor(&own, shipped, "conv x", here, regenerate).value(); };

  add(own, 3, 1, "kernels 3");
  CHECK_FALSE(bestFor(&own, shipped, "conv x", here, regenerate));
  add(own, 5, 2, unknownKernels("liftc 1", "derivation"));
  CHECK(best().stale);
  CHECK_THAT(best().str(), Contains("kappa=5") && Contains("not recorded"));
  add(own, 4, 1.5, "other kernels");
  CHECK(best().stale);
  CHECK_THAT(best().str(), Contains("kappa=4") && Contains("stale"));
  add(shipped, 7, 9, "kernels 7");  // slower, but what was measured is what would run
  CHECK_FALSE(best().stale);
  CHECK_THAT(best().str(), Contains("kappa=7") && !Contains("stale"));
  add(own, 6, 12, "kernels 6");
  CHECK_THAT(best().str(), Contains("kappa=6") && !Contains("shipped"));
  add(own, 4, 3, "kernels 4");  // measured again: a row of its own
  CHECK_THAT(best().str(), Contains("kappa=4") && !Contains("stale"));
}

TEST_CASE("the identity of kernels is that of their texts, their launches and the options they are built with") {
  const auto planOf = [](const std::string& body) {
    return compile(parseProgram(*addSource("p.lift", "def p(xs: [64]f32): [64]f32 = " + body)));
  };
  const std::string kernels = kernelIdentity(planOf("map(fun x => x + 1.0, xs)"));
  CHECK(kernels.size() == 16);
  CHECK(kernelIdentity(planOf("xs |> map(fun value => value + 1.0)")) == kernels);
  CHECK(kernelIdentity(planOf("map(fun x => x + 2.0, xs)")) != kernels);
  CHECK(kernelIdentity(planOf("map(fun x => x + 1.0, xs)"), "-cl-fast-relaxed-math") != kernels);
  kernel::Plan wider = planOf("map(fun x => x + 1.0, xs)");
  wider.kernels[0].range.local[0] = 32;
  CHECK(kernelIdentity(wider) != kernels);
  kernel::Plan twice = planOf("map(fun x => x + 1.0, xs)");
  twice.launches.push_back(twice.launches[0]);
  CHECK(kernelIdentity(twice) != kernels);
}

TEST_CASE("a database of version 1 is taken over, nothing lost, its kernels unknown") {
  Folder folder;
  const fs::path path = folder / "old.db";
  Raw(path).run(
      "PRAGMA application_id=1279870548; PRAGMA user_version=1;"
      "CREATE TABLE problem(key TEXT PRIMARY KEY, label TEXT, command TEXT, operations INTEGER, tensor_bytes INTEGER);"
      "CREATE TABLE device(id TEXT PRIMARY KEY, name TEXT, vendor TEXT, platform TEXT, type TEXT, driver TEXT,"
      "                    properties TEXT);"
      "CREATE TABLE derivation(id TEXT PRIMARY KEY, text TEXT);"
      "CREATE TABLE measurement(id INTEGER PRIMARY KEY, problem TEXT NOT NULL, device TEXT NOT NULL,"
      "  generator TEXT NOT NULL, derivation TEXT NOT NULL, family TEXT NOT NULL, config TEXT NOT NULL,"
      "  stage TEXT NOT NULL, status TEXT NOT NULL, times TEXT NOT NULL, median_ms REAL, workspace_bytes INTEGER,"
      "  compile_ms REAL, build_ms REAL, max_error REAL, tolerance REAL, detail TEXT, provenance TEXT,"
      "  measured_at TEXT, UNIQUE(problem, device, generator, derivation, family, config, stage));"
      "INSERT INTO measurement VALUES(7, 'conv x', 'device', 'liftc 1', 'd', 'paper', '{\"kappa\":4}', 'sweep', 'ok',"
      "  '[1.5]', 1.5, 4096, 3, 100, 1e-7, 1e-5, '', 'liftc tune', '2026-01-31T12:00:00Z');"
      "INSERT INTO measurement VALUES(9, 'conv x', 'device', 'liftc 2', 'd', 'paper', '{\"kappa\":4}', 'sweep', 'ok',"
      "  '[1.25]', 1.25, 4096, 3, 100, 1e-7, 1e-5, '', 'liftc tune', '2026-01-31T12:00:00Z');");
  for (int i = 0; i < 2; i++) {  // the second time there is nothing to do
    const Database db = Database::open(path);
    const auto all = db.select({});
    REQUIRE(all.size() == 2);
    CHECK(all[0].times == std::vector{1.5});
    CHECK(all[1].generator == "liftc 2");
    CHECK(all[1].derivation == "d");
    for (const Measurement& m : all) {
      CHECK(m.key.config == Config{{"kappa", 4}});
      CHECK(m.key.kernels == unknownKernels(m.generator, m.derivation));
      CHECK(areUnknown(m.key.kernels));
      CHECK(m.workspaceBytes == 4096);
    }
    CHECK(fastestCurrent(all, [](const std::string&, const Config&) { return "kernels"; })->stale);
  }
}

TEST_CASE("a database of version 2 is taken over, what its runs took unknown") {
  Folder folder;
  const fs::path path = folder / "old.db";
  Database::open(path).add(point(4));
  Raw(path).run(
      "ALTER TABLE measurement DROP COLUMN first_ms; ALTER TABLE measurement DROP COLUMN timing_ms;"
      "PRAGMA user_version=2;");
  for (int i = 0; i < 2; i++) {  // the second time there is nothing to do
    Database db = Database::open(path);
    const auto found = db.find(point(4).key);
    REQUIRE(found);
    CHECK(found->times == point(4).times);
    CHECK(found->maxError == point(4).maxError);
    CHECK(found->measuredAt == point(4).measuredAt);
    CHECK(found->firstMs == 0);
    CHECK(found->timingMs == 0);
    db.add(point(5));
    CHECK(db.find(point(5).key)->timingMs == point(5).timingMs);
  }
}

TEST_CASE("the shipped defaults can be read") { CHECK_NOTHROW(shippedDefaults().select({})); }
