// The runtime's devices, versions and errors.
#include <algorithm>
#include <cstring>

#include "cudart/capture.hpp"
#include "cudart/device.hpp"
#include "cudart/face.hpp"
#include "cudart/memory.hpp"
#include "cudart/stream.hpp"

using namespace wm::cudart;

namespace {
// Of calls that a fault does not end.
template <class Call>
cudaError_t answer_after_fault(const Call& call) noexcept {
  try {
    call();
    return cudaSuccess;
  } catch (...) {
    return last_error = status_of_exception();
  }
}

constexpr int version = CUDART_VERSION;
thread_local unsigned device_flags = 0;
std::atomic<std::size_t> limits[8] = {1024, 8650752, 8 << 20, 2, 2048, 128, 0, 0};
}  // namespace

WARPMILL_FACE cudaError_t cudaGetDeviceCount(int* count) {
  return answer([&] {
    require(count != nullptr);
    *count = Platform::get().devices();
  });
}
WARPMILL_FACE cudaError_t cudaGetDevice(int* device) {
  return answer([&] {
    require(device != nullptr);
    *device = current_device();
  });
}
WARPMILL_FACE cudaError_t cudaSetDevice(int device) {
  return answer([&] { set_current_device(device); });
}
WARPMILL_FACE cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return answer([&] { require_device(device); });
}
WARPMILL_FACE cudaError_t cudaSetValidDevices(int*, int) {
  return answer([] {});
}
WARPMILL_FACE cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
  return answer([&] { *device = 0; });
}
WARPMILL_FACE cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return answer([&] { device_flags = flags; });
}
WARPMILL_FACE cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return answer([&] { *flags = device_flags | cudaDeviceMapHost; });
}
WARPMILL_FACE cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return answer([&] {
    require(properties != nullptr);
    require_device(device);
    *properties = device_properties(device);
  });
}
WARPMILL_FACE cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return answer([&] {
    require_device(device);
    const auto found = device_attribute(attribute);
    require(value != nullptr && found.has_value());
    *value = *found;
  });
}
WARPMILL_FACE cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return answer([&] {
    require_device(device);
    const std::string id = pci_bus_id(device);
    require(text != nullptr && length > static_cast<int>(id.size()));
    std::strcpy(text, id.c_str());
  });
}
WARPMILL_FACE cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return answer([&] {
    require(device != nullptr && text != nullptr);
    for (int i = 0; i < Platform::get().devices(); ++i)
      if (pci_bus_id(i) == text) {
        *device = i;
        return;
      }
    fail(cudaErrorInvalidDevice);
  });
}
WARPMILL_FACE cudaError_t cudaDeviceSynchronize() {
  return answer([] {
    refuse_unsafe_in_capture();
    Streams::get().wait_for_device(current_device());
  });
}
WARPMILL_FACE cudaError_t cudaDeviceReset() {
  return answer_after_fault([] {
    if (!Platform::get().faulted()) Streams::get().wait_for_device(current_device());
    free_everything(current_device());
    Platform::get().reset();
  });
}
WARPMILL_FACE cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return answer([&] {
    require(limit >= 0 && limit < 7);
    limits[limit] = value;
  });
}
WARPMILL_FACE cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return answer([&] {
    require(value != nullptr);
    require(limit >= 0 && limit < 7);
    *value = limits[limit];
  });
}
// Preferences about caches change nothing here.
WARPMILL_FACE cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return answer([] {});
}
WARPMILL_FACE cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return answer([&] { *config = cudaFuncCachePreferNone; });
}
WARPMILL_FACE cudaError_t cudaCtxResetPersistingL2Cache() {
  return answer([] {});
}

WARPMILL_FACE cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return answer([&] {
    require_device(device);
    require_device(peer);
    *can = device != peer;
  });
}
namespace {
std::atomic<std::uint64_t> peers[64] = {};  // by device: those that it may reach
}  // namespace
WARPMILL_FACE cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return answer([&] {
    require(flags == 0);
    require_device(peer);
    require(peer != current_device(), cudaErrorPeerAccessUnsupported);
    const std::uint64_t bit = std::uint64_t{1} << peer;
    require(!(peers[current_device()].fetch_or(bit) & bit), cudaErrorPeerAccessAlreadyEnabled);
  });
}
WARPMILL_FACE cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return answer([&] {
    require_device(peer);
    const std::uint64_t bit = std::uint64_t{1} << peer;
    require(peers[current_device()].fetch_and(~bit) & bit, cudaErrorPeerAccessNotEnabled);
  });
}
WARPMILL_FACE cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int, int) {
  return answer([&] { *value = attribute == cudaDevP2PAttrPerformanceRank ? 0 : 1; });
}

WARPMILL_FACE cudaError_t cudaRuntimeGetVersion(int* number) {
  if (number == nullptr) return last_error = cudaErrorInvalidValue;
  *number = version;
  return cudaSuccess;
}
WARPMILL_FACE cudaError_t cudaDriverGetVersion(int* number) { return cudaRuntimeGetVersion(number); }

WARPMILL_FACE cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
WARPMILL_FACE cudaError_t cudaPeekAtLastError() { return last_error; }
WARPMILL_FACE const char* cudaGetErrorName(cudaError_t status) {
  const char* const name = error_name(status);
  return name != nullptr ? name : "unrecognized error code";
}
WARPMILL_FACE const char* cudaGetErrorString(cudaError_t status) {
  const char* const text = error_string(status);
  return text != nullptr ? text : "unrecognized error code";
}

WARPMILL_FACE cudaError_t cudaProfilerStart() {
  return answer([] {});
}
WARPMILL_FACE cudaError_t cudaProfilerStop() {
  return answer([] {});
}
