// Diagnostics: what a user reads when a program, a file or a device is wrong.
//
// User errors and internal errors are different types. A user error carries diagnostics and an exit status
// (the command-line contract: 1 program or data, 2 usage, 3 device or driver, 4 results wrong). An internal error
// is a bug of the compiler.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "lift/source.hpp"

namespace lift {

enum class Severity { error, warning, note };

struct Diagnostic {
  Severity severity = Severity::error;
  Span span;            // may be empty: then only the message is printed
  std::string message;  // one sentence, lower case, no full stop
  std::string hint;     // what to do; may be empty
  std::vector<Diagnostic> notes;
};

// "file:line:col: error: message", the source line, a caret line under the span, "  hint: …", then the notes.
// Without a span: "error: message". Ends with a newline.
std::string render(const Diagnostic& diagnostic);
std::string render(const std::vector<Diagnostic>& diagnostics);

enum class ExitStatus { ok = 0, program = 1, usage = 2, device = 3, wrong = 4 };

// Thrown for everything a user can cause and mend.
class UserError : public std::runtime_error {
 public:
  UserError(ExitStatus status, std::vector<Diagnostic> diagnostics);
  // A single diagnostic.
  UserError(ExitStatus status, std::string message, std::string hint = {}, Span span = {});

  ExitStatus status() const { return status_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  ExitStatus status_;
  std::vector<Diagnostic> diagnostics_;
};

// At most this many errors of one text are shown.
inline constexpr std::size_t mostErrors = 20;

// Throws the errors of one text, the first `mostErrors` in its order and the number of the others, with the status
// of a wrong program; unless there are none.
void throwErrors(std::vector<Diagnostic> errors);

// A broken invariant of the compiler itself.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws InternalError with the message unless the condition holds.
inline void ensure(bool condition, const char* message) {
  if (!condition) throw InternalError(message);
}

}  // namespace lift
