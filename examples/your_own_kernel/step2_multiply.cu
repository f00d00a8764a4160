// Step 2: a warpgroup multiplies two tiles with the tensor cores.
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/ptx/wgmma_bf16.cuh"
#include "warpmill/tile/product.cuh"

using namespace wm;

using Sums = Fragment<64>;                                 // (64, 64) fp32, spread over the warpgroup's registers
using ATile = OperandTile<bf16, Major::k, Sums::rows>;     // (64, 64): k lies contiguous
using BTile = OperandTile<bf16, Major::k, Sums::columns>;  // (64, 64)

extern "C" __global__ void product(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, bf16* d) {
  __shared__ ATile a_tile;
  __shared__ BTile b_tile;
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    mbarrier::init(&full, 1);
    fence::mbarrier_init();
  }
  barrier::sync();
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof a_tile + sizeof b_tile);
    a_tile.load(a, 0, 0, &full);
    b_tile.load(b, 0, 0, &full);
  }
  mbarrier::wait_parity(&full, 0);

  Sums sums;
  wgmma::fence();
  multiply(sums, a_tile, 0, b_tile, false);
  wgmma::commit();
#ifndef BROKEN_NO_WAIT
  wgmma::wait<0>(sums.value);
#endif
#pragma unroll
  for (int i = 0; i < sums.count; ++i) d[sums.row(i) * Sums::columns + sums.column(i)] = round_to<bf16>(sums.value[i]);
}
