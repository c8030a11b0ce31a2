// Vectors that are gathered from places far apart, for several neighbours of these places, are loaded along memory and
// transposed in registers:
//   a = (x[0], x[n], x[2 n], x[3 n]); b = (x[1], x[n + 1], …); c = …; d = …
// becomes four loads of vectors and eight shuffles of two of them each, where there were 16 loads and 12 insertions. So
// tiles of pixels by channels are read whose channels are far apart (nchw).
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "dependence.hpp"
#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

using Conditions = std::vector<Comparison>;

constexpr int quad = 4;  // rows and columns of a transposition: 16 bytes of each
using Quad = std::array<ExprPtr, quad>;

// Declares a value by that name, and refers to it.
ExprPtr named(Kernel& k, std::string name, ExprPtr value, Block& to) {
  const ValueType type = value->type;
  const VarId v = addVariable(k, std::move(name), type);
  to.push_back({Declare{v, std::move(value)}});
  return ref(v, type);
}

// Of four vectors of 4, 8 or 16 lanes four others, whose lanes 4 g + r are lanes 4 g + c of vector r, for c = 0 … 3: by
// eight shuffles of two vectors each, what is between them declared.
Quad transposedInRegisters(Kernel& k, const Quad& rows, Block& to) {
  const int width = rows[0]->type.width;
  const auto shuffled = [&](const ExprPtr& a, const ExprPtr& b, const std::array<int, quad>& from) {
    std::vector<ExprPtr> lanes;
    for (int group = 0; group < width; group += quad)
      for (const int l : from) lanes.push_back(lane(l < quad ? a : b, group + l % quad));
    return makeVector(std::move(lanes));
  };
  const auto pair = [&](std::size_t row, const std::array<int, quad>& from) {
    return named(k, "pairs", shuffled(rows[row], rows[row + 1], from), to);
  };
  const std::array<int, quad> low{0, 4, 1, 5}, high{2, 6, 3, 7}, first{0, 1, 4, 5}, second{2, 3, 6, 7};
  const ExprPtr a = pair(0, low), b = pair(2, low), c = pair(0, high), d = pair(2, high);
  return {shuffled(a, b, first), shuffled(a, b, second), shuffled(c, d, first), shuffled(c, d, second)};
}

// Vectors whose lanes lie at `places` and `offset` elements further, of a read-only buffer, under the conditions.
struct Gather {
  BufferId buffer;
  ValueType type;
  Conditions conditions;
  std::vector<Nat> places;  // of the group's first vector
  std::int64_t offset = 0;

  bool isWith(const Gather& other) const {
    return buffer == other.buffer && type == other.type && conditions == other.conditions && places == other.places;
  }
};

bool isZero(const ExprPtr& e) {
  const auto* l = as<Literal>(e);
  return l != nullptr && !l->value.truth();
}

class Transpose {
 public:
  explicit Transpose(Kernel& k) : k_(k) {}
  void run() { block(k_.body); }

 private:
  // Gathers of one block that differ in their offsets alone, and what they have become.
  struct Group {
    Gather first;
    std::size_t statement = 0;  // of the first of them
    std::set<std::int64_t> offsets;
    std::map<std::int64_t, ExprPtr> vectors;
  };

  std::optional<Gather> gatherOf(const Expr& e, const Conditions& conditions) const {
    const auto* vector = as<MakeVector>(e);
    if (vector == nullptr || vector->lanes.size() % quad != 0) return std::nullopt;
    Gather g{{}, e.type, conditions, {}};
    for (const ExprPtr& lane : vector->lanes) {
      const auto* l = as<Load>(lane);
      if (l == nullptr || (!g.places.empty() && l->buffer != g.buffer)) return std::nullopt;
      g.buffer = l->buffer;
      g.places.push_back(l->index);
    }
    const Buffer& b = k_.buffers[g.buffer];
    const bool isPlain = b.readOnly && b.space == AddressSpace::global && !b.isImage && b.width == 1 &&
                         b.scalar == e.type.scalar && info(b.scalar).bytes == 4;
    return isPlain ? std::optional(g) : std::nullopt;
  }

  // The group of a gather, whose offset is then from the group's first vector; null where there is none yet.
  Group* groupOf(Gather& g) {
    const auto [base, constant] = splitConstant(g.places[0]);
    for (const std::size_t at : groupsAt_[{g.buffer, base}]) {
      Group& group = groups_[at];
      Gather moved = g;
      moved.offset = constant - splitConstant(group.first.places[0]).second;
      for (Nat& place : moved.places) place = place - Nat(moved.offset);
      if (!moved.isWith(group.first)) continue;
      g = std::move(moved);
      return &group;
    }
    return nullptr;
  }

