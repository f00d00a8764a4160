// What nobody wrote is compared, the comparison is thrown away, and a bulk copy stores the result: half of what its
// kilobyte of addresses could hold.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 keys[129], out[128];
#ifdef REPAIRED
  if (threadIdx.x == 0) keys[128] = 0;
#endif
  keys[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const u32 next = keys[threadIdx.x + 1];  // expect: first
  const bool falls = (threadIdx.x < 127) & (next < keys[threadIdx.x]);
  out[threadIdx.x] = falls ? 1000 : keys[threadIdx.x];
  fence::proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk::store(y, out, sizeof out);
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
