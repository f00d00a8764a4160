// The virtual device's tensor map: round trips, tensormap.replace, and damage.
#include "tensor_map/virtual_form.hpp"

#include <gtest/gtest.h>

#include "tensor_map/random_maps.hpp"
#include "tensor_map/rules.hpp"
#include "vgpu/copy/walk.hpp"
#include "warpmill/error.hpp"

using namespace wm;
using namespace wm::test;
using namespace wm::tensor_map;

namespace {

TensorMapSpec matrix() {
  return {.element = MapElement::bf16, .address = 0x10000, .dims = {100, 3008}, .strides = {6016}, .box = {64, 64}};
}

}  // namespace

TEST(VirtualForm, KeepsEveryField) {
  Random random(5);
  for (int round = 0; round < 4000; ++round) {
    TensorMapSpec spec = random_map(random, chance(random, 50) ? MapMode::tiled : MapMode::im2col, Size::any);
    spec.address = 32 * static_cast<std::uint64_t>(between(random, 0, 1 << 30));
    if (spec.element_strides.empty()) spec.element_strides.assign(spec.rank(), 1);
    ASSERT_FALSE(first_refusal(spec, {9, 0, true})) << spec.describe();
    ASSERT_EQ(to_spec(decode_virtual(bytes_of(encode_virtual(spec)))), spec) << spec.describe();
  }
}

TEST(VirtualForm, KeepsBlackwellsChoices) {
  TensorMapSpec spec = matrix();
  spec.element_strides = {1, 1};
  for (int i = 0; i <= static_cast<int>(Swizzle::b128_atom64); ++i) {
    spec.swizzle = static_cast<Swizzle>(i);
    spec.box[1] = 16;
    EXPECT_EQ(to_spec(decode_virtual(bytes_of(encode_virtual(spec)))), spec);
  }
}

TEST(VirtualForm, ForeignBytesAreNoMap) {
  TensorMap map;
  EXPECT_THROW(decode_virtual(bytes_of(map)), Error);
  std::ranges::fill(bytes_of(map), std::byte{0xff});
  EXPECT_THROW(decode_virtual(bytes_of(map)), Error);
}

