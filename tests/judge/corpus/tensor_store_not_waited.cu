// A product adds to sums whose stores nobody has waited for.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin(tile, ones, place, done);
  const u32 zeros[16] = {};
  tcgen05::store<tcgen05::Shape::lanes32>(d, zeros);  // expect: second
#ifdef REPAIRED
  tcgen05::wait_store();
#endif
  tcgen05::fence_before_thread_sync();
  __syncthreads();
  tcgen05::fence_after_thread_sync();
  if (threadIdx.x == 0) multiply(d, tile, done, true);  // expect: first
  wait(done);
  write(y, d);
  give_back(d);
}
