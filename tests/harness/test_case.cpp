// The judge of the command-line tests, judged: what must be found wrong is found wrong.
#include <catch2/catch.hpp>
#include <filesystem>

#include "harness/case.hpp"

using namespace lift::test;
using Kind = Expectation::Kind;

namespace {

constexpr const char* sample =
    "# Two commands and a device.\n"
    "needs: cl\n"
    "\n"
    "$ liftc check % -o %/out\n"
    "status: 1\n"
    "=== program\n"
    "-- a comment of the program\n"
    "def f(x: f32): f32 = x\n"
    "=== stderr\n"
    "%:1:2: error: no\n"
    "\\$ not a command\n"
    "\\=== not a section\n"
    "\\\\ one backslash\n"
    "\n"
    "$ liftc devices --json\n"
    "stderr: any\n"
    "=== stdout json\n"
    "{\"schema\": 1}\n";

std::string complaint(std::string_view text) {
  try {
    parseCase("c", text);
  } catch (const CaseError& error) {
    return error.what();
  }
  return "none";
}

Step exactly(int status, std::string out) {
  Step step;
  step.status = status;
  step.sections.push_back({"stdout", std::move(out)});
  return step;
}

}  // namespace

TEST_CASE("a case is read and printed back") {
  const Case c = parseCase("sample", sample);
  CHECK(c.needs == std::vector<std::string>{"cl"});
  REQUIRE(c.steps.size() == 2);
  CHECK(c.steps[0].command == "liftc check % -o %/out");
  CHECK(c.steps[0].status == 1);
  CHECK(c.steps[0].section("program") == "-- a comment of the program\ndef f(x: f32): f32 = x\n");
  CHECK(c.steps[0].expected("stderr").text ==
        "%:1:2: error: no\n$ not a command\n=== not a section\n\\ one backslash\n");
  CHECK(c.steps[0].expected("stdout").kind == Kind::exact);
  CHECK(c.steps[0].expected("stdout").text.empty());
  CHECK(c.steps[1].status == 0);
  CHECK(c.steps[1].expected("stdout").kind == Kind::json);
  CHECK(c.steps[1].expected("stderr").kind == Kind::any);
  CHECK(printCase(c) == sample);
}

TEST_CASE("what is no case is refused with its line") {
  CHECK(complaint("# nothing\n") == "c.test:1: no command: a line that starts with `$ `");
  CHECK(complaint("liftc\n$ liftc\n") == "c.test:1: before the first command stand `# comments` and `needs: cl`");
  CHECK(complaint("needs: gold\n$ liftc\n") == "c.test:1: unknown need `gold`; there are `cl` and `processor`");
  CHECK(complaint("$ liftc\n=== stdoud\n") == "c.test:2: unknown section `=== stdoud`");
  CHECK(complaint("$ liftc\n=== file ../x\n") == "c.test:2: unknown section `=== file ../x`");
  CHECK(complaint("$ liftc\n=== stdout\n=== stdout\n") == "c.test:3: a second section `stdout`");
  CHECK(complaint("$ liftc\nstatus: one\n") == "c.test:2: a status is a number");
  CHECK(complaint("$ liftc\nhello\n") == "c.test:2: expected `status: N`, `stdout: any`, `stderr: any` or a section");
}

TEST_CASE("paths are put in and taken out") {
  CHECK(substitute("liftc check % -i x=%/x.npy 50% %a", "p", "/t/p") ==
        "liftc check /t/p/p.lift -i x=/t/p/x.npy 50% %a");
  CHECK(normalise("/t/p/p.lift:1:2: error\n/t/p/x.npy\n", "p", "/t/p") == "%:1:2: error\n%/x.npy\n");
}

