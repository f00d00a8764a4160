// A ring of three stages of which two are filled, and loads that the compiler keeps.
#pragma once

namespace read_ahead {

constexpr u32 steps = 2;

__device__ void fill(u32 (*ring)[32], const u32* x) {
  for (u32 step = 0; step < steps; ++step) ring[step][threadIdx.x] = x[step * 32 + threadIdx.x];
  __syncwarp();
}

__device__ u32 load(const u32* at) {
  u32 value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(static_cast<u32>(__cvta_generic_to_shared(at))));
  return value;
}

}  // namespace read_ahead
