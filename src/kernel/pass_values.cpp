// Variables: where they are declared, which are only names for other values, which are never used.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "lift/kernel_walk.hpp"
#include "mentions.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

// ----------------------------------------------------------------------------------------------------- declarations

constexpr std::size_t never = static_cast<std::size_t>(-1);

void lowerDeclarations(Block& block, std::vector<std::size_t>& firstUse) {
  std::vector<VarId> open;  // declared in this block without a value
  for (std::size_t i = 0; i < block.size(); i++) {
    forEachBlock(block[i], [&](Block& inner) { lowerDeclarations(inner, firstUse); });
    if (const auto* d = as<Declare>(block[i]))
      if (!d->value) open.push_back(d->variable);
  }
  if (open.empty()) return;
  for (VarId v : open) firstUse[v] = never - 1;  // wanted
  std::unordered_map<std::size_t, std::vector<VarId>> before;
  for (std::size_t i = 0; i < block.size(); i++)
    forEachMention(block[i], [&](VarId v) {
      if (firstUse[v] != never - 1) return;
      firstUse[v] = i;
      before[i].push_back(v);
    });
  Block result;
  for (std::size_t i = 0; i < block.size(); i++) {
    if (const auto* d = as<Declare>(block[i]))
      if (!d->value) continue;
    const auto found = before.find(i);
    if (found != before.end()) {
      const auto* a = as<Assign>(block[i]);
      bool initialises = false;
      for (VarId v : found->second) {
        bool reads = a == nullptr || a->variable != v;
        if (!reads) forEachRead(*a->value, [&](VarId r) { reads |= r == v; });
        if (reads)
          result.push_back({Declare{v, {}}});
        else
          initialises = true;
      }
      if (initialises) {
        result.push_back({Declare{a->variable, a->value}});
        continue;
      }
    }
    result.push_back(std::move(block[i]));
  }
  block = std::move(result);
}

// ------------------------------------------------------------------------------------------------------ propagation

class Copies {
 public:
  explicit Copies(const Kernel& k) : changes_(k.variables.size(), true), reads_(k.variables.size()) {
    std::vector<int> definitions(k.variables.size());
    forEachStmt(k.body, [&](const Stmt& s) {
      if (const auto v = assignedBy(s)) {
        definitions[*v]++;
        changes_[*v] = definitions[*v] > 1 || !is<Declare>(s);
      }
      forEachRoot(s, [&](const ExprPtr& e) { forEachRead(*e, [&](VarId v) { reads_[v]++; }); });
      if (const auto v = ownRead(s)) changes_[*v] = true;
    });
  }

  Block block(const Block& from) {
    Block to;
    Waiting waiting;
    std::vector<bool> dropped;
    waiting_ = &waiting;
    for (const Stmt& s : from) {
      Stmt copy = s;
      used_.clear();
      mapRoots(copy, [&](const ExprPtr& e) { return expr(e, 0); });
      for (VarId v : used_) dropped[waiting.at(v).position] = true;
      for (VarId v : used_) waiting.erase(v);
      if (const auto* d = as<Declare>(copy); d != nullptr && d->value && !changes_[d->variable]) {
        if (isName(*d->value)) {
          names_.emplace(d->variable, *d->value);
          continue;
        }
        if (reads_[d->variable] == 1) wait(d->variable, *d->value, to.size(), waiting);
      } else if (is<For>(copy) || is<If>(copy) || is<Barrier>(copy)) {
        waiting.clear();
        forEachBlock(copy, [&](Block& inner) { inner = block(inner); });
        waiting_ = &waiting;
      } else {
        if (const auto* st = as<Store>(copy))
          std::erase_if(waiting, [&](const auto& w) { return contains(w.second.buffers, st->buffer); });
        if (const auto v = assignedBy(copy))
          if (mentioned_.contains(*v))
            std::erase_if(waiting, [&](const auto& w) { return contains(w.second.variables, *v); });
      }
      to.push_back(std::move(copy));
      dropped.push_back(false);
    }
    Block kept;
    for (std::size_t i = 0; i < to.size(); i++)
      if (!dropped[i]) kept.push_back(std::move(to[i]));
    return kept;
  }

 private:
  struct Pending {
    ExprPtr value;
    std::size_t position;  // of its declaration in the new block
    int depth;
    std::vector<BufferId> buffers;  // that it loads from
    std::vector<VarId> variables;   // that it reads and that change
  };
  using Waiting = std::unordered_map<VarId, Pending>;

