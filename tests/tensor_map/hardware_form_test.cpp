// Tensor maps in the hardware's own form: what compilers write that do without the driver.
#include "tensor_map/hardware_form.hpp"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensor_map/random_maps.hpp"
#include "tensor_map/rules.hpp"
#include "tensor_map/virtual_form.hpp"
#include "vgpu/copy/walk.hpp"
#include "warpmill/error.hpp"

using namespace wm;
using namespace wm::test;
using namespace wm::tensor_map;

namespace {

using Words = std::array<std::uint64_t, 8>;

TensorMap map_of(const Words& words) {
  TensorMap map{};
  std::memcpy(map.bytes, words.data(), sizeof(words));
  return map;
}
Fields decode(const Words& words) { return decode_virtual(bytes_of(map_of(words))); }

std::string refusal_of(const Words& words) {
  try {
    decode(words);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The layout a second time, as a compiler writes it.
Words words_of(const TensorMapSpec& spec) {
  constexpr std::array<std::uint64_t, 16> types = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8, 11, 12, 13};
  const Fields map = to_fields(spec);
  const bool pixels = map.mode == MapMode::im2col;
  const auto swizzle = static_cast<std::uint64_t>(map.swizzle);
  Words words{map.address, pixels ? 3u : 2u};
  words[1] |= (std::uint64_t{map.rank} - 1) << 4 | types[static_cast<std::size_t>(map.element)] << 7;
  words[1] |= static_cast<std::uint64_t>(map.interleave) << 11 | std::min<std::uint64_t>(swizzle, 3) << 13;
  words[1] |= static_cast<std::uint64_t>(map.fill) << 15;
  if (map.element == MapElement::tf32 || map.element == MapElement::tf32_ftz) words[1] |= 1 << 16;
  words[1] |= static_cast<std::uint64_t>(map.l2_promotion) << 17 | (swizzle > 3 ? swizzle - 3 : 0) << 19;
  for (std::size_t i = 0; i + 1 < map.rank; ++i) {
    const std::uint64_t stride = map.strides[i] / 16;
    words[1 + (i + 1) / 2] |= (stride & 0xffffffff) << (i % 2 == 0 ? 32 : 0);
    words[3] |= stride >> 32 << (32 + 4 * i);
  }
  for (std::size_t i = 0; i < map.rank; ++i) {
    words[4 + i / 2] |= (map.dims[i] - 1) << (32 * (i % 2));
    words[6] |= (std::uint64_t{map.element_strides[i]} - 1) << (32 + 3 * i);
    if (i > 0 && !pixels) words[7] |= (std::uint64_t{map.box[i]} - 1) << (8 * (i - 1));
  }
  words[6] |= (std::uint64_t{pixels ? map.channels : map.box[0]} - 1) << 56;
  if (!pixels) return words;
  words[7] = (std::uint64_t{map.pixels} - 1) << 32;
  const std::uint32_t offsets = map.rank - 2, bits = 16 / offsets;
  for (std::uint32_t i = 0; i < offsets; ++i) {
    const auto cut = [&](std::int32_t offset) { return static_cast<std::uint64_t>(offset) & ((1u << bits) - 1); };
    words[7] |= cut(map.lower[i]) << (bits * i) | cut(map.upper[i]) << (16 + bits * i);
  }
  return words;
}

TensorMapSpec matrix() {
  return {.element = MapElement::bf16,
          .address = 0x10000,
          .dims = {100, 3008},
          .strides = {6016},
          .element_strides = {1, 1},
          .box = {64, 64}};
}

// What CuTe DSL 4.8.1 compiled for tensors at this address.
TEST(HardwareForm, ReadsWhatCuteDslWrites) {
  constexpr std::uint64_t address = 0x7f0000400000;
  // A grouped product of cuDNN's frontend, which makes the map in a kernel.
  const Words grouped{address, 0x4000246522, 0, 0, 0xff000001ff, 0, 0x3f00000000000000, 127};
  EXPECT_EQ(to_spec(decode(grouped)), (TensorMapSpec{.element = MapElement::bf16,
                                                     .address = address,
                                                     .dims = {1, 256, 512},
                                                     .strides = {0, 1024},
                                                     .element_strides = {1, 1, 1},
                                                     .swizzle = Swizzle::b128,
                                                     .l2_promotion = L2Promotion::b128,
                                                     .box = {1, 128, 64}}));
  // tf32, and every second row.
  const Words rows{address, 0x10000250392, 0, 0, 0x3ff000003ff, 0, 0xf00000800000000, 31};
  EXPECT_EQ(to_spec(decode(rows)), (TensorMapSpec{.element = MapElement::tf32,
                                                  .address = address,
                                                  .dims = {1024, 1024},
                                                  .strides = {4096},
                                                  .element_strides = {2, 1},
                                                  .l2_promotion = L2Promotion::b128,
                                                  .box = {32, 16}}));
  // A convolution's input.
  const Words pixels{address,     0x800240543, 0x2d000000048,      0x1ef0,
                     0x80000003f, 0xa00000009, 0x3f00068800000003, 0x1f6b7c77df};
  EXPECT_EQ(to_spec(decode(pixels)), (TensorMapSpec{.mode = MapMode::im2col,
                                                    .element = MapElement::bf16,
                                                    .address = address,
                                                    .dims = {4, 11, 10, 9, 64},
                                                    .strides = {126720, 11520, 1152, 128},
                                                    .element_strides = {1, 4, 3, 2, 1},
                                                    .l2_promotion = L2Promotion::b128,
                                                    .lower_corner = {-3, -2, -1},
                                                    .upper_corner = {-6, -5, -4},
                                                    .channels_per_pixel = 64,
                                                    .pixels_per_column = 32}));
}

TEST(HardwareForm, HoldsEveryTiledAndIm2colMap) {
  Random random(7);
  for (int round = 0; round < 4000; ++round) {
    TensorMapSpec spec = random_map(random, chance(random, 50) ? MapMode::tiled : MapMode::im2col, Size::any);
    spec.address = 32 * static_cast<std::uint64_t>(between(random, 0, 1 << 30));
    if (spec.element_strides.empty()) spec.element_strides.assign(spec.rank(), 1);
    ASSERT_EQ(to_spec(decode(words_of(spec))), spec) << spec.describe();
  }
}

TEST(HardwareForm, HoldsTheLargestValuesOfAllFields) {
  const std::int64_t most = std::int64_t{1} << 32, longest = (std::int64_t{1} << 40) - 16;
  const TensorMapSpec spec{.element = MapElement::u8,
                           .address = (std::uint64_t{1} << 57) - 16,
                           .dims = {most, most, most, most, most},
                           .strides = {longest, longest, longest, longest},
                           .element_strides = {8, 8, 8, 8, 8},
                           .l2_promotion = L2Promotion::b256,
                           .box = {256, 256, 8, 8, 256}};
  EXPECT_EQ(to_spec(decode(words_of(spec))), spec);
  // Each stride has its own four upper bits.
  for (std::size_t i = 0; i < spec.strides.size(); ++i) {
    TensorMapSpec one = spec;
    one.strides.assign(4, 4096);
    one.strides[i] = std::int64_t{5} << 36;
    EXPECT_EQ(to_spec(decode(words_of(one))), one) << i;
  }
}

TEST(HardwareForm, HoldsBlackwellsTypesAndSwizzles) {
  for (const MapElement element : {MapElement::u4x16_align8, MapElement::u4x16_align16, MapElement::u6x16_align16}) {
    TensorMapSpec spec = matrix();
    spec.element = element;
    spec.dims[1] = spec.box[1] = 128;
    spec.strides = {6016};
    EXPECT_EQ(to_spec(decode(words_of(spec))), spec);
  }
  for (int i = 0; i <= static_cast<int>(Swizzle::b128_atom64); ++i) {
    TensorMapSpec spec = matrix();
    spec.swizzle = static_cast<Swizzle>(i);
    spec.box[1] = 16;
    EXPECT_EQ(to_spec(decode(words_of(spec))), spec);
  }
}

TEST(HardwareForm, OnlyTheFirstHalfCounts) {
  TensorMap map = map_of(words_of(matrix()));
  std::ranges::fill(bytes_of(map).last<64>(), std::byte{0xff});
  EXPECT_EQ(to_spec(decode_virtual(bytes_of(map))), matrix());
  std::ranges::fill(bytes_of(map).last<64>(), std::byte{});
  EXPECT_EQ(to_spec(decode_virtual(bytes_of(map))), matrix());
}

TEST(HardwareForm, AWrongFieldIsNamed) {
  struct Wrong {
    std::size_t word;
    std::uint64_t clear, set;
    std::string_view says;
  };
  for (const Wrong& wrong : {Wrong{0, 0, 8, "address = 0x10008 is not a multiple of 16"},
                             {0, 0, std::uint64_t{1} << 57, "more than 57 bits"},
                             {1, 0, 5 << 4, "has 6 dimensions"},
                             {1, 0, 1, "has 2 dimensions"},  // im2col
                             {1, 15 << 7, 14 << 7, "element type 14, which does not exist"},
                             {1, 0, 1 << 16, "rounds elements of bf16 to tf32"},
                             {1, 0, 3 << 11, "interleave 3, which does not exist"},
                             {1, 0, 1 << 11, "interleave 16B with 2 dimensions"},
                             {1, 0, 1 << 13, "more than swizzle 32B spans"},
                             {1, 0, 2 << 13 | 1 << 19, "swizzle mode 2 with atomicity 1, which does not exist"},
                             {1, 15 << 7, 1 << 15, "fill nan with element type u8"},
                             {6, 0, std::uint64_t{64} << 56, "more than swizzle"},
                             {6, std::uint64_t{255} << 56, std::uint64_t{4} << 56, "not a multiple of 16"}}) {
    Words words = words_of(matrix());
    if (wrong.says == "more than swizzle") words[1] |= 3 << 13;
    words[wrong.word] = (words[wrong.word] & ~wrong.clear) | wrong.set;
    EXPECT_THAT(refusal_of(words), testing::HasSubstr(wrong.says));
  }
}

TEST(HardwareForm, WhatHasOtherBitsIsNoMap) {
  EXPECT_THAT(refusal_of({}), testing::HasSubstr("these 128 bytes are no tensor map"));
  struct Bit {
    std::size_t word;
    int bit;
  };
  for (const Bit& other : {Bit{1, 2}, {1, 3}, {1, 22}, {1, 31}, {3, 48}, {3, 63}, {6, 47}, {6, 55}, {7, 32}, {7, 63}}) {
    Words words = words_of(matrix());
    words[other.word] |= std::uint64_t{1} << other.bit;
    EXPECT_THAT(refusal_of(words), testing::HasSubstr("these 128 bytes are no tensor map"))
        << other.word << ", bit " << other.bit;
  }
  Words unmarked = words_of(matrix());
  unmarked[1] &= ~std::uint64_t{2};
  EXPECT_THAT(refusal_of(unmarked), testing::HasSubstr("these 128 bytes are no tensor map"));
}

// Our own form has numbers of all kinds where the other one has its marks.
TEST(HardwareForm, NoMapOfOursIsTakenForOne) {
  Random random(11);
  for (int round = 0; round < 4000; ++round) {
    const TensorMap map = encode_virtual(random_map(random, MapMode::tiled, Size::small));
    ASSERT_FALSE(is_hardware_form(bytes_of(map).first<hardware_bytes>()));
  }
}

TEST(HardwareForm, TensormapReplaceChangesOneFieldAndKeepsTheOthers) {
  TensorMap map = map_of(words_of(matrix()));
  std::ranges::fill(bytes_of(map).last<64>(), std::byte{0xff});
  TensorMapSpec expected = matrix();
  tensor_map::replace(bytes_of(map), Replaceable::global_address, 0, 0x20000);
  expected.address = 0x20000;
  EXPECT_EQ(to_spec(decode_virtual(bytes_of(map))), expected);
  tensor_map::replace(bytes_of(map), Replaceable::global_dim, 1, 50);
  tensor_map::replace(bytes_of(map), Replaceable::global_stride, 0, 8192);
  expected.dims[0] = 50;
  expected.strides[0] = 8192;
  EXPECT_EQ(to_spec(decode_virtual(bytes_of(map))), expected);
  // A size that the hardware's form has no bits for: found when the map is used, as everywhere.
  tensor_map::replace(bytes_of(map), Replaceable::global_dim, 0, 0);
  EXPECT_THROW(decode_virtual(bytes_of(map)), Error);
}

TEST(HardwareForm, WhatAChipDoesNotHaveIsRefusedThere) {
  constexpr Architecture hopper{9, 0, true};
  TensorMapSpec spec = matrix();
  const TensorMap plain = map_of(words_of(spec));
  EXPECT_EQ(to_spec(decode_virtual(bytes_of(plain), hopper)), spec);
  spec.swizzle = Swizzle::b128_atom32;
  spec.box[1] = 16;
  const TensorMap with_atoms = map_of(words_of(spec));
  EXPECT_EQ(to_spec(decode_virtual(bytes_of(with_atoms))), spec);
  EXPECT_THROW(decode_virtual(bytes_of(with_atoms), hopper), Error);
}

// Whatever the bits are, a map is refused with an error or is one that the copy engine can walk.
TEST(HardwareForm, DamageIsRefusedOrHarmless) {
  Random random(13);
  int refused = 0, harmless = 0;
  for (int round = 0; round < 30000; ++round) {
    TensorMapSpec spec = random_map(random, chance(random, 50) ? MapMode::tiled : MapMode::im2col, Size::small);
    spec.address = 0x10000;
    Words words = words_of(spec);
    for (std::int64_t i = between(random, 1, 3); i > 0; --i)
      words[static_cast<std::size_t>(between(random, 0, 7))] ^= std::uint64_t{1} << between(random, 0, 63);
    try {
      const Fields fields = decode(words);
      std::uint64_t bytes = 0;
      if (vgpu::copy::tile_bytes(fields) < (1 << 20))
        vgpu::copy::for_each_run(fields, {}, [&](const vgpu::copy::Run& run) { bytes += run.bytes; });
      ++harmless;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(harmless, 1000);
}

}  // namespace
