// docs/rewriting.md shows what examples/own_rule.cpp says, and names strategies that there are.
#include <catch2/catch.hpp>

#include "lift/files.hpp"

namespace {

std::string textOf(const std::string& path) {
  return lift::readFile(std::string(LIFT_SOURCE_DIR) + "/" + path).value();
}

}  // namespace

TEST_CASE("the C++ of docs/rewriting.md is that of examples/own_rule.cpp") {
  const std::string document = textOf("docs/rewriting.md"), example = textOf("examples/own_rule.cpp");
  const std::string open = "```cpp\n", close = "```";
  int blocks = 0;
  for (auto at = document.find(open); at != std::string::npos; at = document.find(open, at)) {
    at += open.size();
    const std::string block = document.substr(at, document.find(close, at) - at);
    INFO(block);
    CHECK(example.find(block) != std::string::npos);
    blocks++;
  }
  CHECK(blocks == 3);
}

TEST_CASE("the combinators that docs/rewriting.md names are declared") {
  const std::string document = textOf("docs/rewriting.md"), header = textOf("include/lift/rewrite.hpp");
  int names = 0;
  for (const char* name : {"seq", "orElse", "attempt", "repeat", "topDown", "bottomUp", "everywhere", "function",
                           "argument", "body", "at", "inside", "normalise", "named"}) {
    INFO(name);
    CHECK(header.find("Strategy " + std::string(name) + "(") != std::string::npos);
    CHECK(document.find("`" + std::string(name)) != std::string::npos);
    names++;
  }
  CHECK(names == 14);
}
