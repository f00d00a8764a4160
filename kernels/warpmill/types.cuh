// The words device code is written in: integers by width, storage types of the small floats, addresses by window.
#pragma once

#include "warpmill/shared_types.h"

// What loads by the copy engine call this block's own shared memory. On sm_120 a copy to .shared::cluster costs a stack
// frame or a call, and elements of fewer than 8 bits have none.
#if __CUDA_ARCH__ == 1200
  #define WM_OWN_SHARED ".shared::cta"
#else
  #define WM_OWN_SHARED ".shared::cluster"
#endif

// Every wrapper is inlined: its operands are registers and immediates of the caller.
#define WM_DEVICE __device__ __forceinline__

namespace wm {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using f32 = float;
using f64 = double;

inline constexpr f32 infinity = __builtin_bit_cast(f32, 0x7f800000u);

// A float whose low 13 mantissa bits the tensor core ignores: f32 is rounded to it on the way.
struct tf32 {
  u32 bits;
};

template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T x, y;
};
template <class T>
struct alignas(4 * sizeof(T)) Quad {
  T x, y, z, w;
};

template <class A, class B>
inline constexpr bool same = false;
template <class A>
inline constexpr bool same<A, A> = true;
template <class T, class... Candidates>
inline constexpr bool one_of = (same<T, Candidates> || ...);
namespace detail {
template <bool condition, class A, class B>
struct Selected {
  using type = A;
};
template <class A, class B>
struct Selected<false, A, B> {
  using type = B;
};
}  // namespace detail
template <bool condition, class A, class B>
using Select = typename detail::Selected<condition, A, B>::type;
struct Nothing {};  // for a member that is not there
// A condition as an argument: for a function that is compiled once for each.
template <bool value_>
struct Fact {
  static constexpr bool value = value_;
};
using True = Fact<true>;
using False = Fact<false>;
template <class T>
inline constexpr bool never =
    false;  // false, but only once T is known: for a static_assert in a branch nobody may take

// Who takes part in an ordering.
enum class Scope { block, cluster, device, system };

// What a reducing store does with the value in memory and the new one. Increment wraps to 0 past the new value,
// decrement wraps to it below 0.
enum class Reduction { add, min, max, increment, decrement, bit_and, bit_or, bit_xor };

// Shared memory of this block. Made from a pointer, so that an address of any other memory takes a deliberate step.
struct SharedAddress {
  u32 value;
  WM_DEVICE SharedAddress(const void* pointer) : value(static_cast<u32>(__cvta_generic_to_shared(pointer))) {}
  WM_DEVICE explicit SharedAddress(u32 address) : value(address) {}
  WM_DEVICE SharedAddress operator+(u32 bytes) const { return SharedAddress(value + bytes); }
};

// Shared memory of any block of the cluster: from cluster::map, or this block's own.
struct ClusterAddress {
  u32 value;
  WM_DEVICE ClusterAddress(SharedAddress own) : value(own.value) {}
  WM_DEVICE explicit ClusterAddress(u32 address) : value(address) {}
  WM_DEVICE ClusterAddress operator+(u32 bytes) const { return ClusterAddress(value + bytes); }
};

WM_DEVICE u64 global_address(const void* pointer) { return __cvta_generic_to_global(pointer); }

}  // namespace wm
