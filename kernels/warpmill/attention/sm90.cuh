// Attention on Hopper: out = softmax(scale Q K^T, masked) V, warp-specialised and persistent.
//
// A block is one load warpgroup, of which one thread works (and one warp, where expressions say which keys a tile
// needs), and one to three multiply warpgroups with 64 queries each.
// A group multiplies its queries with a step of keys, turns the scores into weights in registers, and multiplies these
// with the step's values. Both are products of wgmma: those of the next step's keys and of this one's values are
// queued together, and run under the exponentials of the other groups, which take turns at queueing (multiply.cuh).
//
//   shared memory   q[group][stage]  (64, head_dim)  K-major       as the groups take them; zeros up to a whole
//                   k[stage]    (keys, head_dim)     K-major       number of swizzle widths
//                   v[stage]    (value_dim, keys)    MN-major: a row for each key; of 8 bits K-major
//                   arriving[stage]  (keys, value_dim)  of 8 bits only: values as they come, before they are transposed
//                   out[group]  (64, 64)             a strip of the output, unless it leaves from q[group]
//                   key_numbers (keys, 8), slope[group] (8, 8)  K-major: ALiBi's, not swizzled
//   barriers        q[g].full   1 arrival (the load thread, which announces the bytes) + the bytes
//                   q[g].empty  1 arrival of group g
//                   k.full, v.full    as q's; k.empty, v.empty: 1 arrival of each group
//                   tile.full         1 arrival (the thread that has taken a tile: the load thread, or of the warp that
//                                     chooses steps); tile.empty: each warp that reads which
//                   step.full         where expressions choose steps, as tile.full: which one is next
//                   arriving.full     as k.full, where values are transposed by three warps of the load warpgroup: then
//                                     v.full has one arrival of each of them, and so has arriving.empty
//                   tail[stage]       as k.full: values whose last rows are another sequence's, and must be cleared
//                                     by a warp of the load warpgroup before v.full
//
// In a pair two blocks of a cluster have a tile together, and take the same steps. Each brings half of K and V to both,
// so their full barriers count the bytes of both blocks' copies, and k.empty and v.empty have arrivals of both blocks'
// readers (where values are transposed arriving.empty in the place of v.empty). The second block is told which tile is
// next (told, told.heard: told_number.cuh). Nothing is sent before both blocks have their barriers, and neither leaves
// before the other has done.
//
// Steps of keys are taken from the last to the first, so that those that a causal mask cuts come first; with ALiBi on
// both sides from the diagonal on (StepOrder in mask.cuh).
#pragma once

#include "warpmill/attention/load.cuh"
#include "warpmill/attention/multiply.cuh"
#include "warpmill/attention/values.cuh"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/cache.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/grid.cuh"
#include "warpmill/tile/shared_memory.cuh"

namespace wm {

template <AttentionPlan plan>
__global__ __launch_bounds__(plan.threads(), 1) void attention_sm90(const __grid_constant__ AttentionArguments args) {
  using Rings = AttentionRings<plan>;
  static_assert(plan.valid(), "this plan does not fit the chip: AttentionPlan::problem() says why");
  static_assert(sizeof(AttentionShared<plan>) <= plan.shared_bytes(), "the plan's arithmetic covers what is laid out");
  auto& shared = shared_memory<AttentionShared<plan>>();

  start_stamps();
  if constexpr (plan.bias_by_product()) shared.key_numbers.fill();
  if (threadIdx.x == 0) {
    for (int group = 0; group < plan.groups; ++group) typename Rings::Q(shared.q_ring[group]).init();
    typename Rings::K(shared.k_ring).init();
    typename Rings::V(shared.v_ring).init();
    if constexpr (plan.kind.narrow()) ArrivingRing<plan>(shared.arriving_ring).init();
    TileRing<plan>(shared.tiles.ring).init();
    if constexpr (plan.tells_tiles()) shared.tiles.ToldNumberShared::init();
    if constexpr (plan.kind.expressions.of_steps()) StepRing<plan>(shared.steps.ring).init();
    if constexpr (plan.kind.has_tails() && !plan.kind.narrow()) {
      name_shared<"tail">(shared.tail);
      for (u64& barrier : shared.tail) mbarrier::init(&barrier, 1);
    }
    fence::mbarrier_init();
  } else if (threadIdx.x == 32) {  // so that the first copies need not wait for their maps
    cache::prefetch(args.q);
    cache::prefetch(args.k);
    cache::prefetch(args.v);
  }
  if constexpr (plan.orders_tiles()) {
    grid::wait();
    order_tiles<plan>(args, shared.tiles.order);
  }
  if constexpr (plan.pair)
    cluster::sync();  // the other's barriers must be there before anything arrives at them
  else
    barrier::sync();
  if (const u32 role = warpgroup(); role == 0) {
    name_role<"load">();
    if constexpr (plan.moves_registers()) registers::decrease_to<plan.load_registers()>();
    if constexpr (plan.kind.has_tails()) {
      grid::wait();
      shared.tiles.order.find(args, threadIdx.x % warpgroup_threads, warpgroup_threads);
      barrier::sync(u32(AttentionBarrier::order), warpgroup_threads);
    }
    const u32 warp = warp_of_warpgroup();  // here, where all lanes are: it is a shuffle
    typename Rings::K k_ring(shared.k_ring);
    typename Rings::LoadedV v_ring(Rings::loaded_v(shared));
    if (plan.kind.expressions.of_steps() && warp == 0) {
      grid::wait();
      if constexpr (plan.chooses_apart())
        load_chosen_steps<plan, Rings>(args, shared, k_ring, v_ring, ToldSteps<plan>(shared.tiles, shared.steps));
      else if constexpr (plan.kind.expressions.of_steps())
        load_chosen_steps<plan, Rings>(args, shared, k_ring, v_ring,
                                       StepTeller<plan>(args, shared.tiles, shared.steps));
      grid::launch_dependents();
    } else if (plan.chooses_apart() && warp == plan.choosing_warp) {
      name_role<"choose">();
      grid::wait();
      if constexpr (plan.chooses_apart()) choose_steps<plan>(args, shared.tiles, shared.steps);
    } else if (warp == 0 && elect_one()) {
      grid::wait();
      load_tiles<plan, Rings>(args, shared, k_ring, v_ring);
      grid::launch_dependents();
    } else if constexpr (plan.kind.narrow()) {
      if (warp > 0) transpose_values<plan>(args, shared, warp - 1);
    } else if (plan.kind.has_tails() && warp == plan.tail_warp) {
      clear_tails<plan, Rings>(args, shared);
    }
  } else {
    name_role<"multiply">();
    if constexpr (plan.moves_registers()) registers::increase_to<plan.multiply_registers()>();
    grid::wait();
    multiply_tiles<plan>(args, shared, role - 1);
  }
  if constexpr (plan.pair) {  // nobody leaves while the other block may still arrive here
    cluster::arrive_unaligned();
    cluster::wait_unaligned();
  }
}

}  // namespace wm
