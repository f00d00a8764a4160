// A of a pair's product comes by tcgen05.st of the warps of both blocks, and one thread of each tells the block that
// multiplies: the other block's at block scope and without the fence of tcgen05, as compilers do.
#include "../pair.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ PairOperands tile;
  __shared__ u64 told, full, done;
  __shared__ TensorAddress place;
  if (threadIdx.x == 0) mbarrier::init(&told, 2);
  u32* words = reinterpret_cast<u32*>(&tile.b);
  for (u32 i = threadIdx.x; i < sizeof tile.b / 4; i += 128) words[i] = ones[i];
  fence::proxy_async_shared();
  const TensorAddress d = begin_pair(place, full, done), a = d + 16;
  u32 row[8];  // 16 ones of bf16
  for (u32& word : row) word = 0x3f803f80;
  tcgen05::store<tcgen05::Shape::lanes32>(a, row);  // expect: second
  tcgen05::wait_store();
#ifdef REPAIRED
  tcgen05::fence_before_thread_sync();
#else
  if (leads()) tcgen05::fence_before_thread_sync();
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
#ifdef REPAIRED
    tell_leader<Scope::cluster>(told);
#else
    tell_leader<Scope::block>(told);
#endif
    if (leads()) {
      tcgen05::fence_after_thread_sync();
      tcgen05::multiply<2, tcgen05::Kind::f16>(d, a, descriptor(tile.b), pair_product, false);  // expect: first
      tcgen05::commit_multicast<2>(&done, 0b11);
    }
  }
  wait(done);
  write(y + cluster::rank() * 2048, d);
  give_back_pair(d);
}
