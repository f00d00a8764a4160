// Attention on Hopper: out = softmax(scale Q K^T, masked) V, warp-specialised and persistent.
//
// A block is one load warpgroup, of which one thread works, and one to three multiply warpgroups with 64 queries each.
// A group multiplies its queries with a block of keys, turns the scores into weights in registers, and multiplies these
// with the block's values: both products are wgmma's, and those of one group run under the exponentials of another.
// Inside a group the scores of the next block are queued before the values of the current one.
//
//   shared memory   q[group]    (64, head_dim)       K-major       as the groups take them
//                   k[stage]    (keys, head_dim)     K-major
//                   v[stage]    (value_dim, keys)    MN-major: a row for each key
//                   out[group]  (64, 64)             a strip of the output, unless it leaves from q[group]
//   barriers        q[g].full   1 arrival (the load thread, which announces the bytes) + the bytes
//                   q[g].empty  1 arrival of group g
//                   k.full, v.full    as q's; k.empty, v.empty: 1 arrival of each group
//                   tail[stage]       as k.full: values whose last rows are another sequence's, and must be cleared
//                                     by a warp of the load warpgroup before v.full
//
// Blocks of keys are taken from the last to the first: those that a causal mask cuts come first.
#pragma once

#include "warpmill/attention/lengths.cuh"
#include "warpmill/attention/mask.cuh"
#include "warpmill/attention/softmax.cuh"
#include "warpmill/pipeline/ring.cuh"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/pipeline/stamps.cuh"
#include "warpmill/pipeline/turns.cuh"
#include "warpmill/ptx/cache.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/grid.cuh"
#include "warpmill/tile/product.cuh"
#include "warpmill/tile/strip_writer.cuh"

namespace wm {

enum class AttentionBarrier : u32 { block, writer, turn = writer + 3 };  // writer and turn: one for each group

struct Nothing {};
template <AttentionPlan plan>
struct AttentionShared {
  using E = Element<plan.kind.element>;
  using QTile = OperandTile<E, Major::k, plan.group_queries, plan.kind.head_dim>;
  using KTile = OperandTile<E, Major::k, plan.keys, plan.kind.head_dim>;
  using VTile = OperandTile<E, Major::mn, plan.kind.value_dim, plan.keys>;
  using Strip = SharedTile<E, plan.group_queries, plan.strip_columns>;
  QTile q[plan.groups];
  KTile k[plan.stages];
  VTile v[plan.stages];
  Select<plan.own_strips(), Strip, Nothing> out[plan.groups][1];
  RingBarriers<1> q_ring[plan.groups];
  RingBarriers<plan.stages> k_ring, v_ring;
  u64 tail[plan.stages];
};

template <AttentionPlan plan>
struct AttentionRings {
  using Shared = AttentionShared<plan>;
  static constexpr Readers one_group{.groups = 1, .threads = warpgroup_threads};
  static constexpr Readers all_groups{.groups = plan.groups, .threads = warpgroup_threads};
  using Q = Ring<"q", 1, TmaCourier<sizeof(typename Shared::QTile)>, one_group>;
  using K = Ring<"k", plan.stages, TmaCourier<sizeof(typename Shared::KTile)>, all_groups>;
  using V = Ring<"v", plan.stages, TmaCourier<sizeof(typename Shared::VTile)>, all_groups>;
};

// The tiles of one block of the grid, in its order; those with nothing to write are left out.
template <AttentionPlan plan>
class TileWalk {
 public:
  WM_DEVICE explicit TileWalk(const AttentionArguments& args) : args_(args) {}

  QueryTile tile;
  Sequence sequence;
  u32 first_query;  // of the tile, in its sequence

  WM_DEVICE bool next() {
    while (true) {
      const u32 index = args_.schedule.turn(blockIdx.x, gridDim.x, round_++);
      if (index >= args_.schedule.count()) return false;
      tile = args_.schedule.at(index);
      sequence = sequence_of<plan>(args_, tile.batch);
      first_query = tile.tile * plan.queries();
      if (first_query < sequence.queries) return true;
    }
  }
  WM_DEVICE Sight<plan> sight() const { return Sight<plan>(args_, sequence, first_query, plan.queries()); }
  // Keys of a block that belong to the sequence, where the next one's follow them in the same block; else 0.
  WM_DEVICE u32 keys_before_tail(i32 block) const {
    const u32 left = sequence.keys - block * plan.keys;
    return plan.kind.sequences && left < plan.keys ? left : 0;
  }

