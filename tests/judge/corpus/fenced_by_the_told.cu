// One lane waits for a tile, and another that a shuffle told of it fences and stores that.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[32];
  __shared__ u64 full;
  prepare(full, 32);
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    tile[lane] = x[lane];  // expect: second
    mbarrier::arrive(&full);
  } else {
    u32 token = 0;
    if (lane == 0) {
      mbarrier::wait_parity(&full, 0);
      token = 1;
    }
    token = __shfl_sync(~0u, token, 0);
#ifdef REPAIRED
    __syncwarp();
#endif
    if (lane == 1 && token == 1) {
      fence::proxy_async_shared();
      bulk::store(y, tile, sizeof tile);  // expect: first
      bulk::commit_group();
      bulk::wait_group<0>();
    }
  }
}
