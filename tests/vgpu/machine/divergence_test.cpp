// How warps split and meet again, and that lanes which wait for their siblings see them go on.
#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

TEST(Divergence, BranchesOfLanesMeetAgain) {
  Gpu gpu;
  under_every_schedule(gpu, [&] {
    // Lanes run different numbers of turns, then vote together.
    const auto out = compute<std::uint32_t>(gpu, R"(
      mov.u32 %r0, 0;
      mov.u32 %r5, %lane;
    turn:
      setp.eq.u32 %p1, %r5, 0;
      @%p1 bra out;
      add.u32 %r0, %r0, %r5;
      sub.u32 %r5, %r5, 1;
      bra turn;
    out:
      setp.gt.u32 %p2, %r0, 100;
      vote.sync.ballot.b32 %r6, %p2, 0xffffffff;
      add.u32 %r0, %r0, %r6;
    )",
                                            {});
    std::uint32_t ballot = 0;
    for (std::uint32_t i = 0; i < 32; ++i) ballot |= (i * (i + 1) / 2 > 100 ? 1u : 0) << i;
    for (std::uint32_t i = 0; i < 32; ++i) ASSERT_EQ(out[i], i * (i + 1) / 2 + ballot) << i;
  });
}

TEST(Divergence, AWarpThatStaysTogetherRunsEachInstructionOnce) {
  Gpu gpu;
  gpu.load(
      kernel_text("setp.lt.u32 %p1, %lane, 16; @%p1 bra low; add.u32 %r1, %lane, 1; bra meet; low: add.u32 %r1, "
                  "%lane, 2; meet: st.global.u32 [%mine], %r1;"));
  const auto out = gpu.upload(std::vector<std::uint64_t>(32));
  // 5 of the frame, then setp, two branches, one add a side, and after the meeting st and ret once.
  EXPECT_EQ(gpu.run("test", {{1}, {32}, {}, 0}, parameters(out, out)).warp_instructions, 5 + 1 + 2 + 2 + 1 + 1u);
}

TEST(Divergence, LanesThatSpinOnASiblingSeeItGoOn) {
  Gpu gpu;
  under_every_schedule(gpu, [&] {
    // Lane 31 releases the others, which spin at a lower program counter.
    const auto out = compute<std::uint32_t>(gpu, R"(
      .shared .align 4 .b32 flag;
      mov.u32 %r5, flag;
      setp.ne.u32 %p1, %lane, 0;
      @!%p1 st.volatile.shared.u32 [%r5], 0;
      bar.warp.sync 0xffffffff;
      setp.eq.u32 %p2, %lane, 31;
      @%p2 bra release;
    spin:
      ld.volatile.shared.u32 %r0, [%r5];
      setp.eq.u32 %p3, %r0, 0;
      @%p3 bra spin;
      bra done;
    release:
      st.volatile.shared.u32 [%r5], 7;
      mov.u32 %r0, 7;
    done:
    )",
                                            {});
    for (std::uint32_t i = 0; i < 32; ++i) ASSERT_EQ(out[i], 7u) << i;
  });
}

TEST(Divergence, EachLaneTakesALockInTurn) {
  Gpu gpu;
  gpu.load(kernel_text(R"(
    again:
      atom.global.acquire.gpu.cas.b32 %r1, [%out], 0, 1;
      setp.ne.u32 %p1, %r1, 0;
      @%p1 bra again;
      ld.volatile.global.u32 %r2, [%out+8];
      add.u32 %r2, %r2, 1;
      st.volatile.global.u32 [%out+8], %r2;
      atom.global.release.gpu.exch.b32 %r1, [%out], 0;
  )"));
  under_every_schedule(gpu, [&] {
    const auto out = gpu.upload(std::vector<std::uint64_t>(64));
    gpu.run("test", {{2}, {64}, {}, 0}, parameters(out, out));
    ASSERT_EQ(gpu.download<std::uint64_t>(out, 2)[1], 128u);
    gpu.machine().free(out);
  });
}

TEST(Divergence, BarWarpSyncMeetsAtDifferentPlaces) {
  Gpu gpu;
  under_every_schedule(gpu, [&] {
    const auto out = compute<std::uint32_t>(gpu, R"(
      .shared .align 4 .b8 words[128];
      mov.u32 %r5, words;
      mad.lo.u32 %r6, %lane, 4, %r5;
      xor.b32 %r7, %lane, 16;
      mad.lo.u32 %r7, %r7, 4, %r5;
      setp.lt.u32 %p1, %lane, 16;
      @%p1 bra low;
      st.shared.u32 [%r6], %lane;
      bar.warp.sync 0xffffffff;
      ld.shared.u32 %r0, [%r7];
      bra done;
    low:
      st.shared.u32 [%r6], %lane;
      bar.warp.sync 0xffffffff;
      ld.shared.u32 %r0, [%r7];
    done:
    )",
                                            {});
    for (std::uint32_t i = 0; i < 32; ++i) ASSERT_EQ(out[i], i ^ 16) << i;
  });
}

TEST(Divergence, SyncWaitsForItsOwnLanesOnly) {
  Gpu gpu;
  under_every_schedule(gpu, [&] {
    // The halves of the warp shuffle among themselves at one instruction.
    const auto out = compute<std::uint32_t>(gpu, R"(
      setp.lt.u32 %p1, %lane, 16;
      selp.b32 %r5, 0x0000ffff, 0xffff0000, %p1;
      shfl.sync.idx.b32 %r0, %lane, 3, 0x101f, %r5;
    )",
                                            {});
    for (std::uint32_t i = 0; i < 32; ++i) ASSERT_EQ(out[i], i / 16 * 16 + 3) << i;
  });
}

