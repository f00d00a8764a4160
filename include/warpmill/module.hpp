// Code on a device: Module, Kernel and launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "warpmill/buffer.hpp"
#include "warpmill/device.hpp"

namespace wm {

namespace jit {
struct Program;
}
namespace runtime {
class LoadedModule;
struct LoadedKernel;
}  // namespace runtime

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  bool operator==(const Dim3&) const = default;
};

struct LaunchConfig {
  Dim3 grid, block;
  Dim3 cluster;                         // {1,1,1}: no cluster
  std::uint32_t shared_bytes = 0;       // dynamic
  bool programmatic_dependent = false;  // may start before the kernel ahead of it in the stream has ended
};

enum class ParameterKind : std::uint8_t { unknown, integer, floating, pointer, aggregate };

struct Parameter {
  std::size_t offset = 0, bytes = 0;
  ParameterKind kind = ParameterKind::unknown;  // unknown where only a cubin was given
};

class Kernel {
 public:
  const std::string& name() const;
  const Device& device() const { return device_; }
  std::span<const Parameter> parameters() const;
  int registers() const;  // a thread; 0 where the device does not know
  std::size_t static_shared_bytes() const;
  std::size_t local_bytes() const;  // a thread

  Kernel(Device device, std::shared_ptr<runtime::LoadedModule> module, const runtime::LoadedKernel* kernel)
      : device_(std::move(device)), module_(std::move(module)), kernel_(kernel) {}
  const runtime::LoadedKernel& loaded() const { return *kernel_; }

 private:
  Device device_;
  std::shared_ptr<runtime::LoadedModule> module_;  // keeps the code on the device while a kernel of it is held
  const runtime::LoadedKernel* kernel_ = nullptr;
};

class Module {
 public:
  static Module load(const Device& device, const jit::Program& program);
  static Module load_ptx(const Device& device, std::string_view ptx, std::string_view name = "module.ptx");
  static Module load_cubin(const Device& device, std::span<const std::byte> cubin);

  Kernel kernel(std::string_view entry) const;  // throws not_found and lists the entries there are
  std::vector<std::string> entries() const;

 private:
  Module(Device device, std::shared_ptr<runtime::LoadedModule> module)
      : device_(std::move(device)), module_(std::move(module)) {}
  Device device_;
  std::shared_ptr<runtime::LoadedModule> module_;
};

// One argument as the kernel gets it: bytes and what they are, so that a launch can check them against its parameters.
struct Argument {
  const void* data = nullptr;
  std::size_t bytes = 0;
  ParameterKind kind = ParameterKind::unknown;
  const Device* device = nullptr;  // where the argument is memory of a known device
};

void launch(const Stream& stream, const Kernel& kernel, const LaunchConfig& config,
            std::span<const Argument> arguments);

namespace detail {
template <class T>
Argument as_argument(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>, "a kernel argument is copied byte for byte");
  constexpr ParameterKind kind = std::is_floating_point_v<T>                  ? ParameterKind::floating
                                 : std::is_integral_v<T> || std::is_enum_v<T> ? ParameterKind::integer
                                 : std::is_pointer_v<T>                       ? ParameterKind::pointer
                                                                              : ParameterKind::aggregate;
  return {&value, sizeof(T), kind, nullptr};
}
// A buffer or view stands for its address.
struct AddressArgument {
  std::uint64_t address;
  const Device* device;
};
inline AddressArgument prepare(const Buffer& buffer) { return {buffer.address(), &buffer.device()}; }
inline AddressArgument prepare(const View& view) { return {view.address, &view.device}; }
template <class T>
const T& prepare(const T& value) {
  return value;
}
inline Argument as_argument(const AddressArgument& a) {
  return {&a.address, sizeof(a.address), ParameterKind::pointer, a.device};
}
}  // namespace detail

// launch(stream, kernel, {.grid = {4}, .block = {128}}, out, in, 42, 0.5f);
template <class... Args>
requires(sizeof...(Args) > 0 &&
         !(sizeof...(Args) == 1 && (std::is_convertible_v<Args, std::span<const Argument>> &&
                                    ...))) void launch(const Stream& stream, const Kernel& kernel,
                                                       const LaunchConfig& config, const Args&... args) {
  [&](const auto&... prepared) {
    const std::array<Argument, sizeof...(Args)> arguments{detail::as_argument(prepared)...};
    launch(stream, kernel, config, std::span<const Argument>(arguments));
  }(detail::prepare(args)...);
}
inline void launch(const Stream& stream, const Kernel& kernel, const LaunchConfig& config) {
  launch(stream, kernel, config, std::span<const Argument>());
}

}  // namespace wm
