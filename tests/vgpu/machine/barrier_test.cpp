// Barriers of blocks and clusters, and mbarriers.
#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

TEST(Barrier, TheBlockWaitsForAllItsWarps) {
  Gpu gpu;
  under_every_schedule(gpu, [&] {
    // Each warp writes, then reads what the next one wrote.
    const auto out = compute<std::uint32_t>(gpu, R"(
      .shared .align 4 .b8 words[512];
      mov.u32 %r5, words;
      mad.lo.u32 %r6, %lane, 4, %r5;
      st.shared.u32 [%r6], %lane;
      bar.sync 0;
      add.u32 %r7, %lane, 32;
      and.b32 %r7, %r7, 127;
      mad.lo.u32 %r7, %r7, 4, %r5;
      ld.shared.u32 %r0, [%r7];
    )",
                                            {}, 128);
    for (std::uint32_t i = 0; i < 128; ++i) ASSERT_EQ(out[i], (i + 32) % 128);
  });
}

TEST(Barrier, NamedBarriersCountArrivalsAndWaits) {
  Gpu gpu;
  under_every_schedule(gpu, [&] {
    // Warp 0 produces and only arrives; warps 1 and 2 wait; warp 3 takes no part.
    const auto out = compute<std::uint32_t>(gpu, R"(
      .shared .align 4 .b32 word;
      mov.u32 %r0, 0;
      shr.u32 %r1, %lane, 5;
      setp.eq.u32 %p1, %r1, 0;
      @%p1 bra produce;
      setp.eq.u32 %p2, %r1, 3;
      @%p2 bra done;
      barrier.cta.sync 5, 96;
      ld.shared.u32 %r0, [word];
      bra done;
    produce:
      st.shared.u32 [word], 42;
      bar.arrive 5, 96;
    done:
    )",
                                            {}, 128);
    for (std::uint32_t i = 0; i < 128; ++i) ASSERT_EQ(out[i], i >= 32 && i < 96 ? 42u : 0u);
  });
}

TEST(Barrier, ReductionsOverTheBlock) {
  Gpu gpu;
  under_every_schedule(gpu, [&] {
    const auto count = compute<std::uint32_t>(gpu, "setp.lt.u32 %p1, %lane, 40; bar.red.popc.u32 %r0, 0, %p1;", {}, 64);
    const auto all = compute<std::uint32_t>(
        gpu, "setp.lt.u32 %p1, %lane, 40; bar.red.and.pred %p2, 1, 64, %p1; selp.u32 %r0, 1, 0, %p2;", {}, 64);
    const auto any = compute<std::uint32_t>(
        gpu, "setp.lt.u32 %p1, %lane, 63; bar.red.or.pred %p2, 1, !%p1; selp.u32 %r0, 1, 0, %p2;", {}, 64);
    ASSERT_EQ(count[63], 40u);
    ASSERT_EQ(all[0], 0u);
    ASSERT_EQ(any[0], 1u);
  });
}

TEST(Barrier, AShortLastWarpCountsAsAWholeOne) {
  Gpu gpu;
  const auto out = compute<std::uint32_t>(gpu, "mov.u32 %r0, 3; bar.sync 0; bar.sync 1, 64;", {}, 40);
  EXPECT_EQ(out[39], 3u);
}

std::string failure(std::string_view body, std::uint32_t threads = 64) {
  Gpu gpu;
  gpu.load(kernel_text(body));
  return gpu.failure("test", {{1}, {threads}, {}, 0}, parameters(std::uint64_t{0}, std::uint64_t{0}));
}

TEST(Barrier, WrongUseIsSaid) {
  EXPECT_TRUE(contains(failure("bar.sync 16;"), "a block has 16 barriers; there is no barrier 16"));
  EXPECT_TRUE(contains(failure("bar.sync 1, 33;"), "a barrier counts whole warps; 33 threads are none"));
  EXPECT_TRUE(contains(failure("bar.sync 1, 128;"), "the barrier waits for 128 threads of a block of 64"));
  EXPECT_TRUE(contains(failure("setp.lt.u32 %p1, %lane, 32; selp.u32 %r1, 32, 64, %p1; @!%p1 bar.sync 1, %r1; "
                               "@!%p1 bra done; nanosleep.u32 1; bar.arrive 1, %r1; done:"),
                       ""))
      << "a barrier that is met";
}

