// L2 cache policies, and hints that fetch, keep or drop lines. Any thread; none of them orders anything.
#pragma once

#include "warpmill/cache_policy.h"
#include "warpmill/types.cuh"

namespace wm {
namespace cache {

// createpolicy.fractional.L2: the priority for a fraction (0 < fraction <= 1) of the lines, evict_unchanged for the
// rest.
template <Priority priority>
WM_DEVICE CachePolicy fractional(f32 fraction) {
  CachePolicy policy;
#define WM_CREATE_POLICY(name) \
  asm("createpolicy.fractional.L2::" name ".b64 %0, %1;" : "=l"(policy.bits) : "f"(fraction))
  if constexpr (priority == Priority::evict_last) WM_CREATE_POLICY("evict_last");
  if constexpr (priority == Priority::evict_normal) WM_CREATE_POLICY("evict_normal");
  if constexpr (priority == Priority::evict_first) WM_CREATE_POLICY("evict_first");
  if constexpr (priority == Priority::evict_unchanged) WM_CREATE_POLICY("evict_unchanged");
#undef WM_CREATE_POLICY
  return policy;
}

// createpolicy.range.global.L2: `priority` for the first `primary_bytes` from `start`, evict_first for the rest up to
// `total_bytes`.
template <Priority priority>
WM_DEVICE CachePolicy range(const void* start, u32 primary_bytes, u32 total_bytes) {
  CachePolicy policy;
#define WM_CREATE_POLICY(name)                                                       \
  asm("createpolicy.range.global.L2::" name ".L2::evict_first.b64 %0, [%1], %2, %3;" \
      : "=l"(policy.bits)                                                            \
      : "l"(global_address(start)), "r"(primary_bytes), "r"(total_bytes))
  if constexpr (priority == Priority::evict_last) WM_CREATE_POLICY("evict_last");
  if constexpr (priority == Priority::evict_normal) WM_CREATE_POLICY("evict_normal");
  if constexpr (priority == Priority::evict_first) WM_CREATE_POLICY("evict_first");
  if constexpr (priority == Priority::evict_unchanged) WM_CREATE_POLICY("evict_unchanged");
#undef WM_CREATE_POLICY
  return policy;
}

// prefetch.global.L1 and .L2: the line of `address`.
WM_DEVICE void prefetch_l1(const void* address) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(global_address(address)));
}
WM_DEVICE void prefetch_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(global_address(address)));
}

// prefetch.global.L2::evict_last and ::evict_normal: fetched with a priority.
WM_DEVICE void prefetch_l2_evict_last(const void* address) {
  asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(global_address(address)));
}
WM_DEVICE void prefetch_l2_evict_normal(const void* address) {
  asm volatile("prefetch.global.L2::evict_normal [%0];" ::"l"(global_address(address)));
}

// prefetch.tensormap: the map itself, so that its first copy does not wait for it (sm_90).
WM_DEVICE void prefetch(const TensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

// applypriority.global.L2::evict_normal: demotes the 128 bytes at `address` (aligned to 128) again.
WM_DEVICE void apply_priority_normal(const void* address) {
  asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(global_address(address)) : "memory");
}

// discard.global.L2: gives up the 128 bytes at `address` (aligned to 128) without writing them back; what is read there
// before the next write is undetermined.
WM_DEVICE void discard(void* address) {
  asm volatile("discard.global.L2 [%0], 128;" ::"l"(global_address(address)) : "memory");
}

}  // namespace cache
}  // namespace wm
