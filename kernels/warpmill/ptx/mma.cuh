// mma.sync (sm_80): a warp's matrix product D = A B + C on fragments in registers; A by rows, B by columns.
//
// The whole warp, converged; nothing asynchronous, no memory touched. The template arguments name the elements of A and
// B; the arrays' types say the accumulator: f32, i32, f64, or u32 for pairs of f16. D may be C. 16-bit elements come
// two in a word, 8-bit elements four, the first in the low bits.
//
//   mma::m16n8k16<bf16>(sum, a, b, sum);
//
// Lane l, with group g = l / 4 and place t = l % 4, holds for words of e elements (f64 and tf32: e = 1):
//   A: row g, or g + 8 in every second word; columns t*e.. of each run of 4e columns   (m8: only row g)
//   B: column g; rows t*e.. of each run of 4e rows
//   C, D: rows g and g + 8, columns 2t and 2t + 1
#pragma once

#include "warpmill/types.cuh"

namespace wm::mma {

// What an integer sum does past 32 bits.
enum class Overflow { wrap, saturate };

// One statement for each number of operands; `text` is shape and types, d_ and a_ are constraint letters.
#define WM_MMA_4_4_2(text, d_, a_)                                                                             \
  asm volatile("mma.sync.aligned." text " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" \
               : "=" d_(d[0]), "=" d_(d[1]), "=" d_(d[2]), "=" d_(d[3])                                        \
               : a_(a[0]), a_(a[1]), a_(a[2]), a_(a[3]), a_(b[0]), a_(b[1]), d_(c[0]), d_(c[1]), d_(c[2]), d_(c[3]))
#define WM_MMA_4_2_1(text, d_, a_)                                                              \
  asm volatile("mma.sync.aligned." text " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};" \
               : "=" d_(d[0]), "=" d_(d[1]), "=" d_(d[2]), "=" d_(d[3])                         \
               : a_(a[0]), a_(a[1]), a_(b[0]), d_(c[0]), d_(c[1]), d_(c[2]), d_(c[3]))
#define WM_MMA_2_4_2(text, d_, a_)                                                         \
  asm volatile("mma.sync.aligned." text " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};" \
               : "=" d_(d[0]), "=" d_(d[1])                                                \
               : a_(a[0]), a_(a[1]), a_(a[2]), a_(a[3]), a_(b[0]), a_(b[1]), d_(c[0]), d_(c[1]))
#define WM_MMA_2_2_1(text, d_, a_)                                             \
  asm volatile("mma.sync.aligned." text " {%0, %1}, {%2, %3}, {%4}, {%5, %6};" \
               : "=" d_(d[0]), "=" d_(d[1])                                    \
               : a_(a[0]), a_(a[1]), a_(b[0]), d_(c[0]), d_(c[1]))
#define WM_MMA_2_1_1(text, d_, a_)                                         \
  asm volatile("mma.sync.aligned." text " {%0, %1}, {%2}, {%3}, {%4, %5};" \
               : "=" d_(d[0]), "=" d_(d[1])                                \
               : a_(a[0]), a_(b[0]), d_(c[0]), d_(c[1]))

// Every pair of 8-bit integers, wrapping or saturating.
#define WM_MMA_INTEGERS(statement, shape)                                                                      \
  static_assert(one_of<A, i8, u8> && one_of<B, i8, u8>, "mma with i32 accumulators takes i8 and u8 elements"); \
  constexpr bool wrap = overflow == Overflow::wrap;                                                            \
  if constexpr (same<A, i8> && same<B, i8> && wrap) statement(shape ".s32.s8.s8.s32", "r", "r");               \
  if constexpr (same<A, i8> && same<B, u8> && wrap) statement(shape ".s32.s8.u8.s32", "r", "r");               \
  if constexpr (same<A, u8> && same<B, i8> && wrap) statement(shape ".s32.u8.s8.s32", "r", "r");               \
  if constexpr (same<A, u8> && same<B, u8> && wrap) statement(shape ".s32.u8.u8.s32", "r", "r");               \
  if constexpr (same<A, i8> && same<B, i8> && !wrap) statement(shape ".satfinite.s32.s8.s8.s32", "r", "r");    \
  if constexpr (same<A, i8> && same<B, u8> && !wrap) statement(shape ".satfinite.s32.s8.u8.s32", "r", "r");    \
  if constexpr (same<A, u8> && same<B, i8> && !wrap) statement(shape ".satfinite.s32.u8.s8.s32", "r", "r");    \
  if constexpr (same<A, u8> && same<B, u8> && !wrap) statement(shape ".satfinite.s32.u8.u8.s32", "r", "r")

// Every pair of 8-bit floats.
#define WM_MMA_FP8(statement, shape, sum, d_)                                                        \
  if constexpr (same<A, e4m3> && same<B, e4m3>) statement(shape "." sum ".e4m3.e4m3." sum, d_, "r"); \
  if constexpr (same<A, e4m3> && same<B, e5m2>) statement(shape "." sum ".e4m3.e5m2." sum, d_, "r"); \
  if constexpr (same<A, e5m2> && same<B, e4m3>) statement(shape "." sum ".e5m2.e4m3." sum, d_, "r"); \
  if constexpr (same<A, e5m2> && same<B, e5m2>) statement(shape "." sum ".e5m2.e5m2." sum, d_, "r")

// mma.sync.aligned.m8n8k16: i8, u8.
template <class A, class B = A, Overflow overflow = Overflow::wrap>
WM_DEVICE void m8n8k16(i32 (&d)[2], const u32 (&a)[1], const u32 (&b)[1], const i32 (&c)[2]) {
  WM_MMA_INTEGERS(WM_MMA_2_1_1, "m8n8k16.row.col");
}

// mma.sync.aligned.m16n8k4: tf32.
template <class A>
WM_DEVICE void m16n8k4(f32 (&d)[4], const u32 (&a)[2], const u32 (&b)[1], const f32 (&c)[4]) {
  static_assert(same<A, tf32>, "mma m16n8k4 takes tf32 elements, or f64");
  WM_MMA_4_2_1("m16n8k4.row.col.f32.tf32.tf32.f32", "f", "r");
}

// mma.sync.aligned.m16n8k8: f16, bf16.
template <class A>
WM_DEVICE void m16n8k8(f32 (&d)[4], const u32 (&a)[2], const u32 (&b)[1], const f32 (&c)[4]) {
  static_assert(one_of<A, f16, bf16>, "mma m16n8k8 with two words of A takes f16 and bf16 elements");
  if constexpr (same<A, f16>) WM_MMA_4_2_1("m16n8k8.row.col.f32.f16.f16.f32", "f", "r");
  if constexpr (same<A, bf16>) WM_MMA_4_2_1("m16n8k8.row.col.f32.bf16.bf16.f32", "f", "r");
}
template <class A>
WM_DEVICE void m16n8k8(u32 (&d)[2], const u32 (&a)[2], const u32 (&b)[1], const u32 (&c)[2]) {
  static_assert(same<A, f16>, "mma m16n8k8 with f16 accumulators takes f16 elements");
  WM_MMA_2_2_1("m16n8k8.row.col.f16.f16.f16.f16", "r", "r");
}

// mma.sync.aligned.m16n8k8: tf32.
template <class A>
WM_DEVICE void m16n8k8(f32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2], const f32 (&c)[4]) {
  static_assert(same<A, tf32>, "mma m16n8k8 with four words of A takes tf32 elements");
  WM_MMA_4_4_2("m16n8k8.row.col.f32.tf32.tf32.f32", "f", "r");
}

