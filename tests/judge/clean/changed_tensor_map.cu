// A tensor map built in shared memory, published with its release, acquired by the thread that copies through it.
#include "../common.cuh"

extern "C" __global__ void kernel(const __grid_constant__ TensorMap map, const u32* x, TensorMap* changed, u32* y) {
  __shared__ alignas(128) u32 tile[128];
  __shared__ alignas(128) TensorMap draft;
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) draft = map;
    __syncwarp();
    if (threadIdx.x == 0) tensor_map::set_global_address(SharedAddress(&draft), u64(x));
    __syncwarp();
    tensor_map::publish<Scope::device>(changed, &draft);
    fence::tensor_map_acquire<Scope::device>(changed);
    if (threadIdx.x == 0) {
      mbarrier::arrive_expect_tx(&full, sizeof tile);
      tma::load(tile, *changed, {0, 0}, &full);
    }
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = tile[threadIdx.x];
}
