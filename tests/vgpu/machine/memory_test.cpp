// Loads, stores and atomic operations in every space, and what is said when they go wrong.
#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

std::uint32_t first(std::string_view body, std::vector<std::uint64_t> in = {0}) {
  Gpu gpu;
  return compute<std::uint32_t>(gpu, body, {in})[0];
}

TEST(Memory, WidthsSignsAndVectors) {
  EXPECT_EQ(first("ld.global.u8 %r0, [%rd39+1];", {0xfedcba98}), 0xbau);
  EXPECT_EQ(first("ld.global.s8 %r0, [%rd39+1];", {0xfedcba98}), 0xffffffbau);
  EXPECT_EQ(first("ld.global.s16 %r0, [%rd39+2];", {0xfedcba98}), 0xfffffedcu);
  EXPECT_EQ(first("ld.global.s32 %rd0, [%rd39]; shr.u64 %rd0, %rd0, 32; cvt.u32.u64 %r0, %rd0;", {0xfedcba98}),
            0xffffffffu);
  EXPECT_EQ(first("ld.global.v2.u16 {%h1, %h2}, [%rd39]; cvt.u32.u16 %r0, %h2;", {0xfedcba98}), 0xfedcu);
  EXPECT_EQ(first("ld.global.v2.u32 {%r4, %r0}, [%rd39];", {0x1234567800000000}), 0x12345678u);
  EXPECT_EQ(first("and.b64 %rd5, %rd39, -16; ld.global.v4.u32 {_, _, %r0, _}, [%rd5];", {1, 2}), 2u);
  EXPECT_EQ(first(".reg .b128 %q; and.b64 %rd5, %rd39, -16; ld.global.b128 %q, [%rd5]; mov.b128 {%rd6, %rd7}, %q; "
                  "cvt.u32.u64 %r0, %rd7;",
                  {1, 2}),
            2u);
  EXPECT_EQ(first("st.global.u8 [%rd39], 255; ld.global.u32 %r0, [%rd39];", {0x11111111}), 0x111111ffu);
  EXPECT_EQ(first("ld.relaxed.gpu.global.L1::no_allocate.L2::128B.u32 %r0, [%rd39];", {7}), 7u);
  EXPECT_EQ(first("ld.acquire.sys.u32 %r0, [%rd39];", {7}), 7u);
  EXPECT_EQ(first("st.release.cta.global.u32 [%rd39], 9; ld.volatile.global.u32 %r0, [%rd39];", {7}), 9u);
}

TEST(Memory, SpacesHaveTheirAddresses) {
  // The first static variable lies at 0x400; generic addresses are a window above.
  EXPECT_EQ(first(".shared .align 4 .b32 word; mov.u32 %r0, word;"), 0x400u);
  EXPECT_EQ(
      first(".shared .align 4 .b32 word; st.shared.u32 [word], 5; mov.u64 %rd5, word; cvta.shared.u64 %rd6, %rd5; "
            "ld.u32 %r0, [%rd6];"),
      5u);
  EXPECT_EQ(
      first(".local .align 4 .b8 words[64]; mov.u64 %rd5, words; mad.wide.u32 %rd5, %lane, 0, %rd5; "
            "st.local.u32 [%rd5+60], %lane; cvta.local.u64 %rd6, %rd5; ld.u32 %r0, [%rd6+60]; add.u32 %r0, %r0, 3;"),
      3u);
  EXPECT_EQ(first("mov.u64 %rd5, test_in; cvta.param.u64 %rd6, %rd5; ld.u64 %rd7, [%rd6]; setp.eq.u64 %p1, %rd7, %in; "
                  "selp.u32 %r0, 1, 0, %p1;"),
            1u);
  // A parameter's address fits in 32 bits, and is no null pointer: Triton takes that of every tensor map so.
  EXPECT_EQ(first("mov.b32 %r1, test_in; cvt.u64.u32 %rd5, %r1; cvta.param.u64 %rd6, %rd5; ld.u64 %rd7, [%rd6]; "
                  "setp.eq.u64 %p1, %rd7, %in; setp.ne.and.u32 %p1, %r1, 0, %p1; selp.u32 %r0, 1, 0, %p1;"),
            1u);
  EXPECT_EQ(
      first(".shared .align 4 .b32 word; mov.u64 %rd5, word; cvta.shared.u64 %rd6, %rd5; isspacep.shared %p1, %rd6; "
            "isspacep.global %p2, %rd39; and.pred %p1, %p1, %p2; selp.u32 %r0, 1, 0, %p1;"),
      1u);
}

