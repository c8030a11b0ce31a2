// A transformed value is a linear map of some elements. Where fast memory has a set of elements, it can compute those
// values all of whose elements are in it, or others from values between, of which each stands for one value at least
// as well. A value shares a charge of 1 among its elements; if no element bears more than a charge of p, then n
// elements give p · n values at most. In two dimensions charges multiply, and so do the values between of a transform
// in two steps. Any way to share gives a bound; shares are evened out here until little changes.
#include "transforms.hpp"

#include <algorithm>

namespace lift::bounds {
namespace {

using Elements = std::vector<std::size_t>;  // that a value is made of, ascending

// One value's charge of 1 poured on the lowest of its elements' loads, as water is.
void pour(const Elements& elements, std::vector<double>& share, std::vector<double>& load) {
  for (std::size_t i = 0; i < elements.size(); i++) load[elements[i]] -= share[i];
  std::vector<double> levels;
  for (const std::size_t e : elements) levels.push_back(load[e]);
  std::ranges::sort(levels);
  double sum = 1, level = 0;
  for (std::size_t i = 0; i < levels.size(); i++) {
    sum += levels[i];
    level = sum / static_cast<double>(i + 1);
    if (i + 1 == levels.size() || level <= levels[i + 1]) break;
  }
  for (std::size_t i = 0; i < elements.size(); i++) {
    share[i] = std::max(0.0, level - load[elements[i]]);
    load[elements[i]] += share[i];
  }
}

double mostLoad(const std::vector<Elements>& values, std::size_t elements) {
  std::vector<std::vector<double>> shares;
  std::vector<double> load(elements);
  for (const Elements& v : values) {
    shares.emplace_back(v.size(), 1.0 / static_cast<double>(v.size()));
    for (const std::size_t e : v) load[e] += shares.back()[0];
  }
  for (int round = 0; round < 200; round++)
    for (std::size_t i = 0; i < values.size(); i++) pour(values[i], shares[i], load);
  return load.empty() ? 0 : *std::ranges::max_element(load);
}

bool isNeeded(const rewrite::CookToom& f, std::size_t value, std::int64_t windows) {
  for (std::size_t w = 0; w < f.at.size() && static_cast<std::int64_t>(w) < windows; w++)
    if (f.at[w][value] != Rational(0)) return true;
  return false;
}

}  // namespace

Transformed transformed(const rewrite::CookToom& f, const Axis& axis, bool whole) {
  std::vector<Elements> values;
  const auto inputs = static_cast<std::int64_t>(f.bt.size());
  for (std::int64_t window = 0; window < axis.out; window += f.m) {
    const std::int64_t first = axis.place(window, 0);
    if (whole && (window + f.m > axis.out || !axis.isInside(first) || !axis.isInside(first + inputs - 1))) continue;
    for (std::size_t v = 0; v < f.bt.size(); v++) {
      Elements elements;
      for (std::int64_t i = 0; i < inputs; i++)
        if (axis.isInside(first + i) && f.bt[v][static_cast<std::size_t>(i)] != Rational(0))
          elements.push_back(static_cast<std::size_t>(first + i));
      if (!elements.empty() && isNeeded(f, v, axis.out - window)) values.push_back(std::move(elements));
    }
  }
  return {static_cast<double>(values.size()), mostLoad(values, static_cast<std::size_t>(axis.in))};
}

double reuseOfTaps(const rewrite::CookToom& f) {
  std::vector<Elements> values;
  for (const auto& row : f.g) {
    Elements taps;
    for (std::size_t t = 0; t < row.size(); t++)
      if (row[t] != Rational(0)) taps.push_back(t);
    values.push_back(std::move(taps));
  }
  return mostLoad(values, static_cast<std::size_t>(f.r));
}

}  // namespace lift::bounds
