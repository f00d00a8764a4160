// What the GEMM kernels have in common: a block's shared memory, its place in the cluster, its ring, how a stage is
// brought, and what becomes of a tile's sums.
#pragma once

#include "warpmill/gemm/activation.cuh"
#include "warpmill/gemm/cluster_sums.cuh"
#include "warpmill/gemm/epilogue.cuh"
#include "warpmill/gemm/fixup.cuh"
#include "warpmill/gemm/plan.h"
#include "warpmill/gemm/scattered_sums.cuh"
#include "warpmill/gemm/spread_sums.cuh"
#include "warpmill/gemm/thread_producer.cuh"
#include "warpmill/pipeline/ring.cuh"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/bulk.cuh"
#include "warpmill/ptx/cluster.cuh"
#include "warpmill/tile/operand_tile.cuh"
#include "warpmill/tile/shared_memory.cuh"

namespace wm {

// As the operands lie in shared memory: what was transposed on the way is K-major.
template <GemmPlan plan>
inline constexpr Major a_major = plan.a_spans() ? Major::mn : Major::k;
template <GemmPlan plan>
inline constexpr Major b_major = plan.b_spans() ? Major::mn : Major::k;

// The blocks that each operand goes to, and of these those that bring it.
template <GemmPlan plan>
inline constexpr Shares a_shares{plan.cluster.n, plan.a_parts()};
template <GemmPlan plan>
inline constexpr Shares b_shares{plan.b_shares(), plan.b_parts()};

// The named barriers of a block.
enum class GemmBarrier : u32 { block, writer, turn = writer + 3 };  // one for each multiply group from the last two on

// What a kernel with its sums in tensor memory has besides (sm100.cuh).
template <GemmPlan plan>
struct TensorMemoryShared;
struct NoTensorMemory {};

// What blocks have that share tiles along k.
struct NoSharedTiles {};
template <GemmPlan plan>
using SharedOfTileSums = Select<plan.scatters(), ScatteredSumsShared<plan>,
                                Select<(plan.cluster.k > 1), ClusterSumsShared<plan>, NoSharedTiles>>;

// Scales of a stage: blocks of 512 bytes (block_format.h), those along k side by side.
template <GemmPlan plan>
struct ScalesShared {
  struct alignas(128) OfStage {
    u8 a[plan.a_scale_bytes()], b[plan.b_scale_bytes()];
  };
  OfStage stage[plan.stages];
};
struct NoScales {};

// Shared memory of a block, in this order.
template <GemmPlan plan>
struct GemmShared {
  using ATile = OperandTile<Element<plan.kind.a>, a_major<plan>, plan.tile.m>;    // (tile.m, tile_k)
  using BTile = OperandTile<Element<plan.kind.b>, b_major<plan>, plan.b_rows()>;  // (b_rows, tile_k)
  ATile a[plan.stages];
  BTile b[plan.stages];
  typename Writer<plan, activation::None>::Shared out[plan.multiply_groups];  // strips; the same for every function
  SharedOfTileSums<plan> tile_sums;
  Select<plan.kind.scaled(), ScalesShared<plan>, NoScales> scales;
  RingBarriers<plan.stages> ring;
  Select<plan.facts().tensor_memory, TensorMemoryShared<plan>, NoTensorMemory> tensor_memory;
};

// The block's dynamic shared memory, laid out.
template <GemmPlan plan>
WM_DEVICE GemmShared<plan>& shared_of() {
  static_assert(plan.valid(), "this plan does not fit the chip: GemmPlan::problem() says why");
  static_assert(sizeof(GemmShared<plan>) <= plan.shared_bytes(), "the plan's arithmetic must cover what is laid out");
  return shared_memory<GemmShared<plan>>();
}

// Where a block stands in its cluster, and which tile is its.
template <GemmPlan plan>
struct GemmPlace {
  u32 rank = plan.cluster_size() > 1 ? cluster::rank() : 0;
  u32 cluster_number = blockIdx.x / plan.cluster_size();
  // Blocks with the same part of k follow each other, and share operands.
  static constexpr u32 beside_each_other = plan.cluster.m * plan.cluster.n;
  u32 part_of_k = plan.cluster.k > 1 ? rank / beside_each_other : 0, number = rank % beside_each_other;
  u32 row = number / plan.cluster.n, column = number % plan.cluster.n;