 private:
  const AttentionArguments& args_;
  u32 round_ = 0;
};

template <AttentionPlan plan>
WM_DEVICE void load_tiles(const AttentionArguments& args, AttentionShared<plan>& shared) {
  using Rings = AttentionRings<plan>;
  typename Rings::K k_ring(shared.k_ring);
  typename Rings::V v_ring(shared.v_ring);
  u32 tiles = 0;
  for (TileWalk<plan> walk(args); walk.next();) {
    const Sight<plan> sight = walk.sight();
    const i32 head = walk.tile.head, kv_head = head / args.head_ratio, batch = walk.sequence.batch;
    const auto load_k = [&](i32 block) {
      stamp<"load", "wait k">(block);
      const Stage stage = k_ring.acquire();
      stamp<"load", "copy k">(block);
      shared.k[stage.index].load(args.k, walk.sequence.first_key + block * plan.keys, 0, {kv_head, batch}, stage.full);
    };
    const auto load_v = [&](i32 block) {
      stamp<"load", "wait v">(block);
      const bool tail = walk.keys_before_tail(block) > 0;
      const Stage stage = tail ? v_ring.acquire_for_others() : v_ring.acquire();
      const SharedAddress there = tail ? SharedAddress(&shared.tail[stage.index]) : stage.full;
      if (tail) mbarrier::arrive_expect_tx(there, sizeof(shared.v[0]));
      stamp<"load", "copy v">(block);
      shared.v[stage.index].load(args.v, 0, walk.sequence.first_key + block * plan.keys, {kv_head, batch}, there);
    };
    const i32 begin = sight.begin(), last = sight.end() - 1;
    if (last >= begin) load_k(last);
#pragma unroll
    for (u32 group = 0; group < plan.groups; ++group) {
      typename Rings::Q q_ring(shared.q_ring[group]);
      q_ring.skip(tiles);
      stamp<"load", "wait q">(group);
      const Stage stage = q_ring.acquire();
      stamp<"load", "copy q">(group);
      shared.q[group].load(args.q, walk.sequence.first_query + walk.first_query + group * plan.group_queries, 0,
                           {head, batch}, stage.full);
    }
    ++tiles;
    for (i32 block = last; block >= begin; --block) {
      if (block > begin) load_k(block - 1);
      load_v(block);
    }
  }
  stamp<"load", "end">(0);
}

// Values beyond a sequence's end become zeros, so that what the next sequence has there (NaN, say) reaches nobody: a
// weight of 0 would not help. One warp.
template <AttentionPlan plan>
WM_DEVICE void clear_tails(const AttentionArguments& args, AttentionShared<plan>& shared) {
  typename AttentionRings<plan>::V v_ring(shared.v_ring);
  u32 phases = 0;  // of the barriers, a bit for each stage
  for (TileWalk<plan> walk(args); walk.next();) {
    const Sight<plan> sight = walk.sight();
    const i32 last = sight.end() - 1;
    if (last < sight.begin()) continue;
    if (const u32 keys = walk.keys_before_tail(last); keys > 0) {
      const Stage stage = v_ring.next();
      mbarrier::wait_parity(&shared.tail[stage.index], phases >> stage.index & 1);
      phases ^= 1u << stage.index;
      auto& v = shared.v[stage.index];
      using Span = typename AttentionShared<plan>::VTile::Span;
      for (auto& span : v.span)
        for (u32 i = keys * Span::chunks + threadIdx.x % 32; i < plan.keys * Span::chunks; i += 32)
          *reinterpret_cast<Quad<u32>*>(span.data + i * 16) = {0, 0, 0, 0};
      fence::proxy_async_shared();
      barrier::sync_warp();
      if (threadIdx.x % 32 == 0) v_ring.arrive(stage);
    }
    v_ring.skip(last + 1 - sight.begin());
  }
}

// The output of a group's 64 queries, and the logarithms of its rows' sums.
template <AttentionPlan plan>
class AttentionWriter {
 public:
  using Shared = AttentionShared<plan>;
  using Strip = typename Shared::Strip;
  WM_DEVICE AttentionWriter(const AttentionArguments& args, Shared& shared, u32 group)
      : args_(args), strips_(strip_of(shared, group), u32(AttentionBarrier::writer) + group) {}

