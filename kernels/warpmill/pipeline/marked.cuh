// Values between blocks through global memory without fences or barriers: a 4-byte value travels with a mark in one
// 8-byte word, so whoever sees the mark has the value. (sm_70 on; relaxed accesses at device scope.)
#pragma once

#include "warpmill/types.cuh"

namespace wm::marked {

// Two values with their marks. Zero: nothing is there.
struct Two {
  u64 first, second;
  WM_DEVICE bool there() const { return (first >> 32) & (second >> 32) & 1; }
};

namespace detail {
// In assembly: a float that the compiler sees as bits here might be kept as bits, in other registers, while wgmma still
// works on it.
WM_DEVICE u64 with_mark(f32 value) {
  u64 word;
  asm("mov.b64 %0, {%1, %2};" : "=l"(word) : "f"(value), "r"(1));
  return word;
}
WM_DEVICE u64 with_mark(i32 value) {
  u64 word;
  asm("mov.b64 %0, {%1, %2};" : "=l"(word) : "r"(value), "r"(1));
  return word;
}
}  // namespace detail

template <class T>
WM_DEVICE Two with_marks(T first, T second) {
  return {detail::with_mark(first), detail::with_mark(second)};
}
template <class T>
WM_DEVICE T value_of(u64 marked) {
  static_assert(one_of<T, f32, i32>, "a marked value is f32 or i32");
  if constexpr (same<T, f32>)
    return __uint_as_float(u32(marked));
  else
    return T(u32(marked));
}

// st.relaxed.gpu.global.v2.b64 and ld.relaxed.gpu.global.v2.b64: each word on its own is written and seen whole.
WM_DEVICE void store(Two* place, Two words) {
  asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" ::"l"(global_address(place)), "l"(words.first),
               "l"(words.second)
               : "memory");
}
WM_DEVICE Two load(const Two* place) {
  Two words;
  asm volatile("ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(words.first), "=l"(words.second)
               : "l"(global_address(place))
               : "memory");
  return words;
}

}  // namespace wm::marked
