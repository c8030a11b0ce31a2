// Whether two accesses to shared memory can make different work-items of a group meet in one element.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "lift/kernel.hpp"

namespace lift::kernel {

using LoopPath = std::vector<const For*>;  // enclosing loops, outermost first

// Elements base + lo … base + hi, touched under some loops. Accesses that differ by constants share a base.
struct Access {
  BufferId buffer = 0;
  Nat base;
  std::int64_t lo = 0, hi = 0;
  bool unknown = false;  // may be anywhere
  bool write = false;
  const LoopPath* path = nullptr;
};

// An index as base and constant.
std::pair<Nat, std::int64_t> splitConstant(Nat index);
// What has the places of an array that differ by constants in one entry: by array and base, the same in every run.
struct BaseLess {
  bool operator()(const std::pair<BufferId, Nat>& a, const std::pair<BufferId, Nat>& b) const {
    return a.first != b.first ? a.first < b.first : structurallyLess(a.second, b.second);
  }
};
template <class Value>
using ByBase = std::map<std::pair<BufferId, Nat>, Value, BaseLess>;

class Dependence {
 public:
  explicit Dependence(const NDRange& range);

  // Whether dimension d has more than one work-item per group, for all we know.
  bool shared(int d) const { return many_[static_cast<std::size_t>(d)]; }
  bool anyShared() const { return many_[0] || many_[1] || many_[2]; }
  // A loop whose iterations go to different work-items of a group.
  bool distributes(const For& f) const {
    return (f.kind == LoopKind::local || f.kind == LoopKind::global) && shared(f.dim);
  }

  // Whether one work-item doing `a` and another doing `b` may touch the same element, at least one writing. The first
  // `common` loops of both paths are the same loops in the same iteration (as far as they do not distribute).
  bool conflict(const Access& a, const Access& b, std::size_t common);

 private:
  struct Term {  // coefficient * v, 0 <= v < count
    Nat coefficient;
    Nat count;
  };
  struct Form {
    Nat uniform;                                      // the same in both accesses
    std::int64_t lo = 0, hi = 0;                      // constants and widths
    std::map<std::tuple<int, int, int>, Term> local;  // by kind, dimension, part
    std::vector<Term> free;
  };
  struct Digit {
    Nat coefficient, countA, countB;
    bool local;
  };
  using Splits = std::map<std::pair<int, int>, std::int64_t>;
  // How a variable differs between two accesses: not at all, with the work-item, or in a way of its own.
  struct Role {
    enum { uniform, local, free } kind;
    std::tuple<int, int, int> key;  // of Form::local
    Nat count;
  };
  using Roles = std::map<NatVar, Role>;
  // Of the loops' indices; those that are split stand as quotient and remainder, as `replaced` says.
  Roles rolesOf(const LoopPath& path, std::size_t common, const Splits& splits, std::map<NatVar, Nat>& replaced);
  static bool varyingIn(Nat term, Roles& roles, std::vector<NatVar>& varying);
  static bool addOpaque(Nat term, Form& form);
  bool analyse(const Access& a, std::size_t common, const Splits& splits, Form& form);
  bool collectSplits(const Access& a, Splits& splits) const;
  static bool reflect(Term& t, Form& f);
  static bool addUp(Form& f);
  static bool matchLocals(Form& a, Form& b);
  static Nat highest(const Form& f);
  static bool identifiesItem(const Access& a, const Access& b, const Form& f, const Splits& splits, int d);
  static std::vector<Digit> digitsOf(const Form& a, const Form& b);
  static std::optional<bool> searched(const std::vector<Digit>& digits, std::int64_t from, std::int64_t to);
  static bool overlap(std::vector<Digit> digits, Nat low, Nat highA, Nat highB);
  bool decide(const Access& a, const Access& b, std::size_t common);
  const std::pair<NatVar, NatVar>& parts(const For& f, std::int64_t divisor);

  std::array<bool, 3> many_{};
  std::map<std::pair<const For*, std::int64_t>, std::pair<NatVar, NatVar>> parts_;
  using Key = std::tuple<const detail::NatNode*, const LoopPath*, const detail::NatNode*, const LoopPath*, std::size_t,
                         std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, bool> memo_;
};

}  // namespace lift::kernel
