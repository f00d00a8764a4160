// GEMM on Blackwell: D = epilogue(A B), warp-specialised and persistent, with the sums in tensor memory.
//
// A block is a load warpgroup, one or two warpgroups that store, and a warp that multiplies. The load warpgroup's one
// working thread asks the copy engine for stages of A and B (where the engine cannot read them, all its threads copy);
// one thread of the multiply warp asks the tensor cores for their products; the others take the sums out of tensor
// memory, finish and store them, while the next tile's products run into the other accumulator.
//
//   shared memory    stages of A and B | output strips of each storing group | barriers | tensor memory's address
//   tensor memory    accumulator 0: columns 0 to tile.n - 1 | accumulator 1: the next tile.n; 128 lanes, a row each
//                    (tiles of 64 rows: 16 rows in the first lanes of each 32)
//
//   ab.full[s]     1 arrival (the load thread, which also announces the bytes) + the stage's bytes from the copy
//   engine;
//                  from threads, an arrival of each
//   ab.empty[s]    1 arrival of the tensor cores (a commit) from each block that our copies reach
//   sums.full[i]   1 arrival of the tensor cores: the tile's last product is done
//   sums.empty[i]  1 arrival from each storing warp: it has loaded its part
//   claims         where tiles are claimed instead of dealt out (plan.claim): claims.cuh
//
// Blocks of a cluster share operands as on Hopper. Or two blocks multiply together (plan.pair): each has 128 rows of A
// and of D, and half of B's rows; the copies of both are counted by the first one's ab.full, its multiply warp asks for
// the products of both, and its commits arrive in both. m, n and k are arguments: what is compiled knows only the plan.
#pragma once

#include "warpmill/gemm/block.cuh"
#include "warpmill/pipeline/claims.cuh"
#include "warpmill/pipeline/stamps.cuh"
#include "warpmill/ptx/cache.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/grid.cuh"
#include "warpmill/tile/tensor_memory.cuh"

namespace wm {

// The warps of a block: four that load, four of each storing group, one that multiplies. The second of those that load
// owns tensor memory: no thread of it goes its own way. A thread of the third claims tiles.
template <GemmPlan plan>
struct Sm100Warps {
  static constexpr u32 load = 0, owner = 1, claim = 2, store = 4, multiply = store + 4 * plan.multiply_groups;
};

struct NoClaims {};
template <GemmPlan plan>
struct TensorMemoryShared {
  Select<plan.claim, ClaimsShared, NoClaims> claims;
  RingBarriers<plan.accumulators()> sums;
  u32 address;  // of the columns that were allocated
};

template <GemmPlan plan>
using Sm100Memory = TensorMemory<plan.tensor_columns(), plan.blocks_together()>;
template <GemmPlan plan>
using Sm100Sums = TensorSums<plan.tile.m, plan.tile.n, Sum<plan>>;

// Sums made by the tensor cores: they arrive themselves, of two blocks in both.
template <int blocks>
struct TensorCourier {
  static constexpr u32 arrivals = 1;
  static WM_DEVICE void announce(SharedAddress) {}
  static WM_DEVICE void sent(SharedAddress full) { commit_products<blocks>(full); }
};
// Who takes them: each storing warp, of two blocks those of both, whose arrivals the first one's multiply warp awaits.
template <GemmPlan plan>
using SumsRing = Ring<"sums", plan.accumulators(), TensorCourier<plan.blocks_together()>,
                      Readers{.groups = 4u * plan.multiply_groups,
                              .threads = 32,
                              .blocks = u32(plan.blocks_together()),
                              .cluster = u32(plan.blocks_together()),
                              .scope = plan.pair ? Scope::cluster : Scope::block}>;
template <GemmPlan plan>
WM_DEVICE SumsRing<plan> sums_of(GemmShared<plan>& shared) {
  return SumsRing<plan>(shared.tensor_memory.sums, 1);
}

// What a writer takes from: the strips of one storing group.
template <GemmPlan plan>
struct SumsInTensorMemory {
  static constexpr int row_parts = Sm100Sums<plan>::row_parts, part_rows = Sm100Sums<plan>::part_rows;
  static constexpr int unrolled = 1;
  static constexpr u32 strip_step = plan.multiply_groups;
  u32 first_strip;
  Sm100Sums<plan> sums;
  template <int columns>
  WM_DEVICE auto strip(int part, int first) const {
    return sums.template load<columns>(part, first);
  }
};

// This block's tiles, in order: its share of all, or its own and what it claims.
template <GemmPlan plan, class Together>
class Sm100Tiles {
 public:
  WM_DEVICE Sm100Tiles(const ArgumentsOf<plan>& args, GemmShared<plan>& shared, const GemmPlace<plan>& place)
      : args_(args), walk_(place.walk(args.work)), claims_(shared.tensor_memory.claims) {}
  WM_DEVICE bool next(Piece& piece) {
    if (walk_.next(piece)) return true;
    if constexpr (plan.claim) {
      u32 block;
      if (!claims_.template next<Together>(block)) return false;
      piece = {block / plan.cluster_size(), 0, args_.work.tile_steps};
      return true;
    }
    return false;
  }
  // Those that read claims in a cluster: whoever loads, multiplies and stores.
  static constexpr u32 readers =
      plan.cluster_size() * (1 + 4 * plan.multiply_groups) + plan.cluster_size() / plan.blocks_together();

