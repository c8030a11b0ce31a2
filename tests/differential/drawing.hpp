// What the parts of the generator draw with: choices, fresh names, scalar expressions and definitions.
#pragma once

#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "differential/generator.hpp"

namespace lift::differential {

class Drawing {
 public:
  explicit Drawing(Choices& choices) : choices_(choices) {}

  std::int64_t pick(std::int64_t low, std::int64_t high) { return choices_.pick(low, high); }
  bool coin() { return choices_.coin(); }
  std::string oneOf(std::initializer_list<const char*> alternatives);
  void count(const std::string& construct) { used_[construct]++; }
  std::string fresh();

  // Expressions of a scalar variable, continuous in it; those of steps do not make errors grow, however often they are
  // repeated.
  std::string scalar(const std::string& v);
  std::string step(const std::string& v);

  // A definition that is handed over by name where a function of these parameters is wanted: itself, partially applied,
  // or another that it is an argument of. Its name may be one of the prelude's, or of a parameter there.
  std::string named(const std::vector<std::string>& parameters, const std::string& body);
  // The same of a given name; nothing where the program has another of that name.
  std::string namedAs(const std::string& name, const std::string& parameter, const std::string& body);
  // A call of a definition of these parameters. Expanded it is its body, where the arguments take the parameters'
  // place.
  std::string called(const std::vector<std::string>& parameters, const std::vector<std::string>& arguments,
                     const std::function<std::string(const std::vector<std::string>&)>& body);
  // A local name that is also bound inside of prelude definitions.
  std::string capturing();

  // Sums of floating-point numbers that the compiler may divide are rounded in another order then. What makes much of a
  // small difference (comparisons, indices) is drawn only where there was none of them before.
  bool isExact() const { return exact_; }
  void rounds() { exact_ = false; }

  // Whether the program has the size n.
  bool hasSize = false;

  Generated finish(const std::string& main);

 private:
  struct Name {
    std::string use, expansion;
  };
  std::string mark(std::string use, std::string expansion);
  std::string define(const std::string& name, const std::string& parameters, const std::string& body);
  std::string definedName();
  std::string replaced(const std::string& text, std::string Name::*by) const;

  Choices& choices_;
  std::map<std::string, int> used_;
  std::string definitions_;
  std::set<std::string> taken_;
  std::vector<Name> names_;
  int variables_ = 0;
  bool exact_ = true;
};

inline std::string parenthesised(const std::string& e) { return "(" + e + ")"; }

}  // namespace lift::differential
