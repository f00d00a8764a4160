// Launching: everything that can be known wrong is refused here, in words; a right launch costs a few comparisons.
#include <fmt/format.h>

#include "runtime/backend.hpp"
#include "warpmill/error.hpp"
#include "warpmill/module.hpp"

namespace wm {
namespace {

// The same on every architecture that runs here.
constexpr Dim3 largest_grid{2147483647, 65535, 65535};
constexpr Dim3 largest_block{1024, 1024, 64};

std::string words(const Dim3& size) { return fmt::format("{}x{}x{}", size.x, size.y, size.z); }
bool any_zero(const Dim3& size) { return size.x == 0 || size.y == 0 || size.z == 0; }
bool exceeds(const Dim3& size, const Dim3& limit) { return size.x > limit.x || size.y > limit.y || size.z > limit.z; }
std::uint64_t volume(const Dim3& size) { return std::uint64_t{size.x} * size.y * size.z; }

[[noreturn]] void refuse(const Kernel& kernel, const std::string& why) {
  throw Error(ErrorCode::launch,
              fmt::format("launch of '{}' on {} refused: {}", kernel.name(), kernel.device().info().id, why));
}

void check_size(const Kernel& kernel, std::string_view what, const Dim3& size, const Dim3& limit) {
  if (any_zero(size)) [[unlikely]]
    refuse(kernel, fmt::format("the {} {} has a size of 0", what, words(size)));
  if (exceeds(size, limit)) [[unlikely]]
    refuse(kernel, fmt::format("the {} {} is more than {}", what, words(size), words(limit)));
}

void check_block(const Kernel& kernel, const Dim3& block) {
  check_size(kernel, "block", block, largest_block);
  const runtime::LoadedKernel& loaded = kernel.loaded();
  if (volume(block) > loaded.max_threads) [[unlikely]]
    refuse(kernel,
           fmt::format("the block {} has {} threads, and this kernel allows {} (it takes {} registers a thread, "
                       "or was compiled with launch bounds)",
                       words(block), volume(block), loaded.max_threads, loaded.registers));
  if (loaded.required_block.x != 0 && block != loaded.required_block) [[unlikely]]
    refuse(kernel, fmt::format("the block is {}, and the kernel was compiled for exactly {}", words(block),
                               words(loaded.required_block)));
}

void check_cluster(const Kernel& kernel, const DeviceInfo& device, const LaunchConfig& config) {
  const Dim3& required = kernel.loaded().required_cluster;
  Dim3 cluster = config.cluster;
  if (required.x != 0) {
    if (cluster != Dim3{} && cluster != required) [[unlikely]]
      refuse(kernel, fmt::format("the cluster is {}, and the kernel was compiled for exactly {}", words(cluster),
                                 words(required)));
    cluster = required;
  }
  if (cluster == Dim3{}) return;
  const std::uint32_t most = static_cast<std::uint32_t>(device.blocks_per_cluster);
  if (most == 1)
    refuse(kernel, fmt::format("the cluster is {}, and {} has no clusters", words(cluster), device.arch.name()));
  check_size(kernel, "cluster", cluster, {most, most, most});
  if (volume(cluster) > most) [[unlikely]]
    refuse(kernel, fmt::format("the cluster {} has {} blocks, and {} allows {}", words(cluster), volume(cluster),
                               device.arch.name(), most));
  if (config.grid.x % cluster.x != 0 || config.grid.y % cluster.y != 0 || config.grid.z % cluster.z != 0) [[unlikely]]
    refuse(kernel, fmt::format("the cluster {} does not divide the grid {}", words(cluster), words(config.grid)));
}

void check_shared(const Kernel& kernel, const DeviceInfo& device, const LaunchConfig& config) {
  const std::size_t fixed = kernel.loaded().static_shared_bytes;
  if (fixed + config.shared_bytes > device.shared_bytes_per_block) [[unlikely]]
    refuse(kernel, fmt::format("{} B of dynamic shared memory and the kernel's own {} B are more than the {} B a block "
                               "may have",
                               config.shared_bytes, fixed, device.shared_bytes_per_block));
}

std::string words(ParameterKind kind, std::size_t bytes) {
  switch (kind) {
    case ParameterKind::integer: return fmt::format("an integer of {} B", bytes);
    case ParameterKind::floating: return fmt::format("a floating-point number of {} B", bytes);
    case ParameterKind::pointer: return fmt::format("a pointer of {} B", bytes);
    case ParameterKind::aggregate: return fmt::format("a struct of {} B", bytes);
    case ParameterKind::unknown: break;
  }
  return fmt::format("a value of {} B", bytes);
}

bool fits(ParameterKind argument, ParameterKind parameter) {
  const auto is_address = [](ParameterKind kind) {
    return kind == ParameterKind::integer || kind == ParameterKind::pointer;
  };
  return argument == parameter || argument == ParameterKind::unknown || parameter == ParameterKind::unknown ||
         parameter == ParameterKind::aggregate || (is_address(argument) && is_address(parameter));
}

void check_arguments(const Kernel& kernel, std::span<const Argument> arguments) {
  const std::span<const Parameter> parameters = kernel.parameters();
  if (arguments.size() != parameters.size()) [[unlikely]]
    refuse(kernel,
           fmt::format("{} arguments were given, and the kernel takes {}", arguments.size(), parameters.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    const Parameter& parameter = parameters[i];
    if (argument.bytes != parameter.bytes || !fits(argument.kind, parameter.kind)) [[unlikely]]
      refuse(kernel, fmt::format("argument {} of {} is {}, and the kernel takes {} there", i + 1, arguments.size(),
                                 words(argument.kind, argument.bytes), words(parameter.kind, parameter.bytes)));
    if (argument.device && *argument.device != kernel.device()) [[unlikely]]
      refuse(kernel,
             fmt::format("argument {} of {} is memory of {}", i + 1, arguments.size(), argument.device->info().id));
  }
}

}  // namespace

void launch(const Stream& stream, const Kernel& kernel, const LaunchConfig& config,
            std::span<const Argument> arguments) {
  const DeviceInfo& device = kernel.device().info();
  if (stream.device() != kernel.device()) [[unlikely]]
    refuse(kernel, fmt::format("the stream is one of {}", stream.device().info().id));
  check_size(kernel, "grid", config.grid, largest_grid);
  check_block(kernel, config.block);
  check_cluster(kernel, device, config);
  check_shared(kernel, device, config);
  check_arguments(kernel, arguments);
  kernel.device().backend().launch(stream.native(), kernel.loaded(), config, arguments);
}

std::string runtime::describe(const LaunchConfig& config) {
  return fmt::format("grid {}, block {}{}, {} B of dynamic shared memory{}", words(config.grid), words(config.block),
                     config.cluster == Dim3{} ? "" : fmt::format(", cluster {}", words(config.cluster)),
                     config.shared_bytes, config.programmatic_dependent ? ", programmatic dependent" : "");
}

}  // namespace wm
