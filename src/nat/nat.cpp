// The interface: construction, traversal, substitution, evaluation.
#include "lift/nat.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "lift/diagnostic.hpp"
#include "polynomial.hpp"

namespace lift {

using namespace detail;

// --------------------------------------------------------------------------------------------------------- variables

NatVar NatVar::fresh(std::string name, std::int64_t lower, std::optional<Nat> upper, Role role) {
  static std::mutex mutex;
  static auto& all = *new std::deque<NatVarData>;  // a deque does not move its elements
  std::uint64_t prefix = 0;
  for (std::size_t i = 0; i < 8; ++i)
    prefix = prefix << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0u);
  const std::lock_guard lock(mutex);
  const std::uint64_t id = all.size();
  all.push_back({std::move(name), id, role, lower, upper, prefix});
  return NatVar(&all.back());
}

NatVar NatVar::size(std::string name) { return fresh(std::move(name), 1, std::nullopt, Role::size); }
NatVar NatVar::index(std::string name, const Nat& count) { return fresh(std::move(name), 0, count - 1, Role::index); }

const std::string& NatVar::name() const { return data_->name; }
std::uint64_t NatVar::id() const { return data_->id; }
NatVar::Role NatVar::role() const { return data_->role; }
std::int64_t NatVar::lower() const { return data_->lower; }
std::optional<Nat> NatVar::upper() const { return data_->upper; }

// -------------------------------------------------------------------------------------------------------- operations

Nat::Nat(std::int64_t value) : node_(internConstant(value)) {}
Nat::Nat(NatVar variable) : node_(internVariable(variable.data_)) {}

namespace {

// Code generators build the same few expressions again and again. The memo is small, local to the thread and never
// wrong: nodes are immortal and operations are pure.
template <class Operation>
Nat memoised(Nat::Kind kind, Node a, Node b, Operation operation) {
  struct Entry {
    Node a = nullptr;
    Node b = nullptr;
    Nat::Kind kind = Nat::Kind::constant;
    Node result = nullptr;
  };
  thread_local std::array<Entry, 4096> entries;
  const std::size_t slot = (a->hash * 31 + b->hash * 7 + static_cast<std::size_t>(kind)) % entries.size();
  if (const Entry& entry = entries[slot]; entry.a == a && entry.b == b && entry.kind == kind && entry.result)
    return NatNode::wrap(entry.result);
  const Node result = operation();
  entries[slot] = {a, b, kind, result};
  return NatNode::wrap(result);
}

}  // namespace

Nat operator+(Nat a, Nat b) {
  if (a.node()->termCount == 0) return b;
  if (b.node()->termCount == 0) return a;
  return NatNode::wrap(finish(add(a.node()->terms(), b.node()->terms())));
}

Nat operator-(Nat a, Nat b) {
  if (b.node()->termCount == 0) return a;
  return NatNode::wrap(finish(add(a.node()->terms(), b.node()->terms(), -1)));
}

Nat operator-(Nat a) { return NatNode::wrap(finish(negate(a.node()->terms()))); }

Nat operator*(Nat a, Nat b) {
  if (a.node() == one()) return b;
  if (b.node() == one()) return a;
  return memoised(Nat::Kind::product, a.node(), b.node(),
                  [&] { return finish(multiply(a.node()->terms(), b.node()->terms())); });
}

Nat floorDiv(Nat a, Nat b) {
  return memoised(Nat::Kind::floorDiv, a.node(), b.node(),
                  [&] { return finish(floorDivPoly(polyOf(a.node()), b.node(), Style::readable)); });
}

Nat mod(Nat a, Nat b) {
  return memoised(Nat::Kind::mod, a.node(), b.node(), [&] { return finish(modPoly(polyOf(a.node()), b.node())); });
}

Nat min(Nat a, Nat b) {
  return memoised(Nat::Kind::min, a.node(), b.node(), [&] { return minNode(a.node(), b.node()); });
}

Nat max(Nat a, Nat b) {
  return memoised(Nat::Kind::max, a.node(), b.node(), [&] { return maxNode(a.node(), b.node()); });
}

Nat ceilDiv(Nat a, Nat b) { return floorDiv(a + b - 1, b); }

