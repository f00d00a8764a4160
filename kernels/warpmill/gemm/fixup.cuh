// Tiles that several clusters share along k (WorkSchedule): those that come to a tile after its first step leave their
// sums in the workspace, the one that had the first step adds them in the order of k and stores the tile.
//
// Where blocks of a cluster share tiles along k too, they have added their own sums before (cluster_sums.cuh,
// scattered_sums.cuh): who would store the tile, or some of its columns, comes here with these.
//
// Each multiply group of each block has one slot: a run begins inside at most one tile. A thread's sums are for the
// same thread of the group that collects them, and carry their own marks; so nobody fences, and no barrier is taken.
// The reader clears what it has read: the workspace is zero again when the kernel ends.
#pragma once

#include "warpmill/gemm/epilogue.cuh"
#include "warpmill/gemm/plan.h"
#include "warpmill/pipeline/marked.cuh"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/tile/fragment.cuh"

namespace wm {

template <GemmPlan plan, class Sums>
class Partials {
 public:
  WM_DEVICE Partials(const ArgumentsOf<plan>& args, u32 block_of_cluster, u32 group)
      : args_(args), block_(block_of_cluster), group_(group) {}

  WM_DEVICE void leave(const Sums& sums, u32 run) const {
    marked::Two* const slot = slot_of(run);
#pragma unroll
    for (int slab = 0; slab < Sums::slabs; ++slab)
#pragma unroll
      for (int i = 0; i < count; i += 2) {
        const auto& value = sums.slab[slab].value;
        marked::store(place(slot, 0, slab, i), marked::with_marks(value[i], value[i + 1]));
      }
  }

  // What the runs after `run` computed of the tile that it began with `steps` steps.
  WM_DEVICE void collect(Sums& sums, u32 run, u32 steps) const {
    const WorkSchedule& work = args_.work;
    while (steps < work.tile_steps) {
      const u32 first = run + 1;
      do {
        ++run;
        steps += work.run_end(run) - work.run_begin(run);  // past the tile's end where the run goes on
      } while (steps < work.tile_steps && run - first + 1 < together);
      add(sums, slot_of(first), run - first + 1);
    }
  }

 private:
  using T = Sum<plan>;
  static constexpr int count = Fragment<plan.written_columns()>::count;
  static constexpr int chunk = plan.partial_chunk(), together = plan.runs_together();
  static constexpr u64 slot_pairs = plan.group_rows() * plan.written_columns() / 2;
  static constexpr u64 run_pairs = slot_pairs * plan.multiply_groups * plan.cluster_size();

  WM_DEVICE marked::Two* slot_of(u32 run) const {
    const u32 slot = (run * plan.cluster_size() + block_) * plan.multiply_groups + group_;
    return reinterpret_cast<marked::Two*>(args_.partials) + slot * slot_pairs + thread_of_warpgroup();
  }
  // Of the values that run `run` after the slot's left. A thread's pairs lie next to those of its neighbours.
  static WM_DEVICE marked::Two* place(marked::Two* slot, int run, int slab, int i) {
    return slot + run * run_pairs + (slab * count + i) / 2 * warpgroup_threads;
  }

  // The sums of `runs` runs, the first of which left them at `slot`.
  WM_DEVICE void add(Sums& sums, marked::Two* slot, u32 runs) const {
#pragma unroll
    for (int slab = 0; slab < Sums::slabs; ++slab)
#pragma unroll
      for (int first = 0; first < count; first += chunk) {
        marked::Two words[together][chunk / 2];
        bool there;
        do {
          there = true;
#pragma unroll
          for (int i = 0; i < together * chunk; i += 2)
            if (i / chunk < runs)
              words[i / chunk][i % chunk / 2] = marked::load(place(slot, i / chunk, slab, first + i % chunk));
#pragma unroll
          for (int i = 0; i < together * chunk; i += 2)
            if (i / chunk < runs) there &= words[i / chunk][i % chunk / 2].there();
        } while (!__all_sync(0xffffffffu, there));  // the warp stays together
#pragma unroll
        for (int i = 0; i < together * chunk; i += 2)
          if (i / chunk < runs) {
            auto* const value = sums.slab[slab].value + first + i % chunk;
            const marked::Two two = words[i / chunk][i % chunk / 2];
            value[0] += marked::value_of<T>(two.first);
            value[1] += marked::value_of<T>(two.second);
            marked::store(place(slot, i / chunk, slab, first + i % chunk), {0, 0});
          }
      }
  }

  const ArgumentsOf<plan>& args_;
  u32 block_, group_;
};

}  // namespace wm
