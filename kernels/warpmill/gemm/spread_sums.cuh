// Tiles that several clusters share along k, each finished by all of them: every block leaves its sums in memory, and
// when the last has, each adds up those of some columns in the order of k and stores them. Where one block collects all
// (fixup.cuh), it reads a tile's sums for every piece; here those are dealt out, 16 columns at a time.
//
// Warps do it by themselves: of a tile the warps with the same rows, one of each piece. They arrive at a word of the
// tile, and the order in which they come says which columns are whose. Nobody waits for ever: blocks that are not
// running yet may need the place of one that waits. Who has waited long leaves, with a mark in the word, and the last
// to come does his part too. The last to leave clears both words: the workspace is zero again when the kernel ends.
#pragma once

#include "warpmill/gemm/epilogue.cuh"
#include "warpmill/gemm/plan.h"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/tile/fragment.cuh"

namespace wm {

// Of a tile's warps with the same rows. Zero before and after.
struct SpreadState {
  // How many; and from `first_mark` on, those that have left early, a bit for each place in the order of arrival.
  u64 arrived;
  u32 left, unused;

  static constexpr int first_mark = 8;
  static constexpr WM_DEVICE u32 count(u64 word) { return word & 0xff; }
  static_assert(first_mark + GemmPlan::most_spread_pieces <= 64, "a mark for each piece");
};

template <GemmPlan plan, class Function>
class SpreadSums {
 public:
  WM_DEVICE SpreadSums(const ArgumentsOf<plan>& args, u32 rank, u32 group) : args_(args), rank_(rank), group_(group) {}

  // `first_row` of the tile is the group's first, `corner` that of the tile.
  template <class Sums>
  WM_DEVICE void finish(const Sums& sums, u32 run, u32 tile, Corner corner, u32 first_row) const {
    const WorkSchedule& work = args_.work;
    const u32 pieces = work.clusters / work.shared_tiles, first_run = tile * pieces;
    leave(sums, run);
    SpreadState& state = state_of(tile);
    const Order order = arrive(state, pieces);
    if (order.stays) {
      corner.m += first_row;
      f32 amax = 0.f;
      add_and_store<Sums>(order.place, pieces, first_run, corner, amax);
      for (u32 place = 0; place + 1 < pieces; ++place)
        if (order.absent >> place & 1) add_and_store<Sums>(place, pieces, first_run, corner, amax);
      if constexpr (plan.kind.epilogue.amax) collect_amax(amax, args_.amax);
    }
    if (lane() == 0 && atomicInc(&state.left, pieces - 1) == pieces - 1) {
      __threadfence();  // behind what the others did to it before they left
      state.arrived = 0;
    }
  }

 private:
  using T = Sum<plan>;
  using Four = Quad<T>;
  static constexpr int columns = 16, quads = columns / 8, parts = plan.tile.n / columns;  // that one adds up at a time
  static constexpr u32 warps = warpgroup_threads / 32;
  // What a thread has of a part, for each 64 rows of its group, beside its neighbours'.
  using Part = Four[quads][32];
  struct OfWarp {
    Part part[plan.group_rows() / 64][parts];
  };

  static WM_DEVICE u32 lane() { return threadIdx.x % 32; }
  WM_DEVICE u32 warp() const { return (rank_ * plan.multiply_groups + group_) * warps + thread_of_warpgroup() / 32; }
  static constexpr u32 cluster_warps = plan.cluster_size() * plan.multiply_groups * warps;
  static_assert(cluster_warps * sizeof(SpreadState) == plan.spread_state_bytes() &&
                    cluster_warps * sizeof(OfWarp) == u32(plan.cluster_size() * plan.partial_bytes()),
                "the plan's arithmetic is the workspace that the host makes");
  WM_DEVICE OfWarp& sums_of(u32 run) const {
    return reinterpret_cast<OfWarp*>(args_.sums)[run * cluster_warps + warp()];
  }
  WM_DEVICE SpreadState& state_of(u32 tile) const {
    return reinterpret_cast<SpreadState*>(args_.partials)[tile * cluster_warps + warp()];
  }

  template <class Sums>
  WM_DEVICE void leave(const Sums& sums, u32 run) const {
    OfWarp& to = sums_of(run);
#pragma unroll
    for (int slab = 0; slab < Sums::slabs; ++slab)
#pragma unroll
      for (int i = 0; i < parts * quads; ++i) {
        const auto* const value = sums.slab[slab].value + i * 4;
        to.part[slab][i / quads][i % quads][lane()] = Four{value[0], value[1], value[2], value[3]};
      }
  }

  struct Order {
    u32 place;
    bool stays;  // all sums are there
    u64 absent;  // whose part the last one has besides: those that have left
  };
  WM_DEVICE Order arrive(SpreadState& state, u32 pieces) const {
    barrier::sync_warp();
    u64 before = 0;
    u32 there = 1;
    if (lane() == 0) {
      __threadfence();
      before = atomicAdd(&state.arrived, 1ull);
      const u32 place = SpreadState::count(before);
      if (place + 1 < pieces && !wait(state, pieces))
        // As long as somebody is to come, he will see the mark.
        there = SpreadState::count(atomicAdd(&state.arrived, 1ull << (SpreadState::first_mark + place))) == pieces;
      __threadfence();
    }
    barrier::sync_warp();  // what the first lane has acquired, all have
    before = __shfl_sync(0xffffffffu, before, 0);
    there = __shfl_sync(0xffffffffu, there, 0);
    const u32 place = SpreadState::count(before);
    return {place, there != 0, place + 1 == pieces ? before >> SpreadState::first_mark : 0};
  }
  // Whether all have arrived, after a while.
  static WM_DEVICE bool wait(const SpreadState& state, u32 pieces) {
    constexpr int polls = 256;  // some 150 us
    for (int i = 0; i < polls; ++i) {
      u64 word;
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(global_address(&state.arrived)) : "memory");
      if (SpreadState::count(word) == pieces) return true;
    }
    return false;
  }

  template <class Sums>
  WM_DEVICE void add_and_store(u32 place, u32 pieces, u32 first_run, const Corner& corner, f32& amax) const {
    for (u32 number = place; number < parts * Sums::slabs; number += pieces) {
      const u32 slab = number / parts, part = number % parts;
      Fragment<columns, T> sum;
      sum.clear();
#pragma unroll 8
      for (u32 piece = 0; piece < pieces; ++piece) {
        const Part& from = sums_of(first_run + piece).part[slab][part];
#pragma unroll
        for (int i = 0; i < quads; ++i) {
          const Four four = from[i][lane()];
          auto* const value = sum.value + i * 4;
          value[0] += four.x, value[1] += four.y, value[2] += four.z, value[3] += four.w;
        }
      }
      const Corner here{corner.m + slab * 64, corner.n + part * columns, corner.matrix};
      store_elements<plan>(wm::finish<plan, Function>(sum, args_, here, amax), args_, here);
    }
  }

  const ArgumentsOf<plan>& args_;
  u32 rank_, group_;
};

}  // namespace wm
