// From DType to the type of an element, and between floats and elements.
#pragma once

#include "warpmill/types.cuh"

namespace wm {

namespace detail {
template <DType dtype>
__device__ auto element() {
  if constexpr (dtype == DType::u8) return u8{};
  if constexpr (dtype == DType::i8) return i8{};
  if constexpr (dtype == DType::i32) return i32{};
  if constexpr (dtype == DType::f16) return f16{};
  if constexpr (dtype == DType::bf16) return bf16{};
  if constexpr (dtype == DType::f32) return f32{};
  if constexpr (dtype == DType::tf32) return tf32{};
  if constexpr (dtype == DType::e4m3) return e4m3{};
  if constexpr (dtype == DType::e5m2) return e5m2{};
}
}  // namespace detail

template <DType dtype>
using Element = decltype(detail::element<dtype>());

template <class T>
inline constexpr DType dtype_of = same<T, i8>     ? DType::i8
                                  : same<T, i32>  ? DType::i32
                                  : same<T, f16>  ? DType::f16
                                  : same<T, bf16> ? DType::bf16
                                  : same<T, f32>  ? DType::f32
                                  : same<T, tf32> ? DType::tf32
                                  : same<T, e4m3> ? DType::e4m3
                                                  : DType::e5m2;

// Two floats as a pair of smaller ones, the first in the low half; 8-bit floats saturate.
template <class T>
WM_DEVICE auto pack(f32 low, f32 high) {
  static_assert(one_of<T, bf16, f16, e4m3, e5m2>, "pairs are made of bf16, f16, e4m3 and e5m2");
  if constexpr (one_of<T, bf16, f16>) {
    u32 pair;
    if constexpr (same<T, bf16>) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    if constexpr (same<T, f16>) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
  } else {
    u16 pair;
    if constexpr (same<T, e4m3>) asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
    if constexpr (same<T, e5m2>) asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
    return pair;
  }
}

// One value as an element.
template <class T>
WM_DEVICE T round_to(f32 value) {
  if constexpr (same<T, f32>) {
    return value;
  } else if constexpr (same<T, tf32>) {
    tf32 result;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result.bits) : "f"(value));
    return result;
  } else {
    return T::from_bits(pack<T>(value, 0.f));
  }
}
template <class T>
WM_DEVICE T round_to(i32 value) {
  static_assert(same<T, i32>, "integer sums stay integers");
  return value;
}

WM_DEVICE f32 to_float(f32 value) { return value; }
WM_DEVICE f32 to_float(bf16 value) { return __uint_as_float(u32(value.bits) << 16); }
WM_DEVICE f32 to_float(f16 value) {
  f32 result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}

// As many neighbouring floats as smaller ones fit a word, the first lowest.
template <class T>
WM_DEVICE u32 pack_word(const f32* values) {
  if constexpr (sizeof(T) == 2) {
    return pack<T>(values[0], values[1]);
  } else {
    u32 word;
    asm("mov.b32 %0, {%1, %2};" : "=r"(word) : "h"(pack<T>(values[0], values[1])), "h"(pack<T>(values[2], values[3])));
    return word;
  }
}

}  // namespace wm
