// A in tensor memory is stored anew while the product may still read it.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done;
  __shared__ TensorAddress place;
  const TensorAddress d = begin(tile, ones, place, done), a = d + 16;
  u32 row[8];  // 16 ones of bf16
  for (u32& word : row) word = 0x3f803f80;
  const auto store = [&] {
    tcgen05::store<tcgen05::Shape::lanes32>(a, row);  // expect: first
    tcgen05::wait_store();
    tcgen05::fence_before_thread_sync();
    __syncthreads();
  };
  store();
  if (threadIdx.x == 0) {
    tcgen05::fence_after_thread_sync();
    tcgen05::multiply<1, tcgen05::Kind::f16>(d, a, descriptor(tile.b), product, false);  // expect: second
    tcgen05::commit<1>(SharedAddress(&done));
  }
#ifdef REPAIRED
  wait(done);
  store();
#else
  __syncthreads();
  store();
  wait(done);
#endif
  write(y, d);
  give_back(d);
}
