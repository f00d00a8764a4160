// Lane 0 waits for the copy; the other lanes read without having waited, or met lane 0.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[32];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(tile, x, sizeof tile, &full);  // expect: second
    mbarrier::wait_parity(&full, 0);
  }
#ifdef REPAIRED
  __syncwarp();
#endif
  y[threadIdx.x] = tile[threadIdx.x];  // expect: first
}
