// Where work runs: the default mapping of functional programs, a strategy of rewrite's rules.
//
//   kernel::Notes notes;
//   const Mapping mapping = mappingOf(program, {}, &notes);
//   mapping.program                     // says where its work runs: ready for code generation
//   mapping.derivation.str()            // `liftc rewrite FILE --derivation …` replays it
//
// A program that contains OpenCL maps or reductions says itself where its work runs. What contains none, the whole
// program or what it keeps in memory by toGlobal outside of all functions, is mapped: outer maps over global
// dimensions, everything below sequential, and intermediates that would be computed more than once (or stand under
// toGlobal) in global memory, each by a kernel of its own; results of few operations that overlapping windows share are
// computed again instead.
#pragma once

#include <cstdint>
#include <string>

#include "lift/expr.hpp"
#include "lift/kernel_passes.hpp"
#include "lift/rewrite.hpp"

namespace lift {

// Decisions that the default mapping leaves to the user.
struct MappingOptions {
  // Sums and products of floating-point numbers are rounded in the order of the elements: not divided, not
  // reassociated.
  bool strictReductions = false;
  // Elements of a chunk where a reduction is divided, and steps over arrays are, too; 0: both by what they cost.
  std::int64_t chunk = 0;
  // For a graphics processor, which joins what neighbouring work-items read and write side by side; else a work-item
  // takes neighbouring elements, in vectors.
  bool isGpu = false;
};

// Whether the program says itself where its work runs.
bool isMapped(const Program& program);

// The default mapping; what is mapped already stays as it is. What it decided, and why, goes to the notes.
Program mapByDefault(const Program& program, const MappingOptions& options = {}, kernel::Notes* notes = nullptr);

// The same as a strategy, for the body of that program in a Rewriting.
rewrite::Strategy defaultMapping(const Program& program, const MappingOptions& options = {},
                                 kernel::Notes* notes = nullptr);

// The same with the steps that lead from the program to the mapped one. The same program has the same derivation.
struct Mapping {
  Program program;
  rewrite::Derivation derivation;
};
Mapping mappingOf(const Program& program, const MappingOptions& options = {}, kernel::Notes* notes = nullptr);

// Whether the term is an iteration whose steps the default mapping makes launches: the state is an array, or a step is
// much work. Else one work-item takes all of them.
bool takesLaunches(Expr term);
// Whether the term is a reduction or a scan over arrays each of whose steps is enough work for launches of its own.
bool foldsByLaunches(Expr term);

// Whether the default mapping for graphics processors gives each element of the term, a nest of maps, to a work-group
// whose work-items share steps over arrays, each of little work.
bool sharesStepsInGroups(Expr term);

// Work-items of a group at most where the user does not say it; on a GPU more in kernels of few groups, which leave
// most of its units idle.
constexpr std::int64_t usualGroupSize = 256;
std::int64_t groupSizeOnGpu(Nat groups);

// What an operation on scalars takes, in additions, about.
double costOf(Op op);
// Whether functions are applied that libraries approximate, not single instructions: there are fast ones of vectors,
// which compilers do not take for scalars side by side.
bool approximates(Expr term);
// Whether a number takes each of the work-items for such a result, which computes it so many times, longer to compute
// than to read.
bool isCostlyNumber(Expr term, Type result, double times = 1);

// Whether an array that `body` calls `name` is better computed wherever an element of it is read than stored: it is
// read once, or is a few operations on memory of which no more is read then.
bool isComputedWhereRead(Expr value, Expr name, Expr body);

// The primitive that the term applies, and where it stands in the program's text: "reduce at dot.lift:3:5".
std::string placeIn(const std::unordered_map<Expr, Span>& spans, Expr term);

}  // namespace lift
