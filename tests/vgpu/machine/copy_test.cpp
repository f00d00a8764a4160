// Asynchronous copies: cp.async and its groups, bulk copies, tensor copies with multicast, reductions.
#include <numeric>

#include "tensor_map/virtual_form.hpp"
#include "vgpu/machine/virtual_gpu.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm::vgpu::testing {
namespace {

std::vector<std::uint64_t> counted(std::size_t n) {
  std::vector<std::uint64_t> values(n);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST(Copy, SmallCopiesComeInGroups) {
  Gpu gpu;
  under_every_schedule(gpu, [&] {
    // Two groups of 8 bytes a lane; the second is cut to 4 bytes, the rest zero.
    const auto out = compute<std::uint64_t>(gpu, R"(
      .shared .align 16 .b8 words[512];
      mov.u32 %r5, words;
      mad.lo.u32 %r6, %lane, 8, %r5;
      cp.async.ca.shared.global [%r6], [%rd39], 8;
      cp.async.commit_group;
      cp.async.ca.shared.global [%r6+256], [%rd39], 8, 4;
      cp.async.commit_group;
      cp.async.wait_group 1;
      ld.shared.u64 %rd0, [%r6];
      cp.async.wait_all;
      ld.shared.u64 %rd5, [%r6+256];
      add.u64 %rd0, %rd0, %rd5;
    )",
                                            {std::vector<std::uint64_t>{0x500000003}});
    ASSERT_EQ(out[7], 0x500000006u);
  });
}

TEST(Copy, AnMbarrierTracksSmallCopies) {
  Gpu gpu;
  under_every_schedule(gpu, [&] {
    const auto out = compute<std::uint64_t>(gpu, R"(
      .shared .align 16 .b8 words[256];
      .shared .align 8 .b64 barrier;
      mov.u32 %r5, words;
      mov.u32 %r7, barrier;
      setp.ne.u32 %p1, %lane, 0;
      @!%p1 mbarrier.init.shared.b64 [%r7], 32;
      bar.sync 0;
      mad.lo.u32 %r6, %lane, 8, %r5;
      cp.async.ca.shared.global [%r6], [%rd39], 8;
      cp.async.mbarrier.arrive.noinc.shared.b64 [%r7];
    wait:
      mbarrier.try_wait.parity.shared.b64 %p2, [%r7], 0;
      @!%p2 bra wait;
      xor.b32 %r8, %lane, 31;
      mad.lo.u32 %r6, %r8, 8, %r5;
      ld.shared.u64 %rd0, [%r6];
    )",
                                            {counted(32)});
    for (std::uint32_t i = 0; i < 32; ++i) ASSERT_EQ(out[i], 32 - i);
  });
}

TEST(Copy, BulkCopiesThereAndBack) {
  Gpu gpu;
  gpu.load(kernel_text(R"(
    .shared .align 128 .b8 words[512];
    .shared .align 8 .b64 barrier;
    mov.u32 %r5, words;
    mov.u32 %r7, barrier;
    mbarrier.init.shared::cta.b64 [%r7], 1;
    fence.proxy.async;
    mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r7], 512;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%in], 512, [%r7];
  wait:
    mbarrier.try_wait.shared::cta.b64 %p2, [%r7], %rd1;
    @!%p2 bra wait;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r5], 256;
    cp.async.bulk.commit_group;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%out+256], [%r5+256], 256;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
    cp.async.bulk.wait_group 0;
  )"));
  const auto in = gpu.upload(counted(64));
  const std::vector<std::uint64_t> thousands(64, 1000);
  const auto out = gpu.upload(thousands);
  under_every_schedule(gpu, [&] {
    gpu.machine().write(out, std::as_bytes(std::span(thousands)));
    gpu.run("test", {{1}, {1}, {}, 0}, parameters(out, in));
    const auto result = gpu.download<std::uint64_t>(out, 64);
    for (std::uint64_t i = 0; i < 64; ++i) ASSERT_EQ(result[i], i + 1 + (i < 32 ? 0 : 1000)) << i;
  });
}

// Block 0 of two loads a tile for both; each adds its own words with a tensor reduction.
constexpr std::string_view multicast = R"(
.visible .entry test(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128])
{
  .shared .align 128 .b8 tile[512];
  .shared .align 8 .b64 barrier;
  .reg .pred %p<4>;
  .reg .b16 %h<2>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<6>;
  mov.b64 %rd1, from;
  cvta.param.u64 %rd2, %rd1;
  mov.b64 %rd3, to;
  cvta.param.u64 %rd4, %rd3;
  prefetch.tensormap [%rd2];
  mov.u32 %r1, tile;
  mov.u32 %r2, barrier;
  mov.u32 %r3, %cluster_ctarank;
  mov.u32 %r4, 0;
  mov.u16 %h1, 3;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.ne.u32 %p1, %r3, 0;
  @!%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd2, {%r4, %r4}], [%r2], %h1;
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra wait;
  cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd4, {%r4, %r4}], [%r1];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}
)";

TensorMap map_of(std::uint64_t address) {
  TensorMapSpec spec;
  spec.element = MapElement::f32;
  spec.address = address;
  spec.dims = {8, 16};
  spec.strides = {64};
  spec.box = {8, 16};
  return tensor_map::encode_virtual(spec);
}

