#include "predicate.hpp"

#include <algorithm>
#include <set>

namespace lift::detail {
namespace {

NatCode codeOf(Nat value, const std::map<NatVar, int>& slots) {
  return NatCode(value, [&](NatVar v) { return static_cast<std::size_t>(slots.at(v)); });
}

std::optional<std::int64_t> at(const NatCode& code, const std::vector<std::int64_t>& values) {
  using Value = std::optional<std::int64_t>;
  return code.evaluate<Value>([&](const NatCode::Leaf& l) { return l.isConstant ? l.value : values[l.place()]; },
                              [](Nat::Kind kind, const Value& a, const Value& b) { return combine(kind, a, b); });
}

Range over(const NatCode& code, const std::vector<Range>& ranges) {
  return code.evaluate<Range>(
      [&](const NatCode::Leaf& l) {
        return l.isConstant ? Range{l.value, l.value} : ranges[l.place()];
      },
      [](Nat::Kind kind, const Range& a, const Range& b) { return combine(kind, a, b); });
}

}  // namespace

Predicate::Predicate(const SizeCondition& condition, const std::map<NatVar, int>& slots)
    : kind_(condition.kind), left_(codeOf(condition.left, slots)), right_(codeOf(condition.right, slots)) {
  std::set<int> used;
  for (const Nat side : {condition.left, condition.right})
    for (const NatVar v : side.variables()) used.insert(slots.at(v));
  variables_.assign(used.begin(), used.end());
}

bool Predicate::holdsAt(const std::vector<std::int64_t>& values) const {
  const auto left = at(left_, values), right = at(right_, values);
  if (!left || !right) return false;
  switch (kind_) {
    case SizeCondition::Kind::divides: return *left > 0 && *right % *left == 0;
    case SizeCondition::Kind::lessEqual: return *left <= *right;
    case SizeCondition::Kind::equal: return *left == *right;
  }
  return false;
}

bool Predicate::isRefutedOver(const std::vector<Range>& ranges) const {
  const Range left = over(left_, ranges), right = over(right_, ranges);
  switch (kind_) {
    case SizeCondition::Kind::divides: return left.upper < 1 || (right.lower > 0 && left.lower > right.upper);
    case SizeCondition::Kind::lessEqual: return left.lower > right.upper;
    case SizeCondition::Kind::equal: return left.lower > right.upper || right.lower > left.upper;
  }
  return false;
}

bool Predicate::mentions(int slot) const { return std::ranges::binary_search(variables_, slot); }

}  // namespace lift::detail
