// A multiply group's way through its tiles: scores of a step of keys, their weights, sums of values; tile after tile.
#pragma once

#include "warpmill/attention/block.cuh"
#include "warpmill/attention/capped_softmax.cuh"
#include "warpmill/attention/softcap.cuh"
#include "warpmill/pipeline/stamps.cuh"
#include "warpmill/pipeline/turns.cuh"
#include "warpmill/tile/product.cuh"

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

// What a group finds ahead: a tile with steps of keys, one whose queries see no key, one that ends before the group's
// queries, or none.
enum class Ahead { steps, blank, others, nothing };

// All tiles of a group.
template <AttentionPlan plan>
WM_DEVICE void multiply_tiles(const AttentionArguments& args, AttentionShared<plan>& shared, u32 group) {
  using Rings = AttentionRings<plan>;
  using E = typename AttentionShared<plan>::E;
  constexpr bool chooses = plan.kind.expressions.of_steps(), biased = plan.kind.alibi != Alibi::none,
                 grounded = plan.grounded();
  // Where tiles are joined, Q is let go of as soon as the last scores are there, so that the next one comes in time.
  constexpr bool joins = plan.joins_tiles();
  u32 taken = 0;  // steps of keys, of all tiles; of values it is one less
  // Who queues products: one group's run while the others make exponentials.
  const Turns<AttentionBarrier::turn, plan.turns ? plan.groups : 1> turns(group);
  AttentionWriter<plan> writer(args, shared, group);
  TileReader<plan> reader(shared.tiles);
  Select<chooses, StepReader<plan>, NoSteps> chooser(shared.steps);
  Fragment<plan.keys> scores;
  RegisterOperand<E, plan.keys> weights;
  Fragment<plan.value_columns()> sums;
  bool started = false;  // the sums hold something
  Select<grounded, CappedSoftmax<plan.keys>, Softmax<E, biased>> softmax;
  Select<biased, AlibiBias<plan>, Nothing> alibi;
  // What a query's number is made of, and places in Q, would take registers that are not there if they were kept over a
  // tile, or over all of them.
  constexpr bool capped_ends = plan.kind.softcap && plan.kind.has_tails();
  constexpr bool frugal =
      (chooses || grounded || capped_ends || plan.pair || plan.packed > 0) && plan.kind.value_dim > 192;
  u32 own_group = group;
  GroupStep chosen;  // where expressions choose

  const auto k_ring_at = [&](u32 step) { return Rings::K::after(step, shared.k_ring); };
  const auto v_ring_at = [&](u32 step) { return Rings::V::after(step, shared.v_ring); };
  const auto q_ring_at = [&](u32 number) { return Rings::Q::after(number, shared.q_ring[group]); };
  const auto release_q = [&] {  // of the tile
    auto ring = q_ring_at(reader.taken() - 1);
    ring.release(ring.next());
  };
  const auto queries = [&](u32 number) -> auto& {  // of a tile, by its number among those of the block
    return shared.q[own_group][plan.q_stages == 1 ? 0 : uniform(number % plan.q_stages)];
  };
  const auto multiply_keys = [&](u32 number, const Stage& stage, i32 of_step) {
    multiply(scores, queries(number), 0, shared.k[uniform(stage.index)], false);
    if constexpr (plan.bias_by_product()) alibi.multiply(scores, shared.slope[group], shared.key_numbers, of_step);
  };
  const auto multiply_values = [&](const Stage& stage) {
    multiply(sums, weights, shared.v[uniform(stage.index)], started);
  };
  const auto read = [&](Tile<plan> tile) {  // out of shared memory
    tile.forget_lengths(args);
    return tile;
  };
  const auto take_step = [&] {
    if constexpr (chooses) chosen = GroupStep(chooser.next(), group);
  };
  // The step behind the chosen one, read while products run.
  [[maybe_unused]] GroupStep following;
  const auto read_ahead = [&] {
    if constexpr (chooses)
      if (!chosen.last()) following = GroupStep(chooser.next(), group);
  };
  const auto look_ahead = [&] {
    if (reader.ahead().none()) return Ahead::nothing;
    if (read(reader.ahead()).steps(args).none()) return Ahead::blank;
    take_step();
    if (chooses && chosen.none()) return Ahead::blank;
    if constexpr (plan.rows() > plan.group_rows() && plan.packed == 0)
      if (reader.ahead().group_query(group) >= read(reader.ahead()).sequence.queries) return Ahead::others;
    return Ahead::steps;
  };
  // The keys of the next tile's first step, and all else that its scores are made of.
  const auto wait_for_first_keys = [&] {
    if constexpr (plan.bias_by_product()) {
      const Tile<plan> next = read(reader.ahead());
      alibi = AlibiBias<plan>(args, args, next, next.group_query(group));
      barrier::sync(u32(AttentionBarrier::group) + group, warpgroup_threads);
      shared.slope[group].fill(alibi.slope());
      barrier::sync(u32(AttentionBarrier::group) + group, warpgroup_threads);
    }
    stamp<"multiply", "wait q">(reader.taken());
    q_ring_at(reader.taken()).wait();
    if constexpr (grounded)
      scale_queries(queries(reader.taken()), args.near_cap.query_factor, u32(AttentionBarrier::group) + group);
    return k_ring_at(taken).wait();
  };
  const auto queue_last_values = [&] {  // of a tile; the stage is to be let go of behind them
    stamp<"multiply", "values">(taken);
    const Stage stage = v_ring_at(taken - 1).wait();
    wgmma::fence();
    multiply_values(stage);
    wgmma::commit();
    return stage;
  };
  const auto first_step = [&] { return plan.bias_by_product() ? read(reader.ahead()).steps(args).first() : 0; };
  const auto write_tile = [&] {
    const Tile<plan> tile = read(reader.here());
    const u32 first_query = tile.group_query(group);
    stamp<"multiply", "store">(first_query);
    SoftmaxTotals totals;
    if constexpr (plan.kind.sinks)
      totals = softmax.totals(sinks_of<plan>(args, tile, group));
    else
      totals = softmax.totals();
    if constexpr (plan.kind.narrow())
      for (f32& inverse : totals.inverse.value) inverse *= out_scale<plan>(args, tile);
    writer.write(sums, totals, tile, first_query, reader.taken() - 1);
    reader.let_go();
  };
  const auto write_blank = [&] {
    reader.take();
    const Tile<plan> tile = read(reader.here());
    stamp<"multiply", "store">(tile.group_query(group));
    q_ring_at(reader.taken() - 1).wait();
    writer.write_blank(tile, tile.group_query(group), sinks_of<plan>(args, tile, group), reader.taken() - 1);
    writer.drain();  // all of the group have seen Q come: no product brings them together here
    release_q();
    reader.let_go();
  };
  // A tile that only other groups have queries of: its stages are let go of, and its turns passed on.
  const auto pass_tile = [&] {
    reader.take();
    u32 left = read(reader.here()).steps(args).steps();
    q_ring_at(reader.taken() - 1).pass();
    writer.leave_out();
    for (bool more = true; more; ++taken) {
      turns.take();
      turns.hand_over();
      k_ring_at(taken).pass();
      v_ring_at(taken).pass();
      more = chooses ? !chosen.last() : --left > 0;
      if (more) take_step();
    }
    // Without turns nothing else keeps the others from waiting for what comes next before this has come.
    barrier::sync(u32(AttentionBarrier::group) + group, warpgroup_threads);
    reader.let_go();
  };

  turns.begin();
  for (Ahead ahead = look_ahead(); ahead != Ahead::nothing;) {
    if (ahead == Ahead::blank) {
      write_blank();
      ahead = look_ahead();
      continue;
    }
    if (ahead == Ahead::others) {
      pass_tile();
      ahead = look_ahead();
      continue;
    }
    // No product reads it: without it scores seem to live from one tile to the next, where copies of rows need
    // registers.
    if constexpr (plan.kind.has_tails() && plan.strips == 0) scores.clear();
    const Stage first_stage = wait_for_first_keys();
    const i32 first = first_step();
    turns.take();
    wgmma::fence();
    multiply_keys(reader.taken(), first_stage, first);
    wgmma::commit();
    turns.hand_over();
    while (true) {  // a tile, whose first scores are being made
      reader.take();
      const Tile<plan> tile = read(reader.here());
      u32 first_query = tile.group_query(group);
      if constexpr (frugal) asm volatile("" : "+r"(first_query));
      if constexpr (frugal || (plan.kind.sequences && plan.kind.value_dim > 128)) asm volatile("" : "+r"(own_group));
      const StepOrder<plan> steps = tile.steps(args);  // of all groups
      const Sight<plan> own(args, tile.sequence, first_query,
                            plan.packed > 0 ? Packing<plan>(args).queries() : plan.group_rows());
      const ScalesOf<plan>& scales = score_scales<plan>(args, tile);
      softmax = decltype(softmax)(scales.scale_log2);
      if constexpr (biased && !plan.bias_by_product()) alibi = AlibiBias<plan>(args, scales, tile, first_query);
      const auto shift_scores = [&](i32 of_step) {
        if constexpr (plan.bias_by_product())
          alibi.template shift<Fragment<plan.keys>>(of_step, softmax, shared.slope[group].read_slope());
      };
      i32 step = chooses ? chosen.number() : steps.first();
      const auto more = [&] {
        if constexpr (chooses) return !chosen.last();
        return steps.more(step);
      };
      const auto release_keys = [&](u32 number) {
        // Who has an arrival to make, at a block each; nobody else needs to know the stage.
        if (thread_of_warpgroup() >= plan.blocks_together()) return;
        const auto ring = k_ring_at(number);
        ring.release(ring.next());
        if (joins && !more()) release_q();
      };
      const Expressions<plan> expressions(args, scales, tile, first_query);
      // A cap alone may be left to the weights.
      constexpr bool caps_late = plan.kind.softcap && !plan.changes_scores() && !grounded;
      const Softcap<plan> softcap(scales, tile.sequence.keys);
      [[maybe_unused]] bool capped;             // late
      [[maybe_unused]] bool by_series = false;  // so it may be done, with the bases as they are
      const auto adjust = [&] {                 // the scores of the step, before anybody weighs them
        capped = false;
        if constexpr (plan.kind.softcap && !caps_late && !grounded) softcap.cap(scores);
        if constexpr (biased && !plan.bias_by_product()) alibi.apply(scores, step, softmax);
        if constexpr (plan.kind.expressions.score) expressions.change(scores, step);
      };
      [[maybe_unused]] bool based = false;  // every row of the warp has seen a key
      // Worked out while the products run that make the step's scores.
      const auto may_be_blind = [&] {
        u32 may = own.whole(step);
        if constexpr (plan.kind.expressions.mask) may &= based && !chosen.masked();
        if constexpr (grounded) may &= softmax.settled();
        if constexpr (chooses || grounded) asm volatile("" : "+r"(may));
        return may != 0;
      };
      const auto weigh_blindly = [&](RegisterOperand<E, plan.keys>& into) {
        if constexpr (grounded) {
          return softmax.weigh_blindly(scores, into, softcap);
        } else {
          if constexpr (caps_late) {
            if (by_series) return softmax.weigh_blindly(scores, into, softcap);
            softcap.cap(scores);
            capped = true;
          }
          return softmax.weigh_blindly(scores, into);
        }
      };
      // Each thread asks about its rows before the step's scores are made: then there are registers, and time.
      const auto ask_rows = [&] {
        if constexpr (plan.kind.expressions.mask)
          if (chosen.masked() && !chosen.rows().none())
            chosen.answer(expressions.template rows<Fragment<plan.keys>>(step));
      };

      shift_scores(step);
      read_ahead();
      ask_rows();
      wgmma::wait<0>(scores.value);
      release_keys(taken++);
      started = false;
      adjust();
      for (bool goes_on = true; goes_on;) {
        // The first step, those that some row does not see wholly, and where weights have grown too large.
        stamp<"multiply", "look">(step);
        typename Softmax<E, biased>::Rescale rescale;
        const RowAnswers rows = chosen.rows();
        if (!own.any(step) || (plan.kind.expressions.mask && __all_sync(0xffffffffu, rows.none()))) {
          weights.clear();
        } else if constexpr (grounded) {
          softmax.weigh(scores, weights, softcap, [&] {
            if (!own.whole(step)) own.hide(scores, step);
          });
        } else {
          if (caps_late && !capped) softcap.cap(scores);
          if constexpr (plan.bias_by_product())
            if (alibi.around(step)) alibi.add(scores, step, shared.slope[group].read_slope());
          if (!own.whole(step)) own.hide(scores, step);
          if constexpr (plan.kind.expressions.mask)
            if (chosen.masked()) expressions.hide(scores, step, rows);
          rescale = softmax.weigh(scores, weights);
          if constexpr (caps_late) by_series = softmax.may_cap(softcap);
          if constexpr (plan.kind.expressions.mask) based = softmax.based();
        }
        if (rescale.needed && started)
#pragma unroll
          for (int i = 0; i < sums.count; ++i) sums.value[i] *= rescale.factor.value[sums.half(i)];
        do {
          goes_on = more();
          if (!goes_on) break;
          if constexpr (chooses) chosen = following;
          step = chooses ? chosen.number() : steps.after(step);
          ask_rows();
          stamp<"multiply", "wait kv">(step);
          const Stage k_stage = k_ring_at(taken).wait();  // of the next step
          auto v_ring = v_ring_at(taken++ - 1);
          const Stage v_stage = v_ring.wait();  // of this one
          stamp<"multiply", "turn">(step);
          turns.take();
          stamp<"multiply", "product">(step);
          wgmma::fence();
          if constexpr (plan.early) {  // scores are wanted before the sums
            multiply_keys(reader.taken() - 1, k_stage, step);
            wgmma::commit();
          }
          multiply_values(v_stage);
          if constexpr (!plan.early) multiply_keys(reader.taken() - 1, k_stage, step);
          wgmma::commit();
          turns.hand_over();
          read_ahead();
          shift_scores(step);
          const bool may_be = may_be_blind();
          if constexpr (plan.early) {
            wgmma::wait<1>(scores.value);
            release_keys(taken - 1);
          } else {
            wgmma::wait<0>(scores.value);
            wgmma::pin(sums.value);
            release_keys(taken - 1);
            v_ring.release(v_stage);
          }
          started = true;
          stamp<"multiply", "softmax">(step);
          adjust();
          // Each warp decides for itself: whichever way it takes, the next product is this one, where all four meet.
          if constexpr (biased)
            if (alibi.must_look(step)) break;
          if constexpr (plan.early) {
            RegisterOperand<E, plan.keys> fresh;
            const bool weighed = may_be && weigh_blindly(fresh);
            wgmma::wait<0>(sums.value);
            v_ring.release(v_stage);
            if (!weighed) break;
            weights = fresh;
          }
          if constexpr (!plan.early)
            if (!may_be || !weigh_blindly(weights)) break;
        } while (true);
      }
      if constexpr (!joins) break;
      ahead = look_ahead();
      if (ahead != Ahead::steps) break;
      // To the next tile: its first scores are made while this one's output leaves.
      const Stage v_stage = queue_last_values();
      const Stage k_stage = wait_for_first_keys();
      const i32 first = first_step();
      stamp<"multiply", "turn">(step);
      turns.take();
      wgmma::fence();
      multiply_keys(reader.taken(), k_stage, first);
      wgmma::commit();
      turns.hand_over();
      wgmma::wait<1>(sums.value);
      v_ring_at(taken - 1).release(v_stage);
      write_tile();
    }
    if constexpr (!joins && plan.strips > 0) release_q();
    const Stage v_stage = queue_last_values();
    wgmma::wait<0>(sums.value);
    v_ring_at(taken - 1).release(v_stage);
    write_tile();
    if constexpr (plan.strips == 0) {  // it leaves from where Q is
      writer.drain();
      release_q();
    }
    if constexpr (!joins) ahead = look_ahead();
  }
  turns.end();
  writer.end();
  stamp<"multiply", "end">(0);
}

}  // namespace wm
