// Random statements on vectors, of which later statements read some lanes.
#pragma once

#include <algorithm>
#include <functional>
#include <random>

#include "make.hpp"

namespace lift::kernel::make {

struct RandomVectors {
  int width;       // of all vectors
  int used;        // only so many first lanes are read or stored
  bool hasArrays;  // some are in private memory, as vectors
  int words = 96;  // of memory, the only buffer
};

inline Kernel randomOnVectors(std::mt19937& random, const RandomVectors& of) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Maker m;
  const auto memory = m.out("memory", of.words);
  const ValueType type = vec(of.width);
  std::optional<BufferId> rows;
  if (of.hasArrays) {
    rows = m.priv("rows", 2, of.width);
    m.k.body = block(Allocate{*rows}, Store{*rows, 0, load(memory, 3, type)}, Store{*rows, 1, load(memory, 5, type)});
  }
  std::vector<VarId> variables;
  for (int v = 0; v < 3; v++) {
    variables.push_back(m.var("v", type));
    m.k.body.push_back({Declare{variables.back(), load(memory, 7 * v, type)}});
  }
  const auto variable = [&] { return variables[static_cast<std::size_t>(pick(3))]; };
  const std::function<ExprPtr(int)> value = [&](int depth) -> ExprPtr {
    const auto operand = [&] { return value(depth - 1); };
    switch (depth == 0 ? pick(3) : pick(8)) {
      case 0: return ref(variable(), type);
      case 1: return load(memory, pick(of.words - of.width), type);
      case 2: return rows ? load(*rows, pick(2), type) : ref(variable(), type);
      case 3: return splat(lane(ref(variable(), type), pick(of.used)), of.width);
      case 4: {
        std::vector<ExprPtr> lanes;
        for (int l = 0; l < of.width; l++) lanes.push_back(lane(ref(variable(), type), pick(of.used)));
        return makeVector(std::move(lanes));
      }
      case 5: return operation(Op::select, {operation(Op::lt, {operand(), operand()}), operand(), operand()});
      case 6: return choose(operation(Op::lt, {lane(operand(), pick(of.used)), number(3)}), operand(), operand());
      default: return operation(pick(2) == 0 ? Op::max : Op::sub, {operand(), operand()});
    }
  };
  const auto store = [&](const ExprPtr& whole) {
    const int at = pick(of.words - of.width);
    if (of.used == of.width) return m.k.body.push_back({Store{memory, at, whole}});
    const VarId named = m.var("w", type);
    m.k.body.push_back({Declare{named, whole}});
    for (int l = 0; l < of.used; l++) m.k.body.push_back({Store{memory, at + l, lane(ref(named, type), l)}});
  };
  for (int s = 0; s < 6; s++) {
    const VarId to = variable();
    switch (pick(4)) {
      case 0: m.k.body.push_back({Assign{to, value(2)}}); break;
      case 1: m.k.body.push_back({AssignLane{to, pick(of.used), lane(value(2), pick(of.used))}}); break;
      case 2: store(value(2)); break;
      default:
        rows ? m.k.body.push_back({Store{*rows, pick(2), value(2)}}) : m.k.body.push_back({Assign{to, value(1)}});
    }
  }
  for (const VarId v : variables) store(ref(v, type));
  return m.k;
}

}  // namespace lift::kernel::make
