// Reasoning under facts "k divides p".
//
// A fact about a number that is linear in a variable v with coefficient 1 or -1 is used up by solving for v: 4 | n
// makes n = 4*t with a new variable t, and everything known without facts applies to what results. Other facts (4 |
// n*m) are used as the equation k*(p/k) == p.
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "lift/diagnostic.hpp"
#include "polynomial.hpp"

namespace lift {

using namespace detail;

namespace {

// A variable that stands in for `original` with other bounds. Kept, so that asking again makes no new nodes.
NatVar variant(NatVar original, std::int64_t lower, std::optional<Nat> upper) {
  using VariantKey = std::tuple<NatVar, std::int64_t, Node>;
  static std::mutex mutex;
  static auto& known = *new std::map<VariantKey, NatVar>;
  const std::lock_guard lock(mutex);
  const VariantKey key{original, lower, upper ? upper->node() : nullptr};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  return known.emplace(key, NatVar::fresh(original.name() + "'", lower, upper, original.role())).first->second;
}

// Bounds of t in p == k*t for k > 0.
std::int64_t leastQuotient(Nat p, Nat k) {
  const auto lower = p.lower();
  if (!lower) return Range::minusInfinity;
  if (const auto c = k.constant()) return -floorQuotient(-*lower, *c);
  return *lower >= 1 ? 1 : *lower == 0 ? 0 : *lower;
}

std::optional<Nat> greatestQuotient(Nat p, NatVar v, Nat k) {
  const auto linear = p.linearIn(v);
  if (v.upper() && linear->coefficient == Nat(1) && linear->rest.constant())
    return floorDiv(*v.upper() + linear->rest, k);
  if (const auto upper = p.upper()) return k.constant() ? floorDiv(*upper, k) : max(*upper, 0);
  return std::nullopt;
}

// A change of variables: expressions are carried forward, and results back.
class Parametrisation {
 public:
  Parametrisation(std::vector<Divides> facts, std::vector<Nat> expressions)
      : facts_(std::move(facts)), expressions_(std::move(expressions)) {
    for (std::size_t i = 0; i < facts_.size();) {
      if (solve(facts_[i])) {
        facts_.erase(facts_.begin() + static_cast<std::ptrdiff_t>(i));
        i = 0;  // another fact may have become solvable
      } else {
        ++i;
      }
    }
  }

  const std::vector<Nat>& expressions() const { return expressions_; }
  const std::vector<Divides>& remainingFacts() const { return facts_; }

  Nat back(Nat a) const {
    for (auto step = backward_.rbegin(); step != backward_.rend(); ++step) a = a.substitute(*step);
    return a;
  }

 private:
  bool solve(const Divides& fact) {
    const Nat k = fact.divisor;
    const Nat p = fact.number;
    if (!isPositive(k.node()) || k == Nat(1)) return false;
    const std::vector<NatVar> candidates = p.variables();
    for (auto v = candidates.rbegin(); v != candidates.rend(); ++v) {
      const auto linear = p.linearIn(*v);
      if (!linear || k.mentions(*v)) continue;
      const auto coefficient = linear->coefficient.constant();
      if (!coefficient || (*coefficient != 1 && *coefficient != -1)) {
        if (coefficient && solveCongruence(*v, *coefficient, linear->rest, k)) return true;
        continue;
      }
      const NatVar t = variant(*v, leastQuotient(p, k), greatestQuotient(p, *v, k));
      replace(*v, linear->coefficient * (k * Nat(t) - linear->rest), t, floorDiv(p, k));
      return true;
    }
    return false;
  }

  // c*v + r divisible by k, all constant: v = (k/g)*t + v0 with g = gcd(c, k), if there is a solution.
  bool solveCongruence(NatVar v, std::int64_t c, Nat rest, Nat divisor) {
    const auto r = rest.constant();
    const auto k = divisor.constant();
    constexpr std::int64_t most = 4096;  // solutions are found by trial
    if (!r || !k || *k > most || *k < 1) return false;
    std::optional<std::int64_t> first;
    std::int64_t period = *k;
    for (std::int64_t x = 0; x < 2 * *k; ++x) {
      if (floorRemainder(floorRemainder(c, *k) * x + floorRemainder(*r, *k), *k) != 0) continue;
      if (first) {
        period = x - *first;
        break;
      }
      first = x;
    }
    if (!first || period == 1) return false;
    const Nat shifted = Nat(v) - *first;
    const NatVar t = variant(v, leastQuotient(shifted, period), greatestQuotient(shifted, v, period));
    replace(v, period * Nat(t) + *first, t, floorDiv(shifted, period));
    return true;
  }

