// The second block of a pair has its operands 256 bytes further on; the product reads both blocks at the same offsets.
#include "../pair.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, f32* y) {
  __shared__ alignas(128) u8 memory[sizeof(PairOperands) + 256];
  __shared__ u64 full, done;
  __shared__ TensorAddress place;
#ifdef REPAIRED
  PairOperands& tile = reinterpret_cast<PairOperands&>(memory);
#else
  PairOperands& tile = reinterpret_cast<PairOperands&>(memory[256 * cluster::rank()]);
#endif
  const TensorAddress d = begin_pair(place, full, done);
  if (threadIdx.x == 0) {
    if (leads()) mbarrier::arrive_expect_tx(&full, 2 * sizeof tile);
    load_for_pair(tile, a, b, cluster::map(SharedAddress(&full), 0));  // expect: second
    if (leads()) {
      mbarrier::wait_parity(&full, 0);
      multiply_pair(d, tile);  // expect: first
      tcgen05::commit_multicast<2>(&done, 0b11);
    }
  }
  wait(done);
  write(y + cluster::rank() * 2048, d);
  give_back_pair(d);
}
