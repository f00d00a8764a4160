// Each block multicasts half a tile to both; each barrier gets both halves but expects its own block's.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    mbarrier::init(&full, 1);
    fence::mbarrier_init();
  }
  cluster::sync();
  const u32 half = cluster::rank() * 64;
  if (threadIdx.x == 0) {
#ifdef REPAIRED
    mbarrier::arrive_expect_tx(&full, sizeof tile);
#else
    mbarrier::arrive_expect_tx(&full, sizeof tile / 2);  // expect: first
#endif
    bulk::load_multicast(tile + half, x + half, sizeof tile / 2, &full, 0b11);  // expect: second
  }
  mbarrier::wait_parity(&full, 0);
  y[blockIdx.x * 128 + threadIdx.x] = tile[threadIdx.x];
  cluster::sync();
}
