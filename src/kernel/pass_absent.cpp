// Iterations that only add zeros are left out: those of a reduction over what an array holds where it was padded with
// zeros. Of `t[r, …] = p(r) ? x : 0` and a later `for (i …) sum = sum + t[f(i), …] * w` the loop's body is run where
// p(f(i)) holds, of several sums where it does for one of them; the branch of a condition that only adds zeros goes.
// Of several sums, as of the pixels of a tile, some may read the padding in some iterations: the loop becomes several,
// without these sums, which at the border of the image alone another branch leaves out.
// Only where no value is infinite or NaN: their products with 0 are left out, too.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "expand.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

// An array that a nest of loops fills.
struct Padded {
  // Of the elements that an iteration stores, those from `begin` to `end` are zero, or zero where one of these is false
  // of the loops' indices. What several parts cover, any of them may have stored.
  struct Part {
    std::int64_t begin = 0, end = 0;
    bool isZero = false;
    std::vector<Comparison> condition = {};
  };
  std::vector<For> loops;  // without their bodies; the array's dimensions, largest stride first
  std::vector<std::int64_t> strides;
  std::vector<Part> parts;

  // What elements from `begin` to `end` are zero without; none where all of them are zero.
  std::optional<std::vector<Comparison>> conditionIn(std::int64_t begin, std::int64_t end) const {
    std::optional<std::vector<Comparison>> all;
    bool areSome = false;
    for (const Part& part : parts) {
      if (part.end <= begin || end <= part.begin) continue;
      areSome = true;
      if (part.isZero) continue;
      if (!all) all = part.condition;
      std::erase_if(*all, [&](const Comparison& c) { return !std::ranges::count(part.condition, c); });
    }
    return areSome ? all : std::vector<Comparison>();
  }
  std::vector<Comparison> condition() const { return conditionIn(0, INT64_MAX).value_or(std::vector<Comparison>()); }
};

constexpr double leastShare = 0.01;            // of all additions, for which a loop becomes several
constexpr std::int64_t mostIterations = 1024;  // of a loop whose iterations are looked at
constexpr std::int64_t mostNodes = 10'000;     // of all copies in a kernel
constexpr std::size_t mostPieces = 8;

bool isZero(const ExprPtr& e) {
  const auto* l = as<Literal>(e);
  return l != nullptr && l->value.asDouble() == 0;
}

class Absent {
 public:
  explicit Absent(Kernel& kernel) : kernel_(kernel), copies_(kernel) {
    forEachStmt(kernel_.body, [&](const Stmt& s) {
      if (const auto* st = as<Store>(s)) stores_[st->buffer]++;
      if (const auto* f = as<For>(s); f != nullptr && (f->kind == LoopKind::sequential || f->kind == LoopKind::group))
        uniform_.insert(f->index);
    });
  }

  void block(Block& b) {
    const auto before = padded_;
    Block to;
    for (Stmt& s : b) {
      auto* loop = as<For>(s);
      if (loop != nullptr && loop->kind == LoopKind::sequential && !finished_.contains(loop->index)) {
        leaveOut(*loop);
        if (auto pieces = inPieces(*loop)) {
          block(*pieces);
          std::ranges::move(*pieces, std::back_inserter(to));
          continue;
        }
      }
      if (auto* branch = as<If>(s); branch != nullptr && addsZeros(branch->otherwise)) branch->otherwise.clear();
      forEachBlock(s, [&](Block& inner) { block(inner); });
      fill(s);
      to.push_back(std::move(s));
    }
    b = std::move(to);
    padded_ = before;  // another iteration fills it anew
  }
  bool changed() const { return changed_; }

