// The numbers of a softcap: what kernels weigh scores under cap * tanh(score / cap) by, with and without tanh.
#pragma once

#include "warpmill/attention/arguments.h"

namespace wm::ops {

struct SoftcapNumbers {
  float inner = 0;  // tanh's argument, of a product of queries and keys
  SoftcapSeries series{};
  LowCapLimits limits{};  // of it
  NearCap near{};
};
// `scale` takes a product to a score. Where powers are `grounded` (capped_softmax.cuh), queries are multiplied with
// near.query_factor first, and all numbers are of their products.
SoftcapNumbers softcap_numbers(double cap, double scale, bool grounded);

}  // namespace wm::ops
