// Attention on Blackwell: out = softmax(scale Q K^T, masked) V, with five kinds of warps. Scores, weights and sums lie
// in tensor memory; a block has two groups of 128 queries in flight, so that the tensor cores multiply for one while
// the other's exponentials are made.
//
//   warps   0-3, 4-7   softmax     of group 0 and 1, a thread for each row: scores to weights, and statistics
//           8-11       correction  of both: sums are scaled where a row's base has moved, and written to strips
//           12         multiply    one thread asks the tensor cores for every product
//           13         epilogue    stores strips by the copy engine, under the next tile
//           14         load        one thread asks for Q, K and V (with expressions of steps, the warp)
//           15         spare       owns tensor memory; clears what lies behind a sequence's last values
//
//   shared memory   q[group]         (128, head_dim)    K-major
//                   k[stage]         (keys, head_dim)   K-major
//                   v[stage]         (value_dim, keys)  MN-major: a row for each key
//                   out[group][i]    (128, 64)          strips of the output
//                   factor[group]    128 f32            from softmax to correction, row by row
//   tensor memory   column 0, 128    scores of group 0 and 1, 128 lanes by `keys`; over them their weights, packed
//                   column 256, 384  sums of values, 128 lanes by value_dim
//
//   barriers, with who arrives in a phase:
//   q[g], k, v .full   the load thread, which announces the bytes, and the bytes
//   q[g], k, v .empty  the tensor cores, once the last product that reads it is done
//   scores[g]          the tensor cores: a step's scores are there, and all that was asked for before is done
//   weights.first[g]   the group's 4 softmax warps: three quarters of the weights are there
//   weights.last[g]    the same: the rest is
//   sums.free[g]       4 correction warps: the sums are scaled (or were taken), products may be added to them
//   sums.full[g]       the tensor cores: the tile's last product is done
//   factor[g][w].full  softmax warp w: what the sums are to be multiplied with; .empty: correction warp w
//   out[g].full        4 correction warps: a strip is written; .empty: the epilogue warp, once it has been read
//   claim              the load thread, and the answer's bytes
//   tile, step, tail   as on Hopper (tiles.cuh, chosen_steps.cuh, load.cuh)
//
// Two blocks multiply together where the plan pairs them: a tile has 512 queries, of which each block has two groups
// with all their roles; of K each has half of a step's keys, of V half of the columns. The first block's multiply warp
// asks for the products of both: its q, k and v.full count both blocks' bytes, its weights and sums.free the warps of
// both, and its commits arrive in both. Besides:
//   tail_of_second     the second's spare warp: its half of a sequence's last values is cleared
//   claim.read         the second's load thread: it has read the answer
//
// Scores need no barrier back: they are written again by products that the multiply warp asks for behind those which
// read the weights made of them. Steps of keys are taken from the last to the first.
#pragma once

#include "warpmill/attention/alibi.cuh"
#include "warpmill/attention/load.cuh"
#include "warpmill/attention/row_softmax.cuh"
#include "warpmill/attention/sm100_block.cuh"
#include "warpmill/attention/sm100_output.cuh"
#include "warpmill/attention/softcap.cuh"
#include "warpmill/ptx/cache.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/grid.cuh"
#include "warpmill/tile/shared_memory.cuh"

