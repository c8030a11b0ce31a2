// Questions about terms, and changes of them, that code generation, rewriting and the inference of constraints share.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lift/expr.hpp"
#include "lift/primitive.hpp"

namespace lift {

// body, as a function of `parameter`, is a chain of invertible layouts and unzip (also under map).
bool isInvertibleIn(Expr body, Expr parameter);
// A result of parallel loops under layouts, of which `take` may crop some: it is written where it belongs, and what is
// cropped is not.
bool isCroppedResult(Expr e);
// Whether the primitive is a layout through which the result of its last argument is written where it belongs: an
// invertible one, or, with Crops::yes, one that drops elements; also as the function of a map.
enum class Crops : bool { no, yes };
bool isResultLayout(const Spine& s, Crops crops);
// The term below all such layouts but crops.
Expr underLayouts(Expr e);
// Evaluating the term (all of it) only moves data; variables and literals count.
bool onlyMovesData(Expr e);
// Whether evaluating the term may find its data wrong. Integers divided by literals do not, nor elements at literals
// within the array.
bool mayFailWithin(Expr e);
bool mayFail(const Spine& s);  // the same, once the arguments are there
// Whether there are evaluations of the application that leave the argument out.
bool isOptional(const Spine& s, std::size_t argument);
// Whether such an argument, no function, may find its data wrong.
bool choosesWhatMayFail(const Spine& s);
// Whether an i32 holds the number: by its bounds; where sizes are not known, by what they usually are.
bool fitsInt(Nat n);
// An operation on integers as one on sizes and indices, which do not wrap; nothing where they have none, or the result
// may not fit an i32.
std::optional<Nat> onNats(Op op, const std::vector<Nat>& operands);
// Nodes of the term as a tree: what is shared and not named, mere rearrangements, counts wherever it is. No more than
// most + 1; `known` has those of before.
std::size_t treeSize(Expr e, std::size_t most, std::unordered_map<Expr, std::size_t>& known);
// Whether there is such a term in a term, itself included; equal ones are asked about once.
bool anyTerm(Expr e, const std::function<bool(Expr)>& test);
bool anyPrimitive(Expr e, const std::function<bool(Expr primitive)>& test);
void forEachTerm(Expr e, const std::function<void(Expr)>& visit);  // equal ones once
bool runsInParallel(Expr e);                                       // whether a map over work-items or groups is in it
bool isReduce(Prim prim);                                          // reduce and its OpenCL forms
bool isIteration(Prim prim);
bool isScan(const Spine& s);     // scan, scanExclusive
bool isFold(const Spine& s);     // reduce, scan, scanExclusive: an initial state, a function, an array
bool isSlide(Expr primitive);    // slide, slideStrict
bool isPadding(Expr primitive);  // pad, padClamp, padMirror, padWrap
// Whether it is a fold whose state holds arrays.
bool foldsArrays(const Spine& s);
// Whether it is an iterate or a reduce each of whose steps leaves arrays to the next.
bool stepsOverArrays(const Spine& s);
// Elements of an array up to which a work-item keeps it in registers.
constexpr std::int64_t registerElements = 16;
// Whether it computes its elements or steps one after the other: scans, iterations, reductions by index.
bool runsInOrder(Prim prim);
// Whether evaluating the primitive runs a loop: a reduction, a scan or an iteration.
bool takesSteps(Expr primitive);
// A number to reckon with; a size that is not known is taken to be unknownSize.
constexpr double unknownSize = 1024;
double estimate(Nat n);

// The conditions around the term that is worked on. What runs only where they hold must not move in front of them,
// unless it is right for all values.
class Guards {
 public:
  bool allow(Expr e) const {
    const auto& free = e.freeVariables();
    return (depth_ == 0 || !mayFailWithin(e)) &&
           std::ranges::none_of(free, [&](Expr v) { return waiting_.count(v) > 0; });
  }
  // A name of a value that must not move: neither must what uses it.
  void hold(Expr name) { waiting_.insert(name); }
  // f() as the i-th argument's part: f(whether a condition decides if it is evaluated).
  template <class F>
  auto inArgument(const Spine& s, std::size_t i, F&& f) {
    const bool guarded = isOptional(s, i) && !s.arguments[i].type().isFunction();
    depth_ += guarded;
    auto result = f(guarded);
    depth_ -= guarded;
    return result;
  }
  // The arguments replaced by f(argument, whether a condition decides if it is evaluated).
  template <class F>
  void eachArgument(Spine& s, F&& f) {
    for (std::size_t i = 0; i < s.arguments.size(); i++)
      s.arguments[i] = inArgument(s, i, [&](bool guarded) { return f(s.arguments[i], guarded); });
  }

 private:
  int depth_ = 0;
  std::unordered_set<Expr> waiting_;
};

// The term with f applied to what is directly below it: the body of a lambda, the arguments of an application.
template <class F>
Expr withParts(Expr e, F&& f) {
  if (e.isLambda()) return Expr::lambda(e.parameter(), f(e.body()));
  if (!e.isApply()) return e;
  Spine s = spineOf(e);
  for (Expr& a : s.arguments) a = f(a);
  return applyAll(s.head, s.arguments);
}

// Every occurrence of the keys replaced; keys may be any terms. The replacements' free variables must not be bound in
// the term.
Expr replaceTerms(Expr e, const std::unordered_map<Expr, Expr>& replacements);
// Of a variable that is an element of zipped arrays, of zips in zips, too: those components that the term uses, as it
// mentions them, and the arrays whose elements they are. Nothing where it uses all.
std::optional<std::vector<std::pair<Expr, Expr>>> usedOfZip(Expr variable, Expr array, Expr term);

// The names that a term begins with (let x = v in …), and the term below them.
struct LetChain {
  std::vector<std::pair<Expr, Expr>> bound;  // variable and value
  Expr body;
};
LetChain letsOf(Expr e);

// The same term with new bound variables.
Expr withFreshBinders(Expr e);

}  // namespace lift
