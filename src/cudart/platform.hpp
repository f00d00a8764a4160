// What all calls share: the virtual GPU, its devices, which of them a thread uses, and the fault that ended them.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "cudart/failure.hpp"
#include "cudart/settings.hpp"
#include "vgpu/vgpu.hpp"

namespace wm::cudart {

// One machine serves all virtual devices, so that an address means the same on each of them and copies between them
// need no more than others. It lives as long as the process: the program's last destructors may still call.
class Platform {
 public:
  // Made when first asked for. Fails with cudaErrorInitializationError in a child of the process that made it.
  static Platform& get();
  static bool exists();  // whether this process has made it

  const Settings settings;
  vgpu::Machine machine;

  int devices() const { return settings.devices; }
  const vgpu::Chip& chip() const { return machine.chip(); }

  // A kernel that failed leaves nothing usable behind. The program learns of it when it waits for the kernel, and from
  // then on every call fails.
  void fault(cudaError_t status);
  void report_fault();  // called where the program has waited: throws
  void check() const {  // throws where a fault was reported
    if (const cudaError_t status = reported_.load(std::memory_order_relaxed)) fail(status);
  }
  cudaError_t reported() const { return reported_; }
  cudaError_t fault_status() const { return faulted_.load(std::memory_order_relaxed); }
  bool faulted() const { return fault_status() != cudaSuccess; }
  void reset();  // cudaDeviceReset

  void print(std::string text);  // what kernels print; shown when the program waits
  void show_printed();

 private:
  explicit Platform(Settings asked);
  std::atomic<cudaError_t> faulted_ = cudaSuccess, reported_ = cudaSuccess;
  std::mutex print_mutex_;
  std::string printed_;
};

// The thread's device.
int current_device();
void set_current_device(int device);
void require_device(int device);  // there is one of this number

}  // namespace wm::cudart
