// Tensor copies: one box in, one box out, one box combined; maps and coordinates come from the host.
#include "warpmill/ptx/cluster.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/ptx/tma.cuh"

using namespace wm;

struct Place {
  i32 at[5];      // innermost first
  u16 offset[4];  // im2col
};

constexpr u32 capacity = 48 * 1024;  // bytes for the tile; the barrier follows it
extern __shared__ __align__(1024) u32 memory[];
__device__ u64* barrier() { return reinterpret_cast<u64*>(memory + capacity / 4); }

// Words nobody wrote are told from zeros.
__device__ void poison(u32 bytes) {
  for (u32 i = threadIdx.x; i < bytes / 4; i += blockDim.x) memory[i] = 0xa5a5a5a5;
  if (threadIdx.x == 0) {
    mbarrier::init(barrier(), 1);
    fence::mbarrier_init();
  }
  fence::proxy_async_shared();
  __syncthreads();
}

__device__ void give_back(u32 bytes, u32* out) {
  for (u32 i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = memory[i];
}

template <int rank>
__device__ auto& coordinates(const Place& place) {
  return reinterpret_cast<const i32(&)[rank]>(place.at);
}
template <int rank>
__device__ auto& offsets(const Place& place) {
  return reinterpret_cast<const u16(&)[rank - 2]>(place.offset);
}

// `bytes` arrive within `extent`; `out` gets those and 64 bytes after them.
template <int rank, bool im2col>
__global__ void load(const __grid_constant__ TensorMap map, Place place, u32 bytes, u32 extent, u32* out) {
  poison(extent + 64);
  if (threadIdx.x < 32 && elect_one()) {
    mbarrier::arrive_expect_tx(barrier(), bytes);
    if constexpr (im2col) {
      tma::prefetch_im2col(map, coordinates<rank>(place), offsets<rank>(place));
      tma::load_im2col(memory, map, coordinates<rank>(place), offsets<rank>(place), barrier());
    } else {
      tma::prefetch(map, coordinates<rank>(place));
      tma::load(memory, map, coordinates<rank>(place), barrier());
    }
  }
  mbarrier::wait_parity(barrier(), 0);
  give_back(extent + 64, out);
}

// Block `sender` of the cluster loads for the blocks of `blocks`; every block writes its memory to its part of `out`.
template <int rank, bool im2col>
__global__ void load_multicast(const __grid_constant__ TensorMap map, Place place, u32 bytes, u32 blocks, u32 sender,
                               u32* out) {
  poison(bytes + 64);
  const bool receives = blocks >> cluster::rank() & 1;
  if (threadIdx.x == 0 && receives) mbarrier::arrive_expect_tx(barrier(), bytes);
  cluster::sync();
  if (cluster::rank() == sender && threadIdx.x == 0) {
    if constexpr (im2col)
      tma::load_im2col_multicast(memory, map, coordinates<rank>(place), offsets<rank>(place), barrier(), u16(blocks));
    else
      tma::load_multicast(memory, map, coordinates<rank>(place), barrier(), u16(blocks));
  }
  if (receives) mbarrier::wait_parity(barrier(), 0);
  cluster::sync();
  give_back(bytes + 64, out + cluster::rank() * (bytes + 64) / 4);
}

__device__ void fill(u32 bytes, const u32* tile) {
  for (u32 i = threadIdx.x; i < bytes / 4; i += blockDim.x) memory[i] = tile[i];
  fence::proxy_async_shared();
  __syncthreads();
}

template <int rank, bool im2col>
__global__ void store(const __grid_constant__ TensorMap map, Place place, u32 bytes, const u32* tile) {
  fill(bytes, tile);
  if (threadIdx.x == 0) {
    if constexpr (im2col)
      tma::store_im2col(map, coordinates<rank>(place), memory);
    else
      tma::store(map, coordinates<rank>(place), memory);
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}

template <int rank, Reduction operation, bool im2col>
__global__ void reduce(const __grid_constant__ TensorMap map, Place place, u32 bytes, const u32* tile) {
  fill(bytes, tile);
  if (threadIdx.x == 0) {
    if constexpr (im2col)
      tma::reduce_im2col<operation>(map, coordinates<rank>(place), memory);
    else
      tma::reduce<operation>(map, coordinates<rank>(place), memory);
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}
