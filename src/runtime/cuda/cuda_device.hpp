// A GPU through the driver, in its primary context: the one that a program's CUDA runtime, and PyTorch, use too.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/cuda/driver.hpp"

namespace wm::runtime::cuda {

class CudaDevice final : public Backend, public std::enable_shared_from_this<CudaDevice> {
 public:
  explicit CudaDevice(int ordinal);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const DeviceInfo& info() const override { return info_; }
  std::uint64_t allocate(std::size_t bytes) override;
  void free(std::uint64_t address) noexcept override;
  void* create_stream() override;
  void destroy_stream(void* stream) noexcept override;
  std::optional<std::uint64_t> stream_number(void* stream) override;
  void check_stream(void* stream) override;
  void synchronize_stream(void* stream) override;
  void synchronize() override;
  void* create_event() override;
  void destroy_event(void* event) noexcept override;
  void record_event(void* event, void* stream) override;
  void wait_event(void* stream, void* event) override;
  void synchronize_event(void* event) override;
  double milliseconds_between(void* start, void* end) override;
  void upload(void* stream, std::uint64_t destination, std::span<const std::byte> source) override;
  void download(void* stream, std::span<std::byte> destination, std::uint64_t source) override;
  void copy(void* stream, std::uint64_t destination, std::uint64_t source, std::size_t bytes) override;
  void fill(void* stream, std::uint64_t destination, std::byte value, std::size_t bytes) override;
  std::shared_ptr<LoadedModule> load(const Code& code) override;
  void launch(void* stream, const LoadedKernel& kernel, const LaunchConfig& config, std::span<const Argument> arguments,
              const LaunchNotes& notes) override;
  std::optional<KernelAhead> kernel_ahead(void* stream) override;
  TensorMap encode(const TensorMapSpec& spec) override;

  const Driver& driver() const { return driver_; }

  // Makes the context current, and gives the caller's back afterwards.
  class Current {
   public:
    explicit Current(CudaDevice& device);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Driver& driver_;
    bool pushed_ = false;
  };

  // For destructors: does it in the context; where that is gone, what was in it is gone too.
  template <class Undo>
  void quietly(const Undo& undo) noexcept {
    try {
      const Current current(*this);
      undo();
    } catch (const std::exception&) {
    }
  }

  // Throws where the driver refused; `describe` says what was being done, and is only called then.
  template <class Describe>
  void check(CUresult result, const Describe& describe, ErrorCode otherwise = ErrorCode::invalid_argument) {
    if (result != CUDA_SUCCESS) [[unlikely]]
      fail(result, describe(), otherwise);
  }
  [[noreturn]] void fail(CUresult result, const std::string& doing, ErrorCode otherwise);

 private:
  // Nothing where the stream is not captured; no node where there is none before what is captured next, or several.
  std::optional<Place> place_in_capture(void* stream) const;
  CUfunction kernel_behind(const Place& place) const;  // ahead of what is captured there; nullptr: no kernel

  const Driver& driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  DeviceInfo info_;
  std::mutex failure_mutex_;
  std::string first_failure_;           // of a kernel; the context is of no use from then on
  std::mutex capture_mutex_;            // from a captured launch to what is known of its node
  std::set<CUfunction> early_kernels_;  // that let the next kernel start early, of those that were captured
  std::deque<KernelAhead> told_;        // of captured kernels; the latest come first
};

// cuda_module.cpp
std::shared_ptr<LoadedModule> load_module(std::shared_ptr<CudaDevice> device, const Code& code);

}  // namespace wm::runtime::cuda
