// Inputs made smaller while something still fails, for reports by users and for tests.
//
//   const std::string small = reducedProgram(text, [](const std::string& candidate) { return crashes(candidate); });
//
// `fails` is asked many times, never twice for the same, and must say yes for what it is given at first; what comes
// back is the smallest that it said yes to. The order of questions is fixed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lift/space.hpp"

namespace lift {

// A part of the list that fails and of which no single element can be left out (ddmin: Zeller and Hildebrandt, TSE
// 2002).
std::vector<std::string> reducedList(std::vector<std::string> parts,
                                     const std::function<bool(const std::vector<std::string>&)>& fails);

// Fewer lines, then fewer words.
std::string reducedText(const std::string& text, const std::function<bool(const std::string&)>& fails);

// A program, by its syntax tree: every candidate parses and type-checks. A term becomes a part of itself, a variable in
// scope or a number; the result becomes a part of it; sizes and literals become smaller; what is not used is left out.
// Text that is no program, or does not fail any more when it is printed anew, is reduced as text.
std::string reducedProgram(const std::string& text, const std::function<bool(const std::string&)>& fails);

// Fewer values, then smaller ones: not below 0.
Config reducedConfig(Config config, const std::function<bool(const Config&)>& fails);

}  // namespace lift
