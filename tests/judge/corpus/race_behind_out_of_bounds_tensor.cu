// Tensor copies through maps that are larger than their memory; that does not hide the race between them.
#include "../common.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap y,
                                  const __grid_constant__ TensorMap large_x,
                                  const __grid_constant__ TensorMap large_y) {
  __shared__ alignas(128) u32 tile[64], sums[64];
  __shared__ u64 full;
  prepare(full, 1);
#ifdef REPAIRED
  const bool large = false;
#else
  const bool large = true;
#endif
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    tma::load(tile, large ? large_x : x, {0, 0}, &full);
  }
  mbarrier::wait_parity(&full, 0);
  sums[threadIdx.x] = tile[threadIdx.x];  // expect: second
#ifdef REPAIRED
  __syncthreads();
#endif
  tile[threadIdx.x] = sums[63 - threadIdx.x] + 2 * threadIdx.x - 63;  // expect: first
  fence::proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    tma::store(large ? large_y : y, {0, 0}, tile);
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
