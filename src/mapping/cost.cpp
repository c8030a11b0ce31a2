#include "cost.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "lift/build.hpp"
#include "lift/mapping.hpp"
#include "lift/terms.hpp"

namespace lift::detail {

using namespace build;

bool computesElements(Expr e) {
  const Spine s = spineOf(e);
  return s.isCall(Prim::map) && !isInvertibleIn(s.arguments[0].body(), s.arguments[0].parameter());
}

bool computesArray(Expr e) {
  if (!e.isApply() || !holdsArrays(e.type())) return false;
  const Spine s = spineOf(e);
  if (!s.head.isPrimitive()) return false;
  if (isIteration(s.head.prim())) return true;
  if (!e.type().isArray()) return false;
  return computesElements(e) || runsInOrder(s.head.prim()) ||
         ((s.isPrim(Prim::let) || s.isPrim(Prim::ifThenElse) || isReduce(s.head.prim())) && !onlyMovesData(e));
}

bool sharesElements(const Spine& s) {
  const auto overlapping = [](Expr p) { return isSlide(p) && lessEqual(p.nats()[0], p.nats()[1]) != Truth::proved; };
  if (!s.head.isPrimitive()) return false;
  if (s.isPrim(Prim::map)) return onlyMovesData(s.arguments[0]) && anyPrimitive(s.arguments[0], overlapping);
  return overlapping(s.head);
}

double elementsOf(Expr array) {
  double elements = 1;
  for (const Nat n : shapeOf(array.type())) elements *= std::max(1.0, estimate(n));
  return elements;
}

double evaluations(const Spine& s) {
  switch (traits(s.head.prim()).loop) {
    case Traits::Loop::none: return 1;
    case Traits::Loop::generate:
    case Traits::Loop::iterate: return estimate(s.head.nats()[0]);
    case Traits::Loop::map:
    case Traits::Loop::reduce:
    case Traits::Loop::scan:
    case Traits::Loop::reduceByIndex: return estimate(s.arguments.back().type().length());
  }
  return 1;
}

double occurrences(Expr e, Expr variable) {
  std::unordered_map<Expr, double> counts;
  const std::function<double(Expr)> visit = [&](Expr x) -> double {
    if (x == variable) return 1;
    if (!x.hasFree(variable)) return 0;
    if (const auto known = counts.find(x); known != counts.end()) return known->second;
    if (x.isLambda()) return visit(x.body());
    const Spine s = spineOf(x);
    double count = 0;
    for (const Expr a : s.arguments) {
      const bool mapped = s.isPrim(Prim::map) && !a.isLambda();
      count += visit(a) * (mapped ? occurrences(s.arguments[0].body(), s.arguments[0].parameter()) : 1);
    }
    return counts[x] = count;
  };
  return visit(e);
}

namespace {

// Counts how often each element of `variable` is read by a term; a term that is evaluated n times reads n times as
// much.
class Reads {
 public:
  // By functions: what they read of their parameter, and of its second component.
  using OfParameters = std::array<std::unordered_map<Expr, double>, 2>;
  Reads(Expr variable, OfParameters& ofParameters) : variable_(variable), ofParameters_(ofParameters) {}

  double in(Expr e) {
    if (e == variable_) return 1;
    if (!e.hasFree(variable_)) return 0;
    if (const auto known = known_.find(e); known != known_.end()) return known->second;
    if (e.isLambda()) return in(e.body());
    const Spine s = spineOf(e);
    if (!s.head.isPrimitive()) return unknownSize;
    double sum = 0;
    for (std::size_t i = 0; i < s.arguments.size(); i++) {
      const Expr a = s.arguments[i];
      if (a.isLambda())
        sum += in(a.body()) * evaluations(s);
      else
        sum += in(a)*again(s, i);
    }
    return known_[e] = sum;
  }

