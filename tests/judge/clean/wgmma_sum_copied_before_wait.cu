// Packed sums that a compiler takes apart before the wait, as Triton does with f16: copies are no accesses yet, and the
// assembler makes the values right.
#include "../wgmma.cuh"

WM_DEVICE void multiply_and_unpack(u32 (&sum)[2], wgmma::Descriptor a, wgmma::Descriptor b) {
  asm volatile(
      "{.reg .b32 d<2>; .reg .b16 h<4>; .reg .pred accumulate;"
      " setp.ne.u32 accumulate, 0, 0;"
      " wgmma.fence.sync.aligned;"
      " wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {d0, d1}, %2, %3, accumulate, 1, 1, 0, 0;"
      " wgmma.commit_group.sync.aligned;"
      " mov.b32 {h0, h1}, d0; mov.b32 {h2, h3}, d1;"
      " wgmma.wait_group.sync.aligned 0;"
      " mov.b32 %0, {h0, h1}; mov.b32 %1, {h2, h3};}"
      : "=r"(sum[0]), "=r"(sum[1])
      : "l"(a.bits()), "l"(b.bits())
      : "memory");
}

extern "C" __global__ void kernel(const f16* ones, u32* y) {
  __shared__ Operands tile;
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(&tile, ones, sizeof tile, &full);
  }
  mbarrier::wait_parity(&full, 0);
  u32 sum[2];
  multiply_and_unpack(sum, descriptor(tile.a), descriptor(tile.b));
  y[2 * threadIdx.x] = sum[0];
  y[2 * threadIdx.x + 1] = sum[1];
}
