// So many threads arrive at an mbarrier and wait for it, phase after phase.
#include "warpmill/ptx/mbarrier.cuh"

using namespace wm;

extern "C" __global__ void kernel(u32* y, u32 arrivals, u32 phases) {
  __shared__ u64 barrier;
  __shared__ u32 number[2];
  if (threadIdx.x == 0) mbarrier::init(&barrier, arrivals);
  __syncthreads();
  if (threadIdx.x >= arrivals) return;
  for (u32 phase = 0; phase < phases; ++phase) {
    if (threadIdx.x == 0) number[phase % 2] = phase;
    mbarrier::arrive(&barrier);
    mbarrier::wait_parity(&barrier, phase & 1);
    y[threadIdx.x] = number[phase % 2];
  }
}
