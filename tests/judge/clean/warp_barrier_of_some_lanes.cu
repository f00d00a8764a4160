// Lanes meet at bar.warp.sync while the others of its mask end, or meet each other by another mask in between.
#include "../common.cuh"

extern "C" __global__ void kernel(u32* y) {
  __shared__ u32 sums[32], halves[32];
  const u32 lane = threadIdx.x;
  halves[lane] = lane;
  for (u32 round = 0; round < 4; ++round) {  // some lanes wait while those of the other mask are complete
    if ((lane ^ 8 * (round & 1)) % 16 < 4) {
      __syncwarp(lane < 16 ? 0x0000ffff : 0xffff0000);
      sums[lane] = halves[lane ^ 5];
    } else {
      halves[lane] += 25;
      __syncwarp(lane < 16 ? 0x0000ffff : 0xffff0000);
      sums[lane] = halves[lane ^ 1];
    }
    __syncwarp();
  }
  if (lane < 2) {
    sums[lane] += sums[lane + 2];
    __syncwarp();  // of all 32, of which 30 end instead
  }
  if (lane == 0) y[0] = sums[0] + sums[1];
}