  void replace(NatVar v, Nat value, NatVar t, Nat original) {
    std::map<NatVar, Nat> forward{{v, value}};
    std::map<NatVar, Nat> backward{{t, original}};
    // The bounds of later variables must speak of t as well.
    for (NatVar w : dependents(v)) {
      const NatVar changed = variant(w, w.lower(), w.upper()->substitute(forward));
      forward.emplace(w, changed);
      backward.emplace(changed, w);
    }
    for (Nat& e : expressions_) e = e.substitute(forward);
    for (Divides& f : facts_) f = {f.divisor.substitute(forward), f.number.substitute(forward)};
    backward_.push_back(std::move(backward));
  }

  // Variables of all expressions whose bounds mention v, also through other variables; in order of creation.
  std::vector<NatVar> dependents(NatVar v) const {
    std::map<NatVar, bool> depends;
    const auto visit = [&](auto& self, NatVar w) -> bool {
      if (w == v) return true;
      if (w < v || !w.upper()) return false;
      if (const auto found = depends.find(w); found != depends.end()) return found->second;
      bool result = false;
      for (NatVar u : w.upper()->variables()) result = self(self, u) || result;
      return depends[w] = result;
    };
    const auto visitAll = [&](Nat e) {
      for (NatVar w : e.variables()) visit(visit, w);
    };
    for (Nat e : expressions_) visitAll(e);
    for (const Divides& f : facts_) {
      visitAll(f.divisor);
      visitAll(f.number);
    }
    std::vector<NatVar> result;
    for (const auto& [w, yes] : depends)
      if (yes) result.push_back(w);
    return result;
  }

  std::vector<Divides> facts_;
  std::vector<Nat> expressions_;
  std::vector<std::map<NatVar, Nat>> backward_;
};

// A fact as an equation between polynomials: k*atom == value, where `atom` stands for floor(p/k).
struct Equation {
  Node k;
  Node atom;
  Poly value;
};

std::vector<Equation> equations(const std::vector<Divides>& facts, Style style) {
  std::vector<Equation> result;
  for (const Divides& fact : facts) {
    const Node k = fact.divisor.node();
    if (!isPositive(k)) continue;
    const Poly p = style == Style::decisive ? decisiveForm(fact.number.node()) : polyOf(fact.number.node());
    const Poly quotient = floorDivPoly(p, k, style);
    for (const NatTerm& term : quotient) {
      if (term.coefficient != 1 || term.monomial->kind != Nat::Kind::floorDiv) continue;
      const Poly others = add(quotient, monomialPoly(1, term.monomial), -1);
      Poly value = add(p, multiply(k->terms(), others), -1);
      const Node atom = term.monomial;
      const bool solved = std::ranges::none_of(value, [&](const NatTerm& t) { return hasFactor(t.monomial, atom); });
      if (solved) result.push_back({k, atom, std::move(value)});
      break;
    }
  }
  return result;
}

// Replaces k*(p/k) by p and p % k by 0 everywhere in an expression.
class ExactQuotients {
 public:
  explicit ExactQuotients(const std::vector<Divides>& facts)
      : facts_(facts), equations_(equations(facts, Style::readable)) {}

  Nat apply(Nat a) {
    const Node node = a.node();
    if (node->height == 0) return a;
    if (const auto found = memo_.find(node); found != memo_.end()) return found->second;
    const Nat result = node->isOperation() ? operation(node) : terms(node);
    memo_.emplace(node, result);
    return result;
  }

 private:
  Nat operation(Node node) {
    const Nat left = apply(NatNode::wrap(node->left));
    const Nat right = apply(NatNode::wrap(node->right));
    switch (node->kind) {
      case Nat::Kind::floorDiv: return floorDiv(left, right);
      case Nat::Kind::mod:
        for (const Divides& fact : facts_) {
          const bool multiple = divides(right, fact.divisor) == Truth::proved;
          if (multiple && divides(right, left - fact.number) == Truth::proved) return 0;
        }
        return mod(left, right);
      case Nat::Kind::min: return min(left, right);
      default: return max(left, right);
    }
  }

