// Every kind of finding, once: faults and the judge name what they find from this list.
#pragma once

#include "vgpu/machine/op.hpp"
#include "warpmill/check.hpp"

namespace wm::vgpu {

enum class Flaw : u8 {
  deadlock,
  no_end,
  wrong_byte_count,
  barrier_not_initialised,
  barrier_init_not_visible,
  barrier_reinitialised,
  barrier_overwritten,
  barrier_overrun,
  barrier_count_mismatch,
  missed_phase,
  shared_race,
  global_race,
  read_before_arrival,
  overwritten_in_use,
  missing_proxy_fence,
  register_in_flight,
  missing_wgmma_fence,
  peer_exited,
  copy_in_flight_at_exit,
  divergent_aligned,
  partial_warpgroup,
  register_budget,
  out_of_bounds,
  misaligned,
  use_after_free,
  uninitialised_read,
  absent_lane,
  misaligned_tile,
  layout_mismatch,
  stale_tensor_map,
  misplaced_tensor_map,
  tensor_allocation,
  unallocated_columns,
  missing_tensor_fence,
  foreign_lanes,
  wrong_peer_barrier,
  unequal_pair,
  tolerated_operand,
  execution_fault,
  bank_conflicts,
  uncoalesced,
  ring_not_reused,
};

// What PTX demands and released code omits everywhere without harm seen.
enum class Omission : u8 {
  init_fence,          // of an mbarrier, between its initialisation and copies that signal it
  cp_async_fence,      // between what cp.async brought and the product that reads it
  word_fence,          // between tcgen05.alloc's word and the copy that overwrites it
  warps_of_product,    // the four warps of a warpgroup are taken to be brought together by wgmma
  lanes_of_product,    // one lane speaks for its warp after wgmma.wait_group
  lanes_together,      // one lane speaks for others after they exchange or use registers together
  wait_before_exit,    // for what a bulk copy reads of the block's shared memory
  tensor_fence,        // between tcgen05 and the barrier that passes tensor memory on
  load_wait,           // of a tcgen05.ld whose registers were used, before its cells are given on
  wait_for_product,    // before registers that a wgmma writes: the assembler puts one in where there is none at all
  tile_by_address,     // threads swizzle a tile that begins between two patterns
  descriptor_version,  // bits 46-48 of a descriptor for tcgen05
  commit_address,      // tcgen05.commit's, made generic
  message_scope,       // of the wait for an st.async of another block: its own block
  arrival_scope,       // of arrivals at another block's mbarrier, or of the wait for them: the block
  init_by_lanes,       // several lanes of a warp initialise one mbarrier, all alike
  unused_contents,     // of memory that nobody has written: they are computed with, and no result shows it
};

// Its entry of finding_kinds().
const FindingKind& entry_of(Flaw flaw);
// Its entry of omission_kinds().
const OmissionKind& entry_of(Omission omission);

}  // namespace wm::vgpu
