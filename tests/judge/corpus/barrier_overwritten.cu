// The memory of a barrier is used for data when it is no longer needed, without telling the chip that it is no barrier.
#include "../common.cuh"

union Memory {
  u64 full;
  u32 kept[64];
};

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) u32 tile[64];
  __shared__ Memory memory;
  prepare(memory.full, 1);  // expect: second
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&memory.full, sizeof tile);
    bulk::load(tile, x, sizeof tile, &memory.full);
  }
  mbarrier::wait_parity(&memory.full, 0);
  __syncthreads();
#ifdef REPAIRED
  if (threadIdx.x == 0) mbarrier::invalidate(&memory.full);
  __syncthreads();
#endif
  memory.kept[threadIdx.x] = tile[threadIdx.x];  // expect: first
  __syncthreads();
  y[threadIdx.x] = memory.kept[63 - threadIdx.x] + 2 * threadIdx.x - 63;
}
