// Tiles that the blocks of one cluster share along k: the first block adds the others' sums to its own, in the order of
// k, and stores the tile (large tiles: scattered_sums.cuh). The sums travel from registers into the first block's
// shared memory, where a barrier counts their bytes. For a tile of 64x64 that takes 0.8 us on an H200, and the way
// through the workspace (fixup.cuh) 1.3.
//
//   there[g]  of the first block: 1 arrival (group g, which announces the bytes) + the sums of the others' groups g
//   taken[g]  of the other blocks: 1 arrival from each warp of the first block's group g that has read them
#pragma once

#include "warpmill/gemm/epilogue.cuh"
#include "warpmill/gemm/plan.h"
#include "warpmill/pipeline/names.cuh"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/cluster.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/tile/fragment.cuh"

namespace wm {

// The blocks of a cluster that share a tile: one for each part of k. Where blocks share operands too, each has the same
// number among those with its part.
template <GemmPlan plan>
struct TileSharers {
  u32 part, number;
  WM_DEVICE u32 rank(u32 of_part) const { return of_part * u32(plan.cluster.m * plan.cluster.n) + number; }
  WM_DEVICE ClusterAddress in_block(u32 of_part, SharedAddress place) const {
    return cluster::map(place, rank(of_part));
  }
};

template <GemmPlan plan>
struct ClusterSumsShared {
  static constexpr int quads = plan.group_rows() / 64 * Fragment<plan.tile.n>::count / 4;  // of a thread's sums
  // For the thread that has the same place in the tile, beside those of its neighbours.
  Quad<Sum<plan>> of_part[plan.cluster.k - 1][plan.multiply_groups][quads][warpgroup_threads];
  u64 there[plan.multiply_groups], taken[plan.multiply_groups];

  // By one thread of the block, before a fence::mbarrier_init and the barrier that lets the others go.
  WM_DEVICE void init() {
    name_shared<"there">(there);
    name_shared<"taken">(taken);
    for (int group = 0; group < plan.multiply_groups; ++group) {
      mbarrier::init(&there[group], 1);
      mbarrier::init(&taken[group], warpgroup_threads / 32);
    }
  }
};

// One multiply thread's part in it.
template <GemmPlan plan, class Sums>
class ClusterSums {
 public:
  using Shared = ClusterSumsShared<plan>;
  WM_DEVICE ClusterSums(Shared& shared, TileSharers<plan> sharers, u32 group)
      : shared_(shared), sharers_(sharers), group_(group) {}

  // Whether the tile is this block's to store, with all sums now.
  WM_DEVICE bool join(Sums& sums) {
    if (sharers_.part > 0)
      send(sums);
    else
      add_others(sums);
    phase_ ^= 1;
    return sharers_.part == 0;
  }

 private:
  static constexpr int quads_per_slab = Fragment<plan.tile.n>::count / 4;  // 64 rows

  WM_DEVICE void send(const Sums& sums) const {
    // The sums of the tile before have been read.
    mbarrier::wait_parity(&shared_.taken[group_], phase_ ^ 1);
    const ClusterAddress there = sharers_.in_block(0, &shared_.there[group_]);
#pragma unroll
    for (int i = 0; i < Shared::quads; ++i) {
      const auto* const value = sums.slab[i / quads_per_slab].value + i % quads_per_slab * 4;
      cluster::store_async(sharers_.in_block(0, &shared_.of_part[sharers_.part - 1][group_][i][thread_of_warpgroup()]),
                           Quad<Sum<plan>>{value[0], value[1], value[2], value[3]}, there);
    }
  }

  WM_DEVICE void add_others(Sums& sums) const {
    const u32 thread = thread_of_warpgroup();
    if (thread == 0)
      mbarrier::arrive_expect_tx(&shared_.there[group_], (plan.cluster.k - 1) * sizeof(shared_.of_part[0][0]));
    mbarrier::wait_parity<Scope::cluster>(&shared_.there[group_], phase_);
#pragma unroll
    for (int part = 0; part < plan.cluster.k - 1; ++part)
#pragma unroll
      for (int i = 0; i < Shared::quads; ++i) {
        const Quad<Sum<plan>> other = shared_.of_part[part][group_][i][thread];
        auto* const value = sums.slab[i / quads_per_slab].value + i % quads_per_slab * 4;
        value[0] += other.x, value[1] += other.y, value[2] += other.z, value[3] += other.w;
      }
    barrier::sync_warp();
    if (const u32 lane = thread % 32; lane < plan.cluster.k - 1)
      mbarrier::arrive_remote<Scope::block>(sharers_.in_block(lane + 1, &shared_.taken[group_]));
  }

  Shared& shared_;
  TileSharers<plan> sharers_;
  u32 group_, phase_ = 0;
};

}  // namespace wm
