// The next product overwrites sums that other warps have loaded and used, with no tcgen05.wait::ld.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin(tile, ones, place, done);
  if (threadIdx.x == 0) multiply(d, tile, done);
  wait(done);
  write(y, d);  // expect: second
#ifdef REPAIRED
  tcgen05::wait_load();
#endif
  tcgen05::fence_before_thread_sync();
  __syncthreads();
  tcgen05::fence_after_thread_sync();
  if (threadIdx.x == 0) multiply(d, tile, done);  // expect: first
  wait(done, 1);
  write(y, d);
  give_back(d);
}
