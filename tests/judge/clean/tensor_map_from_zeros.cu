// A tensor map that the kernel makes of nothing: 128 cleared bytes in shared memory, and every field put in.
#include "../common.cuh"

extern "C" __global__ void kernel(const u32* x, TensorMap* made, u32* y) {
  __shared__ alignas(128) u32 tile[128];
  __shared__ alignas(128) u32 draft[32];
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x < 32) {
    draft[threadIdx.x] = 0;
    __syncwarp();
    if (threadIdx.x == 0) {
      const SharedAddress map(draft);
      tensor_map::set_global_address(map, u64(x));
      tensor_map::set_rank(map, 1);  // dimensions less one
      tensor_map::set_size<0>(map, 32);
      tensor_map::set_size<1>(map, 4);
      tensor_map::set_stride<0>(map, 128);
      tensor_map::set_box<0>(map, 32);
      tensor_map::set_box<1>(map, 4);
      tensor_map::set_element_stride<0>(map, 1);
      tensor_map::set_element_stride<1>(map, 1);
      tensor_map::set_element_type<tensor_map::ElementType::u32>(map);
    }
    __syncwarp();
    tensor_map::publish<Scope::device>(made, draft);
    fence::tensor_map_acquire<Scope::device>(made);
    if (threadIdx.x == 0) {
      mbarrier::arrive_expect_tx(&full, sizeof tile);
      tma::load(tile, *made, {0, 0}, &full);
    }
  }
  mbarrier::wait_parity(&full, 0);
  y[threadIdx.x] = tile[threadIdx.x];
}
