// The runtime's streams and events as objects.
#include "cudart/capture.hpp"
#include "cudart/face.hpp"
#include "cudart/stream.hpp"

using namespace wm::cudart;

namespace {
constexpr int least_priority = 0, greatest_priority = -5;

cudaError_t create_stream(cudaStream_t* stream, unsigned flags, int priority) {
  return answer([&] {
    require(stream != nullptr && (flags & ~unsigned{cudaStreamNonBlocking}) == 0);
    const int clamped = std::max(greatest_priority, std::min(least_priority, priority));
    *stream = reinterpret_cast<cudaStream_t>(Streams::get().create(current_device(), flags, clamped).get());
  });
}
}  // namespace

WARPMILL_FACE cudaError_t cudaStreamCreate(cudaStream_t* stream) { return create_stream(stream, 0, 0); }
WARPMILL_FACE cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create_stream(stream, flags, 0);
}
WARPMILL_FACE cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}
WARPMILL_FACE cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return answer([&] { Streams::get().destroy(stream); });
}
WARPMILL_FACE cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return answer([&] {
    if (least != nullptr) *least = least_priority;
    if (greatest != nullptr) *greatest = greatest_priority;
  });
}
WARPMILL_FACE cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return answer([&] {
    require(mode != nullptr);
    *mode = exchange_capture_mode(*mode);
  });
}

WARPMILL_FACE cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return answer([&] {
    require(event != nullptr && flags <= 7);
    *event = reinterpret_cast<cudaEvent_t>(create_event(flags));
  });
}
WARPMILL_FACE cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
WARPMILL_FACE cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return answer([&] { destroy_event(event); });
}
WARPMILL_FACE cudaError_t cudaEventQuery(cudaEvent_t event) {
  return answer([&] { require(Streams::get().reached(known_event(event)), cudaErrorNotReady); });
}
WARPMILL_FACE cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return answer([&] { Streams::get().wait(known_event(event)); });
}
WARPMILL_FACE cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return answer([&] {
    require(milliseconds != nullptr);
    *milliseconds = milliseconds_between(known_event(start), known_event(end));
  });
}
