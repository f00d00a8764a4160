// The smallest product: 64x16 times 16x8 of bf16, both operands in shared memory in core matrices without swizzle.
#pragma once

#include "common.cuh"
#include "warpmill/ptx/wgmma.cuh"
#include "warpmill/ptx/wgmma_bf16.cuh"

struct alignas(128) Operands {
  bf16 a[64 * 16];
  bf16 b[8 * 16];
};

WM_DEVICE wgmma::Descriptor descriptor(const void* matrix) {
  return wgmma::descriptor(matrix, 128, 256, wgmma::Swizzle::none);
}

// sum += a b, committed and not waited for.
WM_DEVICE void multiply(f32 (&sum)[4], const Operands& tile) {
  wgmma::fence();
  wgmma::multiply<bf16>(sum, descriptor(tile.a), descriptor(tile.b), true);
  wgmma::commit();
}

WM_DEVICE void write(f32* y, const f32 (&sum)[4]) {
  for (u32 i = 0; i < 4; ++i) y[128 * i + threadIdx.x] = sum[i];
}