 private:
  // What is padded from this statement on: an array whose stores are all inside of a nest of loops, the innermost of
  // which may have several, in loops of their own.
  void fill(const Stmt& s) {
    std::vector<For> loops;
    const Block* body = nullptr;
    for (const For* f = as<For>(s); f != nullptr && f->kind != LoopKind::group;) {
      loops.push_back(withBody(*f, {}));
      body = &f->body;
      f = body->size() == 1 ? as<For>(body->front()) : nullptr;
    }
    if (body == nullptr || anyStmt(*body, [](const Stmt& inner) { return is<If>(inner); })) return;
    std::vector<const Store*> stores;
    std::vector<NatVar> inside;  // known in the body alone
    forEachStmt(*body, [&](const Stmt& inner) {
      if (const auto* st = as<Store>(inner)) stores.push_back(st);
      if (const auto* f = as<For>(inner)) inside.push_back(f->index);
      if (const auto* d = as<DeclareIndex>(inner)) inside.push_back(d->variable);
    });
    if (stores.empty()) return;
    const BufferId array = stores[0]->buffer;
    if (kernel_.buffers[array].space == AddressSpace::global || stores_[array] != int(stores.size())) return;
    std::optional<Padded> all;
    for (const Store* st : stores) {
      auto p = st->buffer == array ? paddedBy(*st, loops) : std::nullopt;
      if (!p || (all && all->strides != p->strides)) return;
      std::erase_if(p->parts[0].condition, [&](const Comparison& c) {
        return std::ranges::any_of(inside, [&](NatVar v) { return c.lhs.mentions(v) || c.rhs.mentions(v); });
      });
      if (all)
        all->parts.push_back(p->parts[0]);
      else
        all = std::move(p);
    }
    std::int64_t extent = 0;  // of an iteration's elements
    for (const Padded::Part& part : all->parts) extent = std::max(extent, part.end);
    for (std::size_t d = all->loops.size(); d-- > 0;) {
      if (all->strides[d] < extent) return;  // elements of one place
      extent = all->strides[d] * *all->loops[d].count.constant();
    }
    const auto says = [](const Padded::Part& part) { return part.isZero || !part.condition.empty(); };
    if (std::ranges::any_of(all->parts, says)) padded_[array] = std::move(*all);
  }

  // By one store in the loops.
  std::optional<Padded> paddedBy(const Store& store, const std::vector<For>& loops) const {
    Padded p;
    Padded::Part part{.isZero = isZero(store.value)};
    const auto* choice = as<Choose>(store.value);
    const auto* t = choice == nullptr ? nullptr : as<Test>(choice->condition);
    if (t != nullptr && isZero(choice->otherwise)) part.condition = t->all;
    std::map<std::int64_t, For, std::greater<>> byStride;
    Nat rest = store.index;
    for (const For& f : loops) {
      const auto linear = rest.linearIn(f.index);
      const auto stride = linear ? linear->coefficient.constant() : std::nullopt;
      if (!stride || *stride < 1 || !f.count.constant() || !byStride.emplace(*stride, f).second) return std::nullopt;
      rest = linear->rest;
    }
    const auto first = rest.lower();
    const auto last = rest.upper();
    if (!first || *first < 0 || !last) return std::nullopt;
    part.begin = *first;
    part.end = *last + store.value->type.width / std::max(1, kernel_.buffers[store.buffer].width);
    p.parts = {std::move(part)};
    for (const auto& [stride, f] : byStride) {
      p.loops.push_back(f);
      p.strides.push_back(stride);
    }
    return p;
  }

  using Places = std::vector<Nat>;  // of elements, of all lanes

  // What a loop's iteration does, where it only adds products of elements of one padded array.
  struct Body {
    std::optional<BufferId> array = {};
    std::vector<Places> terms = {};      // what each addition multiplies, in their order
    std::map<VarId, Places> zeros = {};  // of variables that are zero where these elements are
    std::set<NatVar> bound = {};         // by loops inside
    std::set<VarId> declared = {};
  };

  // The elements where which are zero a value is, too.
  std::optional<Places> vanishes(const ExprPtr& e, Body& body) const {
    using Result = std::optional<Places>;
    return match(
        e->node, [&](const Literal&) { return isZero(e) ? Result(Places()) : std::nullopt; },
        [&](const VarRef& v) {
          const auto found = body.zeros.find(v.variable);
          return found != body.zeros.end() ? Result(found->second) : std::nullopt;
        },
        [&](const Load& l) -> Result {
          if (!padded_.contains(l.buffer) || (body.array && body.array != l.buffer)) return std::nullopt;
          body.array = l.buffer;
          Places places;
          for (int lane = 0; lane < e->type.width / std::max(1, kernel_.buffers[l.buffer].width); lane++)
            places.push_back(l.index + Nat(lane));
          return places;
        },
        [&](const Splat& s) { return vanishes(s.value, body); },
        [&](const Lane& l) { return vanishes(l.vector, body); },
        [&](const Operation& o) { return o.op == Op::mul ? eitherVanishes(o.args[0], o.args[1], body) : std::nullopt; },
        [](const auto&) { return Result(); });
  }
  std::optional<Places> eitherVanishes(const ExprPtr& a, const ExprPtr& b, Body& body) const {
    auto places = vanishes(a, body);
    return places ? std::move(places) : vanishes(b, body);
  }

