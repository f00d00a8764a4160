// Tiles that several clusters share along k (WorkSchedule): those that come to a tile after its first step leave their
// sums in the workspace, the one that had the first step adds them in the order of k and stores the tile.
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
        marked::store(slot + place(slab, i), marked::with_marks(value[i], value[i + 1]));
      }
  }

  // What the runs after `run` computed of the tile that it began with `steps` steps.
  WM_DEVICE void collect(Sums& sums, u32 run, u32 steps) const {
    const WorkSchedule& work = args_.work;
    while (steps < work.tile_steps) {
      ++run;
      add(sums, slot_of(run));
      steps += work.run_end(run) - work.run_begin(run);  // past the tile's end where the run goes on
    }
  }

 private:
  using T = Sum<plan>;
  static constexpr int count = Fragment<plan.tile.n>::count;

  WM_DEVICE marked::Two* slot_of(u32 run) const {
    constexpr u64 pairs = plan.group_rows() * plan.tile.n / 2;
    const u32 slot = (run * plan.cluster_size() + block_) * plan.multiply_groups + group_;
    return reinterpret_cast<marked::Two*>(args_.partials) + slot * pairs + thread_of_warpgroup();
  }
  // A thread's pairs lie next to those of its neighbours.
  static constexpr WM_DEVICE u32 place(int slab, int i) { return (slab * count + i) / 2 * warpgroup_threads; }

  WM_DEVICE void add(Sums& sums, marked::Two* slot) const {
    constexpr int chunk = count < 32 ? count : count % 32 == 0 ? 32 : 8;  // values asked for at once
#pragma unroll
    for (int slab = 0; slab < Sums::slabs; ++slab)
#pragma unroll
      for (int first = 0; first < count; first += chunk) {
        marked::Two words[chunk / 2];
        bool there;
        do {
          there = true;
#pragma unroll
          for (int i = 0; i < chunk; i += 2) words[i / 2] = marked::load(slot + place(slab, first + i));
#pragma unroll
          for (const auto& two : words) there &= two.there();
        } while (!__all_sync(0xffffffffu, there));  // the warp stays together
#pragma unroll
        for (int i = 0; i < chunk; i += 2) {
          auto& value = sums.slab[slab].value;
          value[first + i] += marked::value_of<T>(words[i / 2].first);
          value[first + i + 1] += marked::value_of<T>(words[i / 2].second);
          marked::store(slot + place(slab, first + i), {0, 0});
        }
      }
  }

  const ArgumentsOf<plan>& args_;
  u32 block_, group_;
};

}  // namespace wm