namespace wm {

// The products of every tile, in this order: the first scores of both groups; then for each step and group its weights'
// with V, and the next scores. The whole warp reads which tiles and steps there are; one thread waits and asks.
template <AttentionPlan plan>
WM_DEVICE void multiply_tiles(const AttentionArguments& args, Sm100Shared<plan>& shared,
                              const Sm100Memory<plan>& memory) {
  using Rings = Sm100Rings<plan>;
  typename Rings::K k_ring(shared.k_ring);
  typename Rings::V v_ring(shared.v_ring);
  constexpr int blocks = plan.blocks_together();
  Sm100Group<plan> groups[2] = {{shared, memory, 0}, {shared, memory, 1}};
  const bool asks = elect_one() && (!plan.pair || cluster::rank() == 0);
  TileReader<plan> reader(shared.tiles);
  TileSteps<plan> steps(shared);
  for (Tile<plan> tile; reader.next(tile);) {
    const bool any = steps.begin(tile.sight(args));
    Stage k_stage = k_ring.next();
    const Stage q_stage[2] = {groups[0].q_ring.next(), groups[1].q_ring.next()};
    // Scores of the step whose keys are in k_stage. Behind the tile's last ones Q may go, behind both groups' the keys.
    const auto multiply_keys = [&](u32 group) {
      stamp<"multiply", "keys">(steps.number());
      multiply<blocks>(groups[group].scores, shared.q[group][0], shared.k[k_stage.index], false);
      commit_products<blocks>(groups[group].scores_there.committed());
      if (steps.last()) commit_products<blocks>(q_stage[group].empty);
      if (group == 1) commit_products<blocks>(k_stage.empty);
    };
    if (asks) {
      if (any) k_ring.wait();
#pragma unroll
      for (u32 group = 0; group < 2; ++group) {
        stamp<"multiply", "wait q">(group);
        groups[group].q_ring.wait();
        tcgen05::fence_after_thread_sync();
        if (any)
          multiply_keys(group);
        else
          commit_products<blocks>(q_stage[group].empty);
      }
    }
    for (bool more = any, started = false; more; started = true) {
      const u32 number = steps.number();
      more = !steps.last();
      if (more) steps.next();
      if (!asks) continue;
      stamp<"multiply", "wait v">(number);
      const Stage v_stage = v_ring.wait();
      auto& v = shared.v[v_stage.index];
#pragma unroll
      for (u32 group = 0; group < 2; ++group) {
        auto& of = groups[group];
        stamp<"multiply", "wait p">(number);
        of.sums_free.wait();
        of.first_weights.wait();
        tcgen05::fence_after_thread_sync();
        stamp<"multiply", "values">(number);
        multiply_part<blocks, 0, plan.first_weights()>(of.sums, of.weights, v, started);
        if constexpr (plan.first_weights() < plan.keys) {
          of.last_weights.wait();
          tcgen05::fence_after_thread_sync();
          multiply_part<blocks, plan.first_weights(), plan.keys>(of.sums, of.weights, v, true);
        }
        if (group == 1) commit_products<blocks>(v_stage.empty);
        if (more) {
          if (group == 0) {
            stamp<"multiply", "wait k">(steps.number());
            k_stage = k_ring.wait();
            tcgen05::fence_after_thread_sync();
          }
          multiply_keys(group);
        } else {
          commit_products<blocks>(of.sums_full.committed());
        }
      }
    }
  }
  stamp<"multiply", "end">(0);
}

// What a row's sum has besides its keys, in powers of two: the logit of its head's sink.
template <AttentionPlan plan>
WM_DEVICE f32 sink_of(const AttentionArguments& args, const Tile<plan>& tile, u32 group) {
  constexpr f32 log2e = 1.4426950408889634f;
  if constexpr (!plan.kind.sinks) return -infinity;
  const u32 last = (tile.head / args.head_ratio + 1) * args.head_ratio - 1;  // that shares these keys
  const u32 row_head = Packing<plan>(args).head_of(thread_of_warpgroup());
  const u32 head = min(tile.group_head(args, group) + row_head, last);
  return reinterpret_cast<const f32*>(args.sinks)[head] * log2e;
}

// Scores of one group, as they come, to weights where they were. A warpgroup.
template <AttentionPlan plan>
WM_DEVICE void weigh_tiles(const AttentionArguments& args, Sm100Shared<plan>& shared, const Sm100Memory<plan>& memory,
                           u32 group) {
  using Rings = Sm100Rings<plan>;
  using E = typename Sm100Shared<plan>::E;
  Sm100Group<plan> of(shared, memory, group);
  typename Rings::Factor factor_ring(shared.factor_ring[group][warp_of_warpgroup()]);
  const auto tell_correction = [&](f32 factor) {
    const Stage stage = factor_ring.acquire();
    shared.factor[group][thread_of_warpgroup()] = factor;
    factor_ring.commit(stage);
  };
  TileReader<plan> reader(shared.tiles);
  TileSteps<plan> steps(shared);
  for (Tile<plan> tile; reader.next(tile);) {
    const u32 first_query = tile.group_query(group);
    const Sight<plan> own(args, tile.sequence, first_query,
                          plan.packed > 0 ? Packing<plan>(args).queries() : plan.group_rows());
    const ScalesOf<plan>& scales = score_scales<plan>(args, tile);
    const Expressions<plan> expressions(args, scales, tile, first_query);
    Select<plan.kind.alibi != Alibi::none, AlibiBias<plan>, Nothing> alibi;
    if constexpr (plan.kind.alibi != Alibi::none) alibi = AlibiBias<plan>(args, scales, tile, first_query);
    RowSoftmax<E, plan.fma_pairs> softmax(scales.scale_log2);
    const bool any = steps.begin(tile.sight(args));
    for (bool more = any, started = false; more; started = true) {
      const i32 step = steps.number();
      stamp<"softmax", "wait s">(step);
      of.scores_there.wait();
      tcgen05::fence_after_thread_sync();
      stamp<"softmax", "look">(step);
      TensorRow<plan.keys> scores = of.scores.template load_row<plan.keys>(0);
      tcgen05::wait_load();  // the weights come over them
      if constexpr (plan.kind.softcap) Softcap<plan>(scales, tile.sequence.keys).cap(scores);
      if constexpr (plan.kind.alibi != Alibi::none) alibi.apply(scores, step, softmax);
      if constexpr (plan.kind.expressions.score) expressions.change(scores, step);
      if (!own.whole(step)) own.hide(scores, step);
      if constexpr (plan.kind.expressions.mask)
        if (!steps.whole()) expressions.hide(scores, step);
      const f32 factor = softmax.move_base(scores);
      if (started) tell_correction(factor);  // of the first step's sums there is nothing to scale
      stamp<"softmax", "weigh">(step);
      const auto weigh = [&]<int begin, int end>() {
        u32 cells[32 * sizeof(E) / sizeof(u32)];  // of 32 keys
        softmax.template weigh<begin, begin + 32>(scores, cells);
        of.weights.store_row(begin, cells);
        if constexpr (begin + 32 == end) {
          tcgen05::wait_store();
          tcgen05::fence_before_thread_sync();
        }
      };
      constexpr int first = plan.first_weights();
      weigh.template operator()<0, first>();
      if constexpr (first > 32) weigh.template operator()<32, first>();
      if constexpr (first > 64) weigh.template operator()<64, first>();
      of.first_weights.arrive();
      if constexpr (first < plan.keys) {
        weigh.template operator()<first, plan.keys>();
        of.last_weights.arrive();
      }
      stamp<"softmax", "add">(step);
      softmax.add(scores);
      more = !steps.last();
      if (more) steps.next();
    }
    const RowTotals totals = softmax.totals(sink_of<plan>(args, tile, group));
    if (any) tell_correction(totals.inverse);
    if (args.lse) write_lse<plan>(args, tile, group, totals.log2);
  }
  stamp<"softmax", "end">(0);
}

// Sums of both groups: scaled between their products where a base has moved, and taken out when they are whole. A
// warpgroup, a thread for each row.
template <AttentionPlan plan>
WM_DEVICE void correct_tiles(const AttentionArguments& args, Sm100Shared<plan>& shared,
                             const Sm100Memory<plan>& memory) {
  using Rings = Sm100Rings<plan>;
  using Out = typename Sm100Shared<plan>::Strip::Element;
  constexpr int piece = 16;  // columns that a thread has at a time
  const u32 row = thread_of_warpgroup(), warp = warp_of_warpgroup();
  Sm100Group<plan> groups[2] = {{shared, memory, 0}, {shared, memory, 1}};
  using Factor = typename Rings::Factor;
  Factor factor_rings[2] = {Factor(shared.factor_ring[0][warp]), Factor(shared.factor_ring[1][warp])};
  const auto told_by_softmax = [&](u32 group) {
    const Stage stage = factor_rings[group].wait();
    const f32 factor = shared.factor[group][row];
    barrier::sync_warp();
    factor_rings[group].release(stage);
    tcgen05::fence_after_thread_sync();
    return factor;
  };
  const auto scale_sums = [&](u32 group, f32 factor) {
    const auto& sums = groups[group].sums;
#pragma unroll
    for (int first = 0; first < plan.value_columns(); first += piece) {
      TensorRow<piece> values = sums.template load_row<piece>(first);
      tcgen05::wait_load();
#pragma unroll
      for (f32& value : values.value) value *= factor;
      sums.store_row(first, values);
    }
    tcgen05::wait_store();
  };
  // The rows of a group, strip by strip; zeros where no key was seen.
  const auto write_rows = [&](u32 group, f32 inverse, bool any) {
#pragma unroll
    for (int strip = 0; strip < plan.strips_of_tile(); ++strip) {
      const Stage stage = groups[group].out_ring.acquire();
      auto& out = shared.out[group][stage.index];
#pragma unroll
      for (int first = strip * plan.strip_columns();
           first < min((strip + 1) * plan.strip_columns(), plan.value_columns()); first += piece) {
        TensorRow<piece> values{};
        if (any) values = groups[group].sums.template load_row<piece>(first);
        tcgen05::wait_load();  // here, so that no thread holds more than this piece
#pragma unroll
        for (f32& value : values.value) value *= inverse;
        constexpr int of_word = 4 / sizeof(Out), of_chunk = 4 * of_word;
#pragma unroll
        for (int i = 0; i < piece; i += of_chunk) {
          const f32* const chunk = values.value + i;
          *reinterpret_cast<Quad<u32>*>(out.data + out.offset(row, (first % plan.strip_columns() + i) / of_chunk)) = {
              pack_word<Out>(chunk), pack_word<Out>(chunk + of_word), pack_word<Out>(chunk + 2 * of_word),
              pack_word<Out>(chunk + 3 * of_word)};
        }
      }
      fence::proxy_async_shared();
      groups[group].out_ring.commit(stage);
    }
  };
  TileReader<plan> reader(shared.tiles);
  TileSteps<plan> steps(shared);
  for (const auto& group : groups) group.sums_free.arrive();  // nothing is in them yet
  for (Tile<plan> tile; reader.next(tile);) {
    const bool any = steps.begin(tile.sight(args));
    const f32 scale = out_scale<plan>(args, tile);
    while (any && !steps.last()) {
      steps.next();
#pragma unroll
      for (u32 group = 0; group < 2; ++group) {
        stamp<"correct", "wait">(steps.number());
        const f32 factor = told_by_softmax(group);
        stamp<"correct", "scale">(steps.number());
        if (__any_sync(0xffffffffu, factor != 1.f)) scale_sums(group, factor);
        tcgen05::fence_before_thread_sync();
        groups[group].sums_free.arrive();
      }
    }
#pragma unroll
    for (u32 group = 0; group < 2; ++group) {
      stamp<"correct", "wait o">(tile.first_query);
      f32 inverse = 0.f;
      if (any) {
        inverse = told_by_softmax(group) * scale;
        groups[group].sums_full.wait();
        tcgen05::fence_after_thread_sync();
      }
      stamp<"correct", "write">(tile.first_query);
      write_rows(group, inverse, any);
      if (any) {
        tcgen05::fence_before_thread_sync();
        groups[group].sums_free.arrive();  // for the next tile
      }
    }
  }
  stamp<"correct", "end">(0);
}

// The load thread: every tile, then until nothing arrives here any more. With expressions of steps its warp.
template <AttentionPlan plan>
WM_DEVICE void load_role(const AttentionArguments& args, Sm100Shared<plan>& shared) {
  using Rings = Sm100Rings<plan>;
  typename Rings::K k_ring(shared.k_ring);
  typename Rings::V v_ring(shared.v_ring);
  grid::wait();
  u32 tiles;
  if constexpr (plan.kind.expressions.of_steps()) {
    tiles = load_chosen_steps<plan, Rings>(args, shared, k_ring, v_ring,
                                           StepTeller<plan>(args, shared.tiles, shared.steps));
    if (threadIdx.x % 32 != 0) return;  // the first lane copied
  } else {
    tiles = load_tiles<plan, Rings>(args, shared, k_ring, v_ring);
  }
  grid::launch_dependents();
  // The tensor cores let go of the last stages too, which nobody fills again.
  k_ring.drain();
  v_ring.drain();
  for (auto& barriers : shared.q_ring) {
    typename Rings::Q q_ring(barriers);
    q_ring.skip(tiles);
    q_ring.drain();
  }
}

template <AttentionPlan plan>
__global__ __launch_bounds__(plan.threads(), 1) void attention_sm100(const __grid_constant__ AttentionArguments args) {
  using Warps = AttentionWarps;
  using Rings = Sm100Rings<plan>;
  using Memory = Sm100Memory<plan>;
  static_assert(plan.valid(), "this plan does not fit the chip: AttentionPlan::problem() says why");
  static_assert(sizeof(Sm100Shared<plan>) <= plan.shared_bytes(), "the plan's arithmetic covers what is laid out");
  auto& shared = shared_memory<Sm100Shared<plan>>();
  const u32 warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);

