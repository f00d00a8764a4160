// Cooperative launches: as many blocks as fit, a grid that synchronises, groups of threads.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "report.cuh"

namespace groups = cooperative_groups;

constexpr int threads = 128;
constexpr int shared_bytes = 200 * 1024;  // so much that one block fills a multiprocessor

// Neighbours' sums again and again: each round reads what all blocks wrote in the last.
__global__ void smooth(int* from, int* to, int count, int rounds) {
  const groups::grid_group grid = groups::this_grid();
  for (int round = 0; round != rounds; ++round) {
    for (int i = static_cast<int>(grid.thread_rank()); i < count; i += static_cast<int>(grid.size()))
      to[i] = from[i] + from[(i + 1) % count];
    grid.sync();
    int* const last = from;
    from = to;
    to = last;
  }
}

__global__ void reduce(const int* values, int count, int* sum, int* facts) {
  const groups::thread_block block = groups::this_thread_block();
  const auto tile = groups::tiled_partition<32>(block);
  int own = 0;
  for (int i = static_cast<int>(block.thread_rank()); i < count; i += static_cast<int>(block.size())) own += values[i];
  own = groups::reduce(tile, own, groups::plus<int>());
  if (tile.thread_rank() == 0) atomicAdd(sum, own);
  const auto half = groups::tiled_partition<16>(tile);
  const int ballot = static_cast<int>(half.ballot(half.thread_rank() % 2 == 0));
  const groups::coalesced_group odd = groups::coalesced_threads();
  if (block.thread_rank() == 37) {
    facts[0] = ballot;
    facts[1] = static_cast<int>(tile.meta_group_rank());
    facts[2] = static_cast<int>(half.thread_rank());
    facts[3] = static_cast<int>(block.size());
    facts[4] = odd.size() > 0;
  }
}

int main() {
  int supported = 0, multiprocessors = 0, blocks = 0;
  good(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
  good(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  std::printf("cooperative launches: %d\n", supported);
  good(cudaFuncSetAttribute(smooth, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  good(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, smooth, threads, shared_bytes));
  std::printf("blocks per multiprocessor: %d\n", blocks);
  const int grid = blocks * multiprocessors;

  int count = 10000, rounds = 5;
  std::vector<int> host(count);
  for (int i = 0; i != count; ++i) host[i] = i;
  int *from, *to, *sum, *facts;
  const std::size_t bytes = count * sizeof(int);
  good(cudaMalloc(&from, bytes));
  good(cudaMalloc(&to, bytes));
  good(cudaMemcpy(from, host.data(), bytes, cudaMemcpyHostToDevice));
  void* arguments[] = {&from, &to, &count, &rounds};
  say("cooperative launch",
      cudaLaunchCooperativeKernel(reinterpret_cast<void*>(smooth), grid, threads, arguments, shared_bytes, nullptr));
  say_device("after five rounds", to, 4);

  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = 16;
  config.blockDim = threads;
  config.attrs = &attribute;
  config.numAttrs = 1;
  say("launch with the attribute", cudaLaunchKernelEx(&config, smooth, to, from, count, 2));
  say_device("after two more", to, 4);

  say("more blocks than fit", cudaLaunchCooperativeKernel(reinterpret_cast<void*>(smooth), grid + 1, threads, arguments,
                                                          shared_bytes, nullptr));
  say("last error", cudaGetLastError());
  say("afterwards", cudaDeviceSynchronize());

  good(cudaMalloc(&sum, sizeof(int)));
  good(cudaMalloc(&facts, 5 * sizeof(int)));
  good(cudaMemset(sum, 0, sizeof(int)));
  good(cudaMemcpy(from, host.data(), bytes, cudaMemcpyHostToDevice));
  reduce<<<1, 96>>>(from, count, sum, facts);
  say_device("sum", sum, 1);
  say_device("facts", facts, 5);

  int least = 0, size = 0;
  good(cudaOccupancyMaxPotentialBlockSize(&least, &size, smooth, shared_bytes));
  std::printf("a block size was found: %d, grid of one each: %d\n", size > 0 && size % 32 == 0,
              least == multiprocessors);
  for (int* memory : {from, to, sum, facts}) good(cudaFree(memory));
}
