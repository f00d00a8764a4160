// A product's last steps in float64, for whoever checks one: the benchmarks and the tests.
#pragma once

#include "warpmill/gemm.hpp"

namespace wm::bench {

// A caller's own expression is left alone: only a compiler can read it.
double activated(Activation activation, double x);

// How far rounding `value` to D's type may take it.
double rounding_of(DType d, double value);

}  // namespace wm::bench