TEST(Memory, VariablesAreInitialised) {
  Gpu gpu;
  gpu.load(module_text(R"(
.const .align 4 .u32 primes[4] = {2, 3, 5, 7};
.global .align 8 .u64 pointer = generic(counter);
.global .align 4 .u32 counter = 40;
.visible .entry test(.param .u64 out)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  ld.const.u32 %r1, [primes+12];
  ld.global.u64 %rd2, [pointer];
  atom.add.u32 %r2, [%rd2], 2;
  ld.global.u32 %r3, [counter];
  st.global.v2.u32 [%rd1], {%r1, %r3};
  ret;
}
)"));
  const auto out = gpu.upload(std::vector<std::uint32_t>(2));
  gpu.run("test", {{1}, {1}, {}, 0}, parameters(out));
  EXPECT_EQ(gpu.download<std::uint32_t>(out, 2), (std::vector<std::uint32_t>{7, 42}));
  gpu.run("test", {{1}, {1}, {}, 0}, parameters(out));
  EXPECT_EQ(gpu.download<std::uint32_t>(out, 2)[1], 44u);  // a module's variables live as long as it does
}

TEST(Memory, DynamicSharedMemoryFollowsTheStatic) {
  Gpu gpu;
  gpu.load(module_text(R"(
.extern .shared .align 128 .b8 dynamic[];
.visible .entry test(.param .u64 out)
{
  .shared .align 4 .b8 fixed[20];
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, fixed;
  mov.u32 %r2, dynamic;
  st.shared.u32 [dynamic+252], %r2;
  mov.u32 %r3, %dynamic_smem_size;
  st.global.v2.u32 [%rd1], {%r1, %r2};
  st.global.u32 [%rd1+8], %r3;
  ret;
}
)"));
  const auto out = gpu.upload(std::vector<std::uint32_t>(4));
  gpu.run("test", {{1}, {1}, {}, 256}, parameters(out));
  EXPECT_EQ(gpu.download<std::uint32_t>(out, 3), (std::vector<std::uint32_t>{0x400, 0x480, 256}));
  const std::string text = gpu.failure("test", {{1}, {1}, {}, 128}, parameters(out));
  EXPECT_TRUE(contains(text, "shared write: 4 bytes at 0x57c lie outside the block's shared memory")) << text;
}

TEST(Memory, AtomicOperationsGiveTheOldValue) {
  EXPECT_EQ(
      first("atom.global.add.u32 %r1, [%rd39], 5; ld.global.u32 %r2, [%rd39]; mad.lo.u32 %r0, %r1, 100, %r2;", {7}),
      712u);
  EXPECT_EQ(first("atom.global.cas.b32 %r1, [%rd39], 7, 9; ld.global.u32 %r0, [%rd39];", {7}), 9u);
  EXPECT_EQ(first("atom.global.cas.b32 %r1, [%rd39], 8, 9; ld.global.u32 %r0, [%rd39];", {7}), 7u);
  EXPECT_EQ(first("atom.global.exch.b32 %r0, [%rd39], 9;", {7}), 7u);
  EXPECT_EQ(first("atom.global.inc.u32 %r1, [%rd39], 7; ld.global.u32 %r0, [%rd39];", {7}), 0u);
  EXPECT_EQ(first("atom.global.dec.u32 %r1, [%rd39], 7; ld.global.u32 %r0, [%rd39];", {0}), 7u);
  EXPECT_EQ(first("atom.global.min.s32 %r1, [%rd39], -1; ld.global.u32 %r0, [%rd39];", {7}), ~0u);
  EXPECT_EQ(first("atom.global.max.u32 %r1, [%rd39], -1; ld.global.u32 %r0, [%rd39];", {7}), ~0u);
  EXPECT_EQ(first("red.global.xor.b32 [%rd39], 5; ld.global.u32 %r0, [%rd39];", {7}), 2u);
  EXPECT_EQ(
      first("atom.relaxed.gpu.global.add.f32 %f1, [%rd39], 0f3F800000; ld.global.u32 %r0, [%rd39];", {0x40000000}),
      0x40400000u);
  EXPECT_EQ(first("red.global.add.noftz.f16x2 [%rd39], %r1; ld.global.u32 %r0, [%rd39];", {0x3c003c00}), 0x40004000u);
  EXPECT_EQ(first("and.b64 %rd5, %rd39, -16; mov.b32 %f1, 0f3F800000; red.global.v2.f32.add [%rd5], {%f1, %f1}; "
                  "ld.global.u32 %r0, [%rd5+4];",
                  {0x4000000000000000}),
            0x40800000u);  // two lanes share 16 bytes
  EXPECT_EQ(
      first(".reg .b128 %q<3>; and.b64 %rd5, %rd39, -16; ld.global.b128 %q0, [%rd5]; mov.b128 %q1, {%rd5, %rd5}; "
            "atom.global.b128.cas %q2, [%rd5], %q0, %q1; ld.global.u64 %rd6, [%rd5+8]; setp.eq.u64 %p1, %rd6, %rd5; "
            "selp.u32 %r0, 1, 0, %p1;",
            {3, 4}),
      1u);
  // All lanes and all spaces: a counter in shared memory.
  EXPECT_EQ(first(".shared .align 4 .b32 word; st.shared.u32 [word], 0; bar.sync 0; red.shared.add.u32 [word], 3; "
                  "bar.sync 0; ld.shared.u32 %r0, [word];"),
            96u);
}

std::string failure(std::string_view body, std::uint64_t in = 0) {
  Gpu gpu;
  gpu.load(kernel_text(body));
  const auto out = gpu.upload(std::vector<std::uint64_t>(32));
  return gpu.failure("test", {{1}, {32}, {}, 0}, parameters(out, in));
}

TEST(Memory, AWrongAddressIsNamedWithItsAllocationPlaceAndThread) {
  const std::string past = failure("ld.global.u32 %r1, [%mine+256];");
  EXPECT_TRUE(contains(past, "global read: 4 bytes at 0x")) << past;
  EXPECT_TRUE(contains(past, "are 0 bytes past the end of an allocation of 256 bytes")) << past;
  EXPECT_TRUE(contains(past, "--> test.ptx:20 `ld.global.u32`   block (0,0,0) warp 0 lane 0 (thread (0,0,0))")) << past;

  const std::string last = failure("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%out+248];");
  EXPECT_TRUE(contains(last, "is not a multiple of 16")) << last;

  const std::string partly = failure("setp.eq.u32 %p1, %lane, 31; @%p1 st.global.u64 [%mine+8], %mine;");
  EXPECT_TRUE(contains(partly, "global write")) << partly;
  EXPECT_TRUE(contains(partly, "lane 31 (thread (31,0,0))")) << partly;

  EXPECT_TRUE(contains(failure("ld.global.u32 %r1, [%in];"), "is the null pointer"));
  EXPECT_TRUE(contains(failure("ld.global.u32 %r1, [%out+2];"), "is not a multiple of 4"));
  EXPECT_TRUE(contains(failure("ld.u32 %r1, [%in];", 0x7123'4567'8900), "lie in no allocation"));
  EXPECT_TRUE(contains(failure("ld.shared.u32 %r1, [0];"), "outside the block's shared memory"));
  EXPECT_TRUE(contains(failure(".local .b32 x; mov.u64 %rd1, x; ld.local.u32 %r1, [%rd1+4096];"),
                       "lie outside the thread's local memory"));
  EXPECT_TRUE(contains(failure("mov.u64 %rd1, test_in; st.u32 [%rd1], 1;"), "a kernel's parameters cannot be written"));
}

TEST(Memory, FreedMemoryIsRecognised) {
  Gpu gpu;
  gpu.load(kernel_text("ld.global.u32 %r1, [%in+4];"));
  const auto out = gpu.upload(std::vector<std::uint64_t>(32)), gone = gpu.upload(std::vector<std::uint64_t>(100));
  gpu.machine().free(gone);
  const std::string text = gpu.failure("test", {{1}, {32}, {}, 0}, parameters(out, gone));
  EXPECT_TRUE(contains(text, "lie in an allocation of 800 bytes")) << text;
  EXPECT_TRUE(contains(text, "that has been freed")) << text;
}

TEST(Memory, TheHostIsHeldToBoundsToo) {
  Gpu gpu;
  const auto address = gpu.upload(std::vector<std::uint32_t>(4));
  std::vector<std::byte> bytes(32);
  EXPECT_THROW(gpu.machine().write(address, bytes), Error);
  EXPECT_THROW(gpu.machine().read(bytes, address + 1), Error);
  EXPECT_THROW(gpu.machine().fill(address - 1, std::byte{0}, 1), Error);
  EXPECT_THROW(gpu.machine().allocate(std::size_t{1} << 60), Error);
  EXPECT_EQ(gpu.machine().allocate(0), 0u);
  gpu.machine().free(12345);  // nobody's: nothing happens
}

TEST(Memory, PrintedTextAndAssertions) {
  Gpu gpu;
  gpu.load(module_text(R"(
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 values);
.global .align 1 .b8 format[18] = {37, 100, 32, 37, 53, 46, 49, 102, 124, 37, 115, 124, 37, 120, 37, 37, 10, 0};  // "%d %5.1f|%s|%x%%\n"
.global .align 1 .b8 word[4] = {97, 98, 99, 0};
.visible .entry test()
{
  .local .align 8 .b8 values[32];
  .reg .b32 %r<3>;
  .reg .b64 %rd<8>;
  mov.u64 %rd1, values;
  cvta.local.u64 %rd2, %rd1;
  mov.u64 %rd3, word;
  mov.u64 %rd4, format;
  st.local.u32 [%rd1], -7;
  st.local.f64 [%rd1+8], 0d3FF8000000000000;
  st.local.u64 [%rd1+16], %rd3;
  st.local.u32 [%rd1+24], 255;
  .param .b64 a;
  .param .b64 b;
  .param .b32 c;
  st.param.b64 [a], %rd4;
  st.param.b64 [b], %rd2;
  call.uni (c), vprintf, (a, b);
  ret;
}
)"));
  EXPECT_EQ(gpu.run("test", {{1}, {2}, {}, 0}, {}).printed, "-7   1.5|abc|ff%\n-7   1.5|abc|ff%\n");
}

}  // namespace
}  // namespace wm::vgpu::testing
