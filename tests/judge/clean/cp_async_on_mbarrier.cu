// Each thread's cp.async arrives on an mbarrier when it is done.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[128];
  __shared__ u64 full;
  prepare(full, 128);
  cp_async::copy<4>(&tile[threadIdx.x], x + threadIdx.x);
  cp_async::mbarrier_arrive_no_increment(&full);
  mbarrier::wait_parity(&full, 0);
  y[127 - threadIdx.x] = tile[127 - threadIdx.x];
}
