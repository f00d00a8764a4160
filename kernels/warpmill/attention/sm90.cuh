// Attention on Hopper: out = softmax(scale Q K^T, masked) V, warp-specialised and persistent.
//
// A block is one load warpgroup, of which one thread works (and one warp, where expressions say which keys a tile
// needs), and one to three multiply warpgroups with 64 queries each.
// A group multiplies its queries with a step of keys, turns the scores into weights in registers, and multiplies these
// with the step's values. Both are products of wgmma: those of the next step's keys and of this one's values are
// queued together, and run under the exponentials of the other groups, which take turns at queueing.
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
// Steps of keys are taken from the last to the first, so that those that a causal mask cuts come first; with ALiBi on
// both sides from the diagonal on (StepOrder in mask.cuh).
#pragma once

#include "warpmill/attention/block.cuh"
#include "warpmill/attention/load.cuh"
#include "warpmill/attention/softcap.cuh"
#include "warpmill/attention/values.cuh"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/pipeline/stamps.cuh"
#include "warpmill/pipeline/turns.cuh"
#include "warpmill/ptx/cache.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/grid.cuh"
#include "warpmill/tile/product.cuh"
#include "warpmill/tile/shared_memory.cuh"

namespace wm {

// What a row's sum has besides its keys, in powers of two: the logit of its head's sink.
template <AttentionPlan plan>
WM_DEVICE RowPair sinks_of(const AttentionArguments& args, const Tile<plan>& tile, u32 group) {
  constexpr f32 log2e = 1.4426950408889634f;
  if constexpr (!plan.kind.sinks) return {-infinity, -infinity};
  const f32* const sinks = reinterpret_cast<const f32*>(args.sinks);
  if constexpr (plan.packed > 0) {
    const u32 last = (tile.head / args.head_ratio + 1) * args.head_ratio - 1, first = tile.group_head(args, group);
    const Packing<plan> packing(args);
    return {sinks[min(first + packing.head_of(Fragment<8>::row(0)), last)] * log2e,
            sinks[min(first + packing.head_of(Fragment<8>::row(2)), last)] * log2e};
  }
  const f32 sink = sinks[tile.head] * log2e;
  return {sink, sink};
}

template <AttentionPlan plan>
WM_DEVICE void multiply_tiles(const AttentionArguments& args, AttentionShared<plan>& shared, u32 group) {
  using Rings = AttentionRings<plan>;
  using E = typename AttentionShared<plan>::E;
  u32 taken = 0;  // steps of keys, of all tiles; of values it is one less
  // Who queues products: one group's run while the others make exponentials.
  const Turns<AttentionBarrier::turn, plan.turns ? plan.groups : 1> turns(group);
  AttentionWriter<plan> writer(args, shared, group);

  turns.begin();
  TileReader<plan> reader(shared.tiles);
  constexpr bool chooses = plan.kind.expressions.of_steps();
  Select<chooses, StepReader<plan>, NoSteps> chooser(shared.steps);
  for (Tile<plan> tile; reader.next(tile);) {
    tile.forget_lengths(args);
    u32 first_query = tile.group_query(group);
    // What a query's number is made of, and places in Q, would take registers that are not there if they were kept over
    // a tile, or over all of them.
    constexpr bool frugal = chooses && plan.kind.value_dim > 192;
    if constexpr (frugal) asm volatile("" : "+r"(first_query));
    const StepOrder<plan> steps = tile.steps(args);  // of all groups
    const Sight<plan> own(args, tile.sequence, first_query,
                          plan.packed > 0 ? Packing<plan>(args).queries() : plan.group_rows());
    u32 own_group = group;
    if constexpr (frugal || (plan.kind.sequences && plan.kind.value_dim > 128 && plan.strips > 0))
      asm volatile("" : "+r"(own_group));
    const ScalesOf<plan>& scales = score_scales<plan>(args, tile);
    Softmax<E, plan.kind.alibi != Alibi::none> softmax(scales.scale_log2);
    Fragment<plan.value_columns()> sums;
    stamp<"multiply", "wait q">(steps.first());
    auto q_ring = Rings::Q::after(reader.number(), shared.q_ring[group]);
    const Stage q_stage = q_ring.wait();
    auto& q = shared.q[own_group][plan.q_stages == 1 ? 0 : uniform(q_stage.index)];
    if (steps.none()) {  // no query sees a key
      stamp<"multiply", "store">(first_query);
      writer.write_blank(tile, first_query, sinks_of<plan>(args, tile, group));
      writer.drain();  // all of the group have seen Q come: no product brings them together here
      q_ring.release(q_stage);
      continue;
    }

    ChosenStep chosen;  // where expressions choose
    if constexpr (chooses) chosen = chooser.next();
    if (chooses && chosen.none()) {
      writer.write_blank(tile, first_query, sinks_of<plan>(args, tile, group));
      writer.drain();
      q_ring.release(q_stage);
      continue;
    }

    Fragment<plan.keys> scores;
    RegisterOperand<E, plan.keys> weights;
    Select<plan.kind.alibi != Alibi::none, AlibiBias<plan>, Nothing> alibi;
    if constexpr (plan.kind.alibi != Alibi::none) alibi = AlibiBias<plan>(args, scales, tile, first_query);
    if constexpr (plan.bias_by_product()) {
      barrier::sync(u32(AttentionBarrier::group) + group, warpgroup_threads);
      shared.slope[group].fill(alibi.slope());
      barrier::sync(u32(AttentionBarrier::group) + group, warpgroup_threads);
    }
    const auto multiply_keys = [&](u32 stage, i32 of_step) {
      multiply(scores, q, 0, shared.k[stage], false);
      if constexpr (plan.bias_by_product()) alibi.multiply(scores, shared.slope[group], shared.key_numbers, of_step);
    };
    const auto shift_scores = [&](i32 of_step) {
      if constexpr (plan.bias_by_product())
        alibi.template shift<Fragment<plan.keys>>(of_step, softmax, shared.slope[group].read_slope());
    };
    // No product reads it: without it scores seem to live from one tile to the next, where copies of rows need
    // registers.
    if constexpr (plan.kind.has_tails() && plan.strips == 0) scores.clear();
    {
      auto k_ring = Rings::K::after(taken++, shared.k_ring);
      const Stage k_stage = k_ring.wait();
      turns.take();
      wgmma::fence();
      multiply_keys(k_stage.index, steps.first());
      wgmma::commit();
      turns.hand_over();
      shift_scores(steps.first());
      wgmma::wait<0>(scores.value);
      k_ring.release(k_stage);
    }
    bool started = false;  // the sums hold something
    i32 step = chooses ? chosen.number : steps.first();
    const Expressions<plan> expressions(args, scales, tile, first_query);
    // A cap alone may be left to the weights.
    constexpr bool caps_late = plan.kind.softcap && !plan.changes_scores();
    const Softcap<plan> softcap(scales);
    [[maybe_unused]] bool capped;  // late
    const auto adjust = [&] {      // the scores of the step, before anybody weighs them
      capped = false;
      if constexpr (plan.kind.softcap && !caps_late) softcap.cap(scores);
      if constexpr (plan.kind.alibi != Alibi::none && !plan.bias_by_product()) alibi.apply(scores, step, softmax);
      if constexpr (plan.kind.expressions.score) expressions.change(scores, step);
    };
    adjust();
    const auto weigh_blindly = [&](RegisterOperand<E, plan.keys>& into) {
      if constexpr (caps_late) {
        if (softmax.may_cap(softcap)) return softmax.weigh_blindly(scores, into, softcap);
        softcap.cap(scores);
        capped = true;
      }
      return softmax.weigh_blindly(scores, into);
    };
    for (bool more = true; more;) {
      // The first step, those that some row does not see wholly, and where weights have grown too large.
      stamp<"multiply", "look">(step);
      const bool masked = plan.kind.expressions.mask && !chosen.whole;
      RowAnswers rows;
      if constexpr (plan.kind.expressions.mask)
        if (masked) rows = expressions.template rows<Fragment<plan.keys>>(step);
      typename Softmax<E, plan.kind.alibi != Alibi::none>::Rescale rescale;
      if (masked && __all_sync(0xffffffffu, rows.none())) {
        weights.clear();
      } else {
        if (caps_late && !capped) softcap.cap(scores);
        if constexpr (plan.bias_by_product())
          if (alibi.around(step)) alibi.add(scores, step, shared.slope[group].read_slope());
        if (!own.whole(step)) own.hide(scores, step);
        if constexpr (plan.kind.expressions.mask)
          if (masked) expressions.hide(scores, step, rows);
        rescale = softmax.weigh(scores, weights);
      }
      if (rescale.needed && started)
#pragma unroll
        for (int i = 0; i < sums.count; ++i) sums.value[i] *= rescale.factor.value[sums.half(i)];
      do {
        if constexpr (chooses)
          more = !chosen.last;
        else
          more = steps.more(step);
        if (!more) break;
        stamp<"multiply", "wait kv">(step);
        auto v_ring = Rings::V::after(taken - 1, shared.v_ring);
        auto k_ring = Rings::K::after(taken++, shared.k_ring);
        const Stage k_stage = k_ring.wait();  // of the next step
        const Stage v_stage = v_ring.wait();  // of this one
        const u32 k_index = uniform(k_stage.index), v_index = uniform(v_stage.index);
        stamp<"multiply", "turn">(step);
        turns.take();
        stamp<"multiply", "product">(step);
        wgmma::fence();
        if constexpr (plan.early) {  // scores are wanted before the sums
          multiply_keys(k_index, steps.after(step));
          wgmma::commit();
        }
        multiply(sums, weights, shared.v[v_index], started);
        if constexpr (!plan.early) multiply_keys(k_index, steps.after(step));
        wgmma::commit();
        turns.hand_over();
        if constexpr (chooses) chosen = chooser.next();  // under the products
        shift_scores(steps.after(step));
        if constexpr (plan.early) {
          wgmma::wait<1>(scores.value);
          k_ring.release(k_stage);
        } else {
          wgmma::wait<0>(scores.value);
          wgmma::pin(sums.value);
          k_ring.release(k_stage);
          v_ring.release(v_stage);
        }
        started = true;
        if constexpr (chooses)
          step = chosen.number;
        else
          step = steps.after(step);
        stamp<"multiply", "softmax">(step);
        adjust();
        // Each warp decides for itself: whichever way it takes, the next product is this one, where all four meet.
        if constexpr (plan.kind.alibi != Alibi::none)
          if (alibi.must_look(step)) break;
        if constexpr (plan.early) {
          RegisterOperand<E, plan.keys> fresh;
          const bool weighed = own.whole(step) && weigh_blindly(fresh);
          wgmma::wait<0>(sums.value);
          v_ring.release(v_stage);
          if (!weighed) break;
          weights = fresh;
        }
      } while (plan.early ||
               (own.whole(step) && (!plan.kind.expressions.mask || chosen.whole) && weigh_blindly(weights)));
    }
    if constexpr (plan.strips > 0) q_ring.release(q_stage);

    [[maybe_unused]] const RowPair sinks = sinks_of<plan>(args, tile, group);
    stamp<"multiply", "values">(step);
    auto v_ring = Rings::V::after(taken - 1, shared.v_ring);
    const Stage v_stage = v_ring.wait();
    wgmma::fence();
    multiply(sums, weights, shared.v[v_stage.index], started);
    wgmma::commit();
    wgmma::wait<0>(sums.value);
    v_ring.release(v_stage);
    stamp<"multiply", "store">(first_query);
    SoftmaxTotals totals;
    if constexpr (plan.kind.sinks)
      totals = softmax.totals(sinks);
    else
      totals = softmax.totals();
    if constexpr (plan.kind.narrow())
      for (f32& inverse : totals.inverse.value) inverse *= out_scale<plan>(args, tile);
    writer.write(sums, totals, tile, first_query);
    if constexpr (plan.strips == 0) {
      writer.drain();
      q_ring.release(q_stage);
    }
  }
  turns.end();
  writer.end();
  stamp<"multiply", "end">(0);
}

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
}

}  // namespace wm
