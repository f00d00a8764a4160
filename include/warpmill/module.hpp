// Code on a device: Module, Kernel and launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "warpmill/api.hpp"
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
  Dim3 grid = {}, block = {};
  Dim3 cluster = {};                    // {1,1,1}: no cluster
  std::uint32_t shared_bytes = 0;       // dynamic
  bool programmatic_dependent = false;  // may start before the kernel ahead of it in the stream has ended
};

enum class ParameterKind : std::uint8_t { unknown, integer, floating, pointer, aggregate };

struct Parameter {
  std::size_t offset = 0, bytes = 0;
  ParameterKind kind = ParameterKind::unknown;  // unknown where only a cubin was given
};

// A __device__ or __constant__ variable of a module.
struct Symbol {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
};

class WARPMILL_API Kernel {
 public:
  const std::string& name() const;
  const Device& device() const { return device_; }
  std::span<const Parameter> parameters() const;
  int registers() const;  // a thread; 0 where the device does not know
  std::size_t static_shared_bytes() const;
  std::size_t local_bytes() const;  // a thread
  int max_threads() const;          // a block
  // A variable of the kernel's module, by its name there (extern "C", or mangled). Throws not_found.
  Symbol symbol(std::string_view name) const;

  Kernel(Device device, std::shared_ptr<runtime::LoadedModule> module, const runtime::LoadedKernel* kernel)
      : device_(std::move(device)), module_(std::move(module)), kernel_(kernel) {}
  const runtime::LoadedKernel& loaded() const { return *kernel_; }

 private:
  Device device_;
  std::shared_ptr<runtime::LoadedModule> module_;  // keeps the code on the device while a kernel of it is held
  const runtime::LoadedKernel* kernel_ = nullptr;
};

class WARPMILL_API Module {
 public:
  static Module load(const Device& device, const jit::Program& program, std::string_view name = "program");
  static Module load_ptx(const Device& device, std::string_view ptx, std::string_view name = "module.ptx");
  static Module load_cubin(const Device& device, std::span<const std::byte> cubin,
                           std::string_view name = "module.cubin");

  // An entry's name, or a name expression the program was compiled with ("gemm<64>"). Throws not_found and lists the
  // entries there are.
  Kernel kernel(std::string_view entry) const;
  std::vector<std::string> entries() const;
  Symbol symbol(std::string_view name) const;  // as a kernel's

 private:
  Module(Device device, std::string_view name, std::shared_ptr<runtime::LoadedModule> module)
      : device_(std::move(device)), name_(name), module_(std::move(module)) {}
  Device device_;
  std::string name_;
  std::shared_ptr<runtime::LoadedModule> module_;
  std::map<std::string, std::string, std::less<>> lowered_;  // name expression -> entry
};

// One argument as the kernel gets it: bytes and what they are, so that a launch can check them against its parameters.
struct Argument {
  const void* data = nullptr;
  std::size_t bytes = 0;
  ParameterKind kind = ParameterKind::unknown;
  const Device* device = nullptr;  // where the argument is memory of a known device
};

// Puts the kernel into the stream. Everything that can be known wrong is refused before, in words: sizes against the
// device's limits, the cluster against the grid, the arguments against the kernel's parameters. An integer of 8 bytes
// may stand for a pointer, and a struct parameter takes any argument of its size.
WARPMILL_API void launch(const Stream& stream, const Kernel& kernel, const LaunchConfig& config,
                         std::span<const Argument> arguments = {});

namespace detail {
template <class T>
constexpr ParameterKind kind_of() {
  if (std::is_pointer_v<T> || std::is_null_pointer_v<T>) return ParameterKind::pointer;
  if (std::is_integral_v<T> || std::is_enum_v<T>) return ParameterKind::integer;
  if (std::is_floating_point_v<T> || requires { DTypeOf<T>::value; }) return ParameterKind::floating;  // f16, e4m3, ...
  return ParameterKind::aggregate;
}
template <class T>
Argument as_argument(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>, "a kernel argument is copied byte for byte");
  return {&value, sizeof(T), kind_of<T>(), nullptr};
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
template <class T>
concept ArgumentList = std::is_convertible_v<const T&, std::span<const Argument>>;
}  // namespace detail

// launch(stream, kernel, {.grid = {4}, .block = {128}}, out, in, 42, 0.5f);
template <class... Args>
requires(sizeof...(Args) > 0 &&
         !(detail::ArgumentList<Args> || ...)) void launch(const Stream& stream, const Kernel& kernel,
                                                           const LaunchConfig& config, const Args&... args) {
  [&](const auto&... prepared) {
    const std::array<Argument, sizeof...(Args)> arguments{detail::as_argument(prepared)...};
    launch(stream, kernel, config, std::span<const Argument>(arguments));
  }(detail::prepare(args)...);
}

}  // namespace wm
