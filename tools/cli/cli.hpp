// Options of a command line: the part of CLI11 that the tools use, under CLI11's names. Only cli.cpp includes CLI11,
// whose templates would otherwise take most of the build of every command.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cli {

// What App::parse throws for a wrong command line. The message is CLI11's.
class ParseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Option {
 public:
  explicit Option(CLI::Option& option) : option_(option) {}

  Option* required();
  Option* capture_default_str();               // the help shows the value that the variable has now
  Option* type_name(const std::string& name);  // with '=': each time it is given, one word or several NAME=VALUE
  Option* group(const std::string& name);      // "" hides the option
  Option* expected(int count);
  Option* expected(int least, int most);
  Option* delimiter(char c);
  Option* allow_extra_args(bool allow);
  Option* needs(Option* other);
  Option* excludes(Option* other);
  // Checks of the values.
  Option* positive();
  Option* nonNegative();
  Option* range(int least, int most);
  Option* oneOf(const std::vector<std::string>& values);
  Option* asSize();  // 4kB and 4MB are numbers of bytes, of powers of 1000; KiB and MiB of 1024

  std::size_t count() const;

 private:
  CLI::Option& option_;
};

// A command, perhaps of subcommands.
class App {
 public:
  explicit App(const std::string& description = {}, const std::string& name = {});
  ~App();

  // For T bool (flags), int, std::int64_t, std::uint64_t, double, std::string, and vectors of std::int64_t and
  // std::string. The variable lives as long as the App.
  template <class T>
  Option* add_option(const std::string& name, T& value, const std::string& description = {});
  Option* add_flag(const std::string& name, bool& value, const std::string& description = {});

  App* add_subcommand(const std::string& name, const std::string& description);
  void require_subcommand();
  void callback(std::function<void()> run);
  App* group(const std::string& name);  // "" hides the subcommand
  void version(const std::string& text);
  void help_all(const std::string& description);
  void footer(const std::string& text);

  Option* get_option(const std::string& name);
  std::size_t count(const std::string& option) const;
  bool has_subcommand(const std::string& name) const;

  // Runs the callback of the subcommand. Help, and errors with a hint, are printed; then returns the exit status,
  // `usage` for an error.
  std::optional<int> parse(int argc, char** argv, int usage);
  // Without the command's name. Throws ParseError.
  void parse(const std::vector<std::string>& arguments);

 private:
  explicit App(CLI::App& app);
  Option* add(CLI::Option* option);

  std::unique_ptr<CLI::App> root_;  // of the outermost command
  CLI::App& app_;
  std::deque<Option> options_;
  std::deque<std::unique_ptr<App>> subcommands_;
};

}  // namespace cli