  // Deeper expressions are hard to read, and compilers limit nesting.
  static constexpr int maxDepth = 12;
  // So that a store or an assignment looks at few waiting values.
  static constexpr std::size_t maxWaiting = 64;

  template <class T>
  static bool contains(const std::vector<T>& list, T x) {
    return std::ranges::find(list, x) != list.end();
  }

  // A value that costs nothing and never changes.
  bool isName(const ExprPtr& e) const {
    if (const auto* v = as<VarRef>(e)) return !changes_[v->variable];
    if (const auto* i = as<Index>(e)) return i->value.constant() || i->value.variable();
    return is<Literal>(e);
  }

  void wait(VarId v, const ExprPtr& value, std::size_t position, Waiting& waiting) {
    Pending p{value, position, depth(*value), {}, {}};
    if (p.depth >= maxDepth) return;
    forEachExpr(*value, [&](const Expr& e) {
      if (const auto* l = as<Load>(e)) p.buffers.push_back(l->buffer);
      if (const auto* r = as<VarRef>(e))
        if (changes_[r->variable]) {
          p.variables.push_back(r->variable);
          mentioned_.insert(r->variable);
        }
    });
    if (waiting.size() >= maxWaiting) waiting.clear();
    waiting.emplace(v, std::move(p));
  }

  static int depth(const Expr& e) {
    int most = 0;
    forEachChild(e, [&](const ExprPtr& c) { most = std::max(most, depth(*c)); });
    return most + 1;
  }

  ExprPtr expr(const ExprPtr& e, int above) {
    const auto* v = as<VarRef>(e);
    if (v == nullptr) return mapChildren(e, [&](const ExprPtr& c) { return expr(c, above + 1); });
    const auto name = names_.find(v->variable);
    if (name != names_.end()) return name->second;
    const auto found = waiting_->find(v->variable);
    if (found == waiting_->end() || above + found->second.depth > maxDepth) return e;
    used_.push_back(v->variable);
    return found->second.value;
  }

  std::vector<bool> changes_;  // assigned after its declaration, or declared without a value
  std::vector<int> reads_;
  std::unordered_map<VarId, ExprPtr> names_;
  std::unordered_set<VarId> mentioned_;
  Waiting* waiting_ = nullptr;
  std::vector<VarId> used_;
};

// -------------------------------------------------------------------------------------------------------- dead code

class Dead {
 public:
  explicit Dead(const Kernel& k)
      : k_(k),
        variableLive_(k.variables.size()),
        bufferLive_(k.buffers.size()),
        values_(k.variables.size()),
        stores_(k.buffers.size()),
        isSum_(k.variables.size(), true) {}

  // True when something disappeared.
  bool run(Block& body) {
    forEachStmt(body, [&](const Stmt& s) {
      if (const auto v = assignedBy(s)) {
        if (!addsUp(s)) isSum_[*v] = false;
        forEachRoot(s, [&](const ExprPtr& e) { values_[*v].push_back(e); });
      } else if (const auto* st = as<Store>(s); st != nullptr && !isGlobal(st->buffer)) {
        stores_[st->buffer].push_back(st);
      } else if (st != nullptr) {
        nat(st->index);
        root(st->value);
      } else if (const auto* i = as<If>(s)) {
        root(i->condition);
      } else if (const auto* f = as<For>(s)) {
        nat(f->count);
        if (f->running) root(ref(*f->running, {Scalar::boolean, 1}));
      } else if (const auto* x = as<Fault>(s)) {
        nat(x->bound);
        root(x->value);
      } else if (const auto* d = as<DeclareIndex>(s)) {
        indices_.emplace(d->variable, d->value);
      }
    });
    // Names of integers may be used before we know their definition: look at them again.
    for (NatVar v : std::vector<NatVar>(natsLive_.begin(), natsLive_.end())) name(v);
    while (!work_.empty()) {
      const ExprPtr e = work_.back();
      work_.pop_back();
      visit(*e);
    }
    return sweep(body);
  }

 private:
  bool isGlobal(BufferId b) const { return k_.buffers[b].space == AddressSpace::global; }
  void root(const ExprPtr& e) { work_.push_back(e); }

  void nat(Nat n) {
    if (n.constant() || !natsSeen_.insert(n).second) return;
    for (NatVar v : n.variables())
      if (natsLive_.insert(v).second) name(v);
  }
  void name(NatVar v) {
    const auto found = indices_.find(v);
    if (found != indices_.end() && named_.insert(v).second) root(found->second);
  }

