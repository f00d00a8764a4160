// mbarrier: a 64-bit barrier in shared memory that counts arrivals and, from sm_90, bytes of asynchronous copies.
//
// Each function is run by one thread. The barrier is 8 bytes, aligned to 8, and completes a phase when its pending
// arrivals and its pending bytes are both zero. Waits by parity name the phase they wait for: parity 0 is the first
// phase; a wait for parity 1 on a fresh barrier returns at once.
//
// Each "memory" clobber is needed: without it the compiler may move reads of the guarded data above a wait, or writes
// of it below an arrival.
#pragma once

#include "warpmill/types.cuh"

namespace wm::mbarrier {

// The phase an arrival belonged to; opaque.
struct State {
  u64 bits;
};

// mbarrier.init.shared::cta.b64. One thread; the others (and copies) may use it after fence::mbarrier_init and a
// block or cluster barrier.
WM_DEVICE void init(SharedAddress barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier.value), "r"(arrivals) : "memory");
}

// mbarrier.inval.shared::cta.b64. Before its memory is used for anything else.
WM_DEVICE void invalidate(SharedAddress barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier.value) : "memory");
}

// mbarrier.arrive.shared::cta.b64. Releases this thread's earlier accesses to the block.
WM_DEVICE State arrive(SharedAddress barrier) {
  State state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state.bits) : "r"(barrier.value) : "memory");
  return state;
}

// mbarrier.arrive with a count (sm_90): as many arrivals at once.
WM_DEVICE State arrive(SharedAddress barrier, u32 count) {
  State state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state.bits)
               : "r"(barrier.value), "r"(count)
               : "memory");
  return state;
}

// mbarrier.arrive.noComplete: counted arrivals on sm_80. It must not be the one that completes the phase.
WM_DEVICE State arrive_no_complete(SharedAddress barrier, u32 count) {
  State state;
  asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state.bits)
               : "r"(barrier.value), "r"(count)
               : "memory");
  return state;
}

// mbarrier.arrive_drop: arrives, and lowers by one the arrivals that every later phase expects.
WM_DEVICE State arrive_drop(SharedAddress barrier) {
  State state;
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(state.bits) : "r"(barrier.value) : "memory");
  return state;
}

// mbarrier.arrive_drop with a count (sm_90).
WM_DEVICE State arrive_drop(SharedAddress barrier, u32 count) {
  State state;
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state.bits)
               : "r"(barrier.value), "r"(count)
               : "memory");
  return state;
}

// mbarrier.arrive_drop.noComplete: counted drop on sm_80. It must not complete the phase.
WM_DEVICE State arrive_drop_no_complete(SharedAddress barrier, u32 count) {
  State state;
  asm volatile("mbarrier.arrive_drop.noComplete.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state.bits)
               : "r"(barrier.value), "r"(count)
               : "memory");
  return state;
}

// mbarrier.arrive.expect_tx (sm_90): first adds `bytes` to what the phase waits for, then arrives once.
WM_DEVICE State arrive_expect_tx(SharedAddress barrier, u32 bytes) {
  State state;
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state.bits)
               : "r"(barrier.value), "r"(bytes)
               : "memory");
  return state;
}

// mbarrier.arrive_drop.expect_tx (sm_90).
WM_DEVICE State arrive_drop_expect_tx(SharedAddress barrier, u32 bytes) {
  State state;
  asm volatile("mbarrier.arrive_drop.expect_tx.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state.bits)
               : "r"(barrier.value), "r"(bytes)
               : "memory");
  return state;
}

// mbarrier.expect_tx.relaxed.cta (sm_90): the phase waits for `bytes` more. Orders nothing.
WM_DEVICE void expect_tx(SharedAddress barrier, u32 bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier.value), "r"(bytes) : "memory");
}

// mbarrier.complete_tx.relaxed.cta (sm_90): as if a copy of `bytes` had arrived. Orders nothing.
WM_DEVICE void complete_tx(SharedAddress barrier, u32 bytes) {
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier.value), "r"(bytes)
               : "memory");
}

// The same on a barrier of any block of the cluster (sm_90). No state comes back from another block's barrier.

// mbarrier.arrive.release.<scope>.shared::cluster. At cluster scope it releases this thread's earlier accesses to the
// cluster, and takes most of a microsecond for it. Block scope is enough, and costs nothing, where the other block's
// waiter reads nothing that this thread wrote: a stage handed back after its wgmma are done.
template <Scope scope = Scope::cluster>
WM_DEVICE void arrive_remote(ClusterAddress barrier, u32 count = 1) {
  static_assert(scope == Scope::block || scope == Scope::cluster,
                "an mbarrier arrival releases at block or cluster scope");
  if constexpr (scope == Scope::block)
    asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier.value), "r"(count)
                 : "memory");
  else
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier.value), "r"(count)
                 : "memory");
}

