// Rewriting: rules, strategies, derivations.
//
//   const Rule& rule = ruleNamed("mapSplit");  // map(f, xs) => join(map(fun ys => map(f, ys), split(k, xs)))
//   Rewriting rewriting(program);
//   rewriting.apply(topDown(seq(use("mapSplit", {{"k", 4}}), use("mapToLoop"))));
//   rewriting.program()                                    // with the conditions that the rules left
//   rewriting.derivation()                                 // what was done where: replay gives the same program
//
// Rules are terms on both sides, written in the language itself; what they need of sizes follows from typing the right
// side. Strategies are functions from terms to terms, composed as in ELEVATE (Hagedorn et al., ICFP 2020). Terms are
// kept in long normal form (etaLong), so that every function in argument position is a lambda.
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lift/expr.hpp"
#include "lift/syntax.hpp"
#include "lift/terms.hpp"

namespace lift::rewrite {

// ------------------------------------------------------------------------------------------------------------ rules

// What a rule asks of its terms beyond their types.
enum class When : std::uint8_t {
  always,
  inlines,      // let: its value only moves data, or is used once, outside of every function
  moves,        // the function f only moves data
  selects,      // it only moves data and takes elements of it
  computes,     // it does more
  rounds,       // nothing; equal without rounding (exact.hpp), while floating-point results may round differently
  accumulates,  // the reduction only adds (multiplies, …) to its accumulator, so its elements may come in any order
  linear,       // the function f is linear: of sums the sum, of multiples the multiple; results may round differently
};

std::string_view meaning(When when);  // "f only moves data"; empty for always

// A row of the tables, on one line: name, text, origin. `f((x, y))` on the left matches any body that uses x and y, and
// `c((x, e))`, where e is no bound variable, any body with a subterm e.
struct RuleRow {
  std::string_view name;
  std::string_view text;    // left => right
  std::string_view origin;  // where it comes from: a paper's section, or the identity it instantiates
  When when = When::always;
  bool whole = false;            // functions are moved as they are, with the names in them
  std::string_view halves = {};  // text of the forms of f16 and h16, whose literals hold fewer numbers; empty: the same
};

using Arguments = std::map<std::string, Nat>;  // of a rule's tunables

// What a rule does where no pattern can say it: the new term, nothing where the rule does not apply.
using Computation = std::function<std::optional<Expr>(Expr term, const Arguments& arguments)>;

// One typed rule. Typing it throws UserError with the place in its text: sides of different types, a metavariable on
// the right that the left does not bind. Sizes that only the right side has are tunables: the strategy gives them.
// `float` in its text stands for each floating-point type: the rule has a form for every one of them.
class Rule {
 public:
  // Typed when it is first used: a program needs few of the rules that there are.
  explicit Rule(const RuleRow& row);
  // A user's rule, typed at once.
  Rule(std::string name, const std::string& text);
  // A computed rule. What it applies to `compute` says. The row's left side is a form of it from which instances are
  // drawn to check the rule; the right side tells a reader what is made, and is not typed.
  Rule(const RuleRow& row, std::vector<std::string> tunables, Computation compute);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  const std::string& origin() const { return origin_; }
  When when() const { return when_; }
  const TypedRule& typed() const { return built().typed; }   // of a rule with forms, that of f32
  const Rule& formFor(Expr term) const;                      // the form of the type that the term's elements have
  const std::vector<Rule>& forms() const { return forms_; }  // of other floating-point types than f32
  const std::vector<std::string>& tunables() const { return built().tunables; }
  const Computation& computation() const { return compute_; }  // empty where the right side is a term
  // Type variables that the rule makes vectors of: they stand for scalars only.
  const std::set<std::uint64_t>& vectorElements() const { return built().vectorElements; }

 private:
  struct Built {
    TypedRule typed;
    std::vector<std::string> tunables;
    std::set<std::uint64_t> vectorElements;
  };
  struct Lazily {
    std::once_flag once;
    Built built;
  };
  const Built& built() const;
  void build(Built& out) const;
  void addForms();

