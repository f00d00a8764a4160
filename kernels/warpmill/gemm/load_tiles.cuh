// What the load warpgroup does, for tensor cores that leave their sums with the groups that multiply.
#pragma once

#include "warpmill/gemm/block.cuh"
#include "warpmill/pipeline/stamps.cuh"
#include "warpmill/ptx/grid.cuh"

namespace wm {

// Every stage of every piece of this block, as soon as it is free: one thread where the copy engine loads, else all of
// the warpgroup. Where the first piece lies is worked out before the kernel ahead of us has ended.
template <GemmPlan plan>
WM_DEVICE void load_tiles(const ArgumentsOf<plan>& args, GemmShared<plan>& shared, const GemmPlace<plan>& place) {
  GemmRing<plan> ring = ring_of<plan>(shared, place);
  PieceWalk walk = place.walk(args.work);
  Piece piece;
  for (u32 number = 0; walk.next(piece); ++number) {
    if constexpr (plan.scatters())
      if (number > 0) shared.tile_sums.wait_until_taken(number - 1);
    const Corner corner = place.corner(args.work.tile(piece.tile));
    if (number == 0) {
      if constexpr (plan.kind.by_tma()) prefetch_first_stages<plan>(args, place, piece, corner);
      grid::wait();
    }
    const u32 first = place.first_stage(piece);
    for (u32 step = first; step < first + piece.steps; ++step) {
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
