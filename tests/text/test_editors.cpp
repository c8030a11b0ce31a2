// The grammars in editors/ against the lexer and the tables.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "../../src/ir/lexer.hpp"
#include "lift/files.hpp"
#include "lift/primitive.hpp"
#include "lift/scalar.hpp"

using namespace lift;
using syntax::Tok;

namespace {

const std::filesystem::path root = LIFT_SOURCE_DIR;

std::string textOf(const std::filesystem::path& path) { return readFile(path).value(); }

std::set<std::string> functions() {
  std::set<std::string> names;
  for (int i = 0; i < primCount; ++i)
    if (const auto prim = primNamed(info(static_cast<Prim>(i)).name);
        prim && *prim != Prim::let && *prim != Prim::ifThenElse)
      names.emplace(info(*prim).name);
  names.emplace(info(Prim::convert).name);
  for (int i = 0; i < opCount; ++i) names.emplace(info(static_cast<Op>(i)).name);
  for (int i = 0; i < indexFnCount; ++i) names.emplace(info(static_cast<IndexFn>(i)).name);
  return names;
}

struct Rule {
  std::string scope;
  std::regex pattern;
};
struct Match {
  std::size_t begin, end;
  std::string scope;
};

// As TextMate does it: the match that begins first, of several the one whose rule stands first.
std::vector<Match> classified(const std::string& text, const std::vector<Rule>& rules) {
  std::vector<Match> matches;
  std::size_t lineBegin = 0;
  while (lineBegin < text.size()) {
    const std::size_t lineEnd = std::min(text.find('\n', lineBegin), text.size());
    std::size_t at = lineBegin;
    while (at < lineEnd) {
      Match best{lineEnd, lineEnd, {}};
      for (const Rule& rule : rules) {
        std::smatch found;
        const auto flags =
            at > lineBegin ? std::regex_constants::match_prev_avail : std::regex_constants::match_default;
        if (!std::regex_search(text.begin() + static_cast<std::ptrdiff_t>(at),
                               text.begin() + static_cast<std::ptrdiff_t>(lineEnd), found, rule.pattern, flags))
          continue;
        const std::size_t begin = at + static_cast<std::size_t>(found.position());
        if (begin < best.begin) best = {begin, begin + static_cast<std::size_t>(found.length()), rule.scope};
      }
      if (best.scope.empty()) break;
      matches.push_back(best);
      at = best.end;
    }
    lineBegin = lineEnd + 1;
  }
  return matches;
}

std::string scopeOf(const std::string& text, Tok kind, const std::set<std::string>& functions) {
  const bool isVector = std::regex_match(text, std::regex("([iuf](8|16|32|64)|h16)x(2|3|4|8|16)"));
  switch (kind) {
    case Tok::name:
      if (functions.count(text)) return "support.function.lift";
      return scalarNamed(text) || isVector || text == "nat" ? "support.type.lift" : "variable.other.lift";
    case Tok::number: return "constant.numeric.lift";
    case Tok::string: return "string.quoted.double.lift";
    case Tok::kwDef:
    case Tok::kwTune:
    case Tok::kwType:
    case Tok::kwImport: return "keyword.declaration.lift";
    case Tok::kwTrue:
    case Tok::kwFalse:
    case Tok::kwInf:
    case Tok::kwNan: return "constant.language.lift";
    case Tok::leftParen:
    case Tok::rightParen:
    case Tok::leftBracket:
    case Tok::rightBracket:
    case Tok::comma:
    case Tok::colon:
    case Tok::dot: return "punctuation.lift";
    default: return syntax::isReservedWord(kind) ? "keyword.control.lift" : "keyword.operator.lift";
  }
}

void checkText(const SourceFile& file, const std::vector<Rule>& rules, const std::set<std::string>& functions,
               int& tokens) {
  std::vector<Diagnostic> errors;
  std::vector<Match> expected;
  for (const syntax::Token& t : syntax::lex(file, errors)) {
    if (t.kind == Tok::end || t.kind == Tok::error) continue;
    // A dot and the number behind it are one match.
    if (t.kind == Tok::number && !expected.empty() && expected.back().end == t.begin &&
        expected.back().scope == "punctuation.lift" && file.text[t.begin - 1] == '.') {
      expected.back() = {expected.back().begin, t.end, "variable.other.member.lift"};
      continue;
    }
    expected.push_back({t.begin, t.end, scopeOf(file.text.substr(t.begin, t.end - t.begin), t.kind, functions)});
  }
  REQUIRE(errors.empty());
  std::vector<Match> found = classified(file.text, rules);
  std::erase_if(found, [](const Match& m) { return m.scope == "comment.line.double-dash.lift"; });
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    INFO(placeOf({&file, static_cast<std::uint32_t>(expected[i].begin), static_cast<std::uint32_t>(expected[i].end)}));
    REQUIRE(found[i].scope == expected[i].scope);
    REQUIRE(found[i].begin == expected[i].begin);
    REQUIRE(found[i].end == expected[i].end);
    ++tokens;
  }
  REQUIRE(found.size() == expected.size());
}

}  // namespace

TEST_CASE("the TextMate grammar classifies every program as the lexer does") {
  const auto grammar = nlohmann::json::parse(textOf(root / "editors/vscode/syntaxes/lift.tmLanguage.json"));
  std::vector<Rule> rules;
  for (const auto& rule : grammar.at("patterns"))
    rules.push_back({rule.at("name"), std::regex(rule.at("match").get<std::string>())});
  const std::set<std::string> names = functions();
  int tokens = 0;
  for (const char* folder : {"examples", "tests/programs", "src/text"})
    for (const auto& entry : std::filesystem::directory_iterator(root / folder))
      if (entry.path().extension() == ".lift")
        checkText(*addSource(entry.path().string(), textOf(entry.path())), rules, names, tokens);
  checkText(*addSource("literals.lift",
                       "import \"a.lift\" as a type t' = f32x4 -- def\n"
                       "0xffu8 0b101 1e-3f16 2.0h16 h16x4 1.5 7i64 p.0.1 x' def' in_ 1..16 a|>b|c||d&e&&f<<g>=h>>2 "
                       "~x ^ -1 != !y => -> true inf' [2]<4>f32 sqrt sqrt' sqrts nat i8x16 f32x5"),
            rules, names, tokens);
  CHECK(tokens > 5000);
}

TEST_CASE("the grammars know the names of the tables") {
  const std::set<std::string> names = functions();
  const std::string vim = textOf(root / "editors/vim/syntax/lift.vim");
  std::set<std::string> found;
  const std::regex line("syntax keyword liftFunction(.*)"), word("\\w+");
  for (std::sregex_iterator l(vim.begin(), vim.end(), line), none; l != none; ++l) {
    const std::string words = (*l)[1];
    for (std::sregex_iterator w(words.begin(), words.end(), word); w != none; ++w) found.insert(w->str());
  }
  CHECK(found == names);
  for (int k = 0; k < syntax::tokCount; ++k)
    if (syntax::isReservedWord(static_cast<Tok>(k)))
      CHECK(std::regex_search(vim, std::regex("syntax keyword lift(Declaration|Keyword|Constant).* " +
                                              std::string(syntax::spelling(static_cast<Tok>(k))) + "\\b")));
}
