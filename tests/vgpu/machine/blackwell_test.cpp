// virtual:sm_100a: which modules it takes, what it has of Hopper and what not.
#include "vgpu/machine/virtual_gpu.hpp"
#include "vgpu/memory/integers.hpp"

namespace wm::vgpu::testing {
namespace {

TEST(Blackwell, HasTheShapeOfAB200) {
  const Chip chip = Chip::of(Architecture::parse("sm_100a"));
  EXPECT_EQ(chip.multiprocessors, 148);
  EXPECT_EQ(chip.shared_bytes_per_block, 232'448u);
  Gpu gpu("sm_100a");
  gpu.load(kernel_text("", "sm_100a"));
  EXPECT_EQ(gpu.failure("test", {{1}, {32}, {}, 232'448}, parameters(u64{0}, u64{0})), "");
  EXPECT_TRUE(contains(gpu.failure("test", {{1}, {32}, {}, 232'449}, parameters(u64{0}, u64{0})), "232448"));
}

// A copy to both blocks of a cluster, counted by their mbarriers.
TEST(Blackwell, RunsCopiesBarriersAndClustersOfItsOwnTargetItsFamilysAndOlderOnes) {
  for (const char* target : {"sm_100a", "sm_100f", "sm_90"}) {
    Gpu gpu("sm_100a");
    gpu.load(kernel_text(R"(
      .shared .align 128 .b8 words[256];
      .shared .align 8 .b64 barrier;
      mov.u32 %r5, words;
      mov.u32 %r7, barrier;
      setp.eq.u32 %p1, %lane, 0;
      @%p1 mbarrier.init.shared::cta.b64 [%r7], 1;
      @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r7], 256;
      fence.mbarrier_init.release.cluster;
      barrier.cluster.arrive.aligned;
      barrier.cluster.wait.aligned;
      mov.u32 %r1, %cluster_ctarank;
      setp.eq.and.u32 %p2, %r1, 1, %p1;
      mov.b16 %h1, 3;
      @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r5], [%in], 256, [%r7], %h1;
    wait:
      mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r7], 0;
      @!%p3 bra wait;
      mad.lo.u32 %r6, %lane, 8, %r5;
      ld.shared.u64 %rd2, [%r6];
      mul.lo.u32 %r2, %r1, 256;
      cvt.u64.u32 %rd3, %r2;
      add.u64 %mine, %mine, %rd3;
      st.global.u64 [%mine], %rd2;
      barrier.cluster.arrive.aligned;
      barrier.cluster.wait.aligned;
    )",
                         target));
    std::vector<u64> values(32);
    for (u64 i = 0; i < 32; ++i) values[i] = i * i + 7;
    const auto in = gpu.upload(values), out = gpu.upload(std::vector<u64>(64));
    under_every_schedule(gpu, [&] {
      gpu.run("test", {{2}, {32}, {2}, 0}, parameters(out, in));
      const auto got = gpu.download<u64>(out, 64);
      for (u64 i = 0; i < 64; ++i) ASSERT_EQ(got[i], values[i % 32]) << target;
    });
  }
}

TEST(Blackwell, HasNoWgmma) {
  Gpu gpu("sm_100a");
  EXPECT_TRUE(contains(gpu.refusal(kernel_text("wgmma.fence.sync.aligned;", "sm_100a")),
                       "only sm_90a has wgmma, and this is sm_100a"));
}

}  // namespace
}  // namespace wm::vgpu::testing
