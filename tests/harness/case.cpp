#include "harness/case.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace lift::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool startsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Blank lines at the end do not count, and the last line always ends with a newline.
std::string trimmed(std::string_view text) {
  std::vector<std::string> lines = linesOf(text);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return joined(lines);
}

// A line of a section that would read as structure stands behind a backslash.
bool needsEscape(std::string_view line) {
  return startsWith(line, "===") || startsWith(line, "$ ") || startsWith(line, "\\");
}
std::string escaped(const std::string& text) {
  std::vector<std::string> lines = linesOf(text);
  for (std::string& line : lines)
    if (needsEscape(line)) line.insert(0, 1, '\\');
  return joined(lines);
}

// The value of "KEY: value", if the line is that setting.
std::optional<std::string> setting(const std::string& line, std::string_view key) {
  if (!startsWith(line, key) || !startsWith(std::string_view(line).substr(key.size()), ": ")) return std::nullopt;
  return line.substr(key.size() + 2);
}

bool knownTitle(const std::string& title) {
  for (const char* known : {"program", "stdin", "stdout", "stderr", "stdout has", "stderr has", "stdout json"})
    if (title == known) return true;
  return startsWith(title, "file ") && title.find('/') == std::string::npos && title.size() > 5;
}

class Parser {
 public:
  Parser(const std::string& name, std::string_view text) : lines_(linesOf(text)) { case_.name = name; }

  Case parse() {
    while (more() && !startsWith(line(), "$ ")) parsePreamble();
    while (more()) parseStep();
    if (case_.steps.empty()) fail("no command: a line that starts with `$ `");
    return std::move(case_);
  }

 private:
  bool more() const { return at_ < lines_.size(); }
  const std::string& line() const { return lines_[at_]; }
  [[noreturn]] void fail(const std::string& message) const {
    throw CaseError(case_.name + ".test:" + std::to_string(std::min(at_ + 1, lines_.size())) + ": " + message);
  }

  void parsePreamble() {
    if (auto what = setting(line(), "needs")) {
      if (*what != "cl" && *what != "processor") fail("unknown need `" + *what + "`; there are `cl` and `processor`");
      case_.needs.push_back(*what);
    } else if (!line().empty() && line()[0] != '#') {
      fail("before the first command stand `# comments` and `needs: cl`");
    }
    case_.preamble.push_back(line());
    ++at_;
  }

  void parseStep() {
    Step step;
    step.command = line().substr(2);
    for (++at_; more() && !startsWith(line(), "===") && !startsWith(line(), "$ "); ++at_) parseSetting(step);
    while (more() && startsWith(line(), "===")) parseSection(step);
    case_.steps.push_back(std::move(step));
  }

  void parseSetting(Step& step) {
    if (line().empty()) return;
    if (auto status = setting(line(), "status")) {
      if (status->empty() || status->find_first_not_of("0123456789") != std::string::npos || status->size() > 3)
        fail("a status is a number");
      step.status = std::stoi(*status);
    } else if (line() == "stdout: any") {
      step.anyStdout = true;
    } else if (line() == "stderr: any") {
      step.anyStderr = true;
    } else {
      fail("expected `status: N`, `stdout: any`, `stderr: any` or a section");
    }
  }

  void parseSection(Step& step) {
    if (!startsWith(line(), "=== ") || !knownTitle(line().substr(4))) fail("unknown section `" + line() + "`");
    Section section{line().substr(4), {}};
    if (step.section(section.title)) fail("a second section `" + section.title + "`");
    std::vector<std::string> body;
    for (++at_; more() && !startsWith(line(), "===") && !startsWith(line(), "$ "); ++at_)
      body.push_back(startsWith(line(), "\\") ? line().substr(1) : line());
    section.text = trimmed(joined(body));
    step.sections.push_back(std::move(section));
  }

  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  Case case_;
};

