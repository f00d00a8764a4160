// A block's shared memory and barriers, and the way out of it.
#pragma once

#include "warpmill/attention/alibi.cuh"
#include "warpmill/attention/chosen_steps.cuh"
#include "warpmill/attention/copy_rows.cuh"
#include "warpmill/attention/softmax.cuh"
#include "warpmill/attention/tiles.cuh"
#include "warpmill/tile/operand_tile.cuh"
#include "warpmill/tile/strip_writer.cuh"

namespace wm {

enum class AttentionBarrier : u32 { block, group, turn = group + 3, order = turn + 3 };  // group and turn: one for each

template <AttentionPlan plan>
struct AttentionShared : ArrivingTiles<plan> {
  using E = Element<plan.kind.element>;
  using QTile = OperandTile<E, Major::k, plan.group_rows(), plan.head_columns()>;
  using KTile = OperandTile<E, Major::k, plan.keys, plan.head_columns()>;
  using VTile = OperandTile<E, plan.kind.narrow() ? Major::k : Major::mn, plan.value_columns(), plan.keys>;
  using Strip = SharedTile<Element<plan.kind.out_element()>, plan.group_rows(), plan.strip_columns()>;
  QTile q[plan.groups][plan.q_stages];
  KTile k[plan.stages];
  VTile v[plan.stages];
  Select<(plan.strips > 0), Strip, Nothing> out[plan.groups][plan.strips > 0 ? plan.strips : 1];
  Select<plan.bias_by_product(), KeyNumbers<plan.keys>, Nothing> key_numbers;
  Select<plan.bias_by_product(), SlopeOperand<plan.key_sides()>, Nothing> slope[plan.groups];
  RingBarriers<plan.q_stages> q_ring[plan.groups];
  RingBarriers<plan.stages> k_ring, v_ring;
  u64 tail[plan.stages];
  TilesShared<plan> tiles;
  Select<plan.kind.expressions.of_steps(), StepsShared<plan>, Nothing> steps;
  Select<plan.kind.narrow(), RingBarriers<plan.stages>, Nothing> arriving_ring;
};

template <AttentionPlan plan>
struct AttentionRings {
  using Shared = AttentionShared<plan>;
  static constexpr Readers one_group{.groups = 1, .threads = warpgroup_threads};
  static constexpr Readers all_groups{.groups = plan.groups, .threads = warpgroup_threads};
  // Of what two blocks bring each other.
  static constexpr Readers everybody{.groups = plan.groups,
                                     .threads = warpgroup_threads,
                                     .blocks = u32(plan.blocks_together()),
                                     .cluster = u32(plan.blocks_together())};
  using Q = Ring<"q", plan.q_stages, TmaCourier<sizeof(typename Shared::QTile)>, one_group>;
  using K = Ring<"k", plan.stages, TmaCourier<sizeof(typename Shared::KTile)>, everybody>;
  // Of what products read. Values of 8 bits come by a ring of their own, and warps of ours bring them from there.
  using VCourier =
      Select<plan.kind.narrow(), WarpCourier<transposing_warps>, TmaCourier<sizeof(typename Shared::VTile)>>;
  using V = Ring<"v", plan.stages, VCourier, plan.kind.narrow() ? all_groups : everybody>;
  using LoadedV = Select<plan.kind.narrow(), ArrivingRing<plan>, V>;
  static WM_DEVICE auto& loaded_v(Shared& shared) {
    if constexpr (plan.kind.narrow())
      return shared.arriving_ring;
    else
      return shared.v_ring;
  }
};

// The output of a group's 64 queries, and where they are asked for the logarithms of its rows' sums. Each warp writes
// its own rows.
template <AttentionPlan plan>
class AttentionWriter {
 public:
  using Shared = AttentionShared<plan>;
  using Strip = typename Shared::Strip;
  WM_DEVICE AttentionWriter(const AttentionArguments& args, Shared& shared, u32 group)
      : args_(args), group_(group), strips_(strips_of(shared, group), {}) {}

