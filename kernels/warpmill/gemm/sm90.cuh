// GEMM on Hopper: D = A B^T in bf16 with fp32 sums. Warp-specialised, cooperative, persistent.
//
// A block is one load warpgroup and two multiply warpgroups (plan.multiply_groups). The load warpgroup's one working
// thread asks the copy engine for stages of A and B; the multiply groups, each with its own rows of the tile, feed them
// to the tensor cores, then write their sums out in strips while the loads of the next tile are already running.
//
//   full[s]   1 arrival (the load thread, which also announces the bytes) + stage_bytes from the copy engine
//   empty[s]  1 arrival from each multiply group of each block that our copies reach
//
// Blocks of a cluster share operands: blocks above each other load a part of the same B tile each and send it to all of
// them, blocks side by side do so with A. m, n and k are arguments: what is compiled knows only the plan.
#pragma once

#include "warpmill/gemm/plan.h"
#include "warpmill/pipeline/ring.cuh"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/bulk.cuh"
#include "warpmill/ptx/cluster.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/ptx/tma.cuh"
#include "warpmill/ptx/wgmma_bf16.cuh"
#include "warpmill/tile/fragment.cuh"
#include "warpmill/tile/shared_tile.cuh"

namespace wm {

template <GemmPlan plan>
using Strip = SharedTile<bf16, plan.strip_rows(), plan.strip_columns()>;

template <GemmPlan plan>
struct GemmShared {
  SharedTile<bf16, plan.tile.m, plan.tile.k> a[plan.stages];
  SharedTile<bf16, plan.tile.n, plan.tile.k> b[plan.stages];
  Strip<plan> out[plan.multiply_groups][GemmPlan::out_buffers];
  RingBarriers<plan.stages> ring;
};

// Where a block stands in its cluster, and which tile is its.
template <GemmPlan plan>
struct GemmPlace {
  u32 rank = plan.cluster_size() > 1 ? cluster::rank() : 0;
  u32 cluster_number = blockIdx.x / plan.cluster_size();
  u32 clusters = gridDim.x / plan.cluster_size();
  u32 row = rank / plan.cluster.n, column = rank % plan.cluster.n;

