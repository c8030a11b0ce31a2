// Private to mapping: the decisions of the default mapping.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "lift/accumulation.hpp"
#include "lift/canonical.hpp"
#include "lift/mapping.hpp"
#include "preparation.hpp"

namespace lift::detail {

// The default mapping of a program that says nothing of where it runs, or of a part of one, whose free variables are
// `parameters`.
class DefaultMapping : Walk {
 public:
  using Spans = std::unordered_map<Expr, Span>;
  DefaultMapping(rewrite::Rewriting& rewriting, const std::vector<Expr>& parameters, const MappingOptions& options,
                 kernel::Notes* notes, Spans& spans)
      : Walk(rewriting),
        preparation_(rewriting, [this](Expr x) { return isWorthNaming(x) && !isClosed(x); }),
        parameters_(parameters.begin(), parameters.end()),
        spans_(spans),
        options_(options),
        notes_(notes) {}

  Expr run(Expr e) { return result(preparation_.run(e)); }
  // Maps a tuple that is the result of the program or of an iteration's step. `kept` are names of what is computed and
  // kept in memory already.
  Expr runTuple(Expr e, const std::vector<Expr>& kept, bool inStep) {
    iterations_ = inStep ? 1 : 0;
    for (const Expr name : kept) {
      keptNames_.insert(name);
      computedInStep_[name] = iterations_;
    }
    return results(preparation_.run(e));
  }

 private:
  // default_mapping.cpp: what a kernel computes, and its nests of maps
  // Layouts that a result is written through, from the outermost on: each term's last argument stands below it.
  using Layouts = std::vector<Expr>;
  Expr result(Expr e, const Layouts& through = {});
  bool hasStepsOfOwn(Expr choice);
  Expr resultOfLet(Expr e);
  Expr resultOfMap(Expr e, const Layouts& through);
  std::vector<int> placesOf(Expr map, const Layouts& through) const;
  Expr iterated(Expr e);
  Expr results(Expr e);
  Expr copy(Expr e);
  Expr copied(Expr e);
  Expr alone(Expr e, bool shared = false);
  Expr ahead(Expr e, bool shared);
  int depthOf(Expr map) const;
  std::optional<Expr> flattened(Expr map);
  bool isDimension(Expr e) const;
  bool runsLoops(Expr e) const;
  // By all of them; each a row, in loops of its own; or by one alone, step after step.
  enum class Manner : std::uint8_t { byElement, byRow, byOne };
  Manner mannerOf(Expr e) const;
  Expr mapNest(Expr e, std::span<const int> places, bool inLambda = false);
  Expr underneath(Expr body, std::span<const int> places);
  Expr input(Expr nest, Expr in);
  Expr produced(Expr e, Expr nest);
  Expr inOrder(Expr e);
  Expr reduceInOrder(Expr e);
  Expr inJoinedRows(Expr array);

  // The maps of a nest, and the innermost.
  struct Nest {
    std::vector<rewrite::Path> levels;  // of each map, from the nest
    Expr innermost = Expr::nat(0);
    Nat items = 1;
    rewrite::Path body;  // below the innermost one's layouts, from the nest
  };
  Nest nestOf(Expr e) const;
  bool hasFewItems(Expr nest) const;
  double itemsBelow(Expr nest, std::size_t levels) const;
  bool namesHideDimension(const LetChain& names);

  // divided.cpp: reductions, scans and nests in parts
  std::optional<Nat> chunkOf(const Spine& reduction);
  std::optional<std::int64_t> chunkFor(Nat length, double each) const;
  Expr inChunks(Expr reduction, Nat chunk);
  bool mayDivide(Expr primitive, Expr init, Expr f);
  bool runsInSteps(const Spine& s);
  Expr inSteps(Expr e);
  Expr updated(Expr e);
  bool isUpdate(Expr e) const;
  Expr scanned(Expr e);
  Expr reducedByIndex(Expr e);
  bool startsApart(Expr e);
  std::optional<std::string> ruleThatPays(Expr e) const;
  std::optional<std::string> ruleOfItems(Expr e) const;
  std::optional<Expr> together(Expr e);
  Expr inPlace(Expr e);
  Expr updatedInPlace(Expr e);
  bool isUpdatedInPlace(Expr e);
  Expr besideOthers(Expr e, const Layouts& through = {});
  bool updatesAtOnce(Expr e) const;
  Expr updatedByGroup(Expr e);
  std::optional<Expr> byLanes(Expr e);
  Expr resultInLanes(Expr e);
  Expr inVectors(Expr map);
  bool isDense(Expr e) const;
  bool hasDenseElements(Expr e) const;
  bool isContiguous(Expr e) const;
  bool namesLanes(Expr e) const;
  bool hasContiguousRows(Expr e) const;
  void noteRows(Expr f, Expr in);
  static rewrite::Path partialsOf(Expr e);
  Expr withNamesInside(Expr e, std::size_t i, Expr& own);
  Expr withoutNames(Expr e, std::size_t count, std::size_t i);
  std::optional<Expr> withNamesStored(Expr e);
  std::optional<Expr> withNumbersStored(Expr e);
  std::optional<Expr> spread(Expr e);
  std::optional<Expr> longReduction(Expr e);
  Expr ofWhatItUses(Expr map);
  Expr apart(Expr nest, const Nest& levels, Expr value, const std::string& why);