TEST(Divergence, LanesThatHaveLeftAreNotWaitedFor) {
  Gpu gpu;
  under_every_schedule(gpu, [&] {
    const auto out = compute<std::uint32_t>(gpu, R"(
      mov.u32 %r0, 99;
      setp.lt.u32 %p1, %lane, 8;
      @%p1 exit;
      shfl.sync.down.b32 %r0, %lane, 1, 31, 0xffffffff;
      bar.sync 0;
    )",
                                            {});
    for (std::uint32_t i = 0; i < 31; ++i) ASSERT_EQ(out[i], i < 8 ? 0 : i + 1) << i;
  });
}

TEST(Divergence, BranchTablesSendEachLaneItsWay) {
  Gpu gpu;
  under_every_schedule(gpu, [&] {
    const auto out = compute<std::uint32_t>(gpu, R"(
      and.b32 %r1, %lane, 3;
      targets: .branchtargets a, b, c, d;
      brx.idx %r1, targets;
    a: mov.u32 %r0, 10; bra meet;
    b: mov.u32 %r0, 11; bra meet;
    c: mov.u32 %r0, 12; bra meet;
    d: mov.u32 %r0, 13;
    meet:
    )",
                                            {});
    for (std::uint32_t i = 0; i < 32; ++i) ASSERT_EQ(out[i], 10 + i % 4) << i;
  });
  EXPECT_TRUE(contains(
      [&] {
        gpu.load(kernel_text("mov.u32 %r1, 9; t: .branchtargets x; brx.idx %r1, t; x:"));
        return gpu.failure("test", {{1}, {32}, {}, 0}, parameters(std::uint64_t{0}, std::uint64_t{0}));
      }(),
      "index 9 of a branch table with 1 targets"));
}

constexpr std::string_view factorial = R"(
.func (.param .b32 result) factorial(.param .b32 n)
{
  .reg .pred %p;
  .reg .b32 %r<5>;
  ld.param.u32 %r1, [n];
  setp.gt.u32 %p, %r1, 1;
  mov.u32 %r3, 1;
  @!%p bra done;
  sub.u32 %r2, %r1, 1;
  {
    .param .b32 argument;
    .param .b32 value;
    st.param.b32 [argument], %r2;
    call.uni (value), factorial, (argument);
    ld.param.b32 %r3, [value];
  }
  mul.lo.u32 %r3, %r3, %r1;
done:
  st.param.b32 [result], %r3;
  ret;
}
.visible .entry test(.param .u64 out)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 7;
  {
    .param .b32 argument;
    .param .b32 value;
    st.param.b32 [argument], %r2;
    call.uni (value), factorial, (argument);
    ld.param.b32 %r3, [value];
  }
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  st.global.u32 [%rd2], %r3;
  ret;
}
)";

TEST(Divergence, RecursionToDifferentDepths) {
  Gpu gpu;
  gpu.load(module_text(factorial));
  const auto out = gpu.upload(std::vector<std::uint32_t>(32));
  under_every_schedule(gpu, [&] {
    gpu.run("test", {{1}, {32}, {}, 0}, parameters(out));
    const auto result = gpu.download<std::uint32_t>(out, 32);
    const std::uint32_t expected[] = {1, 1, 2, 6, 24, 120, 720, 5040};
    for (std::uint32_t i = 0; i < 32; ++i) ASSERT_EQ(result[i], expected[i % 8]) << i;
  });
}

TEST(Divergence, RecursionWithoutAnEndIsStopped) {
  Gpu gpu;
  gpu.load(module_text(R"(
.func forever() { .reg .b32 %r; call forever; ret; }
.visible .entry test() { call forever; ret; }
)"));
  EXPECT_TRUE(contains(gpu.failure("test", {{1}, {32}, {}, 0}, {}), "recursion without an end?"));
}

TEST(Divergence, CallsThroughPointersGoWhereEachLanePoints) {
  Gpu gpu;
  gpu.load(module_text(R"(
.func (.param .b32 r) one(.param .b32 x) { .reg .b32 %r<3>; ld.param.u32 %r1, [x]; add.u32 %r2, %r1, 100; st.param.b32 [r], %r2; ret; }
.func (.param .b32 r) two(.param .b32 x) { .reg .b32 %r<3>; ld.param.u32 %r1, [x]; mul.lo.u32 %r2, %r1, 2; st.param.b32 [r], %r2; ret; }
.visible .entry test(.param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p, %r2, 0;
  mov.u64 %rd2, one;
  mov.u64 %rd3, two;
  selp.b64 %rd4, %rd2, %rd3, %p;
  .param .b32 argument;
  .param .b32 value;
  st.param.b32 [argument], %r1;
  prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
  call (value), %rd4, (argument), prototype;
  ld.param.b32 %r3, [value];
  mad.wide.u32 %rd5, %r1, 4, %rd1;
  st.global.u32 [%rd5], %r3;
  ret;
}
)"));
  const auto out = gpu.upload(std::vector<std::uint32_t>(32));
  under_every_schedule(gpu, [&] {
    gpu.run("test", {{1}, {32}, {}, 0}, parameters(out));
    const auto result = gpu.download<std::uint32_t>(out, 32);
    for (std::uint32_t i = 0; i < 32; ++i) ASSERT_EQ(result[i], i % 2 ? 2 * i : i + 100) << i;
  });
}

}  // namespace
}  // namespace wm::vgpu::testing
