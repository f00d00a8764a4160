// virtual:sm_100a: which modules it takes, what it has of Hopper and what not.
#include <bit>
#include <cmath>

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

u64 pair(float low, float high) { return u64{std::bit_cast<u32>(high)} << 32 | std::bit_cast<u32>(low); }

TEST(Blackwell, AddsAndMultipliesPairsOfFloats) {
  Gpu gpu("sm_100a");
  const auto run = [&](const char* text) {
    return compute<u64>(gpu, text, {{pair(1.5f, -3.0f)}, {pair(0x1p-24f, 5.0f)}, {pair(2.0f, 0.25f)}}, 32,
                        "sm_100a")[7];
  };
  EXPECT_EQ(run("add.rn.f32x2 %rd0, %rd1, %rd2;"), pair(1.5f + 0x1p-24f, 2.0f));
  EXPECT_EQ(run("add.rp.f32x2 %rd0, %rd1, %rd2;"), pair(std::nextafter(1.5f, 2.0f), 2.0f));
  EXPECT_EQ(run("sub.rn.f32x2 %rd0, %rd1, %rd3;"), pair(-0.5f, -3.25f));
  EXPECT_EQ(run("mul.rn.ftz.f32x2 %rd0, %rd1, %rd3;"), pair(3.0f, -0.75f));
  EXPECT_EQ(run("fma.rn.f32x2 %rd0, %rd1, %rd3, %rd1;"), pair(4.5f, -3.75f));
  Gpu hopper;
  EXPECT_TRUE(
      contains(hopper.refusal(kernel_text("add.rn.f32x2 %rd0, %rd1, %rd2;")), "`.f32x2` is of sm_100 and later"));
}

TEST(Blackwell, AddsSixteenBitFloatsToF32) {
  Gpu gpu("sm_100a");
  const u32 third = std::bit_cast<u32>(0x1.555556p-2f), minus_two = 0xc000;  // f16
  const auto run = [&](const char* text) {
    return std::bit_cast<float>(compute<u32>(gpu, std::string("cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2;") + text,
                                             {{minus_two}, {0x3fc0}, {third}}, 32, "sm_100a")[3]);
  };
  EXPECT_EQ(run("add.f32.f16 %r0, %h1, %r3;"), 0x1.555556p-2f - 2);
  EXPECT_EQ(run("sub.rm.f32.f16 %r0, %h1, %r3;"), -0x1.2aaaacp+1f) << "-2.33333334... down";
  EXPECT_EQ(run("add.f32.bf16 %r0, %h2, %r3;"), 0x1.555556p-2f + 1.5f);
  EXPECT_EQ(run("fma.rn.f32.bf16 %r0, %h2, %h2, %r3;"), std::fma(1.5f, 1.5f, 0x1.555556p-2f));
  Gpu hopper;
  EXPECT_TRUE(contains(hopper.refusal(kernel_text("add.f32.f16 %f0, %h1, %f2;")), "of sm_100 and later"));
}

TEST(Blackwell, CopiesTheBytesThatAMaskChooses) {
  Gpu gpu("sm_100a");
  const auto text = [](u32 mask, u32 from, u32 bytes) {
    return kernel_text(fmt::format(R"(
    .shared .align 128 .b64 words[32];
    mov.u32 %r5, words;
    mad.lo.u32 %r6, %lane, 8, %r5;
    st.shared.u64 [%r6], 0x0807060504030201;
    fence.proxy.async;
    bar.sync 0;
    setp.eq.u32 %p1, %lane, 0;
    mov.u16 %h1, {};
    add.u64 %rd1, %out, {};
    @%p1 cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [%r5], {}, %h1;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
  )",
                                   mask, from, bytes),
                       "sm_100a");
  };
  const std::vector<u64> before(16, 0xeeeeeeeeeeeeeeee);
  const auto out = gpu.upload(before);
  gpu.load(text(0x00f8, 0, 32));  // bytes 3 to 7 of each 16
  under_every_schedule(gpu, [&] {
    gpu.machine().write(out, std::as_bytes(std::span(before)));
    gpu.run("test", {{1}, {32}, {}, 0}, parameters(out, out));
    const auto got = gpu.download<u64>(out, 16);
    for (u32 i = 0; i < 16; ++i) ASSERT_EQ(got[i], i == 0 || i == 2 ? 0x0807060504eeeeee : before[i]) << i;
  });
  // What is not chosen need not be there.
  gpu.load(text(0x00ff, 112, 16));
  EXPECT_EQ(gpu.failure("test", {{1}, {32}, {}, 0}, parameters(out, out)), "");
  const auto short_one = gpu.upload(std::vector<u64>(1));
  gpu.load(text(0x00ff, 0, 16));
  EXPECT_EQ(gpu.failure("test", {{1}, {32}, {}, 0}, parameters(short_one, out)), "");
  gpu.load(text(0x01ff, 0, 16));
  EXPECT_TRUE(contains(gpu.failure("test", {{1}, {32}, {}, 0}, parameters(short_one, out)), "past the end"));
  EXPECT_TRUE(
      contains(gpu.refusal(kernel_text("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.cp_mask "
                                       "[%r1], [%in], 16, [%r2], %h1;",
                                       "sm_100a")),
               "`.cp_mask` is of copies to global memory"));
}

