// tcgen05.cp brings A to tensor memory; the product of the same thread needs no wait for it, that of another thread a
// barrier between the fences.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done, copied;
  __shared__ TensorAddress place;
  prepare(copied, 1);
  const TensorAddress d = begin(tile, ones, place, done), a = d + 16;
  const auto copy = [&] { tcgen05::copy<1, tcgen05::Copied::rows128_bytes32>(a, descriptor(tile.a)); };
  const auto multiply_copied = [&](bool accumulate) {
    tcgen05::multiply<1, tcgen05::Kind::f16>(d, a, descriptor(tile.b), product, accumulate);
    tcgen05::commit<1>(SharedAddress(&done));
  };
  if (threadIdx.x == 0) {
    copy();
    multiply_copied(false);
  }
  wait(done);
  __syncthreads();
  if (threadIdx.x == 32) {
    copy();
    tcgen05::fence_before_thread_sync();
    mbarrier::arrive(&copied);
  }
  if (threadIdx.x == 64) {
    mbarrier::wait_parity(&copied, 0);
    tcgen05::fence_after_thread_sync();
    multiply_copied(true);
  }
  wait(done, 1);
  write(y, d);
  give_back(d);
}
