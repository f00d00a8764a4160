// Step 3: two roles and a ring between them. One warpgroup fetches stages of A and B, the other multiplies them.
#include "warpmill/pipeline/ring.cuh"
#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/wgmma_bf16.cuh"
#include "warpmill/tile/product.cuh"
#include "warpmill/tile/shared_memory.cuh"

using namespace wm;

constexpr int tile_n = 128, stages = 2;
using Sums = Fragment<tile_n>;
enum class Role : u32 { load, multiply, count };  // a warpgroup each

struct Shared {
  using ATile = OperandTile<bf16, Major::k, Sums::rows>;  // (64, 64)
  using BTile = OperandTile<bf16, Major::k, tile_n>;      // (128, 64)
  ATile a[stages];
  BTile b[stages];
  RingBarriers<stages> ring;
};
// What a stage's barriers count follows from who brings it and who reads it.
using AB = Ring<"ab", stages, TmaCourier<sizeof(Shared::ATile) + sizeof(Shared::BTile)>,
                Readers{.groups = 1, .threads = warpgroup_threads}>;

WM_DEVICE void load(const TensorMap& a, const TensorMap& b, u32 m, u32 n, u32 k, Shared& shared) {
  AB ring(shared.ring);
  for (u32 at = 0; at < k; at += Shared::ATile::k) {
    const Stage stage = ring.acquire();  // everybody has let go of it
    shared.a[stage.index].load(a, m, at, stage.full);
    shared.b[stage.index].load(b, n, at, stage.full);
    ring.commit(stage);
  }
}

WM_DEVICE void multiply(Sums& sums, u32 k, Shared& shared) {
  AB ring(shared.ring);
  for (u32 at = 0; at < k; at += Shared::ATile::k) {
    const Stage stage = ring.wait();  // its bytes are there
    wgmma::fence();
    multiply(sums, shared.a[stage.index], 0, shared.b[stage.index], at > 0);
    wgmma::commit();
#ifdef BROKEN_EARLY_RELEASE
    ring.release(stage);
#endif
    wgmma::wait<0>(sums.value);
#ifndef BROKEN_EARLY_RELEASE
    ring.release(stage);
#endif
  }
}

extern "C" __global__ __launch_bounds__(u32(Role::count) * warpgroup_threads) void product(
    const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, bf16* d, u32 n, u32 k) {
  auto& shared = shared_memory<Shared>();
  const u32 first_row = blockIdx.y * Sums::rows, first_column = blockIdx.x * tile_n;
  if (threadIdx.x == 0) {
    AB(shared.ring).init();
    fence::mbarrier_init();
  }
  barrier::sync();
  if (Role(warpgroup()) == Role::load) {
    name_role<"load">();
    if (warp_of_warpgroup() == 0 && elect_one()) load(a, b, first_row, first_column, k, shared);
  } else {
    name_role<"multiply">();
    Sums sums;
    multiply(sums, k, shared);
#pragma unroll
    for (int i = 0; i < sums.count; ++i)
      d[(first_row + sums.row(i)) * n + first_column + sums.column(i)] = round_to<bf16>(sums.value[i]);
  }
}
