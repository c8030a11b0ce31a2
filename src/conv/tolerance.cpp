// How exact a correct convolution is.
//
// Let u be the unit roundoff (2^-24 for f32), R the products of one output, γ(n) = nu / (1 - nu). Whatever the order of
// summation, with or without fused multiply-add, the computed ŷ of y = b + Σ x_i w_i satisfies
//   |ŷ - y| <= γ(R + 1) (|b| + Σ |x_i w_i|)                  (Higham, Accuracy and Stability, 2nd ed., §3.1, §4.2)
// and with a probability that is high for moderate λ the constant is only λ √(R + 1) u (Higham and Mary, SIAM J. Sci.
// Comput. 41, 2019). By Cauchy-Schwarz Σ |x_i w_i| <= R rms(x) rms(w), and where signs are mixed the outputs are of the
// size rms(y) = √R rms(x) rms(w), so Σ |x_i w_i| <= √R rms(y). Relative to the outputs' root mean square:
//   worst case   γ(R) √R ~ R^1.5 u,   probable   λ √R u √R = λ R u.
// The worst case is of no use as a test: for R = 4608 it is 2 %, which would hide a lost product. We take the probable
// bound with λ = 2, and four roundings for bias, product and conversions where R is tiny:
//   tolerance = 2 (R + 4) u.
// It is generous for random data, whose roundings cancel too: there the largest error of a million outputs is about
// 2.5 √R u. It is tight against mistakes: leaving out a single product of one output changes that one by about
// rms(y) / √R, which is above 2 (R + 4) u for every R below 10^4.
//
// That would be no test of sums in half: for R = 4608 it exceeds the outputs. There we take what random data show. The
// partial sums s_k of a sequential summation are of the size √k rms(x) rms(w), and their roundings are independent, of
// variance (s_k u)^2 / 3 at most, so that the error's deviation is R u rms(x) rms(w) / √6 = √R u rms(y) / √6; the
// product's roundings add as much as √R more would. The largest of a million outputs is five deviations off, 2 √R u:
//   tolerance = 4 (√R + 4) u,
// twice that. It notices a lost product while R is below about 500.
//
// An output close to zero has a large error relative to itself and means nothing by it; that is why the error is taken
// relative to max(|want|, floor) with floor = rms(y).
//
// Winograd's algorithms sum products of transformed data over the channels alone, R = C (of all phases of a stride),
// and round a few times in each of their transforms; what comes of that grows by their amplification (cook_toom.hpp).
// So their families have
//   tolerance = 2 (C + n + n' + 4) a a' u
// with n, n' products and a, a' the amplification of rows and columns; in half
//   tolerance = 4 (√C + √(n + n') + 4) a a' u.
#include <cmath>

#include "lift/conv.hpp"
#include "winograd.hpp"

namespace lift {

namespace {

// With half storage the arithmetic is in float, and storing rounds once more: the result, and the reference.
constexpr double roundoffHalf = 0x1p-11;
constexpr double roundoffFloat = 0x1p-24;
constexpr double roundoffDouble = 0x1p-53;

}  // namespace

double convTolerance(const ConvSpec& spec, Scalar scalar) {
  const double roundings = 2 * (static_cast<double>(spec.reduction()) + 4);
  switch (scalar) {
    case Scalar::f16: return roundings * roundoffFloat + 2 * roundoffHalf;
    case Scalar::h16: return 4 * (std::sqrt(static_cast<double>(spec.reduction())) + 4) * roundoffHalf;
    case Scalar::f32: return roundings * roundoffFloat;
    case Scalar::f64: return 2 * roundings * roundoffDouble;  // the reference is no better
    default: return 0;
  }
}

double detail::winogradTolerance(const ConvSpec& spec, const Winograd& w, Scalar elements) {
  const auto products = [](const rewrite::CookToom& f) { return static_cast<double>(f.m + f.r - 1); };
  const double channels = static_cast<double>(atStrideOne(spec).icPerGroup());
  const double transforms = products(w.rows) + products(w.columns);
  const double growth = rewrite::amplification(w.rows) * rewrite::amplification(w.columns);
  if (elements == Scalar::h16) return 4 * (std::sqrt(channels) + std::sqrt(transforms) + 4) * growth * roundoffHalf;
  const double sums = 2 * (channels + transforms + 4) * growth * roundoffFloat;
  return elements == Scalar::f16 ? sums + 2 * roundoffHalf : sums;
}

}  // namespace lift