 private:
  // How often each element of the argument is read for the result.
  double again(const Spine& s, std::size_t argument) {
    const Prim prim = s.head.prim();
    if (prim == Prim::slide || prim == Prim::slideStrict)
      return std::max(1.0, estimate(s.head.nats()[0]) / std::max(1.0, estimate(s.head.nats()[1])));
    if (s.arguments.empty() || !s.arguments[0].type().isFunction()) {
      const bool function = s.arguments.size() > 1 && s.arguments[1].isLambda();
      return function && argument + 1 == s.arguments.size() ? ofParameter(s.arguments[1], 1) : 1;
    }
    return argument + 1 == s.arguments.size() && s.arguments[0].isLambda() ? ofParameter(s.arguments[0], std::nullopt)
                                                                           : 1;
  }
  // Reads of an argument of a function, if it is an array, else it is read once and kept in registers.
  double ofParameter(Expr f, std::optional<int> component) {
    auto& known = ofParameters_[component ? 1 : 0];
    if (const auto found = known.find(f); found != known.end()) return found->second;
    const double reads = computedOfParameter(f, component);
    return known[f] = reads;
  }
  double computedOfParameter(Expr f, std::optional<int> component) {
    const Expr p = f.parameter();
    if (!component && p.type().isArray()) return Reads(p, ofParameters_).in(f.body());
    double most = 1;
    if (p.type().isTuple()) {
      std::unordered_map<Expr, Expr> names;
      for (int i = 0; i < static_cast<int>(p.type().components().size()); i++) {
        const Expr part = get(p, i);
        if (holdsArrays(part.type()) && (!component || *component == i))
          names.emplace(part, Expr::variable("part", part.type()));
      }
      if (names.empty()) return 1;
      const Expr body = replaceTerms(f.body(), names);
      for (const auto& [part, name] : names) most = std::max(most, Reads(name, ofParameters_).in(body));
      if (body.hasFree(p) && std::ranges::any_of(names, [&](const auto& n) { return body.hasFree(n.first); }))
        return unknownSize;
    }
    return most;
  }

  Expr variable_;
  OfParameters& ofParameters_;
  std::unordered_map<Expr, double> known_;
};

}  // namespace

double readsOfElement(Expr e, Expr variable) {
  Reads::OfParameters ofParameters;
  return Reads(variable, ofParameters).in(e);
}

namespace {

// Of a primitive, its functions apart.
double costOf(Expr primitive) {
  switch (traits(primitive.prim()).work) {
    case Traits::Work::none: return 0;
    case Traits::Work::one: return 1;
    case Traits::Work::operation: break;
  }
  return lift::costOf(primitive.op());
}

}  // namespace

double Work::of(Expr e) {
  if (e.isLambda()) return of(e.body());
  if (!e.isApply()) return 0;
  if (const auto found = known_.find(e); found != known_.end()) return found->second;
  const Spine s = spineOf(e);
  if (endsKernel(s)) return 0;  // is there
  double times = 1, work = 0;
  if (s.head.isPrimitive()) {
    work = costOf(s.head);
    times = evaluations(s);
  }
  for (const Expr a : s.arguments) work += of(a) * (a.isLambda() ? times : 1);
  return known_[e] = work;
}

namespace {

// Bytes of an element in memory.
double bytesOf(Type element) {
  double bytes = 0;
  for (const Leaf& leaf : leavesOf(element)) bytes += static_cast<double>(info(leaf.scalar).bytes);
  return bytes;
}

// Bytes in memory of an element of what only moves arrays: indices are computed.
std::optional<double> bytesMoved(Expr e) {
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::generate)) return build::isIndices(e) ? std::optional(0.0) : std::nullopt;
  if (s.isPrim(Prim::zip)) {
    double sum = 0;
    for (const Expr a : s.arguments) {
      const auto bytes = bytesMoved(a);
      if (!bytes) return std::nullopt;
      sum += *bytes;
    }
    return sum;
  }
  const bool moves = onlyMovesData(e) && e.type().isArray() && e.type().element().isRegister();
  return moves && !sharesElements(s) ? std::optional(bytesOf(e.type().element())) : std::nullopt;
}

}  // namespace

}  // namespace lift::detail

bool lift::isComputedWhereRead(Expr value, Expr name, Expr body) {
  constexpr double repeatedOperations = 4;  // on an element, about what it takes to read it
  const double reads = detail::readsOfElement(body, name);
  if (reads <= 1) return true;
  const Spine s = spineOf(value);
  if (!detail::computesElements(value) || !value.type().element().isRegister() ||
      detail::Work().of(value) > repeatedOperations * detail::elementsOf(value))
    return false;
  const auto& free = s.arguments[0].freeVariables();
  if (std::ranges::any_of(free, [](Expr v) { return holdsArrays(v.type()); })) return false;
  const auto in = detail::bytesMoved(s.arguments[1]);
  const double out = detail::bytesOf(value.type().element());
  return in && reads * *in <= *in + out + reads * out;
}

double lift::costOf(Op op) {
  switch (op) {
    case Op::div:
    case Op::mod:
    case Op::sqrt:
    case Op::rsqrt: return 4;
    default: return info(op).isExact ? 1 : 8;  // the functions that are approximated
  }
}
