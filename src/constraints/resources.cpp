// What a mapped term needs of a device: work-items, work-groups and memory, as sizes.
//
// Follows code generation's two ways through a term (src/codegen/lowerer.hpp): a term that is written goes where its
// context says, one that is read may need memory of its own. The least that every implementation of the term needs is
// counted: no spilled registers, no alignment, no sharing of memory between arrays that live one after the other.
// Numbers of f16 count as those of f32 but in parameters and results, since what is computed in f16 is kept as such.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>
#include <utility>

#include "collect.hpp"
#include "lift/terms.hpp"

namespace lift::detail {
namespace {

using Memory = Traits::Memory;
using Level = Traits::Level;
using Loop = Traits::Loop;

Nat bytesOf(const Leaf& leaf, bool inHalves = false) {
  const Scalar kept = leaf.scalar == Scalar::f16 && !inHalves ? Scalar::f32 : leaf.scalar;
  return elementCount(leaf.shape) * static_cast<std::int64_t>(info(kept).bytes);
}

Nat bytesOf(Type type) {
  Nat bytes = 0;
  for (const Leaf& l : leavesOf(type)) bytes = bytes + bytesOf(l);
  return bytes;
}

class ResourceWalk {
 public:
  ResourceWalk(const DeviceLimits& limits, Constraints& constraints) : limits_(limits), constraints_(constraints) {}

  void run(const Program& program) {
    for (const Expr p : program.parameters) {
      buffer(p.type(), "parameter " + p.name(), true);
      outside_.insert(p);
    }
    buffer(program.result(), "the result", true);
    write(etaLong(program.body), Memory::global);
    endKernel();
    limit(globalBytes_, limits_.globalBytes, "all buffers of the program");
  }

 private:
  struct Around {
    Level level;
    std::size_t dim;
    Nat count;
  };
  // The loops and the memory of a nest of parallel maps.
  struct Kernel {
    std::string origin = "the program";
    std::array<std::optional<Nat>, 3> groups, items, global;  // the largest map of each dimension
    Nat privateBytes = 0, localBytes = 0;
    bool isOfGroup = false;     // what a group's work-items reduce together they take in turns, and map in turns
    std::vector<Around> loops;  // around the current term, outside in
    bool parallel = false;
  };

  void limit(Nat amount, std::int64_t bound, const std::string& origin) {
    if (bound != DeviceLimits::unlimited)
      constraints_.lessEqual(Constraint::Kind::hardware, amount, bound, origin + " on " + limits_.name);
  }

  // ----------------------------------------------------------------------------------------------------------- memory
  void buffer(Type type, const std::string& origin, bool inHalves = false) {
    for (const Leaf& l : leavesOf(type)) {
      limit(bytesOf(l, inHalves), limits_.bufferBytes, "bytes of " + origin + l.path);
      globalBytes_ = globalBytes_ + bytesOf(l, inHalves);
    }
  }

  // Shared memory that a work-item uses for itself has one part for each of them.
  void allocate(Type type, Memory memory, const std::string& origin) {
    if (memory == Memory::priv) {
      kernel_.privateBytes = kernel_.privateBytes + bytesOf(type);
      return;
    }
    for (const Around& l : kernel_.loops)
      if (l.level == Level::local || (memory == Memory::global && isParallel(l.level)))
        type = Type::array(l.count, type);
    if (memory == Memory::local)
      kernel_.localBytes = kernel_.localBytes + bytesOf(type);
    else
      buffer(type, origin);
  }

  // ------------------------------------------------------------------------------------------------------------- work
  static bool isParallel(Level level) { return level != Level::open && level != Level::sequential; }

  std::string nameOf(Expr primitive) const {
    const bool hasDimension = isParallel(traits(primitive.prim()).level) && !primitive.nats().empty();
    const std::string sizes = hasDimension ? "(" + primitive.nats()[0].str() + ")" : "";
    return std::string(info(primitive.prim()).name) + sizes + constraints_.place(primitive);
  }

  // A parallel map outside of every other one is a kernel of its own.
  void map(const Spine& s, Memory out) {
    read(s.arguments[1]);
    const bool isKernel = isKernelMap(s.head.prim()) && !kernel_.parallel;
    std::optional<Kernel> around;
    if (isKernel) {
      around = std::move(kernel_);
      kernel_ = {};
      kernel_.origin = nameOf(s.head);
      kernel_.parallel = true;
    }
    loop(s, traits(s.head.prim()).level, out);
    if (!isKernel) return;
    endKernel();
    kernel_ = std::move(*around);
  }

  void loop(const Spine& s, Level level, Memory out) {
    const Nat length = s.arguments[1].type().length();
    const Nat count = level == Level::local && kernel_.isOfGroup ? min(length, Nat(limits_.groupSize)) : length;
    std::size_t dim = 0;
    if (isParallel(level)) {
      dim = static_cast<std::size_t>(s.head.nats()[0].constant().value_or(0));
      auto& sizes = level == Level::group ? kernel_.groups : level == Level::local ? kernel_.items : kernel_.global;
      sizes.at(dim) = sizes[dim] ? max(*sizes[dim], count) : count;
    }
    if (level == Level::local) limit(count, limits_.groupSizes.at(dim), "work-items of " + nameOf(s.head));
    kernel_.loops.push_back({level, dim, count});
    write(s.arguments[0].body(), out);
    kernel_.loops.pop_back();
  }

