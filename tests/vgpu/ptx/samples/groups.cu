// Cooperative groups and a block reduction of CUB.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/block/block_reduce.cuh>

namespace cg = cooperative_groups;

__global__ void groups(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ Reduce::TempStorage storage;
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  const int value = in[block.group_index().x * 128 + block.thread_rank()];
  const int of_tile = cg::reduce(tile, value, cg::plus<int>());
  const int of_block = Reduce(storage).Sum(tile.thread_rank() == 0 ? of_tile : 0);
  if (const auto active = cg::coalesced_threads(); active.thread_rank() == 0 && block.thread_rank() == 0)
    out[block.group_index().x] = of_block;
  cg::sync(block);
}
