// A producer whose tail acquires a stage once more announces the bytes of a copy that never comes, and nobody waits for
// them.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  constexpr u32 chunks = 4, width = 32;
  __shared__ alignas(16) u32 stage[width];
  __shared__ u64 full, empty;
  prepare(full, 1);
  prepare(empty, width);
  if (threadIdx.x == width) {
    for (u32 chunk = 0; chunk <= chunks; ++chunk) {
      mbarrier::wait_parity(&empty, ~chunk & 1);
      mbarrier::arrive_expect_tx(&full, sizeof stage);
      if (chunk < chunks) bulk::load(stage, x + chunk * width, sizeof stage, &full);
    }
  } else if (threadIdx.x < width) {
    for (u32 chunk = 0; chunk < chunks; ++chunk) {
      mbarrier::wait_parity(&full, chunk & 1);
      y[chunk * width + threadIdx.x] = stage[threadIdx.x];
      mbarrier::arrive(&empty);
    }
  }
}
