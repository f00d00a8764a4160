// The consumer's first wait asks for parity 1, which a fresh barrier grants at once.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[128];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(tile, x, sizeof tile, &full);  // expect: second
  }
#ifdef REPAIRED
  mbarrier::wait_parity(&full, 0);
#else
  mbarrier::wait_parity(&full, 1);
#endif
  y[threadIdx.x] = tile[threadIdx.x];  // expect: first
  __syncthreads();
  if (threadIdx.x == 0) mbarrier::wait_parity(&full, 0);
}
