// Lanes of a warp with each other: shfl, vote, match, redux, elect, activemask.
#include <bit>

#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

std::vector<std::uint32_t> lanes(std::string_view body) {
  Gpu gpu;
  return compute<std::uint32_t>(gpu, body, {});
}

TEST(Exchange, ShufflesMoveValuesWithinTheirSegments) {
  const auto up = lanes("shfl.sync.up.b32 %r0, %lane, 3, 0, 0xffffffff;");
  const auto down = lanes("shfl.sync.down.b32 %r0, %lane, 3, 31, 0xffffffff;");
  const auto across = lanes("shfl.sync.bfly.b32 %r0, %lane, 5, 31, 0xffffffff;");
  const auto from = lanes("shfl.sync.idx.b32 %r0, %lane, 9, 31, 0xffffffff;");
  const auto segments = lanes("shfl.sync.down.b32 %r0, %lane, 1, 0x1807, 0xffffffff;");  // 8 lanes each
  const auto valid = lanes("shfl.sync.down.b32 %r1|%p1, %lane, 3, 31, 0xffffffff; selp.u32 %r0, 1, 0, %p1;");
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], i < 3 ? i : i - 3);
    EXPECT_EQ(down[i], i + 3 > 31 ? i : i + 3);
    EXPECT_EQ(across[i], i ^ 5);
    EXPECT_EQ(from[i], 9u);
    EXPECT_EQ(segments[i], i % 8 == 7 ? i : i + 1);
    EXPECT_EQ(valid[i], i + 3 <= 31 ? 1u : 0u);
  }
}

TEST(Exchange, VotesMatchesAndSums) {
  EXPECT_EQ(lanes("setp.lt.u32 %p1, %lane, 5; vote.sync.ballot.b32 %r0, %p1, 0xffffffff;")[9], 0x1fu);
  EXPECT_EQ(lanes("setp.lt.u32 %p1, %lane, 5; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r0, 1, 0, %p2;")[9], 1u);
  EXPECT_EQ(lanes("setp.lt.u32 %p1, %lane, 5; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r0, 1, 0, %p2;")[1], 0u);
  EXPECT_EQ(lanes("setp.lt.u32 %p1, %lane, 50; vote.sync.uni.pred %p2, !%p1, -1; selp.u32 %r0, 1, 0, %p2;")[1], 1u);
  EXPECT_EQ(lanes("shr.u32 %r1, %lane, 3; match.any.sync.b32 %r0, %r1, -1;")[9], 0xff00u);
  EXPECT_EQ(lanes("match.all.sync.b32 %r1|%p1, 4, -1; selp.b32 %r0, %r1, 7, %p1;")[9], ~0u);
  EXPECT_EQ(lanes("cvt.u64.u32 %rd1, %lane; match.all.sync.b64 %r1|%p1, %rd1, -1; selp.b32 %r0, 1, %r1, %p1;")[9], 0u);
  EXPECT_EQ(lanes("redux.sync.add.u32 %r0, %lane, -1;")[9], 496u);
  EXPECT_EQ(lanes("sub.s32 %r1, %lane, 7; redux.sync.min.s32 %r0, %r1, -1;")[9], static_cast<std::uint32_t>(-7));
  EXPECT_EQ(lanes("sub.s32 %r1, %lane, 7; redux.sync.max.u32 %r0, %r1, -1;")[9], ~0u);
  EXPECT_EQ(lanes("redux.sync.xor.b32 %r0, %lane, -1;")[9], 0u);
  EXPECT_EQ(lanes("redux.sync.or.b32 %r0, %lane, -1;")[9], 31u);
}

TEST(Exchange, TheLowestLaneIsElected) {
  const auto leader = lanes("elect.sync %r1|%p1, 0xffffffff; selp.u32 %r0, 100, 0, %p1; add.u32 %r0, %r0, %r1;");
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(leader[i], i == 0 ? 100u : 0u);
  const auto part = lanes("mov.u32 %r0, 7; setp.ge.u32 %p2, %lane, 4; @%p2 elect.sync %r0|%p1, 0xfffffff0;");
  EXPECT_EQ(part[3], 7u);
  EXPECT_EQ(part[20], 4u);
}

TEST(Exchange, TheActiveMaskIsThePart) {
  const auto mask = lanes("mov.u32 %r0, 0; setp.lt.u32 %p1, %lane, 4; @%p1 activemask.b32 %r0;");
  EXPECT_EQ(mask[2], 0xfu);
  EXPECT_EQ(mask[5], 0u);
}

TEST(Exchange, ALaneOutsideItsOwnMaskIsAnError) {
  Gpu gpu;
  gpu.load(kernel_text("shfl.sync.down.b32 %r0, %lane, 3, 31, 0xfffffffe;"));
  const std::string text = gpu.failure("test", {{1}, {32}, {}, 0}, parameters(std::uint64_t{0}, std::uint64_t{0}));
  EXPECT_TRUE(contains(text, "the lane is not in the mask 0xfffffffe")) << text;
  EXPECT_TRUE(contains(text, "lane 0 (thread (0,0,0))")) << text;
}

}  // namespace
}  // namespace wm::vgpu::testing
