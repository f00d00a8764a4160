// Instructions on elements of 8 bits and fewer that the instruction layer has no names for, and the smallest product
// whose factor A is expanded into tensor memory: 128x32 of e2m1 times 32x16 of e4m3.
#pragma once

#include "tensor.cuh"

struct alignas(128) NarrowOperands {
  u8 a[128 * 32];  // sixteen elements in each 16 bytes, and a gap behind them
  u8 b[16 * 32];
};

inline constexpr u32 factor_columns = 16;                                       // behind D: eight
inline constexpr u32 narrow_product = 1u << 4 | 5u << 7 | 2u << 17 | 8u << 24;  // f32, e2m1, e4m3, N 16, M 128

WM_DEVICE TensorAddress begin_narrow(NarrowOperands& tile, const u8* ones_a, const u8* ones_b, TensorAddress& place,
                                     u64& done) {
  for (u32 i = threadIdx.x; i < sizeof tile.a; i += 128) tile.a[i] = ones_a[i];
  for (u32 i = threadIdx.x; i < sizeof tile.b; i += 128) tile.b[i] = ones_b[i];
  fence::proxy_async_shared();
  if (first_warp()) tcgen05::allocate<1>(&place, columns);
  prepare(done, 1);
  tcgen05::fence_after_thread_sync();
  return place;
}

// One thread: A into eight columns, a byte for each element.
WM_DEVICE void expand(TensorAddress to, const u8* from) {
  asm volatile("tcgen05.cp.cta_group::1.128x256b.b8x16.b4x16_p64 [%0], %1;" ::"r"(to.value), "l"(descriptor(from))
               : "memory");
}

// One thread: d = a b, and word of it.
WM_DEVICE void multiply_narrow(TensorAddress d, TensorAddress a, const NarrowOperands& tile, u64& done) {
  tcgen05::multiply<1, tcgen05::Kind::f8f6f4>(d, a, descriptor(tile.b), narrow_product, false);
  tcgen05::commit<1>(SharedAddress(&done));
}
