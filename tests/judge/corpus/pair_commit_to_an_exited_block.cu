// The first block frees the pair's stage in both blocks; the second one waits for nothing that says so, and may be
// gone.
#include "../pair.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, f32* y) {
  __shared__ PairOperands tile;
  __shared__ u64 full, done, empty;
  __shared__ TensorAddress place;
  prepare(empty, 1);
  const TensorAddress d = begin_pair(place, full, done);
  if (threadIdx.x == 0) {
    if (leads()) mbarrier::arrive_expect_tx(&full, 2 * sizeof tile);
    load_for_pair(tile, a, b, cluster::map(SharedAddress(&full), 0));
    if (leads()) {
      mbarrier::wait_parity(&full, 0);
      multiply_pair(d, tile);
      tcgen05::commit_multicast<2>(&done, 0b11);
    }
  }
  wait(done);
  write(y + cluster::rank() * 2048, d);
  give_back_pair(d);
  if (leads() && threadIdx.x == 0) tcgen05::commit_multicast<2>(&empty, 0b11);  // expect: first
#ifdef REPAIRED
  mbarrier::wait_parity(&empty, 0);
#endif
}
