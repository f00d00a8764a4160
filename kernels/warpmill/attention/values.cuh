// Values of 8 bits on their way from where the copy engine leaves them to where products read them.
#pragma once

#include "warpmill/attention/block.cuh"

namespace wm {

// One of the warps that transpose them, for all tiles of the block.
template <AttentionPlan plan>
WM_DEVICE void transpose_values(const AttentionArguments& args, AttentionShared<plan>& shared, u32 warp) {
  typename AttentionRings<plan>::V v_ring(shared.v_ring);
  ArrivingRing<plan> arriving_ring(shared.arriving_ring);
  TileReader<plan> reader(shared.tiles);
  constexpr bool chooses = plan.kind.expressions.of_steps();
  Select<chooses, StepReader<plan>, NoSteps> chooser(shared.steps);
  for (Tile<plan> tile; reader.next(tile);) {
    const StepOrder<plan> steps = tile.steps(args);
    if (steps.none()) continue;
    i32 step = steps.first();
    for (bool more = true; more;) {
      if constexpr (chooses) {
        const ChosenStep chosen = chooser.next();
        if (chosen.none()) break;
        step = chosen.number();
        more = !chosen.last();
      } else {
        more = steps.more(step);
      }
      const Stage from = arriving_ring.wait(), to = v_ring.acquire();
      const Transposer transposer(shared.arriving[from.index], shared.v[to.index], warp);
      if (const u32 keys = tile.keys_before_tail(step); keys > 0)
        transposer.some(keys);
      else
        transposer.all();
      v_ring.commit(to);
      arriving_ring.release(from);
      if constexpr (!chooses) step = steps.after(step);
    }
  }
}

}  // namespace wm
