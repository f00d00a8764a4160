// Which stream a null handle means. Calls that take streams are compiled twice: as they are, and under the names that
// CUDA's headers give them for programs built with --default-stream per-thread.
#pragma once

#include "cudart/stream.hpp"

namespace wm::cudart {

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
inline constexpr bool per_thread_default = true;
#else
inline constexpr bool per_thread_default = false;
#endif

namespace {
inline std::shared_ptr<Stream> stream_of(cudaStream_t handle) {
  return Streams::get().find(handle, per_thread_default);
}
}  // namespace

}  // namespace wm::cudart
