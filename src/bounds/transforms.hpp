// Private to bounds: how many transformed values elements of fast memory stand for.
#pragma once

#include "axis.hpp"
#include "lift/cook_toom.hpp"

namespace lift::bounds {

// Of the tiles of one dimension: transformed values that results need and inputs decide, and how many of them an
// input stands for at most.
struct Transformed {
  double products = 0, reuse = 0;
};
// `whole`: only tiles all of whose windows are there and read nothing but the input.
Transformed transformed(const rewrite::CookToom& f, const Axis& axis, bool whole);

// The same of the taps of a kernel.
double reuseOfTaps(const rewrite::CookToom& f);

}  // namespace lift::bounds
