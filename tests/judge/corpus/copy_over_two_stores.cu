// Two threads store from a stage. One waits until its store has read; the copy that fills the stage again waits for it
// alone.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(128) u32 stage[128];
  __shared__ u64 full;
  prepare(full, 1);
  for (u32 i = 0; i < 2; ++i) {
    if (threadIdx.x == 0) {
      mbarrier::arrive_expect_tx(&full, sizeof stage);
      bulk::load(stage, x + 128 * i, sizeof stage, &full);  // expect: first
    }
    mbarrier::wait_parity(&full, i);
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk::store(y + 256 * i, stage, sizeof stage);
      bulk::commit_group();
      bulk::wait_group_read<0>();
    }
    __syncthreads();
    if (threadIdx.x == 32) {
      bulk::store(y + 256 * i + 128, stage, sizeof stage);  // expect: second
      bulk::commit_group();
#ifdef REPAIRED
      bulk::wait_group_read<0>();
#endif
    }
    __syncthreads();
  }
  if (threadIdx.x % 32 == 0) bulk::wait_group<0>();
}
