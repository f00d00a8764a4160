// The chip's way to add, on sums whose cut-off bits are known by hand, and near the true sums in general.
#include "vgpu/isa/numeric/chip_sum.hpp"

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "vgpu/isa/numeric/halves.hpp"
#include "vgpu/isa/numeric/mma.hpp"

namespace wm::vgpu::numeric {
namespace {

// Panels of one 16 x 8 product in which every row and column is the same.
struct Product {
  std::vector<float> a, b;
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(4 * 32);

  Product(const std::vector<float>& left, const std::vector<float>& right, float sum) {
    for (float x : left) a.insert(a.end(), 64, x);
    for (float y : right) b.insert(b.end(), 8, y);
    for (auto& word : words) word = std::bit_cast<std::uint32_t>(sum);
  }
  float run(const ChipSum& how, Element element) {
    std::uint32_t* rows[4] = {words.data(), words.data() + 32, words.data() + 64, words.data() + 96};
    multiply_as_chip(how, element, element, {Sum::f32, false, true}, a.data(), b.data(),
                     static_cast<int>(a.size() / 64), 1, rows);
    for (std::uint32_t word : words) EXPECT_EQ(word, words[0]);
    return std::bit_cast<float>(words[0]);
  }
};

std::vector<float> sixteen(float first, float others) {
  std::vector<float> all(16, others);
  all[0] = first;
  return all;
}

TEST(ChipSum, BitsBelowTheLargestExponentAreCutOff) {
  // 1 + 15 * 2^-25: each small product is a unit of the 25 fraction bits and counts; f32 keeps three units of 2^-23.
  EXPECT_EQ(Product(sixteen(1, 0x1p-25f), sixteen(1, 1), 0).run(wgmma_sum(Element::bf16), Element::bf16),
            1 + 3 * 0x1p-23f);
  // One bit lower they are cut off, each of them.
  EXPECT_EQ(Product(sixteen(1, 0x1p-26f), sixteen(1, 1), 0).run(wgmma_sum(Element::bf16), Element::bf16), 1.0f);
  // Ampere keeps 24 bits and adds eight at a time: 1 + 7 * 2^-24, cut to three units, then 8 * 2^-24 more.
  EXPECT_EQ(Product(sixteen(1, 0x1p-25f), sixteen(1, 1), 0).run(ampere_mma_sum(Element::bf16), Element::bf16), 1.0f);
  EXPECT_EQ(Product(sixteen(1, 0x1p-24f), sixteen(1, 1), 0).run(ampere_mma_sum(Element::bf16), Element::bf16),
            1 + 7 * 0x1p-23f);
}

TEST(ChipSum, ResultsAreCutTowardZero) {
  EXPECT_EQ(Product(sixteen(0x1p-24f, 0), sixteen(1, 1), -1).run(wgmma_sum(Element::bf16), Element::bf16),
            -1 + 0x1p-24f);
  EXPECT_EQ(Product(sixteen(-0x1p-24f, 0), sixteen(1, 1), -1).run(wgmma_sum(Element::bf16), Element::bf16), -1.0f);
  EXPECT_EQ(Product(sixteen(0x1.8p-24f, 0), sixteen(1, 1), 1).run(wgmma_sum(Element::bf16), Element::bf16), 1.0f);
}

TEST(ChipSum, ByteFloatsKeepThirteenBits) {
  EXPECT_EQ(Product(sixteen(0x1p-6f, 0), sixteen(0x1p-7f, 1), 1).run(wgmma_sum(Element::e4m3), Element::e4m3),
            1 + 0x1p-13f);
  EXPECT_EQ(Product(sixteen(0x1p-7f, 0), sixteen(0x1p-7f, 1), 1).run(wgmma_sum(Element::e4m3), Element::e4m3), 1.0f);
}

TEST(ChipSum, SpecialValuesAndOverflow) {
  const ChipSum how = wgmma_sum(Element::bf16);
  EXPECT_EQ(Product(sixteen(HUGE_VALF, 1), sixteen(1, 1), 0).run(how, Element::bf16), HUGE_VALF);
  EXPECT_TRUE(std::isnan(Product(sixteen(HUGE_VALF, 1), sixteen(0, 1), 0).run(how, Element::bf16)));
  EXPECT_TRUE(std::isnan(Product(sixteen(HUGE_VALF, 1), sixteen(1, 1), -HUGE_VALF).run(how, Element::bf16)));
  EXPECT_EQ(Product(sixteen(0x1p127f, 0), sixteen(2, 1), 0).run(how, Element::bf16), HUGE_VALF);
  EXPECT_EQ(Product(sixteen(0, 0), sixteen(2, 1), 0).run(how, Element::bf16), 0.0f);
}

TEST(ChipSum, StaysNearTheFastSum) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  std::vector<std::uint32_t> a(4 * 32), b(2 * 32), c(4 * 32), fast(4 * 32), chip(4 * 32);
  for (auto* words : {&a, &b})
    for (auto& word : *words) word = std::uint32_t{f16_of_f32(normal(random))} << 16 | f16_of_f32(normal(random));
  for (auto& word : c) word = std::bit_cast<std::uint32_t>(normal(random));
  const auto rows = [](std::vector<std::uint32_t>& words) {
    std::vector<std::uint32_t*> all;
    for (std::size_t i = 0; i < words.size(); i += 32) all.push_back(words.data() + i);
    return all;
  };
  const auto constant = [&](std::vector<std::uint32_t>& words) {
    const auto all = rows(words);
    return std::vector<const std::uint32_t*>(all.begin(), all.end());
  };
  MmaShape shape;
  mma(shape, rows(fast), constant(a), constant(b), constant(c));
  for (ChipSum how : {hopper_mma_sum(Element::f16), ampere_mma_sum(Element::f16)}) {
    shape.as_chip = how;
    mma(shape, rows(chip), constant(a), constant(b), constant(c));
    for (std::size_t i = 0; i < fast.size(); ++i)
      ASSERT_NEAR(std::bit_cast<float>(chip[i]), std::bit_cast<float>(fast[i]), 2 * 0x1p-22 * 40);
  }
}

}  // namespace
}  // namespace wm::vgpu::numeric
