// What the load warpgroup does, for tensor cores that leave their sums with the groups that multiply.
#pragma once

#include "warpmill/gemm/block.cuh"
#include "warpmill/pipeline/stamps.cuh"
#include "warpmill/ptx/grid.cuh"

namespace wm {

// Asks for the first stages of an operand that the kernel ahead of us does not write, before that has ended: with many
// bytes to come and few to multiply, memory would wait for its last block and for our first copies. How many stages;
// the other operand comes into them later.
template <GemmPlan plan>
WM_DEVICE u32 load_early(const ArgumentsOf<plan>& args, GemmShared<plan>& shared, const GemmPlace<plan>& place,
                         GemmRing<plan> ring) {
  if (!args.a_early && !args.b_early) return 0;
  u32 stages = 0;
  PieceWalk walk = place.walk(args.work);
  for (Piece piece; stages < plan.stages && walk.next(piece);) {
    const Corner corner = place.corner(args.work.tile(piece.tile));
    const u32 first = place.first_stage(piece);
    for (u32 step = first; step < first + piece.steps && stages < plan.stages; ++step, ++stages) {
      stamp<"load", "copy">(step);
      const Stage stage = ring.acquire();
      if (args.a_early) load_a(stage, args, shared, corner, step, place);
      if (args.b_early) load_b(stage, args, shared, corner, step, place);
    }
  }
  return stages;
}

// Every stage of every piece of this block, as soon as it is free: one thread where the copy engine loads, else all of
// the warpgroup. Where the first piece lies is worked out before the kernel ahead of us has ended.
template <GemmPlan plan>
WM_DEVICE void load_tiles(const ArgumentsOf<plan>& args, GemmShared<plan>& shared, const GemmPlace<plan>& place) {
  GemmRing<plan> ring = ring_of<plan>(shared, place);
  PieceWalk walk = place.walk(args.work);
  u32 begun = 0;  // stages that have an operand already
  if constexpr (plan.loads_early()) begun = load_early(args, shared, place, ring);
  Piece piece;
  for (u32 number = 0; walk.next(piece); ++number) {
    if constexpr (plan.scatters())
      if (number > 0) shared.tile_sums.wait_until_taken(number - 1);
    const Corner corner = place.corner(args.work.tile(piece.tile));
    if (number == 0) {
      if constexpr (plan.kind.by_tma())
        if (begun == 0) prefetch_first_stages<plan>(args, place, piece, corner);
      grid::wait();
    }
    const u32 first = place.first_stage(piece);
    for (u32 step = first; step < first + piece.steps; ++step) {
      if constexpr (plan.loads_early()) {
        if (begun > 0) {
          stamp<"load", "copy">(step);
          const Stage stage = ring.next();
          if (!args.a_early) load_a(stage, args, shared, corner, step, place);
          if (!args.b_early) load_b(stage, args, shared, corner, step, place);
          ring.skip(1);
          --begun;
          continue;
        }
      }
      stamp<"load", "wait">(step);
      const Stage stage = ring.acquire();
      stamp<"load", "copy">(step);
      load_stage<plan>(stage, args, shared, corner, step, place);
      ring.commit(stage);
    }
  }
  stamp<"load", "end">(0);
}

}  // namespace wm
