// Delta debugging of lists, text, programs and configurations.
#include <catch2/catch.hpp>
#include <set>

#include "lift/diagnostic.hpp"
#include "lift/reduce.hpp"
#include "lift/source.hpp"
#include "lift/text.hpp"
#include "refusals.hpp"

using namespace lift;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool isProgram(const std::string& text) {
  return test::refusalOf([&] { parseProgram(*addSource("test", text)); }) == "";
}

constexpr const char* blur = R"(
tune lanes in 1..8

def scaled(f: f32, xs: [n]f32) = map(fun x => f * x, xs)

def main(xs: [48]f32, weights: [3]f32, bias: f32): [46]f32 =
  slide(3, 1, scaled(2.0, xs))
  |> map(fun w => reduce(0.0, fun (acc, (x, y)) => acc + sqrt(x * y), zip(w, weights)))
  |> map(fun x => max(0.0, x + bias))
)";

}  // namespace

TEST_CASE("a list is reduced to what is needed, of which nothing can be left out") {
  std::vector<std::string> all;
  for (int i = 0; i < 100; i++) all.push_back(std::to_string(i));
  const std::vector<std::set<std::string>> needs = {{}, {"0"}, {"99"}, {"17", "18"}, {"3", "50", "51", "97"}};
  for (const auto& needed : needs) {
    int asked = 0;
    std::set<std::vector<std::string>> seen;
    const auto reduced = reducedList(all, [&](const std::vector<std::string>& parts) {
      asked++;
      CHECK(seen.insert(parts).second);  // none twice
      const std::set<std::string> have(parts.begin(), parts.end());
      return std::includes(have.begin(), have.end(), needed.begin(), needed.end());
    });
    CHECK(std::set<std::string>(reduced.begin(), reduced.end()) == needed);
    CHECK(asked < 200);
  }
}

TEST_CASE("text is reduced by lines and by words") {
  const std::string text = "one two\nthree four five\nsix\n";
  CHECK(reducedText(text, [](const std::string& t) { return has(t, "four"); }) == " four");
  CHECK(reducedText("", [](const std::string&) { return true; }).empty());
}

TEST_CASE("a program is reduced to the part that fails, through programs that type-check") {
  int asked = 0;
  const std::string small = reducedProgram(blur, [&](const std::string& text) {
    asked++;
    CHECK(isProgram(text));
    return has(text, "sqrt");
  });
  INFO(small);
  CHECK(isProgram(small));
  CHECK(has(small, "sqrt"));
  for (const char* gone : {"slide", "reduce", "max", "zip", "tune", "bias"}) CHECK(!has(small, gone));
  CHECK(small.size() < 80);
  CHECK(asked < 500);
}

TEST_CASE("what must fail together stays together") {
  const std::string small = reducedProgram(
      blur, [](const std::string& text) { return has(text, "slide") && has(text, "reduce") && has(text, "weights"); });
  INFO(small);
  CHECK(isProgram(small));
  for (const char* kept : {"slide", "reduce", "weights"}) CHECK(has(small, kept));
  for (const char* gone : {"sqrt", "max", "bias", "tune"}) CHECK(!has(small, gone));
}

TEST_CASE("what is no program is reduced as text") {
  const std::string text = "def main(xs: [4]f32) =\n  map(fun x => x + undefined, xs)\n";
  CHECK(!isProgram(text));
  CHECK(reducedProgram(text, [](const std::string& t) { return has(t, "undefined"); }) == " undefined");
}

TEST_CASE("a configuration is reduced to fewer and smaller values") {
  const Config small = reducedConfig({{"a", 64}, {"b", 12}, {"c", 7}}, [](const Config& c) {
    const auto a = c.find("a");
    return a != c.end() && a->second >= 5 && c.count("c") > 0;
  });
  CHECK(small == Config{{"a", 5}, {"c", 0}});
}
