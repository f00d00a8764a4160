// The driver's allocations and pointers.
#include <algorithm>

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
WARPMILL_FACE CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return context_answer([&] {
    const auto range = range_of(address);
    require(value != nullptr && range.has_value());
    const bool on_device = range->kind == MemoryKind::device || range->kind == MemoryKind::managed;
    switch (attribute) {
      case CU_POINTER_ATTRIBUTE_CONTEXT:
        *static_cast<CUcontext*>(value) = handle_of(&primary_context(range->device));
        return;
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(value) = on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        return;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *static_cast<CUdeviceptr*>(value) = address; return;
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        require(range->kind != MemoryKind::device);
        *static_cast<void**>(value) = reinterpret_cast<void*>(address);
        return;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED: *static_cast<unsigned*>(value) = range->kind == MemoryKind::managed; return;
      case CU_POINTER_ATTRIBUTE_BUFFER_ID: *static_cast<unsigned long long*>(value) = range->id; return;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(value) = range->device; return;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *static_cast<CUdeviceptr*>(value) = range->address; return;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<std::size_t*>(value) = range->bytes; return;
      case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *static_cast<unsigned*>(value) = 0; return;
      default: fail(cudaErrorNotSupported);
    }
  });
}
