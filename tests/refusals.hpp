// What the user is told of a mistake.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "lift/diagnostic.hpp"

namespace lift::test {

// The diagnostics with which f() is refused, and their status checked; none where it is not.
template <class F>
std::vector<Diagnostic> diagnosticsOf(F&& f, ExitStatus status = ExitStatus::program) {
  try {
    f();
  } catch (const UserError& error) {
    CHECK(error.status() == status);
    return error.diagnostics();
  }
  return {};
}

// The same as text; empty where it is not refused.
template <class F>
std::string refusalOf(F&& f, ExitStatus status = ExitStatus::program) {
  return render(diagnosticsOf(f, status));
}

}  // namespace lift::test
