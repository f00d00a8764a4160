// A tensor map is changed in global memory and used at once.
#include "../common.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap map, const u32* x, TensorMap* changed, u32* y) {
  __shared__ alignas(128) u32 tile[128];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    *changed = map;
    tensor_map::set_global_address(changed, u64(x));  // expect: second
#ifdef REPAIRED
    fence::tensor_map_release<Scope::device>();
    fence::tensor_map_acquire<Scope::device>(changed);
#endif
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    tma::load(tile, *changed, {0, 0}, &full);  // expect: first
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = tile[threadIdx.x];
}
