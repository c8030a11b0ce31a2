#include "cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <type_traits>
#include <utility>

namespace cli {
namespace {

// A check of a number. CLI11's own let NaN pass, and name the largest number that there is.
CLI::Validator number(const char* name, const char* meaning, bool (*holds)(double)) {
  return {[=](std::string& text) {
            double value = 0;
            const bool ok = CLI::detail::lexical_cast(text, value) && std::isfinite(value) && holds(value);
            return ok ? std::string() : fmt::format("{} is not {}", text, meaning);
          },
          name};
}

const CLI::Validator positiveNumber = number("POSITIVE", "a positive number", [](double x) { return x > 0; });
const CLI::Validator nonNegativeNumber = number("NONNEGATIVE", "a number from 0", [](double x) { return x >= 0; });

// "32768", "32KiB", "1.5MB": powers of 1000 or, with an i, of 1024; whole bytes, rounded down. Nothing for what is
// none, -1 for what 63 bits do not hold: CLI11's own reading of sizes takes no fractions, and the largest number for
// such.
std::optional<std::int64_t> bytesOf(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string unit = text.substr(std::min(text.find_first_not_of(' ', digits), text.size()));
  double value = 0;
  const char* const end = text.data() + digits;
  if (const auto read = std::from_chars(text.data(), end, value); read.ec != std::errc() || read.ptr != end)
    return std::nullopt;
  if (unit.ends_with('b')) unit.pop_back();
  const bool isBinary = unit.size() == 2 && unit.back() == 'i';
  if (isBinary) unit.pop_back();
  constexpr std::string_view prefixes = "kmgtpe";
  if (unit.size() > 1 || (!unit.empty() && prefixes.find(unit) == std::string_view::npos)) return std::nullopt;
  for (std::size_t power = unit.empty() ? 0 : prefixes.find(unit) + 1; power > 0; power--)
    value *= isBinary ? 1024 : 1000;
  constexpr double rounding = 1e-3;  // of powers of 1000
  const double bytes = std::floor(value + rounding);
  if (unit.empty() && bytes != value) return std::nullopt;
  if (bytes >= 0x1p63) return -1;
  return static_cast<std::int64_t>(bytes);
}

// Of a command's options the one that begins most like the word; empty where none has its first three letters.
std::string nearestOption(const CLI::App& command, const std::string& word) {
  std::string nearest;
  std::ptrdiff_t longest = std::ssize(std::string_view("--ab"));
  for (const CLI::Option* o : command.get_options())
    for (const std::string& name : o->get_lnames()) {
      const std::string option = "--" + name;
      const auto same = std::ranges::mismatch(option, word).in1 - option.begin();
      if (same <= longest || o->get_group().empty()) continue;
      longest = same;
      nearest = option;
    }
  return nearest;
}

// "--profile is an option of compile and conv": of the commands beside it that have the option.
std::string elsewhere(const CLI::App& root, const std::string& option) {
  std::vector<std::string> names;
  if (option.starts_with("--"))
    for (const CLI::App* sub : root.get_subcommands([](const CLI::App*) { return true; }))
      if (sub->get_option_no_throw(option) != nullptr) names.push_back(sub->get_name());
  return names.empty() ? "" : fmt::format("{} is an option of {}", option, fmt::join(names, ", "));
}

// CLI11's message; "--local: 'a' is not a number" for "Could not convert: --local = a".
std::string messageOf(const CLI::Error& e) {
  const std::string what = e.what();
  constexpr std::string_view prefix = "Could not convert: ", equals = " = ";
  const std::size_t at = what.find(equals);
  if (!what.starts_with(prefix) || at == std::string::npos) return what;
  return fmt::format("{}: '{}' is not a number", what.substr(prefix.size(), at - prefix.size()),
                     what.substr(at + equals.size()));
}

}  // namespace

Option* Option::required() { return option_.required(), this; }
Option* Option::capture_default_str() { return option_.capture_default_str(), this; }
Option* Option::type_name(const std::string& name) {
  // The word behind NAME=VALUE may be a file's name; App::parse knows further ones.
  if (name.find('=') != std::string::npos) option_.allow_extra_args(false);
  return option_.type_name(name), this;
}
Option* Option::group(const std::string& name) { return option_.group(name), this; }
Option* Option::expected(int count) { return option_.expected(count), this; }
Option* Option::expected(int least, int most) { return option_.expected(least, most), this; }
Option* Option::delimiter(char c) { return option_.delimiter(c), this; }
Option* Option::allow_extra_args(bool allow) { return option_.allow_extra_args(allow), this; }
Option* Option::needs(Option* other) { return option_.needs(&other->option_), this; }
Option* Option::excludes(Option* other) { return option_.excludes(&other->option_), this; }
Option* Option::positive() { return option_.check(positiveNumber), this; }
Option* Option::nonNegative() { return option_.check(nonNegativeNumber), this; }
Option* Option::range(int least, int most) { return option_.check(CLI::Range(least, most)), this; }
Option* Option::oneOf(const std::vector<std::string>& values) { return option_.check(CLI::IsMember(values)), this; }
Option* Option::asSize() {
  option_.transform({[](std::string& text) {
                       const auto bytes = bytesOf(text);
                       if (!bytes) return text + " is not a size, as 32768, 32KiB or 1.5MB";
                       if (*bytes < 0) return text + " is too large: sizes are below 2^63 bytes";
                       text = std::to_string(*bytes);
                       return std::string();
                     },
                     ""});
  return this;
}
std::size_t Option::count() const { return option_.count(); }

App::App(const std::string& description, const std::string& name)
    : root_(std::make_unique<CLI::App>(description, name)), app_(*root_) {
  app_.failure_message([](const CLI::App* root, const CLI::Error& e) {
    const auto subcommands = root->get_subcommands();
    const CLI::App* command = root;  // the innermost
    while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
    const auto known = command->get_subcommands([](const CLI::App*) { return true; });
    const std::vector<std::string> rest = root->remaining(true);
    if (!known.empty() && !rest.empty() && dynamic_cast<const CLI::RequiredError*>(&e) != nullptr) {
      std::string names;
      for (const CLI::App* sub : known) names += (names.empty() ? "" : ", ") + sub->get_name();
      return fmt::format("error: unknown subcommand '{}'\n  hint: those of {} are {}\n", rest.front(),
                         command->get_name(), names);
    }
    std::string hint;
    for (const std::string& unexpected : rest)
      if (hint.empty()) hint = nearestOption(*command, unexpected);
    if (!hint.empty()) hint = "there is " + hint;
    for (const std::string& unexpected : rest)
      if (hint.empty()) hint = elsewhere(*root, unexpected);
    return fmt::format("error: {}\n  hint: {}{}`{} {}--help` explains the usage\n", messageOf(e), hint,
                       hint.empty() ? "" : "; ", root->get_name(),
                       subcommands.empty() ? "" : subcommands.front()->get_name() + " ");
  });
}
App::App(CLI::App& app) : app_(app) {}
App::~App() = default;

Option* App::add(CLI::Option* option) { return &options_.emplace_back(*option); }

template <class T>
Option* App::add_option(const std::string& name, T& value, const std::string& description) {
  Option* option = add(app_.add_option(name, value, description));
  if constexpr (std::is_unsigned_v<T>) option->nonNegative();  // CLI11 takes -1 for the largest of all
  return option;
}
template Option* App::add_option(const std::string&, int&, const std::string&);
template Option* App::add_option(const std::string&, std::int64_t&, const std::string&);
template Option* App::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option* App::add_option(const std::string&, double&, const std::string&);
template Option* App::add_option(const std::string&, std::string&, const std::string&);
template Option* App::add_option(const std::string&, std::vector<std::int64_t>&, const std::string&);
template Option* App::add_option(const std::string&, std::vector<std::string>&, const std::string&);

Option* App::add_flag(const std::string& name, bool& value, const std::string& description) {
  return add(app_.add_flag(name, value, description));
}

App* App::add_subcommand(const std::string& name, const std::string& description) {
  return subcommands_.emplace_back(new App(*app_.add_subcommand(name, description))).get();
}
void App::require_subcommand() { app_.require_subcommand(1); }
void App::callback(std::function<void()> run) { app_.callback(std::move(run)); }
App* App::group(const std::string& name) { return app_.group(name), this; }
void App::version(const std::string& text) { app_.set_version_flag("--version", text); }
void App::help_all(const std::string& description) { app_.set_help_all_flag("--help-all", description); }
void App::footer(const std::string& text) { app_.footer(text); }

Option* App::get_option(const std::string& name) { return add(app_.get_option(name)); }
std::size_t App::count(const std::string& option) const { return app_.count(option); }
bool App::has_subcommand(const std::string& name) const {
  return !app_.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == name; }).empty();
}

