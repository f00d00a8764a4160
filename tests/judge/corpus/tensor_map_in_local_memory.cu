// A tensor map passed by value: the kernel's own copy of it lies in local memory, where copies cannot read it.
#include "../common.cuh"

#ifdef REPAIRED
extern "C" __global__ void kernel(const __grid_constant__ TensorMap map, u32* y) {
#else
extern "C" __global__ void kernel(const TensorMap map, u32* y) {
#endif
  __shared__ alignas(128) u32 tile[128];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    tma::load(tile, map, {0, 0}, &full);  // expect: first
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = tile[threadIdx.x];
}