TEST_CASE("exact output") {
  CHECK(mismatch({Kind::exact, "a\nb\n"}, "a\nb\n").empty());
  CHECK(mismatch({Kind::exact, "a\n"}, "a\n\n").empty());
  CHECK(mismatch({Kind::exact, ""}, "").empty());
  CHECK(mismatch({Kind::exact, "a\nb\n"}, "a\nc\n") == "differs at line 2\n    a\n  - b\n  + c\n");
  CHECK_FALSE(mismatch({Kind::exact, "a\n"}, "a\nb\n").empty());
  CHECK_FALSE(mismatch({Kind::exact, "a\nb\n"}, "a\n").empty());
  CHECK_FALSE(mismatch({Kind::exact, "a\n"}, "a \n").empty());
  CHECK_FALSE(mismatch({Kind::exact, ""}, "a\n").empty());
}

TEST_CASE("pieces of output") {
  CHECK(mismatch({Kind::has, "one\nthree\n"}, "the one\ntwo\nthree!\n").empty());
  CHECK_FALSE(mismatch({Kind::has, "three\none\n"}, "one\ntwo\nthree\n").empty());
  CHECK_FALSE(mismatch({Kind::has, "one\none\n"}, "one\n").empty());
  CHECK(mismatch({Kind::any, ""}, "anything").empty());
}

TEST_CASE("JSON output") {
  const std::string actual = R"({"schema": 1, "rows": [{"ms": 0.5, "name": "a"}]})";
  CHECK(mismatch({Kind::json, ""}, actual).empty());
  CHECK(mismatch({Kind::json, R"({"rows": [{"ms": "<number>"}]})"}, actual).empty());
  CHECK(mismatch({Kind::json, R"({"rows": "<array>", "schema": "<any>"})"}, actual).empty());
  CHECK_FALSE(mismatch({Kind::json, ""}, "{} trailing").empty());
  CHECK_FALSE(mismatch({Kind::json, ""}, "").empty());
  CHECK_FALSE(mismatch({Kind::json, "{"}, actual).empty());
  CHECK_FALSE(mismatch({Kind::json, R"({"schema": 2})"}, actual).empty());
  CHECK_FALSE(mismatch({Kind::json, R"({"schema": "<string>"})"}, actual).empty());
  CHECK_FALSE(mismatch({Kind::json, R"({"rows": []})"}, actual).empty());
  CHECK(mismatch({Kind::json, R"({"rows": [{"gflops": "<any>"}]})"}, actual).find("$.rows[0].gflops is missing") == 0);
}

TEST_CASE("status and both streams are judged, and updated") {
  const Step step = exactly(1, "a\n");
  CHECK(judge(step, {1, "a\n", ""}).empty());
  CHECK(judge(step, {0, "a\n", ""}) == "status is 0, expected 1\n");
  CHECK_FALSE(judge(step, {1, "b\n", ""}).empty());
  CHECK_FALSE(judge(step, {1, "a\n", "warning\n"}).empty());

  const Outcome outcome{2, "", "$ new\n"};
  const Step after = updated(step, outcome);
  CHECK(judge(after, outcome).empty());
  CHECK_FALSE(after.section("stdout"));
  CHECK(after.section("stderr") == "$ new\n");
  CHECK(updated(parseCase("c", "$ x\n=== stdout has\na\n").steps[0], {0, "b\n", ""}).section("stdout has") == "a\n");
}

TEST_CASE("commands are run") {
  const std::filesystem::path dir = std::filesystem::path(LIFT_BINARY_DIR) / "cases" / "harness";
  const auto run = [&](std::string_view text, bool update = false) {
    Case c = parseCase("harness", text);
    const std::string report = runCase(c, LIFT_SOURCE_DIR, LIFT_BINARY_DIR, dir, update);
    return update ? printCase(c) : report;
  };
  CHECK(run("$ cat % %/more; cat; echo % >&2; exit 3\nstatus: 3\n=== program\np\n=== file more\nm\n=== stdin\ni\n"
            "=== stdout\np\nm\ni\n=== stderr\n%\n")
            .empty());
  CHECK(run("$ test -f CMakeLists.txt && ls %/\n").empty());
  CHECK(run("$ false\n") == "$ false\nstatus is 1, expected 0\n");
  CHECK(run("$ kill -9 $$\nstatus: 137\n").empty());
  CHECK(run("# kept\n$ echo new\nstatus: 1\n=== stdout\nold\n", true) == "# kept\n$ echo new\n=== stdout\nnew\n");
}