  bool onlyAdds(const Block& statements, Body& body) const {
    return std::ranges::all_of(statements, [&](const Stmt& s) {
      if (const auto* f = as<For>(s)) {
        body.bound.insert(f->index);
        return f->kind == LoopKind::sequential && !f->running && onlyAdds(f->body, body);
      }
      if (const auto* d = as<Declare>(s)) {
        body.declared.insert(d->variable);
        if (d->value)
          if (auto places = vanishes(*d->value, body)) body.zeros.emplace(d->variable, std::move(*places));
        return d->value.has_value();
      }
      const auto* a = as<Assign>(s);
      const auto* o = a == nullptr ? nullptr : as<Operation>(a->value);
      if (o == nullptr || body.declared.contains(a->variable)) return false;
      const auto isSum = [&](const ExprPtr& e) {
        const auto* v = as<VarRef>(e);
        return v != nullptr && v->variable == a->variable;
      };
      std::optional<Places> places;
      if (o->op == Op::add && isSum(o->args[0])) places = vanishes(o->args[1], body);
      if (o->op == Op::fma && isSum(o->args[2])) places = eitherVanishes(o->args[0], o->args[1], body);
      if (places) body.terms.push_back(std::move(*places));
      return places.has_value();
    });
  }

  bool addsZeros(const Block& statements) const {
    Body body;
    return onlyAdds(statements, body) && !body.array;
  }

  void leaveOut(For& loop) {
    Body body;
    if (!onlyAdds(loop.body, body) || !body.array) return;
    const Padded& p = padded_.at(*body.array);
    std::vector<Comparison> needed;
    for (const Comparison& c : p.condition())
      if (const auto at = atPlaces(c, p, body, loop.index)) needed.push_back(*at);
    if (!needed.empty()) loop.body = {Stmt{If{test(std::move(needed)), std::move(loop.body), {}}}};
  }

  static Nat roomOf(const Comparison& c) { return c.rhs - c.lhs; }
  static bool isOrder(const Comparison& c) { return c.relation == Relation::less || c.relation == Relation::lessEqual; }
  // The least room with which it holds.
  static std::int64_t leastRoom(const Comparison& c) { return c.relation == Relation::less ? 1 : 0; }

  // The comparison of the indices at which the loops fill an element.
  static Comparison at(Nat place, const Comparison& c, const Padded& p) {
    std::map<NatVar, Nat> indices;
    for (std::size_t d = 0; d < p.loops.size(); d++)
      indices.emplace(p.loops[d].index, mod(floorDiv(place, Nat(p.strides[d])), p.loops[d].count));
    return {c.lhs.substitute(indices), c.relation, c.rhs.substitute(indices)};
  }

  static bool mentionsAny(Nat n, const std::set<NatVar>& variables) {
    return std::ranges::any_of(variables, [&](NatVar v) { return n.mentions(v); });
  }

  // The comparison of the places that are read by an iteration: of one of them that holds wherever it does of any. None
  // where that is not known, does not depend on the loop, or would be asked in each iteration of a loop inside.
  static std::optional<Comparison> atPlaces(const Comparison& c, const Padded& p, const Body& body, NatVar loop) {
    std::optional<Comparison> loosest;
    bool differ = false;
    for (const Places& places : body.terms)
      for (const Nat place : places) {
        const Comparison now = at(place, c, p);
        const auto looser = loosest ? (roomOf(now) - roomOf(*loosest)).constant() : std::optional<std::int64_t>(1);
        if (!looser) return std::nullopt;
        differ = differ || (loosest && *looser != 0);
        if (*looser > 0) loosest = now;
      }
    const Nat room = roomOf(*loosest);
    if (!room.mentions(loop) || mentionsAny(room, body.bound)) return std::nullopt;
    if (!differ) return loosest;
    const bool alwaysHolds = room.lower() && *room.lower() >= leastRoom(c);
    const bool isCheap = room.linearIn(loop) || !body.bound.empty();  // for what an iteration does
    return isOrder(c) && !alwaysHolds && isCheap ? loosest : std::nullopt;
  }