  std::string name_, text_, origin_, halves_;
  Scalar float_ = Scalar::f32;  // what `float` stands for
  When when_ = When::always;
  bool whole_ = false;
  Computation compute_ = {};
  std::vector<std::string> computedTunables_ = {};
  std::shared_ptr<Lazily> lazily_ = std::make_shared<Lazily>();  // of all copies
  std::vector<Rule> forms_ = {};                                 // of other floating-point types than f32
};

struct RuleTable {
  std::string name;     // "algorithmic", "movement", …
  std::string meaning;  // one line
  std::vector<Rule> rules;
};
const std::vector<RuleTable>& ruleTables();
// A table of rules that modules above have, so that derivations replay. Not while others read the tables.
void registerRules(RuleTable table);
const Rule& ruleNamed(std::string_view name);  // throws UserError (usage), with what is near

// A rule at the root of a term: the new term and what it assumes of sizes, or why it does not apply.
struct Applied {
  std::optional<Expr> term;
  std::vector<SizeCondition> conditions;
  std::string reason;  // "needs 5 | 112": only when the left side fits
};
Applied applyRule(const Rule& rule, Expr term, const Arguments& arguments = {}, const std::vector<Divides>& facts = {});

// ------------------------------------------------------------------------------------------------------ derivations

// Where in a term: of a lambda 0 is the body; of an application 0 is the function, 1 the argument.
using Path = std::vector<std::uint8_t>;

// Where the part first stands in the term, where there is such a place not below a condition.
std::optional<Path> pathOf(Expr part, Expr term);
Expr partAt(Expr term, const Path& path);

// A rule for a term and a place within it: "mapFission<0101>".
std::string ruleAt(std::string rule, const Path& place);

Path operator+(Path path, const Path& below);
Path argumentPath(const Spine& application, std::size_t i);  // from an application to its i-th argument
bool isAbove(const Path& path, const Path& below);           // or the same place

struct Step {
  std::string rule;
  Arguments arguments;
  Path path;

  std::string str() const;  // "mapSplit(k = 4) at 10011"; an empty path is written as a dot
};

// How a program came to be: apply the steps, in order, to the program it started from. As text, one step a line.
struct Derivation {
  std::vector<Step> steps;
  std::map<std::string, std::string> rules;  // texts of the rules that were applied, by name; of parsed ones, none

  std::string str() const;
  // The steps, then the texts of their rules as comments: all that the result stands on.
  std::string record() const;
  // Of str() or record(). Arguments are sizes as Nat::str() prints them, of the program's sizes and tunables.
  static Derivation parse(const std::string& text, const Program& program);
};

// ------------------------------------------------------------------------------------------------------- strategies

class Rewriting;

// A term, or nothing when the strategy does not apply.
using Strategy = std::function<std::optional<Expr>(Expr, Rewriting&)>;

Strategy use(std::string_view rule, Arguments arguments = {});
Strategy use(const Rule& rule, Arguments arguments = {});

Strategy identity();
Strategy fail();
Strategy seq(std::vector<Strategy> strategies);  // all, one after the other; nothing if one does not apply
Strategy orElse(Strategy first, Strategy second);
Strategy attempt(Strategy s);     // s, or the term as it is
Strategy repeat(Strategy s);      // as long as it applies
Strategy one(Strategy s);         // at the first child where it applies
Strategy all(Strategy s);         // at every child; nothing if one refuses
Strategy topDown(Strategy s);     // at the first place where it applies, from the root, in the order of the text
Strategy bottomUp(Strategy s);    // at the first place where it applies, from the leaves
Strategy everywhere(Strategy s);  // wherever it applies, each place once, from the root
Strategy normalise(const std::vector<std::string>& rules);     // until none of the rules applies anywhere
Strategy when(std::function<bool(Expr)> holds, Strategy s);    // to a term of which that holds
Strategy inside(std::function<bool(Expr)> where, Strategy s);  // at the first place that `where` accepts
Strategy body(Strategy s);                                     // under the lambda
Strategy function(Strategy s);       // to the function (last argument but one) of a primitive's application
Strategy argument(Strategy s);       // to the array (last argument) of a primitive's application
Strategy at(Path path, Strategy s);  // there

// Gives the term that it is applied to a name, by which later steps find it again: see Rewriting::places.
Strategy name(std::string name);
// s at the place of that name below the term that this is applied to; where the place was copied, at every copy.
Strategy atName(std::string name, Strategy s);
template <std::convertible_to<std::string> Name>
Strategy at(const Name& name, Strategy s) {  // a path in braces is no name
  return atName(name, std::move(s));
}

// A strategy with a name, for the messages of failures.
Strategy named(std::string name, Strategy s);

// A program in the course of being rewritten.
class Rewriting {
 public:
  explicit Rewriting(const Program& program, int budget = 100000);

