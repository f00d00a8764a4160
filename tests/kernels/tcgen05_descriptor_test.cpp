// The numbers that a tcgen05 product is told, against those that the data sheets of Blackwell give.
#include "warpmill/ptx/tcgen05_descriptor.h"

#include <string_view>

#include <gtest/gtest.h>

namespace wm::tcgen05 {

TEST(Tcgen05Descriptor, OfAProductHasTheBitsOfTheSheetsExamples) {
  EXPECT_EQ((Product{.m = 128, .n = 256}.bits()), 0x08400490u);
  EXPECT_EQ((Product{.m = 256, .n = 256}.bits()), 0x10400490u);
  EXPECT_EQ((Product{.b_major = Major::mn, .m = 128, .n = 128}.bits()), 0x08210490u);
}

TEST(Tcgen05Descriptor, OfAProductNumbersItsTypesWithinTheirKind) {
  using enum DType;
  const auto types = [](DType a, DType b) { return Product{.a = a, .b = b}.bits() >> 7 & 0x3f; };
  EXPECT_EQ(types(f16, f16), 0u);
  EXPECT_EQ(types(bf16, bf16), 1u | 1u << 3);
  EXPECT_EQ(types(tf32, tf32), 2u | 2u << 3);
  EXPECT_EQ(types(e5m2, e4m3), 1u);
  EXPECT_EQ(types(u8, i8), 1u << 3);
  EXPECT_EQ((Product{.a = i8, .b = i8, .sums = i32}.bits() >> 4 & 3), 2u);
  EXPECT_EQ((Product{.a = f16, .b = f16, .sums = f16}.bits() >> 4 & 3), 0u);
  EXPECT_EQ((Product{.a = i8, .b = i8, .sums = i32, .saturate = true}.bits() >> 3 & 1), 1u);
  EXPECT_EQ((Product{.a_major = Major::mn, .negate_a = true, .negate_b = true}.bits() >> 13 & 0xf), 7u);
}

TEST(Tcgen05Descriptor, OfAnOperandHasTheBitsOfTheSheetsExample) {
  EXPECT_EQ(k_major_layout().at(0), 0x4000404000000000ull);
  EXPECT_EQ(k_major_layout().at(0x12400), 0x4000404000000000ull | 0x12400 >> 4);
  // The block's rank in its cluster lies above the address.
  EXPECT_EQ(k_major_layout().at(0x03000000 | 0x400), k_major_layout().at(0x400));
}

TEST(Tcgen05Descriptor, OfAnOperandHasItsStridesAndSwizzle) {
  const unsigned long long bits = mn_major_layout(64).at(0x8000);
  EXPECT_EQ(bits & 0x3fff, 0x800u);
  EXPECT_EQ(bits >> 16 & 0x3fff, 64u * 128 / 16);  // a span of 64 rows of k
  EXPECT_EQ(bits >> 32 & 0x3fff, 1024u / 16);
  EXPECT_EQ(bits >> 46 & 7, 1u);
  EXPECT_EQ(bits >> 61, 2u);
  for (const auto& [swizzle, code] : {std::pair{Swizzle::none, 0u},
                                      {Swizzle::bytes128_atoms32, 1u},
                                      {Swizzle::bytes128, 2u},
                                      {Swizzle::bytes64, 4u},
                                      {Swizzle::bytes32, 6u}})
    EXPECT_EQ((OperandLayout{0, 256, swizzle}.at(0) >> 61), code);
}

// Element (mn, k) of a tile as the copy engine leaves it and as the descriptor's formula of the sheet finds it.
TEST(Tcgen05Descriptor, OfATileLeadsToEachOfItsElements) {
  for (const Major major : {Major::k, Major::mn}) {
    constexpr unsigned element = 2, width = 128, span = width / element, tile_k = 64;
    const OperandLayout layout = major == Major::k ? k_major_layout() : mn_major_layout(tile_k);
    for (unsigned mn = 0; mn < 128; ++mn)
      for (unsigned k = 0; k < tile_k; ++k) {
        const unsigned step = k / 16, k_of_step = k % 16, start = step * k_step_bytes(major, element);
        const unsigned found = major == Major::k ? start + mn / 8 * layout.stride + mn % 8 * width + k_of_step * element
                                                 : start + mn / span * layout.leading + k_of_step / 8 * layout.stride +
                                                       k_of_step % 8 * width + mn % span * element;
        const unsigned lies = major == Major::k ? mn * width + k * element
                                                : mn / span * (tile_k * width) + k * width + mn % span * element;
        ASSERT_EQ(found, lies) << mn << ", " << k;
      }
  }
}

TEST(Tcgen05Descriptor, OfAnImpossibleProductSaysWhy) {
  using enum DType;
  EXPECT_EQ((Product{}.problem(1)), nullptr);
  EXPECT_EQ((Product{.m = 256}.problem(2)), nullptr);
  EXPECT_EQ((Product{.a = i8, .b = i8, .sums = i32, .n = 48}.problem(1)), nullptr);
  EXPECT_EQ((Product{.a = e4m3, .b = e5m2, .m = 64, .n = 8}.problem(1)), nullptr);
  for (const Product& wrong : {
           Product{.b = f16},
           Product{.b = e4m3},
           Product{.sums = i32},
           Product{.sums = bf16},
           Product{.sums = f16},
           Product{.a = i8, .b = i8},
           Product{.m = 256},
           Product{.m = 96},
           Product{.n = 0},
           Product{.n = 12},
           Product{.n = 264},
           Product{.a = i8, .b = i8, .sums = i32, .n = 24},
           Product{.a = i8, .b = i8, .sums = i32, .n = 40},
           Product{.a = tf32, .b = tf32, .b_major = Major::mn},
           Product{.a = e4m3, .b = e4m3, .b_major = Major::mn, .n = 24},
           Product{.a = i8, .b = i8, .sums = i32, .negate_a = true},
           Product{.saturate = true},
       })
    EXPECT_NE(wrong.problem(1), nullptr) << std::hex << wrong.bits();
  EXPECT_NE((Product{.m = 64}.problem(2)), nullptr);
  EXPECT_NE((Product{.m = 256, .n = 24}.problem(2)), nullptr);
  EXPECT_NE((Product{.a = i8, .b = i8, .sums = i32, .m = 256, .n = 48}.problem(2)), nullptr);
}

// As CuTe's make_instr_desc_block_scaled gives them (tests/vgpu/tcgen05/cute.txt).
TEST(Tcgen05Descriptor, OfAScaledProductHasCuTesBits) {
  using enum Narrow;
  constexpr ScaledProduct fp8{.a = e4m3, .b = e5m2, .m = 128, .n = 48};
  EXPECT_EQ(fp8.bits(), 0x088c0400u);
  EXPECT_EQ((ScaledProduct{.a = e5m2, .b = e2m3, .m = 256}.bits()), 0x10c00c80u);
  EXPECT_EQ((ScaledProduct{.a = e2m1, .b = e2m1}.bits()), 0x08c01680u);
  EXPECT_EQ((ScaledProduct{.a_major = Major::mn, .b_major = Major::mn, .m = 256}.bits()), 0x10c18000u);
  EXPECT_EQ((ScaledProduct{.kind = ScaledKind::mxf4, .a = e2m1, .b = e2m1}.bits()), 0x08c00480u);
  EXPECT_EQ((ScaledProduct{.kind = ScaledKind::mxf4nvf4_by_16, .a = e2m1, .b = e2m1, .ue4m3 = true, .m = 256}.bits()),
            0x10400480u);
  EXPECT_EQ((ScaledProduct{.a_byte = 2, .b_byte = 1, .negate_a = true, .negate_b = true}.bits()),
            ScaledProduct{}.bits() | 2u << 29 | 1u << 4 | 3u << 13);
}

TEST(Tcgen05Descriptor, OfAScaledProductSaysWhatIsWrong) {
  using enum Narrow;
  const ScaledProduct four{.kind = ScaledKind::mxf4, .a = e2m1, .b = e2m1};
  EXPECT_EQ(ScaledProduct{}.problem(1), nullptr);
  EXPECT_EQ(four.problem(2), nullptr);
  EXPECT_EQ((ScaledProduct{.m = 256}.problem(2)), nullptr);
  const auto wrong = [](ScaledProduct product, int blocks, const char* words) {
    const char* const said = product.problem(blocks);
    EXPECT_TRUE(said != nullptr && std::string_view(said).find(words) != std::string_view::npos)
        << words << ": " << (said == nullptr ? "nothing" : said);
  };
  const auto changed = [&](auto change) {
    ScaledProduct product = four;
    change(product);
    return product;
  };
  wrong(changed([](auto& p) { p.b = e4m3; }), 1, "multiply e2m1");
  wrong({.a = e3m2, .a_major = Major::mn}, 1, "K-major");
  wrong({.b = e2m1, .b_major = Major::mn}, 1, "K-major");
  wrong(changed([](auto& p) { p.ue4m3 = true; }), 1, "has ue4m3");
  wrong({.m = 64}, 1, "M is 128");
  wrong({.m = 256}, 1, "M is 128");
  wrong({.n = 264}, 1, "multiple of 8");
  wrong({.n = 24}, 2, "of 16 for two blocks");
  wrong({.b_major = Major::mn, .n = 24}, 1, "MN-major B");
  wrong(changed([](auto& p) { p.a_byte = 1; }), 1, "one cell");
  wrong({.b_byte = 4}, 1, "one cell");
}

TEST(Tcgen05Descriptor, OfScalesLeadsToEachOfTheirBytes) {
  for (unsigned row = 0; row < 128; ++row)
    for (unsigned group = 0; group < 4; ++group) {
      // Row i % 32 of the copy, whose 16 bytes are four columns; rows lie eight by eight, `stride` apart.
      const unsigned copied = row % 32, column = row / 32;
      EXPECT_EQ(scale_offset(row, group), copied / 8 * scale_layout().stride + copied % 8 * 16 + column * 4 + group);
    }
  EXPECT_EQ(scale_layout().at(0x400), 0x0000400800000040ull);
  EXPECT_LT(scale_offset(127, 3), scale_bytes);
}

}  // namespace wm::tcgen05
