// A of a product comes by tcgen05.st of all warps, of which relaxed arrivals tell: nothing stands between the two.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 done, stored;
  __shared__ TensorAddress place;
  if (threadIdx.x == 0) mbarrier::init(&stored, 128);
  const TensorAddress d = begin(tile, ones, place, done), a = d + 16;
  u32 row[8];  // 16 ones of bf16
  for (u32& word : row) word = 0x3f803f80;
  tcgen05::store<tcgen05::Shape::lanes32>(a, row);  // expect: second
  tcgen05::wait_store();
#ifdef REPAIRED
  tcgen05::fence_before_thread_sync();
#endif
  mbarrier::arrive_remote_relaxed(cluster::map(SharedAddress(&stored), 0));
  if (threadIdx.x == 64) {
    mbarrier::wait_parity_relaxed(&stored, 0);
    tcgen05::fence_after_thread_sync();
    tcgen05::multiply<1, tcgen05::Kind::f16>(d, a, descriptor(tile.b), product, false);  // expect: first
    tcgen05::commit<1>(SharedAddress(&done));
  }
  wait(done);
  write(y, d);
  give_back(d);
}
