// The runtime's allocations, pools and pointers.
#include <algorithm>
#include <cstring>

#include "cudart/capture.hpp"
#include "cudart/copies.hpp"
#include "cudart/face.hpp"
#include "cudart/memory.hpp"
#include "cudart/registration.hpp"

using namespace wm::cudart;

namespace {

template <class T>
void* pointer_to(T address) {
  return reinterpret_cast<void*>(address);
}
std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

void* allocate(std::size_t bytes) {
  refuse_unsafe_in_capture();
  return bytes > 0 ? pointer_to(allocate_device(bytes)) : nullptr;
}

}  // namespace

WARPMILL_FACE cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return answer([&] {
    require(pointer != nullptr);
    *pointer = allocate(bytes);
  });
}
WARPMILL_FACE cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return answer([&] {
    require(pointer != nullptr && pitch != nullptr);
    const Pitched rows = pitched(width, height);
    *pointer = allocate(rows.bytes);
    *pitch = rows.pitch;
  });
}
WARPMILL_FACE cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  return answer([&] {
    require(pointer != nullptr);
    const Pitched rows = pitched(extent.width, extent.height, extent.depth);
    *pointer = {allocate(rows.bytes), rows.pitch, extent.width, extent.height};
  });
}
WARPMILL_FACE cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return answer([&] {
    require(pointer != nullptr && (flags == cudaMemAttachGlobal || flags == cudaMemAttachHost));
    *pointer = bytes > 0 ? pointer_to(allocate_managed(bytes)) : nullptr;
  });
}
WARPMILL_FACE cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return answer([&] {
    require(pointer != nullptr && flags <= 7);
    *pointer = bytes > 0 ? allocate_host(bytes, flags) : nullptr;
  });
}
WARPMILL_FACE cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return cudaHostAlloc(pointer, bytes, 0); }

// Frees wait for the work that may use the memory.
WARPMILL_FACE cudaError_t cudaFree(void* pointer) {
  return answer([&] {
    if (pointer == nullptr) return;
    wait_for_users(address_of(pointer));
    free_device(address_of(pointer));
  });
}
WARPMILL_FACE cudaError_t cudaFreeHost(void* pointer) {
  return answer([&] {
    if (pointer == nullptr) return;
    wait_for_users(address_of(pointer));
    free_host(pointer);
  });
}
WARPMILL_FACE cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return answer([&] { register_host(pointer, bytes, flags); });
}
WARPMILL_FACE cudaError_t cudaHostUnregister(void* pointer) {
  return answer([&] { unregister_host(pointer); });
}
WARPMILL_FACE cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return answer([&] {
    const auto range = range_of(address_of(host));
    require(device != nullptr && flags == 0 && range && range->kind != MemoryKind::device);
    *device = host;
  });
}
WARPMILL_FACE cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return answer([&] {
    const auto range = range_of(address_of(host));
    require(flags != nullptr && range && (range->kind == MemoryKind::host || range->kind == MemoryKind::registered));
    *flags = range->flags & ~unsigned{cudaHostAllocPortable};  // which all memory is, and nobody is told
  });
}

WARPMILL_FACE cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return answer([&] {
    const std::size_t all = Platform::get().chip().memory_bytes;
    if (total != nullptr) *total = all;
    if (free != nullptr) *free = all - std::min(all, used_bytes(current_device()));
  });
}
WARPMILL_FACE cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return answer([&] {
    require(attributes != nullptr);
    *attributes = {};
    const auto range = range_of(address_of(pointer));
    void* const same = const_cast<void*>(pointer);
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    if (!range) {
      if (Platform::get().machine.allocation(address_of(pointer)).second == 0) {
        attributes->hostPointer = same;
        return;
      }
      attributes->type = cudaMemoryTypeDevice;  // a variable of a module
      attributes->device = current_device();
      attributes->devicePointer = same;
      return;
    }
    attributes->device = range->device;
    attributes->devicePointer = same;
    attributes->hostPointer = range->kind == MemoryKind::device ? nullptr : same;
    attributes->type = range->kind == MemoryKind::device    ? cudaMemoryTypeDevice
                       : range->kind == MemoryKind::managed ? cudaMemoryTypeManaged
                                                            : cudaMemoryTypeHost;
  });
}

WARPMILL_FACE cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  return answer([&] {
    require(pointer != nullptr);
    *pointer = pointer_to(variable_of(symbol).address);
  });
}
WARPMILL_FACE cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return answer([&] {
    require(bytes != nullptr);
    *bytes = variable_of(symbol).bytes;
  });
}

WARPMILL_FACE cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return answer([&] {
    require_device(to_device);
    require_device(from_device);
    copy_and_wait(*Streams::get().legacy(current_device()), flat_copy(to, from, bytes), cudaMemcpyDefault);
  });
}
WARPMILL_FACE cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                              cudaStream_t stream) {
  return answer([&] {
    require_device(to_device);
    require_device(from_device);
    copy_async(*Streams::get().find(stream, false), flat_copy(to, from, bytes), cudaMemcpyDefault);
  });
}
// Hints about managed memory, which here lies in one place: they are kept, and change nothing.
WARPMILL_FACE cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                                        cudaMemLocation location) {
  return answer([&] {
    const bool device = location.type == cudaMemLocationTypeDevice;
    require(!device || (location.id >= 0 && location.id < Platform::get().devices()));
    change_hints(address_of(pointer), bytes, [&](MemoryRange& range) {
      if (advice == cudaMemAdviseSetReadMostly) range.read_mostly = 1;
      if (advice == cudaMemAdviseUnsetReadMostly) range.read_mostly = 0;
      if (advice == cudaMemAdviseSetPreferredLocation) range.preferred = device ? location.id : cudaCpuDeviceId;
      if (advice == cudaMemAdviseUnsetPreferredLocation) range.preferred = cudaInvalidDeviceId;
    });
  });
}
WARPMILL_FACE cudaError_t cudaMemRangeGetAttribute(void* value, size_t size, cudaMemRangeAttribute attribute,
                                                   const void* pointer, size_t bytes) {
  return answer([&] {
    require(value != nullptr && size >= sizeof(int));
    change_hints(address_of(pointer), bytes, [&](const MemoryRange& range) {
      const int hint = attribute == cudaMemRangeAttributeReadMostly             ? range.read_mostly
                       : attribute == cudaMemRangeAttributePreferredLocation    ? range.preferred
                       : attribute == cudaMemRangeAttributeLastPrefetchLocation ? range.prefetched_to
                                                                                : cudaInvalidDeviceId;
      std::memcpy(value, &hint, sizeof(hint));
    });
  });
}
