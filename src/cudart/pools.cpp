// Memory pools, which only count: the runtime's calls and the driver's. The two number everything alike.
#include <algorithm>
#include <cstring>

#include "cudart/face.hpp"
#include "cudart/memory.hpp"

using namespace wm::cudart;

namespace {

template <class Handle>
void put(Handle* handle, Pool* (*pool_of)(int), int device) {
  require(handle != nullptr);
  require_device(device);
  *handle = reinterpret_cast<Handle>(pool_of(device));
}

void choose(int device, const void* pool) {
  require_device(device);
  set_current_pool(device, &known_pool(pool));
}

template <class Handle>
void create(Handle* handle, bool on_device, int device, std::size_t most) {
  require(handle != nullptr && on_device);
  require_device(device);
  *handle = reinterpret_cast<Handle>(create_pool(device, most));
}

void trim(const void* handle, std::size_t keep) {
  Pool& pool = known_pool(handle);
  pool.reserved = std::max(pool.used, std::min(pool.reserved, keep));
}

// The attribute as the pool keeps it, by its size.
template <class Visit>
void with_attribute(Pool& pool, int attribute, const Visit& visit) {
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies: return visit(pool.reuse_event);
    case cudaMemPoolReuseAllowOpportunistic: return visit(pool.reuse_opportunistic);
    case cudaMemPoolReuseAllowInternalDependencies: return visit(pool.reuse_internal);
    case cudaMemPoolAttrReleaseThreshold: return visit(pool.release_threshold);
    case cudaMemPoolAttrReservedMemCurrent: return visit(pool.reserved);
    case cudaMemPoolAttrReservedMemHigh: return visit(pool.most_reserved);
    case cudaMemPoolAttrUsedMemCurrent: {
      std::size_t counted = pool.used + pool.freed_beside;
      return visit(counted);
    }
    case cudaMemPoolAttrUsedMemHigh: return visit(pool.most_used);
    default: fail(cudaErrorInvalidValue);
  }
}
void get_attribute(const void* handle, int attribute, void* value) {
  require(value != nullptr);
  with_attribute(known_pool(handle), attribute, [&](auto& kept) { std::memcpy(value, &kept, sizeof(kept)); });
}
void set_attribute(const void* handle, int attribute, const void* value) {
  require(value != nullptr && attribute != cudaMemPoolAttrReservedMemCurrent &&
          attribute != cudaMemPoolAttrUsedMemCurrent);
  with_attribute(known_pool(handle), attribute, [&](auto& kept) { std::memcpy(&kept, value, sizeof(kept)); });
}

}  // namespace

WARPMILL_FACE cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return answer([&] { put(pool, &default_pool, device); });
}
WARPMILL_FACE cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return answer([&] { put(pool, &current_pool, device); });
}
WARPMILL_FACE cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return answer([&] { choose(device, pool); });
}
WARPMILL_FACE cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return answer([&] {
    require(properties != nullptr);
    create(pool, properties->location.type == cudaMemLocationTypeDevice, properties->location.id, properties->maxSize);
  });
}
WARPMILL_FACE cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return answer([&] { destroy_pool(&known_pool(pool)); });
}
WARPMILL_FACE cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  return answer([&] { trim(pool, keep); });
}
WARPMILL_FACE cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc*, size_t) {
  return answer([&] { known_pool(pool); });
}
WARPMILL_FACE cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation*) {
  return answer([&] {
    known_pool(pool);
    *flags = cudaMemAccessFlagsProtReadWrite;
  });
}
WARPMILL_FACE cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return answer([&] { get_attribute(pool, attribute, value); });
}
WARPMILL_FACE cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return answer([&] { set_attribute(pool, attribute, value); });
}

WARPMILL_FACE CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return driver_answer([&] { put(pool, &default_pool, device); });
}
WARPMILL_FACE CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return driver_answer([&] { put(pool, &current_pool, device); });
}
WARPMILL_FACE CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return driver_answer([&] { choose(device, pool); });
}
WARPMILL_FACE CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return driver_answer([&] {
    require(properties != nullptr);
    create(pool, properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE, properties->location.id,
           properties->maxSize);
  });
}
WARPMILL_FACE CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return driver_answer([&] { destroy_pool(&known_pool(pool)); });
}
WARPMILL_FACE CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  return driver_answer([&] { trim(pool, keep); });
}
WARPMILL_FACE CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc*, size_t) {
  return driver_answer([&] { known_pool(pool); });
}
WARPMILL_FACE CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation*) {
  return driver_answer([&] {
    require(flags != nullptr);
    known_pool(pool);
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  });
}
WARPMILL_FACE CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return driver_answer([&] { get_attribute(pool, attribute, value); });
}
WARPMILL_FACE CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return driver_answer([&] { set_attribute(pool, attribute, value); });
}
