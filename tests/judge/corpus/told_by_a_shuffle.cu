// One lane takes a ticket; that it came last, and so what the other warps wrote, the others learn by a shuffle.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ u32 sums[4], tickets;
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) tickets = 0;
  __syncthreads();
  if (lane == 0) sums[warp] = x[warp];  // expect: second
  __syncwarp();
  u32 ticket = 0;
  if (lane == 0)
    asm volatile("atom.add.acq_rel.cta.shared.u32 %0, [%1], 1;"
                 : "=r"(ticket)
                 : "r"(static_cast<u32>(__cvta_generic_to_shared(&tickets)))
                 : "memory");
  ticket = __shfl_sync(~0u, ticket, 0);
#ifdef REPAIRED
  __syncwarp();
#endif
  if (ticket == 3 && lane < 4) y[lane] = sums[lane];  // expect: first
}
