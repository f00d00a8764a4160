// Cooperative groups: tiles, coalesced and labelled groups, reductions and scans, asynchronous copies.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

template <int size>
__device__ int tile_sums(const cg::thread_block& block, int value) {
  const auto tile = cg::tiled_partition<size>(block);
  return cg::reduce(tile, value, cg::plus<int>()) * size + int(tile.meta_group_rank());
}

extern "C" __global__ void tiles(const int* in, int* out) {
  const auto block = cg::this_thread_block();
  const int value = in[block.thread_rank()];
  int result = tile_sums<32>(block, value) ^ tile_sums<8>(block, value) ^ tile_sums<4>(block, value);
  const auto tile = cg::tiled_partition<16>(block);
  result += tile.shfl_xor(value, 5) - tile.shfl_up(value, 2) + int(tile.ballot(value & 1)) + tile.any(value == 7);
  result ^= cg::reduce(tile, value, cg::greater<int>()) * 3 + cg::reduce(tile, value, cg::less<int>());
  block.sync();
  out[block.thread_rank()] = result;
}

extern "C" __global__ void coalesced(const int* in, int* out, int* counter) {
  const int value = in[threadIdx.x];
  int result = -1;
  if (value % 3 == 0) {
    const auto active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0) base = atomicAdd(counter, int(active.size()));
    result = active.shfl(base, 0) * 0 + int(active.thread_rank()) + 100 * int(active.size());
    result += 10000 * cg::reduce(active, value, cg::plus<int>());
  }
  out[threadIdx.x] = result;
}

extern "C" __global__ void labelled(const int* in, int* out) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int label = in[threadIdx.x] & 3;
  const auto group = cg::labeled_partition(warp, label);
  const auto halves = cg::binary_partition(warp, (in[threadIdx.x] & 4) != 0);
  out[threadIdx.x] = int(group.thread_rank()) + 100 * int(group.size()) + 10000 * int(halves.size()) +
                     1000000 * cg::reduce(group, 1, cg::plus<int>());
}

extern "C" __global__ void scans(const int* in, int* inclusive, int* exclusive) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int value = in[threadIdx.x];
  inclusive[threadIdx.x] = cg::inclusive_scan(tile, value, cg::plus<int>());
  exclusive[threadIdx.x] = cg::exclusive_scan(tile, value & 0xff, cg::bit_xor<int>());
}

// A block's rows come through shared memory by asynchronous copies, two in flight.
extern "C" __global__ void staged(const float4* in, float* out, int rows) {
  __shared__ float4 stage[2][64];
  const auto block = cg::this_thread_block();
  float sum = 0;
  cg::memcpy_async(block, stage[0], in, sizeof(stage[0]));
  for (int row = 0; row < rows; ++row) {
    if (row + 1 < rows) {
      cg::memcpy_async(block, stage[(row + 1) % 2], in + (row + 1) * 64, sizeof(stage[0]));
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    const float4 value = stage[row % 2][(block.thread_rank() * 5) % 64];
    sum += value.x + 2 * value.y + 3 * value.z + 4 * value.w;
    block.sync();
  }
  out[block.thread_rank()] = sum;
}

#if __CUDA_ARCH__ >= 900
// Each block of a cluster reads its neighbour's shared memory and counts in the first block's.
extern "C" __global__ void __cluster_dims__(4, 1, 1) neighbours(const int* in, int* out, int* counts) {
  __shared__ int values[64], counter;
  const auto cluster = cg::this_cluster();
  values[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  if (threadIdx.x == 0) counter = 0;
  cluster.sync();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  const int* remote = cluster.map_shared_rank(values, next);
  out[blockIdx.x * 64 + threadIdx.x] = remote[63 - threadIdx.x] * 2 + int(cluster.block_rank());
  atomicAdd(cluster.map_shared_rank(&counter, 0), int(threadIdx.x));
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) counts[blockIdx.x / 4] = counter;
}
#endif
