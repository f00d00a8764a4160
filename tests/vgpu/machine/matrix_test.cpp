// Tensor cores as instructions: operands found, results in their registers, at the right time. The arithmetic itself is
// tested in numeric/.
#include <random>

#include "vgpu/machine/virtual_gpu.hpp"
#include "warpmill/dtype.hpp"

namespace wm::vgpu::testing {
namespace {

TEST(Matrix, MatricesThroughSharedMemoryAndBackTransposed) {
  Gpu gpu;
  // Each lane's register holds 100 * lane and one more; stored, loaded transposed, transposed again in registers.
  const auto out = compute<std::uint32_t>(gpu, R"(
    .shared .align 128 .b8 tile[128];
    mov.u32 %r5, tile;
    and.b32 %r6, %lane, 7;
    mad.lo.u32 %r6, %r6, 16, %r5;
    mul.lo.u32 %r7, %lane, 100;
    add.u32 %r8, %r7, 1;
    shl.b32 %r8, %r8, 16;
    or.b32 %r7, %r7, %r8;
    stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r6], {%r7};
    bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r9}, [%r6];
    movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r9;
    sub.u32 %r0, %r10, %r7;
    setp.eq.u32 %p1, %r9, %r7;
    selp.u32 %r11, 1, 0, %p1;
    add.u32 %r0, %r0, %r11;
  )",
                                          {});
  EXPECT_EQ(out[5], 0u);  // back again, and in between it was something else
}

TEST(Matrix, MmaMultipliesAndAdds) {
  Gpu gpu;
  // A of ones (16 x 16), B of ones (16 x 8), C = lane: D = 16 + lane.
  const auto out = compute<std::uint32_t>(gpu, R"(
    mov.b32 %r5, 0x3f803f80;
    cvt.rn.f32.u32 %f1, %lane;
    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f2, %f3, %f4, %f5}, {%r5, %r5, %r5, %r5}, {%r5, %r5}, {%f1, %f1, %f1, %f1};
    cvt.rzi.u32.f32 %r0, %f5;
  )",
                                          {});
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 16 + i);
  const auto f64 = compute<std::uint32_t>(gpu, R"(
    mov.f64 %d1, 0d3FF0000000000000;
    cvt.rn.f64.u32 %d2, %lane;
    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d3, %d4}, {%d1}, {%d1}, {%d2, %d2};
    cvt.rzi.u32.f64 %r0, %d4;
  )",
                                          {});
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(f64[i], 4 + i);
  const auto s8 = compute<std::uint32_t>(gpu, R"(
    mov.b32 %r5, 0xffffffff;
    mov.b32 %r6, 0x02020202;
    mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r7, %r8, %r9, %r0}, {%r5, %r5, %r5, %r5}, {%r6, %r6}, {%lane, %lane, %lane, %lane};
  )",
                                         {});
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(s8[i], i - 64);
  const auto s4 = compute<std::uint32_t>(gpu, R"(
    mov.b32 %r5, 0xffffffff;
    mov.b32 %r6, 0x22222222;
    mma.sync.aligned.m8n8k32.row.col.satfinite.s32.s4.u4.s32 {%r7, %r0}, {%r5}, {%r6}, {%lane, %lane};
    mov.b32 %r8, 0x7ffffff0;
    mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.u4.s32 {%r9, %r10, %r11, %r12}, {%r5, %r5, %r5, %r5}, {%r6, %r6}, {%r8, %r8, %r8, %r8};
    sub.u32 %r12, %r12, 0x7fffffff;
    add.u32 %r0, %r0, %r12;
  )",
                                         {});
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(s4[i], i - 64);
}

