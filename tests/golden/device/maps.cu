// Tensor maps changed on the device, in global and in shared memory, and used at once.
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/ptx/tensor_map.cuh"
#include "warpmill/ptx/tma.cuh"

using namespace wm;

// What the new map shall say; sizes innermost first.
struct Fields {
  u64 address;
  u64 strides[2];
  u32 sizes[3], box[3], steps[3];
};

constexpr u32 tile_bytes = 8192;

template <class Map>
__device__ void replace_all(Map map, const Fields& f) {
  using namespace tensor_map;
  set_global_address(map, f.address);
  set_rank(map, 2);  // three dimensions
  set_size<0>(map, f.sizes[0]);
  set_size<1>(map, f.sizes[1]);
  set_size<2>(map, f.sizes[2]);
  set_stride<0>(map, f.strides[0]);
  set_stride<1>(map, f.strides[1]);
  set_box<0>(map, f.box[0]);
  set_box<1>(map, f.box[1]);
  set_box<2>(map, f.box[2]);
  set_element_stride<0>(map, f.steps[0]);
  set_element_stride<1>(map, f.steps[1]);
  set_element_stride<2>(map, f.steps[2]);
  set_element_type<ElementType::u32>(map);
  set_interleave<Interleave::none>(map);
  set_swizzle<Swizzle::bytes64>(map);
  set_fill<Fill::zero>(map);
}

__device__ void load_and_give_back(const TensorMap* map, i32 x, i32 y, i32 z, u32 bytes, u32* out) {
  extern __shared__ __align__(1024) u32 tile[];
  __shared__ u64 barrier;
  for (u32 i = threadIdx.x; i < tile_bytes / 4; i += blockDim.x) tile[i] = 0xa5a5a5a5;
  if (threadIdx.x == 0) {
    mbarrier::init(&barrier, 1);
    fence::mbarrier_init();
  }
  fence::proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    fence::tensor_map_acquire<Scope::device>(map);
    mbarrier::arrive_expect_tx(&barrier, bytes);
    tma::load(tile, *map, {x, y, z}, &barrier);
  }
  mbarrier::wait_parity(&barrier, 0);
  for (u32 i = threadIdx.x; i < tile_bytes / 4; i += blockDim.x) out[i] = tile[i];
}

extern "C" __global__ void in_global(TensorMap* map, Fields fields, i32 x, i32 y, i32 z, u32 bytes, u32* out) {
  if (threadIdx.x == 0) {
    replace_all(map, fields);
    fence::tensor_map_release<Scope::device>();
  }
  __syncthreads();
  load_and_give_back(map, x, y, z, bytes, out);
}

// The map is read into shared memory, changed there and published to `map`.
extern "C" __global__ void in_shared(const __grid_constant__ TensorMap original, TensorMap* map, Fields fields, i32 x,
                                     i32 y, i32 z, u32 bytes, u32* out) {
  __shared__ TensorMap copy;
  if (threadIdx.x == 0) copy = original;
  __syncwarp();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) replace_all(SharedAddress(&copy), fields);
    __syncwarp();
    tensor_map::publish<Scope::device>(map, &copy);
  }
  __syncthreads();
  load_and_give_back(map, x, y, z, bytes, out);
}

// One field at a time on a finished map: the address alone, as grouped GEMMs do.
extern "C" __global__ void address_only(TensorMap* map, u64 address, i32 x, i32 y, i32 z, u32 bytes, u32* out) {
  if (threadIdx.x == 0) {
    tensor_map::set_global_address(map, address);
    fence::tensor_map_release<Scope::device>();
  }
  __syncthreads();
  load_and_give_back(map, x, y, z, bytes, out);
}
