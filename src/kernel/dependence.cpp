// The proof: an index is read as a number in mixed radix. Where the digits that say which work-item it is can be read
// off the number, equal elements mean equal work-items, and there is no conflict.
#include "dependence.hpp"

#include <algorithm>
#include <optional>

#include "lift/kernel_walk.hpp"

namespace lift::kernel {
namespace {

bool proved(Truth t) { return t == Truth::proved; }

// Calls f(const For&) for the loop of the path whose index v is; false when there is none.
const For* loopOf(const LoopPath& path, NatVar v, std::size_t& depth) {
  for (depth = 0; depth < path.size(); depth++)
    if (path[depth]->index == v) return path[depth];
  return nullptr;
}

std::vector<Nat> termsOf(Nat n) {
  if (n == Nat(0)) return {};
  if (n.kind() == Nat::Kind::sum) return n.operands();
  return {n};
}

// One digit of the difference of two indices: coefficient * value, low <= value <= high.
struct Step {
  std::int64_t coefficient, low, high;
  bool local;  // a value other than 0 means different work-items
};
constexpr int searchBudget = 4096;

// Whether digits from `at` on can sum up to something from `from` to `to` with different work-items; exact, by search
// from the most significant digit, or nothing when the budget is used up.
std::optional<bool> meet(const std::vector<Step>& steps, std::size_t at, std::int64_t from, std::int64_t to,
                         bool different, int& budget) {
  if (--budget < 0) return std::nullopt;
  if (at == steps.size()) return different && from <= 0 && 0 <= to;
  std::int64_t least = 0, most = 0;  // reach of the digits below
  for (std::size_t i = at + 1; i < steps.size(); i++) {
    least += steps[i].coefficient * steps[i].low;
    most += steps[i].coefficient * steps[i].high;
  }
  const Step& step = steps[at];
  for (std::int64_t v = step.low; v <= step.high; v++) {
    const std::int64_t sum = step.coefficient * v;
    if (sum + most < from || sum + least > to) {
      if (--budget < 0) return std::nullopt;
      continue;
    }
    const auto below = meet(steps, at + 1, from - sum, to - sum, different || (step.local && v != 0), budget);
    if (!below || *below) return below;
  }
  return false;
}

Nat larger(Nat a, Nat b) { return proved(lessEqual(a, b)) ? b : proved(lessEqual(b, a)) ? a : max(a, b); }

}  // namespace

std::pair<Nat, std::int64_t> splitConstant(Nat index) {
  if (const auto c = index.constant()) return {Nat(0), *c};
  if (index.kind() == Nat::Kind::sum)
    if (const auto c = index.operands().back().constant()) return {index - Nat(*c), *c};
  return {index, 0};
}

Dependence::Dependence(const NDRange& range) {
  for (std::size_t d = 0; d < 3; d++) many_[d] = !proved(equal(range.local[d], Nat(1)));
}

bool Dependence::conflict(const Access& a, const Access& b, std::size_t common) {
  if (a.buffer != b.buffer || (!a.write && !b.write)) return false;
  if (a.unknown || b.unknown) return true;
  const Key key{a.base.node(), a.path, b.base.node(), b.path, common, a.lo, a.hi, b.lo, b.hi};
  const auto found = memo_.find(key);
  if (found != memo_.end()) return found->second;
  return memo_[key] = decide(a, b, common);
}

const std::pair<NatVar, NatVar>& Dependence::parts(const For& f, std::int64_t divisor) {
  const auto found = parts_.find({&f, divisor});
  if (found != parts_.end()) return found->second;
  const NatVar quotient = NatVar::index(f.index.name() + "_q", ceilDiv(f.count, Nat(divisor)));
  const NatVar remainder = NatVar::index(f.index.name() + "_r", Nat(divisor));
  return parts_.emplace(std::pair{&f, divisor}, std::pair{quotient, remainder}).first->second;
}

// Where an index contains l / c or l % c of a distributed index l, l is taken as c * q + r. False: not of that form.
bool Dependence::collectSplits(const Access& a, Splits& splits) const {
  const auto atom = [&](Nat n, const auto& self) -> bool {
    if (n.kind() == Nat::Kind::floorDiv || n.kind() == Nat::Kind::mod) {
      const auto v = n.operands()[0].variable();
      const auto c = n.operands()[1].constant();
      std::size_t depth = 0;
      const For* f = v ? loopOf(*a.path, *v, depth) : nullptr;
      if (f == nullptr || !distributes(*f)) return true;
      if (!c || *c <= 0) return false;
      return splits.emplace(std::pair{static_cast<int>(f->kind), f->dim}, *c).first->second == *c;
    }
    for (Nat o : n.operands())
      if (!self(o, self)) return false;
    return true;
  };
  return atom(a.base, atom);
}

Dependence::Roles Dependence::rolesOf(const LoopPath& path, std::size_t common, const Splits& splits,
                                      std::map<NatVar, Nat>& replaced) {
  Roles roles;
  for (std::size_t d = 0; d < path.size(); d++) {
    const For& f = *path[d];
    const int kind = static_cast<int>(f.kind);
    if (!distributes(f)) {
      roles.insert_or_assign(f.index, Role{d < common ? Role::uniform : Role::free, {}, f.count});
      continue;
    }
    const auto split = splits.find({kind, f.dim});
    if (split == splits.end()) {
      roles.insert_or_assign(f.index, Role{Role::local, {kind, f.dim, 0}, f.count});
    } else {
      const auto& [q, r] = parts(f, split->second);
      roles.insert_or_assign(q, Role{Role::local, {kind, f.dim, 0}, ceilDiv(f.count, Nat(split->second))});
      roles.insert_or_assign(r, Role{Role::local, {kind, f.dim, 1}, Nat(split->second)});
      replaced.insert_or_assign(f.index, Nat(split->second) * Nat(q) + Nat(r));
    }
  }
  return roles;
}

bool Dependence::analyse(const Access& a, std::size_t common, const Splits& splits, Form& form) {
  form.lo = a.lo;
  form.hi = a.hi;
  std::map<NatVar, Nat> replaced;
  Roles roles = rolesOf(*a.path, common, splits, replaced);
  Nat base = a.base;
  if (!replaced.empty()) {
    const auto [stripped, constant] = splitConstant(base.substitute(replaced));
    base = stripped;
    form.lo += constant;
    form.hi += constant;
  }
  // Multiples of one variable add up: rows of 2 * n + 1 elements begin at 2 * n * row + row.
  std::map<NatVar, Nat> multiples;
  for (Nat term : termsOf(base)) {
    std::vector<NatVar> varying;
    if (!varyingIn(term, roles, varying)) return false;
    const auto linear = varying.size() == 1 ? term.linearIn(varying[0]) : std::nullopt;
    if (linear && linear->rest == Nat(0)) {
      Nat& coefficient = multiples.try_emplace(varying[0], 0).first->second;
      coefficient = coefficient + linear->coefficient;
    } else if (varying.empty()) {
      form.uniform = form.uniform + term;
    } else {
      const auto isLocal = [&](NatVar v) { return roles.at(v).kind == Role::local; };
      if (std::ranges::any_of(varying, isLocal) || !addOpaque(term, form)) return false;
    }
  }
  for (const auto& [v, coefficient] : multiples) {
    const Role& role = roles.at(v);
    if (role.kind == Role::free)
      form.free.push_back({coefficient, role.count});
    else if (!form.local.emplace(role.key, Term{coefficient, role.count}).second)
      return false;
  }
  return true;
}

// The variables of a term that may differ between the two accesses; false where nothing is known of one.
bool Dependence::varyingIn(Nat term, Roles& roles, std::vector<NatVar>& varying) {
  for (NatVar v : term.variables()) {
    auto role = roles.find(v);
    // Integers that are named by statements may differ between work-items: anything in their range.
    if (role == roles.end() && v.role() == NatVar::Role::index) {
      if (v.lower() != 0 || !v.upper()) return false;
      role = roles.emplace(v, Role{Role::free, {}, *v.upper() + Nat(1)}).first;
    }
    if (role != roles.end() && role->second.kind != Role::uniform) varying.push_back(v);
  }
  return true;
}

// Something that is the same for all work-items but not in both accesses: a digit of its own.
bool Dependence::addOpaque(Nat term, Form& form) {
  Nat coefficient = 1, rest = term;
  if (term.kind() == Nat::Kind::product)
    if (const auto c = term.operands()[0].constant()) {
      coefficient = Nat(*c);
      rest = 1;
      for (std::size_t i = 1; i < term.operands().size(); i++) rest = rest * term.operands()[i];
    }
  const auto low = rest.lower(), high = rest.upper();
  if (!low || !high) return false;
  const auto shift = coefficient * Nat(*low);
  form.lo += *shift.constant();
  form.hi += *shift.constant();
  form.free.push_back({coefficient, Nat(*high - *low + 1)});
  return true;
}

// Counts down where a coefficient is negative.
bool Dependence::reflect(Term& t, Form& f) {
  if (proved(lessEqual(Nat(0), t.coefficient))) return true;
  if (!proved(less(t.coefficient, Nat(0)))) return false;
  const Nat shift = t.coefficient * (t.count - Nat(1));
  if (const auto known = shift.constant()) {
    f.lo += *known;
    f.hi += *known;
  } else {
    for (const NatVar v : shift.variables())
      if (v.role() == NatVar::Role::index) return false;
    f.uniform = f.uniform + shift;
  }
  t.coefficient = -t.coefficient;
  return true;
}

// Free digits of one coefficient add up within an access.
bool Dependence::addUp(Form& f) {
  std::vector<Term> sums;
  for (Term t : f.free) {
    if (!reflect(t, f)) return false;
    const auto same = std::ranges::find_if(sums, [&](const Term& o) { return o.coefficient == t.coefficient; });
    if (same == sums.end())
      sums.push_back(t);
    else
      same->count = same->count + t.count - Nat(1);
  }
  f.free = std::move(sums);
  return true;
}

// Both get the larger counts of what they have in common; whether that is all.
bool Dependence::matchLocals(Form& a, Form& b) {
  bool agree = a.local.size() == b.local.size();
  for (auto& [key, term] : a.local) {
    const auto other = b.local.find(key);
    if (other == b.local.end() || other->second.coefficient != term.coefficient)
      agree = false;
    else
      term.count = other->second.count = larger(term.count, other->second.count);
  }
  return agree;
}

Nat Dependence::highest(const Form& f) {
  Nat high(f.hi);
  for (const auto& [key, t] : f.local) high = high + t.coefficient * (t.count - Nat(1));
  for (const Term& t : f.free) high = high + t.coefficient * (t.count - Nat(1));
  return high;
}

// Whether the index tells which work-item of the dimension it is.
bool Dependence::identifiesItem(const Access& a, const Access& b, const Form& f, const Splits& splits, int d) {
  const auto identifies = [&](LoopKind kind) {
    const int k = static_cast<int>(kind);
    const auto split = splits.find({k, d});
    // Loops of one iteration have one work-item do it.
    const auto once = [&](const LoopPath& path) {
      return std::ranges::any_of(path, [&](const For* loop) {
        return loop->kind == kind && loop->dim == d && proved(lessEqual(loop->count, Nat(1)));
      });
    };
    if (once(*a.path) && once(*b.path)) return true;
    return f.local.contains({k, d, 0}) && (split == splits.end() || f.local.contains({k, d, 1}));
  };
  return identifies(LoopKind::local) || identifies(LoopKind::global);
}

std::vector<Dependence::Digit> Dependence::digitsOf(const Form& a, const Form& b) {
  std::vector<Digit> digits;
  for (const auto& [key, term] : a.local) digits.push_back({term.coefficient, term.count, term.count, true});
  for (const Term& t : a.free) digits.push_back({t.coefficient, t.count, Nat(1), false});
  for (const Term& t : b.free) {
    const auto same =
        std::ranges::find_if(digits, [&](const Digit& d) { return !d.local && d.coefficient == t.coefficient; });
    if (same == digits.end())
      digits.push_back({t.coefficient, Nat(1), t.count, false});
    else
      same->countB = t.count;
  }
  return digits;
}

// Whether different work-items meet at a distance between the bounds, by trying all differences of the digits; nothing
// where these are not known or too many.
std::optional<bool> Dependence::searched(const std::vector<Digit>& digits, std::int64_t from, std::int64_t to) {
  std::vector<Step> steps;
  for (const Digit& d : digits) {
    const auto coefficient = d.coefficient.constant(), countA = d.countA.constant(), countB = d.countB.constant();
    if (!coefficient || !countA || !countB || *coefficient <= 0) return std::nullopt;
    // A local digit differs by up to count - 1 either way; free ones of both accesses are subtracted.
    steps.push_back({*coefficient, -(*countB - 1), *countA - 1, d.local});
  }
  std::ranges::sort(steps, [](const Step& x, const Step& y) { return x.coefficient > y.coefficient; });
  int budget = searchBudget;
  return meet(steps, 0, from, to, false, budget);
}

// From the least significant digit on. What lies below the first digit of a work-item may overlap as it likes.
bool Dependence::overlap(std::vector<Digit> digits, Nat low, Nat highA, Nat highB) {
  bool localSeen = false;
  for (std::size_t step = 0; step < digits.size(); step++) {
    for (std::size_t i = step + 1; i < digits.size(); i++)
      if (proved(lessEqual(digits[i].coefficient, digits[step].coefficient))) std::swap(digits[i], digits[step]);
    const Digit& d = digits[step];
    for (std::size_t i = step + 1; i < digits.size(); i++)
      if (!proved(lessEqual(d.coefficient, digits[i].coefficient))) return true;
    localSeen = localSeen || d.local;
    const Nat extent = larger(highA, highB) - low + Nat(1);
    if (localSeen && !proved(lessEqual(extent, d.coefficient))) return true;
    highA = highA + d.coefficient * (d.countA - Nat(1));
    highB = highB + d.coefficient * (d.countB - Nat(1));
  }
  return false;
}

bool Dependence::decide(const Access& a, const Access& b, std::size_t common) {
  Splits splits;
  if (!collectSplits(a, splits) || !collectSplits(b, splits)) return true;
  Form fa, fb;
  if (!analyse(a, common, splits, fa) || !analyse(b, common, splits, fb)) return true;
  const bool localsAgree = matchLocals(fa, fb);
  for (Form* f : {&fa, &fb})
    for (auto& [key, term] : f->local)
      if (!reflect(term, *f)) return true;
  if (!addUp(fa) || !addUp(fb)) return true;
  const Nat apart = fb.uniform - fa.uniform;
  // Different parts of the buffer?
  if (proved(less(highest(fa), Nat(fb.lo) + apart)) || proved(less(highest(fb) + apart, Nat(fa.lo)))) return false;
  // Otherwise the same work-item must be legible in the index.
  const auto offset = apart.constant();
  if (!localsAgree || !offset) return true;
  for (int d = 0; d < 3; d++)
    if (shared(d) && !identifiesItem(a, b, fa, splits, d)) return true;
  const std::vector<Digit> digits = digitsOf(fa, fb);
  if (const auto met = searched(digits, fb.lo + *offset - fa.hi, fb.hi + *offset - fa.lo)) return *met;
  return overlap(digits, Nat(std::min(fa.lo, fb.lo + *offset)), Nat(fa.hi), Nat(fb.hi + *offset));
}

}  // namespace lift::kernel
