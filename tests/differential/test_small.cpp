// All programs of up to three stages over eight primitives: interpreter, mapped program, printer and emulator.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <iostream>
#include <map>

#include "differential/judges.hpp"
#include "differential/small.hpp"

namespace lift::differential {

// The shortest first: the first disagreement needs no shrinking.
TEST_CASE("all small programs mean the same to the interpreter and to the compiler under the emulator") {
  const auto device = runtime::makeEmulatorDevice();
  std::map<std::string, int> used;
  std::set<std::string> texts;
  int all = 0, count = 0;
  for (int stages = 1; stages <= 3; stages++)
    for (const SmallProgram& p : smallPrograms(stages)) {
      texts.insert(p.text);
      if (all++ % thinning != 0) continue;
      count++;
      for (const std::string& primitive : p.used) used[primitive]++;
      const std::string wrong = disagreement(p.text, *device);
      if (wrong.empty()) continue;
      std::cout << Reproducer{p.text, wrong}.str("emulator");
      FAIL("the small program above disagrees");
    }
  CHECK(texts.size() == static_cast<std::size_t>(all));
  std::string counts = fmt::format("small programs on the emulator: {};", count);
  for (const auto& [primitive, n] : used) counts += fmt::format(" {} {}", primitive, n);
  std::cout << counts << std::endl;
  for (const char* primitive : {"map", "reduce", "split", "join", "slide", "pad", "transpose", "zip"}) {
    INFO(primitive);
    CHECK(used[primitive] * thinning >= 500);
  }
}

}  // namespace lift::differential
