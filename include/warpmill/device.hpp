// Devices, streams and events: an NVIDIA GPU through the driver ("cuda:0"), or the virtual GPU ("virtual:sm_90a").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpmill/api.hpp"
#include "warpmill/architecture.hpp"

namespace wm {

namespace runtime {
class Backend;
}
class Event;

enum class DeviceKind { cuda, virtual_gpu };

struct DeviceInfo {
  std::string id;    // what Device::open takes
  std::string name;  // "NVIDIA H200"
  DeviceKind kind = DeviceKind::virtual_gpu;
  Architecture arch;
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
  std::size_t l2_bytes = 0;
  std::size_t shared_bytes_per_block = 0;  // the most a block may ask for
  std::size_t shared_bytes_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  int threads_per_multiprocessor = 0;
  int blocks_per_cluster = 1;  // the most; 1 where the architecture has no clusters
};

// A device is a handle: copies name the same device. Opening an id twice gives the same device.
class WARPMILL_API Device {
 public:
  static std::vector<DeviceInfo> list();    // GPUs first, then the virtual ones
  static Device open(std::string_view id);  // "cuda:0", "virtual" (sm_90a), "virtual:sm_80", "virtual:sm_90a:sms=4"
  static Device best();                     // the first GPU, else the virtual sm_90a
  static std::string gpu_problem();         // why no GPU can be used here; empty where one can

  const DeviceInfo& info() const;
  void synchronize() const;
  bool operator==(const Device& other) const { return backend_ == other.backend_; }

  explicit Device(std::shared_ptr<runtime::Backend> backend) : backend_(std::move(backend)) {}
  runtime::Backend& backend() const { return *backend_; }

 private:
  std::shared_ptr<runtime::Backend> backend_;
};

// Work in order on one device. Made here (it does not wait for the default stream), or the caller's own (a
// cudaStream_t or CUstream), which stays the caller's.
class WARPMILL_API Stream {
 public:
  explicit Stream(const Device& device);
  static Stream wrap(const Device& device, void* native);  // nullptr is the device's default stream
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;

  const Device& device() const { return device_; }
  void* native() const { return native_; }

  // Addresses are device addresses. An upload returns when it is done (so it cannot be captured into a graph); a
  // download has written its destination only after synchronize().
  void upload(std::uint64_t destination, std::span<const std::byte> source) const;
  void download(std::span<std::byte> destination, std::uint64_t source) const;
  void copy(std::uint64_t destination, std::uint64_t source, std::size_t bytes) const;
  void fill(std::uint64_t destination, std::byte value, std::size_t bytes) const;
  void record(const Event& event) const;
  void wait(const Event& event) const;
  void synchronize() const;

 private:
  Stream(const Device& device, void* native, bool owned);
  Device device_;
  void* native_ = nullptr;
  bool owned_ = false;
};

class WARPMILL_API Event {
 public:
  explicit Event(const Device& device);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  const Device& device() const { return device_; }
  void* native() const { return native_; }
  void synchronize() const;
  // Milliseconds from `start` to this event; both recorded and done.
  double since(const Event& start) const;

 private:
  Device device_;
  void* native_ = nullptr;
};

}  // namespace wm
