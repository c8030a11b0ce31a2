// What is said when a driver brings the process down.
#include "crash.hpp"

#include <unistd.h>

#include <array>
#include <csignal>
#include <string_view>

#include "lift/device.hpp"

namespace lift::liftc {
namespace {

// Ends the process by the signal, as if nobody had handled it.
extern "C" void onCrash(int signal) {
  constexpr std::string_view text =
      "error: the driver or a kernel crashed\n"
      "  hint: another --device, --family or --config may avoid it; `liftc reduce` makes a program small, for a "
      "report to the driver's makers\n";
  if (runtime::isDriverAtWork()) static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  raise(signal);
}

}  // namespace

void tellOfDriverCrashes() {
  static std::array<char, 1U << 16U> stack;  // the usual one may have overflowed
  stack_t other = {};
  other.ss_sp = stack.data();
  other.ss_size = stack.size();
  sigaltstack(&other, nullptr);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    struct sigaction now = {};
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;  // a sanitizer's, for instance
    struct sigaction action = {};
    action.sa_handler = onCrash;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_ONSTACK;
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace lift::liftc