// mma.sync.aligned.m16n8k16: f16, bf16.
template <class A>
WM_DEVICE void m16n8k16(f32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2], const f32 (&c)[4]) {
  static_assert(one_of<A, f16, bf16>, "mma m16n8k16 with four words of A takes f16 and bf16 elements");
  if constexpr (same<A, f16>) WM_MMA_4_4_2("m16n8k16.row.col.f32.f16.f16.f32", "f", "r");
  if constexpr (same<A, bf16>) WM_MMA_4_4_2("m16n8k16.row.col.f32.bf16.bf16.f32", "f", "r");
}
template <class A>
WM_DEVICE void m16n8k16(u32 (&d)[2], const u32 (&a)[4], const u32 (&b)[2], const u32 (&c)[2]) {
  static_assert(same<A, f16>, "mma m16n8k16 with f16 accumulators and four words of A takes f16 elements");
  WM_MMA_2_4_2("m16n8k16.row.col.f16.f16.f16.f16", "r", "r");
}

// mma.sync.aligned.m16n8k16: e4m3, e5m2 (sm_89).
template <class A, class B = A>
WM_DEVICE void m16n8k16(f32 (&d)[4], const u32 (&a)[2], const u32 (&b)[1], const f32 (&c)[4]) {
  static_assert(one_of<A, e4m3, e5m2> && one_of<B, e4m3, e5m2>,
                "mma m16n8k16 with two words of A and f32 accumulators takes e4m3 and e5m2 elements");
  WM_MMA_FP8(WM_MMA_4_2_1, "m16n8k16.row.col", "f32", "f");
}
template <class A, class B = A>
WM_DEVICE void m16n8k16(u32 (&d)[2], const u32 (&a)[2], const u32 (&b)[1], const u32 (&c)[2]) {
  static_assert(one_of<A, e4m3, e5m2> && one_of<B, e4m3, e5m2>,
                "mma m16n8k16 with two words of A and f16 accumulators takes e4m3 and e5m2 elements");
  WM_MMA_FP8(WM_MMA_2_2_1, "m16n8k16.row.col", "f16", "r");
}

