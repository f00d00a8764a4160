// tcgen05.commit gets an mbarrier's address in shared memory where it takes a generic one, as Triton's do.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin(tile, ones, place, done);
#ifdef REPAIRED
  const u64 barrier = reinterpret_cast<u64>(&done);
#else
  const u64 barrier = SharedAddress(&done).value;
#endif
  if (threadIdx.x == 0) {
    tcgen05::multiply<1, tcgen05::Kind::f16>(d, descriptor(tile.a), descriptor(tile.b), product, false);
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%0];" ::"l"(barrier));  // expect: first
  }
  wait(done);
  write(y, d);
  give_back(d);
}
