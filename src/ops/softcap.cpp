// Series for tanh, and how far they reach.
#include "ops/softcap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace wm::ops {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// size tanh(x): x (1 - 0.325 x^2 + 0.094 x^4) is tanh(x) within 2^-11.6 of itself, up to x = 0.8.
SoftcapSeries tanh_series(double size) {
  constexpr double first = 0.99969672, third = -0.32457385, fifth = 0.09357479, middle = third / (2 * fifth);
  return {static_cast<float>(middle), static_cast<float>(first / fifth - middle * middle),
          static_cast<float>(fifth * size), static_cast<float>(std::tanh(0.8) * size)};
}

// Of a series that reaches nowhere (SoftcapSeries::of) all scores take tanh.
LowCapLimits limits_of(const SoftcapSeries& series) {
  if (series.most == 0) return {0, infinity};
  return {std::exp2(series.most), std::exp2(24 - series.most)};
}

// The same for scores near 0, of queries that are multiplied with a power of two so that x is between 0.5 and 1 where
// their product is 1: x (0.9997 - 0.315 x^2) is tanh(x) within 2^-11.5 of itself, up to x = 0.38. What it makes of a
// score below -0.38 is off by less than 2^-6.9 of the power of one at -0.38, so all keys together by less than 2^-13 of
// a sum of `least_of_key` for each. `inner` becomes that of the multiplied queries.
NearCap near_cap(double size, double& inner) {
  constexpr double first = 0.99967345, third = -0.31504019, reach = 0.38;
  int log2 = 0;
  std::frexp(inner, &log2);
  // A factor above 1 would leave large queries no room, a smaller one small ones.
  if (inner == 0 || log2 < -60 || log2 > 0) return {1, 0, 0, 0, infinity};
  const double factor = std::ldexp(1, log2), most = std::tanh(reach) * size;
  inner /= factor;
  return {static_cast<float>(factor), static_cast<float>(first * size * inner),
          static_cast<float>(third * size * inner * inner * inner), static_cast<float>(std::exp2(most)),
          static_cast<float>(std::exp2(6.5 - most))};
}

}  // namespace

SoftcapNumbers softcap_numbers(double cap, double scale, bool grounded) {
  const double size = std::max(cap, 0x1p-100) * std::numbers::log2e;
  double inner = scale / cap;
  SoftcapNumbers numbers;
  if (grounded) numbers.near = near_cap(size, inner);
  if (inner != 0) numbers.series = tanh_series(size).of(static_cast<float>(inner));
  numbers.limits = limits_of(numbers.series);
  numbers.inner = static_cast<float>(inner);
  return numbers;
}

}  // namespace wm::ops