  // groups.cpp: steps that a work-group shares
  Expr closedKept(Expr e);
  std::optional<Expr> sharedByGroups(Expr e);
  std::optional<Expr> sharedByGroup(Expr e);
  bool areRowsOfFilled(Expr rows) const;
  bool isSharedByGroup(Expr e, bool fewItems);
  std::optional<std::int64_t> chunkOfGroup(const Spine& scan) const;

  // kept.cpp: what is kept in memory
  Expr kept(Expr e, std::string_view why);
  bool isKept(Expr e) const { return kept_.count(e) > 0; }
  bool isKeptName(Expr e) const { return keptNames_.count(e) > 0; }
  bool isExpensive(Expr e);
  bool isCheap(Expr e);
  bool isWorthNaming(Expr e);
  bool isStored(Expr e, bool shared);
  double operations(Expr e, bool shared);
  bool isClosed(Expr e) const;
  bool isKernelBoundary(Expr e) const;
  bool mayMove(Expr e) const;
  // `storedOperations`: on an element, that are worth a store.
  bool isReadOften(Expr value, double reads, double storedOperations = 64);
  bool readsRowsOften(Expr e);
  Expr storedWithin(Expr e);
  Expr operand(Expr e, bool shared = false);
  Expr inside(Expr e);
  Expr insideLoop(const Spine& loop, Expr f);
  void note(Expr term, const std::string& text);

  template <class F>
  Expr eachArgument(Expr e, F&& f) {
    const Spine s = spineOf(e);
    for (std::size_t i = 0; i < s.arguments.size(); i++)
      e = guards_.inArgument(s, i, [&](bool guarded) { return argument(e, i, [&](Expr a) { return f(a, guarded); }); });
    return e;
  }

  struct Kept {
    Expr term;                         // toGlobal(…)
    std::vector<rewrite::Step> steps;  // that mapped what is under it
  };

  Preparation preparation_;
  Guards guards_;
  std::unordered_set<Expr> parameters_;  // what is there before every kernel: inputs, and names of what is kept
  Spans& spans_;                         // where the primitives stand
  const MappingOptions& options_;
  kernel::Notes* notes_;
  Work work_;
  std::unordered_set<Expr> kept_;         // terms toGlobal(…) that are mapped
  std::unordered_map<Expr, Kept> known_;  // the same by the term they keep
  Canonical canonical_;
  Type ofKernel_ = Type::scalar(Scalar::i32);     // of what the kernel that is being mapped computes
  bool ofChunks_ = false;                         // what is mapped are the chunks of a reduction by index
  int iterations_ = 0;                            // over kernels, that are being mapped
  double evaluations_ = 1;                        // of what is being mapped, by a work-item
  std::unordered_set<Expr> keptNames_, given_;    // names of such; those that are results
  std::unordered_map<Expr, int> computedInStep_;  // those whose kernels run in parallel, and in how many iterations
  rewrite::Rows rows_;                            // parameters that are rows with elements side by side; of which array
  std::unordered_set<Expr> contiguous_;           // rows of reductions over rows, and a work-item's own arrays
  std::unordered_set<Expr> dense_;                // rows of rows of these that lie in memory in order
  std::unordered_map<Expr, bool> expensive_;
  std::array<std::unordered_map<Expr, double>, 2> operations_;  // by whether shared
};

// Whether it is an array chosen by a condition, which is put into memory since something must be computed before an
// element of it can be read.
bool isChosen(const Spine& s, Type type);

// A launch is worth so many operations: less work is not divided.
constexpr double dividedOperations = 16384;
// The same on a graphics processor, each of whose work-items is slow.
constexpr double dividedOnGpu = 256;
// What a group of one computes in the time of a launch.
constexpr double sharedOperations = 65536;
// Kernels that compute the term, about: those of its maps, and of what is done in chunks.
double launchesOf(Expr e);
// Dimensions of work-items.
constexpr std::size_t maxDimensions = 3;
// Work-items that keep all cores of a processor busy.
constexpr double enoughItems = 64;
// The same of a graphics processor, which hides the time that memory takes by work-items.
constexpr double enoughItemsOfGpu = 16384;

}  // namespace lift::detail
