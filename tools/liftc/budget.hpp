// What ends a search early: Ctrl-C, and limits of time.
#pragma once

#include <csignal>
#include <string>

namespace lift::liftc {

constexpr int interruptedStatus = 128 + SIGINT;  // of a command that Ctrl-C ended

// Ctrl-C ends the search, not the process, for as long as this lives; a second Ctrl-C ends the process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool isInterrupted();

 private:
  struct sigaction before_ {};
};

// "90s", "10m", "2h", or seconds; throws UserError (usage) that names the option.
double secondsOf(const std::string& text, const char* option);

}  // namespace lift::liftc