  // Additions of zeros, by their numbers, in each iteration of a loop.
  struct Zeros {
    std::optional<Comparison> unless = {};  // not where this holds, which is away from a border
    std::vector<std::set<std::size_t>> terms = {};
  };

  // Where an element is zero: at a border, which is where `inside`, what is left of the room that a comparison has when
  // its least value is taken away, is 0, and everywhere where it is the number 0.
  struct Border {
    Nat inside;
    Comparison unless;  // that holds away from there
  };
  using Borders = std::vector<Border>;

  Borders bordersOf(Nat place, const Padded& p, const std::set<NatVar>& bound) const {
    Borders borders;
    const Nat element = mod(place, Nat(p.strides.back()));
    const auto first = element.lower(), last = element.upper();
    if (!first || !last) return borders;
    const auto condition = p.conditionIn(*first, *last + 1);
    if (!condition) return {{0, {}}};
    for (const Comparison& c : *condition) {
      const Comparison here = at(place, c, p);
      const Nat room = roomOf(here);
      const auto least = room.lower();
      const auto isKnown = [&](NatVar v) { return uniform_.contains(v) && !bound.contains(v) && Nat(v).upper(); };
      if (isOrder(c) && least && *least < leastRoom(c) && std::ranges::all_of(room.variables(), isKnown))
        borders.push_back(
            {room.upper() == least ? Nat(0) : room - Nat(*least), {here.lhs, Relation::less, here.rhs - Nat(*least)}});
    }
    return borders;
  }

  // Of a loop's iterations, everywhere and at borders; what is few is left.
  std::vector<Zeros> zerosOf(const Padded& p, const Body& body, const For& loop) const {
    const std::int64_t count = *loop.count.constant();
    std::vector<std::pair<Nat, Zeros>> all;
    std::unordered_map<Nat, Borders> known;
    for (std::int64_t i = 0; i < count; i++)
      for (std::size_t t = 0; t < body.terms.size(); t++) {
        std::optional<Borders> ofAll;  // lanes
        for (const Nat lane : body.terms[t]) {
          const Nat place = lane.substitute({{loop.index, Nat(i)}});
          const auto [found, isNew] = known.try_emplace(place);
          if (isNew) found->second = bordersOf(place, p, body.bound);
          if (!ofAll) ofAll = found->second;
          std::erase_if(*ofAll, [&](const Border& b) {
            return std::ranges::find(found->second, b.inside, &Border::inside) == found->second.end();
          });
        }
        for (const Border& b : ofAll.value_or(Borders())) {
          auto zeros = std::ranges::find(all, b.inside, &std::pair<Nat, Zeros>::first);
          if (zeros == all.end()) {
            zeros = all.insert(zeros, {b.inside, {}});
            if (b.inside != Nat(0)) zeros->second.unless = b.unless;
            zeros->second.terms.resize(static_cast<std::size_t>(count));
          }
          zeros->second.terms[static_cast<std::size_t>(i)].insert(t);
        }
      }
    std::vector<Zeros> result;
    for (auto& [inside, zeros] : all) {
      double share = 1 / static_cast<double>(count * std::ssize(body.terms));
      for (const NatVar v : inside.variables()) share /= static_cast<double>(*Nat(v).upper() - v.lower() + 1);
      std::int64_t absent = 0;
      bool areSome = !zeros.unless, differ = areSome;
      for (const auto& terms : zeros.terms) {
        absent += std::ssize(terms);
        areSome = areSome || (!terms.empty() && terms.size() < body.terms.size());
        differ = differ || terms != zeros.terms[0];
      }
      // Where all are zero, a branch around them says so; what does not depend on the loop is for those inside or
      // around.
      if (areSome && differ && share * static_cast<double>(absent) >= leastShare) result.push_back(std::move(zeros));
    }
    return result;
  }

  // A range of iterations in which the same additions are left out: everywhere, and besides at one of the borders.
  struct Piece {
    std::int64_t begin = 0, end = 0;
    std::set<std::size_t> always = {}, atBorder = {};
    std::optional<Comparison> unless = {};

    bool isLike(const Piece& p) const { return always == p.always && atBorder == p.atBorder && unless == p.unless; }
  };

