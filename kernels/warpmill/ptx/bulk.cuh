// Bulk copies (sm_90): whole runs of bytes moved by the copy engine, without a tensor map.
//
// One thread issues each. Addresses are aligned to 16 bytes and sizes are multiples of 16. Copies run in the
// asynchronous proxy: ordinary writes of the source need fence::proxy_async* first. Loads finish at an mbarrier that
// counts their bytes; stores and reductions to global memory belong to the issuing thread's bulk groups.
#pragma once

#include "warpmill/ptx/cache.cuh"
#include "warpmill/types.cuh"

namespace wm::bulk {

// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes (on sm_120 .shared::cta): global memory to this
// block.
WM_DEVICE void load(SharedAddress to, const void* from, u32 bytes, SharedAddress barrier, CachePolicy policy = {}) {
  asm volatile("cp.async.bulk" WM_OWN_SHARED
               ".global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(to.value),
               "l"(global_address(from)), "r"(bytes), "r"(barrier.value), "l"(policy.bits)
               : "memory");
}

// The same with .multicast::cluster: to the same place in each block of `blocks` (bit = rank), each block's barrier at
// the place of `barrier` counting its own bytes.
WM_DEVICE void load_multicast(SharedAddress to, const void* from, u32 bytes, SharedAddress barrier, u16 blocks,
                              CachePolicy policy = {}) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%0], [%1], "
      "%2, [%3], %4, %5;" ::"r"(to.value),
      "l"(global_address(from)), "r"(bytes), "r"(barrier.value), "h"(blocks), "l"(policy.bits)
      : "memory");
}

// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes: this block to any block of the cluster; the
// barrier lies in the receiving block.
WM_DEVICE void copy_to_block(ClusterAddress to, SharedAddress from, u32 bytes, ClusterAddress barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to.value),
      "r"(from.value), "r"(bytes), "r"(barrier.value)
      : "memory");
}

// cp.async.bulk.global.shared::cta.bulk_group: this block to global memory.
WM_DEVICE void store(void* to, SharedAddress from, u32 bytes, CachePolicy policy = {}) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(global_address(to)),
      "r"(from.value), "r"(bytes), "l"(policy.bits)
      : "memory");
}

// cp.async.bulk.prefetch.L2.global: into L2 only. Orders nothing.
WM_DEVICE void prefetch(const void* from, u32 bytes, CachePolicy policy = {}) {
  asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(global_address(from)), "r"(bytes),
               "l"(policy.bits)
               : "memory");
}

// cp.reduce.async.bulk.global.shared::cta.bulk_group: element by element into global memory, each element atomic
// (relaxed, device scope). T says the element: u32 (all operations), i32, u64, i64 (add for u64 only; and/or/xor on
// u64), f16 and bf16 (add, min, max), f32 and f64 (add).
template <Reduction operation, class T>
WM_DEVICE void reduce(T* to, SharedAddress from, u32 bytes, CachePolicy policy = {}) {
  using R = Reduction;
#define WM_REDUCE(suffix)                                                                  \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint." suffix \
               " [%0], [%1], %2, %3;" ::"l"(global_address(to)),                           \
               "r"(from.value), "r"(bytes), "l"(policy.bits)                               \
               : "memory")
  if constexpr (operation == R::add && same<T, u32>)
    WM_REDUCE("add.u32");
  else if constexpr (operation == R::add && same<T, i32>)
    WM_REDUCE("add.s32");
  else if constexpr (operation == R::add && same<T, u64>)
    WM_REDUCE("add.u64");
  else if constexpr (operation == R::add && same<T, f16>)
    WM_REDUCE("add.noftz.f16");
  else if constexpr (operation == R::add && same<T, bf16>)
    WM_REDUCE("add.noftz.bf16");
  else if constexpr (operation == R::add && same<T, f32>)
    WM_REDUCE("add.f32");
  else if constexpr (operation == R::add && same<T, f64>)
    WM_REDUCE("add.f64");
  else if constexpr (operation == R::min && same<T, u32>)
    WM_REDUCE("min.u32");
  else if constexpr (operation == R::min && same<T, i32>)
    WM_REDUCE("min.s32");
  else if constexpr (operation == R::min && same<T, u64>)
    WM_REDUCE("min.u64");
  else if constexpr (operation == R::min && same<T, i64>)
    WM_REDUCE("min.s64");
  else if constexpr (operation == R::min && same<T, f16>)
    WM_REDUCE("min.f16");
  else if constexpr (operation == R::min && same<T, bf16>)
    WM_REDUCE("min.bf16");
  else if constexpr (operation == R::max && same<T, u32>)
    WM_REDUCE("max.u32");
  else if constexpr (operation == R::max && same<T, i32>)
    WM_REDUCE("max.s32");
  else if constexpr (operation == R::max && same<T, u64>)
    WM_REDUCE("max.u64");
  else if constexpr (operation == R::max && same<T, i64>)
    WM_REDUCE("max.s64");
  else if constexpr (operation == R::max && same<T, f16>)
    WM_REDUCE("max.f16");
  else if constexpr (operation == R::max && same<T, bf16>)
    WM_REDUCE("max.bf16");
  else if constexpr (operation == R::increment && same<T, u32>)
    WM_REDUCE("inc.u32");
  else if constexpr (operation == R::decrement && same<T, u32>)
    WM_REDUCE("dec.u32");
  else if constexpr (operation == R::bit_and && same<T, u32>)
    WM_REDUCE("and.b32");
  else if constexpr (operation == R::bit_or && same<T, u32>)
    WM_REDUCE("or.b32");
  else if constexpr (operation == R::bit_xor && same<T, u32>)
    WM_REDUCE("xor.b32");
  else if constexpr (operation == R::bit_and && same<T, u64>)
    WM_REDUCE("and.b64");
  else if constexpr (operation == R::bit_or && same<T, u64>)
    WM_REDUCE("or.b64");
  else if constexpr (operation == R::bit_xor && same<T, u64>)
    WM_REDUCE("xor.b64");
  else
    static_assert(never<T>, "bulk::reduce: the chip has no such operation on this element type");
