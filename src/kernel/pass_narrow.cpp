// Vectors that are wider than the target's registers become several that fit: GCC keeps wider ones in memory, and loads
// and stores all of them around every operation.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "pass_list.hpp"
#include "slice.hpp"

namespace lift::kernel {
namespace {

class Narrow {
 public:
  Narrow(Kernel& k, int vectorBytes) : k_(k), lanes_(lanesOf(vectorBytes)) {}

  void run() {
    if (lanes_ < 2) return;
    for (VarId v = 0, all = static_cast<VarId>(k_.variables.size()); v < all; v++) declareParts(v);
    for (Buffer& b : k_.buffers)
      if (isWide(b.width)) {
        b.count = b.count * Nat(b.width / lanes_);
        b.width = lanes_;
        wideArrays_.insert(static_cast<BufferId>(&b - k_.buffers.data()));
      }
    block(k_.body);
  }

 private:
  // One number for all vectors of the kernel, so that operations and conversions between them go part by part: as many
  // as fit of the largest elements that vectors have. 0 where nothing is too wide, or a kernel cannot be taken apart.
  int lanesOf(int vectorBytes) const {
    std::size_t largest = 1;
    int widest = 0;
    bool combines = false;
    const auto see = [&](Scalar scalar, int width) {
      if (width == 1) return;
      largest = std::max(largest, info(scalar).bytes);
      widest = std::max(widest, width);
    };
    for (const Buffer& b : k_.buffers) see(b.scalar, b.width);
    for (const Variable& v : k_.variables) see(v.type.scalar, v.type.width);
    forEachStmt(k_.body, [&](const Stmt& s) {
      const auto* combine = as<Combine>(s);
      combines = combines || (combine != nullptr && k_.variables[combine->variable].type.width > 1);
      forEachExpr(s, [&](const Expr& e) { see(e.type.scalar, e.type.width); });
    });
    const int lanes = vectorBytes / static_cast<int>(largest);
    const bool images = std::ranges::any_of(k_.buffers, [](const Buffer& b) { return b.isImage; });
    return widest > lanes && !combines && !images ? lanes : 0;
  }

  // 3 lanes are kept as 4.
  bool isWide(int width) const { return width > lanes_ && width != 3; }

  void declareParts(VarId v) {
    const ValueType type = k_.variables[v].type;
    if (!isWide(type.width)) return;
    for (int first = 0; first < type.width; first += lanes_)
      parts_[v].push_back(addVariable(k_, fmt::format("{}_{}", k_.variables[v].name, first), partOf(type)));
  }

  ValueType partOf(ValueType type) const { return {type.scalar, lanes_}; }
  std::size_t numberOf(int lane) const { return static_cast<std::size_t>(lane / lanes_); }

  // The lanes of a wide vector from `first`, a multiple of lanes_.
  ExprPtr part(const ExprPtr& e, int first) {
    const auto leaf = [&](const ExprPtr& l) {
      const ValueType type = partOf(l->type);
      if (const auto* v = as<VarRef>(l)) return ref(parts_.at(v->variable)[numberOf(first)], type);
      const auto& from = std::get<Load>(l->node);
      return wideArrays_.contains(from.buffer) ? load(from.buffer, inParts(from.index, l->type.width, first), type)
                                               : load(from.buffer, from.index + Nat(first), type);
    };
    return slice(e, first, lanes_, leaf, [&](const ExprPtr& s) { return whole(s); });
  }

  // What is no wide vector, with those in it taken apart.
  ExprPtr whole(const ExprPtr& e) {
    ensure(!isWide(e->type.width), "a wide vector is used part by part");
    const auto* l = as<Lane>(e);
    if (l != nullptr && isWide(l->vector->type.width))
      return lane(part(l->vector, l->lane / lanes_ * lanes_), l->lane % lanes_);
    const auto* any = as<AnyLane>(e);
    if (any != nullptr && isWide(any->vector->type.width)) {
      ExprPtr parts = part(any->vector, 0);
      for (int first = lanes_; first < any->vector->type.width; first += lanes_)
        parts = operation(Op::logicalOr, {parts, part(any->vector, first)});
      return anyLane(parts);
    }
    if (const auto* m = as<MakeVector>(e)) {
      std::vector<ExprPtr> lanes;
      for (const ExprPtr& lane : m->lanes) lanes.push_back(whole(lane));
      return makeVector(std::move(lanes));
    }
    return mapChildren(e, [&](const ExprPtr& c) { return whole(c); });
  }