  Nat terms(Node node) {
    Poly sum = withFactors(node->terms(), [&](Node f) { return apply(NatNode::wrap(f)).node()->terms(); });
    // Facts may refer to each other's quotients, so the number of replacements is bounded.
    for (std::size_t k = 0; k < 4 * equations_.size() && replaceOnce(sum); ++k) {
    }
    return NatNode::wrap(finish(std::move(sum)));
  }

  bool replaceOnce(Poly& sum) const {
    for (const Equation& equation : equations_) {
      for (const NatTerm& term : sum) {
        if (!hasFactor(term.monomial, equation.atom)) continue;
        const Poly whole = monomialPoly(term.coefficient, term.monomial);
        const Poly factor = monomialPoly(term.coefficient, divideMonomial(term.monomial, equation.atom));
        const auto outer = divideExactly(factor, equation.k);
        if (!outer) continue;
        sum = add(add(sum, whole, -1), multiply(*outer, equation.value));
        return true;
      }
    }
    return false;
  }

  const std::vector<Divides>& facts_;
  std::vector<Equation> equations_;
  std::unordered_map<Node, Nat> memo_;
};

// Whether e is zero, multiplying it by divisors to get rid of exact quotients.
bool isZeroUnder(const std::vector<Divides>& facts, Poly e) {
  for (const Equation& equation : equations(facts, Style::decisive)) {
    Poly with;
    Poly without;
    for (const NatTerm& term : e) {
      if (hasFactor(term.monomial, equation.atom)) {
        with.push_back({term.coefficient, divideMonomial(term.monomial, equation.atom)});
      } else {
        without.push_back(term);
      }
    }
    if (with.empty()) continue;
    normalise(with);
    e = add(multiply(with, equation.value), multiply(without, equation.k->terms()));
  }
  return e.empty();
}

// Operations weigh most, then terms.
std::size_t weight(Node root) {
  std::size_t result = 0;
  std::vector<Node> pending{root};
  std::unordered_set<Node> seen;
  while (!pending.empty()) {
    const Node node = pending.back();
    pending.pop_back();
    for (const NatTerm& term : node->terms()) {
      ++result;
      for (Node factor : term.monomial->factors()) {
        ++result;
        if (!factor->isOperation() || !seen.insert(factor).second) continue;
        result += 8;
        pending.push_back(factor->left);
        pending.push_back(factor->right);
      }
    }
  }
  return result;
}

}  // namespace

Truth equalUnder(const std::vector<Divides>& facts, Nat a, Nat b) {
  const Truth plain = equal(a, b);
  if (plain != Truth::unknown || facts.empty()) return plain;
  try {
    const Parametrisation changed(facts, {a, b});
    const Nat left = changed.expressions()[0];
    const Nat right = changed.expressions()[1];
    const Truth truth = equal(left, right);
    if (truth != Truth::unknown || changed.remainingFacts().empty()) return truth;
    ExactQuotients exact(changed.remainingFacts());
    const Nat difference = exact.apply(left) - exact.apply(right);
    if (isZeroUnder(changed.remainingFacts(), decisiveForm(difference.node()))) return Truth::proved;
    return equal(difference, 0);
  } catch (const UserError&) {
    return Truth::unknown;  // beyond 64 bits
  }
}

Nat simplifyUnder(const std::vector<Divides>& facts, Nat a) {
  if (facts.empty() || a.node()->height == 0) return a;
  try {
    Nat best = a;
    const auto consider = [&](Nat candidate) {
      if (weight(candidate.node()) < weight(best.node())) best = candidate;
    };
    ExactQuotients exact(facts);
    consider(exact.apply(a));
    const Parametrisation changed(facts, {a});
    ExactQuotients remaining(changed.remainingFacts());
    consider(exact.apply(changed.back(remaining.apply(changed.expressions()[0]))));
    return best;
  } catch (const UserError&) {
    return a;  // beyond 64 bits
  }
}

}  // namespace lift
