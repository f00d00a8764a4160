// Of the shared memory that is reserved, what cooperative groups ask for begins as zeros.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  u32 lent, last;
  asm("mov.u32 %0, %%reserved_smem_offset_1;" : "=r"(lent));
  const u32 place = lent + 4 * (threadIdx.x % 64);
  asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(last) : "r"(place), "r"(x[threadIdx.x % 64]) : "memory");
  __syncthreads();
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(last) : "r"(place) : "memory");
  if (threadIdx.x < 64) y[threadIdx.x] = last - x[threadIdx.x];
}
