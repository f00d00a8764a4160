// A's registers are reused while the product that reads them is under way.
#include "../wgmma.cuh"

// The registers are the assembly's own: in C++ every value has one of its own, and the bug could not be written.
WM_DEVICE void multiply_and_clear(f32 (&sum)[4], wgmma::Descriptor b) {
  asm volatile(
      "{.reg .b32 a; .reg .pred accumulate;"
      " setp.eq.u32 accumulate, 0, 0;"
      " mov.b32 a, 0x3f803f80;"
      " wgmma.fence.sync.aligned;"
      " wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {a, a, a, a}, %4, accumulate, 1, 1, 0;"
      " wgmma.commit_group.sync.aligned;"
#ifdef REPAIRED
      " wgmma.wait_group.sync.aligned 0; mov.b32 a, 0;}"
#else
      " mov.b32 a, 0; wgmma.wait_group.sync.aligned 0;}"
#endif
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "l"(b.bits())
      : "memory");
}

extern "C" __global__ void kernel(const bf16* ones, f32* y) {
  __shared__ Operands tile;
  __shared__ u64 full;
  prepare(full, 1);
  if (threadIdx.x == 0) {
    mbarrier::arrive_expect_tx(&full, sizeof tile);
    bulk::load(&tile, ones, sizeof tile, &full);
  }
  mbarrier::wait_parity(&full, 0);
  f32 sum[4] = {};
  multiply_and_clear(sum, descriptor(tile.b));  // expect: first
  write(y, sum);
}
