// Each block of a cluster commits its product to both, and waits for both: nothing arrives in a block that has left.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  fill(tile, ones);
  if (first_warp()) tcgen05::allocate<1>(&place, columns);
  prepare(done, 2);
  cluster::sync();
  tcgen05::fence_after_thread_sync();
  const TensorAddress d = place;
  if (threadIdx.x == 0) {
    tcgen05::multiply<1, tcgen05::Kind::f16>(d, descriptor(tile.a), descriptor(tile.b), product, false);
    tcgen05::commit_multicast<1>(&done, 0b11);
  }
  wait(done);
  write(y + cluster::rank() * 2048, d);
  give_back(d);
}
