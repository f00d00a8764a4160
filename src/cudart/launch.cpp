// Checking launches.
#include "cudart/launch.hpp"

#include <algorithm>
#include <cstring>

#include <cuda.h>
#include <fmt/format.h>

#include "cudart/failure.hpp"
#include "cudart/names.hpp"
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

[[noreturn]] void refuse(const LaunchRequest& request, cudaError_t status, const std::string& why) {
  tell_once(fmt::format("launch of `{}` refused: {}", demangled(request.kernel->name()), why));
  fail(status);
}

void check_shape(const LaunchRequest& request, const vgpu::ProgramKernel& kernel) {
  const Dim3 &grid = request.grid, &block = request.block;
  if (!within(grid, largest_grid))
    refuse(request, cudaErrorInvalidValue,
           fmt::format("the grid is {}; its sizes are 1 to {}", words(grid), words(largest_grid)));
  if (!within(block, largest_block) || volume(block) > most_block_threads)
    refuse(request, cudaErrorInvalidValue,
           fmt::format("the block is {}; it has 1 to {} threads and 64 along z at most", words(block),
                       most_block_threads));
  if (volume(block) > kernel.max_threads)
    refuse(request, cudaErrorInvalidValue,
           fmt::format("the block has {} threads, and the kernel was compiled for {} at most (__launch_bounds__)",
                       volume(block), kernel.max_threads));
  if (kernel.required_block.x != 0 && block != kernel.required_block)
    refuse(request, cudaErrorInvalidValue,
           fmt::format("the block is {}, and the kernel was compiled for exactly {}", words(block),
                       words(kernel.required_block)));
}

void check_shared(const LaunchRequest& request, const vgpu::ProgramKernel& kernel) {
  const auto limit = static_cast<std::size_t>(request.kernel->dynamic_shared_limit.load());
  const std::size_t fixed = kernel.static_shared_bytes, asked = request.shared_bytes;
  const std::size_t most = Platform::get().chip().shared_bytes_per_block;
  if (fixed + asked > most)
    refuse(
        request, cudaErrorInvalidValue,
        fmt::format("{} bytes of dynamic shared memory and the kernel's own {} are more than the {} that a block may "
                    "have",
                    asked, fixed, most));
  // Until a limit is set, it is one for both.
  if (asked > limit || (!request.kernel->dynamic_shared_set && fixed + asked > limit))
    refuse(request, cudaErrorInvalidValue,
           fmt::format("it asks for {} bytes of dynamic shared memory, and the kernel may have {}: set its attribute "
                       "MaxDynamicSharedMemorySize first",
                       asked, request.kernel->dynamic_shared_set ? limit : limit - std::min(fixed, limit)));
}

Dim3 checked_cluster(const LaunchRequest& request, const vgpu::ProgramKernel& kernel) {
  const Dim3 own = kernel.required_cluster.x != 0 ? kernel.required_cluster : Dim3{};
  const Dim3 cluster = request.cluster.value_or(own);
  if (cluster == Dim3{} && own == Dim3{}) return cluster;
  const Architecture& arch = Platform::get().chip().arch;
  const auto wrong = [&](const std::string& why) { refuse(request, cudaErrorInvalidClusterSize, why); };
  if (most_cluster_blocks(arch) <= 1)
    wrong(fmt::format("the cluster is {}, and {} has none", words(cluster), arch.name()));
  if (kernel.required_cluster.x != 0 && cluster != kernel.required_cluster)
    wrong(fmt::format("the cluster is {}, and the kernel was compiled for exactly {}", words(cluster),
                      words(kernel.required_cluster)));
  const std::uint64_t most = request.kernel->nonportable_cluster ? most_cluster_blocks(arch) : portable_cluster;
  if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0 || volume(cluster) > most)
    wrong(fmt::format("the cluster is {}; it has 1 to {} blocks{}", words(cluster), most,
                      most == portable_cluster ? ", more where NonPortableClusterSizeAllowed is set" : ""));
  if (request.grid.x % cluster.x != 0 || request.grid.y % cluster.y != 0 || request.grid.z % cluster.z != 0)
    wrong(fmt::format("the cluster {} does not divide the grid {}", words(cluster), words(request.grid)));
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
  check_shape(request, kernel);
  check_shared(request, kernel);
  const Dim3 cluster = checked_cluster(request, kernel);
  if (request.cooperative) {
    const int fit =
        blocks_per_multiprocessor(*request.kernel, static_cast<int>(volume(request.block)), request.shared_bytes);
    const auto most = static_cast<std::uint64_t>(fit) * static_cast<std::uint64_t>(platform.chip().multiprocessors);
    if (volume(request.grid) > most)
      refuse(request, cudaErrorCooperativeLaunchTooLarge,
             fmt::format("a cooperative launch of {} blocks, of which {} fit at a time", volume(request.grid), most));
  }
  return {.kernel = request.kernel,
          .shape = {request.grid, request.block, cluster, static_cast<std::uint32_t>(request.shared_bytes),
                    request.cooperative ? request.kernel->module().meeting_place(request.device) : 0},
          .device = request.device,
          .parameters = parameters_of(request, kernel)};
}

}  // namespace wm::cudart
