// What leaves a block of Blackwell's attention: the logarithms of rows' sums, and strips of the output.
#pragma once

#include "warpmill/attention/copy_rows.cuh"
#include "warpmill/attention/sm100_block.cuh"
#include "warpmill/pipeline/stamps.cuh"
#include "warpmill/ptx/bulk.cuh"

namespace wm {

// By the thread of each row.
template <AttentionPlan plan>
WM_DEVICE void write_lse(const AttentionArguments& args, const Tile<plan>& tile, u32 group, f32 log2) {
  constexpr f32 ln2 = 0.6931471805599453f;
  const Packing<plan> packing(args);
  const u32 row = thread_of_warpgroup(), query = tile.group_query(group) + packing.query_of(row);
  const u32 head = tile.group_head(args, group) + packing.head_of(row);
  const bool there = plan.packed == 0 || head < (tile.head / args.head_ratio + 1) * args.head_ratio;
  if (query < tile.sequence.queries && there)
    reinterpret_cast<f32*>(args.lse)[tile.sequence.batch * args.lse_batch_stride + head * args.lse_head_stride +
                                     tile.sequence.first_query + query] = log2 * ln2;
}

// Strips to where they belong, as they come. A warp.
template <AttentionPlan plan>
WM_DEVICE void store_tiles(const AttentionArguments& args, Sm100Shared<plan>& shared) {
  using Out = typename Sm100Rings<plan>::Out;
  Out out_rings[2] = {Out(shared.out_ring[0]), Out(shared.out_ring[1])};
  TileReader<plan> reader(shared.tiles);
  for (Tile<plan> tile; reader.next(tile);) {
    const u32 kv_head = tile.head / args.head_ratio, queries = tile.sequence.queries;
#pragma unroll
    for (u32 group = 0; group < 2; ++group) {
      const u32 first = tile.group_query(group);
      const i32 position = tile.sequence.first_query + first, head = tile.group_head(args, group);
      for (i32 column = 0; column < plan.kind.value_dim; column += plan.strip_columns()) {
        stamp<"epilogue", "wait">(column);
        const Stage stage = out_rings[group].wait();
        stamp<"epilogue", "store">(column);
        auto& strip = shared.out[group][stage.index];
        if (plan.kind.sequences && first < queries && queries - first < plan.group_rows()) {
          copy_rows<plan>(args, strip, 0, queries - first, column, position, head);
        } else if (first < queries && threadIdx.x % 32 == 0) {
          if constexpr (plan.packed > 0)  // rows are some queries of some heads; beyond the last of each is nothing
            tma::store(
                args.out,
                {column, position, i32(head - kv_head * args.head_ratio), i32(kv_head), i32(tile.sequence.batch)},
                strip.from_row(0));
          else
            tma::store(args.out, {column, position, head, i32(tile.sequence.batch)}, strip.from_row(0));
          bulk::commit_group();
          bulk::wait_group_read<0>();
        }
        barrier::sync_warp();
        out_rings[group].release(stage);
      }
    }
  }
  stamp<"epilogue", "end">(0);
}

}  // namespace wm
