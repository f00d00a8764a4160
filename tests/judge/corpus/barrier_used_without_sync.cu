// Threads that use a barrier with nothing between them and the thread that initialises it.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u64 done;
  __shared__ u32 tile[32];
  if (threadIdx.x == 0) {
    mbarrier::init(&done, 32);
    fence::mbarrier_init();
  }
  __syncwarp();
#ifdef REPAIRED
  __syncthreads();
#endif
  if (threadIdx.x >= 96) {
    tile[threadIdx.x - 96] = x[threadIdx.x - 96];
    mbarrier::arrive(&done);  // expect: first
  } else if (threadIdx.x < 32) {
    mbarrier::wait_parity(&done, 0);
    y[threadIdx.x] = tile[threadIdx.x];
  }
}