  void endKernel() {
    Nat group = 1;
    for (std::size_t d = 0; d < 3; d++) {
      const Nat items = kernel_.items[d].value_or(1);
      group = group * items;
      const Nat range = kernel_.global[d].value_or(kernel_.groups[d].value_or(1) * items);
      limit(range, limits_.globalSizes[d], fmt::format("global size {} of {}", d, kernel_.origin));
    }
    limit(group, limits_.groupSize, "the work-group of " + kernel_.origin);
    limit(kernel_.privateBytes, limits_.privateBytes, "private bytes of a work-item of " + kernel_.origin);
    limit(kernel_.localBytes, limits_.localBytes, "local bytes of a work-group of " + kernel_.origin);
  }

  // ------------------------------------------------------------------------------------------------------------ terms
  void write(Expr e, Memory out) {
    if (!e.isApply()) return;
    const Spine s = spineOf(e);
    const auto& a = s.arguments;
    if (isWrittenThrough(s.head.prim())) {
      for (const Expr x : a) write(x, out);
      return;
    }
    const Traits& t = traits(s.head.prim());
    switch (t.loop) {
      case Loop::map:
        if (s.isPrim(Prim::map) && (isInvertibleIn(a[0].body(), a[0].parameter()) || isCroppedResult(e)))
          return write(a[1], out);
        return map(s, out);
      case Loop::generate: return write(a[0].body(), out);
      case Loop::reduce: return read(e);
      case Loop::scan: return fold(s);
      case Loop::reduceByIndex:
        read(a[2]);
        write(a[0], out);
        return write(a[1].body(), Memory::priv);
      case Loop::iterate: {
        const std::size_t step = a.size() - 2;
        for (std::size_t i = 0; i < a.size(); i++)
          if (i != step) read(a[i]);
        if (kernel_.loops.empty()) outside_.insert(a[step].parameter());
        return write(a[step].body(), out);
      }
      case Loop::none: break;
    }
    if (s.isPrim(Prim::let)) {
      read(a[1]);
      if (kernel_.loops.empty()) outside_.insert(a[0].parameter());
      return write(a[0].body(), out);
    }
    if (t.memory == out || (s.isPrim(Prim::take) && isCroppedResult(e))) return write(a[0], out);
    if (t.lazy != Traits::Lazy::branches) return read(e);
    for (std::size_t i = 0; i < a.size(); i++) isOptional(s, i) ? write(a[i], out) : read(a[i]);
  }

  // Of accumulators that mapLcl shares out, each work-item has its part.
  static Type ownPart(Expr accumulators) {
    Type type = accumulators.type();
    for (Spine s = spineOf(accumulators); s.isPrim(Prim::mapLcl); s = spineOf(s.arguments[0].body()))
      type = type.element();
    return type;
  }

  void fold(const Spine& s) {
    if (traits(s.head.prim()).level == Level::local) {  // by as many work-items as there may be, at most
      kernel_.isOfGroup = true;
      const Nat items = min(s.arguments[2].type().length(), Nat(limits_.groupSize));
      kernel_.items[0] = kernel_.items[0] ? max(*kernel_.items[0], items) : items;
      kernel_.localBytes = kernel_.localBytes + items * bytesOf(s.arguments[0].type());
    }
    allocate(ownPart(s.arguments[0]), Memory::priv, {});
    write(s.arguments[0], Memory::priv);
    read(s.arguments[2]);
    write(s.arguments[1].body(), Memory::priv);
  }

  // What is kept for all work-groups and is the same in all turns of the loops around it is computed once, in front of
  // them.
  void materialise(Expr e, const Spine& s, Memory memory) {
    const auto& free = e.freeVariables();
    const bool isInFront = memory == Memory::global && !kernel_.loops.empty() &&
                           std::ranges::all_of(free, [&](Expr v) { return outside_.count(v) > 0; });
    std::optional<Kernel> around;
    if (isInFront) around = std::exchange(kernel_, {});
    allocate(e.type(), memory, nameOf(s.head));
    if (s.isPrim(Prim::toImage))
      for (const Leaf& l : leavesOf(e.type()))
        limit(elementCount(l.shape), limits_.imageElements, "elements of " + nameOf(s.head));
    write(e, memory);
    if (!isInFront) return;
    endKernel();
    kernel_ = std::move(*around);
  }

  void read(Expr e) {
    if (e.isLambda()) return read(e.body());
    if (!e.isApply()) return;
    const Spine s = spineOf(e);
    const Traits& t = traits(s.head.prim());
    if (t.memory != Memory::none) return materialise(e, s, t.memory);
    if (t.loop == Loop::reduce) return fold(s);
    for (const Expr x : s.arguments) read(x);
  }

  const DeviceLimits& limits_;
  Constraints& constraints_;
  Kernel kernel_;
  std::unordered_set<Expr> outside_;  // variables bound outside of every loop
  Nat globalBytes_ = 0;
};

}  // namespace

void addResources(const Program& program, const DeviceLimits& limits, Constraints& constraints) {
  ResourceWalk(limits, constraints).run(program);
}

}  // namespace lift::detail