// Whether `actual` contains `expected`: objects may have further members; arrays match element by element; the
// strings "<any>", "<number>", "<string>", "<array>", "<object>", "<boolean>" stand for values. Where it does not, says
// so.
std::string jsonMismatch(const json& expected, const json& actual, const std::string& path) {
  if (expected.is_string()) {
    const auto& word = expected.get_ref<const std::string&>();
    if (word == "<any>" || word == "<" + std::string(actual.type_name()) + ">") return {};
  }
  if (expected.is_object() && actual.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      const std::string at = path + "." + key;
      if (!actual.contains(key)) return at + " is missing";
      if (std::string wrong = jsonMismatch(value, actual.at(key), at); !wrong.empty()) return wrong;
    }
    return {};
  }
  if (expected.is_array() && actual.is_array() && expected.size() == actual.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (std::string wrong = jsonMismatch(expected[i], actual[i], path + "[" + std::to_string(i) + "]");
          !wrong.empty())
        return wrong;
    return {};
  }
  if (expected == actual) return {};
  return path + " is " + actual.dump() + ", expected " + expected.dump();
}

std::string exactMismatch(const std::string& expected, const std::string& actual) {
  const std::vector<std::string> want = linesOf(trimmed(expected)), got = linesOf(trimmed(actual));
  if (want == got) return {};
  std::size_t same = 0;
  while (same < want.size() && same < got.size() && want[same] == got[same]) ++same;
  std::string message = "differs at line " + std::to_string(same + 1) + "\n";
  for (std::size_t i = 0; i < same; ++i) message += "    " + want[i] + "\n";
  for (std::size_t i = same; i < want.size(); ++i) message += "  - " + want[i] + "\n";
  for (std::size_t i = same; i < got.size(); ++i) message += "  + " + got[i] + "\n";
  return message;
}

// Every expected line occurs, within a line of its own, in this order.
std::string hasMismatch(const std::string& expected, const std::string& actual) {
  const std::vector<std::string> got = linesOf(actual);
  std::size_t at = 0;
  for (const std::string& want : linesOf(expected)) {
    while (at < got.size() && got[at].find(want) == std::string::npos) ++at;
    if (at == got.size()) return "lacks, in this order: " + want + "\nthe whole:\n" + actual;
    ++at;
  }
  return {};
}

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void spit(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw CaseError("cannot write " + path.string());
}

std::string quoted(const fs::path& path) {
  std::string result = "'";
  for (char c : path.string()) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

void replaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

Outcome runStep(const Step& step, const std::string& name, const fs::path& root, const fs::path& dir) {
  // Captured beside the case's directory, so that a command that lists it sees only the case's own files.
  const fs::path in = dir.string() + ".stdin", out = dir.string() + ".stdout", err = dir.string() + ".stderr";
  spit(in, step.section("stdin").value_or(""));
  const std::string line = "cd " + quoted(root) + " && {\n" + substitute(step.command, name, dir) + "\n} <" +
                           quoted(in) + " >" + quoted(out) + " 2>" + quoted(err);
  const int raw = std::system(line.c_str());
  Outcome outcome;
  outcome.status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  outcome.out = normalise(slurp(out), name, dir);
  outcome.err = normalise(slurp(err), name, dir);
  return outcome;
}

void setUpEnvironment(const fs::path& bin, bool needsDevice) {
  const char* path = std::getenv("PATH");
  setenv("PATH", (bin.string() + ":" + (path ? path : "/usr/bin:/bin")).c_str(), 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  setenv("NO_COLOR", "1", 1);
  if (!needsDevice) {
    unsetenv("LIFTC_PLATFORM");
    unsetenv("LIFTC_DEVICE");
  }
}

}  // namespace

std::optional<std::string> Step::section(std::string_view title) const {
  for (const Section& section : sections)
    if (section.title == title) return section.text;
  return std::nullopt;
}

Expectation Step::expected(std::string_view stream) const {
  const std::string title(stream);
  if (stream == "stdout" ? anyStdout : anyStderr) return {Expectation::Kind::any, {}};
  if (auto text = section(title + " has")) return {Expectation::Kind::has, *text};
  if (auto text = section(title + " json")) return {Expectation::Kind::json, *text};
  return {Expectation::Kind::exact, section(title).value_or("")};
}

Case parseCase(const std::string& name, std::string_view text) { return Parser(name, text).parse(); }

std::string printCase(const Case& testCase) {
  std::string text = joined(testCase.preamble);
  for (const Step& step : testCase.steps) {
    if (&step != &testCase.steps.front()) text += "\n";
    text += "$ " + step.command + "\n";
    if (step.status != 0) text += "status: " + std::to_string(step.status) + "\n";
    if (step.anyStdout) text += "stdout: any\n";
    if (step.anyStderr) text += "stderr: any\n";
    for (const Section& section : step.sections) text += "=== " + section.title + "\n" + escaped(section.text);
  }
  return text;
}

std::string substitute(const std::string& command, const std::string& name, const fs::path& dir) {
  const auto blank = [&](std::size_t i) {
    return i >= command.size() || std::isspace(static_cast<unsigned char>(command[i]));
  };
  std::string result;
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == '%' && i + 1 < command.size() && command[i + 1] == '/')
      result += dir.string();
    else if (command[i] == '%' && (i == 0 || blank(i - 1)) && blank(i + 1))
      result += (dir / (name + ".lift")).string();
    else
      result += command[i];
  }
  return result;
}

