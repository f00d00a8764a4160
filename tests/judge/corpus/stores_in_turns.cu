// Each round another lane stores the tile as it is by then, and has waited for its own copy only: nothing orders them.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[32];
  const u32 lane = threadIdx.x;
#pragma unroll 1
  for (u32 round = 0; round < 4; ++round) {
    tile[lane] = x[lane] + round;
    fence::proxy_async_shared();
    __syncwarp();
    if (lane == round) {
      bulk::store(y, tile, sizeof tile);  // expect: first
      bulk::commit_group();
#ifdef REPAIRED
      bulk::wait_group<0>();
#else
      bulk::wait_group_read<0>();
#endif
    }
    __syncwarp();
  }
  bulk::wait_group<0>();
}