// Two blocks of a cluster exchange a word through each other's shared memory.
constexpr std::string_view exchange = R"(
.visible .entry test(.param .u64 out)
{
  .shared .align 4 .b32 word;
  .reg .b32 %r<10>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r2, word;
  add.u32 %r3, %r1, 100;
  st.shared.u32 [%r2], %r3;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  xor.b32 %r4, %r1, 1;
  mapa.shared::cluster.u32 %r5, %r2, %r4;
  ld.shared::cluster.u32 %r6, [%r5];
  getctarank.shared::cluster.u32 %r7, %r5;
  mov.u32 %r8, %ctaid.x;
  mad.wide.u32 %rd2, %r8, 16, %rd1;
  st.global.v4.u32 [%rd2], {%r6, %r5, %r7, %r2};
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
)";

TEST(Barrier, BlocksOfAClusterMeetAndSeeEachOthersMemory) {
  Gpu gpu;
  gpu.load(module_text(exchange));
  const auto out = gpu.upload(std::vector<std::uint32_t>(16));
  under_every_schedule(gpu, [&] {
    gpu.run("test", {{4}, {64}, {2}, 0}, parameters(out));
    const auto r = gpu.download<std::uint32_t>(out, 16);
    for (std::uint32_t block = 0; block < 4; ++block) {
      const std::uint32_t rank = block % 2;
      ASSERT_EQ(r[4 * block], 100 + (rank ^ 1));
      ASSERT_EQ(r[4 * block + 1], ((rank ^ 1) << 24) + 0x400);  // the rank is in bits 24 and up
      ASSERT_EQ(r[4 * block + 2], rank ^ 1);
      ASSERT_EQ(r[4 * block + 3], (rank << 24) + 0x400);
    }
  });
  EXPECT_TRUE(
      contains(gpu.failure("test", {{3}, {64}, {1}, 0}, parameters(out)), "block 1 is asked for in a cluster of 1"));
}

