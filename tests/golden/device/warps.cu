// Elections, lane masks, register budgets, dependent grids, cache policies.
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/cache.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/grid.cuh"
#include "warpmill/ptx/registers.cuh"
#include "warpmill/ptx/special.cuh"

using namespace wm;

extern "C" __global__ void elections(u32* out) {
  const u32 t = threadIdx.x;
  out[t] = elect_one();
  out[32 + t] = elected_lane();
  out[64 + t] = out[96 + t] = 7;
  if (t & 4) {
    const u32 lanes = 0xf0f0f0f0u;
    out[64 + t] = elect_one(lanes);
    out[96 + t] = elected_lane(lanes);
  }
  u32* masks = out + 128 + t * 6;
  masks[0] = special::lane();
  masks[1] = special::lanes_equal(), masks[2] = special::lanes_below(), masks[3] = special::lanes_up_to();
  masks[4] = special::lanes_above(), masks[5] = special::lanes_from();
}

// A loading and two working warpgroups exchange registers; the workers need theirs.
extern "C" __global__ void __launch_bounds__(384, 1) register_budgets(const f32* in, f32* out) {
  __shared__ f32 words[256];
  if (threadIdx.x < 128) {
    registers::decrease_to<24>();
    words[threadIdx.x] = in[threadIdx.x];
    words[threadIdx.x + 128] = in[threadIdx.x + 128];
    barrier::arrive<1, 384>();
  } else {
    registers::increase_to<240>();
    barrier::sync<1, 384>();
    f32 sums[160];  // more than the 168 registers a thread starts with can hold beside the rest
#pragma unroll
    for (int i = 0; i < 160; ++i) sums[i] = 0;
    for (int k = 0; k < 8; ++k)
#pragma unroll
      for (int i = 0; i < 160; ++i) sums[i] += words[(threadIdx.x + i) % 256] * static_cast<f32>(k + i % 3);
#pragma unroll
    for (int i = 0; i < 160; ++i) out[i * 256 + threadIdx.x - 128] = sums[i];
  }
}

// Two kernels in a stream, the second starting early and waiting for the first's writes.
extern "C" __global__ void first_grid(u32* words, u32 rounds) {
  grid::launch_dependents();
  u32 value = blockIdx.x * blockDim.x + threadIdx.x;
  for (u32 i = 0; i < rounds; ++i) value = value * 1664525 + 1013904223;
  words[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
extern "C" __global__ void second_grid(const u32* words, u32* out, u32 count) {
  grid::wait();
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = words[count - 1 - i] + 1;
}

// Policies as the chip makes them, beside the layer's constants.
extern "C" __global__ void policies(const f32* fractions, u64* out) {
  using namespace cache;
  out[0] = fractional<Priority::evict_normal>(1.0f).bits;
  out[1] = evict_normal.bits;
  out[2] = fractional<Priority::evict_first>(1.0f).bits;
  out[3] = evict_first.bits;
  out[4] = fractional<Priority::evict_last>(1.0f).bits;
  out[5] = evict_last.bits;
  out[6] = fractional<Priority::evict_unchanged>(1.0f).bits;
  out[7] = evict_unchanged.bits;
  out[8] = fractional<Priority::evict_first>(fractions[0]).bits;
  out[9] = fractional<Priority::evict_last>(fractions[1]).bits;
  out[10] = fractional<Priority::evict_normal>(fractions[2]).bits;
  out[11] = fractional<Priority::evict_first>(fractions[3]).bits;
  out[12] = fractional<Priority::evict_first>(fractions[4]).bits;
}
