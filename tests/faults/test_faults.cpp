// Every seeded fault is reported by the judge that the table names, and the judges report nothing without one.
//
// A quarter of the faults, or all with LIFT_SAMPLE=all (tests/long.sh). LIFT_JUDGES=all asks every judge about each,
// which takes minutes, and prints who else reports it.
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "faults/table.hpp"
#include "harness/sample.hpp"

namespace lift::faults {
namespace {

struct JudgeInfo {
  Judge judge;
  std::string_view name;
  std::string_view command;  // in the build folder; $FAULTY is where the test programs with faults are
};
constexpr JudgeInfo judges[] = {
    {Judge::nats, "nats", "$FAULTY/faulty_nat 'random expressions over*,proofs over*'"},
    {Judge::views, "views", "$FAULTY/faulty_views 'random compositions*'"},
    {Judge::kernels, "kernels",
     "$FAULTY/faulty_kernel 'random kernels: optimised*,barriers:*,scalars:*,copies:*,transpose: vectors*'"},
    {Judge::programs, "programs",
     "$FAULTY/faulty_programs 'the emulator computes*,so do kernels launched*,kernels that check*,a wrong index*'"},
    {Judge::costs, "costs", "$FAULTY/faulty_programs 'the work of programs*'"},
    {Judge::mapping, "mapping",
     "$FAULTY/faulty_codegen 'the three outermost*,nested generate*,values of whole*,of equal elements*,reductions "
     "that*,in a loop over kernels*,an intermediate that is*,steps that go on*,launches of unlike*'"},
    {Judge::differential, "differential",
     "LIFT_DIFF_COUNT=600 $FAULTY/faulty_differential 'random programs*,random indices*'"},
    {Judge::parts, "parts", "$FAULTY/faulty_operators 'every part has*,lanes that*'"},
    {Judge::searches, "searches",
     "$FAULTY/faulty_tune 'every explorer*,what goes by*,a network*,a ridge*,what failed*,the nearest*,a database*,"
     "points w*,where a search*'"},
    {Judge::predictions, "predictions", "$FAULTY/faulty_predict '~a search by*'"},
    {Judge::pocl, "PoCL", "LIFTC_CACHE=off LIFT_DIFF_CL_COUNT=50 $FAULTY/faulty_differential_cl"},
    {Judge::oclgrind, "Oclgrind",
     "LIFT_DIFF_CL_COUNT=50 " LIFT_SOURCE_DIR "/tests/oclgrind.sh $FAULTY/faulty_differential_cl 'random programs*'"},
};

struct Verdict {
  bool reported = false;
  std::string text;
};

Verdict ask(const JudgeInfo& judge, std::string_view fault) {
  const std::string command =
      fmt::format("exec 2>&1; export FAULTY='{}' LIFT_DIFF_SHRINK=0; timeout 120 env -u LIFT_TEST_SEED {}",
                  LIFT_BINARY_DIR, judge.command);
  REQUIRE(setenv("LIFT_FAULT", std::string(fault).c_str(), 1) == 0);  // not in the command: names have apostrophes
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), [](FILE*) { return 0; });
  REQUIRE(pipe);
  Verdict v;
  std::array<char, 4096> part;
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe.get())) v.text.append(part.data(), n);
  v.reported = pclose(pipe.get()) != 0;
  return v;
}

std::string sourceOf(std::string_view file) {
  std::ifstream in(std::string(LIFT_SOURCE_DIR "/src/").append(file));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("every seeded fault has its place in the sources") {
  CHECK(table().size() >= 25);
  for (const Fault& f : table()) {
    INFO(f.name << ": src/" << f.file << " must contain once\n" << f.from);
    CHECK(occurrences(sourceOf(f.file), f.from) == 1);
    CHECK(occurrences(std::string(f.to), "FAULT") >= 1);
  }
}

TEST_CASE("without a fault the judges report nothing") {
  for (const JudgeInfo& judge : judges) {
    const Verdict v = ask(judge, "");
    INFO(judge.name << "\n" << v.text);
    CHECK_FALSE(v.reported);
  }
}

TEST_CASE("every seeded fault is reported by its judge") {
  const bool asksAll = std::getenv("LIFT_JUDGES") != nullptr;
  constexpr std::uint32_t share = 4;
  test::Sample sample(share);
  std::set<std::string_view> seen;
  std::size_t asked = 0;
  for (const Fault& f : table()) {
    if (!seen.insert(f.name).second) continue;
    if (!sample.takes()) continue;
    asked++;
    std::string reporters;
    for (const JudgeInfo& judge : judges) {
      if (!asksAll && judge.judge != f.judge) continue;
      const Verdict v = ask(judge, f.name);
      if (v.reported) reporters += fmt::format(" {}", judge.name);
      if (judge.judge != f.judge) continue;
      INFO(f.name << ": " << judge.name << "\n" << v.text.substr(0, 4000));
      CHECK(v.reported);
      CHECK(v.text.find(f.report) != std::string::npos);
    }
    std::cout << fmt::format("{:<60}{}", f.name, reporters) << std::endl;
  }
  CHECK(asked >= seen.size() / share);
}

}  // namespace lift::faults
