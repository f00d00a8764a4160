// The functions that D's elements may go through last.
#pragma once

#include "warpmill/types.cuh"

namespace wm::activation {

WM_DEVICE f32 sigmoid(f32 x) { return 1.f / (1.f + __expf(-x)); }

struct None {
  static WM_DEVICE f32 of(f32 x) { return x; }
};
struct Relu {
  static WM_DEVICE f32 of(f32 x) { return x < 0.f ? 0.f : x; }  // a NaN stays
};
// x (1 + tanh(y)) / 2 is x sigmoid(2y).
struct GeluTanh {
  static WM_DEVICE f32 of(f32 x) { return x * sigmoid(1.5957691216f * (x + 0.044715f * x * x * x)); }
};
struct GeluErf {
  static WM_DEVICE f32 of(f32 x) { return 0.5f * x * (1.f + erff(x * 0.70710678118f)); }
};
struct Silu {
  static WM_DEVICE f32 of(f32 x) { return x * sigmoid(x); }
};

}  // namespace wm::activation
