// What tcgen05 refuses: descriptors with wrong bits when the instruction runs, forms that are not imitated when the
// module is loaded, each in words.
#include "vgpu/tcgen05/kernels.hpp"

namespace wm::vgpu::testing {
namespace {

using std::uint32_t;
using std::uint64_t;

constexpr uint32_t bf16_128x64 = 1u << 4 | 1u << 7 | 1u << 10 | 8u << 17 | 8u << 24;
constexpr uint64_t k_major_128 = uint64_t{64} << 32 | uint64_t{1} << 46 | uint64_t{2} << 61;

// What the run of one product ends with.
std::string failure(const std::string& instruction, uint32_t descriptor, uint64_t a, uint64_t b, uint32_t d = 0,
                    uint32_t blocks = 1, const std::string& before = "") {
  std::string body = "  " + before + "  shr.u32 %r24, %image, 4;\n  cvt.u64.u32 %rd2, %r24;\n";
  body += fmt::format("  add.u64 %rd3, %rd2, {};\n  add.u64 %rd4, %rd2, {};\n  add.u32 %r22, %base, {};\n", a, b, d);
  body += fmt::format("  setp.ne.u32 %p5, 0, 0;\n  mov.u32 %r25, {};\n  @!%first bra issued;\n  {}\nissued:\n",
                      descriptor, instruction);
  body +=
      fmt::format("  @%first tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n", blocks);
  body += wait_for_commit;
  Gpu gpu("sm_100a", 2);
  gpu.load(tensor_kernel(body, static_cast<int>(blocks), 65536));
  const auto in = gpu.upload(std::vector<uint32_t>(32768)), out = gpu.upload(std::vector<uint32_t>(2 * 128 * 512));
  return gpu.failure("test", {{blocks}, {128}, {blocks}, 65536}, parameters(out, in));
}

const std::string f16 = "tcgen05.mma.cta_group::1.kind::f16 [%r22], %rd3, %rd4, %r25, %p5;";
std::string of_kind(const std::string& kind) { return replaced(f16, "kind::f16", "kind::" + kind); }

TEST(TensorRefusal, TheRightDescriptorPasses) { EXPECT_EQ(failure(f16, bf16_128x64, k_major_128, k_major_128), ""); }

TEST(TensorRefusal, WrongInstructionDescriptorsAreNamed) {
  const uint32_t sizes = 8u << 17 | 8u << 24, types = 1u << 4 | 1u << 7 | 1u << 10;
  const uint32_t tf32 = 1u << 4 | 2u << 7 | 2u << 10, i8 = 2u << 4 | 1u << 7 | 1u << 10, f8 = 1u << 4;
  struct Wrong {
    std::string instruction;
    uint32_t descriptor;
    const char* words;
  };
  const Wrong wrong[] = {
      {f16, bf16_128x64 | 4, "bit 2 is set: sparse products are not imitated"},
      {f16, bf16_128x64 | 1, "bits 0-1 select sparse metadata"},
      {f16, bf16_128x64 | 1u << 6, "bits 6, 23 and 29 are not zero"},
      {f16, bf16_128x64 | 1u << 23, "bits 6, 23 and 29 are not zero"},
      {f16, bf16_128x64 | 1u << 29, "bits 6, 23 and 29 are not zero"},
      {f16, bf16_128x64 | 1u << 30, "bits 30-31 give a shift"},
      {f16, bf16_128x64 | 8, "bit 3 saturates, which only .kind::i8 does"},
      {f16, sizes | 1u << 4 | 2u << 7 | 1u << 10, "give A the type 2; .kind::f16 has 0 for f16 and 1 for bf16"},
      {f16, sizes | 1u << 4 | 1u << 7 | 3u << 10, "give B the type 3"},
      {f16, sizes | 1u << 4 | 0u << 7 | 1u << 10, "mix f16 and bf16"},
      {f16, sizes | 0u << 4 | 1u << 7 | 1u << 10, "products of bf16 are summed in f32 alone"},
      {f16, sizes | 2u << 4, "give D the type 2; .kind::f16 has 0 for f16 and 1 for f32"},
      {of_kind("tf32"), sizes | types, ".kind::tf32 has 2 for tf32"},
      {of_kind("tf32"), sizes | (tf32 & ~0x30u), "give D the type 0; .kind::tf32 has 1 for f32"},
      {of_kind("f8f6f4"), sizes | f8 | 2u << 7, ".kind::f8f6f4 has 0 for e4m3"},
      {of_kind("f8f6f4"), sizes | f8 | 3u << 7 | 1u << 15,
       "bit 15 makes A MN-major, and elements of fewer than 8 bits"},
      {of_kind("f8f6f4"), sizes | f8 | 5u << 10 | 1u << 16,
       "bit 16 makes B MN-major, and elements of fewer than 8 bits"},
      {of_kind("f8f6f4"), sizes | 2u << 4, "give D the type 2; .kind::f8f6f4"},
      {of_kind("i8"), sizes | types, "give D the type 1; .kind::i8 has 2 for s32"},
      {of_kind("i8"), sizes | (i8 | 7u << 7), ".kind::i8 has 0 for u8 and 1 for s8"},
      {of_kind("i8"), sizes | i8 | 1u << 13, "bits 13-14 negate, which .kind::i8 does not"},
      {of_kind("i8"), i8 | 5u << 17 | 8u << 24, "N = 40; of .kind::i8 N is 8, 16, 24, 32 or a multiple of 16"},
      {f16, types | 8u << 17 | 2u << 24, "M = 32; of .cta_group::1 M is 64 or 128"},
      {f16, types | 8u << 17 | 16u << 24, "M = 256; of .cta_group::1 M is 64 or 128"},
      {f16, types | 0u << 17 | 8u << 24, "N = 0; of .cta_group::1 N is a multiple of 8 from 8 to 256"},
      {f16, types | 33u << 17 | 8u << 24, "N = 264"},
      {of_kind("f8f6f4"), f8 | 1u << 16 | 3u << 17 | 8u << 24,
       "with an MN-major B of 8-bit elements N is a multiple of 16"},
      {replaced(f16, "%rd3", "[%r22]"), bf16_128x64 | 1u << 15, "in tensor memory A is K-major"},
  };
  for (const Wrong& one : wrong) {
    const std::string text = failure(one.instruction, one.descriptor, k_major_128, k_major_128);
    EXPECT_TRUE(contains(text, one.words)) << one.words << "\n" << text;
    EXPECT_TRUE(contains(text, "tcgen05.mma")) << text;  // at the instruction
  }
  const std::string pair = replaced(f16, "cta_group::1", "cta_group::2");
  EXPECT_TRUE(contains(failure(pair, bf16_128x64 - (4u << 24), k_major_128, k_major_128, 0, 2), "M is 128 or 256"));
  EXPECT_TRUE(
      contains(failure(pair, types | 3u << 17 | 8u << 24, k_major_128, k_major_128, 0, 2), "multiple of 16 from 16"));
  EXPECT_TRUE(contains(failure(replaced(pair, "f16", "i8"), i8 | 6u << 17 | 8u << 24, k_major_128, k_major_128, 0, 2),
                       "multiple of 32"));
}

TEST(TensorRefusal, WrongDescriptorsOfScaledProductsAreNamed) {
  const auto of = [](const std::string& kind, int group, const char* b_scales = "%r22") {
    return replaced(
        fmt::format("tcgen05.mma.cta_group::1.kind::{}.block_scale.block{} [%r22], %rd3, %rd4, %r25, [%r22], "
                    "[SCALES], %p5;",
                    kind, group),
        "SCALES", b_scales);
  };
  const uint32_t sizes = 8u << 17 | 8u << 24 | 1u << 23, pairs = sizes | 1u << 7 | 1u << 10;
  const std::string mxf8 = of("mxf8f6f4", 32), mxf4 = of("mxf4", 32), nvf4 = of("mxf4nvf4", 16);
  struct Wrong {
    std::string instruction;
    uint32_t descriptor;
    const char* words;
  };
  const Wrong wrong[] = {
      {mxf8, sizes | 4, "bit 2 is set: sparse"},
      {mxf8, sizes | 2, "bits 0-1 select sparse"},
      {mxf8, sizes | 8, "bits 3 and 6 are not zero"},
      {mxf8, sizes | 1u << 6, "bits 3 and 6 are not zero"},
      {mxf4, pairs | 1u << 31, "bit 31 asks for 96 elements along k, which is of sm_103a"},
      {mxf8, sizes | 2u << 7, ".kind::mxf8f6f4 has 0 for e4m3, 1 for e5m2"},
      {mxf8, sizes | 6u << 10, ".kind::mxf8f6f4 has 0 for e4m3"},
      {mxf4, sizes | 5u << 7 | 1u << 10, ".kind::mxf4 has 1 for e2m1"},
      {nvf4, sizes | 1u << 7, ".kind::mxf4nvf4 has 1 for e2m1"},
      {mxf4, pairs | 1u << 15, "bit 15 makes A MN-major"},
      {nvf4, pairs | 1u << 16, "bit 16 makes B MN-major"},
      {mxf8, sizes & ~(1u << 23), "bit 23 makes the scales ue4m3; 1 for a row are ue8m0"},
      {mxf4, pairs & ~(1u << 23), "bit 23 makes the scales ue4m3; 2 for a row are ue8m0"},
      {of("mxf4nvf4", 32), pairs & ~(1u << 23), "2 for a row are ue8m0"},
      {mxf4, pairs | 1u << 29, "bits 29-30 let A's scales begin at byte 1 of a cell; 2 for a row begin at 0 or 2"},
      {mxf4, pairs | 3u << 4, "bits 4-5 let B's scales begin at byte 3 of a cell; 2 for a row begin at 0 or 2"},
      {nvf4, pairs | 2u << 29, "4 for a row begin at 0"},
      {mxf8, sizes - (4u << 24), "M = 64; with scales M is 128 in .cta_group::1"},
      {mxf8, sizes + (8u << 24), "M = 256; with scales M is 128 in .cta_group::1"},
      {mxf8, sizes + (25u << 17), "N = 264"},
      {mxf8, (sizes & ~(63u << 17)) | 3u << 17 | 1u << 16,
       "with an MN-major B of 8-bit elements N is a multiple of 16"},
      {of("mxf8f6f4", 32, "%r22+0x40000000"), sizes | 2u << 4,
       "bits 30-31 of the address of B's scales name byte 1 of a cell, and the instruction descriptor byte 2"},
      {of("mxf8f6f4", 32, "%r22+0x00200000"), sizes,
       "B's scales begin at lane 32 of tensor memory: they begin at lane 0"},
      {of("mxf8f6f4", 32, "%r22+511"), sizes, "columns 511 to 512 of tensor memory are used; it has 512"},
  };
  for (const Wrong& one : wrong) {
    const std::string text = failure(one.instruction, one.descriptor, k_major_128, k_major_128);
    EXPECT_TRUE(contains(text, one.words)) << one.words << "\n" << text;
    EXPECT_TRUE(contains(text, "tcgen05.mma")) << text;  // at the instruction
  }
  // The byte may stand in the address as well; ue4m3 has no sign, as cells that nobody wrote would have.
  EXPECT_EQ(failure(of("mxf8f6f4", 32, "%r22+0x40000000"), sizes | 1u << 4, k_major_128, k_major_128), "");
  EXPECT_TRUE(contains(failure(nvf4, pairs & ~(1u << 23), k_major_128, k_major_128),
                       "scale 0 of row 0 of A is 0xff: ue4m3 has no sign, and bit 7 is zero"));
}

// Lanes 32 to 63 get other scales than the rest.
TEST(TensorRefusal, DifferentCopiesOfScalesAreNamed) {
  const uint32_t mxf8 = 8u << 17 | 8u << 24 | 1u << 23;
  const std::string store =
      "mov.u32 %r26, 127;\n  setp.eq.u32 %p6, %warp, 1;\n  @%p6 mov.u32 %r26, 128;\n"
      "  tcgen05.st.sync.aligned.32x32b.x1.b32 [%base], %r26;\n  tcgen05.wait::st.sync.aligned;\n  bar.sync 0;\n";
  const std::string text =
      failure("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r22+64], %rd3, %rd4, %r25, [%r22], [%r22+8], %p5;",
              mxf8, k_major_128, k_major_128, 0, 1, store);
  EXPECT_TRUE(contains(text, "scale 0 of row 0 of A is 0x7f in lane 0 of tensor memory, column 0, and 0x80 in lane 32"))
      << text;
}

// As ldmatrix leaves e2m1: in the low bits of its byte, where the tensor cores do not look for it.
TEST(TensorRefusal, ElementsOfABesideTheirPlaceAreNamed) {
  const auto with_cells = [](uint32_t type, uint32_t cell) {
    return failure(
        replaced(of_kind("f8f6f4"), "%rd3", "[%base]"), 1u << 4 | type << 7 | 8u << 17 | 8u << 24, k_major_128,
        k_major_128, 64, 1,
        fmt::format("mov.u32 %r26, {};\n  tcgen05.st.sync.aligned.32x32b.x8.b32 [%base], {{%r26, %r26, %r26, "
                    "%r26, %r26, %r26, %r26, %r26}};\n  tcgen05.wait::st.sync.aligned;\n  bar.sync 0;\n",
                    cell));
  };
  const std::string low = with_cells(5, 0x02020202);
  EXPECT_TRUE(contains(low,
                       "row 0 of A is 0x02020202 in lane 0 of tensor memory, column 0: its elements lie in bits "
                       "2-5 of each byte, and the others are zeros"))
      << low;
  EXPECT_TRUE(contains(with_cells(3, 0x40000000), "bits 0-5 of each byte"));
  EXPECT_EQ(with_cells(5, 0x3c3c3c3c), "");
}

TEST(TensorRefusal, WrongMatrixDescriptorsAreNamed) {
  const auto swizzled = [](uint64_t code) { return (k_major_128 & ~(uint64_t{7} << 61)) | code << 61; };
  const std::pair<uint64_t, const char*> wrong[] = {
      {k_major_128 ^ uint64_t{3} << 46, "bits 46-48 are 2"},
      {k_major_128 | uint64_t{1} << 14, "bits 14-15, 30-31 and 53-60 are not zero"},
      {k_major_128 | uint64_t{1} << 31, "bits 14-15, 30-31 and 53-60 are not zero"},
      {k_major_128 | uint64_t{1} << 60, "bits 14-15, 30-31 and 53-60 are not zero"},
      {k_major_128 | uint64_t{2} << 49, "a base offset of 2: only 0 is confirmed"},
      {k_major_128 | uint64_t{1} << 52, "which is of sm_103a"},
      {swizzled(3), "bits 61-63 are 3; swizzles are"},
      {swizzled(5), "bits 61-63 are 5"},
      {swizzled(7), "bits 61-63 are 7"},
      {swizzled(1), "which only MN-major tf32 is read in"},
  };
  for (const auto& [bits, words] : wrong) {
    const std::string a = failure(f16, bf16_128x64, bits, k_major_128),
                      b = failure(f16, bf16_128x64, k_major_128, bits);
    EXPECT_TRUE(contains(a, words) && contains(a, "A's descriptor")) << a;
    EXPECT_TRUE(contains(b, words) && contains(b, "B's descriptor")) << b;
  }
  const uint64_t of_wgmma = k_major_128 & ~(uint64_t{7} << 46);  // chips take it
  EXPECT_EQ(failure(f16, bf16_128x64, of_wgmma, k_major_128), "");
  const uint32_t turned = 1u << 4 | 2u << 7 | 2u << 10 | 8u << 17 | 8u << 24 | 1u << 15;
  EXPECT_TRUE(contains(failure(of_kind("tf32"), turned, k_major_128, k_major_128), "MN-major tf32 is read only with"));
}

TEST(TensorRefusal, PlacesThatDoNotExistAreNamed) {
  EXPECT_TRUE(contains(failure(f16, bf16_128x64, k_major_128, k_major_128, 1u << 16), "begins at lane 0"));
  EXPECT_TRUE(
      contains(failure(f16, bf16_128x64 - (4u << 24), k_major_128, k_major_128, 8u << 16), "begins at lane 0 or 16"));
  EXPECT_TRUE(contains(failure(f16, bf16_128x64, k_major_128, k_major_128, 480), "it has 512"));
  EXPECT_TRUE(
      contains(failure(f16, bf16_128x64, k_major_128 + 0x3000, k_major_128), "operand A reaches shared address"));
  EXPECT_TRUE(
      contains(failure(f16, bf16_128x64, k_major_128, k_major_128 + 0x3000), "operand B reaches shared address"));
}

// CUTLASS gives the mask always: of zeros it means nothing.
TEST(TensorRefusal, AMaskOfAPairsLanesIsEmpty) {
  const auto masked = [](const char* last) {
    return fmt::format(
        "setp.eq.u32 %p4, %rank, 0;\n @%p4 tcgen05.mma.cta_group::2.kind::f16 [%r22], %rd3, %rd4, %r25, "
        "{{0, 0, 0, 0, 0, 0, 0, {}}}, %p5;",
        last);
  };
  const uint32_t bf16_256x64 = bf16_128x64 + (8u << 24);
  EXPECT_EQ(failure(masked("0"), bf16_256x64, k_major_128, k_major_128, 0, 2), "");
  EXPECT_TRUE(contains(failure(masked("1"), bf16_256x64, k_major_128, k_major_128, 0, 2), "is not confirmed"));
}

TEST(TensorRefusal, FormsThatAreNotImitatedAreNamed) {
  Gpu gpu("sm_100a");
  const std::pair<const char*, const char*> forms[] = {
      {"tcgen05.mma.cta_group::1.kind::mxf8f6f4 [%r1], %rd1, %rd2, %r2, [%r3], [%r4], %p1;", "have .block_scale"},
      {"tcgen05.mma.cta_group::1.kind::f16.block_scale [%r1], %rd1, %rd2, %r2, [%r3], [%r4], %p1;",
       "have .block_scale, and no others"},
      {"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::2X [%r1], %rd1, %rd2, %r2, [%r3], [%r4], %p1;",
       "has .scale_vec::1X (.block32)"},
      {"tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block16 [%r1], %rd1, %rd2, %r2, [%r3], [%r4], %p1;",
       "`.kind::mxf4` .scale_vec::2X (.block32)"},
      {"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [%r1], %rd1, %rd2, %r2, [%r3], [%r4], %p1;",
       "`.kind::mxf4nvf4` has to say"},
      {"tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale [%r1], %rd1, %rd2, [%r5], %r2, [%r3], [%r4], %p1;",
       "sparse products are not imitated"},
      {"tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r3], %r2, %p1;", "sparse products are not imitated"},
      {"tcgen05.mma.ws.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;",
       "the layout of .ws products is not confirmed"},
      {"tcgen05.mma.cta_group::1.kind::f16.ashift [%r1], [%r3], %rd2, %r2, %p1;",
       ".ashift moves rows is not confirmed"},
      {"tcgen05.mma.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;", "it needs .cta_group::1 or .cta_group::2"},
      {"tcgen05.mma.cta_group::1 [%r1], %rd1, %rd2, %r2, %p1;", "it needs .kind::f16"},
      {"tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd2, %r2, %p1, 1;", "only .kind::f16 and .kind::tf32 scale D"},
      {"tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1, 16;", "the scale of D is 0 to 15"},
      {"tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, {%r1, %r2}, %p1;", "the lanes not to write are 4"},
      {"tcgen05.mma.cta_group::2.kind::f16 [%r1], %rd1, %rd2, %r2, {%r1, %r2, %r3, %r4}, %p1;",
       "the lanes not to write are 8"},
      {"tcgen05.shift.cta_group::1.down [%r1];", "in which direction rows move is not confirmed"},
      {"tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%r1, %r2}, %r3, [%r4];", "of sm_103a"},
      {"tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r1}, [%r4];", "it is .x1 to .x32"},
      {"tcgen05.ld.sync.aligned.8x8b.x1.b32 {%r1}, [%r4];", "its shapes are"},
      {"tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r4], 600, {%r1};", "a number of columns"},
      {"tcgen05.commit.cta_group::1.b64 [%r1];", "it needs .mbarrier::arrive::one"},
      {"tcgen05.nonsense;", "tcgen05 has no such operation"},
  };
  for (const auto& [text, words] : forms) {
    const std::string refusal = gpu.refusal(kernel_text(text, "sm_100a"));
    EXPECT_TRUE(contains(refusal, words)) << text << "\n" << refusal;
  }
  EXPECT_TRUE(
      contains(gpu.refusal(kernel_text("tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd2, %r2, %p1;", "sm_100f")),
               "`.kind::i8` is of sm_100a"));
}

}  // namespace
}  // namespace wm::vgpu::testing
