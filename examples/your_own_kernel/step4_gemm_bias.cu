// Step 4: D = A B^T + bias, warp-specialised and persistent. A is m x k, B is n x k, D is m x n, all bf16.
//
// A block is a load warpgroup and two multiply warpgroups, with half of a tile's rows each. It takes tile after tile;
// the next one is already being loaded while the sums of this one leave through shared memory.
#include "warpmill/pipeline/register_shares.h"
#include "warpmill/pipeline/ring.cuh"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/pipeline/schedule.h"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/wgmma_bf16.cuh"
#include "warpmill/tile/product.cuh"
#include "warpmill/tile/shared_memory.cuh"
#include "warpmill/tile/strip_writer.cuh"

using namespace wm;

constexpr int tile_n = 128, stages = 4, strips = 2, groups = 2, band = 8, load_registers = 40;
constexpr int multiply_registers = registers_beside(load_registers, groups);
using Sums = Fragment<tile_n>;  // of one group
constexpr int tile_m = groups * Sums::rows;
enum class Role : u32 { load, multiply };    // a warpgroup, and all that follow it
enum class Barrier : u32 { block, writer };  // named barriers; writer: one for each group

struct Shared {
  using ATile = OperandTile<bf16, Major::k, tile_m>;  // (128, 64)
  using BTile = OperandTile<bf16, Major::k, tile_n>;  // (128, 64)
  using Strip = SharedTile<bf16, Sums::rows>;         // (64, 64), a part of D on its way out
  ATile a[stages];
  BTile b[stages];
  Strip out[groups][strips];
  RingBarriers<stages> ring;
};
#ifdef BROKEN_READERS
constexpr Readers readers{.groups = 1, .threads = warpgroup_threads};
#else
constexpr Readers readers{.groups = groups, .threads = warpgroup_threads};
#endif
using AB = Ring<"ab", stages, TmaCourier<sizeof(Shared::ATile) + sizeof(Shared::BTile)>, readers>;

// Calls work(first row, first column) for each tile of this block.
template <class Work>
WM_DEVICE void each_tile(u32 m, u32 n, Work work) {
  const TileSchedule tiles{(m + tile_m - 1) / tile_m, (n + tile_n - 1) / tile_n, band};
  for (u32 number = blockIdx.x; number < tiles.count(); number += gridDim.x)
    work(tiles.tile(number).row * tile_m, tiles.tile(number).column * tile_n);
}

WM_DEVICE void add_bias(Sums& sums, const f32* bias, u32 first, u32 n) {
#pragma unroll
  for (int i = 0; i < sums.count; ++i)
    if (const u32 column = first + sums.column(i); column < n) sums.value[i] += bias[column];
}

extern "C" __global__ __launch_bounds__((1 + groups) * warpgroup_threads,
                                        1) void gemm_bias(const __grid_constant__ TensorMap a,
                                                          const __grid_constant__ TensorMap b,
                                                          const __grid_constant__ TensorMap d, const f32* bias, u32 m,
                                                          u32 n, u32 k) {
  auto& shared = shared_memory<Shared>();
  AB ring(shared.ring);
  if (threadIdx.x == 0) {
    ring.init();
    fence::mbarrier_init();
    name_shared<"out">(shared.out);
  }
  barrier::sync();
  if (Role(warpgroup()) == Role::load) {
    name_role<"load">();
    registers::decrease_to<load_registers>();
    if (warp_of_warpgroup() > 0 || !elect_one()) return;
    each_tile(m, n, [&](u32 row, u32 column) {
      for (u32 at = 0; at < k; at += Shared::ATile::k) {
        const Stage stage = ring.acquire();
        shared.a[stage.index].load(a, row, at, stage.full);
        shared.b[stage.index].load(b, column, at, stage.full);
        ring.commit(stage);
      }
    });
  } else {
    name_role<"multiply">();
    registers::increase_to<multiply_registers>();
    const u32 group = warpgroup() - u32(Role::multiply), first_row = group * Sums::rows;
    StripWriter<Shared::Strip, strips> out(shared.out[group], {u32(Barrier::writer) + group});
    each_tile(m, n, [&](u32 row, u32 column) {
      Sums sums;
      for (u32 at = 0; at < k; at += Shared::ATile::k) {
        const Stage stage = ring.wait();
        wgmma::fence();
        multiply(sums, shared.a[stage.index], first_row, shared.b[stage.index], at > 0);
        wgmma::commit();
        wgmma::wait<0>(sums.value);
        ring.release(stage);
      }
      add_bias(sums, bias, column, n);
#pragma unroll
      for (u32 first = 0; first < tile_n; first += Shared::Strip::columns) {
        auto& strip = out.begin();
        store_rows(strip, sums.slice<Shared::Strip::columns>(first));
#ifndef BROKEN_NOT_FILLED
        out.filled();
#endif
        out.send(strip, d, {i32(column + first), i32(row + first_row)});
      }
    });
    out.end();
  }
}