#undef WM_REDUCE
}

// cp.reduce.async.bulk.shared::cluster.shared::cta: into a block's shared memory, counted by a barrier of that block.
// u32: all operations; i32: add, min, max; u64: add.
template <Reduction operation, class T>
WM_DEVICE void reduce_to_block(ClusterAddress to, SharedAddress from, u32 bytes, ClusterAddress barrier) {
  static_assert(
      same<T, u32> || (same<T, i32> && operation <= Reduction::max) || (same<T, u64> && operation == Reduction::add),
      "bulk::reduce_to_block: u32 with every operation, i32 with add, min and max, u64 with add");
#define WM_REDUCE(suffix)                                                                              \
  asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." suffix \
               " [%0], [%1], %2, [%3];" ::"r"(to.value),                                               \
               "r"(from.value), "r"(bytes), "r"(barrier.value)                                         \
               : "memory")
  using R = Reduction;
  if constexpr (same<T, u64>) {
    WM_REDUCE("add.u64");
  } else if constexpr (same<T, i32>) {
    if constexpr (operation == R::add) WM_REDUCE("add.s32");
    if constexpr (operation == R::min) WM_REDUCE("min.s32");
    if constexpr (operation == R::max) WM_REDUCE("max.s32");
  } else {
    if constexpr (operation == R::add) WM_REDUCE("add.u32");
    if constexpr (operation == R::min) WM_REDUCE("min.u32");
    if constexpr (operation == R::max) WM_REDUCE("max.u32");
    if constexpr (operation == R::increment) WM_REDUCE("inc.u32");
    if constexpr (operation == R::decrement) WM_REDUCE("dec.u32");
    if constexpr (operation == R::bit_and) WM_REDUCE("and.b32");
    if constexpr (operation == R::bit_or) WM_REDUCE("or.b32");
    if constexpr (operation == R::bit_xor) WM_REDUCE("xor.b32");
  }
#undef WM_REDUCE
}

// Bulk groups: of the issuing thread alone. Another thread learns that a store is done only through a barrier after
// this thread's wait.

// cp.async.bulk.commit_group: the thread's stores since the last commit become a group.
WM_DEVICE void commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// cp.async.bulk.wait_group: at most `pending` of the latest groups are unfinished; finished stores are written.
template <int pending>
WM_DEVICE void wait_group() {
  static_assert(pending >= 0, "a number of groups is not negative");
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
}

// cp.async.bulk.wait_group.read: finished groups have read their sources, which may be overwritten; their writes may
// still be on the way.
template <int pending>
WM_DEVICE void wait_group_read() {
  static_assert(pending >= 0, "a number of groups is not negative");
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

}  // namespace wm::bulk
