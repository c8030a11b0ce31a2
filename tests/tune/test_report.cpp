// The report: whole, self-contained, and right about fronts and bests.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <regex>

#include "lift/tune_report.hpp"

using namespace lift;
using namespace lift::tune;
using Catch::Matchers::Contains;

namespace {

Measurement point(const std::string& problem, const std::string& family, std::int64_t k, double ms,
                  std::int64_t bytes) {
  Measurement m;
  m.key = {problem, "d", "kernels", family, {{"kappa", k}}, Phase::sweep};
  m.times = {ms};
  m.workspaceBytes = bytes;
  return m;
}

Database example() {
  Database db = Database::inMemory();
  db.add(DeviceRow{"d", "Mali <G72>", "ARM", "ARM Platform", "gpu", "r12", "{}"});
  db.add(ProblemRow{"conv a", "vgg & 2", "--conv a", 2'000'000'000, 10'000'000});
  db.add(ProblemRow{"conv b", "", "--conv b", 1'000'000'000, 5'000'000});
  for (int k = 1; k <= 12; k++) db.add(point("conv a", k % 2 ? "paper" : "blocked", k, 100.0 / k, 1'000'000 * k));
  Measurement bad = point("conv a", "paper", 99, 0, 0);
  bad.times.clear();
  bad.status = Status::crash;
  bad.detail = "killed by signal 11";
  db.add(bad);
  for (int k = 1; k <= 4; k++) db.add(point("conv b", "paper", k, 5.0 + k, 0));
  db.add(point("conv a", "peer:onednn", 0, 9, 0));
  return db;
}

int count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {}));
}

}  // namespace

TEST_CASE("the command of a point names tunables where the family has any") {
  const ProblemRow problem{.key = "lrn", .label = {}, .command = "--op lrn 'c64 n5'"};
  Measurement m;
  m.key.family = "naive";
  CHECK(commandOf(problem, m) == "liftc tune --op lrn 'c64 n5' --family naive --config ''");
  m.key.family = "tiles";
  m.key.config = {{"rows", 2}, {"columns", 4}};
  CHECK(commandOf(problem, m) == "liftc tune --op lrn 'c64 n5' --family tiles --config columns=4,rows=2");
}

TEST_CASE("a report is one whole file that asks for no other") {
  const std::string html = report(example(), "d");
  CHECK(html.rfind("<!doctype html>", 0) == 0);
  CHECK_THAT(html, !Contains("http") && !Contains("<script") && !Contains("nan") && !Contains("inf "));
  for (const char* tag :
       {"svg", "section", "figure", "table", "details", "div", "h2", "body", "html", "style", "code", "title"})
    CHECK(count(html, fmt::format("<{}[ >]", tag)) == count(html, fmt::format("</{}>", tag)));
  CHECK(count(html, "<section>") == 2);
  CHECK_THAT(html, Contains("Mali &lt;G72&gt;") && Contains("vgg &amp; 2") && !Contains("<G72>"));
}

TEST_CASE("a report has every point, the best, and the command that repeats it") {
  const std::string html = report(example(), "d");
  for (int k = 1; k <= 12; k++)
    CHECK_THAT(html, Contains(fmt::format("liftc tune --conv a --family {} --config kappa={}<",
                                          k % 2 ? "paper" : "blocked", k)));
  CHECK_THAT(html, Contains("crash: killed by signal 11"));
  CHECK_THAT(html, Contains("13 points: 12 ok, 1 crash"));
  CHECK_THAT(html, Contains("<td class=n>8.33</td><td class=n>240.0</td><td class=n>22</td>"));  // 100/12 ms, 2 GFLOP
  CHECK_THAT(html, Contains(">onednn<"));
}

TEST_CASE("the front joins what nothing else beats") {
  // Of a, each point is faster and larger than the one before: all twelve are in the front, and drawn as such; of b,
  // the smallest is the fastest. Convergence marks every improvement of a, and the first point of b alone.
  const std::string html = report(example(), "d");
  const auto second = html.find("<section>", html.find("<section>") + 1);
  REQUIRE(second != std::string::npos);
  const std::string a = html.substr(0, second), b = html.substr(second);
  const auto sensitivity = [](const std::string& text) { return text.find("<h3>Sensitivity"); };
  CHECK(count(a.substr(0, sensitivity(a)), "class=\"strong") == 12 + 12);
  CHECK(count(b.substr(0, sensitivity(b)), "class=\"strong") == 1 + 1);
}

TEST_CASE("problems are chosen, and stand in the order of the choice") {
  const std::string html = report(example(), "d", {"conv b", "conv a"});
  CHECK(html.find("<h2>conv b") < html.find("<h2>vgg"));
  CHECK(count(report(example(), "d", {"conv b"}), "<section>") == 1);
  CHECK(count(report(example(), "elsewhere"), "<section>") == 0);
}

TEST_CASE("a family whose tunables have changed since is reported by what its points have") {
  Database db = example();
  for (int k = 1; k <= 4; k++) {
    Measurement later = point("conv b", "paper", k, 4.0 + k, 0);
    later.key.config = {{"unroll", k}};
    db.add(later);
  }
  const std::string html = report(db, "d", {"conv b"});
  CHECK_THAT(html, Contains("kappa alone explains") && Contains("unroll alone explains"));
}
