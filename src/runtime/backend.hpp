// What a device must be able to do. One implementation over the CUDA driver (cuda/), one over the virtual GPU
// (virtual/); everything above speaks to this interface alone. Arguments arrive checked: the classes in
// include/warpmill check them once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpmill/device.hpp"
#include "warpmill/module.hpp"

namespace wm {
struct TensorMap;
struct TensorMapSpec;
}  // namespace wm

namespace wm::runtime {

struct LoadedKernel {
  std::string name;
  std::vector<Parameter> parameters;
  int registers = 0;
  std::size_t static_shared_bytes = 0;
  std::size_t local_bytes = 0;
  std::uint32_t max_threads = 1024;  // a block may have at most, given the registers it takes
  void* native = nullptr;            // CUfunction, or the virtual GPU's own kernel
};

// Code on a device; unloaded when destroyed.
class LoadedModule {
 public:
  virtual ~LoadedModule() = default;
  virtual const LoadedKernel* find(
      std::string_view entry) = 0;  // nullptr where there is none; stable while the module lives
  virtual std::vector<std::string> entries() const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceInfo& info() const = 0;

  virtual std::uint64_t allocate(std::size_t bytes) = 0;  // throws out_of_memory
  virtual void free(std::uint64_t address) noexcept = 0;

  virtual void* create_stream() = 0;
  virtual void destroy_stream(void* stream) noexcept = 0;
  virtual void synchronize_stream(void* stream) = 0;
  virtual void synchronize() = 0;
  virtual void* create_event() = 0;
  virtual void destroy_event(void* event) noexcept = 0;
  virtual void record_event(void* event, void* stream) = 0;
  virtual void wait_event(void* stream, void* event) = 0;
  virtual void synchronize_event(void* event) = 0;
  virtual double milliseconds_between(void* start, void* end) = 0;

  virtual void upload(void* stream, std::uint64_t destination, std::span<const std::byte> source) = 0;
  virtual void download(void* stream, std::span<std::byte> destination, std::uint64_t source) = 0;
  virtual void copy(void* stream, std::uint64_t destination, std::uint64_t source, std::size_t bytes) = 0;
  virtual void fill(void* stream, std::uint64_t destination, std::byte value, std::size_t bytes) = 0;

  // A program's PTX (always there) and cubin (may be empty). `name` is what messages call the module.
  virtual std::shared_ptr<LoadedModule> load(std::string_view name, std::string_view ptx,
                                             std::span<const std::byte> cubin) = 0;
  virtual void launch(void* stream, const LoadedKernel& kernel, const LaunchConfig& config,
                      std::span<const Argument> arguments) = 0;

  // Encodes a specification that the builder has found legal.
  virtual TensorMap encode(const TensorMapSpec& spec) = 0;
};

// nullptr and a reason where there is no driver or no GPU.
std::vector<DeviceInfo> list_cuda_devices(std::string* problem);
std::shared_ptr<Backend> open_cuda_device(int ordinal);
std::vector<DeviceInfo> list_virtual_devices();
std::shared_ptr<Backend> open_virtual_device(std::string_view options);  // what follows "virtual:", maybe empty

}  // namespace wm::runtime
