// The last release of a stage goes to a barrier in a block that may be gone.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[64];
  __shared__ u64 full, empty;
  if (threadIdx.x == 0) {
    mbarrier::init(&full, 1);
    mbarrier::init(&empty, 2);
    fence::mbarrier_init();
  }
  cluster::sync();
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    if (cluster::rank() == 0) bulk::load_multicast(tile, x, sizeof tile, &full, 0b11);
  }
  mbarrier::wait_parity(&full, 0);
  y[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) mbarrier::arrive_remote(cluster::map(SharedAddress(&empty), 0));  // expect: first
#ifdef REPAIRED
  cluster::sync();
#endif
}
