// What the faces share.
#include "cudart/face.hpp"

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cudart/context.hpp"
#include "cudart/reporter.hpp"
#include "cudart/stream.hpp"

namespace wm::cudart {

thread_local cudaError_t last_error = cudaSuccess;

namespace {

// What the program has asked for is done before it ends, if that takes no longer than this.
constexpr std::chrono::seconds patience_at_exit{2};

void finish() {
  if (!Platform::exists()) return;
  if (!Streams::get().drain(patience_at_exit)) {
    Reporter::get().end_runs();
    Streams::get().drain(patience_at_exit);
  }
  Platform::get().show_printed();
  Reporter::get().finish();
}

}  // namespace

void enter_driver() {
  Platform& platform = Platform::get();
  static const bool registered = std::atexit(finish) == 0;
  static_cast<void>(registered);
  require(platform.devices() > 0, cudaErrorNoDevice);
  platform.check();
}

void enter() {
  enter_driver();
  note_runtime_thread();
}

CUresult driver_result(cudaError_t status) {
  switch (status) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidHostPointer:
    case cudaErrorInvalidDevicePointer: return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInvalidDeviceFunction: return CUDA_ERROR_INVALID_HANDLE;
    case cudaErrorInvalidSymbol: return CUDA_ERROR_NOT_FOUND;
    default: return static_cast<CUresult>(status);
  }
}

int missing(const char* name) {
  const bool of_runtime = std::string_view(name).find("cuda") != std::string_view::npos;  // cuda... or __cuda...
  tell_once(std::string(name) +
            " is not there on the virtual GPU: " + (of_runtime ? "cudaErrorNotSupported" : "CUDA_ERROR_NOT_SUPPORTED"));
  if (of_runtime) last_error = cudaErrorNotSupported;
  return cudaErrorNotSupported;
}

}  // namespace wm::cudart