TEST(Barrier, TheAddressOfABlockThatIsNotThereMayBeMadeAndNotUsed) {
  Gpu gpu;
  gpu.load(kernel_text(R"(
      .shared .align 8 .b8 word[8];
      mov.u32 %r1, word;
      mapa.shared::cluster.u32 %r2, %r1, 1;
      mapa.shared::cluster.u32 %r3, %r1, 256;
      setp.eq.u32 %p1, %r1, %r3;
      selp.u64 %rd1, 1, 7, %p1;
      st.global.u64 [%mine], %rd1;
  )"));
  const auto out = gpu.upload(std::vector<std::uint64_t>(1));
  gpu.run("test", {{1}, {1}, {}, 0}, parameters(out, out));
  EXPECT_EQ(gpu.download<std::uint64_t>(out, 1)[0], 7u);
}

TEST(Barrier, ThreadsThatHaveLeftAreNotWaitedFor) {
  Gpu gpu;
  gpu.load(kernel_text(R"(
      setp.ge.u32 %p1, %lane, 32;
      @%p1 ret;
      bar.sync 0;
      st.global.u64 [%mine], 7;
  )"));
  under_every_schedule(gpu, [&] {
    const auto out = gpu.upload(std::vector<std::uint64_t>(96));
    gpu.run("test", {{1}, {96}, {}, 0}, parameters(out, out));
    const auto r = gpu.download<std::uint64_t>(out, 96);
    for (std::uint32_t i = 0; i < 96; ++i) ASSERT_EQ(r[i], i < 32 ? 7u : 0u) << i;
    gpu.machine().free(out);
  });
}

TEST(Barrier, ABlockOfAClusterThatHasLeftIsNotWaitedForAgain) {
  Gpu gpu;
  gpu.load(kernel_text(R"(
      mov.u32 %r1, %cluster_ctarank;
      barrier.cluster.arrive.aligned;
      barrier.cluster.wait.aligned;
      setp.ne.u32 %p1, %r1, 0;
      @%p1 ret;
      barrier.cluster.arrive.aligned;
      barrier.cluster.wait.aligned;
      barrier.cluster.arrive.aligned;
      barrier.cluster.wait.aligned;
      st.global.u64 [%mine], 7;
  )"));
  under_every_schedule(gpu, [&] {
    const auto out = gpu.upload(std::vector<std::uint64_t>(64));
    gpu.run("test", {{2}, {64}, {2}, 0}, parameters(out, out));
    for (const std::uint64_t word : gpu.download<std::uint64_t>(out, 64)) ASSERT_EQ(word, 7u);
    gpu.machine().free(out);
  });
}

TEST(Barrier, RanksOfAClusterCountXThenYThenZ) {
  Gpu gpu;
  gpu.load(kernel_text(R"(
      mov.u32 %r1, %ctaid.x;
      mov.u32 %r2, %ctaid.y;
      mov.u32 %r3, %ctaid.z;
      mov.u32 %r4, %cluster_ctarank;
      mad.lo.u32 %r5, %r3, 4, %r2;
      mad.lo.u32 %r5, %r5, 2, %r1;
      mad.wide.u32 %rd1, %r5, 8, %out;
      cvt.u64.u32 %rd2, %r4;
      st.global.u64 [%rd1], %rd2;
  )"));
  const auto out = gpu.upload(std::vector<std::uint64_t>(16));
  gpu.run("test", {{2, 4, 2}, {1}, {2, 2, 2}, 0}, parameters(out, out));
  const auto ranks = gpu.download<std::uint64_t>(out, 16);
  for (std::uint32_t block = 0; block < 16; ++block) {
    const std::uint32_t x = block % 2, y = block / 2 % 4, z = block / 8;
    EXPECT_EQ(ranks[block], x + 2 * (y % 2) + 4 * z) << block;
  }
}

TEST(Mbarrier, PhasesCountArrivalsAndBytes) {
  Gpu gpu;
  under_every_schedule(gpu, [&] {
    // 64 threads arrive; one announces and delivers 24 bytes.
    const auto out = compute<std::uint32_t>(gpu, R"(
      .shared .align 8 .b64 barrier;
      mov.u32 %r5, barrier;
      setp.ne.u32 %p1, %lane, 0;
      @!%p1 mbarrier.init.shared::cta.b64 [%r5], 64;
      bar.sync 0;
      @!%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r5], 24;
      mbarrier.arrive.shared::cta.b64 %rd5, [%r5];
      @!%p1 mbarrier.complete_tx.shared::cta.b64 [%r5], 24;
    wait:
      mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], 0;
      @!%p2 bra wait;
      mbarrier.test_wait.shared::cta.b64 %p3, [%r5], %rd5;
      selp.u32 %r0, 1, 0, %p3;
      // The next phase is open: parity 1 is not done, and its state says so.
      @!%p1 mbarrier.arrive.noComplete.shared::cta.b64 %rd6, [%r5], 3;
      @!%p1 mbarrier.pending_count.b64 %r6, %rd6;
      @!%p1 add.u32 %r0, %r0, %r6;
    )",
                                            {}, 64);
    ASSERT_EQ(out[0], 65u);
    ASSERT_EQ(out[63], 1u);
  });
}

TEST(Mbarrier, DroppedArrivalsAreNotExpectedAgain) {
  Gpu gpu;
  const auto out = compute<std::uint32_t>(gpu, R"(
    .shared .align 8 .b64 barrier;
    mov.u32 %r5, barrier;
    setp.ne.u32 %p1, %lane, 0;
    @!%p1 mbarrier.init.shared.b64 [%r5], 2;
    bar.sync 0;
    setp.eq.u32 %p2, %lane, 1;
    @%p2 mbarrier.arrive_drop.shared.b64 _, [%r5];
    @!%p1 mbarrier.arrive.shared.b64 _, [%r5];
    bar.sync 0;
    @!%p1 mbarrier.arrive.shared.b64 _, [%r5];
    mbarrier.test_wait.parity.shared.b64 %p3, [%r5], 1;
    selp.u32 %r0, 1, 0, %p3;
  )",
                                          {});
  EXPECT_EQ(out[0], 1u);
}