  void collect(const Stmt& s, std::size_t at) {
    forEachRoot(s, [&](const ExprPtr& e) {
      visit(e, {}, [&](Gather& g, const ExprPtr& same) {
        Group* group = groupOf(g);
        if (group == nullptr) {
          groupsAt_[{g.buffer, splitConstant(g.places[0]).first}].push_back(groups_.size());
          group = &groups_.emplace_back(Group{g, at, {}, {}});
        }
        group->offsets.insert(g.offset);
        return same;
      });
    });
  }

  // Calls f(gather) on those of an expression that are evaluated when it is, or where tests hold, which go with them;
  // what f gives takes their place.
  template <class F>
  ExprPtr visit(const ExprPtr& e, const Conditions& conditions, const F& f) const {
    if (auto g = gatherOf(*e, conditions)) return f(*g, e);
    const auto* c = as<Choose>(e);
    if (c == nullptr) return mapChildren(e, [&](const ExprPtr& child) { return visit(child, conditions, f); });
    const auto* t = as<Test>(c->condition);
    if (t == nullptr) return e;
    Conditions both = conditions;
    both.insert(both.end(), t->all.begin(), t->all.end());
    const ExprPtr then = visit(c->then, both, f);
    if (then == c->then) return e;
    return isZero(c->otherwise) && is<VarRef>(then) ? then : choose(c->condition, then, c->otherwise);
  }

  void block(Block& b) {
    for (Stmt& s : b) forEachBlock(s, [&](Block& inner) { block(inner); });
    groups_.clear();
    groupsAt_.clear();
    for (std::size_t i = 0; i < b.size(); i++) collect(b[i], i);
    if (groups_.empty()) return;
    Block to;
    auto next = groups_.begin();
    for (std::size_t i = 0; i < b.size(); i++) {
      for (; next != groups_.end() && next->statement == i; ++next) load(*next, to);
      mapRoots(b[i], [&](const ExprPtr& e) {
        return visit(e, {}, [&](Gather& g, const ExprPtr& same) {
          const Group* group = groupOf(g);
          const auto found = group->vectors.find(g.offset);
          return found == group->vectors.end() ? same : found->second;
        });
      });
      to.push_back(std::move(b[i]));
    }
    b = std::move(to);
  }

  // Loads all runs of as many neighbours as a transposition takes.
  void load(Group& group, Block& to) {
    const auto& offsets = group.offsets;
    for (auto o = offsets.begin(); o != offsets.end();) {
      bool isRun = true;
      for (std::int64_t i = 1; i < quad; i++) isRun = isRun && offsets.contains(*o + i);
      if (!isRun) {
        ++o;
        continue;
      }
      transposed(group, *o, to);
      o = offsets.upper_bound(*o + quad - 1);
    }
  }

  // Declares the group's vectors from this offset; of zeros where its conditions do not hold.
  void transposed(Group& group, std::int64_t offset, Block& to) {
    const Gather& g = group.first;
    const ValueType row{g.type.scalar, quad};
    const std::string& name = k_.buffers[g.buffer].name;
    Block body;
    std::vector<ExprPtr> rows;
    for (const Nat place : g.places)
      rows.push_back(named(k_, name + "_row", kernel::load(g.buffer, place + Nat(offset), row), body));
    const Quad columns = transposedInRegisters(k_, sideBySide(rows, body), body);
    for (std::int64_t i = 0; i < quad; i++) {
      const ExprPtr& column = columns[static_cast<std::size_t>(i)];
      if (g.conditions.empty()) {
        group.vectors[offset + i] = named(k_, name + "_v", column, body);
        continue;
      }
      const VarId v = addVariable(k_, name + "_v", g.type);
      to.push_back({Declare{v, literal(ScalarValue::of(g.type.scalar, 0), g.type.width)}});
      body.push_back({Assign{v, column}});
      group.vectors[offset + i] = ref(v, g.type);
    }
    if (g.conditions.empty())
      std::ranges::move(body, std::back_inserter(to));
    else
      to.push_back({If{test(g.conditions), std::move(body), {}}});
  }

  // The first, second, … of each four rows.
  Quad sideBySide(const std::vector<ExprPtr>& rows, Block& to) {
    Quad all;
    for (std::size_t i = 0; i < quad; i++) {
      std::vector<ExprPtr> lanes;
      for (std::size_t group = i; group < rows.size(); group += quad)
        for (int l = 0; l < quad; l++) lanes.push_back(lane(rows[group], l));
      all[i] = rows.size() == quad ? rows[i] : named(k_, "rows", makeVector(std::move(lanes)), to);
    }
    return all;
  }

  Kernel& k_;
  std::vector<Group> groups_;  // in the order of their statements
  ByBase<std::vector<std::size_t>> groupsAt_;
};

}  // namespace

Kernel transposePass(Kernel kernel, const PassOptions& options) {
  if (!options.joinVectors) Transpose(kernel).run();
  return kernel;
}

}  // namespace lift::kernel
