// The table of nodes and the structural order.
#include <array>
#include <memory>

#include "lift/diagnostic.hpp"
#include "lift/interning.hpp"
#include "polynomial.hpp"

namespace lift::detail {

void throwOverflow() {
  throw UserError(ExitStatus::program, "size exceeds 64 bits",
                  "sizes, and the numbers of elements of arrays, are less than 2^63: take smaller ones");
}

// ------------------------------------------------------------------------------------------------------------- table

namespace {

// What distinguishes a node.
struct Key {
  NatNode::Kind kind;
  std::int64_t value = 0;
  const NatVarData* variable = nullptr;
  Node left = nullptr;
  Node right = nullptr;
  std::span<const NatTerm> terms = {};
  std::span<const Node> factors = {};

  std::uint64_t hash() const {
    std::uint64_t hash = mix(static_cast<std::uint64_t>(kind), static_cast<std::uint64_t>(value));
    if (variable) hash = mix(hash, variable->id);
    if (left) hash = mix(mix(hash, left->hash), right->hash);
    for (const NatTerm& term : terms)
      hash = mix(mix(hash, static_cast<std::uint64_t>(term.coefficient)), term.monomial->hash);
    for (Node factor : factors) hash = mix(hash, factor->hash);
    return hash;
  }

  bool matches(const NatNode& node) const {
    if (node.kind != kind) return false;
    switch (kind) {
      case NatNode::Kind::constant: return node.constantValue() == value;
      case NatNode::Kind::variable: return node.variableData == variable;
      case NatNode::Kind::sum:
      case NatNode::Kind::product:
        if (!factors.empty()) return std::ranges::equal(node.factors(), factors);
        return node.factorCount == 0 && std::ranges::equal(node.terms(), terms, [](NatTerm a, NatTerm b) {
                 return a.coefficient == b.coefficient && a.monomial == b.monomial;
               });
      default: return node.left == left && node.right == right;
    }
  }
};

// Memory that is never given back, in large pieces.
class Arena {
 public:
  template <class T>
  T* allocate(std::size_t count) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    const std::size_t bytes = (count * sizeof(T) + alignment - 1) / alignment * alignment;
    if (bytes > pieceSize) return static_cast<T*>(newPiece(bytes));
    if (free_ < bytes) {
      next_ = static_cast<std::byte*>(newPiece(pieceSize));
      free_ = pieceSize;
    }
    std::byte* result = next_;
    next_ += bytes;
    free_ -= bytes;
    return reinterpret_cast<T*>(result);
  }

  template <class T>
  const T* copy(std::span<const T> values) {
    T* result = allocate<T>(values.size());
    std::copy(values.begin(), values.end(), result);
    return result;
  }

 private:
  static constexpr std::size_t alignment = alignof(std::max_align_t);
  static constexpr std::size_t pieceSize = std::size_t{1} << 16;

  void* newPiece(std::size_t bytes) {
    pieces_.push_back(std::make_unique<std::byte[]>(bytes));
    return pieces_.back().get();
  }

  std::vector<std::unique_ptr<std::byte[]>> pieces_;
  std::byte* next_ = nullptr;
  std::size_t free_ = 0;
};

void describeMonomial(NatNode& node, std::span<const Node> factors) {
  node.range = {1, 1};
  for (Node factor : factors) {
    node.range = node.range * factor->range;
    node.height = std::max(node.height, factor->height);
    node.latest = std::max(node.latest, factor->latest);
    node.variableMask |= factor->variableMask;
    node.hasFloorDiv |= factor->kind == NatNode::Kind::floorDiv;
    node.hasMod |= factor->kind == NatNode::Kind::mod;
  }
}

void describeTerms(NatNode& node) {
  node.range = rangeOf(node.terms());
  for (const NatTerm& term : node.terms()) {
    node.height = std::max(node.height, term.monomial->height);
    node.latest = std::max(node.latest, term.monomial->latest);
    node.variableMask |= term.monomial->variableMask;
    node.hasFloorDiv |= term.monomial->hasFloorDiv;
    node.hasMod |= term.monomial->hasMod;
  }
}

Node make(const Key& key, std::uint64_t hash, Arena& arena) {
  NatNode* node = new (arena.allocate<NatNode>(1)) NatNode;
  node->kind = key.kind;
  node->hash = hash;
  node->termData = &node->ownTerm;
  node->termCount = 1;
  node->ownTerm.monomial = node;
  switch (key.kind) {
    case NatNode::Kind::constant:
      node->ownTerm = {key.value, key.value == 1 ? node : one()};
      node->termCount = key.value == 0 ? 0 : 1;
      node->range = {key.value, key.value};
      break;
    case NatNode::Kind::sum:
    case NatNode::Kind::product:
      if (key.factors.empty()) {
        node->termData = arena.copy(key.terms);
        node->termCount = static_cast<std::uint32_t>(key.terms.size());
        describeTerms(*node);
      } else {
        node->factorData = arena.copy(key.factors);
        node->factorCount = static_cast<std::uint32_t>(key.factors.size());
        describeMonomial(*node, key.factors);
      }
      break;
    case NatNode::Kind::variable:
      node->variableData = key.variable;
      node->latest = key.variable->id + 1;
      node->variableMask = std::uint64_t{1} << (key.variable->id % 64);
      node->range.lower = key.variable->lower;
      if (key.variable->upper) node->range.upper = key.variable->upper->node()->range.upper;
      break;
    default:
      node->left = key.left;
      node->right = key.right;
      node->hasFloorDiv = key.kind == NatNode::Kind::floorDiv;
      node->hasMod = key.kind == NatNode::Kind::mod;
      node->height = 1 + std::max(key.left->height, key.right->height);
      node->latest = std::max(key.left->latest, key.right->latest);
      node->variableMask = key.left->variableMask | key.right->variableMask;
      node->range = combine(key.kind, key.left->range, key.right->range);
  }
  if (node->kind == NatNode::Kind::variable || node->isOperation()) {
    node->ownFactor = node;
    node->factorData = &node->ownFactor;
    node->factorCount = 1;
  }
  return node;
}

Node intern(const Key& key) {
  // Never destroyed: Nats of static storage duration may outlive any other static object.
  static auto& table = *new InternTable<NatNode, Arena>;
  const std::uint64_t hash = key.hash();
  return table.intern(
      hash, [&](const NatNode& node) { return key.matches(node); },
      [&](Arena& arena) { return make(key, hash, arena); });
}

}  // namespace

