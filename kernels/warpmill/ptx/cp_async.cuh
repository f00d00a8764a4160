// cp.async (sm_80): a thread's own asynchronous copies of 4, 8 or 16 bytes from global to shared memory.
//
// Any thread, for itself. Both addresses are aligned to the size. The written bytes may be read by this thread after
// its own wait, by others after a barrier that follows it, or after an mbarrier phase that mbarrier_arrive* completes.
#pragma once

#include "warpmill/types.cuh"

namespace wm::cp_async {

// How much of the line to bring into L2 along with the bytes asked for.
enum class Prefetch { none, bytes64, bytes128, bytes256 };

// cp.async.ca.shared.global: through L1. `valid` bytes are read, the rest of the `bytes` is filled with zeros.
template <int bytes, Prefetch prefetch = Prefetch::none>
WM_DEVICE void copy(SharedAddress to, const void* from, u32 valid = bytes) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
#define WM_CP_ASYNC(hint)                                                                                          \
  asm volatile("cp.async.ca.shared.global" hint " [%0], [%1], %2, %3;" ::"r"(to.value), "l"(global_address(from)), \
               "n"(bytes), "r"(valid)                                                                              \
               : "memory")
  if constexpr (prefetch == Prefetch::none) WM_CP_ASYNC("");
  if constexpr (prefetch == Prefetch::bytes64) WM_CP_ASYNC(".L2::64B");
  if constexpr (prefetch == Prefetch::bytes128) WM_CP_ASYNC(".L2::128B");
  if constexpr (prefetch == Prefetch::bytes256) WM_CP_ASYNC(".L2::256B");
#undef WM_CP_ASYNC
}

// cp.async.cg.shared.global: 16 bytes past L1, through L2 only.
template <Prefetch prefetch = Prefetch::none>
WM_DEVICE void copy_past_l1(SharedAddress to, const void* from, u32 valid = 16) {
#define WM_CP_ASYNC(hint)                                                                                          \
  asm volatile("cp.async.cg.shared.global" hint " [%0], [%1], 16, %2;" ::"r"(to.value), "l"(global_address(from)), \
               "r"(valid)                                                                                          \
               : "memory")
  if constexpr (prefetch == Prefetch::none) WM_CP_ASYNC("");
  if constexpr (prefetch == Prefetch::bytes64) WM_CP_ASYNC(".L2::64B");
  if constexpr (prefetch == Prefetch::bytes128) WM_CP_ASYNC(".L2::128B");
  if constexpr (prefetch == Prefetch::bytes256) WM_CP_ASYNC(".L2::256B");
#undef WM_CP_ASYNC
}

// There is no wrapper for .L2::cache_hint: ptxas takes it, and an H200 answers every policy tried with an illegal
// instruction (2026-11-15).

// cp.async with ignore-src: reads nothing and writes zeros where `ignore` holds.
template <int bytes>
WM_DEVICE void copy_unless(bool ignore, SharedAddress to, const void* from) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0; cp.async.ca.shared.global [%0], [%1], %2, p;}" ::"r"(to.value),
               "l"(global_address(from)), "n"(bytes), "r"(u32(ignore))
               : "memory");
}

// cp.async.commit_group: this thread's copies since the last commit become a group.
WM_DEVICE void commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// cp.async.wait_group: at most `pending` of this thread's latest groups are unfinished.
template <int pending>
WM_DEVICE void wait_group() {
  static_assert(pending >= 0, "a number of groups is not negative");
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// cp.async.wait_all: none is unfinished, committed or not.
WM_DEVICE void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// cp.async.mbarrier.arrive.shared: when this thread's copies so far are done, one arrival on the barrier, which the
// instruction first adds to what the phase expects (so it balances out, and the phase needs another arrival of its
// own).
WM_DEVICE void mbarrier_arrive(SharedAddress barrier) {
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(barrier.value) : "memory");
}

// cp.async.mbarrier.arrive.noinc: the arrival counts against what init said.
WM_DEVICE void mbarrier_arrive_no_increment(SharedAddress barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier.value) : "memory");
}

}  // namespace wm::cp_async