namespace {

// The arguments from the last to the first, as CLI11 takes them. Further NAME=VALUE behind an option of such a value
// are its, too: `--size n=4 m=8` is `--size n=4 --size m=8`. Flags of another program's in one argument, "-n 1 -c 3",
// are no option, and get a blank in front.
std::vector<std::string> reversed(const std::vector<std::string>& arguments) {
  const auto isOption = [](const std::string& word) { return word.starts_with('-'); };
  const auto isNamed = [&](const std::string& word) { return !isOption(word) && word.find('=') != std::string::npos; };
  std::vector<std::string> words;
  std::deque<std::string> flags;
  const std::string* option = nullptr;  // whose values these are
  for (const std::string& argument : arguments) {
    const bool areFlags = argument.starts_with('-') && argument.find(' ') < argument.find('=');
    const std::string& word = areFlags ? flags.emplace_back(" " + argument) : argument;
    if (areFlags && !words.empty() && words.back() == "--") words.pop_back();  // they need it no longer
    if (isNamed(word) && option != nullptr && isNamed(words.back())) words.push_back(*option);
    if (isOption(word)) option = &word;
    if (!isOption(word) && !isNamed(word)) option = nullptr;
    words.push_back(word);
  }
  std::ranges::reverse(words);
  return words;
}

}  // namespace

std::optional<int> App::parse(int argc, char** argv, int usage) {
  try {
    app_.parse(reversed({argv + 1, argv + argc}));
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    return app_.exit(e) == 0 ? 0 : usage;
  }
}

void App::parse(const std::vector<std::string>& arguments) {
  try {
    app_.parse(reversed(arguments));
  } catch (const CLI::ParseError& e) {
    throw ParseError(e.what());
  }
}

}  // namespace cli