  WM_DEVICE PieceWalk walk(const WorkSchedule& work) const { return PieceWalk(work, cluster_number); }
  WM_DEVICE u32 first_stage(const Piece& piece) const { return piece.first_stage(part_of_k, plan.cluster.k); }

  // This block's corner of a cluster tile.
  WM_DEVICE Corner corner(TileSchedule::Tile tile) const {
    return {(tile.row * plan.cluster.m + row) * plan.tile.m, (tile.column * plan.cluster.n + column) * plan.tile.n,
            tile.matrix};
  }
  // Where our rows of B begin: of two blocks that multiply together, each brings half.
  WM_DEVICE u32 b_row(const Corner& corner) const { return corner.n + (plan.pair ? row * plan.b_rows() : 0); }
  // The blocks that use the same A (our row of the cluster) and the same B (our column), a bit for each rank.
  WM_DEVICE Sharing sharing_a() const {
    return {column, u16(((1u << plan.cluster.n) - 1) << (first_rank() + row * plan.cluster.n))};
  }
  WM_DEVICE Sharing sharing_b() const {
    u32 blocks = 0;
    for (int i = 0; i < plan.cluster.m; ++i) blocks |= 1u << (i * plan.cluster.n);
    return {row, u16(blocks << (first_rank() + column))};
  }
  // Of the blocks that share an operand, the first bring it (Shares). Those whose copies fill our stages, and we:
  static constexpr bool all_bring() { return plan.a_parts() == plan.cluster.n && plan.b_parts() == plan.b_shares(); }
  WM_DEVICE u32 sources() const {
    if constexpr (all_bring()) {
      return sharing_a().blocks | sharing_b().blocks;
    } else {
      u32 blocks = 1u << number;
      for (int i = 0; i < plan.a_parts(); ++i) blocks |= 1u << (row * plan.cluster.n + i);
      for (int i = 0; i < plan.b_parts(); ++i) blocks |= 1u << (i * plan.cluster.n + column);
      return blocks << first_rank();
    }
  }
  // How many blocks' stages our copies fill, ours among them.
  WM_DEVICE u32 reached() const {
    return 1 + (column < plan.a_parts() ? plan.cluster.n - 1 : 0) + (row < plan.b_parts() ? plan.cluster.m - 1 : 0);
  }