// mbarrier.arrive.relaxed.cluster.shared::cluster: for free, where all that passes is in tensor memory. It is ordered
// by tcgen05::fence_before_thread_sync before this and fence_after_thread_sync behind the wait (PTX ISA 9.7.16.6.4).
WM_DEVICE void arrive_remote_relaxed(ClusterAddress barrier) {
  asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier.value) : "memory");
}

// mbarrier.arrive_drop.release.cluster.shared::cluster.
WM_DEVICE void arrive_drop_remote(ClusterAddress barrier, u32 count = 1) {
  asm volatile("mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier.value), "r"(count)
               : "memory");
}

// mbarrier.arrive.expect_tx.release.cluster.shared::cluster.
WM_DEVICE void arrive_expect_tx_remote(ClusterAddress barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier.value),
               "r"(bytes)
               : "memory");
}

// mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.
WM_DEVICE void arrive_drop_expect_tx_remote(ClusterAddress barrier, u32 bytes) {
  asm volatile("mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier.value),
               "r"(bytes)
               : "memory");
}

// mbarrier.expect_tx.relaxed.cluster.shared::cluster. Orders nothing.
WM_DEVICE void expect_tx_remote(ClusterAddress barrier, u32 bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(barrier.value), "r"(bytes)
               : "memory");
}

// mbarrier.complete_tx.relaxed.cluster.shared::cluster. Orders nothing.
WM_DEVICE void complete_tx_remote(ClusterAddress barrier, u32 bytes) {
  asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(barrier.value), "r"(bytes)
               : "memory");
}

// Whether the phase of `state` (or of `parity`) has completed. True acquires: what arrivers released, and what the
// phase's copies wrote, may be read. test_wait answers at once; try_wait may sleep for a while first.

// mbarrier.test_wait.shared::cta.b64.
WM_DEVICE bool test_wait(SharedAddress barrier, State state) {
  u32 done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(barrier.value), "l"(state.bits)
               : "memory");
  return done;
}

// mbarrier.test_wait.parity.shared::cta.b64.
WM_DEVICE bool test_wait_parity(SharedAddress barrier, u32 parity) {
  u32 done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(barrier.value), "r"(parity)
               : "memory");
  return done;
}

// mbarrier.try_wait.shared::cta.b64 (sm_90).
WM_DEVICE bool try_wait(SharedAddress barrier, State state) {
  u32 done;
  asm volatile("{.reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(barrier.value), "l"(state.bits)
               : "memory");
  return done;
}

// mbarrier.try_wait with a limit to its sleep, in nanoseconds (sm_90).
WM_DEVICE bool try_wait(SharedAddress barrier, State state, u32 nanoseconds) {
  u32 done;
  asm volatile("{.reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2, %3; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(barrier.value), "l"(state.bits), "r"(nanoseconds)
               : "memory");
  return done;
}

// mbarrier.try_wait.parity (sm_90), acquiring at block or cluster scope. Cluster scope is needed where the waiter reads
// what threads of another block wrote, st.async included; block scope is enough for bytes that copies brought here, and
// where another block only says that it has finished reading.
template <Scope scope = Scope::block>
WM_DEVICE bool try_wait_parity(SharedAddress barrier, u32 parity) {
  static_assert(scope == Scope::block || scope == Scope::cluster,
                "an mbarrier wait acquires at block or cluster scope");
  u32 done;
  if constexpr (scope == Scope::block)
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(barrier.value), "r"(parity)
                 : "memory");
  else
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(barrier.value), "r"(parity)
        : "memory");
  return done;
}

// mbarrier.try_wait.parity with a limit to its sleep, in nanoseconds (sm_90).
WM_DEVICE bool try_wait_parity_for(SharedAddress barrier, u32 parity, u32 nanoseconds) {
  u32 done;
  asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(barrier.value), "r"(parity), "r"(nanoseconds)
               : "memory");
  return done;
}

// A loop of try_wait_parity, or of test_wait_parity before sm_90: returns when the phase of `parity` has completed.
template <Scope scope = Scope::block>
WM_DEVICE void wait_parity(SharedAddress barrier, u32 parity) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(scope == Scope::block, "clusters come with sm_90");
  while (!test_wait_parity(barrier, parity)) {
  }
#else
  while (!try_wait_parity<scope>(barrier, parity)) {
  }
#endif
}

// A loop of mbarrier.try_wait.parity.relaxed.cluster (sm_90): for arrive_remote_relaxed.
WM_DEVICE void wait_parity_relaxed(SharedAddress barrier, u32 parity) {
  u32 done;
  do {
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(barrier.value), "r"(parity)
        : "memory");
  } while (!done);
}

// A loop of test_wait (sm_80 on): returns when the phase of `state` has completed.
WM_DEVICE void wait(SharedAddress barrier, State state) {
  while (!test_wait(barrier, state)) {
  }
}

// mbarrier.pending_count.b64: how many arrivals were still missing just before the one that gave `state`.
WM_DEVICE u32 pending_count(State state) {
  u32 count;
  asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state.bits));
  return count;
}

}  // namespace wm::mbarrier
