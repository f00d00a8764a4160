// Tiles that several clusters share along k (WorkSchedule): those that come to a tile after its first step leave their
// sums in the workspace, the one that had the first step adds them in the order of k and stores the tile.
//
// Each multiply group of each block has one slot and one flag: a run begins inside at most one tile. The reader clears
// the flag, so that the workspace is as it was when the kernel ends.
#pragma once

#include "warpmill/gemm/epilogue.cuh"
#include "warpmill/gemm/plan.h"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/flag.cuh"
#include "warpmill/tile/fragment.cuh"

namespace wm {

template <GemmPlan plan, class Sums>
class Partials {
 public:
  WM_DEVICE Partials(const GemmArguments& args, u32 block_of_cluster, u32 group)
      : args_(args), block_(block_of_cluster), group_(group) {}

  WM_DEVICE void leave(const Sums& sums, u32 cluster) const {
    each(cluster, [&](int block, int i, Quad<T>& slot) {
      const auto& value = sums.block[block].value;
      slot = {value[i], value[i + 1], value[i + 2], value[i + 3]};
    });
    sync();
    if (thread_of_warpgroup() == 0) flag::set(flag_of(cluster), 1);
  }

  // What the clusters after `cluster` computed of the tile that it began with `steps` steps.
  WM_DEVICE void collect(Sums& sums, u32 cluster, u32 steps) const {
    const WorkSchedule& work = args_.work;
    while (steps < work.tile_steps) {
      ++cluster;
      u32* const flag = flag_of(cluster);
      if (thread_of_warpgroup() == 0) flag::wait(flag, 1);
      sync();
      each(cluster, [&](int block, int i, const Quad<T>& slot) {
        auto& value = sums.block[block].value;
        const Quad<T> left = slot;
        value[i] += left.x, value[i + 1] += left.y, value[i + 2] += left.z, value[i + 3] += left.w;
      });
      sync();  // all have read
      if (thread_of_warpgroup() == 0) *flag = 0;
      steps += work.run_end(cluster) - work.run_begin(cluster);  // past the tile's end where the run goes on
    }
  }

 private:
  using T = Sum<plan>;
  WM_DEVICE u32 slot(u32 cluster) const {
    return (cluster * plan.cluster_size() + block_) * plan.multiply_groups + group_;
  }
  WM_DEVICE u32* flag_of(u32 cluster) const { return reinterpret_cast<u32*>(args_.flags) + slot(cluster); }
  WM_DEVICE void sync() const { barrier::sync(u32(NamedBarrier::first_multiply_group) + group_, warpgroup_threads); }

  // Four sums of a thread at a time, next to those of its neighbours.
  template <class F>
  WM_DEVICE void each(u32 cluster, F function) const {
    constexpr u64 quads = plan.group_rows() * plan.tile.n / 4;
    auto* slot_at = reinterpret_cast<Quad<T>*>(args_.partials) + slot(cluster) * quads + thread_of_warpgroup();
#pragma unroll
    for (int block = 0; block < Sums::blocks; ++block)
#pragma unroll
      for (int i = 0; i < Fragment<plan.tile.n>::count; i += 4, slot_at += warpgroup_threads) function(block, i, *slot_at);
  }

  const GemmArguments& args_;
  u32 block_, group_;
};

}  // namespace wm
