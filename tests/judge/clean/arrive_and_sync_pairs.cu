// Two named barriers hand a tile back and forth: the writer syncs on "empty" and arrives on "full", the reader the
// reverse.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[32];
  enum : u32 { full = 1, empty = 2 };
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (u32 step = 0; step < 8; ++step) {
      barrier::sync(empty, 64);
      tile[lane] = x[step * 32 + lane];
      barrier::arrive(full, 64);
    }
  } else {
    barrier::arrive(empty, 64);
    for (u32 step = 0; step < 8; ++step) {
      barrier::sync(full, 64);
      y[step * 32 + 31 - lane] = tile[31 - lane];
      if (step < 7) barrier::arrive(empty, 64);
    }
  }
}
