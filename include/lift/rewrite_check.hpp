// Rules checked on random instances.
//
//   const CheckResult r = checkRule(ruleNamed("mapSplit"), {.samples = 500, .seed = 1});
//   r.samples        // instances of the left side that the rule applied to
//   r.disagreement   // the first that changed its type or its value
//
// An instance gives every metavariable a random value of a random type: sizes from 1 to 8, scalars i32 or f32, arrays,
// tuples and vectors of them, functions of arithmetic, tuples and maps. The rule is applied as rewriting applies it, by
// matching; before and after are verified and interpreted on the same random inputs, and must give equal bits. Where
// there are floating-point numbers both are interpreted without rounding, too (exact.hpp), and must give equal elements
// of the field; that alone judges rules that let sums round otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lift/rewrite.hpp"

namespace lift::rewrite {

struct CheckOptions {
  int samples = 500;
  std::uint64_t seed = 1;
  int triesPerSample = 1000;  // draws whose sizes do not fit, or that the rule's condition refuses, are drawn again
};

// An instance that a rule does not keep.
struct Disagreement {
  std::string what;  // "element 3 of out is 4 before and 5 after"
  Program before;
  std::optional<Program> after;  // nothing where the right side cannot even be built
  std::uint64_t fill = 0;        // its inputs are those of `liftc eval --fill random:FILL`
};

struct CheckResult {
  int samples = 0;  // fewer than asked for after a disagreement, or when too few draws fit
  int draws = 0;
  int exact = 0;  // of the samples, those with floating-point numbers, which were compared without rounding
  std::optional<Disagreement> disagreement;
};

// The first rule of the derivation by which floating-point numbers may be rounded otherwise; nothing where there is
// none, so that the results are equal to the last bit.
std::optional<std::string> roundingRule(const Derivation& derivation);

// How the results of two programs of the same parameters, all sizes constant, differ without rounding (exact.hpp) on
// the inputs of `--fill random:FILL`, in words; nothing where they are equal.
std::optional<std::string> exactDifference(const Program& before, const Program& after, std::uint64_t fill);

// Depends on nothing but the rule and the options. Stops at the first disagreement.
CheckResult checkRule(const Rule& rule, const CheckOptions& options = {});

}  // namespace lift::rewrite
