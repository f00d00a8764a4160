// Checking launches.
#include "cudart/launch.hpp"

#include <algorithm>
#include <cstring>

#include <cuda.h>

#include "cudart/failure.hpp"
#include "vgpu/machine/grid.hpp"
#include "warpmill/error.hpp"

namespace wm::cudart {
namespace {

constexpr Dim3 largest_grid{2147483647, 65535, 65535};
constexpr Dim3 largest_block{most_block_threads, most_block_threads, 64};
constexpr std::uint32_t portable_cluster = 8;

bool within(const Dim3& size, const Dim3& most) {
  return size.x > 0 && size.y > 0 && size.z > 0 && size.x <= most.x && size.y <= most.y && size.z <= most.z;
}

Dim3 checked_cluster(const LaunchRequest& request, const vgpu::ProgramKernel& kernel) {
  const Dim3 own = kernel.required_cluster.x != 0 ? kernel.required_cluster : Dim3{};
  const Dim3 cluster = request.cluster.value_or(own);
  if (cluster == Dim3{} && own == Dim3{}) return cluster;
  require(most_cluster_blocks(Platform::get().chip().arch) > 1, cudaErrorInvalidClusterSize);
  require(kernel.required_cluster.x == 0 || cluster == kernel.required_cluster, cudaErrorInvalidClusterSize);
  const std::uint64_t most =
      request.kernel->nonportable_cluster ? most_cluster_blocks(Platform::get().chip().arch) : portable_cluster;
  require(cluster.x > 0 && cluster.y > 0 && cluster.z > 0 && volume(cluster) <= most, cudaErrorInvalidClusterSize);
  require(request.grid.x % cluster.x == 0 && request.grid.y % cluster.y == 0 && request.grid.z % cluster.z == 0,
          cudaErrorInvalidClusterSize);
  return cluster;
}

std::vector<std::byte> parameters_of(const LaunchRequest& request, const vgpu::ProgramKernel& kernel) {
  std::vector<std::byte> parameters(kernel.parameter_bytes);
  if (request.extra != nullptr) {
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    for (void** at = request.extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
      if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = at[1];
      if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<std::size_t*>(at[1]);
    }
    require(buffer != nullptr && bytes <= parameters.size());
    std::memcpy(parameters.data(), buffer, bytes);
    return parameters;
  }
  require(request.arguments != nullptr || kernel.parameters.empty());
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    require(request.arguments[i] != nullptr);
    std::memcpy(parameters.data() + kernel.parameters[i].offset, request.arguments[i], kernel.parameters[i].bytes);
  }
  return parameters;
}

}  // namespace

int blocks_per_multiprocessor(Kernel& kernel, int threads, std::size_t shared_bytes) {
  const Kernel::Loaded& loaded = kernel.on(current_device());
  const vgpu::Function& entry = loaded.program->entry_of(*loaded.kernel);
  try {
    const std::size_t all = entry.dynamic_shared - vgpu::shared_reserved + shared_bytes;
    return static_cast<int>(vgpu::blocks_per_multiprocessor(Platform::get().chip(), static_cast<std::uint32_t>(threads),
                                                            static_cast<std::uint32_t>(all), entry));
  } catch (const Error&) {
    return 0;
  }
}

KernelLaunch prepare(const LaunchRequest& request) {
  Platform& platform = Platform::get();
  const vgpu::ProgramKernel& kernel = *request.kernel->on(request.device).kernel;
  require(within(request.grid, largest_grid) && within(request.block, largest_block) &&
          volume(request.block) <= most_block_threads);
  require(volume(request.block) <= kernel.max_threads, cudaErrorInvalidValue);
  require(kernel.required_block.x == 0 || request.block == kernel.required_block, cudaErrorInvalidValue);
  const auto limit = static_cast<std::size_t>(request.kernel->dynamic_shared_limit.load());
  const bool raised = limit > Kernel::default_dynamic_shared;
  const std::size_t total = kernel.static_shared_bytes + request.shared_bytes;
  require(request.shared_bytes <= limit && (raised || total <= limit) &&
          total <= platform.chip().shared_bytes_per_block);
  const Dim3 cluster = checked_cluster(request, kernel);
  if (request.cooperative) {
    const int fit =
        blocks_per_multiprocessor(*request.kernel, static_cast<int>(volume(request.block)), request.shared_bytes);
    require(volume(request.grid) <=
                static_cast<std::uint64_t>(fit) * static_cast<std::uint64_t>(platform.chip().multiprocessors),
            cudaErrorCooperativeLaunchTooLarge);
  }
  return {.kernel = request.kernel,
          .shape = {request.grid, request.block, cluster, static_cast<std::uint32_t>(request.shared_bytes),
                    request.cooperative ? request.kernel->module().meeting_place(request.device) : 0},
          .device = request.device,
          .parameters = parameters_of(request, kernel)};
}

}  // namespace wm::cudart
