// The word that tcgen05.alloc wrote has been read by everybody, and becomes a copy's: as Triton reuses it.
#include "../tensor.cuh"

extern "C" __global__ void kernel(const u32* x, u32* y) {
  __shared__ alignas(16) union {
    TensorAddress place;
    u32 tile[128];
  } shared;
  __shared__ u64 full;
  if (first_warp()) tcgen05::allocate<1>(&shared.place, columns);  // expect: second
  __syncthreads();
  const TensorAddress place = shared.place;
#ifdef REPAIRED
  fence::proxy_async_shared();
#endif
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof shared.tile);
    bulk::load(shared.tile, x, sizeof shared.tile, &full);  // expect: first
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = shared.tile[threadIdx.x];
  if (first_warp()) tcgen05::free<1>(place, columns);
}