  // First row and column of D in this block's part of a cluster tile.
  WM_DEVICE u32 m(TileSchedule::Tile tile) const { return (tile.row * plan.cluster.m + row) * plan.tile.m; }
  WM_DEVICE u32 n(TileSchedule::Tile tile) const { return (tile.column * plan.cluster.n + column) * plan.tile.n; }
  // The blocks that use the same A (our row of the cluster) and the same B (our column), a bit a rank.
  WM_DEVICE u16 sharing_a() const { return u16(((1u << plan.cluster.n) - 1) << (row * plan.cluster.n)); }
  WM_DEVICE u16 sharing_b() const {
    u32 blocks = 0;
    for (int i = 0; i < plan.cluster.m; ++i) blocks |= 1u << (i * plan.cluster.n);
    return u16(blocks << column);
  }
};

template <GemmPlan plan>
using GemmRing =
    Ring<plan.stages, TmaCourier<plan.stage_bytes()>, plan.multiply_groups*(plan.cluster.m + plan.cluster.n - 1)>;

// One thread: every stage of every tile of this block, as soon as it is free.
template <GemmPlan plan>
WM_DEVICE void load_tiles(const GemmArguments& args, GemmShared<plan>& shared, const GemmPlace<plan>& place) {
  GemmRing<plan> ring(shared.ring);
  constexpr u32 a_rows = plan.tile.m / plan.cluster.n, b_rows = plan.tile.n / plan.cluster.m;  // our share
  for (u32 number = place.cluster_number; number < args.schedule.count(); number += place.clusters) {
    const auto tile = args.schedule.tile(number);
    const i32 m = place.m(tile) + place.column * a_rows, n = place.n(tile) + place.row * b_rows;
    for (u32 k = 0; k < args.k; k += plan.tile.k) {
      const Stage stage = ring.acquire();
      const SharedAddress a = shared.a[stage.index].from_row(place.column * a_rows);
      const SharedAddress b = shared.b[stage.index].from_row(place.row * b_rows);
      if constexpr (plan.cluster.n > 1)
        tma::load_multicast(a, args.a, {i32(k), m}, stage.full, place.sharing_a());
      else
        tma::load(a, args.a, {i32(k), m}, stage.full);
      if constexpr (plan.cluster.m > 1)
        tma::load_multicast(b, args.b, {i32(k), n}, stage.full, place.sharing_b());
      else
        tma::load(b, args.b, {i32(k), n}, stage.full);
      ring.commit(stage);
    }
  }
}

// One arrival a multiply group at each block whose copies fill our stages.
template <GemmPlan plan>
WM_DEVICE void release(const GemmRing<plan>& ring, const Stage& stage, const GemmPlace<plan>& place) {
  const u32 thread = thread_of_warpgroup();
  if constexpr (plan.cluster_size() == 1) {
    if (thread == 0) ring.release(stage);
  } else {
    if (thread < u32(plan.cluster_size()) && ((place.sharing_a() | place.sharing_b()) >> thread & 1))
      mbarrier::arrive_remote<Scope::block>(cluster::map(stage.empty, thread));
  }
}

// A multiply group's sums: a fragment for each 64 of its rows.
template <GemmPlan plan>
struct GemmSums {
  static constexpr int blocks = plan.group_rows() / 64;
  Fragment<plan.tile.n> block[blocks];
};

// The whole of k for one tile. The stage before the current one is let go as soon as its products are done, so one
// group of products is always queued behind the running one.
template <GemmPlan plan>
WM_DEVICE void multiply(GemmSums<plan>& sums, GemmRing<plan>& ring, u32 k, u32 group, GemmShared<plan>& shared,
                        const GemmPlace<plan>& place) {
  constexpr u32 step_bytes = 32;  // 16 bf16 along k, inside the swizzle's width
  Stage previous{0, SharedAddress(0u), SharedAddress(0u)};
  for (u32 step = 0; step * plan.tile.k < k; ++step) {
    const Stage stage = ring.wait();
    const auto b = shared.b[stage.index].operand(0);
    wgmma::fence();
#pragma unroll
    for (int block = 0; block < GemmSums<plan>::blocks; ++block) {
      const auto a = shared.a[stage.index].operand(group * plan.group_rows() + block * 64);
#pragma unroll
      for (u32 i = 0; i < plan.tile.k / 16; ++i)
        wgmma::multiply<bf16>(sums.block[block].value, a + i * step_bytes, b + i * step_bytes, step > 0 || i > 0);
    }
    wgmma::commit();
    wgmma::wait<1>();
    if (step > 0) release<plan>(ring, previous, place);
    previous = stage;
  }
#pragma unroll
  for (int block = 0; block < GemmSums<plan>::blocks; ++block) wgmma::wait<0>(sums.block[block].value);
  if (k > 0) release<plan>(ring, previous, place);
}

// A strip from shared memory, element by element: for the last columns of an n that is no multiple of 8, where the copy
// engine would write whole 16-byte chunks over whatever follows the row.
template <GemmPlan plan>
WM_DEVICE void copy_out(Strip<plan>& strip, const GemmArguments& args, u32 m, u32 n) {
  const u32 rows = min(u32(plan.strip_rows()), args.m - m), columns = min(u32(plan.strip_columns()), args.n - n);
  bf16* const out = reinterpret_cast<bf16*>(args.out) + m * args.out_stride + n;
#pragma unroll 1
  for (u32 i = thread_of_warpgroup(); i < rows * columns; i += warpgroup_threads) {
    const u32 row = i / columns, column = i % columns;
    out[row * args.out_stride + column] = strip.at(row, column);
  }
}

// A strip on its way out: stmatrix into shared memory, swizzled, then one store by the copy engine.
template <GemmPlan plan>
WM_DEVICE void store_strip(const Fragment<plan.tile.n>& sums, int first, const GemmArguments& args, u32 m, u32 n,
                           u32 group, u32 buffer, GemmShared<plan>& shared) {
  const u32 barrier = u32(NamedBarrier::first_multiply_group) + group;
  const u32 thread = thread_of_warpgroup();
  auto& strip = shared.out[group][buffer];
  // The store that last used this buffer has read it: only its issuer can know.
  if (thread == 0) bulk::wait_group_read<GemmPlan::out_buffers - 1>();
  barrier::sync(barrier, warpgroup_threads);
  store(strip, sums, first);
  fence::proxy_async_shared();
  barrier::sync(barrier, warpgroup_threads);
  if (args.n % 8 != 0 && n + plan.strip_columns() > args.n) {
    copy_out<plan>(strip, args, m, n);
  } else if (thread == 0) {
    tma::store(args.d, {i32(n), i32(m)}, strip.from_row(0));
  }
  if (thread == 0) bulk::commit_group();  // an empty one after copy_out, so that groups and buffers stay in step
}

template <GemmPlan plan>
WM_DEVICE void multiply_tiles(const GemmArguments& args, GemmShared<plan>& shared, const GemmPlace<plan>& place,
                              u32 group) {
  GemmRing<plan> ring(shared.ring);
  u32 buffer = 0;
  for (u32 number = place.cluster_number; number < args.schedule.count(); number += place.clusters) {
    const auto tile = args.schedule.tile(number);
    GemmSums<plan> sums;
    multiply<plan>(sums, ring, args.k, group, shared, place);
#pragma unroll
    for (int block = 0; block < GemmSums<plan>::blocks; ++block) {
      const u32 m = place.m(tile) + group * plan.group_rows() + block * 64;
#pragma unroll
      for (int strip = 0; strip < plan.tile.n / plan.strip_columns(); ++strip) {
        const u32 n = place.n(tile) + strip * plan.strip_columns();
        if (m >= args.m || n >= args.n) continue;
        store_strip<plan>(sums.block[block], strip * plan.strip_columns(), args, m, n, group, buffer, shared);
        buffer ^= 1;
      }
    }
  }
  bulk::wait_group<0>();  // shared memory lives until its last store is done
}

template <GemmPlan plan>
__global__ __launch_bounds__(plan.threads(), 1) void gemm_sm90(const __grid_constant__ GemmArguments args) {
  static_assert(plan.valid(), "this plan does not fit the chip: GemmPlan::problem() says why");
  static_assert(sizeof(GemmShared<plan>) <= plan.shared_bytes(), "the plan's arithmetic must cover what is laid out");
  extern __shared__ __align__(1024) u8 memory[];
  auto& shared = *reinterpret_cast<GemmShared<plan>*>(memory);
  const GemmPlace<plan> place;

  if (threadIdx.x == 0) {
    GemmRing<plan>(shared.ring).init();
    fence::mbarrier_init();
  }
  if constexpr (plan.cluster_size() > 1)
    cluster::sync();  // the others' barriers must be there before our copies arrive at them
  else
    barrier::sync();

  if (const u32 role = warpgroup(); role == 0) {
    WM_NAME_ROLE("load");
    registers::decrease_to<plan.load_registers>();
    if (warp_of_warpgroup() == 0 && elect_one()) load_tiles<plan>(args, shared, place);
  } else {
    WM_NAME_ROLE("multiply");
    registers::increase_to<plan.multiply_registers>();
    multiply_tiles<plan>(args, shared, place, role - 1);
  }
  if constexpr (plan.cluster_size() > 1) {
    // Nobody leaves while another block may still arrive at its barriers.
    cluster::arrive_unaligned();
    cluster::wait_unaligned();
  }
}

}  // namespace wm