 private:
  WM_DEVICE u32 first_rank() const { return part_of_k * beside_each_other; }
};

// Who brings the data.
template <GemmPlan plan>
using GemmCourier =
    Select<plan.kind.by_tma(), Select<plan.pair, PairCourier<plan.copied_bytes()>, TmaCourier<plan.copied_bytes()>>,
           Select<plan.kind.a_producer == Producer::elements || plan.kind.b_producer == Producer::elements,
                  StoreCourier<plan.producer_threads()>, CopyCourier<plan.producer_threads()>>>;
// Who reads it: every multiply group, or of groups that take turns one; with mma, each of their warps; with tcgen05,
// the warp that multiplies, of two blocks one.
template <GemmPlan plan>
inline constexpr u32 reading_groups = plan.facts().tensor_memory
                                          ? 1
                                          : (plan.pipelining == Pipelining::pingpong ? 1 : plan.multiply_groups) *
                                                u32(plan.group_threads) / plan.facts().reader_threads;
template <GemmPlan plan>
inline constexpr Readers stage_readers{.groups = reading_groups<plan>,
                                       .threads = u32(plan.facts().reader_threads),
                                       .blocks = plan.pair ? 1u : u32(plan.cluster.m + plan.cluster.n - 1),
                                       .cluster = u32(plan.cluster_size())};
template <GemmPlan plan>
using GemmRing = Ring<"ab", plan.stages, GemmCourier<plan>, stage_readers<plan>>;

template <GemmPlan plan>
WM_DEVICE GemmRing<plan> ring_of(GemmShared<plan>& shared, const GemmPlace<plan>& place) {
  return GemmRing<plan>(shared.ring, place.sources());
}

// One operand's scales of a stage, by one thread: of each 128 rows from `row` on the blocks along k.
template <GemmPlan plan>
WM_DEVICE void load_scales(u8* to, u32 bytes, u64 scales, u32 blocks, u32 row, u32 step, SharedAddress full) {
  constexpr u32 along_k = plan.kind.scale_blocks() * scale_block_bytes;
  const u8* const from =
      elements_at<u8>(scales) + u64(row / scale_block_rows) * blocks * scale_block_bytes + step * along_k;
#pragma unroll
  for (u32 i = 0; i * along_k < bytes; ++i)
    bulk::load(to + i * along_k, from + u64(i) * blocks * scale_block_bytes, along_k, full);
}

// Where both operands' scales of a stage lie in their maps: words along k, blocks of 128 rows.
template <GemmPlan plan>
struct MappedScales {
  i32 a[2], b[2];
  WM_DEVICE MappedScales(const Corner& corner, u32 step) {
    a[0] = b[0] = step * plan.kind.scale_blocks() * (scale_block_bytes / ScaleMaps::word);
    a[1] = corner.m / scale_block_rows;
    b[1] = corner.n / scale_block_rows;
  }
};

// One operand of a stage, by the copy engine, which one thread asks.
template <GemmPlan plan>
WM_DEVICE void load_a(const Stage& stage, const ArgumentsOf<plan>& args, GemmShared<plan>& shared, Corner corner,
                      u32 step, const GemmPlace<plan>& place) {
  shared.a[stage.index].template load<a_shares<plan>>(args.a, corner.m, step * plan.tile_k(),
                                                      {i32(args.a_matrix(corner.matrix))}, stage.full, {args.a_policy},
                                                      place.sharing_a());
}
template <GemmPlan plan>
WM_DEVICE void load_b(const Stage& stage, const ArgumentsOf<plan>& args, GemmShared<plan>& shared, Corner corner,
                      u32 step, const GemmPlace<plan>& place) {
  shared.b[stage.index].template load<b_shares<plan>>(args.b, corner.n, step * plan.tile_k(),
                                                      {i32(args.b_matrix(corner.matrix))}, stage.full, {args.b_policy},
                                                      place.sharing_b());
}

// One stage of A and B: by the copy engine, or by all threads that produce.
template <GemmPlan plan>
WM_DEVICE void load_stage(const Stage& stage, const ArgumentsOf<plan>& args, GemmShared<plan>& shared, Corner corner,
                          u32 step, const GemmPlace<plan>& place) {
  if constexpr (plan.pair) {
    const u32 k = step * plan.tile_k();
    const ClusterAddress full = cluster::map(stage.full, 0);  // the first block multiplies
    shared.a[stage.index].load_for_pair(args.a, corner.m, k, {i32(args.a_matrix(corner.matrix))}, full,
                                        {args.a_policy});
    shared.b[stage.index].load_for_pair(args.b, place.b_row(corner), k, {i32(args.b_matrix(corner.matrix))}, full,
                                        {args.b_policy});
    if constexpr (plan.kind.scaled()) {  // of our own rows of A, and of all of B
      const MappedScales<plan> at(corner, step);
      auto& scales = shared.scales.stage[stage.index];
      tma::load_for_pair(scales.a, args.scale_maps.a, at.a, full);
      tma::load_for_pair(scales.b, args.scale_maps.b, at.b, full);
    }
  } else if constexpr (plan.kind.by_tma()) {
    load_a(stage, args, shared, corner, step, place);
    load_b(stage, args, shared, corner, step, place);
    if constexpr (plan.kind.scaled()) {
      auto& scales = shared.scales.stage[stage.index];
      if constexpr (plan.scales_by_map()) {
        const MappedScales<plan> at(corner, step);
        tma::load(scales.a, args.scale_maps.a, at.a, stage.full);
        tma::load(scales.b, args.scale_maps.b, at.b, stage.full);
      } else {
        load_scales<plan>(scales.a, sizeof(scales.a), args.a_scales, args.a_scale_blocks, corner.m, step, stage.full);
        load_scales<plan>(scales.b, sizeof(scales.b), args.b_scales, args.b_scale_blocks, corner.n, step, stage.full);
      }
    }
  } else {
    constexpr u32 threads = plan.producer_threads();
    const u32 k = step * plan.tile_k();
    produce<plan.kind.a_producer, plan.kind.a_major, threads>(
        shared.a[stage.index], args.a_at, args.a_matrix(corner.matrix), corner.m, args.m, k, args.k);
    produce<plan.kind.b_producer, plan.kind.b_major, threads>(
        shared.b[stage.index], args.b_at, args.b_matrix(corner.matrix), corner.n, args.n, k, args.k);
  }
}

// What the first stages of our first piece will hold, into L2; one thread. It may run before the kernel ahead has
// ended: what that still writes, it writes to L2. The copy engine works in order, so each one more delays the first
// load: the host says how many pay.
template <GemmPlan plan>
WM_DEVICE void prefetch_first_stages(const ArgumentsOf<plan>& args, const GemmPlace<plan>& place, const Piece& piece,
                                     const Corner& corner) {
  using Shared = GemmShared<plan>;
  constexpr Shares of_a = a_shares<plan>, of_b = b_shares<plan>;
  const u32 ahead = max(args.a_ahead, args.b_ahead);
  const i32 a_matrix = args.a_matrix(corner.matrix), b_matrix = args.b_matrix(corner.matrix);
#pragma unroll 1
  for (u32 i = 0; i < min(piece.steps, ahead); ++i) {
    const u32 k = (place.first_stage(piece) + i) * plan.tile_k();
    if (i < args.a_ahead) Shared::ATile::template prefetch<of_a>(args.a, corner.m, k, {a_matrix}, place.sharing_a());
    if (i < args.b_ahead)
      Shared::BTile::template prefetch<of_b>(args.b, place.b_row(corner), k, {b_matrix},
                                             plan.pair ? Sharing{} : place.sharing_b());
  }
}

// A multiply group's sums: a slab for each 64 of its rows; of all columns of the tile, or of those that it writes.
template <GemmPlan plan, int columns = plan.tile.n>
struct GemmSums {
  static constexpr int slabs = plan.group_rows() / 64;
  Fragment<columns, Sum<plan>> slab[slabs];