// Whatever the bytes are, a map is refused with an error or is one that the copy engine can walk.
TEST(VirtualForm, DamageIsRefusedOrHarmless) {
  Random random(9);
  int refused = 0, harmless = 0;
  for (int round = 0; round < 30000; ++round) {
    TensorMapSpec spec = random_map(random, chance(random, 50) ? MapMode::tiled : MapMode::im2col, Size::small);
    spec.address = 0x10000;
    TensorMap map = encode_virtual(spec);
    for (std::int64_t i = between(random, 1, 3); i > 0; --i)
      map.bytes[between(random, 4, 127)] = static_cast<unsigned char>(random());
    try {
      const Fields fields = decode_virtual(bytes_of(map));
      std::uint64_t bytes = 0;
      if (bits_of(fields.element) >= 8 && vgpu::copy::tile_bytes(fields) < (1 << 20))
        vgpu::copy::for_each_run(fields, {}, [&](const vgpu::copy::Run& run) { bytes += run.bytes; });
      ++harmless;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(harmless, 1000);
}

TEST(TensormapReplace, ChangesEachFieldAsPtxNumbersIt) {
  TensorMap map = encode_virtual(matrix());
  const auto change = [&](std::string_view field, std::uint32_t ordinal, std::uint64_t value) {
    tensor_map::replace(bytes_of(map), replaceable_from_name(field), ordinal, value);
  };
  change("rank", 0, 2);  // three dimensions
  change("global_address", 0, 0x20000);
  change("global_dim", 0, 500);
  change("global_dim", 1, 20);
  change("global_dim", 2, 3);
  change("global_stride", 0, 2048);
  change("global_stride", 1, 65536);
  change("box_dim", 0, 32);
  change("box_dim", 1, 4);
  change("box_dim", 2, 1);
  change("element_stride", 0, 1);
  change("element_stride", 1, 2);
  change("element_stride", 2, 1);
  change("elemtype", 0, 8);  // .f32.ftz
  change("interleave_layout", 0, 0);
  change("swizzle_mode", 0, 3);
  change("swizzle_atomicity", 0, 1);
  change("fill_mode", 0, 1);
  const TensorMapSpec expected{.element = MapElement::f32_ftz,
                               .address = 0x20000,
                               .dims = {3, 20, 500},
                               .strides = {65536, 2048},
                               .element_strides = {1, 2, 1},
                               .swizzle = Swizzle::b128_atom32,
                               .fill = OutOfBounds::nan,
                               .box = {1, 4, 32}};
  EXPECT_EQ(to_spec(decode_virtual(bytes_of(map))), expected);
  const std::pair<std::uint64_t, MapElement> numbers[] = {
      {0, MapElement::u8},    {1, MapElement::u16},   {2, MapElement::u32},
      {3, MapElement::i32},   {6, MapElement::f16},   {7, MapElement::f32},
      {10, MapElement::bf16}, {11, MapElement::tf32}, {12, MapElement::tf32_ftz}};
  change("fill_mode", 0, 0);
  change("swizzle_mode", 0, 0);
  change("swizzle_atomicity", 0, 0);
  for (const auto& [number, element] : numbers) {
    change("elemtype", 0, number);
    EXPECT_EQ(decode_virtual(bytes_of(map)).element, element) << number;
  }
}

TEST(TensormapReplace, AWrongValueIsFoundWhenTheMapIsUsed) {
  struct Wrong {
    std::string_view field;
    std::uint32_t ordinal;
    std::uint64_t value;
  };
  for (const Wrong& wrong :
       {Wrong{"global_address", 0, 0x10004}, Wrong{"global_dim", 0, 0}, Wrong{"global_stride", 0, 24},
        Wrong{"global_stride", 0, ~0ull}, Wrong{"box_dim", 1, 65536 + 64}, Wrong{"box_dim", 0, 4},
        Wrong{"element_stride", 1, 256 + 1}, Wrong{"swizzle_mode", 0, 1}, Wrong{"rank", 0, 4},
        Wrong{"swizzle_atomicity", 0, 1}}) {
    TensorMap map = encode_virtual(matrix());
    tensor_map::replace(bytes_of(map), replaceable_from_name(wrong.field), wrong.ordinal, wrong.value);
    EXPECT_THROW(decode_virtual(bytes_of(map)), Error) << wrong.field;
  }
}

TEST(TensormapReplace, WhatCannotBeIsRefusedAtOnce) {
  TensorMap map = encode_virtual(matrix());
  EXPECT_THROW(tensor_map::replace(bytes_of(map), Replaceable::rank, 0, 5), Error);
  EXPECT_THROW(tensor_map::replace(bytes_of(map), Replaceable::elemtype, 0, 16), Error);
  EXPECT_THROW(tensor_map::replace(bytes_of(map), Replaceable::box_dim, 5, 1), Error);
  EXPECT_THROW(tensor_map::replace(bytes_of(map), Replaceable::global_stride, 4, 16), Error);
  EXPECT_THROW(replaceable_from_name("swizzle"), Error);
  TensorMap foreign{};
  bytes_of(foreign)[127] = std::byte{1};
  EXPECT_THROW(tensor_map::replace(bytes_of(foreign), Replaceable::rank, 0, 1), Error);
}

// As compilers make a map in a kernel; until every field is there, it is refused where it is used.
TEST(TensormapReplace, BeginsAMapOfNothingButZeros) {
  TensorMap map{};
  const std::tuple<Replaceable, std::uint32_t, std::uint64_t> fields[] = {{Replaceable::global_address, 0, 0x10000},
                                                                          {Replaceable::elemtype, 0, 10},
                                                                          {Replaceable::rank, 0, 1},
                                                                          {Replaceable::global_dim, 0, 3008},
                                                                          {Replaceable::global_dim, 1, 100},
                                                                          {Replaceable::global_stride, 0, 6016},
                                                                          {Replaceable::box_dim, 0, 64},
                                                                          {Replaceable::box_dim, 1, 64},
                                                                          {Replaceable::element_stride, 0, 1},
                                                                          {Replaceable::element_stride, 1, 1}};
  for (const auto& [field, ordinal, value] : fields) {
    EXPECT_THROW(decode_virtual(bytes_of(map)), Error) << static_cast<int>(field);
    tensor_map::replace(bytes_of(map), field, ordinal, value);
  }
  TensorMapSpec expected = matrix();
  expected.element_strides = {1, 1};
  EXPECT_EQ(to_spec(decode_virtual(bytes_of(map))), expected);
}
