// mma.sync with block scales (sm_120a): a warp's product D = (A times its scales) (B times its scales) + C on fragments
// in registers, as in mma.cuh: 32 bytes of k, that is 32 elements of 8 bits, or 64 of 4 bits, eight to a word.
//
// Of the scales each word has those of one row of A or of one column of B, a byte for each group along k. Lane l, with
// group g = l / 4 and place t = l % 4, gives row g + 8 (t % 2) of A where t < 2, and column g of B where t is 0; the
// other lanes' words are ignored. `byte` is the first that this product takes.
#pragma once

#include "warpmill/types.cuh"

namespace wm::mma {

#define WM_SCALED(text)                                                                                             \
  asm volatile("mma.sync.aligned." text                                                                             \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {%12, 0}, {%11}, {%12, 0};" \
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                         \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales), "r"(b_scales),    \
                 "n"(byte))

// mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32: e4m3 and e5m2, one scale (ue8m0).
template <class A, class B, int byte>
WM_DEVICE void m16n8k32_scaled(f32 (&sums)[4], const u32 (&a)[4], const u32 (&b)[2], u32 a_scales, u32 b_scales) {
  static_assert(one_of<A, e4m3, e5m2> && one_of<B, e4m3, e5m2>, "scaled elements of 8 bits are e4m3 and e5m2");
  static_assert(byte >= 0 && byte < 4, "a word has four scales");
#define WM_TYPES(types) "kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32." types ".f32.ue8m0"
  if constexpr (same<A, e4m3> && same<B, e4m3>) WM_SCALED(WM_TYPES("e4m3.e4m3"));
  if constexpr (same<A, e4m3> && same<B, e5m2>) WM_SCALED(WM_TYPES("e4m3.e5m2"));
  if constexpr (same<A, e5m2> && same<B, e4m3>) WM_SCALED(WM_TYPES("e5m2.e4m3"));
  if constexpr (same<A, e5m2> && same<B, e5m2>) WM_SCALED(WM_TYPES("e5m2.e5m2"));
#undef WM_TYPES
}

// mma.sync.aligned.kind::mxf4.block_scale.scale_vec::2X.m16n8k64: e2m1, two scales (ue8m0).
template <int byte>
WM_DEVICE void m16n8k64_mxf4(f32 (&sums)[4], const u32 (&a)[4], const u32 (&b)[2], u32 a_scales, u32 b_scales) {
  static_assert(byte == 0 || byte == 2, "a word has twice two scales");
  WM_SCALED("kind::mxf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0");
}

// mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64: e2m1, four scales (ue4m3).
WM_DEVICE void m16n8k64_nvf4(f32 (&sums)[4], const u32 (&a)[4], const u32 (&b)[2], u32 a_scales, u32 b_scales) {
  constexpr int byte = 0;
  WM_SCALED("kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3");
}
#undef WM_SCALED

}  // namespace wm::mma