 private:
  struct NoClaim {
    WM_DEVICE explicit NoClaim(const NoClaims&) {}
  };
  const ArgumentsOf<plan>& args_;
  PieceWalk walk_;
  Select<plan.claim, Claims<u32(plan.cluster_size())>, NoClaim> claims_;
};

// Every stage of every tile of this block, as soon as it is free; then until nothing arrives here any more.
template <GemmPlan plan>
WM_DEVICE void load_tiles(const ArgumentsOf<plan>& args, GemmShared<plan>& shared, const GemmPlace<plan>& place) {
  GemmRing<plan> ring = ring_of<plan>(shared, place);
  Sm100Tiles<plan, ThreadReads> tiles(args, shared, place);
  bool first = true;
  for (Piece piece; tiles.next(piece); first = false) {
    const Corner corner = place.corner(args.work.tile(piece.tile));
    if (first) {
      if constexpr (plan.kind.by_tma()) prefetch_first_stages<plan>(args, place, piece, corner);
      grid::wait();
    }
    for (u32 step = 0; step < piece.steps; ++step) {
      stamp<"load", "wait">(step);
      const Stage stage = ring.acquire();
      stamp<"load", "copy">(step);
      load_stage<plan>(stage, args, shared, corner, step, place);
      ring.commit(stage);
    }
  }
  stamp<"load", "end">(0);
  grid::launch_dependents();  // nothing left to load: the next kernel's blocks may come and load
  ring.drain();
}

// The stage may be filled again when the products asked for so far are done: by all blocks that fill it.
template <GemmPlan plan>
WM_DEVICE void release_after_products(const GemmRing<plan>& ring, const Stage& stage) {
  if constexpr (plan.multicasts())
    tcgen05::commit_multicast<1>(stage.empty, u16(ring.blocks()));
  else
    commit_products<plan.blocks_together()>(stage.empty);
}

// The same for operands with block scales, which come into this stage's columns of tensor memory first: products that a
// thread asks for see what it has copied before, and nobody reads those columns any more once the stage is let go.
template <GemmPlan plan>
WM_DEVICE void multiply_scaled(const Sm100Sums<plan>& sums, u32 index, GemmShared<plan>& shared, u32 first_column,
                               const Sm100Memory<plan>& memory, bool accumulate) {
  constexpr u32 along_k = plan.kind.scale_blocks(), a_columns = 4 * along_k, rows = plan.scale_rows(plan.tile.n);
  constexpr int blocks = plan.blocks_together();  // of two each copies its own scales, to the same columns
  const TensorAddress a_scales = memory.column(plan.accumulators() * plan.tile.n + index * plan.scale_columns());
  const TensorAddress b_scales = a_scales + a_columns;
  auto& scales = shared.scales.stage[index];
  const u64 of_a = tcgen05::scale_layout().at(SharedAddress(scales.a).value),
            of_b = tcgen05::scale_layout().at(SharedAddress(scales.b).value);
  constexpr tcgen05::Copied copied = tcgen05::Copied::rows32_bytes16_everywhere;
#pragma unroll
  for (u32 i = 0; i < along_k; ++i) {
    tcgen05::copy<blocks, copied>(a_scales + i * 4, of_a + (i * scale_block_bytes >> 4));
#pragma unroll
    for (u32 row = 0; row < rows; ++row)  // in shared memory along k first, in tensor memory along n
      tcgen05::copy<blocks, copied>(b_scales + (i * rows + row) * 4,
                                    of_b + ((row * along_k + i) * scale_block_bytes >> 4));
  }
  const u64 first_a = detail::first_operand(shared.a[index]), first_b = detail::first_operand(shared.b[index]);
  const u32 within = first_column % scale_block_rows / 32;  // of a tile that lies inside a block
  using Shared = GemmShared<plan>;
  const auto product = [&]<u32 step>() {
    constexpr tcgen05::ScaledProduct what = plan.scaled_product(step);
    static_assert(what.problem(blocks) == nullptr, "the tensor cores have no such product: ScaledProduct::problem()");
    constexpr u32 block = step * along_k / 4;  // of the stage's along k
    const u64 from_a = first_a + (detail::step_offset<typename Shared::ATile>(step) >> 4),
              from_b = first_b + (detail::step_offset<typename Shared::BTile>(step) >> 4);
    tcgen05::multiply_block_scaled<blocks, what.kind>(sums.address, from_a, from_b, what.bits(), a_scales + block * 4,
                                                      b_scales + block * rows * 4 + within, accumulate || step > 0);
  };
  product.template operator()<0>();
  product.template operator()<1>();
  product.template operator()<2>();
  product.template operator()<3>();
}

// One thread: the products of every tile, into one accumulator after the other.
template <GemmPlan plan>
WM_DEVICE void multiply_tiles(const ArgumentsOf<plan>& args, GemmShared<plan>& shared, const GemmPlace<plan>& place,
                              const Sm100Memory<plan>& memory) {
  GemmRing<plan> ring = ring_of<plan>(shared, place);
  SumsRing<plan> sums_ring = sums_of<plan>(shared);
  Sm100Tiles<plan, ThreadReads> tiles(args, shared, place);
  u32 number = 0;
  for (Piece piece; tiles.next(piece); ++number) {
    stamp<"multiply", "turn">(number);
    const Stage accumulator = sums_ring.acquire();  // everybody has loaded what was in it
    tcgen05::fence_after_thread_sync();
    const auto sums = memory.template sums<plan.tile.m, plan.tile.n, Sum<plan>>(accumulator.index * u32(plan.tile.n));
    for (u32 step = 0; step < piece.steps; ++step) {
      stamp<"multiply", "wait">(step);
      const Stage stage = ring.wait();
      tcgen05::fence_after_thread_sync();
      if constexpr (!plan.kind.by_tma()) fence::proxy_async_shared();  // threads wrote what the tensor cores read
      stamp<"multiply", "multiply">(step);
      if constexpr (plan.kind.scaled())
        multiply_scaled<plan>(sums, stage.index, shared, place.corner(args.work.tile(piece.tile)).n, memory, step > 0);
      else
        multiply<plan.blocks_together()>(sums, shared.a[stage.index], shared.b[stage.index], step > 0);
      release_after_products<plan>(ring, stage);
    }
    sums_ring.commit(accumulator);
  }
  stamp<"multiply", "end">(0);
}

template <GemmPlan plan, class Function>
WM_DEVICE void store_tiles(const ArgumentsOf<plan>& args, GemmShared<plan>& shared, const GemmPlace<plan>& place,
                           const Sm100Memory<plan>& memory, u32 group) {
  SumsRing<plan> sums_ring = sums_of<plan>(shared);
  Writer<plan, Function> writer(shared.out[group], u32(GemmBarrier::writer) + group);
  Sm100Tiles<plan, WarpReads> tiles(args, shared, place);
  u32 number = 0;
  for (Piece piece; tiles.next(piece); ++number) {
    stamp<"store", "wait">(number);
    const Stage accumulator = sums_ring.wait();
    tcgen05::fence_after_thread_sync();
    stamp<"store", "store">(number);
    f32 amax = 0.f;
    writer.write(SumsInTensorMemory<plan>{group, memory.template sums<plan.tile.m, plan.tile.n, Sum<plan>>(
                                                     accumulator.index * u32(plan.tile.n))},
                 args, place.corner(args.work.tile(piece.tile)), amax);
    tcgen05::fence_before_thread_sync();  // each part was waited for when it was loaded
    barrier::sync_warp();
    sums_ring.release(accumulator);
    if constexpr (plan.kind.epilogue.amax) collect_amax(amax, args.amax);
  }
  writer.end();
  stamp<"store", "end">(0);
}

template <GemmPlan plan, class Function>
__global__ __launch_bounds__(plan.threads(), 1) void gemm_sm100(const __grid_constant__ ArgumentsOf<plan> args) {
  using Warps = Sm100Warps<plan>;
  auto& shared = shared_of<plan>();
  const GemmPlace<plan> place;
  const u32 warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);

