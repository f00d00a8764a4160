// What each warp has loaded from the columns of both blocks it has waited for: a relaxed barrier of the cluster is
// enough before they are given back. And an arrival of block scope passes the fence of tcgen05 on to the other block.
#include "../pair.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, f32* y) {
  __shared__ PairOperands tile;
  __shared__ u64 full, done, read;
  __shared__ TensorAddress place;
  prepare(read, 256);
  const TensorAddress d = begin_pair(place, full, done);
  if (threadIdx.x == 0) {
    if (leads()) mbarrier::arrive_expect_tx(&full, 2 * sizeof tile);
    load_for_pair(tile, a, b, cluster::map(SharedAddress(&full), 0));
  }
  for (u32 turn = 0; turn < 2; ++turn) {
    if (leads() && threadIdx.x == 0) {
      if (turn == 0)
        mbarrier::wait_parity(&full, 0);
      else
        mbarrier::wait_parity(&read, 0);
      tcgen05::fence_after_thread_sync();
      multiply_pair(d, tile);
      tcgen05::commit_multicast<2>(&done, 0b11);
    }
    wait(done, turn);
    write(y + cluster::rank() * 2048, d);
    tcgen05::wait_load();
    tcgen05::fence_before_thread_sync();
    if (turn == 0) mbarrier::arrive_remote<Scope::block>(cluster::map(SharedAddress(&read), 0));
  }
  cluster::arrive_relaxed();
  cluster::wait();
  if (first_warp()) tcgen05::free<2>(d, columns);
}