  start_stamps();
  if (threadIdx.x == 0) {
    Rings::init(shared);
    fence::mbarrier_init();
  } else if (threadIdx.x == 32) {  // so that the first copies need not wait for their maps
    cache::prefetch(args.q);
    cache::prefetch(args.k);
    cache::prefetch(args.v);
  }
  if (warp == Warps::spare) Memory::allocate(shared.tensor_memory);
  if constexpr (plan.pair)
    cluster::sync();  // the other's barriers must be there before anything arrives at them
  else
    barrier::sync();
  const Memory memory(shared.tensor_memory);

  if (warp < Warps::correction) {
    name_role<"softmax">();
    registers::increase_to<plan.softmax_registers>();
    grid::wait();
    weigh_tiles<plan>(args, shared, memory, warpgroup());
  } else if (warp < Warps::multiply) {
    name_role<"correction">();
    registers::decrease_to<plan.correction_registers>();
    if constexpr (plan.kind.narrow()) grid::wait();  // for the values' scales
    correct_tiles<plan>(args, shared, memory);
  } else {
    registers::decrease_to<plan.service_registers>();
    if constexpr (plan.kind.has_tails()) {
      grid::wait();
      shared.tiles.order.find(args, thread_of_warpgroup(), warpgroup_threads);
      barrier::sync(u32(Sm100Barrier::order), warpgroup_threads);
    }
    if (warp == Warps::multiply) {
      name_role<"multiply">();
      multiply_tiles<plan>(args, shared, memory);
    } else if (warp == Warps::epilogue) {
      name_role<"epilogue">();
      grid::wait();
      store_tiles<plan>(args, shared);
    } else if (warp == Warps::load) {
      name_role<"load">();
      if (plan.kind.expressions.of_steps() || elect_one()) load_role<plan>(args, shared);
    } else {
      name_role<"spare">();
      if constexpr (plan.kind.has_tails()) clear_tails<plan, Rings>(args, shared);
    }
  }
  // Nobody leaves while tensor memory is in use, or while the other block may still arrive here.
  tcgen05::fence_before_thread_sync();
  if constexpr (plan.pair) {
    cluster::arrive_unaligned();
    cluster::wait_unaligned();
  } else {
    barrier::sync_unaligned(u32(Sm100Barrier::block), plan.threads());
  }
  if (warp == Warps::spare) memory.free();
}

}  // namespace wm
