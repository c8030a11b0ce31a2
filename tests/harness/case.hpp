// Command-line tests as files: a case is a text with commands and what they must print. tests/diagnostics/README.md
// describes the format.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lift::test {

// The text is no case; the message has file:line.
class CaseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "=== TITLE" and the lines below it, unescaped, without the blank lines at the end.
struct Section {
  std::string title;
  std::string text;  // every line ends with a newline
};

// What is demanded of one output stream.
struct Expectation {
  enum class Kind { exact, has, json, any };
  Kind kind = Kind::exact;
  std::string text;
};

// "$ COMMAND", its settings ("status: 1") and its sections.
struct Step {
  std::string command;
  int status = 0;
  bool anyStdout = false, anyStderr = false;
  std::vector<Section> sections;

  Expectation expected(std::string_view stream) const;  // "stdout" or "stderr"; without a section: exactly nothing
  // The text of the section of this title, if there is one.
  std::optional<std::string> section(std::string_view title) const;
};

struct Case {
  std::string name;                   // the file's name without its extension
  std::vector<std::string> preamble;  // lines before the first command: comments, settings, blank lines
  std::vector<std::string> needs;     // from "needs: cl"; "processor": the first OpenCL device is one
  std::vector<Step> steps;
};

Case parseCase(const std::string& name, std::string_view text);
// parseCase(name, printCase(c)) is c again; canonical texts are printed as they were.
std::string printCase(const Case& testCase);

// Standing for paths. In commands `%` as a word becomes DIR/NAME.lift and `%/` becomes DIR/; in what was printed the
// same paths become `%` and `%/` again.
std::string substitute(const std::string& command, const std::string& name, const std::filesystem::path& dir);
std::string normalise(std::string text, const std::string& name, const std::filesystem::path& dir);

// What is wrong with the output, as a message of several lines; empty when it is as expected.
std::string mismatch(const Expectation& expected, const std::string& actual);

struct Outcome {
  int status = 0;
  std::string out, err;  // normalised
};
// What is wrong with the outcome, streams and status together; empty when it is as expected.
std::string judge(const Step& step, const Outcome& outcome);
// The step as the outcome would have it: status and exact sections are taken from it, the other kinds stay.
Step updated(Step step, const Outcome& outcome);

// Whether the case needs what this machine does not have, so that it is to be skipped.
bool isLacking(const Case& testCase, const std::filesystem::path& bin);

// Runs all steps in the directory `root`, with `bin` first in the PATH and the empty directory `dir` for the case's
// files. Returns a report of what is wrong, empty when nothing is. With `update` the case itself is changed instead;
// kinds that are not exact are still judged.
std::string runCase(Case& testCase, const std::filesystem::path& root, const std::filesystem::path& bin,
                    const std::filesystem::path& dir, bool update);

}  // namespace lift::test