Node internConstant(std::int64_t value) {
  const auto make = [](std::int64_t v) { return intern({.kind = NatNode::Kind::constant, .value = v}); };
  if (value == 1) {
    static const Node unit = make(1);
    return unit;
  }
  // All constants refer to `one`, which must exist before a shard is locked to make another.
  static constexpr std::int64_t least = -64;
  static constexpr std::int64_t greatest = 1024;
  static const auto small = [&] {
    one();
    std::array<Node, greatest - least + 1> nodes{};
    for (std::int64_t v = least; v <= greatest; ++v) nodes[static_cast<std::size_t>(v - least)] = make(v);
    return nodes;
  }();
  return least <= value && value <= greatest ? small[static_cast<std::size_t>(value - least)] : make(value);
}

Node internVariable(const NatVarData* data) { return intern({.kind = NatNode::Kind::variable, .variable = data}); }

Node internOperation(NatNode::Kind kind, Node left, Node right) {
  return intern({.kind = kind, .left = left, .right = right});
}

Node internMonomial(std::span<const Node> factors) {
  if (factors.empty()) return one();
  if (factors.size() == 1) return factors[0];
  return intern({.kind = NatNode::Kind::product, .factors = factors});
}

Node internTerms(std::span<const NatTerm> terms) {
  if (terms.empty()) return internConstant(0);
  if (terms.size() > 1) return intern({.kind = NatNode::Kind::sum, .terms = terms});
  if (terms[0].monomial == one()) return internConstant(terms[0].coefficient);
  if (terms[0].coefficient == 1) return terms[0].monomial;
  return intern({.kind = NatNode::Kind::product, .terms = terms});
}

// ------------------------------------------------------------------------------------------------------------- order

namespace {

template <class T>
int compareValues(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int compareVariables(const NatVarData& a, const NatVarData& b) {
  if (a.namePrefix != b.namePrefix) return compareValues(a.namePrefix, b.namePrefix);
  if (const int order = a.name.compare(b.name)) return order;
  if (const int order = compareValues(a.role, b.role)) return order;
  if (const int order = compareValues(a.lower, b.lower)) return order;
  if (const int order = compareValues(a.upper.has_value(), b.upper.has_value())) return order;
  if (a.upper)
    if (const int order = compareNodes(a.upper->node(), b.upper->node())) return order;
  return compareValues(a.id, b.id);
}

// Nodes are interned, so the first place where two of them differ decides: a comparison walks down one path and needs
// no stack. Each step either returns the order or goes on with a pair of smaller nodes.
struct Step {
  int order;
  Node a = nullptr;
  Node b = nullptr;
};

Step stepAtoms(Node a, Node b) {
  if (a->kind != b->kind) return {compareValues(a->kind, b->kind)};
  if (a->kind == NatNode::Kind::variable) return {compareVariables(*a->variableData, *b->variableData)};
  return a->left != b->left ? Step{0, a->left, b->left} : Step{0, a->right, b->right};
}

Step stepMonomials(Node a, Node b) {
  if (a->factorCount != b->factorCount) return {a->factorCount > b->factorCount ? -1 : 1};
  std::uint32_t i = 0;
  while (a->factorData[i] == b->factorData[i]) ++i;
  return stepAtoms(a->factorData[i], b->factorData[i]);
}

Step stepNodes(Node a, Node b) {
  const std::uint32_t common = std::min(a->termCount, b->termCount);
  for (std::uint32_t i = 0; i < common; ++i) {
    const NatTerm& s = a->termData[i];
    const NatTerm& t = b->termData[i];
    if (s.monomial != t.monomial) return stepMonomials(s.monomial, t.monomial);
    if (s.coefficient != t.coefficient) return {compareValues(s.coefficient, t.coefficient)};
  }
  return {compareValues(b->termCount, a->termCount)};  // a prefix comes later, so zero is last
}

int finishComparison(Step step) {
  while (step.a) step = stepNodes(step.a, step.b);
  return step.order;
}

}  // namespace

int compareNodes(Node a, Node b) { return a == b ? 0 : finishComparison(stepNodes(a, b)); }
int compareMonomials(Node a, Node b) { return a == b ? 0 : finishComparison(stepMonomials(a, b)); }
int compareAtoms(Node a, Node b) { return a == b ? 0 : finishComparison(stepAtoms(a, b)); }

}  // namespace lift::detail
