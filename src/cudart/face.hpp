// The faces of the runtime and the driver: every exported function answers through one of these.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "cudart/context.hpp"
#include "cudart/platform.hpp"

// What the libraries export: of C, and seen from outside.
#define WARPMILL_FACE extern "C" __attribute__((visibility("default")))

namespace wm::cudart {

extern thread_local cudaError_t last_error;  // of the runtime's calls

// Ready to be used: there is a device, and no kernel has faulted. The runtime brings a context with it.
void enter();
void enter_driver();

template <class Call>
cudaError_t answer(const Call& call) noexcept {
  try {
    enter();
    call();
    return cudaSuccess;
  } catch (...) {
    const cudaError_t status = status_of_exception();
    if (status != cudaErrorNotReady) last_error = status;
    return status;
  }
}

// The driver's words for the runtime's errors.
CUresult driver_result(cudaError_t status);

// Of the driver's functions that need no context, and of those that do.
template <class Call>
CUresult driver_answer(const Call& call) noexcept {
  try {
    enter_driver();
    require_initialised();
    call();
    return CUDA_SUCCESS;
  } catch (...) {
    return driver_result(status_of_exception());
  }
}

template <class Call>
CUresult context_answer(const Call& call) noexcept {
  return driver_answer([&] {
    require_context();
    call();
  });
}

// What is not there says so: cudaErrorNotSupported, and a line that names it.
int missing(const char* name);

}  // namespace wm::cudart
