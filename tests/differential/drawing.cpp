#include "differential/drawing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lift::differential {
namespace {

constexpr char open = '\x01', close = '\x02';  // around the number of a name, until the program is complete

std::string lambda(const std::vector<std::string>& parameters, const std::string& body) {
  const std::string all = fmt::format("{}", fmt::join(parameters, ", "));
  return fmt::format("(fun {} => {})", parameters.size() == 1 ? all : parenthesised(all), body);
}

}  // namespace

std::string Drawing::oneOf(std::initializer_list<const char*> alternatives) {
  return alternatives.begin()[pick(0, static_cast<std::int64_t>(alternatives.size()) - 1)];
}

std::string Drawing::fresh() { return fmt::format("v{}", variables_++); }

std::string Drawing::scalar(const std::string& v) {
  const std::int64_t kind = pick(0, 6);
  if (kind == 5) return fmt::format("fma({0}, {0}, 0.125)", v);
  if (kind == 6) {
    count("approximated function");
    rounds();
    return fmt::format(fmt::runtime(oneOf({"exp(min({}, 0.5))", "tanh({})", "log(abs({}) + 1.0)"})), v);
  }
  return step(v);
}

std::string Drawing::step(const std::string& v) {
  switch (pick(0, 4)) {
    case 0: return fmt::format("{} * 0.5 + 1.0", v);
    case 1: return fmt::format("max({}, 0.25)", v);
    case 2: return fmt::format("select({0} > 0.0, {0}, -{0} * 0.5)", v);
    case 3: return fmt::format("abs({}) - 0.5", v);
    default: return fmt::format("{} - 0.75", v);
  }
}

// ------------------------------------------------------------------------------------------------------- definitions

std::string Drawing::mark(std::string use, std::string expansion) {
  names_.push_back({std::move(use), std::move(expansion)});
  return fmt::format("{}{}{}", open, names_.size() - 1, close);
}

std::string Drawing::definedName() {
  // Names that the generator does not use for anything else.
  const std::string hidden =
      oneOf({"", "relu", "square", "sign", "sigmoid", "dotProduct", "mean", "row", "xs", "f", "plane", "arrays"});
  if (hidden.empty() || !taken_.insert(hidden).second) return fmt::format("d{}", variables_++);
  count("hidden name");
  return hidden;
}

std::string Drawing::define(const std::string& name, const std::string& parameters, const std::string& body) {
  definitions_ += fmt::format("def {}({}) = {}\n\n", name, parameters, body);
  return name;
}

std::string Drawing::named(const std::vector<std::string>& parameters, const std::string& body) {
  count("named function");
  const std::string all = fmt::format("{}", fmt::join(parameters, ", "));
  const std::string scaled = fmt::format("({}) * 0.75", body);
  switch (pick(0, 2)) {
    case 0: return mark(define(definedName(), all, body), lambda(parameters, body));
    case 1: {
      count("partial application");
      const std::string name = define(definedName(), "k, " + all, fmt::format("({}) * k", body));
      return mark(name + "(0.75)", lambda(parameters, scaled));
    }
    default: {
      count("function of a function");
      const std::string inner = define(definedName(), all, body);
      const std::string outer = define(definedName(), "g, " + all, fmt::format("g({}) * 0.75", all));
      return mark(fmt::format("{}({})", outer, inner), lambda(parameters, scaled));
    }
  }
}

std::string Drawing::namedAs(const std::string& name, const std::string& parameter, const std::string& body) {
  if (!taken_.insert(name).second) return "";
  count("named function");
  count("hidden name");
  return mark(define(name, parameter, body), lambda({parameter}, body));
}

std::string Drawing::called(const std::vector<std::string>& parameters, const std::vector<std::string>& arguments,
                            const std::function<std::string(const std::vector<std::string>&)>& body) {
  count("named function");
  const std::string name = define(definedName(), fmt::format("{}", fmt::join(parameters, ", ")), body(parameters));
  return mark(fmt::format("{}({})", name, fmt::join(arguments, ", ")), parenthesised(body(arguments)));
}

std::string Drawing::capturing() {
  const std::string name = oneOf({"row", "xs", "f", "plane", "arrays"});
  if (!taken_.insert(name).second) return fresh();
  count("hidden name");
  return mark(name, fresh());
}

std::string Drawing::replaced(const std::string& text, std::string Name::*by) const {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at++) {
    if (text[at] != open) {
      out += text[at];
      continue;
    }
    const std::size_t end = text.find(close, at);
    out += names_[std::stoul(text.substr(at + 1, end - at - 1))].*by;
    at = end;
  }
  return out;
}

Generated Drawing::finish(const std::string& main) {
  Generated g;
  g.used = used_;
  g.text = definitions_ + replaced(main, &Name::use);
  if (!names_.empty()) g.expanded = replaced(main, &Name::expansion);
  return g;
}

}  // namespace lift::differential
