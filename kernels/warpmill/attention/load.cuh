// Where Q, K and V come from: the copy engine's requests of a block's tiles, and what lies behind a sequence's end. The
// same for every kernel of attention: `Rings` are its stages, with the shared memory that they lie in.
#pragma once

#include "warpmill/attention/chosen_steps.cuh"
#include "warpmill/attention/tiles.cuh"
#include "warpmill/pipeline/stamps.cuh"
#include "warpmill/ptx/fence.cuh"

namespace wm {

// An operand's bytes are counted by the barrier of the stage, of two blocks that multiply together by the first one's.
template <AttentionPlan plan, class Operand, int outer>
WM_DEVICE void load_operand(Operand& operand, const TensorMap& map, u32 mn, u32 first_k, const i32 (&matrix)[outer],
                            SharedAddress full) {
  if constexpr (plan.blocks_multiplying() > 1)
    operand.load_for_pair(map, mn, first_k, matrix, cluster::map(full, 0), {});
  else
    operand.load(map, mn, first_k, matrix, full);
}
// The same of what both blocks need, where each brings half of it to both.
template <AttentionPlan plan, class Operand, int outer>
WM_DEVICE void load_shared_operand(Operand& operand, const TensorMap& map, u32 mn, u32 first_k,
                                   const i32 (&matrix)[outer], SharedAddress full) {
  if constexpr (plan.pair && plan.blocks_multiplying() == 1)
    operand.template load<Shares{.blocks = 2, .parts = 2}>(map, mn, first_k, matrix, full, {},
                                                           {.number = cluster::rank(), .blocks = 0b11});
  else
    load_operand<plan>(operand, map, mn, first_k, matrix, full);
}
// Of two blocks that multiply together, each has its half of a step's keys.
template <AttentionPlan plan, class Shared>
WM_DEVICE void load_keys(const AttentionArguments& args, const Tile<plan>& tile, i32 step, i32 kv_head, Shared& shared,
                         const Stage& stage) {
  const u32 own = plan.blocks_multiplying() > 1 ? cluster::rank() * plan.block_keys() : 0;
  load_shared_operand<plan>(shared.k[stage.index], args.k, tile.sequence.first_key + step * plan.keys + own, 0,
                            {kv_head, i32(tile.sequence.batch)}, stage.full);
}

// The values of a step: where products read them, or where they are transposed from.
template <AttentionPlan plan, class Shared, class VRing>
WM_DEVICE void load_values(const AttentionArguments& args, const Tile<plan>& tile, i32 step, i32 kv_head,
                           Shared& shared, VRing& v_ring) {
  stamp<"load", "wait v">(step);
  const i32 batch = tile.sequence.batch;
  if constexpr (plan.transposes()) {
    const Stage stage = v_ring.acquire();
    stamp<"load", "copy v">(step);
    load_shared_operand<plan>(shared.arriving[stage.index], args.v, tile.sequence.first_key + step * plan.keys, 0,
                              {kv_head, batch}, stage.full);
  } else {
    const bool tail = tile.keys_before_tail(step) > 0;
    const Stage stage = tail ? v_ring.acquire_for_others() : v_ring.acquire();
    const SharedAddress there = tail ? SharedAddress(&shared.tail[stage.index]) : stage.full;
    if (tail) mbarrier::arrive_expect_tx(there, sizeof(shared.v[0]));
    stamp<"load", "copy v">(step);
    const u32 own = plan.blocks_multiplying() > 1 ? cluster::rank() * plan.block_values() : 0;
    const u32 first_key = tile.sequence.first_key + step * plan.keys;
    if (plan.pair && !tail)
      load_shared_operand<plan>(shared.v[stage.index], args.v, own, first_key, {kv_head, batch}, there);
    else
      shared.v[stage.index].load(args.v, own, first_key, {kv_head, batch}, there);
  }
}

// Every stage of every tile of this block, as soon as it is free. The number of tiles. `v_ring` is of the values as
// they come.
template <AttentionPlan plan, class Rings, class VRing>
WM_DEVICE u32 load_tiles(const AttentionArguments& args, typename Rings::Shared& shared, typename Rings::K& k_ring,
                         VRing& v_ring) {
  u32 tiles = 0;
  TileTaker<plan> taker(args, shared.tiles);
  TileRing<plan> tile_ring(shared.tiles.ring);
  for (Tile<plan> tile; taker.next(tile, tile_ring);) {
    const StepOrder<plan> steps = tile.steps(args);
    const i32 head = tile.head, kv_head = head / args.head_ratio, batch = tile.sequence.batch;
    const auto load_k = [&](i32 step) {
      stamp<"load", "wait k">(step);
      const Stage stage = k_ring.acquire();
      stamp<"load", "copy k">(step);
      load_keys(args, tile, step, kv_head, shared, stage);
    };
    const auto load_v = [&](i32 step) { load_values(args, tile, step, kv_head, shared, v_ring); };
    if (!steps.none()) load_k(steps.first());
#pragma unroll
    for (u32 group = 0; group < plan.groups; ++group) {
      typename Rings::Q q_ring(shared.q_ring[group]);
      q_ring.skip(tiles);
      stamp<"load", "wait q">(group);
      const Stage stage = q_ring.acquire();
      stamp<"load", "copy q">(group);
      if constexpr (plan.packed > 0)  // some queries of some heads; zeros beyond the last of each
        load_operand<plan>(shared.q[group][stage.index], args.q, tile.first_query, 0,
                           {i32(tile.group_head(args, group)) - kv_head * i32(args.head_ratio), kv_head, batch},
                           stage.full);
      else
        load_operand<plan>(shared.q[group][stage.index], args.q, tile.sequence.first_query + tile.group_query(group), 0,
                           {head, batch}, stage.full);
    }
    ++tiles;
    bool more = !steps.none();
    for (i32 step = steps.first(); more; step = steps.after(step)) {
      more = steps.more(step);
      if (more) load_k(steps.after(step));
      load_v(step);
    }
  }
  stamp<"load", "end">(0);
  return tiles;
}

// The same where expressions say which steps a tile takes. `source` says which tiles and steps, to the whole warp,
// whose first lane copies.
template <AttentionPlan plan, class Rings, class VRing, class Source>
WM_DEVICE u32 load_chosen_steps(const AttentionArguments& args, typename Rings::Shared& shared,
                                typename Rings::K& k_ring, VRing& v_ring, Source source) {
  const bool first_lane = threadIdx.x % 32 == 0;
  u32 tiles = 0;
  for (Tile<plan> tile; source.next_tile(tile); ++tiles) {
    const Sight<plan> sight = tile.sight(args);
    const i32 head = tile.head, kv_head = head / args.head_ratio, batch = tile.sequence.batch;
    const auto load_k = [&](const ChosenStep& step) {
      const Stage stage = k_ring.acquire();
      load_keys(args, tile, step.number(), kv_head, shared, stage);
    };
    ChosenStep step;
    if (sight.end() > sight.begin()) step = source.next_step(tile);
    if (first_lane) {
      if (!step.none()) load_k(step);
      for (u32 group = 0; group < plan.groups; ++group) {
        typename Rings::Q q_ring(shared.q_ring[group]);
        q_ring.skip(tiles);
        const Stage stage = q_ring.acquire();
        load_operand<plan>(shared.q[group][stage.index], args.q, tile.sequence.first_query + tile.group_query(group), 0,
                           {head, batch}, stage.full);
      }
    }
    while (!step.none()) {
      ChosenStep following;
      if (!step.last()) {
        following = source.next_step(tile);
        if (first_lane) load_k(following);
      }
      if (first_lane) load_values(args, tile, step.number(), kv_head, shared, v_ring);
      step = following;
    }
  }
  return tiles;
}

// Values beyond a sequence's end become zeros, so that what the next sequence has there (NaN, say) reaches nobody: a
// weight of 0 would not help. One warp.
template <AttentionPlan plan, class Rings>
WM_DEVICE void clear_tails(const AttentionArguments& args, typename Rings::Shared& shared) {
  typename Rings::V v_ring(shared.v_ring);
  u32 phases = 0;  // of the barriers, a bit for each stage
  TileReader<plan> reader(shared.tiles);
  for (Tile<plan> tile; reader.next(tile);) {
    const StepOrder<plan> steps = tile.steps(args);
    if (steps.none()) continue;
    v_ring.skip(steps.before_last());
    if (const u32 keys = tile.keys_before_tail(steps.last()); keys > 0) {
      const Stage stage = v_ring.next();
      const u32 phase = phases >> stage.index & 1;
      mbarrier::wait_parity(&shared.tail[stage.index], phase);
      phases ^= 1u << stage.index;
      auto& v = shared.v[stage.index];
      using V = typename Rings::Shared::VTile;
      using Span = typename V::Span;
#pragma unroll 1
      for (int span = 0; span < V::spans; ++span) {
        // Those of a row that products read: the tensor cores' word that a stage is free is of nothing else.
        const u32 chunks = min(V::span_columns, V::extent - span * V::span_columns) * Span::chunks / V::span_columns;
#pragma unroll 1
        for (u32 i = keys * Span::chunks + threadIdx.x % 32; i < plan.keys * Span::chunks; i += 32)
          if (const u32 chunk = i % Span::chunks; chunk < chunks)
            *reinterpret_cast<Quad<u32>*>(v.span[span].data + Span::offset(i / Span::chunks, chunk)) = {0, 0, 0, 0};
      }
      fence::proxy_async_shared();
      barrier::sync_warp();
      if (threadIdx.x % 32 == 0) {
        if constexpr (plan.blocks_multiplying() > 1) {  // the first block arrives when both have cleared their halves
          const SharedAddress second(&shared.tail_of_second[stage.index]);
          if (cluster::rank() > 0)
            mbarrier::arrive_remote(cluster::map(second, 0));
          else
            mbarrier::wait_parity<Scope::cluster>(second, phase);
        }
        if (plan.blocks_multiplying() == 1 || cluster::rank() == 0) v_ring.arrive(stage);
      }
    }
    v_ring.skip(steps.steps() - steps.before_last());
  }
}

}  // namespace wm
