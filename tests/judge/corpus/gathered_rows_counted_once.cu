// Four rows come at once, and the barrier is told of the bytes of one.
#include "../byte_matrix.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap x, u32* y) {
  __shared__ alignas(128) u32 tile[4][32];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
#ifdef REPAIRED
    mbarrier::arrive_expect_tx(&full, sizeof tile);
#else
    mbarrier::arrive_expect_tx(&full, sizeof tile[0]);  // expect: first
#endif
    gather_rows(tile, x, {3, 1, 3, 2}, &full);  // expect: second
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = tile[threadIdx.x / 32][threadIdx.x % 32];
}
