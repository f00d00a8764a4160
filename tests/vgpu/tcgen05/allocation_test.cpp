// Columns of tensor memory: taken, waited for, given back, by one block and by pairs; and every mistake with them.
#include "vgpu/tcgen05/kernels.hpp"

namespace wm::vgpu::testing {
namespace {

using std::uint32_t;

// A kernel of warps that allocate: %slot is where an address goes, %r9 the block's number.
std::string allocating(std::string_view body, std::string_view parameters = "") {
  return fmt::format(R"(.version 8.8
.target sm_100a
.address_size 64
.visible .entry test(.param .u64 test_out{})
{{
  .reg .pred %p<8>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<8>;
  .reg .b32 %slot;
  .reg .b64 %out;
  .shared .align 4 .b32 slot[8];
  ld.param.u64 %out, [test_out];
  mov.u32 %slot, slot;
  mov.u32 %r9, %ctaid.x;
{}
  ret;
}}
)",
                     parameters, body);
}

std::string failure(std::string_view body, uint32_t threads = 32) {
  Gpu gpu("sm_100a", 2);
  gpu.options.max_instructions = 1'000'000;
  gpu.load(allocating(body));
  const auto out = gpu.upload(std::vector<uint32_t>(1024));
  return gpu.failure("test", {{1}, {threads}, {}, 0}, parameters(out));
}

TEST(TensorAllocation, GivesTheFirstFreeColumnsAndTakesThemBack) {
  Gpu gpu("sm_100a", 1);
  gpu.load(allocating(R"(
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 128;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot+4], 128;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot+8], 32;
  ld.shared.u32 %r1, [%slot];
  ld.shared.u32 %r2, [%slot+4];
  ld.shared.u32 %r3, [%slot+8];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot+12], 32;
  ld.shared.u32 %r4, [%slot+12];
  st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 128;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;
)"));
  const auto out = gpu.upload(std::vector<uint32_t>(4));
  gpu.run("test", {{1}, {32}, {}, 0}, parameters(out));
  EXPECT_EQ(gpu.download<uint32_t>(out, 4), (std::vector<uint32_t>{0, 128, 256, 0}));
}

// Forty blocks on two multiprocessors, several at a time, each with more than half of the columns.
TEST(TensorAllocation, BlocksOfAMultiprocessorWaitForEachOther) {
  Gpu gpu("sm_100a", 2);
  gpu.load(allocating(R"(
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 512;
  ld.shared.u32 %r1, [%slot];
  add.u32 %r2, %r9, 7;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2};
  tcgen05.wait::st.sync.aligned;
  nanosleep.u32 100;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r1];
  tcgen05.wait::ld.sync.aligned;
  mad.wide.u32 %rd1, %r9, 4, %out;
  st.global.u32 [%rd1], %r3;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 512;
)"));
  const auto out = gpu.upload(std::vector<uint32_t>(40));
  under_every_schedule(gpu, [&] {
    gpu.run("test", {{40}, {32}, {}, 0}, parameters(out));
    const auto got = gpu.download<uint32_t>(out, 40);
    for (uint32_t i = 0; i < 40; ++i) ASSERT_EQ(got[i], i + 7);
  });
}

// Both blocks of a pair get the same columns, though one's multiprocessor has had other guests.
TEST(TensorAllocation, APairHasTheSameColumns) {
  Gpu gpu("sm_100a", 4);
  gpu.load(allocating(R"(
  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%slot], 256;
  ld.shared.u32 %r1, [%slot];
  mad.wide.u32 %rd1, %r9, 4, %out;
  st.global.u32 [%rd1], %r1;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r1, 256;
)"));
  const auto out = gpu.upload(std::vector<uint32_t>(32));
  under_every_schedule(gpu, [&] {
    gpu.run("test", {{32}, {32}, {2}, 0}, parameters(out));
    const auto got = gpu.download<uint32_t>(out, 32);
    for (uint32_t i = 0; i < 32; i += 2) {
      ASSERT_EQ(got[i], got[i + 1]);
      ASSERT_EQ(got[i] % 256, 0u);
    }
  });
}

