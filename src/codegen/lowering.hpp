// Private to codegen: the steps between a mapped program and its plan.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lift/codegen.hpp"
#include "lift/terms.hpp"
#include "lift/views.hpp"

namespace lift::detail {

// ------------------------------------------------------------------------------------------- questions about terms

// f of (accumulator, element) reduces the element into the accumulator, which nothing else reads: a fold of folds.
bool goesOnReducing(Expr f);
// Every element copied by a work-item of its own.
Expr copied(Expr e);
// Whether work-items of their own compute its elements: not if only what it reads, kept in memory, is computed so.
bool isComputedInParallel(Expr e);
// The reduction by index whose elements the kernel of the term changes where they are, below layouts and names: what it
// starts from is computed by work-items of its own, in a kernel in front of it.
std::optional<Expr> updateOf(Expr e);
// The term with what that reduction starts from in its place.
Expr startOf(Expr e);

// ----------------------------------------------------------------------------------------------------- diagnostics

using Spans = std::unordered_map<Expr, Span>;  // where a program's primitives stand

// Nowhere for primitives that the compiler made.
Span spanOf(const Spans& spans, Expr primitive);
[[noreturn]] void refuse(const Spans& spans, Expr primitive, std::string message, std::string hint);

// ---------------------------------------------------------------------------------------------------------- stages

// One kernel's work: a term whose free variables are parameters of the program or outputs of earlier stages.
struct Stage {
  Expr output;  // variable
  Expr body;
  std::optional<std::string> result;  // the part of the program's result that the output is, as leaves name it (".0")
  bool inImage = false;               // toImage
  std::vector<Expr> inPlace = {};     // components of a loop's state whose memory is that of the output's, too
  // The output of the stage in front of it whose memory is this output's, too: it has written what the reduction by
  // index in `body` starts from.
  std::optional<Expr> start = {};
};
// Cuts a mapped program where an intermediate lives in global memory. The last stage's output is the result, or the
// last component of it that has a kernel of its own.
struct Outline {
  // Of a loop: it goes on while what the stages in front of number `at` compute as `holds` is true.
  struct Condition {
    std::size_t at;
    Expr holds;
  };
  // Stages [first, last), run `count` times, or at most so often where there is a condition; each time what was
  // computed as `next` becomes `state`. The state is an output; next is one, or a tuple of outputs and of components of
  // them.
  struct Loop {
    std::size_t first, last;
    Nat count;
    Expr state, next;
    std::optional<Condition> condition = {};
  };
  std::vector<Stage> stages;
  std::vector<Loop> loops;  // outer ones before inner ones
};
Outline outline(const Program& program);

// Which variables of f16 are kept in halves, 16 bits a number: parameters, results, and what is moved from these, as
// nothing is lost by that (CompileTarget::wideCopies: not what is moved). What is computed in f16 is a number of f32,
// and kept as one until it is a result.
class Halves {
 public:
  void add(Expr variable);
  bool has(Expr variable) const { return kept_.count(variable) > 0; }
  // Whether all numbers of f16 in the value of a term of such variables are halves.
  bool areAllOf(Expr term);

 private:
  bool inBody(Expr f, bool arguments);

  std::unordered_set<Expr> kept_;
  std::unordered_map<Expr, bool> bound_;
};
// Of numbers in memory that are kept for themselves, not as halves.
inline Scalar keptAs(Scalar s) { return s == Scalar::f16 ? Scalar::f32 : s; }

// Buffers of the kernel in argument order: a leaf of a variable, or a temporary of the kernel's own.
struct KernelArgument {
  Expr variable = Expr::nat(0);  // a variable, or the type carrier of a temporary
  int leaf = 0;
  bool temporary = false;
  bool faults = false;  // the plan's buffer of faults
};
struct LoweredKernel {
  kernel::Kernel kernel;
  std::vector<KernelArgument> arguments;
};
// How arrays that kernels leave to each other are kept.
struct Keeping {
  Halves halves;
  std::unordered_set<Expr> images;  // variables
};
// With sites, the kernel checks its indices and divisors, and adds the places where it does.
LoweredKernel lower(const Stage& stage, const std::string& name, const Spans& spans, const Keeping& keeping,
                    std::vector<kernel::Site>* sites = nullptr);

// The kernel with the NDRange that its parallel loops ask for. Nests that ask for different ones, and run loops of
// their own, become kernels: side by side in one, work-groups would have unlike shares of the work.
std::vector<kernel::Kernel> withRanges(kernel::Kernel whole, const CompileOptions& options);
// One work-item alone does what is outside of the parallel loops.
void guardSharedStores(kernel::Kernel& kernel);

// -------------------------------------------------------------------------------------------------------- launches

// A launch of a plan that is being made, of the stage of that number.
struct Step {
  std::size_t stage;
  kernel::Launch launch;
  bool prepares = false;
};
struct Launches {
  std::vector<kernel::Kernel> kernels;  // that are not optimised yet
  std::vector<Step> steps;
  const std::vector<kernel::PlanBuffer>& buffers;
  const std::vector<Outline::Loop>& loops;
  kernel::Notes* notes = nullptr;
  std::set<int> fixed = {};  // buffers that loops exchange, or that hosts read

  void note(std::string text) const;
  bool runsInLoop(std::size_t stage) const;
  // Whether a loop, or what follows its condition, begins or ends between the stages.
  bool isBetween(std::size_t before, std::size_t behind) const;
};
// Of lowered kernels: an intermediate that is only copied to a result is the result; what nothing reads is not stored.
void leaveOutUnneeded(Launches& launches);
// Of kernels with their ranges: neighbouring launches become one where each work-item can do the work of both: where
// none waits for others, both are short and neither reads what the other one stores, or where there is one work-item.
void joinNeighbours(Launches& launches);

}  // namespace lift::detail