TEST(Copy, AMulticastTileReachesEveryBlockAndReductionsAdd) {
  Gpu gpu;
  gpu.load(module_text(multicast));
  std::vector<float> values(128);
  std::iota(values.begin(), values.end(), 1.f);
  const auto from = gpu.upload(values), to = gpu.upload(std::vector<float>(128));
  Parameters p;
  p.add(map_of(from), 64).add(map_of(to), 64);
  under_every_schedule(gpu, [&] {
    gpu.machine().fill(to, std::byte{0}, 512);
    gpu.run("test", {{2}, {1}, {2}, 0}, p);
    const auto result = gpu.download<float>(to, 128);
    for (int i = 0; i < 128; ++i) ASSERT_EQ(result[i], 2 * values[i]) << i;
  });
  const std::string text = gpu.failure("test", {{1}, {1}, {}, 0}, p);
  EXPECT_TRUE(contains(text, "the multicast mask 0x3 names blocks that a cluster of 1 does not have")) << text;
}

TEST(Copy, AKernelMayChangeItsMap) {
  Gpu gpu;
  gpu.load(module_text(R"(
.visible .entry test(.param .u64 map, .param .u64 other)
{
  .shared .align 128 .b8 tile[512];
  .shared .align 128 .b8 copy[128];
  .reg .pred %p<2>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [map];
  ld.param.u64 %rd2, [other];
  mov.u32 %r1, tile;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, copy;
  mad.lo.u32 %r4, %r2, 4, %r3;
  mad.wide.u32 %rd3, %r2, 4, %rd1;
  ld.global.u32 %r5, [%rd3];
  st.shared.u32 [%r4], %r5;
  mad.lo.u32 %r6, %r2, 16, %r1;
  st.shared.v4.u32 [%r6], {%r2, %r2, %r2, %r2};
  bar.sync 0;
  setp.ne.u32 %p1, %r2, 0;
  @!%p1 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r3], %rd2;
  bar.warp.sync -1;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r3], 128;
  fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
  mov.u32 %r7, 0;
  @!%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r7, %r7}], [%r1];
  ret;
}
)"));
  const auto first = gpu.upload(std::vector<std::uint32_t>(128)), second = gpu.upload(std::vector<std::uint32_t>(128));
  const auto map = gpu.upload(std::vector<TensorMap>{map_of(first)});
  gpu.run("test", {{1}, {32}, {}, 0}, parameters(map, second));
  EXPECT_EQ(gpu.download<std::uint32_t>(first, 128)[127], 0u);
  EXPECT_EQ(gpu.download<std::uint32_t>(second, 128)[127], 31u);
}

TEST(Copy, WrongCopiesAreSaidWithTheirInstruction) {
  Gpu gpu;
  const auto in = gpu.upload(counted(64));
  const auto failure = [&](std::string_view body) {
    gpu.load(kernel_text(
        ".shared .align 128 .b8 words[512]; .shared .align 8 .b64 barrier; mov.u32 %r5, words; mov.u32 %r7, "
        "barrier; mbarrier.init.shared::cta.b64 [%r7], 1;" +
        std::string(body)));
    return gpu.failure("test", {{1}, {1}, {}, 0}, parameters(in, in));
  };
  EXPECT_TRUE(
      contains(failure("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%in], 24, [%r7];"),
               "a bulk copy moves multiples of 16 bytes, not 24"));
  EXPECT_TRUE(
      contains(failure("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5+8], [%in], 16, [%r7];"),
               "is not a multiple of 16"));
  EXPECT_TRUE(contains(failure("cp.async.bulk.global.shared::cta.bulk_group [%out+512], [%r5], 16;"),
                       "past the end of an allocation of 512 bytes"));
  const std::string no_map = failure(
      "mov.u32 %r1, 0; cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%r5], [%in, {%r1}], [%r7];");
  EXPECT_TRUE(contains(no_map, "the tensor map at 0x")) << no_map;
  EXPECT_TRUE(contains(no_map, "`cp.async.bulk.tensor.1d")) << no_map;
}

// 13 elements of bf16: the store writes all of the second piece of 16 bytes, and the judge knows it.
TEST(Copy, AWriteToTheRestOfAStoresLastPieceIsARace) {
  Gpu gpu;
  gpu.load(module_text(R"(
.visible .entry test(.param .align 64 .b8 map[128], .param .u64 beside)
{
  .shared .align 128 .b8 tile[128];
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tile;
  mad.lo.u32 %r3, %r1, 4, %r2;
  setp.lt.u32 %p1, %r1, 32;
  @%p1 st.shared.u32 [%r3], %r1;
  fence.proxy.async;
  bar.sync 0;
  setp.eq.u32 %p1, %r1, 32;
  ld.param.u64 %rd1, [beside];
  @%p1 st.global.u32 [%rd1], %r1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 ret;
  mov.b64 %rd2, map;
  cvta.param.u64 %rd3, %rd2;
  cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd3, {0}], [%r2];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
)"));
  const auto out = gpu.upload(std::vector<std::uint32_t>(16));
  const TensorMap map =
      tensor_map::encode_virtual({.element = MapElement::bf16, .address = out, .dims = {13}, .box = {64}});
  gpu.options.check = true;
  const auto clean = [&](std::uint64_t beside) {
    Parameters p;
    p.add(map, 64).add(beside);
    gpu.run("test", {{1}, {64}, {}, 0}, p);
    return gpu.report.check->clean();
  };
  EXPECT_FALSE(clean(out + 24)) << "an element";
  EXPECT_FALSE(clean(out + 28)) << "what rounding up adds";
  EXPECT_TRUE(clean(out + 32));
}

}  // namespace
}  // namespace wm::vgpu::testing
