// Texts parsed, and what a user would read of their errors.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "brief.hpp"
#include "lift/diagnostic.hpp"
#include "lift/text.hpp"
#include "refusals.hpp"
#include "show.hpp"

namespace lift::test {

inline Module parse(const std::string& text) { return parseModule(*addSource("t.lift", text)); }

inline SynPtr parseExpr(const std::string& text) { return parse("def it = " + text).definitions.at(0).body; }

inline std::string expr(const std::string& text) { return show(*parseExpr(text)); }
inline std::string type(const std::string& text) { return show(*parseType(*addSource("type", text))); }

// What a user would read.
inline std::string errorsOf(const std::string& text) {
  return refusalOf([&] { parse(text); });
}
inline std::string briefly(const std::string& text) { return brief(errorsOf(text)); }

inline std::string covered(const Span& span) { return span.file->text.substr(span.begin, span.end - span.begin); }

template <class Form>
const Form& as(const SynPtr& syn) {
  return std::get<Form>(syn->node);
}

inline std::string repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace lift::test