  void visit(const Expr& e) {
    forEachNat(e, [&](Nat n) { nat(n); });
    if (const auto* v = as<VarRef>(e); v != nullptr && !variableLive_[v->variable]) {
      variableLive_[v->variable] = true;
      for (const ExprPtr& value : values_[v->variable]) root(value);
    }
    if (const auto* l = as<Load>(e); l != nullptr && !bufferLive_[l->buffer]) {
      bufferLive_[l->buffer] = true;
      for (const Store* st : stores_[l->buffer]) {
        nat(st->index);
        root(st->value);
      }
    }
    forEachChild(e, [&](const ExprPtr& c) { visit(*c); });
  }

  static bool isZero(const ExprPtr& e, bool positive) {
    if (const auto* splat = as<Splat>(e)) return isZero(splat->value, positive);
    const auto* l = as<Literal>(e);
    return l != nullptr && isFloat(e->type.scalar) && l->value.real == 0 && !(positive && std::signbit(l->value.real));
  }
  // What is added to the variable.
  static const ExprPtr* addend(const Assign& a) {
    const auto* sum = as<Operation>(a.value);
    if (sum == nullptr || sum->op != Op::add || !isFloat(a.value->type.scalar)) return nullptr;
    for (std::size_t i = 0; i < 2; i++)
      if (const auto* v = as<VarRef>(sum->args[i]); v != nullptr && v->variable == a.variable) return &sum->args[1 - i];
    return nullptr;
  }
  // Whether the variable, if it is only assigned so, is a sum that begins with 0: never -0, so that zeros change
  // nothing.
  static bool addsUp(const Stmt& s) {
    if (const auto* d = as<Declare>(s)) return isZero(*d->value, true);
    const auto* a = as<Assign>(s);
    return a != nullptr && (isZero(a->value, true) || addend(*a) != nullptr);
  }
  bool addsZero(const Assign& a) const {
    const ExprPtr* added = isSum_[a.variable] ? addend(a) : nullptr;
    return added != nullptr && isZero(*added, false);
  }

  bool isDead(const Stmt& s) const {
    return match(
        s.node, [&](const Declare& d) { return !variableLive_[d.variable]; },
        [&](const Assign& a) { return !variableLive_[a.variable] || addsZero(a); },
        [&](const AssignLane& a) { return !variableLive_[a.variable]; },
        [&](const Combine& c) { return !variableLive_[c.variable]; },
        [&](const DeclareIndex& d) { return !natsLive_.contains(d.variable); },
        [&](const Store& st) { return !isGlobal(st.buffer) && !bufferLive_[st.buffer]; },
        [&](const Allocate& a) { return !bufferLive_[a.buffer]; }, [&](const For& f) { return withoutEffect(f.body); },
        [&](const If& i) { return withoutEffect(i.then) && withoutEffect(i.otherwise); },
        [](const auto&) { return false; });
  }
  static bool withoutEffect(const Block& b) {
    return std::ranges::all_of(b, [](const Stmt& s) { return is<Comment>(s); });
  }

  bool sweep(Block& b) const {
    bool changed = false;
    for (Stmt& s : b) forEachBlock(s, [&](Block& inner) { changed = sweep(inner) || changed; });
    const std::size_t before = b.size();
    std::erase_if(b, [&](const Stmt& s) { return isDead(s); });
    return changed || b.size() != before;
  }

  const Kernel& k_;
  std::vector<bool> variableLive_, bufferLive_;
  std::vector<std::vector<ExprPtr>> values_;
  std::vector<std::vector<const Store*>> stores_;
  std::vector<bool> isSum_;
  std::unordered_map<NatVar, ExprPtr> indices_;
  std::unordered_set<NatVar> natsLive_, named_;
  std::unordered_set<Nat> natsSeen_;
  std::vector<ExprPtr> work_;
};

}  // namespace

Kernel declarePass(Kernel kernel, const PassOptions&) {
  std::vector<std::size_t> firstUse(kernel.variables.size(), never);
  lowerDeclarations(kernel.body, firstUse);
  return kernel;
}

Kernel copiesPass(Kernel kernel, const PassOptions&) {
  kernel.body = Copies(kernel).block(kernel.body);
  return kernel;
}

Kernel deadPass(Kernel kernel, const PassOptions&) {
  // A conditional that became empty frees what its condition used.
  while (Dead(kernel).run(kernel.body)) {
  }
  return kernel;
}

}  // namespace lift::kernel
