// The driver's allocations and pointers.
#include <algorithm>
#include <cstring>

#include "cudart/capture.hpp"
#include "cudart/copies.hpp"
#include "cudart/face.hpp"
#include "cudart/memory.hpp"

using namespace wm::cudart;

namespace {
std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }
}  // namespace

WARPMILL_FACE CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  return context_answer([&] {
    require(address != nullptr && bytes > 0);
    refuse_unsafe_in_capture();
    *address = allocate_device(bytes);
  });
}
WARPMILL_FACE CUresult cuMemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned) {
  return context_answer([&] {
    require(address != nullptr && pitch != nullptr && width > 0 && height > 0);
    const Pitched rows = pitched(width, height);
    *address = allocate_device(rows.bytes);
    *pitch = rows.pitch;
  });
}
WARPMILL_FACE CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned) {
  return context_answer([&] {
    require(address != nullptr && bytes > 0);
    *address = allocate_managed(bytes);
  });
}
WARPMILL_FACE CUresult cuMemFree(CUdeviceptr address) {
  return context_answer([&] {
    if (address == 0) return;
    wait_for_users(address);
    free_device(address);
  });
}
WARPMILL_FACE CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return context_answer([&] {
    require(pointer != nullptr && bytes > 0);
    *pointer = allocate_host(bytes, flags);
  });
}
WARPMILL_FACE CUresult cuMemAllocHost(void** pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }
WARPMILL_FACE CUresult cuMemFreeHost(void* pointer) {
  return context_answer([&] {
    wait_for_users(address_of(pointer));
    free_host(pointer);
  });
}
WARPMILL_FACE CUresult cuMemHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return context_answer([&] { register_host(pointer, bytes, flags); });
}
WARPMILL_FACE CUresult cuMemHostUnregister(void* pointer) {
  return context_answer([&] { unregister_host(pointer); });
}
WARPMILL_FACE CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* host, unsigned) {
  return context_answer([&] {
    const auto range = range_of(address_of(host));
    require(address != nullptr && range && range->kind != MemoryKind::device);
    *address = address_of(host);
  });
}
WARPMILL_FACE CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
  return context_answer([&] {
    const auto range = range_of(address_of(host));
    require(flags != nullptr && range.has_value());
    *flags = range->flags;
  });
}
WARPMILL_FACE CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return context_answer([&] {
    const std::size_t all = Platform::get().chip().memory_bytes;
    if (total != nullptr) *total = all;
    if (free != nullptr) *free = all - std::min(all, used_bytes(current_device()));
  });
}
WARPMILL_FACE CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return context_answer([&] {
    const auto range = range_of(address);
    require(range.has_value(), cudaErrorSymbolNotFound);
    if (base != nullptr) *base = range->address;
    if (bytes != nullptr) *bytes = range->bytes;
  });
}
namespace {
// How many bytes an attribute of a pointer has; 0 of those that are not there.
std::size_t bytes_of(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return 8;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return 4;
    default: return 0;
  }
}

std::uint64_t attribute_of(const MemoryRange& range, CUpointer_attribute attribute, CUdeviceptr address) {
  const bool on_device = range.kind == MemoryKind::device || range.kind == MemoryKind::managed;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return reinterpret_cast<std::uintptr_t>(handle_of(&primary_context(range.device)));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return address;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: return range.kind == MemoryKind::device ? 0 : address;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return range.kind == MemoryKind::managed ? 1 : 0;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return range.id;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return static_cast<std::uint32_t>(range.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return range.address;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return range.bytes;
    case CU_POINTER_ATTRIBUTE_MAPPED: return 1;
    default: return 0;
  }
}
}  // namespace

WARPMILL_FACE CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return context_answer([&] {
    const auto range = range_of(address);
    require(value != nullptr && range.has_value());
    require(bytes_of(attribute) != 0, cudaErrorNotSupported);
    require(attribute != CU_POINTER_ATTRIBUTE_HOST_POINTER || range->kind != MemoryKind::device);
    const std::uint64_t is = attribute_of(*range, attribute, address);
    std::memcpy(value, &is, bytes_of(attribute));
  });
}
// Of memory that is not CUDA's this one says zeros, and no device.
WARPMILL_FACE CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values,
                                              CUdeviceptr address) {
  return context_answer([&] {
    require(count == 0 || (attributes != nullptr && values != nullptr));
    const auto range = range_of(address);
    for (unsigned i = 0; i < count; ++i) {
      require(bytes_of(attributes[i]) != 0, cudaErrorNotSupported);
      require(values[i] != nullptr);
      const bool of_device = attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
      const std::uint64_t none = of_device ? static_cast<std::uint32_t>(CU_DEVICE_INVALID) : 0;
      const std::uint64_t is = range ? attribute_of(*range, attributes[i], address) : none;
      std::memcpy(values[i], &is, bytes_of(attributes[i]));
    }
  });
}
