// clusterlaunchcontrol (sm_100): a running cluster takes over the work of one that has not started, so that a grid with
// a block for each tile is walked by those that came first.
//
//   cluster_launch::request(&answer, &there);            one thread; `there` expects 16 bytes
//   ... mbarrier::wait_parity(&there, phase) ...
//   if (const auto taken = cluster_launch::read(&answer); taken.there()) ... taken.first_block() ...
//
// After one refusal (all clusters have started) no thread asks again. Before the answer's place is used for the next
// request, those who have read it run fence::proxy_async_shared.
#pragma once

#include "warpmill/types.cuh"

namespace wm::cluster_launch {

// clusterlaunchcontrol.try_cancel.async: 16 bytes of answer at `answer`, a multiple of 16, counted by `barrier`.
WM_DEVICE void request(SharedAddress answer, SharedAddress barrier) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                   answer.value),
               "r"(barrier.value)
               : "memory");
}
// The same with .multicast::cluster::all: the answer and its bytes come to the same places in every block of the
// cluster. One thread of the cluster.
WM_DEVICE void request_for_cluster(SharedAddress answer, SharedAddress barrier) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
      "[%0], [%1];" ::"r"(answer.value),
      "r"(barrier.value)
      : "memory");
}

// An answer, opaque.
struct Answer {
  u64 low, high;
};
// ld.shared.v2.u64: after the barrier's wait.
WM_DEVICE Answer read(SharedAddress answer) {
  Answer a;
  asm volatile("ld.shared.v2.u64 {%0, %1}, [%2];" : "=l"(a.low), "=l"(a.high) : "r"(answer.value) : "memory");
  return a;
}
// clusterlaunchcontrol.query_cancel.is_canceled: whether a cluster was taken over.
WM_DEVICE bool taken(const Answer& answer) {
  u32 value;
  asm volatile(
      "{.reg .b128 a; .reg .pred p; mov.b128 a, {%1, %2}; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, "
      "a; selp.u32 %0, 1, 0, p;}"
      : "=r"(value)
      : "l"(answer.low), "l"(answer.high));
  return value;
}
// clusterlaunchcontrol.query_cancel.get_first_ctaid: the place in the grid of the first block of the cluster that was
// taken over; only where one was.
struct Place {
  u32 x, y, z;
};
WM_DEVICE Place first_block(const Answer& answer) {
  Place p;
  asm volatile(
      "{.reg .b128 a; .reg .b32 w; mov.b128 a, {%3, %4}; "
      "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, %1, %2, w}, a;}"
      : "=r"(p.x), "=r"(p.y), "=r"(p.z)
      : "l"(answer.low), "l"(answer.high));
  return p;
}

}  // namespace wm::cluster_launch
