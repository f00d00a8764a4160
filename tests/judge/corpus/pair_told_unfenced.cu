// The same as pair_told_at_block_scope, and no proxy fence behind what is written: that nobody relies on.
#include "../pair.cuh"

extern "C" __global__ void kernel(const u32* ones, f32* y) {
  __shared__ PairOperands tile;
  __shared__ u64 told, full, done;
  __shared__ TensorAddress place;
  if (threadIdx.x == 0) mbarrier::init(&told, 2);
  const TensorAddress d = begin_pair(place, full, done);
  u32* words = reinterpret_cast<u32*>(&tile);
  for (u32 i = threadIdx.x; i < sizeof tile / 4; i += 128) words[i] = ones[i];  // expect: second
#ifdef REPAIRED
  fence::proxy_async_shared();
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
#ifdef REPAIRED
    tell_leader<Scope::cluster>(told);
#else
    tell_leader<Scope::block>(told);
#endif
    if (leads()) {
      multiply_pair(d, tile);  // expect: first
      tcgen05::commit_multicast<2>(&done, 0b11);
    }
  }
  wait(done);
  write(y + cluster::rank() * 2048, d);
  give_back_pair(d);
}
