// Launching: everything that can be known wrong is refused here, in words; a right launch costs a few comparisons.
#include <fmt/format.h>

#include "common/launch_rules.hpp"
#include "runtime/backend.hpp"
#include "warpmill/error.hpp"
#include "warpmill/module.hpp"

namespace wm {
namespace {

[[noreturn]] void refuse(const Kernel& kernel, const std::string& why) {
  throw Error(ErrorCode::launch,
              fmt::format("launch of '{}' on {} refused: {}", kernel.name(), kernel.device().info().id, why));
}

void check_shape(const Kernel& kernel, const DeviceInfo& device, const LaunchConfig& config) {
  const runtime::LoadedKernel& loaded = kernel.loaded();
  const LaunchRules rules{.arch = device.arch,
                          .cluster_blocks = static_cast<std::uint32_t>(device.blocks_per_cluster),
                          .block_threads = loaded.max_threads,
                          .registers = static_cast<std::uint32_t>(loaded.registers),
                          .required_block = loaded.required_block,
                          .required_cluster = loaded.required_cluster};
  if (const auto refusal = launch_refusal(rules, config.grid, config.block, config.cluster)) [[unlikely]]
    refuse(kernel, *refusal);
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

void runtime::launch(const Stream& stream, const Kernel& kernel, const LaunchConfig& config,
                     std::span<const Argument> arguments, const LaunchNotes& notes) {
  const DeviceInfo& device = kernel.device().info();
  if (stream.device() != kernel.device()) [[unlikely]]
    refuse(kernel, fmt::format("the stream is one of {}", stream.device().info().id));
  check_shape(kernel, device, config);
  check_shared(kernel, device, config);
  check_arguments(kernel, arguments);
  kernel.device().backend().launch(stream.native(), kernel.loaded(), config, arguments, notes);
}
void launch(const Stream& stream, const Kernel& kernel, const LaunchConfig& config,
            std::span<const Argument> arguments) {
  runtime::launch(stream, kernel, config, arguments, {});
}

std::string runtime::describe(const LaunchConfig& config) {
  return fmt::format("grid {}, block {}{}, {} B of dynamic shared memory{}", words(config.grid), words(config.block),
                     config.cluster == Dim3{} ? "" : fmt::format(", cluster {}", words(config.cluster)),
                     config.shared_bytes, config.programmatic_dependent ? ", programmatic dependent" : "");
}

}  // namespace wm