std::string normalise(std::string text, const std::string& name, const fs::path& dir) {
  replaceAll(text, (dir / (name + ".lift")).string(), "%");
  replaceAll(text, dir.string() + "/", "%/");
  return text;
}

std::string mismatch(const Expectation& expected, const std::string& actual) {
  switch (expected.kind) {
    case Expectation::Kind::any: return {};
    case Expectation::Kind::exact: return exactMismatch(expected.text, actual);
    case Expectation::Kind::has: return hasMismatch(expected.text, actual);
    case Expectation::Kind::json: break;
  }
  const json got = json::parse(actual, nullptr, false);
  if (got.is_discarded()) return "is no JSON:\n" + actual;
  if (expected.text.empty()) return {};
  const json want = json::parse(expected.text, nullptr, false);
  if (want.is_discarded()) return "cannot be compared: the expectation is no JSON\n";
  const std::string wrong = jsonMismatch(want, got, "$");
  return wrong.empty() ? wrong : wrong + "\nthe whole:\n" + got.dump(2) + "\n";
}

std::string judge(const Step& step, const Outcome& outcome) {
  std::string report;
  if (outcome.status != step.status)
    report += "status is " + std::to_string(outcome.status) + ", expected " + std::to_string(step.status) + "\n";
  if (std::string wrong = mismatch(step.expected("stdout"), outcome.out); !wrong.empty()) report += "stdout " + wrong;
  if (std::string wrong = mismatch(step.expected("stderr"), outcome.err); !wrong.empty()) report += "stderr " + wrong;
  return report;
}

Step updated(Step step, const Outcome& outcome) {
  step.status = outcome.status;
  const auto take = [&](const std::string& stream, const std::string& actual) {
    if (step.expected(stream).kind != Expectation::Kind::exact) return;
    const auto found = std::find_if(step.sections.begin(), step.sections.end(),
                                    [&](const Section& section) { return section.title == stream; });
    const std::string text = trimmed(actual);
    if (found == step.sections.end()) {
      if (!text.empty()) step.sections.push_back({stream, text});
    } else if (text.empty()) {
      step.sections.erase(found);
    } else {
      found->text = text;
    }
  };
  take("stdout", outcome.out);
  take("stderr", outcome.err);
  return step;
}

bool isLacking(const Case& testCase, const fs::path& bin) {
  if (std::ranges::find(testCase.needs, "processor") == testCase.needs.end()) return false;
  const std::string first = quoted(bin / "liftc") + " devices --json | grep -m1 '\"type\"' | grep -q cpu";
  return std::system(first.c_str()) != 0;
}

std::string runCase(Case& testCase, const fs::path& root, const fs::path& bin, const fs::path& dir, bool update) {
  fs::remove_all(dir);
  fs::create_directories(dir);
  setUpEnvironment(bin, !testCase.needs.empty());
  for (const Step& step : testCase.steps) {
    for (const Section& section : step.sections) {
      if (section.title == "program") spit(dir / (testCase.name + ".lift"), section.text);
      if (startsWith(section.title, "file ")) spit(dir / section.title.substr(5), section.text);
    }
  }
  std::string report;
  for (Step& step : testCase.steps) {
    const Outcome outcome = runStep(step, testCase.name, root, dir);
    if (update) step = updated(std::move(step), outcome);
    if (std::string wrong = judge(step, outcome); !wrong.empty()) report += "$ " + step.command + "\n" + wrong;
  }
  return report;
}

}  // namespace lift::test
