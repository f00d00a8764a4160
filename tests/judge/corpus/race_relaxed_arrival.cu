// An mbarrier arrival with .relaxed releases nothing.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 tile[32];
  __shared__ u64 full;
  prepare(full, 32);
  const u32 lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    tile[lane] = x[lane];  // expect: second
#ifdef REPAIRED
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(SharedAddress(&full).value) : "memory");
#else
    asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(SharedAddress(&full).value) : "memory");
#endif
  } else {
    mbarrier::wait_parity(&full, 0);
    y[31 - lane] = tile[31 - lane];  // expect: first
  }
}