  WM_DEVICE void write(const Fragment<plan.kind.value_dim>& sums, const Softmax::Totals& totals,
                       const TileWalk<plan>& walk, u32 first_query) {
    const u32 queries = walk.sequence.queries;
    if constexpr (plan.kind.lse) write_lse(totals, walk, first_query);
    if (first_query >= queries) return;
    const bool whole = !plan.kind.sequences || first_query + plan.group_queries <= queries;
#pragma unroll
    for (int i = 0; i < plan.strips(); ++i) {
      auto values = sums.template slice<plan.strip_columns>(i * plan.strip_columns);
#pragma unroll
      for (int j = 0; j < values.count; ++j) values.value[j] *= totals.inverse.value[values.half(j)];
      auto& strip = strips_.begin();
      store_rows(strip, values);
      strips_.filled();
      const i32 column = i * plan.strip_columns, position = walk.sequence.first_query + first_query;
      if (whole)
        strips_.send(strip, args_.out, {column, position, i32(walk.tile.head), i32(walk.sequence.batch)});
      else
        copy_rows(strip, queries - first_query, column, position, walk.tile.head);
    }
  }
  WM_DEVICE void drain() const { strips_.drain(); }
  WM_DEVICE void end() const { strips_.end(); }

 private:
  static constexpr int buffers = plan.own_strips() ? 1 : Shared::QTile::widths;
  static WM_DEVICE auto& strip_of(Shared& shared, u32 group) {
    if constexpr (plan.own_strips())
      return shared.out[group];
    else
      return shared.q[group].width;
  }

  // Rows of a strip, 16 bytes at a time: the copy engine would go on into the next sequence's.
  WM_DEVICE void copy_rows(Strip& strip, u32 rows, u32 column, u64 position, u64 head) {
    using E = typename Strip::Element;
    constexpr u32 chunk_elements = 16 / sizeof(E);
    E* const out = reinterpret_cast<E*>(args_.out_at) + position * args_.out_position_stride +
                   head * args_.out_head_stride + column;
    for (u32 i = thread_of_warpgroup(); i < rows * Strip::chunks; i += warpgroup_threads) {
      const u32 row = i / Strip::chunks, chunk = i % Strip::chunks;
      *reinterpret_cast<Quad<u32>*>(out + row * args_.out_position_stride + chunk * chunk_elements) =
          *reinterpret_cast<const Quad<u32>*>(strip.data + strip.offset(row, chunk));
    }
  }
  WM_DEVICE void write_lse(const Softmax::Totals& totals, const TileWalk<plan>& walk, u32 first_query) {
    constexpr f32 ln2 = 0.6931471805599453f;
    if (threadIdx.x % 4 != 0) return;
    f32* const lse = reinterpret_cast<f32*>(args_.lse) + walk.sequence.batch * args_.lse_batch_stride +
                     walk.tile.head * args_.lse_head_stride + walk.sequence.first_query;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const u32 query = first_query + Fragment<8>::row(half * 2);
      if (query < walk.sequence.queries) lse[query] = totals.log2.value[half] * ln2;
    }
  }

  const AttentionArguments& args_;
  StripWriter<Strip, buffers> strips_;
};