TEST(Blackwell, TakesTheGreatestAndTheLeastOfThreeFloats) {
  Gpu gpu("sm_100a");
  const u64 nan = 0x7fffffff;
  const auto run = [&](const char* text, u64 a, u64 b, u64 c) {
    return compute<u32>(gpu, text, {{a}, {b}, {c}}, 32, "sm_100a")[3];
  };
  const auto bits = [](float f) { return std::bit_cast<u32>(f); };
  EXPECT_EQ(run("max.f32 %r0, %r1, %r2, %r3;", bits(1), bits(3), bits(2)), bits(3));
  EXPECT_EQ(run("min.f32 %r0, %r1, %r2, %r3;", bits(1), bits(3), bits(-2)), bits(-2));
  EXPECT_EQ(run("max.f32 %r0, %r1, %r2, %r3;", nan, nan, bits(2)), bits(2));
  EXPECT_EQ(run("max.NaN.f32 %r0, %r1, %r2, %r3;", bits(1), nan, bits(2)), nan);
}

TEST(Blackwell, Moves32BytesAThreadAndFillsSharedMemoryWithZeros) {
  Gpu gpu("sm_100a");
  gpu.load(kernel_text(R"(
    .shared .align 16 .b8 words[256];
    mov.u32 %r20, words;
    mad.lo.u32 %r21, %lane, 8, %r20;
    st.shared.u64 [%r21], %in;
    bar.sync 0;
    setp.eq.u32 %p1, %lane, 0;
    mov.u64 %rd9, 128;
    @%p1 st.bulk.weak.shared::cta [%r20+64], %rd9, 0;
    bar.sync 0;
    ld.shared.u64 %rd10, [%r21];
    mul.wide.u32 %rd1, %lane, 32;
    add.u64 %rd2, %in, %rd1;
    add.u64 %rd3, %out, %rd1;
    ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd2];
    st.global.v8.b32 [%rd3], {%r8, %r7, %r6, %r5, %r4, %r3, %r2, %r1};
    ld.global.v4.b64 {%rd4, %rd5, %rd6, %rd7}, [%rd2];
    st.global.v4.b64 [%rd3+1024], {%rd4, %rd5, %rd6, %rd10};
  )",
                       "sm_100a"));
  std::vector<u32> values(256);
  for (u32 i = 0; i < 256; ++i) values[i] = i * 3;
  const auto in = gpu.upload(values), out = gpu.upload(std::vector<u32>(512));
  gpu.run("test", {{1}, {32}, {}, 0}, parameters(out, in));
  const auto got = gpu.download<u32>(out, 512);
  for (u32 i = 0; i < 256; ++i) {
    EXPECT_EQ(got[i], values[i / 8 * 8 + 7 - i % 8]);
    if (i % 8 < 6) {
      EXPECT_EQ(got[256 + i], values[i]);
    }
  }
  for (u32 lane = 0; lane < 32; ++lane) EXPECT_EQ(got[256 + 8 * lane + 7] == 0, lane >= 8 && lane < 24) << lane;
  Gpu hopper;
  EXPECT_TRUE(contains(hopper.refusal(kernel_text("ld.global.v4.b64 {%rd1, %rd2, %rd3, %rd4}, [%in];")), "at most 16"));
}

}  // namespace
}  // namespace wm::vgpu::testing