  static std::vector<Piece> piecesOf(const std::vector<Zeros>& zeros, std::size_t count) {
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < count; i++) {
      Piece now{static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1};
      for (const Zeros& z : zeros)
        if (!z.unless) now.always = z.terms[i];
      for (const Zeros& z : zeros) {
        std::set<std::size_t> also;
        std::ranges::set_difference(z.terms[i], now.always, std::inserter(also, also.end()));
        if (!z.unless || also.size() <= now.atBorder.size()) continue;
        now.atBorder = std::move(also);
        now.unless = z.unless;
      }
      if (!pieces.empty() && pieces.back().isLike(now))
        pieces.back().end++;
      else
        pieces.push_back(std::move(now));
    }
    return pieces;
  }

  // A loop in pieces; none where nothing is left out.
  std::optional<Block> inPieces(const For& loop) {
    Body body;
    const Block* statements = &loop.body;
    if (const auto* needed = statements->size() == 1 ? as<If>(statements->front()) : nullptr)
      statements = &needed->then;
    if (!onlyAdds(*statements, body) || !body.array) return std::nullopt;
    if (loop.count.constant().value_or(INT64_MAX) > mostIterations) return std::nullopt;
    const std::vector<Zeros> zeros = zerosOf(padded_.at(*body.array), body, loop);
    if (zeros.empty()) return std::nullopt;
    const std::vector<Piece> pieces = piecesOf(zeros, zeros[0].terms.size());
    const auto atBorders = std::ranges::count_if(pieces, [](const Piece& p) { return p.unless.has_value(); });
    const std::int64_t nodes = nodes_ + (std::ssize(pieces) + atBorders) * nodesOf(loop.body);
    if (pieces.size() > mostPieces || nodes > mostNodes) return std::nullopt;
    nodes_ = nodes;
    changed_ = true;
    Block to;
    for (const Piece& piece : pieces) {
      Block inside = range(loop, piece, piece.always);
      if (piece.unless) {
        std::set<std::size_t> left = piece.always;
        left.insert(piece.atBorder.begin(), piece.atBorder.end());
        inside = {Stmt{If{test({*piece.unless}), std::move(inside), range(loop, piece, left)}}};
      }
      std::ranges::move(inside, std::back_inserter(to));
    }
    return to;
  }

  // The iterations of a piece without these additions.
  Block range(const For& loop, const Piece& piece, const std::set<std::size_t>& left) {
    std::size_t number = 0;
    const Block body = without(loop.body, left, number);
    if (body.empty()) return {};
    const std::int64_t count = piece.end - piece.begin;
    if (count == 1) return copies_.run(body, loop.index, piece.begin);
    For part = withBody(loop, {});
    part.index = NatVar::index(loop.index.name(), count);
    part.count = count;
    part.body = copies_.run(body, loop.index, Nat(piece.begin) + Nat(part.index));
    uniform_.insert(part.index);
    finished_.insert(part.index);
    return {Stmt{std::move(part)}};
  }

  // The statements without additions of these numbers, and without what is empty then.
  static Block without(const Block& statements, const std::set<std::size_t>& left, std::size_t& number) {
    Block to;
    bool adds = false;
    for (Stmt s : statements) {
      if (is<Assign>(s) && left.contains(number++)) continue;
      bool isEmpty = is<For>(s) || is<If>(s);
      forEachBlock(s, [&](Block& inner) {
        inner = without(inner, left, number);
        isEmpty = isEmpty && inner.empty();
      });
      if (isEmpty) continue;
      adds = adds || !is<Declare>(s);
      to.push_back(std::move(s));
    }
    return adds ? to : Block();
  }

  Kernel& kernel_;
  Expander copies_;
  std::set<NatVar> uniform_;   // what work-items of a group share
  std::set<NatVar> finished_;  // indices of loops that are pieces
  std::int64_t nodes_ = 0;     // of pieces
  bool changed_ = false;       // loops into pieces
  std::map<BufferId, int> stores_;
  std::map<BufferId, Padded> padded_;
};

}  // namespace

Kernel absentPass(Kernel kernel, const PassOptions& options) {
  if (!options.finiteMath) return kernel;
  Absent absent(kernel);
  absent.block(kernel.body);
  return absent.changed() ? deadPass(simplifyPass(std::move(kernel), options), options) : kernel;
}

}  // namespace lift::kernel