  WM_DEVICE void clear() {
#pragma unroll
    for (auto& fragment : slab) fragment.clear();
  }
};

// To D. `corner` is that of the group's first.
template <GemmPlan plan, class Function>
WM_DEVICE void write_sums(const GemmSums<plan, plan.written_columns()>& sums, const ArgumentsOf<plan>& args,
                          Corner corner, Writer<plan, Function>& writer) {
  f32 amax = 0.f;
  const auto write = [&](int slab) {
    const Corner here{corner.m + slab * 64, corner.n, corner.matrix};
    writer.write(SumsInRegisters<plan>{sums.slab[slab]}, args, here, amax);
  };
  // No loop: the compiler does not always unroll one here, and then the sums lie in local memory.
  static_assert(GemmSums<plan>::slabs <= 2, "a group has 64 or 128 rows");
  write(0);
  if constexpr (GemmSums<plan>::slabs == 2) write(1);
  if constexpr (plan.kind.epilogue.amax) collect_amax(amax, args.amax);
}

// A piece is done: with the sums of the tile's other pieces, where there are any, it goes to D. `first_row` of the tile
// is the group's first; the columns are those that this block writes.
template <GemmPlan plan, class Function>
WM_DEVICE void finish_piece(GemmSums<plan, plan.written_columns()>& sums, const Piece& piece,
                            const ArgumentsOf<plan>& args, const GemmPlace<plan>& place, u32 group, u32 first_row,
                            Writer<plan, Function>& writer) {
  if constexpr (plan.spread) {
    if (piece.steps < args.work.tile_steps)
      return SpreadSums<plan, Function>(args, place.rank, group)
          .finish(sums, args.work.run_of(place.cluster_number), piece.tile, place.corner(args.work.tile(piece.tile)),
                  first_row);
  } else if constexpr (plan.split) {
    const Partials<plan, GemmSums<plan, plan.written_columns()>> partials(args, place.rank, group);
    const u32 run = args.work.run_of(place.cluster_number);
    if (piece.first_step > 0) return partials.leave(sums, run);
    partials.collect(sums, run, piece.steps);
  }
  Corner corner = place.corner(args.work.tile(piece.tile));
  corner.m += first_row;
  if constexpr (plan.scatters()) corner.n += place.part_of_k * plan.written_columns();
  write_sums<plan, Function>(sums, args, corner, writer);
}

}  // namespace wm
