// A tensor map is copied to shared memory and used from there.
#include "../common.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap map, u32* y) {
  __shared__ alignas(128) u32 tile[128];
  __shared__ TensorMap copied;
  __shared__ u64 full;
  if (threadIdx.x == 0) copied = map;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
#ifdef REPAIRED
    tma::load(tile, map, {0, 0}, &full);
#else
    tma::load(tile, copied, {0, 0}, &full);  // expect: first
#endif
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = tile[threadIdx.x];
}
