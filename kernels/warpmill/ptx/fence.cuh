// Fences: between threads, between the generic and the asynchronous proxy, and around tensor maps changed in memory.
//
// Each is run by every thread whose own accesses are to be ordered: a fence by one lane orders that lane alone.
#pragma once

#include "warpmill/types.cuh"

namespace wm::fence {

// fence.proxy.async: this thread's ordinary accesses before, and asynchronous ones (TMA, bulk copies, wgmma) after, in
// every memory. The narrower ones below cost less.
WM_DEVICE void proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }

// fence.proxy.async.shared::cta: the same for this block's shared memory. After writing a tile, before the barrier that
// lets a TMA store or a wgmma of it go.
WM_DEVICE void proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// fence.proxy.async.shared::cluster: for shared memory of the cluster.
WM_DEVICE void proxy_async_cluster() { asm volatile("fence.proxy.async.shared::cluster;" ::: "memory"); }

// fence.proxy.async.global: for global memory.
WM_DEVICE void proxy_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

// fence.proxy.alias: between accesses to one memory through two virtual addresses.
WM_DEVICE void proxy_alias() { asm volatile("fence.proxy.alias;" ::: "memory"); }

// fence.mbarrier_init.release.cluster: this thread's mbarrier inits become visible to the cluster and to copies, at the
// cluster barrier that follows. Orders nothing but inits.
WM_DEVICE void mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// fence.acq_rel.<scope>: the two-sided light fence.
template <Scope scope>
WM_DEVICE void acquire_release() {
  if constexpr (scope == Scope::block) asm volatile("fence.acq_rel.cta;" ::: "memory");
  if constexpr (scope == Scope::cluster) asm volatile("fence.acq_rel.cluster;" ::: "memory");
  if constexpr (scope == Scope::device) asm volatile("fence.acq_rel.gpu;" ::: "memory");
  if constexpr (scope == Scope::system) asm volatile("fence.acq_rel.sys;" ::: "memory");
}

// fence.acquire.<scope>: earlier relaxed reads become acquires (sm_90).
template <Scope scope>
WM_DEVICE void acquire() {
  if constexpr (scope == Scope::block) asm volatile("fence.acquire.cta;" ::: "memory");
  if constexpr (scope == Scope::cluster) asm volatile("fence.acquire.cluster;" ::: "memory");
  if constexpr (scope == Scope::device) asm volatile("fence.acquire.gpu;" ::: "memory");
  if constexpr (scope == Scope::system) asm volatile("fence.acquire.sys;" ::: "memory");
}

// fence.release.<scope>: later relaxed writes become releases (sm_90).
template <Scope scope>
WM_DEVICE void release() {
  if constexpr (scope == Scope::block) asm volatile("fence.release.cta;" ::: "memory");
  if constexpr (scope == Scope::cluster) asm volatile("fence.release.cluster;" ::: "memory");
  if constexpr (scope == Scope::device) asm volatile("fence.release.gpu;" ::: "memory");
  if constexpr (scope == Scope::system) asm volatile("fence.release.sys;" ::: "memory");
}

// fence.sc.<scope>: sequentially consistent with every other such fence of the scope; the only one that orders a write
// before a later read of another address.
template <Scope scope>
WM_DEVICE void sequential() {
  if constexpr (scope == Scope::block) asm volatile("fence.sc.cta;" ::: "memory");
  if constexpr (scope == Scope::cluster) asm volatile("fence.sc.cluster;" ::: "memory");
  if constexpr (scope == Scope::device) asm volatile("fence.sc.gpu;" ::: "memory");
  if constexpr (scope == Scope::system) asm volatile("fence.sc.sys;" ::: "memory");
}

// fence.proxy.tensormap::generic.release.<scope>: this thread's changes of tensor maps, before the flag or barrier that
// hands them over.
template <Scope scope>
WM_DEVICE void tensor_map_release() {
  if constexpr (scope == Scope::block) asm volatile("fence.proxy.tensormap::generic.release.cta;" ::: "memory");
  if constexpr (scope == Scope::cluster) asm volatile("fence.proxy.tensormap::generic.release.cluster;" ::: "memory");
  if constexpr (scope == Scope::device) asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
  if constexpr (scope == Scope::system) asm volatile("fence.proxy.tensormap::generic.release.sys;" ::: "memory");
}

// fence.proxy.tensormap::generic.acquire.<scope> [map], 128: by the thread that copies through a changed map, after the
// flag or barrier and before the copy.
template <Scope scope>
WM_DEVICE void tensor_map_acquire(const TensorMap* map) {
  if constexpr (scope == Scope::block)
    asm volatile("fence.proxy.tensormap::generic.acquire.cta [%0], 128;" ::"l"(map) : "memory");
  if constexpr (scope == Scope::cluster)
    asm volatile("fence.proxy.tensormap::generic.acquire.cluster [%0], 128;" ::"l"(map) : "memory");
  if constexpr (scope == Scope::device)
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
  if constexpr (scope == Scope::system)
    asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
}

}  // namespace wm::fence
