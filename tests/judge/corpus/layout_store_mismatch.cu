// A tile is copied in with a swizzle of 128 bytes and stored through a map without one.
#include "../common.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap swizzled,
                                  const __grid_constant__ TensorMap plain) {
  __shared__ alignas(1024) u8 tile[8192];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    tma::load(tile, x, {0, 0}, &full);  // expect: second
    mbarrier::wait_parity(&full, 0);
#ifdef REPAIRED
    tma::store(swizzled, {0, 0}, tile);
#else
    tma::store(plain, {0, 0}, tile);  // expect: first
#endif
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
