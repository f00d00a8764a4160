// wgmma (sm_90a): a warpgroup's asynchronous matrix product D = A B + D; A in shared memory or registers, B in shared
// memory, D in registers.
//
// All four warps of a warpgroup (the first one's number divisible by four), converged. M is 64, K is 32 bytes, N
// follows from the accumulator's size: f32 and i32 accumulators hold N/2 values a thread, f16 ones (u32 pairs) N/4.
//
//   #include "warpmill/ptx/wgmma_bf16.cuh"                     the products of one pair of element types
//   wgmma::fence();                                            registers and shared memory are ready
//   for (...) wgmma::multiply<bf16>(sum, a, b, accumulate);    reads shared memory through the asynchronous proxy
//   wgmma::commit();
//   wgmma::wait<0>(sum);                                       only now may `sum` be touched and the tiles be reused
//
// Lane l of warp w holds in D, for each run of 8 columns: rows 16w + l/4 and that + 8, columns 2(l%4) and the next.
#pragma once

#include "warpmill/types.cuh"

namespace wm::wgmma {

// wgmma.fence.sync.aligned: before the first multiply, and whenever ordinary code has written A or D registers since
// the last one. It orders registers; tiles written by ordinary stores need fence::proxy_async_shared as well.
WM_DEVICE void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// wgmma.commit_group.sync.aligned: the multiplies since the last commit become a group.
WM_DEVICE void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// No instruction: keeps the compiler from moving uses of these registers across this point.
template <int count>
WM_DEVICE void pin(f32 (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}
template <int count>
WM_DEVICE void pin(u32 (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(registers[i])::"memory");
}
template <int count>
WM_DEVICE void pin(i32 (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(registers[i])::"memory");
}

// wgmma.wait_group.sync.aligned: at most `pending` of the latest groups are unfinished. Finished ones have written
// their registers and read their tiles, as far as this warp is concerned.
template <int pending>
WM_DEVICE void wait() {
  static_assert(pending >= 0 && pending <= 7, "wgmma.wait_group waits for all but 0 to 7 groups");
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
template <int pending, class T, int count>
WM_DEVICE void wait(T (&accumulator)[count]) {
  wait<pending>();
  pin(accumulator);
}

// The shared-memory layouts wgmma reads, by the width of the swizzle's pattern; the same words as a tensor map's.
enum class Swizzle : u32 { none = 0, bytes128 = 1, bytes64 = 2, bytes32 = 3 };

// A matrix in shared memory. Its unit is a core matrix: 8 rows of 16 bytes; a swizzled layout groups 2, 4 or 8 of them
// side by side. The base of a swizzled tile is a multiple of 256, 512 or 1024 bytes.
struct Descriptor {
  u32 low, high;  // the address and the leading bytes; the stride and the swizzle
  // The same matrix `bytes` further on: a K step inside the swizzle's width, or another tile.
  WM_DEVICE Descriptor operator+(u32 bytes) const { return {low + (bytes >> 4), high}; }
  WM_DEVICE u64 bits() const { return u64(high) << 32 | low; }
};

// `leading_bytes` and `stride_bytes` are multiples of 16. K-major: stride is from 8 rows to the next 8; leading is from
// one core matrix to the next along K without swizzle, and unused with it. MN-major (16-bit elements only): stride is
// from 8 rows of K to the next 8 and leading from one swizzle's width of M or N to the next; without swizzle, stride is
// along M or N and leading along K. docs/instructions.md has the pictures.
WM_DEVICE Descriptor descriptor(SharedAddress tile, u32 leading_bytes, u32 stride_bytes, Swizzle swizzle) {
  const auto field = [](u32 bytes) { return (bytes & 0x3ffffu) >> 4; };
  return {field(tile.value) | field(leading_bytes) << 16, field(stride_bytes) | u32(swizzle) << 30};
}

using wm::Major;

// What is part of the instruction: which way the tiles lie, A and B negated, integer sums that saturate.
struct Options {
  Major a_major = Major::k;
  Major b_major = Major::k;
  int scale_a = 1;
  int scale_b = 1;
  bool saturate = false;
};

// The instructions themselves: wgmma_<type>.cuh has those of each pair of element types.
template <class A, class B>
struct Instructions {
  static_assert(never<A>, "include warpmill/ptx/wgmma_<A>.cuh, or wgmma_<A>_<B>.cuh, for these element types of wgmma");
};

namespace detail {

template <class T>
inline constexpr bool is_integer = one_of<T, i8, u8>;

template <class A, class B, Options options>
__device__ constexpr bool check_options() {
  static_assert(options.scale_a * options.scale_a == 1 && options.scale_b * options.scale_b == 1,
                "wgmma: scale_a and scale_b are 1 or -1");
  static_assert(!is_integer<A> || (options.scale_a == 1 && options.scale_b == 1), "wgmma: integers cannot be negated");
  static_assert(one_of<A, bf16, f16> || (options.a_major == Major::k && options.b_major == Major::k),
                "wgmma: only bf16 and f16 tiles may be MN-major; others are K-major");
  static_assert(is_integer<A> || !options.saturate, "wgmma: only integer sums saturate");
  return true;
}

template <class A, class D, int count>
__device__ constexpr bool check_accumulator() {
  constexpr int n = count * (same<D, u32> ? 4 : 2);
  static_assert(is_integer<A> ? same<D, i32> : same<D, f32> || (one_of<A, f16, e4m3, e5m2> && same<D, u32>),
                "wgmma: integers accumulate in i32, floats in f32; f16, e4m3 and e5m2 also in f16 (u32 pairs)");
  static_assert(n % 8 == 0 && n >= 8 && n <= 256,
                "wgmma: the accumulator's size must make N a multiple of 8, 8 to 256");
  static_assert(!is_integer<A> || n <= 32 || n % 16 == 0,
                "wgmma: with 8-bit integers N is 8, 16, 24, 32 or a multiple of 16");
  return true;
}

}  // namespace detail

// wgmma.mma_async.sync.aligned.m64nNk*, A in shared memory. Without `accumulate` D's old value is ignored.
template <class A, class B = A, Options options = Options{}, class D, int count>
WM_DEVICE void multiply(D (&d)[count], Descriptor a, Descriptor b, bool accumulate) {
  if constexpr (detail::check_options<A, B, options>() && detail::check_accumulator<A, D, count>())
    Instructions<A, B>::template shared<options>(d, a, b, accumulate);
}

// The same with A in registers: the fragments mma::m16n8k* takes, one 16-row slab a warp. A is K-major; its registers
// may be written again only after a wait.
template <class A, class B = A, Options options = Options{}, class D, int count>
WM_DEVICE void multiply(D (&d)[count], const u32 (&a)[4], Descriptor b, bool accumulate) {
  static_assert(options.a_major == Major::k, "wgmma: A in registers has no other major-ness than K");
  if constexpr (detail::check_options<A, B, options>() && detail::check_accumulator<A, D, count>())
    Instructions<A, B>::template registers<options>(d, a, b, accumulate);
}

}  // namespace wm::wgmma
