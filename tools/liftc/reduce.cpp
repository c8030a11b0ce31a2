// liftc reduce: the smallest program, derivation and configuration with which a command still fails.

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "common.hpp"
#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/process.hpp"
#include "lift/reduce.hpp"

namespace lift::liftc {
namespace {

struct ReduceOptions {
  std::string program, derivation, command, contains, output;
  std::vector<std::string> config;
  double limit = 60;
  std::int64_t attempts = 2000;
};

// What is given to the command; what it has no place for stays empty.
struct Inputs {
  std::string program, derivation;
  Config config;
};

std::string contentsOf(const std::string& file) { return file.empty() ? "" : readInput(file); }

std::string replacedAll(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  return lines;
}

// Without the line's end, which messages have of their own.
std::string withoutEnd(const std::string& text) { return text.substr(0, text.find_last_not_of("\n") + 1); }

class Reduction {
 public:
  explicit Reduction(const ReduceOptions& options)
      : options_(options),
        inputs_{contentsOf(options.program), contentsOf(options.derivation), {}},
        programFile_(folder_.path() / "program.lift"),
        derivationFile_(folder_.path() / "derivation.txt") {
    inputs_.config = parseValues(options.config, "--config");
    if (options.command.find("{}") == std::string::npos)
      throw UserError(ExitStatus::usage, "--command has no {} where the program's file belongs",
                      "as in --command 'liftc run {} --fill random:1'");
  }

  // Until nothing can be made smaller while the rest stays as it is.
  Inputs run() {
    const Finished first = outcomeOf(inputs_);
    if (first.status == 0 && options_.contains.empty())
      throw UserError(ExitStatus::usage, "the command does not fail",
                      "its exit status is 0; --contains TEXT reduces what makes it print something");
    if (first.status == 127)
      throw UserError(ExitStatus::usage, fmt::format("the command cannot be executed: {}", withoutEnd(first.output)));
    if (first.output.find(options_.contains) == std::string::npos)
      throw UserError(ExitStatus::usage, fmt::format("the command does not print '{}'", options_.contains),
                      fmt::format("it printed: {}", withoutEnd(first.output.substr(0, 300))));
    end_ = first.end;
    for (std::size_t before = 0; before != size();) {
      before = size();
      if (!inputs_.config.empty())
        reducedConfig(inputs_.config, [&](const Config& c) { return tries(&Inputs::config, c); });
      reducedList(linesOf(inputs_.derivation), [&](const std::vector<std::string>& lines) {
        return tries(&Inputs::derivation, fmt::format("{}", fmt::join(lines, "")));
      });
      reducedProgram(inputs_.program, [&](const std::string& p) { return tries(&Inputs::program, p); });
    }
    return inputs_;
  }

  std::int64_t attempts() const { return attempts_; }

 private:
  std::size_t size() const {
    std::size_t numbers = 0;
    for (const auto& [name, value] : inputs_.config) numbers += 1 + static_cast<std::size_t>(value);
    return inputs_.program.size() + inputs_.derivation.size() + numbers;
  }

  // Takes the value in place of the present one where the inputs still fail with it; returns whether they do.
  template <class T>
  bool tries(T Inputs::*what, const T& value) {
    Inputs candidate = inputs_;
    if (candidate.*what == value) return true;
    candidate.*what = value;
    if (attempts_ >= options_.attempts) return false;
    attempts_++;
    const Finished finished = outcomeOf(candidate);
    if (finished.end != end_ || finished.output.find(options_.contains) == std::string::npos) return false;
    inputs_ = std::move(candidate);
    return true;
  }

  Finished outcomeOf(const Inputs& inputs) const {
    std::ofstream(programFile_, std::ios::binary) << inputs.program;
    std::ofstream(derivationFile_, std::ios::binary) << inputs.derivation;
    std::string command = replacedAll(options_.command, "{derivation}", derivationFile_.string());
    command = replacedAll(command, "{config}", str(inputs.config));
    command = replacedAll(command, "{}", programFile_.string());
    return runProgram({"/bin/sh", "-c", command}, ".", options_.limit);
  }

  const ReduceOptions& options_;
  Inputs inputs_;
  TemporaryFolder folder_;
  std::filesystem::path programFile_, derivationFile_;
  std::string end_;  // how the command ends that fails
  std::int64_t attempts_ = 0;
};

int reduce(const ReduceOptions& options) {
  Reduction reduction(options);
  const Inputs smallest = reduction.run();
  std::cerr << fmt::format("{} candidates tried{}\n", reduction.attempts(),
                           reduction.attempts() == options.attempts ? ", all that --attempts allows" : "");
  if (options.output.empty()) {
    std::cout << smallest.program;
    if (!options.derivation.empty()) std::cout << "-- derivation\n" << smallest.derivation;
    if (!options.config.empty()) std::cout << "-- config " << str(smallest.config) << "\n";
    return 0;
  }
  writeFile(options.output, smallest.program);
  if (!options.derivation.empty()) writeFile(options.output + ".derivation", smallest.derivation);
  if (!options.config.empty()) writeFile(options.output + ".config", str(smallest.config) + "\n");
  return 0;
}

}  // namespace

void addReduce(cli::App& app, int& status) {
  auto o = std::make_shared<ReduceOptions>();
  cli::App* sub = app.add_subcommand("reduce", "Shrink a program, a derivation and values while a command fails");
  sub->add_option("file", o->program, "The program, a .lift file")->required();
  sub->add_option("--command", o->command,
                  "Shell command; {} is the program's file, {derivation} that of the derivation, {config} the values")
      ->required();
  sub->add_option("--contains", o->contains, "It fails only where it also prints this");
  sub->add_option("--derivation", o->derivation, "A derivation, of which steps are left out")->type_name("FILE");
  sub->add_option("--config", o->config, "Values, which become fewer and smaller")->type_name("K=V,…");
  sub->add_option("--limit", o->limit, "Seconds after which a command is stopped")->capture_default_str();
  sub->add_option("--attempts", o->attempts, "Most candidates to try")->positive()->capture_default_str();
  sub->add_option("-o,--output", o->output, "File for the program (default: print all)")->type_name("FILE");
  onCall(*sub, status, [o] { return reduce(*o); });
}

}  // namespace lift::liftc
