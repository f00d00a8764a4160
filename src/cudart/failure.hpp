// How a call fails: with NVIDIA's code, and where that says too little, a line on standard error.
#pragma once

#include <string>
#include <string_view>

#include <driver_types.h>

namespace wm {
class Error;
}

namespace wm::cudart {

// Thrown inside; what the program sees is its status.
struct Failure {
  cudaError_t status;
};

[[noreturn]] void fail(cudaError_t status);
[[noreturn]] void fail(cudaError_t status, std::string_view why);
inline void require(bool holds, cudaError_t otherwise = cudaErrorInvalidValue) {
  if (!holds) fail(otherwise);
}

void tell(std::string_view why);         // "warpmill: ..." on standard error
void tell_once(const std::string& why);  // not again in the same words

cudaError_t status_of(const Error& error);
// The status of the exception that is being handled.
cudaError_t status_of_exception() noexcept;

// What the two faces call an error; null where there is no such code.
const char* error_name(cudaError_t status);
const char* error_string(cudaError_t status);
const char* driver_error_name(int result);

}  // namespace wm::cudart
