// cp.async committed, and read without its wait.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[512];
  cp_async::copy<16>(tile + 4 * threadIdx.x, x + 4 * threadIdx.x);  // expect: second
  cp_async::commit_group();
#ifdef REPAIRED
  cp_async::wait_group<0>();
#endif
  for (u32 i = 4 * threadIdx.x; i < 4 * threadIdx.x + 4; ++i) y[i] = tile[i];  // expect: first
  cp_async::wait_group<0>();
}
