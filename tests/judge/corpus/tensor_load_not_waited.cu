// The next product overwrites sums while loads of other warps may still read them: nobody has used the registers yet.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin(tile, ones, place, done);
  if (threadIdx.x == 0) multiply(d, tile, done);
  wait(done);
  u32 values[16];
  tcgen05::load<tcgen05::Shape::lanes32>(values, d);  // expect: second
  asm volatile("mov.b32 %0, %0;" : "+r"(values[0]));  // no use of it: a copy may be gone in machine code
#ifdef REPAIRED
  tcgen05::wait_load();
#endif
  tcgen05::fence_before_thread_sync();
  __syncthreads();
  tcgen05::fence_after_thread_sync();
  if (threadIdx.x == 0) multiply(d, tile, done);  // expect: first
  for (u32 i = 0; i < 16; ++i) y[16 * threadIdx.x + i] = __uint_as_float(values[i]);
  wait(done, 1);
  give_back(d);
}
