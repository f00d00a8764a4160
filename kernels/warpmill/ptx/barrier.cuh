// Named barriers: sixteen a block (0 is __syncthreads'), each for a stated number of threads, and the warp's own.
//
// Threads are counted by warps, so a count is a multiple of 32 and every thread of a warp takes part. Each orders the
// participants' memory accesses at block scope. The plain names want the whole warp converged (`.aligned`); the
// `_unaligned` ones may be reached by a warp in pieces.
#pragma once

#include "warpmill/types.cuh"

namespace wm::barrier {

namespace detail {
template <u32 id, u32 threads>
__device__ constexpr bool check() {
  static_assert(id < 16, "a block has named barriers 0 to 15");
  static_assert(threads % 32 == 0 && threads > 0 && threads <= 1024,
                "a named barrier counts whole warps: a multiple of 32 threads, 32 to 1024");
  return true;
}
}  // namespace detail

// bar.sync id: all threads of the block.
WM_DEVICE void sync(u32 id = 0) { asm volatile("barrier.sync.aligned %0;" ::"r"(id) : "memory"); }

// bar.sync id, threads: waits until so many threads have arrived, itself among them.
WM_DEVICE void sync(u32 id, u32 threads) {
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
template <u32 id, u32 threads>
WM_DEVICE void sync() {
  static_assert(detail::check<id, threads>());
  sync(id, threads);
}

// bar.arrive id, threads: counts as arrived and goes on. It releases; only a sync acquires.
WM_DEVICE void arrive(u32 id, u32 threads) {
  asm volatile("barrier.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
template <u32 id, u32 threads>
WM_DEVICE void arrive() {
  static_assert(detail::check<id, threads>());
  arrive(id, threads);
}

// barrier.sync, barrier.arrive without .aligned.
WM_DEVICE void sync_unaligned(u32 id, u32 threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
WM_DEVICE void arrive_unaligned(u32 id, u32 threads) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// bar.red.popc: a sync that counts the threads whose `predicate` holds.
WM_DEVICE u32 sync_count(u32 id, u32 threads, bool predicate) {
  u32 count;
  asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0; barrier.red.popc.aligned.u32 %0, %1, %2, p;}"
               : "=r"(count)
               : "r"(id), "r"(threads), "r"(u32(predicate))
               : "memory");
  return count;
}

// bar.red.and: a sync that says whether `predicate` holds for all.
WM_DEVICE bool sync_all(u32 id, u32 threads, bool predicate) {
  u32 result;
  asm volatile(
      "{.reg .pred p, q; setp.ne.u32 p, %3, 0; barrier.red.and.aligned.pred q, %1, %2, p; selp.u32 %0, 1, 0, q;}"
      : "=r"(result)
      : "r"(id), "r"(threads), "r"(u32(predicate))
      : "memory");
  return result;
}

// bar.red.or: a sync that says whether `predicate` holds for any.
WM_DEVICE bool sync_any(u32 id, u32 threads, bool predicate) {
  u32 result;
  asm volatile(
      "{.reg .pred p, q; setp.ne.u32 p, %3, 0; barrier.red.or.aligned.pred q, %1, %2, p; selp.u32 %0, 1, 0, q;}"
      : "=r"(result)
      : "r"(id), "r"(threads), "r"(u32(predicate))
      : "memory");
  return result;
}

// bar.warp.sync: the lanes of `lanes` wait for one another, and see one another's accesses.
WM_DEVICE void sync_warp(u32 lanes = 0xffffffffu) { asm volatile("bar.warp.sync %0;" ::"r"(lanes) : "memory"); }

}  // namespace wm::barrier
