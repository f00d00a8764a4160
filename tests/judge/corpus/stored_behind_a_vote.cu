// One lane stores what all have written, after a vote and its own fence: the vote orders nothing of what others wrote.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[32];
  const u32 lane = threadIdx.x;
  const u32 value = x[lane];
  tile[lane] = value;  // expect: second
  const u32 small = __ballot_sync(~0u, value < 100);
#ifdef REPAIRED
  __syncwarp();
#endif
  if (lane == 0 && small != 0) {
    fence::proxy_async_shared();
    bulk::store(y, tile, sizeof tile);  // expect: first
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
