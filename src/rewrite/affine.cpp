// Elements of terms, read off through layouts: every index is followed from the result to the arrays that are read.
#include "lift/affine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "lift/build.hpp"
#include "lift/terms.hpp"

namespace lift::affine {
namespace {

struct Unknown {
  std::string why;
};
// Thrown when an index turns out to be divided, so that it has to be read as more digits: reading starts again with
// these.
struct Divided {
  int root;
  std::vector<std::int64_t> extents;  // of the digits that it is then read as
};

std::int64_t constantOf(Nat n) {
  if (const auto c = n.constant()) return *c;
  throw Unknown{fmt::format("the size {} is not known", n.str())};
}

std::int64_t floored(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

void add(Form& form, const Form& other, std::int64_t times = 1) {
  form.constant += times * other.constant;
  for (const auto& [digit, coefficient] : other.terms)
    if ((form.terms[digit] += times * coefficient) == 0) form.terms.erase(digit);
}

// What is still to be taken of an array or a tuple: an element, or a component.
struct Take {
  std::optional<Form> index;
  std::size_t component = 0;
};
using Takes = std::vector<Take>;  // the first is the last in the vector
using Guards = std::vector<Guard>;

// What names stand for.
struct Scope;
using ScopePtr = std::shared_ptr<const Scope>;
struct Scope {
  Expr variable, value;
  Takes takes;                              // of the value, before all others
  ScopePtr around;                          // of the value
  ScopePtr outer;                           // further names
  std::optional<Form> index = {};           // of an index of generate
  mutable std::optional<Expr> scalar = {};  // its value, once it was read as one
};

// What a term that is read stands for: an element of the result, the term of a sum, or a factor of such a term, which
// must be an element of an array.
enum class Role : std::uint8_t { value, summed, factor };

constexpr int mostSteps = 5'000;  // layers with their epilogues take some dozens

class Reader {
 public:
  using Factors = std::map<int, std::vector<std::int64_t>>;  // of the roots whose indices are divided

  explicit Reader(const Factors& factors) : factors_(factors) {}

  Element read(Expr term) {
    Takes takes;
    Type type = term.type();
    for (; type.isArray(); type = type.element()) {
      auto [form, digits] = index(type.length());
      takes.insert(takes.begin(), Take{std::move(form)});
      element_.result.push_back(std::move(digits));
    }
    if (!type.isScalar()) throw Unknown{"its elements are no scalars"};
    element_.value = at(term, takes, {}, nullptr, Role::value);
    return std::move(element_);
  }

 private:
  // A new index, as a sum of its digits.
  std::pair<Form, std::vector<Digit>> index(Nat length) {
    const std::int64_t n = constantOf(length);
    const int root = roots_++;
    const auto found = factors_.find(root);
    const std::vector<std::int64_t> extents = found == factors_.end() ? std::vector{n} : found->second;
    Form form;
    std::vector<Digit> digits;
    std::int64_t inner = n;
    digitsOf_.push_back(extents);
    for (std::size_t i = 0; i < extents.size(); i++) {
      inner /= extents[i];
      if (extents[i] == 1) continue;
      digits.push_back(static_cast<Digit>(element_.extents.size()));
      form.terms.emplace(digits.back(), inner);
      element_.extents.push_back(extents[i]);
      places_.emplace_back(root, i);
    }
    return {form, digits};
  }

  std::int64_t extent(Digit d) const { return element_.extents[static_cast<std::size_t>(d)]; }

  bool isWithin(const Form& form, std::int64_t length) const {
    std::int64_t least = form.constant, most = form.constant;
    for (const auto& [digit, c] : form.terms) (c < 0 ? least : most) += c * (extent(digit) - 1);
    return least >= 0 && most < length;
  }

  // form / n and form % n.
  std::pair<Form, Form> divided(const Form& form, std::int64_t n) const {
    Form quotient, rest;
    quotient.constant = floored(form.constant, n);
    rest.constant = form.constant - n * quotient.constant;
    for (const auto& [digit, c] : form.terms)
      c % n == 0 ? quotient.terms.emplace(digit, c / n) : rest.terms.emplace(digit, c);
    if (isWithin(rest, n)) return {quotient, rest};
    for (const auto& [digit, c] : rest.terms) {
      if (c < 0 || n % c != 0 || extent(digit) <= n / c || extent(digit) % (n / c) != 0) continue;
      const auto [root, position] = places_[static_cast<std::size_t>(digit)];
      std::vector<std::int64_t> extents = digitsOf_[static_cast<std::size_t>(root)];
      extents[position] /= n / c;
      extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(position) + 1, n / c);
      throw Divided{root, extents};
    }
    throw Unknown{"an index is divided where its parts do not end"};
  }

  // The guards of an access, those of a dimension as one: what of the array is read where all of them hold.
  static Guards bounded(const Access& access, const Guards& guards) {
    std::vector<bool> isOne(guards.size());
    Guards all;
    Type type = access.source.type();
    for (const Form& place : access.place) {
      std::int64_t first = 0, last = constantOf(type.length()) - 1;
      type = type.element();
      bool any = false;
      for (std::size_t i = 0; i < guards.size(); i++) {
        if (guards[i].index.terms != place.terms) continue;
        const std::int64_t from = place.constant - guards[i].index.constant;
        first = std::max(first, from);
        last = std::min(last, from + guards[i].length - 1);
        isOne[i] = any = true;
      }
      if (!any) continue;
      if (last < first) throw Unknown{"it reads padding alone"};
      all.push_back({place, last - first + 1});
      all.back().index.constant -= first;
    }
    for (std::size_t i = 0; i < guards.size(); i++)
      if (!isOne[i]) all.push_back(guards[i]);
    return all;
  }

  Expr access(Expr source, const Takes& takes, const Guards& guards) {
    Access a{source, {}, {}};
    for (auto t = takes.rbegin(); t != takes.rend(); ++t) {
      if (!t->index) throw Unknown{"it reads arrays of tuples"};
      a.place.push_back(*t->index);
    }
    Type type = source.type();
    for (std::size_t i = 0; i < a.place.size(); i++) type = type.element();
    if (!type.isScalar()) throw Unknown{"its elements are no scalars"};
    for (const Guard& g : bounded(a, guards))
      if (!isWithin(g.index, g.length)) a.guards.push_back(g);
    const Expr variable = Expr::variable("a", type);
    element_.accesses.emplace(variable.id(), std::move(a));
    return variable;
  }

  static const Scope* find(Expr variable, const ScopePtr& scope) {
    for (const Scope* s = scope.get(); s != nullptr; s = s->outer.get())
      if (s->variable == variable) return s;
    return nullptr;
  }

  static bool isClosed(Expr e, const ScopePtr& scope) {
    const auto& free = e.freeVariables();
    return std::ranges::none_of(free, [&](Expr v) { return find(v, scope) != nullptr; });
  }

  static ScopePtr bound(Expr variable, Expr value, Takes takes, const ScopePtr& scope) {
    return std::make_shared<const Scope>(Scope{variable, value, std::move(takes), scope, scope});
  }

  static ScopePtr indexed(Expr variable, Form index, const ScopePtr& scope) {
    Scope inner{variable, variable, {}, scope, scope};
    inner.index = std::move(index);
    return std::make_shared<const Scope>(std::move(inner));
  }

  static Take pop(Takes& takes) {
    if (takes.empty()) throw Unknown{"it holds an array in registers"};
    const Take t = takes.back();
    takes.pop_back();
    return t;
  }
  static Form popIndex(Takes& takes) {
    const Take t = pop(takes);
    if (!t.index) throw Unknown{"it reads a component of what is no tuple"};
    return *t.index;
  }

  static bool isComputed(const Spine& s) {
    const auto computes = [](Expr p) { return !movesData(p.prim()) && p.prim() != Prim::at; };
    return s.isPrim(Prim::map) ? anyPrimitive(s.arguments[0], computes) : takesSteps(s.head);
  }

  Expr at(Expr e, Takes takes, Guards guards, const ScopePtr& scope, Role role) {
    // What names several times what names several times … is a long expression of an element.
    if (++steps_ > mostSteps) throw Unknown{"its elements are computed of too many others"};
    if (e.isVariable()) {
      if (std::ranges::find(accumulators_, e) != accumulators_.end()) {
        if (!guards.empty()) throw Unknown{"it pads what it computes"};
        return e;
      }
      const Scope* s = find(e, scope);
      if (s == nullptr) return access(e, takes, guards);
      if (s->index) throw Unknown{"what it computes depends on an index"};
      const bool isScalar = takes.empty() && guards.empty() && role == Role::value;
      if (isScalar && s->scalar) return *s->scalar;
      Takes all = takes;
      all.insert(all.end(), s->takes.begin(), s->takes.end());
      const Expr value = at(s->value, std::move(all), std::move(guards), s->around, role);
      if (isScalar) s->scalar = value;
      return value;
    }
    if (e.isLiteral()) {
      if (!guards.empty() && e.value().asDouble() != 0) throw Unknown{"it pads what is no element of an array"};
      return e;
    }
    const Spine s = spineOf(e);
    if (!s.head.isPrimitive() || s.arguments.empty()) throw Unknown{"it calls a function"};
    if (role == Role::factor && (isComputed(s) || s.isPrim(Prim::toGlobal))) {
      if (isClosed(e, scope)) return access(e, takes, guards);
      if (!s.isPrim(Prim::map)) throw Unknown{"a factor is computed within the loops"};
    }
    return ofPrimitive(s, std::move(takes), std::move(guards), scope, role);
  }

  Expr ofPrimitive(const Spine& s, Takes takes, Guards guards, const ScopePtr& scope, Role role) {
    const auto& a = s.arguments;
    if (const auto in = throughLayout(s, takes)) return at(*in, std::move(takes), std::move(guards), scope, role);
    switch (s.head.prim()) {
      case Prim::map: {
        const ScopePtr inner = bound(a[0].parameter(), a[1], {Take{popIndex(takes)}}, scope);
        return at(a[0].body(), std::move(takes), std::move(guards), inner, role);
      }
      case Prim::let: {
        const ScopePtr inner = bound(a[0].parameter(), a[1], {}, scope);
        return at(a[0].body(), std::move(takes), std::move(guards), inner, role);
      }
      case Prim::generate: {
        const ScopePtr inner = indexed(a[0].parameter(), popIndex(takes), scope);
        return at(a[0].body(), std::move(takes), std::move(guards), inner, role);
      }
      case Prim::at: {
        takes.push_back(Take{placeOf(a[0], constantOf(a[1].type().length()), guards, scope)});
        return at(a[1], std::move(takes), std::move(guards), scope, role);
      }
      case Prim::ifThenElse: {
        // Zeros where an index is outside of bounds: padding.
        for (const std::size_t zeros : {1U, 2U}) {
          if (!isFilledWithZeros(a[zeros], takes.size())) continue;
          if (auto inside = boundsOf(a[0], zeros == 2, scope)) {
            guards.insert(guards.end(), inside->begin(), inside->end());
            return at(a[3 - zeros], std::move(takes), std::move(guards), scope, role);
          }
        }
        return scalar(s, takes, guards, scope, role);
      }
      case Prim::pad: {
        Form i = popIndex(takes);
        i.constant -= constantOf(s.head.nats()[0]);
        const std::int64_t length = constantOf(a[1].type().length());
        if (!isWithin(i, length)) {
          if (!isZero(at(a[0], takes, {}, scope, Role::value))) throw Unknown{"it pads with no zeros"};
          guards.push_back({i, length});
        }
        takes.push_back(Take{i});
        return at(a[1], std::move(takes), std::move(guards), scope, role);
      }
      case Prim::reduce: return sum(s, takes, guards, scope);
      default: return scalar(s, takes, guards, scope, role);
    }
  }

  // ---- integers that are computed of indices

  // Such an integer as a form.
  Form formOf(Expr e, const ScopePtr& scope, Takes takes = {}) {
    if (e.isVariable()) {
      const Scope* s = find(e, scope);
      if (s == nullptr) throw Unknown{"an index is read from an array"};
      if (s->index) return *s->index;
      takes.insert(takes.end(), s->takes.begin(), s->takes.end());
      return formOf(s->value, s->around, std::move(takes));
    }
    if (e.isNatLiteral()) return {constantOf(e.natValue()), {}};
    if (e.isLiteral() && e.value().type == Scalar::i32) return {e.value().integer, {}};
    const Spine s = spineOf(e);
    if (!s.head.isPrimitive() || s.arguments.empty()) throw Unknown{"an index is no sum of indices"};
    if (const auto in = throughLayout(s, takes)) return formOf(*in, scope, std::move(takes));
    const auto& a = s.arguments;
    switch (s.head.prim()) {
      case Prim::map: {
        const ScopePtr inner = bound(a[0].parameter(), a[1], {Take{popIndex(takes)}}, scope);
        return formOf(a[0].body(), inner, std::move(takes));
      }
      case Prim::let: return formOf(a[0].body(), bound(a[0].parameter(), a[1], {}, scope), std::move(takes));
      case Prim::generate: {
        const ScopePtr inner = indexed(a[0].parameter(), popIndex(takes), scope);
        return formOf(a[0].body(), inner, std::move(takes));
      }
      case Prim::op:
        if (a.size() == 2) return ofOperation(s.head.op(), formOf(a[0], scope), formOf(a[1], scope));
        [[fallthrough]];
      default: throw Unknown{"an index is no sum of indices"};
    }
  }

  Form ofOperation(Op op, Form a, const Form& b) const {
    switch (op) {
      case Op::add: add(a, b); return a;
      case Op::sub: add(a, b, -1); return a;
      case Op::mul: {
        if (!a.terms.empty() && !b.terms.empty()) break;
        const Form& factor = a.terms.empty() ? a : b;
        Form product;
        if (factor.constant != 0) add(product, &factor == &a ? b : a, factor.constant);
        return product;
      }
      case Op::div:
      case Op::mod: {  // of negative ones the quotient would be rounded up
        if (!b.terms.empty() || b.constant < 1 || leastOf(a) < 0) break;
        auto [quotient, rest] = divided(a, b.constant);
        return op == Op::div ? quotient : rest;
      }
      default: break;
    }
    throw Unknown{"an index is no sum of indices"};
  }

  std::int64_t leastOf(const Form& form) const {
    std::int64_t least = form.constant;
    for (const auto& [digit, c] : form.terms) least += std::min<std::int64_t>(0, c * (extent(digit) - 1));
    return least;
  }

  // An index into an array of that length as a form; it must be within the array, or within it wherever the guards
  // hold.
  Form placeOf(Expr index, std::int64_t length, const Guards& guards, const ScopePtr& scope) {
    Form place = formOf(index, scope);
    element_.slides = element_.slides || place.terms.size() > 1;
    std::int64_t first = leastOf(place), last = -leastOf(negated(place));
    for (const Guard& g : guards) {
      if (g.index.terms != place.terms) continue;
      const std::int64_t from = place.constant - g.index.constant;
      first = std::max(first, from);
      last = std::min(last, from + g.length - 1);
    }
    if (first < 0 || last >= length) throw Unknown{"an index may be outside of its array"};
    return place;
  }

  static Form negated(const Form& form) {
    Form out;
    add(out, form, -1);
    return out;
  }

  // Where the condition (or its opposite) holds, as bounds of indices all of which hold; nothing where it is none.
  std::optional<Guards> boundsOf(Expr condition, bool holds, const ScopePtr& scope) {
    const Spine s = spineOf(condition);
    if (s.isCall(Prim::let))
      return boundsOf(s.arguments[0].body(), holds, bound(s.arguments[0].parameter(), s.arguments[1], {}, scope));
    if (!s.isPrim(Prim::op)) return std::nullopt;
    const auto& a = s.arguments;
    const Op op = s.head.op();
    if (op == Op::logicalNot) return boundsOf(a[0], !holds, scope);
    if (op == (holds ? Op::logicalAnd : Op::logicalOr)) {
      auto both = boundsOf(a[0], holds, scope);
      const auto second = both ? boundsOf(a[1], holds, scope) : std::nullopt;
      if (!second) return std::nullopt;
      both->insert(both->end(), second->begin(), second->end());
      return both;
    }
    if (a.size() != 2 || a[0].type() != Type::scalar(Scalar::i32)) return std::nullopt;
    const bool isLess = op == Op::lt || op == Op::le;
    if (!isLess && op != Op::gt && op != Op::ge) return std::nullopt;
    const bool firstIsLess = isLess == holds, strictly = (op == Op::lt || op == Op::gt) == holds;
    try {
      Form difference = formOf(a[firstIsLess ? 1 : 0], scope);
      add(difference, formOf(a[firstIsLess ? 0 : 1], scope), -1);
      if (strictly) difference.constant--;
      return Guards{atLeastZero(difference)};
    } catch (const Unknown&) {
      return std::nullopt;
    }
  }

  // form >= 0 as bounds of the sum of its digits, the first with a positive factor.
  Guard atLeastZero(const Form& form) const {
    const bool isNegative = !form.terms.empty() && form.terms.begin()->second < 0;
    Form index = isNegative ? negated(form) : form;
    if (!isNegative) return {index, -leastOf(negated(index)) + 1};
    const std::int64_t most = 0;  // of the index: -form <= 0
    const std::int64_t least = leastOf(index);
    index.constant -= least;
    return {index, most - least + 1};
  }

  // An array so many dimensions deep, all of whose elements are written as zeros.
  static bool isFilledWithZeros(Expr e, std::size_t dimensions) {
    for (; dimensions > 0; dimensions--) {
      const Spine s = spineOf(e);
      if (!s.isPrim(Prim::generate) || s.arguments.empty()) return false;
      e = s.arguments[0].body();
    }
    return isZero(e);
  }

  // Reads through a layout: returns its argument that holds the element, and changes `takes` to what is taken of that
  // argument. Nothing for what is no layout.
  std::optional<Expr> throughLayout(const Spine& s, Takes& takes) {
    const auto& a = s.arguments;
    const auto size = [&](std::size_t i) { return constantOf(s.head.nats()[i]); };
    switch (s.head.prim()) {
      case Prim::zip: {
        const Form i = popIndex(takes);
        const Take component = pop(takes);
        if (component.index) throw Unknown{"it reads tuples as they are"};
        takes.push_back(Take{i});
        return a[component.component];
      }
      case Prim::unzip: {
        const Take component = pop(takes);
        const Form i = popIndex(takes);
        takes.push_back(component);
        takes.push_back(Take{i});
        return a[0];
      }
      case Prim::tuple: return a[pop(takes).component];
      case Prim::get: takes.push_back(Take{std::nullopt, static_cast<std::size_t>(size(0))}); return a[0];
      case Prim::transpose: {
        const Form i = popIndex(takes), j = popIndex(takes);
        takes.push_back(Take{i});
        takes.push_back(Take{j});
        return a[0];
      }
      case Prim::split:
      case Prim::slide:
      case Prim::slideStrict: {
        Form i = popIndex(takes), all = popIndex(takes);
        element_.slides = element_.slides || !s.isPrim(Prim::split);
        add(all, i, size(s.isPrim(Prim::split) ? 0 : 1));
        takes.push_back(Take{all});
        return a[0];
      }
      case Prim::join: {
        const auto [outer, inner] = divided(popIndex(takes), constantOf(a[0].type().element().length()));
        takes.push_back(Take{inner});
        takes.push_back(Take{outer});
        return a[0];
      }
      case Prim::drop: {
        Form i = popIndex(takes);
        i.constant += size(0);
        takes.push_back(Take{i});
        return a[0];
      }
      case Prim::reorder: {
        if (s.head.indexFn() != IndexFn::reverse) throw Unknown{"an element is made by reorder"};
        Form i;
        i.constant = constantOf(a[0].type().length()) - 1;
        add(i, popIndex(takes), -1);
        takes.push_back(Take{i});
        return a[0];
      }
      case Prim::take:
      case Prim::toGlobal:
      case Prim::id: return a[0];
      default: return std::nullopt;
    }
  }

  Expr scalar(const Spine& s, const Takes& takes, const Guards& guards, const ScopePtr& scope, Role role) {
    const Prim p = s.head.prim();
    if (p != Prim::op && p != Prim::convert && p != Prim::ifThenElse)
      throw Unknown{fmt::format("an element is made by {}", info(p).name)};
    if (role == Role::factor) throw Unknown{"a factor is computed where it is read"};
    if (!takes.empty()) throw Unknown{"it chooses between arrays"};
    if (!guards.empty()) throw Unknown{"it pads what it computes"};
    const bool factors = role == Role::summed && p == Prim::op && s.head.op() == Op::mul;
    std::vector<Expr> arguments;
    for (const Expr x : s.arguments) arguments.push_back(at(x, {}, {}, scope, factors ? Role::factor : role));
    return applyAll(s.head, arguments);
  }

  static bool isZero(Expr e) { return e.isLiteral() && e.value().asDouble() == 0; }

  Expr sum(const Spine& s, const Takes& takes, const Guards& guards, const ScopePtr& scope) {
    const auto& a = s.arguments;
    if (!takes.empty() || !a[0].type().isScalar()) throw Unknown{"it reduces arrays"};
    if (!guards.empty()) throw Unknown{"it pads what it computes"};
    const Expr init = at(a[0], {}, {}, scope, Role::value);
    auto [form, digits] = index(a[2].type().length());
    const Expr acc = Expr::variable("acc", a[0].type()), element = Expr::variable("x", a[2].type().element());
    const ScopePtr ofElement = bound(element, a[2], {Take{form}}, scope);
    const ScopePtr ofPair = bound(a[1].parameter(), build::tuple({acc, element}), {}, ofElement);
    accumulators_.push_back(acc);
    Sum made{init, at(a[1].body(), {}, {}, ofPair, Role::summed), digits};
    accumulators_.pop_back();
    if (!becomesSum(made, acc)) throw Unknown{"its reductions are no sums"};
    const Expr variable = Expr::variable("sum", a[0].type());
    element_.sums.emplace(variable.id(), std::move(made));
    return variable;
  }

  // Turns what a reduction's function computes of `acc` into the term of a sum, if it adds to `acc`. A sum of sums
  // becomes one sum.
  bool becomesSum(Sum& sum, Expr acc) {
    if (sum.term.isVariable()) {
      const auto inner = element_.sums.find(sum.term.id());
      if (inner == element_.sums.end() || inner->second.init != acc) return false;
      absorb(sum, inner->second);
      return !sum.term.hasFree(acc);
    }
    const Spine s = spineOf(sum.term);
    if (!s.isPrim(Prim::op) || s.head.op() != Op::add) return false;
    const bool first = s.arguments[0] == acc;
    if (!first && s.arguments[1] != acc) return false;
    sum.term = s.arguments[first ? 1 : 0];
    if (sum.term.hasFree(acc)) return false;
    if (!sum.term.isVariable()) return true;
    const auto inner = element_.sums.find(sum.term.id());
    if (inner != element_.sums.end() && isZero(inner->second.init)) absorb(sum, inner->second);
    return true;
  }

  static void absorb(Sum& sum, const Sum& inner) {
    sum.digits.insert(sum.digits.end(), inner.digits.begin(), inner.digits.end());
    sum.term = inner.term;
  }

  const Factors& factors_;
  Element element_;
  std::vector<std::pair<int, std::size_t>> places_;  // of the digits: root and position
  std::vector<std::vector<std::int64_t>> digitsOf_;  // of the roots
  std::vector<Expr> accumulators_;
  int roots_ = 0, steps_ = 0;
};

template <class F>
void forEachForm(Access& access, F&& f) {
  for (Form& place : access.place) f(place);
  for (Guard& guard : access.guards) f(guard.index);
}

// Sums have no order: those that read windows from their last element to the first, as gradients of convolutions do
// (`k[i] * in[y + 2 - i]`), are turned around, so that windows ascend and what is multiplied by them descends.
void turnWindows(Element& element) {
  for (const auto& [id, sum] : element.sums)
    for (const Digit digit : sum.digits) {
      bool ascends = false, descends = false;
      for (auto& [variable, access] : element.accesses)
        for (const Form& place : access.place) {
          const auto found = place.terms.find(digit);
          if (found != place.terms.end() && place.terms.size() > 1) (found->second > 0 ? ascends : descends) = true;
        }
      if (ascends || !descends) continue;
      const std::int64_t last = element.extents[static_cast<std::size_t>(digit)] - 1;
      for (auto& [variable, access] : element.accesses)
        forEachForm(access, [&](Form& form) {
          const auto found = form.terms.find(digit);
          if (found == form.terms.end()) return;
          form.constant += found->second * last;
          found->second = -found->second;
        });
    }
}

}  // namespace

std::optional<Element> elementOf(Expr term, std::string* why) {
  Reader::Factors factors;
  try {
    for (;;) try {  // each time with a digit more
        Element element = Reader(factors).read(term);
        turnWindows(element);
        return element;
      } catch (const Divided& divided) {
        factors[divided.root] = divided.extents;
      }
  } catch (const Unknown& unknown) {
    if (why != nullptr) *why = unknown.why;
  }
  return std::nullopt;
}

}  // namespace lift::affine