TEST(Mbarrier, AFreshBarriersOtherParityIsDone) {
  Gpu gpu;
  EXPECT_EQ(compute<std::uint32_t>(
                gpu,
                ".shared .align 8 .b64 b; mbarrier.init.shared.b64 [b], 1; mbarrier.test_wait.parity.shared.b64 "
                "%p1, [b], 1; selp.u32 %r0, 1, 0, %p1;",
                {}, 1)[0],
            1u);
}

TEST(Mbarrier, RemoteBarriersAreArrivedAt) {
  Gpu gpu;
  gpu.load(module_text(R"(
.visible .entry test(.param .u64 out)
{
  .shared .align 8 .b64 barrier;
  .shared .align 8 .b64 data;
  .reg .pred %p<3>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r2, barrier;
  mbarrier.init.shared::cta.b64 [%r2], 2;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  // Arrive at block 0's barrier; block 1 also sends it 8 bytes.
  mapa.shared::cluster.u32 %r3, %r2, 0;
  mov.u32 %r4, data;
  mapa.shared::cluster.u32 %r5, %r4, 0;
  setp.eq.u32 %p1, %r1, 1;
  @%p1 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r3], 8;
  @%p1 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r5], {%r1, 77}, [%r3];
  @!%p1 mbarrier.arrive.shared::cta.b64 _, [%r2];
  @%p1 bra leave;
wait:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0, 1000;
  @!%p2 bra wait;
  ld.shared.u32 %r6, [data+4];
  st.global.u32 [%rd1], %r6;
leave:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}
)"));
  const auto out = gpu.upload(std::vector<std::uint32_t>(1));
  under_every_schedule(gpu, [&] {
    gpu.machine().fill(out, std::byte{0}, 4);
    gpu.run("test", {{2}, {1}, {2}, 0}, parameters(out));
    ASSERT_EQ(gpu.download<std::uint32_t>(out, 1)[0], 77u);
  });
}

TEST(Mbarrier, WrongUseIsSaid) {
  const std::string begin = ".shared .align 8 .b64 b; ";
  EXPECT_TRUE(
      contains(failure(begin + "mbarrier.arrive.shared.b64 _, [b];", 1), "the mbarrier at 0x400 is not initialised"));
  EXPECT_TRUE(contains(failure(begin + "mbarrier.init.shared.b64 [b], 0;", 1),
                       "an mbarrier counts 1 to 1048575 arrivals, not 0"));
  EXPECT_TRUE(contains(failure(begin + "mbarrier.init.shared.b64 [b], 1; mbarrier.arrive.shared.b64 _, [b], 2;", 1),
                       "2 arrivals at the mbarrier at 0x400, where 1 is pending in this phase"));
  EXPECT_TRUE(contains(
      failure(begin + "mbarrier.init.shared.b64 [b], 1; mbarrier.arrive.noComplete.shared.b64 %rd1, [b], 1;", 1),
      "would complete the phase"));
  EXPECT_TRUE(contains(failure(begin + "mbarrier.init.shared.b64 [b], 1; mbarrier.inval.shared.b64 [b]; "
                                       "mbarrier.expect_tx.shared.b64 [b], 4;",
                               1),
                       "is not initialised"));
  EXPECT_TRUE(contains(failure("mbarrier.init.b64 [%out], 1;", 1), "null pointer"));
}

}  // namespace
}  // namespace wm::vgpu::testing
