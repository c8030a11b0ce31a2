#include <catch2/catch.hpp>
#include <string>

#include "lift/diagnostic.hpp"

using namespace lift;

namespace {

Span spanOf(const SourceFile* file, const std::string& part) {
  const auto at = static_cast<std::uint32_t>(file->text.find(part));
  return {file, at, at + static_cast<std::uint32_t>(part.size())};
}

}  // namespace

TEST_CASE("a diagnostic without a span is its message") {
  CHECK(render(Diagnostic{Severity::error, {}, "no device", "", {}}) == "error: no device\n");
  CHECK(render(Diagnostic{Severity::warning, {}, "slow", "use another", {}}) == "warning: slow\n  hint: use another\n");
}

TEST_CASE("a diagnostic shows place, line and caret") {
  const SourceFile* file = addSource("dir/a.lift", "let x = 1\n  map foo xs\n");
  CHECK(render(Diagnostic{Severity::error, spanOf(file, "foo"), "'foo' is not defined", "did you mean 'fold'?", {}}) ==
        "dir/a.lift:2:7: error: 'foo' is not defined\n"
        "  map foo xs\n"
        "      ^~~\n"
        "  hint: did you mean 'fold'?\n");
}

TEST_CASE("notes follow, rendered the same way") {
  const SourceFile* file = addSource("n.lift", "a b");
  Diagnostic diagnostic{Severity::error, spanOf(file, "b"), "mismatch", "h", {}};
  diagnostic.notes.push_back({Severity::note, spanOf(file, "a"), "declared here", "", {}});
  diagnostic.notes.push_back({Severity::note, {}, "no place", "", {}});
  CHECK(render(diagnostic) ==
        "n.lift:1:3: error: mismatch\na b\n  ^\n  hint: h\n"
        "n.lift:1:1: note: declared here\na b\n^\nnote: no place\n");
}

TEST_CASE("tabs are kept before the caret") {
  const SourceFile* file = addSource("t", "\tx\tyy");
  CHECK(render(Diagnostic{Severity::error, spanOf(file, "yy"), "m", "", {}}) == "t:1:4: error: m\n\tx\tyy\n\t \t^~\n");
}

TEST_CASE("carets align under code points") {
  const SourceFile* file = addSource("u", "\xCE\xB8\xCE\xB8 + \xCF\x81\xCF\x83;");
  CHECK(render(Diagnostic{Severity::error, spanOf(file, "\xCF\x81\xCF\x83"), "m", "", {}}) ==
        "u:1:6: error: m\n\xCE\xB8\xCE\xB8 + \xCF\x81\xCF\x83;\n     ^~\n");
}

TEST_CASE("a span over several lines is underlined to the end of its first") {
  const SourceFile* file = addSource("m", "ab (cd\n ef) g");
  CHECK(render(Diagnostic{Severity::error, spanOf(file, "(cd\n ef)"), "m", "", {}}) ==
        "m:1:4: error: m\nab (cd\n   ^~~\n");
}

TEST_CASE("an empty span is one caret even behind the text") {
  const SourceFile* file = addSource("e", "ab\ncd");
  CHECK(render(Diagnostic{Severity::error, {file, 5, 5}, "unexpected end", "", {}}) ==
        "e:2:3: error: unexpected end\ncd\n  ^\n");
  CHECK(render(Diagnostic{Severity::error, {file, 2, 2}, "m", "", {}}) == "e:1:3: error: m\nab\n  ^\n");
  const SourceFile* empty = addSource("z", "");
  CHECK(render(Diagnostic{Severity::error, {empty, 0, 0}, "m", "", {}}) == "z:1:1: error: m\n\n^\n");
}

TEST_CASE("carriage returns and control characters do not reach the terminal") {
  const SourceFile* file = addSource("c", "a\x1B[31m b\r\nnext");
  CHECK(render(Diagnostic{Severity::error, spanOf(file, "b"), "m", "", {}}) == "c:1:8: error: m\na?[31m b\n       ^\n");
}

TEST_CASE("a long line is cut around the caret") {
  const SourceFile* file = addSource("long", std::string(5000, 'a') + "HERE" + std::string(5000, 'b'));
  const std::string text = render(Diagnostic{Severity::error, spanOf(file, "HERE"), "m", "", {}});
  REQUIRE(text.size() < 600);
  const std::size_t line = text.find('\n') + 1;
  const std::size_t carets = text.find('\n', line) + 1;
  CHECK(text.find("long:1:5001: ") == 0);
  CHECK(text.find("HERE") - line == text.find("^~~~\n") - carets);
}

TEST_CASE("damaged UTF-8 is shown without failing") {
  const SourceFile* file = addSource("bad", "\x80\x80\x80\x80\x80\xFF x \xE2\x88");
  for (std::uint32_t begin = 0; begin <= file->text.size() + 2; ++begin)
    for (std::uint32_t end = begin; end <= file->text.size() + 2; ++end) {
      const std::string text = render(Diagnostic{Severity::error, {file, begin, end}, "m", "", {}});
      REQUIRE(text.find('^') != std::string::npos);
    }
}

TEST_CASE("a list renders in order") {
  CHECK(render(std::vector<Diagnostic>{{Severity::error, {}, "a", "", {}}, {Severity::warning, {}, "b", "", {}}}) ==
        "error: a\nwarning: b\n");
  CHECK(render(std::vector<Diagnostic>{}).empty());
}

TEST_CASE("a user error carries its status and the rendered text") {
  const SourceFile* file = addSource("f", "xyz");
  const UserError error(ExitStatus::device, "no", "try", {file, 1, 2});
  CHECK(error.status() == ExitStatus::device);
  CHECK(error.what() == std::string("f:1:2: error: no\nxyz\n ^\n  hint: try\n"));
  REQUIRE(error.diagnostics().size() == 1);
  CHECK(error.diagnostics()[0].hint == "try");
  const UserError several(ExitStatus::program,
                          {{Severity::error, {}, "a", "", {}}, {Severity::error, {}, "b", "", {}}});
  CHECK(several.what() == std::string("error: a\nerror: b\n"));
}

TEST_CASE("ensure throws what is not a user error") {
  CHECK_NOTHROW(ensure(true, "fine"));
  CHECK_THROWS_AS(ensure(false, "broken"), InternalError);
  CHECK_THROWS_WITH(ensure(false, "broken"), "broken");
}