  // `number` is the tile's among those of the block.
  WM_DEVICE void write(const Fragment<plan.value_columns()>& sums, const SoftmaxTotals& totals, const Tile<plan>& tile,
                       u32 first_query, u32 number) {
    if (args_.lse) write_lse(totals.log2, tile, first_query);
    const u32 first = first_query + Packing<plan>(args_).query_of(WarpTogether::first_row());
    if (first >= tile.sequence.queries) return leave_out();
    const u32 first_strip = number * plan.strips_of_tile();
    constexpr int whole_strips = plan.value_columns() / plan.strip_columns(),
                  columns_left = plan.value_columns() % plan.strip_columns();
#pragma unroll
    for (int i = 0; i < whole_strips; ++i)
      write_strip(i, first_strip + i, sums.template slice<plan.strip_columns()>(i * plan.strip_columns()), totals, tile,
                  first);
    if constexpr (columns_left > 0)
      write_strip(whole_strips, first_strip + whole_strips,
                  sums.template slice<columns_left>(whole_strips * plan.strip_columns()), totals, tile, first);
  }
  // Of queries that see no key: zeros, and for the logarithm of each what it is then.
  WM_DEVICE void write_blank(const Tile<plan>& tile, u32 first_query, RowPair log2, u32 number) {
    if constexpr (!plan.kind.sequences) {  // rare, and this way the loop of steps is compiled as if it were not there
      Fragment<plan.value_columns()> zeros;
      zeros.clear();
      return write(zeros, {.inverse = {0.f, 0.f}, .log2 = log2}, tile, first_query, number);
    }
    if (args_.lse) write_lse(log2, tile, first_query);
    const u32 first = first_query + WarpTogether::first_row();
    if (first >= tile.sequence.queries) return leave_out();
#pragma unroll
    for (int i = 0; i < plan.strips_of_tile(); ++i) {
      auto& strip = strips_.begin(number * plan.strips_of_tile() + i);
#pragma unroll
      for (u32 chunk = 0; chunk < WarpTogether::rows * Strip::chunks; chunk += 32)
        *reinterpret_cast<Quad<u32>*>(strip.data + WarpTogether::first_row() * Strip::row_bytes +
                                      (chunk + threadIdx.x % 32) * 16) = {0, 0, 0, 0};
      send(strip, i, tile, first);
    }
  }
  // A tile that the group, or one of its warps, has no rows of.
  WM_DEVICE void leave_out() const {
#pragma unroll
    for (int i = 0; i < plan.strips_of_tile(); ++i) strips_.left_out();
  }
  // The group's strips may become something else.
  WM_DEVICE void drain() const {
    strips_.drain();
    barrier::sync(u32(AttentionBarrier::group) + group_, warpgroup_threads);
  }
  WM_DEVICE void end() const { strips_.end(); }

 private:
  static constexpr int buffers = plan.strips > 0 ? plan.strips : Shared::QTile::widths;
  static WM_DEVICE auto& strips_of(Shared& shared, u32 group) {
    if constexpr (plan.strips > 0)
      return shared.out[group];
    else
      return shared.q[group][0].width;
  }

  template <int columns>
  WM_DEVICE void write_strip(int of_tile, u32 number, Fragment<columns> values, const SoftmaxTotals& totals,
                             const Tile<plan>& tile, u32 first) {
#pragma unroll
    for (int i = 0; i < values.count; ++i) values.value[i] *= totals.inverse.value[values.half(i)];
    auto& strip = strips_.begin(number);
    store_rows(strip, values);
    send(strip, of_tile, tile, first);
  }
  // The warp's rows of strip `number`, whose first is query `first`.
  WM_DEVICE void send(Strip& strip, int number, const Tile<plan>& tile, u32 first) {
    strips_.filled();
    const u32 queries = tile.sequence.queries;
    const i32 column = number * plan.strip_columns(), position = tile.sequence.first_query + first;
    if constexpr (plan.packed >
                  0) {  // the rows of a box are some queries of some heads; beyond the last of each is nothing
      const u32 head = tile.group_head(args_, group_) + Packing<plan>(args_).head_of(WarpTogether::first_row()),
                kv_head = tile.head / args_.head_ratio;
      strips_.send(strip, args_.out,
                   {column, position, i32(head - kv_head * args_.head_ratio), i32(kv_head), i32(tile.sequence.batch)});
    } else if (!plan.kind.sequences || first + WarpTogether::rows <= queries) {
      strips_.send(strip, args_.out, {column, position, i32(tile.head), i32(tile.sequence.batch)});
    } else {
      copy_rows<plan>(args_, strip, WarpTogether::first_row(), queries - first, column, position, tile.head);
      strips_.copied();
    }
  }
  WM_DEVICE void write_lse(const RowPair& log2, const Tile<plan>& tile, u32 first_query) {
    constexpr f32 ln2 = 0.6931471805599453f;
    if (threadIdx.x % 4 != 0) return;
    f32* const lse = reinterpret_cast<f32*>(args_.lse) + tile.sequence.batch * args_.lse_batch_stride +
                     tile.head * args_.lse_head_stride + tile.sequence.first_query;
    if constexpr (plan.packed > 0) {
      const u32 end = (tile.head / args_.head_ratio + 1) * args_.head_ratio;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const u32 row = Fragment<8>::row(half * 2), query = first_query + Packing<plan>(args_).query_of(row);
        const u32 head = tile.group_head(args_, group_) + Packing<plan>(args_).head_of(row);
        if (query < tile.sequence.queries && head < end)
          lse[i64(head - tile.head) * args_.lse_head_stride + query] = log2.value[half] * ln2;
      }
      return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const u32 query = first_query + Fragment<8>::row(half * 2);
      if (query < tile.sequence.queries) lse[query] = log2.value[half] * ln2;
    }
  }

  const AttentionArguments& args_;
  u32 group_;
  StripWriter<Strip, buffers, StripStore::engine, WarpTogether> strips_;
};

}  // namespace wm
