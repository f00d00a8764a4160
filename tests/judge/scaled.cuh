// The smallest product with scales: 128x32 times 32x16 of e4m3, all ones, and scales of one (2^0 is 127).
#pragma once

#include "tensor.cuh"

struct alignas(128) ScaledOperands {
  u8 a[128 * 32];
  u8 b[16 * 32];
  u8 a_scales[tcgen05::scale_bytes], b_scales[tcgen05::scale_bytes];
};

inline constexpr u32 scaled_product = tcgen05::ScaledProduct{.m = 128, .n = 16}.bits();
inline constexpr u32 scale_columns = 16;  // behind D: four of A's scales, four of B's

WM_DEVICE void fill(ScaledOperands& tile, const u8* ones, const u8* scales) {
  u8* bytes = tile.a;
  for (u32 i = threadIdx.x; i < sizeof tile.a + sizeof tile.b; i += 128) bytes[i] = ones[i];
  for (u32 i = threadIdx.x; i < 2 * tcgen05::scale_bytes; i += 128) tile.a_scales[i] = scales[i];
  fence::proxy_async_shared();
}

// Operands are in shared memory, `done` is ready for one arrival, columns are allocated.
WM_DEVICE TensorAddress begin_scaled(ScaledOperands& tile, const u8* ones, const u8* scales, TensorAddress& place,
                                     u64& done) {
  fill(tile, ones, scales);
  if (first_warp()) tcgen05::allocate<1>(&place, columns);
  prepare(done, 1);
  tcgen05::fence_after_thread_sync();
  return place;
}

// One thread: 512 bytes of scales to four columns.
WM_DEVICE void copy_scales(TensorAddress to, const u8* from) {
  tcgen05::copy<1, tcgen05::Copied::rows32_bytes16_everywhere>(to,
                                                               tcgen05::scale_layout().at(SharedAddress(from).value));
}

// One thread: d = a b, and word of it.
WM_DEVICE void multiply_scaled(TensorAddress d, const ScaledOperands& tile, TensorAddress scales, u64& done) {
  tcgen05::multiply_block_scaled<1, tcgen05::ScaledKind::mxf8f6f4>(d, descriptor(tile.a), descriptor(tile.b),
                                                                   scaled_product, scales, scales + 4, false);
  tcgen05::commit<1>(SharedAddress(&done));
}