template <AttentionPlan plan>
WM_DEVICE void multiply_tiles(const AttentionArguments& args, AttentionShared<plan>& shared, u32 group) {
  using Rings = AttentionRings<plan>;
  using E = typename AttentionShared<plan>::E;
  typename Rings::Q q_ring(shared.q_ring[group]);
  typename Rings::K k_ring(shared.k_ring);
  typename Rings::V v_ring(shared.v_ring);
  // Who queues products: one group's run while the others make exponentials.
  const Turns<AttentionBarrier::turn, plan.groups> turns(group);
  AttentionWriter<plan> writer(args, shared, group);
  auto& q = shared.q[group];

  turns.begin();
  for (TileWalk<plan> walk(args); walk.next();) {
    const u32 first_query = walk.first_query + group * plan.group_queries;
    const Sight<plan> sight = walk.sight();  // of all groups: they take the same blocks
    const Sight<plan> own(args, walk.sequence, first_query, plan.group_queries);
    Softmax softmax(args.scale_log2);
    Fragment<plan.kind.value_dim> sums;
    const i32 begin = sight.begin(), last = sight.end() - 1;
    stamp<"multiply", "wait q">(last);
    const Stage q_stage = q_ring.wait();
    const auto write = [&] {
      stamp<"multiply", "store">(walk.tile.tile);
      writer.write(sums, softmax.totals(), walk, first_query);
      if constexpr (!plan.own_strips()) writer.drain();
    };
    if (last < begin) {  // no query sees a key
      sums.clear();
      write();
      writer.drain();  // all of the group have seen Q come: no product brings them together here
      q_ring.release(q_stage);
      continue;
    }

    Fragment<plan.keys> scores;
    // Scores become weights; a block that some row does not see wholly is masked first.
    const auto weigh = [&](i32 block, auto masked) {
      if constexpr (plan.kind.softcap)
#pragma unroll
        for (f32& score : scores.value) score = tanh_approximate(score * args.softcap_inner);
      if constexpr (masked.value) {
        own.hide(scores, block);
        return softmax.weigh<0>(scores);
      } else {
        return softmax.weigh<plan.fma_exponentials>(scores);
      }
    };

    {
      const Stage k_stage = k_ring.wait();
      turns.take();
      wgmma::fence();
      multiply(scores, q, 0, shared.k[k_stage.index], false);
      wgmma::commit();
      turns.hand_over();
      wgmma::wait<0>(scores.value);
      k_ring.release(k_stage);
    }
    weigh(last, True{});
    RegisterOperand<E, plan.keys> weights(scores);

    bool started = false;
    const auto step = [&](i32 block, auto masked) {
      stamp<"multiply", "wait kv">(block);
      const Stage k_stage = k_ring.wait();  // of this block
      const Stage v_stage = v_ring.wait();  // of the one before, whose weights are there
      stamp<"multiply", "turn">(block);
      turns.take();
      stamp<"multiply", "product">(block);
      wgmma::fence();
      multiply(scores, q, 0, shared.k[k_stage.index], false);
      wgmma::commit();
      multiply(sums, weights, shared.v[v_stage.index], started);
      wgmma::commit();
      turns.hand_over();
      wgmma::wait<1>(scores.value);
      k_ring.release(k_stage);
      stamp<"multiply", "softmax">(block);
      const Softmax::Rescale rescale = weigh(block, masked);
      stamp<"multiply", "values">(block);
      wgmma::wait<0>(sums.value);
      v_ring.release(v_stage);
      if (rescale.needed)
#pragma unroll
        for (int i = 0; i < sums.count; ++i) sums.value[i] *= rescale.factor.value[sums.half(i)];
      weights = RegisterOperand<E, plan.keys>(scores);
      started = true;
    };
    i32 block = last - 1;
    for (const i32 whole_end = max(own.whole_end(), begin); block >= whole_end; --block) step(block, True{});
    for (const i32 whole_begin = max(own.whole_begin(), begin); block >= whole_begin; --block) step(block, False{});
    if constexpr (plan.kind.mask.left)
      for (; block >= begin; --block) step(block, True{});
    if constexpr (plan.own_strips()) q_ring.release(q_stage);

    stamp<"multiply", "wait v">(begin);
    const Stage v_stage = v_ring.wait();
    wgmma::fence();
    multiply(sums, weights, shared.v[v_stage.index], started);
    wgmma::commit();
    wgmma::wait<0>(sums.value);
    v_ring.release(v_stage);
    write();
    if constexpr (!plan.own_strips()) q_ring.release(q_stage);
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
  extern __shared__ __align__(1024) u8 memory[];
  auto& shared = *reinterpret_cast<AttentionShared<plan>*>(memory);

  start_stamps();
  if (threadIdx.x == 0) {
    for (int group = 0; group < plan.groups; ++group) typename Rings::Q(shared.q_ring[group]).init();
    typename Rings::K(shared.k_ring).init();
    typename Rings::V(shared.v_ring).init();
    if constexpr (plan.kind.sequences) {
      name_shared<"tail">(shared.tail);
      for (u64& barrier : shared.tail) mbarrier::init(&barrier, 1);
    }
    fence::mbarrier_init();
  } else if (threadIdx.x == 32) {  // so that the first copies need not wait for their maps
    cache::prefetch(args.q);
    cache::prefetch(args.k);
    cache::prefetch(args.v);
  }
  barrier::sync();
  if (const u32 role = warpgroup(); role == 0) {
    name_role<"load">();
    if constexpr (plan.moves_registers()) registers::decrease_to<plan.load_registers()>();
    if (warp_of_warpgroup() == 0 && elect_one()) {
      grid::wait();
      load_tiles<plan>(args, shared);
      grid::launch_dependents();
    } else if (plan.kind.sequences && warp_of_warpgroup() == 1) {
      grid::wait();
      clear_tails<plan>(args, shared);
    }
  } else {
    name_role<"multiply">();
    if constexpr (plan.moves_registers()) registers::increase_to<plan.multiply_registers()>();
    grid::wait();
    multiply_tiles<plan>(args, shared, role - 1);
  }
}

}  // namespace wm
