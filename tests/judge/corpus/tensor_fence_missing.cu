// Sums pass from the tensor cores to threads with no fence behind the wait.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin(tile, ones, place, done);
  if (threadIdx.x == 64) multiply(d, tile, done);  // expect: second
#ifdef REPAIRED
  wait(done);
#else
  mbarrier::wait_parity(&done, 0);
#endif
  write(y, d);  // expect: first
  give_back(d);
}
