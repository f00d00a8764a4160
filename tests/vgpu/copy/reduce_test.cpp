// Reductions: values, rounding, and that parallel ones lose nothing.
#include "vgpu/copy/reduce.hpp"

#include <bit>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

using namespace wm;
using namespace wm::vgpu::copy;

namespace {

template <class T>
T reduced(Reduction reduction, MapElement element, T destination, T source) {
  reduce_elements(reduction, element, reinterpret_cast<std::byte*>(&destination),
                  reinterpret_cast<const std::byte*>(&source), sizeof(T));
  return destination;
}
std::uint16_t reduced_f16(Reduction reduction, float a, float b) {
  return reduced(reduction, MapElement::f16, f16(a).bits, f16(b).bits);
}

}  // namespace

TEST(Reduce, IntegersFollowTheirSign) {
  EXPECT_EQ(reduced<std::uint32_t>(Reduction::add, MapElement::u32, 0xffffffff, 2), 1u);
  EXPECT_EQ(reduced<std::uint32_t>(Reduction::min, MapElement::u32, 0xffffffff, 2), 2u);
  EXPECT_EQ(reduced<std::int32_t>(Reduction::min, MapElement::i32, -1, 2), -1);
  EXPECT_EQ(reduced<std::uint64_t>(Reduction::max, MapElement::u64, ~0ull, 2), ~0ull);
  EXPECT_EQ(reduced<std::int64_t>(Reduction::max, MapElement::i64, -1, 2), 2);
  EXPECT_EQ(reduced<std::uint32_t>(Reduction::bit_and, MapElement::u32, 0b1100, 0b1010), 0b1000u);
  EXPECT_EQ(reduced<std::uint32_t>(Reduction::bit_or, MapElement::u32, 0b1100, 0b1010), 0b1110u);
  EXPECT_EQ(reduced<std::uint64_t>(Reduction::bit_xor, MapElement::u64, 0b1100, 0b1010), 0b0110u);
}

TEST(Reduce, IncrementAndDecrementWrapAtTheOperand) {
  EXPECT_EQ(reduced<std::uint32_t>(Reduction::inc, MapElement::u32, 4, 5), 5u);
  EXPECT_EQ(reduced<std::uint32_t>(Reduction::inc, MapElement::u32, 5, 5), 0u);
  EXPECT_EQ(reduced<std::uint32_t>(Reduction::inc, MapElement::u32, 9, 5), 0u);
  EXPECT_EQ(reduced<std::uint32_t>(Reduction::dec, MapElement::u32, 3, 5), 2u);
  EXPECT_EQ(reduced<std::uint32_t>(Reduction::dec, MapElement::u32, 0, 5), 5u);
  EXPECT_EQ(reduced<std::uint32_t>(Reduction::dec, MapElement::u32, 9, 5), 5u);
}

TEST(Reduce, HalvesRoundOnceAndKeepSubnormals) {
  EXPECT_EQ(reduced_f16(Reduction::add, 1.f, 2.f), f16(3.f).bits);
  EXPECT_EQ(reduced_f16(Reduction::add, 2048.f, 1.f), f16(2048.f).bits);  // half way, to even
  EXPECT_EQ(reduced_f16(Reduction::add, 2050.f, 1.f), f16(2052.f).bits);
  EXPECT_EQ(reduced<std::uint16_t>(Reduction::add, MapElement::f16, 1, 2), 3);
  EXPECT_EQ(reduced<std::uint16_t>(Reduction::add, MapElement::bf16, 1, 2), 3);
  EXPECT_EQ(reduced_f16(Reduction::add, 60000.f, 60000.f), 0x7c00);
}

TEST(Reduce, MinimumPrefersNumbersAndNegativeZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(reduced_f16(Reduction::min, 1.f, nan), f16(1.f).bits);
  EXPECT_EQ(reduced_f16(Reduction::max, nan, -2.f), f16(-2.f).bits);
  EXPECT_EQ(reduced_f16(Reduction::min, 0.f, -0.f), 0x8000);
  EXPECT_EQ(reduced_f16(Reduction::min, -0.f, 0.f), 0x8000);
  EXPECT_EQ(reduced_f16(Reduction::max, -0.f, 0.f), 0x0000);
  EXPECT_EQ(reduced_f16(Reduction::max, 0.f, -0.f), 0x0000);
  EXPECT_EQ(reduced<std::uint16_t>(Reduction::min, MapElement::bf16, bf16(1.f).bits, bf16(-3.f).bits), bf16(-3.f).bits);
}

TEST(Reduce, FloatSumsFlushSubnormalsOnlyWhereTheTypeSaysSo) {
  const float tiny = std::bit_cast<float>(1u);
  EXPECT_EQ(reduced(Reduction::add, MapElement::f32, 1.5f, 2.25f), 3.75f);
  EXPECT_EQ(reduced(Reduction::add, MapElement::f32, tiny, tiny), 2 * tiny);
  EXPECT_EQ(reduced(Reduction::add, MapElement::f32_ftz, tiny, tiny), 0.f);
  EXPECT_EQ(reduced(Reduction::add, MapElement::f64, 1.5, 2.25), 3.75);
}

TEST(Reduce, DoubleSumsPassNansOnAsTheyAre) {
  constexpr std::uint64_t signalling = 0xfff0586000000001, one = std::bit_cast<std::uint64_t>(1.0);
  EXPECT_EQ(reduced(Reduction::add, MapElement::f64, signalling, one), signalling);
  EXPECT_EQ(reduced(Reduction::add, MapElement::f64, one, signalling), signalling);
}

TEST(Reduce, WhatTheChipDoesNotHaveIsRefusedByName) {
  for (int r = 0; r <= static_cast<int>(Reduction::bit_xor); ++r)
    for (int e = 0; e <= static_cast<int>(MapElement::u6x16_align16); ++e) {
      const auto reduction = static_cast<Reduction>(r);
      const auto element = static_cast<MapElement>(e);
      alignas(8) std::array<std::byte, 8> a{}, b{};
      const auto run = [&] { reduce_elements(reduction, element, a.data(), b.data(), 8); };
      if (has_reduction(reduction, element))
        EXPECT_NO_THROW(run());
      else
        EXPECT_THROW(run(), Error);
    }
  EXPECT_FALSE(has_reduction(Reduction::min, MapElement::f32));
  EXPECT_FALSE(has_reduction(Reduction::bit_and, MapElement::i64));
  EXPECT_TRUE(has_reduction(Reduction::bit_and, MapElement::u64));
  EXPECT_FALSE(has_reduction(Reduction::add, MapElement::u8));
  EXPECT_EQ(reduction_from_name("xor"), Reduction::bit_xor);
  EXPECT_THROW(reduction_from_name("mul"), Error);
}

TEST(Reduce, ParallelSumsLoseNothing) {
  constexpr int rounds = 20000;
  alignas(8) std::array<std::uint32_t, 4> sums{};
  const std::array<std::uint32_t, 4> ones{1, 1, 1, 1};
  const auto work = [&] {
    for (int i = 0; i < rounds; ++i)
      reduce_elements(Reduction::add, MapElement::u32, reinterpret_cast<std::byte*>(sums.data()),
                      reinterpret_cast<const std::byte*>(ones.data()), sizeof(sums));
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  for (std::uint32_t sum : sums) EXPECT_EQ(sum, 2u * rounds);
}