  Nat inParts(Nat index, int width, int first) const { return index * Nat(width / lanes_) + Nat(first / lanes_); }

  void block(Block& b) {
    Block to;
    for (Stmt& s : b) {
      if (takenApart(s, to)) continue;
      mapRoots(s, [&](const ExprPtr& e) { return whole(e); });
      forEachBlock(s, [&](Block& inner) { block(inner); });
      to.push_back(std::move(s));
    }
    b = std::move(to);
  }

  // A statement on a wide vector, as one for each part.
  bool takenApart(const Stmt& s, Block& to) {
    if (const auto* d = as<Declare>(s); d != nullptr && parts_.contains(d->variable)) {
      const auto& parts = parts_.at(d->variable);
      for (std::size_t p = 0; p < parts.size(); p++) {
        std::optional<ExprPtr> value;
        if (d->value) value = part(*d->value, static_cast<int>(p) * lanes_);
        to.push_back({Declare{parts[p], std::move(value)}});
      }
      return true;
    }
    if (const auto* a = as<Assign>(s); a != nullptr && parts_.contains(a->variable)) {
      const auto& parts = parts_.at(a->variable);
      std::vector<ExprPtr> values = partsOf(a->value);
      if (readsPartsBefore(values, parts))
        for (ExprPtr& v : values) v = named(v, to);
      for (std::size_t p = 0; p < parts.size(); p++) to.push_back({Assign{parts[p], std::move(values[p])}});
      return true;
    }
    if (const auto* a = as<AssignLane>(s); a != nullptr && parts_.contains(a->variable)) {
      to.push_back({AssignLane{parts_.at(a->variable)[numberOf(a->lane)], a->lane % lanes_, whole(a->value)}});
      return true;
    }
    if (const auto* st = as<Store>(s); st != nullptr && isWide(st->value->type.width)) {
      const bool moves = anyExpr<Load>(*st->value, [&](const Load& l) { return l.buffer == st->buffer; });
      std::vector<ExprPtr> values = partsOf(st->value);
      if (moves)
        for (ExprPtr& v : values) v = named(v, to);
      for (std::size_t p = 0; p < values.size(); p++) {
        const int first = static_cast<int>(p) * lanes_;
        const Nat at = wideArrays_.contains(st->buffer) ? inParts(st->index, st->value->type.width, first)
                                                        : st->index + Nat(first);
        to.push_back({Store{st->buffer, at, std::move(values[p])}});
      }
      return true;
    }
    return false;
  }

  std::vector<ExprPtr> partsOf(const ExprPtr& e) {
    std::vector<ExprPtr> parts;
    for (int first = 0; first < e->type.width; first += lanes_) parts.push_back(part(e, first));
    return parts;
  }

  // Whether the value of a part is made of one that would have been assigned by then.
  static bool readsPartsBefore(const std::vector<ExprPtr>& values, const std::vector<VarId>& parts) {
    for (std::size_t p = 1; p < parts.size(); p++)
      if (const auto assigned = std::span(parts).first(p); anyExpr<VarRef>(
              *values[p], [&](const VarRef& v) { return std::ranges::find(assigned, v.variable) != assigned.end(); }))
        return true;
    return false;
  }

  ExprPtr named(const ExprPtr& value, Block& to) {
    const VarId v = addVariable(k_, "part", value->type);
    to.push_back({Declare{v, value}});
    return ref(v, value->type);
  }

  Kernel& k_;
  const int lanes_;
  std::map<VarId, std::vector<VarId>> parts_;
  std::set<BufferId> wideArrays_;
};

}  // namespace

Kernel narrowPass(Kernel kernel, const PassOptions& options) {
  if (options.vectorBytes > 0) Narrow(kernel, options.vectorBytes).run();
  return kernel;
}

}  // namespace lift::kernel
