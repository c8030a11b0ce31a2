#include "lift/arranged.hpp"

#include <set>

#include "lift/build.hpp"

namespace lift::affine {
namespace {

// A form with its digits counted upwards, from the least index on; those that it counts downwards.
struct Upwards {
  Form form;
  Digits reversed;
};
Upwards upwards(Form form, const Extents& extents) {
  Digits reversed;
  for (auto& [digit, coefficient] : form.terms)
    if (coefficient < 0) {
      form.constant += coefficient * (extents.of(digit) - 1);
      coefficient = -coefficient;
      reversed.push_back(digit);
    }
  return {form, reversed};
}

Expr call(Prim prim, Expr x) { return build::call(prim, {x}); }

Expr below(Expr x, int depth, const std::function<Expr(Expr)>& f) {
  return depth == 0 ? f(x) : build::map("row", x, [&](Expr row) { return below(row, depth - 1, f); });
}

}  // namespace

Digits outermostFirst(const Form& form) {
  Digits digits;
  for (const auto& [digit, coefficient] : form.terms) digits.push_back(digit);
  std::ranges::sort(digits, [&](Digit a, Digit b) { return std::abs(form.terms.at(a)) > std::abs(form.terms.at(b)); });
  return digits;
}

void Arranged::part(std::int64_t from, std::int64_t count) {
  const auto length = *typeAt(dims_).length().constant();
  if (from > 0) each(dims_, [&](Expr x) { return build::drop(from, x); });
  if (from + count < length) each(dims_, [&](Expr x) { return build::take(count, x); });
}

// Pads the next dimension with zeros where elements from `from` on are outside of it; returns where these elements
// begin then.
std::int64_t Arranged::padded(std::int64_t from, std::int64_t count) {
  const std::int64_t before = std::max<std::int64_t>(0, -from);
  const std::int64_t after = std::max<std::int64_t>(0, from + count - *typeAt(dims_).length().constant());
  if (before > 0 || after > 0)
    each(dims_, [&](Expr x) { return build::call(Prim::pad, {before, after}, {build::zeros(x.type().element()), x}); });
  return from + before;
}

void Arranged::add(const Digits& digits) {
  for (std::size_t i = digits.size(); i-- > 1;)
    each(dims_, [&](Expr x) { return build::split(extents_.of(digits[i]), x); });
  added(digits);
}

void Arranged::add(const Form& form) {
  const auto [up, reversed] = upwards(form, extents_);
  const Digits digits = outermostFirst(up);
  std::int64_t count = 1;
  for (const auto& [digit, coefficient] : up.terms) count += coefficient * (extents_.of(digit) - 1);
  const std::int64_t from = padded(up.constant, count);
  part(from, count);
  for (std::size_t i = 0; i < digits.size(); i++) {
    const std::int64_t step = up.terms.at(digits[i]);
    count -= step * (extents_.of(digits[i]) - 1);  // what is left for the further digits
    if (count > step) throw Not{"its elements are read again"};
    if (i + 1 == digits.size() && step == 1) break;
    const int at = dims_ + static_cast<int>(i);
    each(at, [&](Expr x) {
      return count == step ? build::split(step, x) : build::call(Prim::slide, {count, step}, {x});
    });
    if (i + 1 == digits.size()) each(at, [](Expr x) { return call(Prim::join, x); });
  }
  for (std::size_t i = 0; i < digits.size(); i++)
    if (has(reversed, digits[i]))
      each(dims_ + static_cast<int>(i),
           [](Expr x) { return build::call(Prim::reorder, {}, {x}, static_cast<std::uint8_t>(IndexFn::reverse)); });
  added(digits);
}

void Arranged::repeat(const Digits& digits) {
  for (const Digit d : digits) {
    if (has(order_, d)) continue;
    array_ = build::fill(extents_.of(d), array_);
    order_.insert(order_.begin(), d);
    dims_++;
  }
}

void Arranged::arrange(const std::vector<Digits>& wanted) {
  Digits order;
  for (const Digits& digits : wanted) append(order, digits);
  if (order.empty()) throw Not{"it reads one element"};
  if (std::multiset<Digit>(order.begin(), order.end()) != std::multiset<Digit>(order_.begin(), order_.end()))
    throw Not{"an operand does not depend on all that it should"};
  for (std::size_t to = 0; to < order.size(); to++)
    for (auto from = static_cast<std::size_t>(std::ranges::find(order_, order[to]) - order_.begin()); from > to;
         from--) {
      each(static_cast<int>(from) - 1, [](Expr x) { return call(Prim::transpose, x); });
      std::swap(order_[from - 1], order_[from]);
    }
  int rank = static_cast<int>(order.size());
  for (int at = 0; at < static_cast<int>(wanted.size()); at++) {
    const auto count = static_cast<int>(wanted[static_cast<std::size_t>(at)].size());
    for (int i = 1; i < count; i++) each(at, [](Expr x) { return call(Prim::join, x); });
    if (count == 0 && at < rank)
      each(at, [](Expr x) { return build::split(x.type().length(), x); });
    else if (count == 0)
      each(at - 1, [](Expr x) { return build::split(1, x); });
    rank += 1 - count;
  }
}

Type Arranged::typeAt(int depth) const {
  Type t = array_.type();
  for (int i = 0; i < depth; i++) t = t.element();
  return t;
}

void Arranged::added(const Digits& digits) {
  append(order_, digits);
  dims_ += static_cast<int>(digits.size());
  if (!digits.empty()) return;
  // Of one element: it becomes part of the next dimension, or of the last one.
  if (typeAt(dims_).element().isArray())
    each(dims_, [](Expr x) { return call(Prim::join, x); });
  else if (dims_ > 0)
    each(dims_ - 1, [](Expr x) { return call(Prim::join, x); });
  else
    throw Not{"it reads one element"};
}

void Arranged::each(int depth, const std::function<Expr(Expr)>& f) { array_ = below(array_, depth, f); }

}  // namespace lift::affine
