// Bulk copies and reductions without a map.
#include "warpmill/ptx/bulk.cuh"
#include "warpmill/ptx/cluster.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/mbarrier.cuh"

using namespace wm;

constexpr u32 words = 1024;
struct Memory {
  alignas(128) u32 from[words], to[words];
  u64 barrier;
};

__device__ void prepare(Memory& memory, const u32* source) {
  for (u32 i = threadIdx.x; i < words; i += blockDim.x) {
    memory.from[i] = source[i];
    memory.to[i] = 0xa5a5a5a5;
  }
  if (threadIdx.x == 0) {
    mbarrier::init(&memory.barrier, 1);
    fence::mbarrier_init();
  }
  fence::proxy_async_shared();
  __syncthreads();
}

// `skip` words in, `bytes` from global memory; `out` is all of `to`.
extern "C" __global__ void load(const u32* source, u32 skip, u32 bytes, u32* out) {
  __shared__ Memory memory;
  prepare(memory, source);
  if (threadIdx.x == 0) {
    bulk::prefetch(source + skip, bytes);
    mbarrier::arrive_expect_tx(&memory.barrier, bytes);
    bulk::load(memory.to + skip, source + skip, bytes, &memory.barrier);
  }
  mbarrier::wait_parity(&memory.barrier, 0);
  for (u32 i = threadIdx.x; i < words; i += blockDim.x) out[i] = memory.to[i];
}

// The second block loads for all of `blocks`.
extern "C" __global__ void load_multicast(const u32* source, u32 bytes, u32 blocks, u32* out) {
  __shared__ Memory memory;
  prepare(memory, source);
  const u32 rank = cluster::rank();
  const bool receives = blocks >> rank & 1;
  if (threadIdx.x == 0 && receives) mbarrier::arrive_expect_tx(&memory.barrier, bytes);
  cluster::sync();
  if (rank == 1 && threadIdx.x == 0) bulk::load_multicast(memory.to, source, bytes, &memory.barrier, u16(blocks));
  if (receives) mbarrier::wait_parity(&memory.barrier, 0);
  cluster::sync();
  for (u32 i = threadIdx.x; i < words; i += blockDim.x) out[rank * words + i] = memory.to[i];
}

extern "C" __global__ void store(const u32* source, u32 skip, u32 bytes, u32* out) {
  __shared__ Memory memory;
  prepare(memory, source);
  if (threadIdx.x == 0) {
    bulk::store(out + skip, memory.from + skip, bytes);
    bulk::commit_group();
    bulk::wait_group_read<0>();
    bulk::wait_group<0>();
  }
}

// Each block sends to the next one of the cluster.
extern "C" __global__ void copy_to_block(const u32* source, u32 bytes, u32* out) {
  __shared__ Memory memory;
  const u32 rank = cluster::rank();
  prepare(memory, source + rank * words);
  if (threadIdx.x == 0) mbarrier::arrive_expect_tx(&memory.barrier, bytes);
  cluster::sync();
  const u32 next = (rank + 1) % cluster::blocks();
  if (threadIdx.x == 0)
    bulk::copy_to_block(cluster::map(SharedAddress(memory.to), next), memory.from, bytes,
                        cluster::map(SharedAddress(&memory.barrier), next));
  mbarrier::wait_parity(&memory.barrier, 0);
  cluster::sync();
  for (u32 i = threadIdx.x; i < words; i += blockDim.x) out[rank * words + i] = memory.to[i];
}

template <Reduction operation, class T>
__global__ void reduce(const u32* source, u32 bytes, T* out) {
  __shared__ Memory memory;
  prepare(memory, source);
  if (threadIdx.x == 0) {
    bulk::reduce<operation>(out, memory.from, bytes);
    bulk::commit_group();
    bulk::wait_group<0>();
  }
}

// Block 0 reduces its `source` into what block 1 holds; `out` is block 1's memory.
template <Reduction operation, class T>
__global__ void reduce_to_block(const u32* source, u32 bytes, const u32* start, u32* out) {
  __shared__ Memory memory;
  prepare(memory, source);
  const u32 rank = cluster::rank();
  for (u32 i = threadIdx.x; i < words; i += blockDim.x) memory.to[i] = start[i];
  fence::proxy_async_shared();
  __syncthreads();
  if (rank == 1 && threadIdx.x == 0) mbarrier::arrive_expect_tx(&memory.barrier, bytes);
  cluster::sync();
  if (rank == 0 && threadIdx.x == 0)
    bulk::reduce_to_block<operation, T>(cluster::map(SharedAddress(memory.to), 1), memory.from, bytes,
                                        cluster::map(SharedAddress(&memory.barrier), 1));
  if (rank == 1) {
    mbarrier::wait_parity(&memory.barrier, 0);
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) out[i] = memory.to[i];
  }
  cluster::sync();
}