  start_stamps();
  if (threadIdx.x == 0) {
    if constexpr (place.all_bring())
      ring_of<plan>(shared, place).init();
    else
      ring_of<plan>(shared, place).init(place.reached());
    sums_of<plan>(shared).init();
    if constexpr (plan.claim)
      shared.tensor_memory.claims.init(Sm100Tiles<plan, ThreadReads>::readers, plan.cluster_size());
    fence::mbarrier_init();
  } else if (plan.kind.by_tma() && threadIdx.x == 64) {  // so that the first copies need not wait for their maps
    cache::prefetch(args.a);
    cache::prefetch(args.b);
  }
  if (warp == Warps::owner) Sm100Memory<plan>::allocate(shared.tensor_memory.address);
  if constexpr (plan.cluster_size() > 1)
    cluster::sync();  // the others' barriers must be there before our copies arrive at them
  else
    barrier::sync();
  const Sm100Memory<plan> memory(shared.tensor_memory.address);

  // What each role does before grid::wait() needs nothing of the kernel ahead of us.
  if (warp == Warps::multiply) {
    name_role<"multiply">();
    if (place.rank % plan.blocks_together() == 0 && elect_one()) multiply_tiles<plan>(args, shared, place, memory);
  } else if (warp >= Warps::store) {
    name_role<"store">();
    grid::wait();
    store_tiles<plan, Function>(args, shared, place, memory, warpgroup() - 1);
  } else {
    name_role<"load">();
    if constexpr (plan.kind.by_tma()) {
      if (warp == Warps::load && elect_one()) load_tiles<plan>(args, shared, place);
      if constexpr (plan.claim)
        if (warp == Warps::claim && elect_one()) Claims<u32(plan.cluster_size())>(shared.tensor_memory.claims).claim();
    } else {
      load_tiles<plan>(args, shared, place);
    }
  }
  // Nobody leaves while another block may still arrive at its barriers, or while tensor memory is in use.
  tcgen05::fence_before_thread_sync();
  if constexpr (plan.cluster_size() > 1) {
    cluster::arrive_unaligned();
    cluster::wait_unaligned();
  } else {
    barrier::sync_unaligned(u32(GemmBarrier::block), plan.threads());
  }
  if (warp == Warps::owner) memory.free();
}

}  // namespace wm
