// How many blocks and clusters fit: the runtime's questions and the driver's. A thread has no registers to run out of,
// so that threads and shared memory decide.
#include <algorithm>

#include "cudart/face.hpp"
#include "cudart/launch.hpp"
#include "cudart/module.hpp"
#include "cudart/registration.hpp"

using namespace wm::cudart;

namespace {

constexpr std::size_t reserved_of_a_block = 1024;  // bytes of shared memory

int blocks_that_fit(Kernel& kernel, int threads, std::size_t shared_bytes) {
  require(threads > 0);
  return threads > 1024 ? 0 : blocks_per_multiprocessor(kernel, threads, shared_bytes);
}

std::size_t dynamic_bytes_left(Kernel& kernel, int blocks) {
  require(blocks > 0);
  const wm::vgpu::Chip& chip = Platform::get().chip();
  const std::size_t share = chip.shared_bytes_per_multiprocessor / static_cast<std::size_t>(blocks);
  const std::size_t fixed = kernel.on(current_device()).kernel->static_shared_bytes + reserved_of_a_block;
  return std::min(std::min(share, chip.shared_bytes_per_block + reserved_of_a_block) - std::min(fixed, share),
                  static_cast<std::size_t>(kernel.dynamic_shared_limit.load()));
}

int clusters_that_fit(Kernel& kernel, std::size_t threads, std::size_t shared_bytes, int blocks_of_a_cluster) {
  const int fit = blocks_per_multiprocessor(kernel, static_cast<int>(threads), shared_bytes);
  return fit * Platform::get().chip().multiprocessors / std::max(1, blocks_of_a_cluster);
}

int largest_cluster(const Kernel& kernel) { return kernel.nonportable_cluster ? 16 : 8; }

// Both configurations call their attributes so.
template <class Config, class Id>
int blocks_of_a_cluster(const Config& config, Id dimension) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == dimension) {
      const auto& cluster = [&]() -> const auto& {
        if constexpr (requires { config.attrs[i].val; })
          return config.attrs[i].val.clusterDim;
        else
          return config.attrs[i].value.clusterDim;
      }
      ();
      return static_cast<int>(cluster.x * cluster.y * cluster.z);
    }
  return 1;
}

}  // namespace

WARPMILL_FACE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                                        size_t shared_bytes) {
  return answer([&] {
    require(blocks != nullptr);
    *blocks = blocks_that_fit(kernel_of(function), threads, shared_bytes);
  });
}
WARPMILL_FACE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                                 int threads, size_t shared_bytes,
                                                                                 unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared_bytes);
}
WARPMILL_FACE cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks,
                                                                    int) {
  return answer([&] {
    require(bytes != nullptr);
    *bytes = dynamic_bytes_left(kernel_of(function), blocks);
  });
}
WARPMILL_FACE cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                         const cudaLaunchConfig_t* config) {
  return answer([&] {
    require(clusters != nullptr && config != nullptr);
    const dim3& block = config->blockDim;
    *clusters =
        clusters_that_fit(kernel_of(function), std::size_t{block.x} * block.y * block.z, config->dynamicSmemBytes,
                          blocks_of_a_cluster(*config, cudaLaunchAttributeClusterDimension));
  });
}
WARPMILL_FACE cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, const void* function,
                                                               const cudaLaunchConfig_t* config) {
  return answer([&] {
    require(blocks != nullptr && config != nullptr);
    *blocks = largest_cluster(kernel_of(function));
  });
}

WARPMILL_FACE CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                                   size_t shared_bytes) {
  return context_answer([&] {
    require(blocks != nullptr);
    *blocks = blocks_that_fit(known_kernel(function), threads, shared_bytes);
  });
}
WARPMILL_FACE CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function,
                                                                            int threads, size_t shared_bytes,
                                                                            unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared_bytes);
}
WARPMILL_FACE CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks, int) {
  return context_answer([&] {
    require(bytes != nullptr);
    *bytes = dynamic_bytes_left(known_kernel(function), blocks);
  });
}
WARPMILL_FACE CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
  return context_answer([&] {
    require(clusters != nullptr && config != nullptr);
    *clusters = clusters_that_fit(
        known_kernel(function), std::size_t{config->blockDimX} * config->blockDimY * config->blockDimZ,
        config->sharedMemBytes, blocks_of_a_cluster(*config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
  });
}
WARPMILL_FACE CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction function,
                                                          const CUlaunchConfig* config) {
  return context_answer([&] {
    require(blocks != nullptr && config != nullptr);
    *blocks = largest_cluster(known_kernel(function));
  });
}
WARPMILL_FACE CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                                        CUoccupancyB2DSize shared_of, size_t shared_bytes, int limit) {
  return context_answer([&] {
    require(grid != nullptr && block != nullptr);
    Kernel& kernel = known_kernel(function);
    const int most = static_cast<int>(kernel.on(current_device()).kernel->max_threads);
    int best = 0;
    for (int threads = limit > 0 ? std::min(limit, most) : most; threads > 0; threads -= 32) {
      const std::size_t bytes = shared_of != nullptr ? shared_of(threads) : shared_bytes;
      const int blocks = blocks_per_multiprocessor(kernel, threads, bytes);
      if (blocks * threads <= best) continue;
      best = blocks * threads;
      *block = threads;
      *grid = blocks * Platform::get().chip().multiprocessors;
    }
  });
}
WARPMILL_FACE CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                                 CUoccupancyB2DSize shared_of, size_t shared_bytes,
                                                                 int limit, unsigned) {
  return cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_of, shared_bytes, limit);
}
