// Two groups are in flight; the wait leaves one pending, which is the one that is read.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[2][128];
  for (u32 i = 0; i < 2; ++i) {
    cp_async::copy<4>(&tile[i][threadIdx.x], x + 128 * i + threadIdx.x);  // expect: second
    cp_async::commit_group();
  }
#ifdef REPAIRED
  cp_async::wait_group<0>();
#else
  cp_async::wait_group<1>();
#endif
  for (u32 i = 0; i < 2; ++i) y[128 * i + threadIdx.x] = tile[i][threadIdx.x];  // expect: first
  cp_async::wait_group<0>();
}