// The first calls of both blocks belong together, and so do the second ones, of whatever size.
TEST(TensorAllocation, APairMayAllocateTwiceInARow) {
  for (const int second : {128, 32}) {
    Gpu gpu("sm_100a", 2);
    gpu.load(allocating(fmt::format(R"(
  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%slot], 128;
  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%slot+4], {0};
  ld.shared.u32 %r1, [%slot];
  ld.shared.u32 %r2, [%slot+4];
  mad.wide.u32 %rd1, %r9, 8, %out;
  st.global.v2.u32 [%rd1], {{%r1, %r2}};
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r1, 128;
  tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r2, {0};
)",
                                    second)));
    const auto out = gpu.upload(std::vector<uint32_t>(4));
    under_every_schedule(gpu, [&] {
      gpu.run("test", {{2}, {32}, {2}, 0}, parameters(out));
      ASSERT_EQ(gpu.download<uint32_t>(out, 4), (std::vector<uint32_t>{0, 128, 0, 128})) << second;
    });
  }
}

TEST(TensorAllocation, MistakesAreNamed) {
  const std::string take =
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 64;\n"
      "ld.shared.u32 %r1, [%slot];\n";
  const std::string give = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64;\n";
  const std::vector<std::pair<std::string, const char*>> mistakes = {
      {take, "has not given back 64 columns"},
      {take + give + give, "the block has no such allocation"},
      {take + "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;", "the block has no such allocation"},
      {take + "add.u32 %r1, %r1, 32;\n" + give, "the block has no such allocation"},
      {"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n" + take, "given up its right"},
      {take + "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 128;",
       "128 columns are asked for after 64"},
      {"mov.u32 %r5, 48;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], %r5;", "not as 48"},
      {"mov.u32 %r5, %laneid;\nadd.u32 %r5, %r5, 32;\n"
       "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], %r5;",
       "different numbers of columns"},
      {take + "add.u32 %r1, %r1, 64;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];", "has not allocated all"},
      {take + "tcgen05.ld.sync.aligned.32x32b.x128.b32 " + registers(4, 4) + ", [%r1];", "it has 128 registers, not 4"},
      {take + "add.u32 %r1, %r1, 510;\ntcgen05.ld.sync.aligned.32x32b.x4.b32 {%r2, %r3, %r4, %r5}, [%r1];",
       "it has 512"},
      {take + "add.u32 %r1, %r1, 0x100000;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];", "starts at lane 16"},
      {take + "add.u32 %r1, %r1, 0x80000;\ntcgen05.ld.sync.aligned.16x64b.x1.b32 {%r2}, [%r1];", "starts at lane 8"},
      {take + "add.u32 %r1, %r1, 0x800000;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];", "lane 128"},
      {take + "mov.u32 %r6, %laneid;\nadd.u32 %r1, %r1, %r6;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];",
       "different addresses"},
      {"tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%slot], 64;", "needs a cluster of an even number"},
      {take + "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;", "has used .cta_group::1 before"},
      {take + "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 64;\n"
              "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 64;\n",
       "has not given back"},
  };
  for (const auto& [body, words] : mistakes) {
    std::string text;
    try {
      text = failure(body);
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_TRUE(contains(text, words)) << body << "\n" << text;
  }
}

TEST(TensorAllocation, WhoWaitsForEverIsTold) {
  const std::string text = failure(R"(
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 512;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%slot], 32;
)");
  EXPECT_TRUE(contains(text, "deadlock")) << text;
  EXPECT_TRUE(contains(text, "waits for 32 columns of tensor memory")) << text;
}

TEST(TensorAllocation, APairNeedsTwoMultiprocessors) {
  Gpu gpu("sm_100a", 1);
  gpu.load(allocating("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%slot], 64;"));
  EXPECT_TRUE(contains(gpu.failure("test", {{2}, {32}, {2}, 0}, parameters(std::uint64_t{0})), "needs as many"));
}

TEST(TensorAllocation, PlainTargetsAndOtherChipsHaveNone) {
  Gpu blackwell("sm_100a"), hopper("sm_90a");
  const std::string text = allocating("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  EXPECT_EQ(blackwell.refusal(text), "");
  EXPECT_EQ(blackwell.refusal(replaced(text, "sm_100a", "sm_100f")), "");
  EXPECT_TRUE(contains(blackwell.refusal(replaced(text, "sm_100a", "sm_100")), "code for sm_100 on sm_100a"));
  EXPECT_TRUE(contains(hopper.refusal(replaced(text, "sm_100a", "sm_90a")), "code for sm_90a on sm_90a"));
}

}  // namespace
}  // namespace wm::vgpu::testing
