// Both operands lie along m and n (MN-major), each a matrix alone, and the sums leave by the copy engine.
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/ptx/wgmma_bf16.cuh"
#include "warpmill/tile/product.cuh"
#include "warpmill/tile/strip_writer.cuh"

using namespace wm;

using Sums = Fragment<64>;
using ATile = OperandTile<bf16, Major::mn, Sums::rows>;     // (64 of m, 64 of k): a row for each k
using BTile = OperandTile<bf16, Major::mn, Sums::columns>;  // (64 of n, 64 of k)
using Strip = SharedTile<bf16, Sums::rows>;
enum class Barrier : u32 { block, writer };

extern "C" __global__ void kernel(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                                  const __grid_constant__ TensorMap d) {
  __shared__ ATile a_tile;
  __shared__ BTile b_tile;
  __shared__ Strip strips[1];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    mbarrier::init(&full, 1);
    fence::mbarrier_init();
    mbarrier::arrive_expect_tx(&full, sizeof a_tile + sizeof b_tile);
    a_tile.load(a, 0, 0, &full);
    b_tile.load(b, 0, 0, &full);
  }
  barrier::sync();
  mbarrier::wait_parity(&full, 0);
  Sums sums;
  wgmma::fence();
  multiply(sums, a_tile, 0, b_tile, false);
  wgmma::commit();
  wgmma::wait<0>(sums.value);
  StripWriter<Strip, 1> out(strips, {u32(Barrier::writer)});
  auto& strip = out.begin();
  store_rows(strip, sums);
  out.filled();
  out.send(strip, d, {0, 0});
  out.end();
}
