// What a device must be able to do. One implementation over the CUDA driver (cuda/), one over the virtual GPU
// (virtual/); everything above speaks to this interface alone. Arguments arrive checked: the classes in
// include/warpmill check them once. Every function is safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/launch_rules.hpp"
#include "runtime/ptx_summary.hpp"
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
  std::uint32_t max_threads = most_block_threads;  // a block may have at most, given the registers it takes
  Dim3 required_block{0, 0, 0};                    // .reqntid; zeros: any
  Dim3 required_cluster{0, 0, 0};  // .reqnctapercluster, which a launch without a cluster gets; zeros: any
  void* native = nullptr;          // CUfunction, or the virtual GPU's own kernel
};

// What a module is made of. The PTX may be missing where there is a cubin, and the cubin where there is PTX.
struct Code {
  std::string_view name;  // what messages call the module
  std::string_view ptx;
  std::span<const std::byte> cubin;
  PtxSummary summary;  // of the PTX
};

// Bytes of device memory, from `begin` up to but not including `end`.
struct ByteRange {
  std::uint64_t begin = 0, end = 0;
  bool meets(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};

// A place in a captured stream, of all there ever were: behind one node of one capture. Zeros: none.
struct Place {
  std::uint64_t capture = 0, node = 0;
  bool operator==(const Place&) const = default;
};
// What a kernel launched next may find still running.
struct KernelAhead {
  Place place;                    // behind it
  std::vector<ByteRange> writes;  // all that it writes
};
// What a launch tells of itself, and relies on.
struct LaunchNotes {
  // All that the kernel writes, where it is known, and where the kernel lets the next one start
  // (griddepcontrol.launch_dependents) only when those ahead of itself have ended; else none.
  std::span<const ByteRange> writes{};
  // Where the kernel reads something before those ahead have ended: the place at which that was found to be safe. At
  // any other it starts when they have ended.
  Place place{};
};

// Code on a device; unloaded when destroyed.
class LoadedModule {
 public:
  virtual ~LoadedModule() = default;
  // nullptr where there is none; stable while the module lives.
  virtual const LoadedKernel* find(std::string_view entry) = 0;
  virtual std::vector<std::string> entries() const = 0;
  virtual std::optional<Symbol> symbol(std::string_view name) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceInfo& info() const = 0;

  virtual std::uint64_t allocate(std::size_t bytes) = 0;  // throws out_of_memory
  virtual void free(std::uint64_t address) noexcept = 0;

  virtual void* create_stream() = 0;
  virtual void destroy_stream(void* stream) noexcept = 0;
  virtual void check_stream(void* stream) = 0;  // throws where a caller's stream is not one of this device
  // A number that no other stream of the device has, or will have after this one is destroyed; nothing while the stream
  // is captured. Streams that never run at the same time may have the same.
  virtual std::optional<std::uint64_t> stream_number(void* stream) = 0;
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

  virtual std::shared_ptr<LoadedModule> load(const Code& code) = 0;
  virtual void launch(void* stream, const LoadedKernel& kernel, const LaunchConfig& config,
                      std::span<const Argument> arguments, const LaunchNotes& notes) = 0;
  // Nothing where it is not known which one it is, or what it writes.
  virtual std::optional<KernelAhead> kernel_ahead(void* stream) = 0;

  // Encodes a specification that the builder has found legal.
  virtual TensorMap encode(const TensorMapSpec& spec) = 0;
};

// wm::launch with notes.
void launch(const Stream& stream, const Kernel& kernel, const LaunchConfig& config, std::span<const Argument> arguments,
            const LaunchNotes& notes);

// The GPUs there are; where there is none, `problem` says why.
std::vector<DeviceInfo> list_cuda_devices(std::string& problem);
std::shared_ptr<Backend> open_cuda_device(int ordinal);
std::vector<DeviceInfo> list_virtual_devices();
std::shared_ptr<Backend> open_virtual_device(const Architecture& arch, std::optional<int> multiprocessors);

// "grid 4x1x1, block 128x1x1, 1024 B of dynamic shared memory"
std::string describe(const LaunchConfig& config);

}  // namespace wm::runtime
