// The smallest product in tensor memory: 128x16 times 16x16 of bf16, operands in core matrices without swizzle; and
// what surrounds it in a block of four warps.
#pragma once

#include "common.cuh"
#include "warpmill/ptx/tcgen05.cuh"
#include "warpmill/ptx/tcgen05_access.cuh"

struct alignas(128) Operands {
  bf16 a[128 * 16];
  bf16 b[16 * 16];
};

inline constexpr u32 columns = 32;                                                  // allocated; a product has 16
inline constexpr u32 product = 1u << 4 | 1u << 7 | 1u << 10 | 2u << 17 | 8u << 24;  // f32, bf16, bf16, N 16, M 128

WM_DEVICE u64 descriptor(const void* matrix) {
  return tcgen05::OperandLayout{128, 256, tcgen05::Swizzle::none}.at(SharedAddress(matrix).value);
}

WM_DEVICE bool first_warp() { return threadIdx.x < 32; }

WM_DEVICE void fill(Operands& tile, const u32* ones) {
  u32* words = reinterpret_cast<u32*>(&tile);
  for (u32 i = threadIdx.x; i < sizeof tile / 4; i += 128) words[i] = ones[i];
  fence::proxy_async_shared();
}

// Columns are allocated, `done` is ready for one arrival.
WM_DEVICE TensorAddress allocate(TensorAddress& place, u64& done) {
  if (first_warp()) tcgen05::allocate<1>(&place, columns);
  prepare(done, 1);
  tcgen05::fence_after_thread_sync();
  return place;
}

// The same, and operands are there.
WM_DEVICE TensorAddress begin(Operands& tile, const u32* ones, TensorAddress& place, u64& done) {
  fill(tile, ones);
  return allocate(place, done);
}

// One thread: d (+)= a b, and word of it.
WM_DEVICE void multiply(TensorAddress d, const Operands& tile, u64& done, bool accumulate = false) {
  tcgen05::multiply<1, tcgen05::Kind::f16>(d, descriptor(tile.a), descriptor(tile.b), product, accumulate);
  tcgen05::commit<1>(SharedAddress(&done));
}

WM_DEVICE void wait(u64& done, u32 parity = 0) {
  mbarrier::wait_parity(&done, parity);
  tcgen05::fence_after_thread_sync();
}

// Uses the registers of a load at once, which needs no wait.
WM_DEVICE void write(f32* y, TensorAddress d) {
  u32 values[16];
  tcgen05::load<tcgen05::Shape::lanes32>(values, d);
  for (u32 i = 0; i < 16; ++i) y[16 * threadIdx.x + i] = __uint_as_float(values[i]);
}

WM_DEVICE void give_back(TensorAddress place) {
  tcgen05::wait_load();
  tcgen05::fence_before_thread_sync();
  __syncthreads();
  if (first_warp()) tcgen05::free<1>(place, columns);
}