// mma.sync.aligned.m16n8k16: i8, u8.
template <class A, class B = A, Overflow overflow = Overflow::wrap>
WM_DEVICE void m16n8k16(i32 (&d)[4], const u32 (&a)[2], const u32 (&b)[1], const i32 (&c)[4]) {
  WM_MMA_INTEGERS(WM_MMA_4_2_1, "m16n8k16.row.col");
}

// mma.sync.aligned.m16n8k32: e4m3, e5m2 (sm_89).
template <class A, class B = A>
WM_DEVICE void m16n8k32(f32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2], const f32 (&c)[4]) {
  static_assert(one_of<A, e4m3, e5m2> && one_of<B, e4m3, e5m2>,
                "mma m16n8k32 with f32 accumulators takes e4m3 and e5m2 elements");
  WM_MMA_FP8(WM_MMA_4_4_2, "m16n8k32.row.col", "f32", "f");
}
template <class A, class B = A>
WM_DEVICE void m16n8k32(u32 (&d)[2], const u32 (&a)[4], const u32 (&b)[2], const u32 (&c)[2]) {
  static_assert(one_of<A, e4m3, e5m2> && one_of<B, e4m3, e5m2>,
                "mma m16n8k32 with f16 accumulators takes e4m3 and e5m2 elements");
  WM_MMA_FP8(WM_MMA_2_4_2, "m16n8k32.row.col", "f16", "r");
}

// mma.sync.aligned.m16n8k32: i8, u8.
template <class A, class B = A, Overflow overflow = Overflow::wrap>
WM_DEVICE void m16n8k32(i32 (&d)[4], const u32 (&a)[4], const u32 (&b)[2], const i32 (&c)[4]) {
  WM_MMA_INTEGERS(WM_MMA_4_4_2, "m16n8k32.row.col");
}

// mma.sync.aligned.m8n8k4.f64, and from sm_90 m16n8k4, m16n8k8 and m16n8k16: the only products in double.
WM_DEVICE void m8n8k4(f64 (&d)[2], const f64 (&a)[1], const f64 (&b)[1], const f64 (&c)[2]) {
  WM_MMA_2_1_1("m8n8k4.row.col.f64.f64.f64.f64", "d", "d");
}
WM_DEVICE void m16n8k4(f64 (&d)[4], const f64 (&a)[2], const f64 (&b)[1], const f64 (&c)[4]) {
  WM_MMA_4_2_1("m16n8k4.row.col.f64.f64.f64.f64", "d", "d");
}
WM_DEVICE void m16n8k8(f64 (&d)[4], const f64 (&a)[4], const f64 (&b)[2], const f64 (&c)[4]) {
  WM_MMA_4_4_2("m16n8k8.row.col.f64.f64.f64.f64", "d", "d");
}
WM_DEVICE void m16n8k16(f64 (&d)[4], const f64 (&a)[8], const f64 (&b)[4], const f64 (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
      "{%12, %13, %14, %15}, {%16, %17, %18, %19};"
      : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
        "d"(b[2]), "d"(b[3]), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
}

#undef WM_MMA_FP8
#undef WM_MMA_INTEGERS
#undef WM_MMA_2_1_1
#undef WM_MMA_2_2_1
#undef WM_MMA_2_4_2
#undef WM_MMA_4_2_1
#undef WM_MMA_4_4_2

}  // namespace wm::mma