Nat sum(const std::vector<Nat>& terms) {
  Poly total;
  for (Nat term : terms) total.append(term.node()->terms());
  normalise(total);
  return NatNode::wrap(finish(std::move(total)));
}

bool structurallyLess(Nat a, Nat b) { return compareNodes(a.node(), b.node()) < 0; }

// --------------------------------------------------------------------------------------------------------- traversal

Nat::Kind Nat::kind() const { return node_->kind; }

std::optional<std::int64_t> Nat::constant() const {
  if (!node_->isConstant()) return std::nullopt;
  return node_->constantValue();
}

std::optional<NatVar> Nat::variable() const {
  if (node_->kind != Kind::variable) return std::nullopt;
  return NatNode::wrap(node_->variableData);
}

std::optional<std::int64_t> Nat::lower() const {
  if (node_->range.lower == Range::minusInfinity) return std::nullopt;
  return node_->range.lower;
}

std::optional<std::int64_t> Nat::upper() const {
  if (node_->range.upper == Range::plusInfinity) return std::nullopt;
  return node_->range.upper;
}

std::size_t Nat::hash() const { return node_->hash; }

namespace {

// Publishes a list made on demand; when two threads make it at once, one of them wins.
template <class T, class Make>
const std::vector<T>& madeOnce(std::atomic<const std::vector<T>*>& slot, Make make) {
  if (const auto* list = slot.load(std::memory_order_acquire)) return *list;
  const auto* made = new std::vector<T>(make());
  const std::vector<T>* expected = nullptr;
  if (slot.compare_exchange_strong(expected, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *expected;
}

std::vector<Nat> operandsOf(Node node) {
  std::vector<Nat> result;
  if (node->isOperation()) {
    result = {NatNode::wrap(node->left), NatNode::wrap(node->right)};
  } else if (node->kind == Nat::Kind::sum) {
    // Positive terms first, the constant last.
    const auto append = [&](auto select) {
      for (const NatTerm& term : node->terms())
        if (select(term)) result.push_back(NatNode::wrap(internTerms({&term, 1})));
    };
    append([](const NatTerm& t) { return t.monomial != one() && t.coefficient > 0; });
    append([](const NatTerm& t) { return t.monomial != one() && t.coefficient < 0; });
    append([](const NatTerm& t) { return t.monomial == one(); });
  } else if (node->kind == Nat::Kind::product) {
    const NatTerm& term = node->termData[0];
    if (term.coefficient != 1) result.emplace_back(term.coefficient);
    for (Node factor : term.monomial->factors()) result.push_back(NatNode::wrap(factor));
  }
  return result;
}

// All nodes below a node, each once, without recursion.
template <class Visit>
void visitVariables(Node root, Visit visit) {
  std::vector<Node> pending{root};
  std::unordered_set<Node> seen;
  while (!pending.empty()) {
    const Node node = pending.back();
    pending.pop_back();
    if (node->isConstant() || !seen.insert(node).second) continue;
    if (node->kind == Nat::Kind::variable) {
      visit(NatNode::wrap(node->variableData));
    } else if (node->isOperation()) {
      pending.push_back(node->left);
      pending.push_back(node->right);
    } else if (node->factorCount > 0) {
      pending.insert(pending.end(), node->factors().begin(), node->factors().end());
    } else {
      for (const NatTerm& term : node->terms()) pending.push_back(term.monomial);
    }
  }
}

const std::vector<NatVar>& variablesOf(Node node) {
  return madeOnce(node->variableList, [&] {
    std::vector<NatVar> result;
    visitVariables(node, [&](NatVar variable) { result.push_back(variable); });
    std::sort(result.begin(), result.end());
    return result;
  });
}

std::uint64_t maskBit(NatVar variable) { return std::uint64_t{1} << (variable.id() % 64); }

}  // namespace

const std::vector<Nat>& Nat::operands() const {
  return madeOnce(node_->operandList, [&] { return operandsOf(node_); });
}

std::vector<NatVar> Nat::variables() const { return variablesOf(node_); }

bool Nat::mentions(NatVar variable) const {
  if (!(node_->variableMask & maskBit(variable)) || variable.id() >= node_->latest) return false;
  const std::vector<NatVar>& all = variablesOf(node_);
  return std::binary_search(all.begin(), all.end(), variable);
}

std::optional<Nat::Linear> Nat::linearIn(NatVar variable) const {
  const Node v = internVariable(NatNode::data(variable));
  Poly coefficient;
  Poly rest;
  for (const NatTerm& term : node_->terms()) {
    const bool linear = hasFactor(term.monomial, v);
    const Node others = linear ? divideMonomial(term.monomial, v) : term.monomial;
    if (NatNode::wrap(others).mentions(variable)) return std::nullopt;
    (linear ? coefficient : rest).push_back({term.coefficient, others});
  }
  normalise(coefficient);
  return Linear{Nat(finish(std::move(coefficient))), Nat(finish(std::move(rest)))};
}

// ------------------------------------------------------------------------------------------ substitution, evaluation

namespace {

class Substitution {
 public:
  explicit Substitution(const std::map<NatVar, Nat>& replacements) : replacements_(replacements) {
    for (const auto& [variable, replacement] : replacements) mask_ |= maskBit(variable);
  }

  Nat apply(Node node) {
    if (!(node->variableMask & mask_) || replacements_.begin()->first.id() >= node->latest) return NatNode::wrap(node);
    if (node->kind == Nat::Kind::variable) {
      const auto found = replacements_.find(NatNode::wrap(node->variableData));
      return found == replacements_.end() ? NatNode::wrap(node) : found->second;
    }
    if (const auto found = memo_.find(node); found != memo_.end()) return found->second;
    const Nat result = node->isOperation() ? applyToOperation(node) : applyToTerms(node);
    memo_.emplace(node, result);
    return result;
  }

 private:
  Nat applyToOperation(Node node) {
    const Nat left = apply(node->left);
    const Nat right = apply(node->right);
    if (left.node() == node->left && right.node() == node->right) return NatNode::wrap(node);
    return combine(node->kind, left, right);
  }

  Nat applyToTerms(Node node) {
    return NatNode::wrap(finish(withFactors(node->terms(), [&](Node f) { return apply(f).node()->terms(); })));
  }

  const std::map<NatVar, Nat>& replacements_;
  std::uint64_t mask_ = 0;
  std::unordered_map<Node, Nat> memo_;
};

class Evaluation {
 public:
  explicit Evaluation(const std::function<std::int64_t(NatVar)>& value) : value_(value) {}

  std::int64_t of(Node node) {
    if (node->kind == Nat::Kind::variable) return value_(NatNode::wrap(node->variableData));
    if (node->isOperation()) {
      // Shared operations are evaluated once; below this height there is little to share.
      if (node->height <= 2) return operation(node);
      if (const auto found = memo_.find(node); found != memo_.end()) return found->second;
      const std::int64_t result = operation(node);
      memo_.emplace(node, result);
      return result;
    }
    std::int64_t sum = 0;
    for (const NatTerm& term : node->terms()) {
      std::int64_t product = term.coefficient;
      for (Node factor : term.monomial->factors()) product = checkedMul(product, of(factor));
      sum = checkedAdd(sum, product);
    }
    return sum;
  }

 private:
  std::int64_t operation(Node node) {
    const std::int64_t left = of(node->left);
    const std::int64_t right = of(node->right);
    switch (node->kind) {
      case Nat::Kind::min: return std::min(left, right);
      case Nat::Kind::max: return std::max(left, right);
      default: break;
    }
    if (right == 0) throw UserError(ExitStatus::program, "division by zero");
    return node->kind == Nat::Kind::floorDiv ? floorQuotient(left, right) : floorRemainder(left, right);
  }

  const std::function<std::int64_t(NatVar)>& value_;
  std::unordered_map<Node, std::int64_t> memo_;
};

}  // namespace

Nat Nat::substitute(const std::map<NatVar, Nat>& replacements) const {
  if (replacements.empty()) return *this;
  return Substitution(replacements).apply(node_);
}

std::int64_t Nat::evaluate(const std::function<std::int64_t(NatVar)>& value) const {
  return Evaluation(value).of(node_);
}

}  // namespace lift