// D (64 x 8) = A (64 x 16) B (16 x 8), twice, A and B in shared memory without swizzle; the second time A in registers.
constexpr std::string_view product = R"(
.visible .entry test(.param .u64 out, .param .u64 in)
{
  .shared .align 128 .b8 a[2048];
  .shared .align 128 .b8 b[256];
  .shared .align 8 .b64 barrier;
  .reg .pred %p<4>;
  .reg .f32 %f<5>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, a;
  mov.u32 %r3, b;
  mov.u32 %r4, barrier;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra issued;
  mbarrier.init.shared::cta.b64 [%r4], 1;
  fence.proxy.async;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 2304;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 2048, [%r4];
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2+2048], 256, [%r4];
issued:
  bar.sync 0;
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;
  @!%p2 bra wait;
  // Address, then 128 bytes to the next core matrix along k, 256 to the next eight rows.
  shr.u32 %r5, %r2, 4;
  and.b32 %r5, %r5, 0x3fff;
  cvt.u64.u32 %rd3, %r5;
  or.b64 %rd3, %rd3, 0x0000001000080000;
  shr.u32 %r6, %r3, 4;
  and.b32 %r6, %r6, 0x3fff;
  cvt.u64.u32 %rd4, %r6;
  or.b64 %rd4, %rd4, 0x0000001000080000;
  // A's fragment: rows of this warp's core matrices.
  shr.u32 %r7, %r1, 5;
  and.b32 %r8, %r1, 31;
  shl.b32 %r9, %r7, 9;
  add.u32 %r9, %r9, %r2;
  mad.lo.u32 %r9, %r8, 4, %r9;
  ld.shared.u32 %r10, [%r9];
  ld.shared.u32 %r11, [%r9+256];
  ld.shared.u32 %r12, [%r9+128];
  ld.shared.u32 %r13, [%r9+384];
  setp.ne.u32 %p3, %r1, %r1;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd3, %rd4, %p3, 1, 1, 0, 0;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, {%r10, %r11, %r12, %r13}, %rd4, 1, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  mad.wide.u32 %rd5, %r1, 16, %rd1;
  st.global.v4.f32 [%rd5], {%f1, %f2, %f3, %f4};
  ret;
}
)";

TEST(Matrix, WgmmaReadsSharedMemoryAndRegisters) {
  Gpu gpu;
  gpu.load(module_text(product));
  std::mt19937 random(5);
  std::vector<float> a(64 * 16), b(16 * 8);
  for (float& x : a) x = static_cast<float>(static_cast<int>(random() % 9) - 4);
  for (float& x : b) x = static_cast<float>(static_cast<int>(random() % 9) - 4);
  std::vector<bf16> image(1152);  // core matrices: eight rows of eight elements
  const auto place = [](int row, int k) { return row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8; };
  for (int row = 0; row < 64; ++row)
    for (int k = 0; k < 16; ++k) image[place(row, k)] = bf16(a[row * 16 + k]);
  for (int column = 0; column < 8; ++column)
    for (int k = 0; k < 16; ++k) image[1024 + place(column, k)] = bf16(b[k * 8 + column]);
  const auto in = gpu.upload(image), out = gpu.upload(std::vector<float>(512));
  under_every_schedule(gpu, [&] {
    gpu.machine().fill(out, std::byte{0xff}, 2048);
    gpu.run("test", {{1}, {128}, {}, 0}, parameters(out, in));
    const auto d = gpu.download<float>(out, 512);
    for (int thread = 0; thread < 128; ++thread)
      for (int r = 0; r < 4; ++r) {
        const int row = thread / 32 * 16 + thread % 32 / 4 + r / 2 * 8, column = thread % 4 * 2 + r % 2;
        float sum = 0;
        for (int k = 0; k < 16; ++k) sum += a[row * 16 + k] * b[k * 8 + column];
        ASSERT_EQ(d[thread * 4 + r], 2 * sum) << row << " " << column;
      }
  });
}

TEST(Matrix, WgmmaNeedsItsWholeWarpgroup) {
  Gpu gpu;
  const auto failure = [&](std::string_view body, std::uint32_t threads) {
    gpu.load(kernel_text("mov.u64 %rd1, 0x3fff; " + std::string(body)));
    return gpu.failure("test", {{1}, {threads}, {}, 0}, parameters(std::uint64_t{0}, std::uint64_t{0}));
  };
  const std::string multiply =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd1, %rd1, 1, 1, 1, 0, 0; "
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";
  EXPECT_TRUE(contains(failure(multiply, 64), "wgmma needs a warpgroup of four warps"));
  EXPECT_TRUE(contains(failure("setp.lt.u32 %p1, %lane, 32; @%p1 bra done; " + multiply + " done:", 128),
                       "waits until at most 0 wgmma groups are pending"));
  EXPECT_TRUE(
      contains(failure(multiply, 128), "reaches shared address 0x3fff0; the block's shared memory ends at 0x400"));
}

}  // namespace
}  // namespace wm::vgpu::testing