  // Applies the strategy to the body. Throws UserError (program), with the closest misses of its rules, when it does
  // not apply, and when the budget of steps is used up.
  void apply(const Strategy& strategy);
  // The same, but false when it does not apply.
  bool tryApply(const Strategy& strategy);

  Program program() const;
  const Derivation& derivation() const { return derivation_; }
  // From now on strategies are applied to the term at the path, and tunables are named with the prefix: a part of the
  // program is derived as if it stood alone.
  void focus(Path path, std::string prefix);
  // run(), strategies being applied to the term at that path below.
  template <class F>
  void within(const Path& below, F&& run) {
    const Path before = focus_;
    focus_.insert(focus_.end(), below.begin(), below.end());
    run();
    focus_ = before;
  }
  // A tunable of the derivation, lo to hi.
  Nat tunable(const std::string& name, std::int64_t low, Nat high);
  void assume(SizeCondition condition);

  // Where a named term is now. Steps beside, above and below it leave it where it is or move it; one that copies it
  // leaves several places, one that rewrites it itself leaves the name on the result. Throws UserError (program) for a
  // name that was never given, and for one whose term a step took apart or dropped, naming that step.
  const std::vector<Path>& places(const std::string& name) const;

  // For strategies.
  void giveName(const std::string& name, Expr term);
  const Path& path() const { return path_; }
  std::optional<Expr> applyHere(const Rule& rule, const Arguments& arguments, Expr term);
  template <class F>
  std::optional<Expr> at(std::uint8_t child, F&& run) {
    path_.push_back(child);
    auto result = run();
    path_.pop_back();
    return result;
  }
  // The same for what stands so many levels above.
  template <class F>
  auto above(std::size_t levels, F&& run) {
    const auto from = path_.end() - static_cast<std::ptrdiff_t>(levels);
    const Path below(from, path_.end());
    path_.erase(from, path_.end());
    auto result = run();
    path_.insert(path_.end(), below.begin(), below.end());
    return result;
  }
  struct Name {
    std::vector<Path> places;
    std::string gone;  // where there are none: by which step
  };
  using NamedPlaces = std::map<std::string, Name>;
  struct Mark {
    std::size_t steps, conditions;
    NamedPlaces names;
  };
  Mark mark() const { return {derivation_.steps.size(), program_.conditions.size(), names_}; }
  void undo(const Mark& mark);
  void miss(std::string why) { misses_.push_back({nullptr, program_.body, std::move(why)}); }

 private:
  // What did not apply: a rule at a term, or a named strategy. There are many, and few are read: text is made late.
  struct Miss {
    const Rule* rule;  // null: `reason` says it all
    Expr term;
    std::string reason;

    std::string str() const;
  };

  void forwardNames(const Rule& rule, const Arguments& arguments, Expr before, Expr after);

  Program program_;
  Derivation derivation_;
  NamedPlaces names_;
  Path path_;
  Path focus_;
  std::string prefix_;  // of tunables
  int budget_;
  std::vector<Miss> misses_;
  std::vector<Divides> facts_;
};

// Applies the steps to the program; throws UserError (program) naming the step that does not apply.
// `after` sees the program after each step.
Program replay(const Program& start, const Derivation& derivation,
               const std::function<void(const Step&, const Program&)>& after = {});

}  // namespace lift::rewrite
