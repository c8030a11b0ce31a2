#include "budget.hpp"

#include <fmt/format.h>

#include <exception>
#include <map>

#include "lift/diagnostic.hpp"

namespace lift::liftc {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

InterruptGuard::InterruptGuard() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &before_);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }

bool InterruptGuard::isInterrupted() { return interrupted != 0; }

double secondsOf(const std::string& text, const char* option) {
  const std::map<std::string, double> units = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}};
  constexpr double longest = 1e9;  // 30 years; not infinite
  std::size_t used = 0;
  try {
    const double value = std::stod(text, &used);
    const auto unit = units.find(text.substr(used));
    if (unit != units.end() && value >= 0 && value * unit->second <= longest) return value * unit->second;
  } catch (const std::exception&) {
  }
  throw UserError(ExitStatus::usage, fmt::format("{}: '{}' is no time", option, text), "write 90s, 10m or 2h");
}

}  // namespace lift::liftc
