// The virtual GPU of this process.
#include "cudart/platform.hpp"

#include <cstdio>
#include <cstdlib>

#include <pthread.h>

#include "common/environment.hpp"

namespace wm::cudart {
namespace {

std::atomic<bool> is_here = false;  // made by this process, not by the one it was forked from

// CUDA_VISIBLE_DEVICES, as far as a number of equal devices can follow it: a list of numbers, up to the first that is
// none of theirs.
int visible(int devices) {
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return devices;
  int count = 0;
  for (const char* at = text; *at != '\0';) {
    char* end = nullptr;
    const long number = std::strtol(at, &end, 10);
    if (end == at || number < 0 || number >= devices) break;
    ++count;
    at = *end == ',' ? end + 1 : end;
  }
  return count;
}

Settings settings_of_environment() {
  Settings settings = settings_from_text(environment(settings_variable));
  settings.devices = visible(settings.devices);
  return settings;
}

vgpu::Chip chip_of(const Settings& settings) {
  vgpu::Chip chip = vgpu::Chip::of(Architecture::parse(settings.arch));
  if (settings.multiprocessors > 0) chip.multiprocessors = settings.multiprocessors;
  return chip;
}

thread_local int device_of_thread = 0;

}  // namespace

Platform::Platform(Settings asked) : settings(std::move(asked)), machine(chip_of(settings)) {}

bool Platform::exists() { return is_here.load(std::memory_order_relaxed); }

Platform& Platform::get() {
  static Platform* const platform = [] {
    auto* made = new Platform(settings_of_environment());
    is_here = true;
    ::pthread_atfork(nullptr, nullptr, [] { is_here = false; });
    return made;
  }();
  if (!exists()) fail(cudaErrorInitializationError);
  return *platform;
}

void Platform::fault(cudaError_t status) {
  cudaError_t none = cudaSuccess;
  faulted_.compare_exchange_strong(none, status);
}

void Platform::report_fault() {
  show_printed();
  const cudaError_t status = faulted_;
  if (status == cudaSuccess) return;
  reported_ = status;
  fail(status);
}

void Platform::reset() {
  if (faulted_ != cudaSuccess) faulted_ = reported_ = cudaErrorDevicesUnavailable;  // as on a chip: the process is lost
}

void Platform::print(std::string text) {
  const std::lock_guard lock(print_mutex_);
  printed_ += text;
}

void Platform::show_printed() {
  const std::lock_guard lock(print_mutex_);
  if (printed_.empty()) return;
  std::fwrite(printed_.data(), 1, printed_.size(), stdout);
  printed_.clear();
}

int current_device() { return device_of_thread; }

void set_current_device(int device) {
  require_device(device);
  device_of_thread = device;
}

void require_device(int device) { require(device >= 0 && device < Platform::get().devices(), cudaErrorInvalidDevice); }

}  // namespace wm::cudart
