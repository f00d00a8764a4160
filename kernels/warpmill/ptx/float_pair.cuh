// f32x2 (sm_100): two floats in a 64-bit register, in one instruction each. And the largest of three.
#pragma once

#include "warpmill/types.cuh"

namespace wm {

struct FloatPair {
  u64 bits;  // the first in the low half

  WM_DEVICE FloatPair(f32 first, f32 second) { asm("mov.b64 %0, {%1, %2};" : "=l"(bits) : "f"(first), "f"(second)); }
  WM_DEVICE explicit FloatPair(f32 both) : FloatPair(both, both) {}
  WM_DEVICE explicit FloatPair(u64 bits) : bits(bits) {}
  WM_DEVICE Pair<f32> values() const {
    Pair<f32> pair;
    asm("mov.b64 {%0, %1}, %2;" : "=f"(pair.x), "=f"(pair.y) : "l"(bits));
    return pair;
  }
};

}  // namespace wm

namespace wm::float_pair {

// fma.rn.ftz.f32x2, add.rn.ftz.f32x2, sub.rn.ftz.f32x2, mul.rn.ftz.f32x2.
WM_DEVICE FloatPair fma(FloatPair a, FloatPair b, FloatPair c) {
  u64 bits;
  asm("fma.rn.ftz.f32x2 %0, %1, %2, %3;" : "=l"(bits) : "l"(a.bits), "l"(b.bits), "l"(c.bits));
  return FloatPair(bits);
}
WM_DEVICE FloatPair add(FloatPair a, FloatPair b) {
  u64 bits;
  asm("add.rn.ftz.f32x2 %0, %1, %2;" : "=l"(bits) : "l"(a.bits), "l"(b.bits));
  return FloatPair(bits);
}
WM_DEVICE FloatPair subtract(FloatPair a, FloatPair b) {
  u64 bits;
  asm("sub.rn.ftz.f32x2 %0, %1, %2;" : "=l"(bits) : "l"(a.bits), "l"(b.bits));
  return FloatPair(bits);
}
WM_DEVICE FloatPair multiply(FloatPair a, FloatPair b) {
  u64 bits;
  asm("mul.rn.ftz.f32x2 %0, %1, %2;" : "=l"(bits) : "l"(a.bits), "l"(b.bits));
  return FloatPair(bits);
}
// add.rm.ftz.f32x2: rounded down.
WM_DEVICE FloatPair add_down(FloatPair a, FloatPair b) {
  u64 bits;
  asm("add.rm.ftz.f32x2 %0, %1, %2;" : "=l"(bits) : "l"(a.bits), "l"(b.bits));
  return FloatPair(bits);
}

}  // namespace wm::float_pair

namespace wm {

// max.NaN.f32 of three: no number where one of them is none.
WM_DEVICE f32 largest(f32 a, f32 b, f32 c) {
  f32 most;
  asm("max.NaN.f32 %0, %1, %2, %3;" : "=f"(most) : "f"(a), "f"(b), "f"(c));
  return most;
}

}  // namespace wm
