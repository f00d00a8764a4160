// Copies of pixels along W alone (im2col::w and im2col::w::128): the engine against a definition that counts pixels by
// division, and against numbers that a simulator of others gives, which they hold to a chip.
#include <gtest/gtest.h>

#include "vgpu/copy/definition.hpp"

using namespace wm;
using namespace wm::test;
using namespace wm::vgpu::copy;

namespace {

constexpr std::uint64_t base = 0x7000'0000'0000;

// A random map of pixels along W, and a copy that begins in its box or before it.
RandomCopy random_width(Random& random, MapMode mode) {
  TensorMapSpec spec = random_map(random, MapMode::im2col, Size::small);
  while (spec.interleave != Interleave::none || span_of(spec.swizzle) < 64)
    spec = random_map(random, MapMode::im2col, Size::small);
  spec.mode = mode;
  if (spec.swizzle == Swizzle::b128 && chance(random, 30)) spec.swizzle = Swizzle::b128_atom32;
  spec.lower_corner = {spec.lower_corner.back()};
  spec.upper_corner = {spec.upper_corner.back()};
  RandomCopy copy = random_copy(random, spec, base);
  const std::int64_t last = static_cast<std::int64_t>(copy.map.dims[1]) - 1 + copy.map.upper[0];
  copy.coordinates.at[1] = static_cast<std::int32_t>(between(random, copy.map.lower[0] - 2, last));
  copy.coordinates.offsets[0] = static_cast<std::uint16_t>(between(random, 0, 3));
  copy.coordinates.halo = static_cast<std::uint16_t>(chance(random, 40) ? 0 : between(random, 1, 5));
  return copy;
}

TEST(PixelsAlongW, AreLoadedAsTheDefinitionSays) {
  Random random(20261116);
  for (int round = 0; round < 600; ++round) {
    const RandomCopy c = random_width(random, round % 2 == 0 ? MapMode::im2col_w : MapMode::im2col_w128);
    SCOPED_TRACE(c.spec.describe({10, 0, true}));
    HostMemory global(base, memory_bytes(c.map));
    fill_randomly(random, global.bytes);
    const std::size_t bytes = Definition{c.map, c.coordinates}.elements().size() * bits_of(c.map.element) / 8;
    ASSERT_EQ(tile_bytes(c.map, c.coordinates), bytes);
    if (c.coordinates.halo == 0) {
      ASSERT_EQ(c.spec.box_bytes(), bytes);
    }
    std::vector<std::byte> shared(c.tile + tile_extent(c.map, c.coordinates) + 128, std::byte{0xcd}), want = shared;
    defined_load(c, global, want);
    ASSERT_EQ(load(c.map, c.coordinates, global, {shared, 0}, c.tile), bytes);
    ASSERT_EQ(shared, want) << "round " << round;
    std::uint64_t end = 0;
    for_each_loaded_chunk(c.map, c.coordinates, c.tile,
                          [&](const Chunk& chunk) { end = std::max<std::uint64_t>(end, chunk.shared + chunk.bytes); });
    ASSERT_EQ(tile_end(c.map, c.coordinates, c.tile), end) << "round " << round;
  }
}

// 160 images of 2 rows of 4 pixels of 16 numbers, which count from 100.
TEST(PixelsAlongW, LieWhereAnotherSimulatorHasThem) {
  TensorMapSpec spec{.mode = MapMode::im2col_w,
                     .element = MapElement::u32,
                     .address = base,
                     .dims = {160, 2, 4, 16},
                     .strides = {512, 256, 64},
                     .swizzle = Swizzle::b64,
                     .lower_corner = {0},
                     .upper_corner = {0},
                     .channels_per_pixel = 16,
                     .pixels_per_column = 5};
  HostMemory global(base, 160 * 512);
  for (std::uint32_t i = 0; i < 160 * 128; ++i) {
    const std::uint32_t number = 100 + i;
    std::memcpy(&global.bytes[i * 4], &number, 4);
  }
  const auto first_numbers = [&](const Coordinates& coordinates) {
    const Fields map = tensor_map::decode_virtual(bytes_of(tensor_map::encode_virtual(spec)));
    std::vector<std::byte> shared(tile_extent(map, coordinates));
    load(map, coordinates, global, {shared, 0}, 0);
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t row = 0; row * 64 < shared.size(); ++row) {
      std::uint32_t number;
      std::memcpy(&number, &shared[placed(Swizzle::b64, row * 64)], 4);
      numbers.push_back(number);
    }
    return numbers;
  };
  // Pixels 1 to 4 of row 1, of which the last is outside, of image 40; then of image 41.
  const std::vector<std::uint32_t> shifted = {5300, 5316, 5332, 0, 5428, 5444};
  EXPECT_EQ(first_numbers({.at = {0, 0, 1, 40}, .offsets = {1}, .halo = 1}), shifted);
  spec.mode = MapMode::im2col_w128;
  std::vector<std::uint32_t> chunks;
  for (std::uint32_t i = 0; i < 128; ++i) chunks.push_back(10340 + i / 4 * 128 + i % 4 * 16);
  for (const std::uint32_t halo : {1124u, 2148u, 3172u, 4196u, 1140u, 2164u, 3188u, 4212u})
    chunks.push_back(10240 + halo);
  EXPECT_EQ(first_numbers({.at = {0, 0, 0, 80}, .halo = 2}), chunks);
}

TEST(PixelsAlongW, BeginInTheBoxOrBeforeItAndHaveSmallHalos) {
  Random random(1);
  for (const MapMode mode : {MapMode::im2col_w, MapMode::im2col_w128}) {
    RandomCopy c = random_width(random, mode);
    const std::uint16_t most = mode == MapMode::im2col_w ? 511 : 31;
    c.coordinates.halo = most;
    c.coordinates.offsets[0] = 31;
    EXPECT_EQ(refusal_of_load(c.map, c.coordinates), std::nullopt);
    c.coordinates.halo = most + 1;
    EXPECT_NE(refusal_of_load(c.map, c.coordinates)->find("they are at most"), std::string::npos);
    c.coordinates = {.offsets = {32}};
    EXPECT_NE(refusal_of_load(c.map, c.coordinates)->find("an offset of 32"), std::string::npos);
    c.coordinates = {.at = {0, static_cast<std::int32_t>(c.map.dims[1]) + c.map.upper[0]}};
    EXPECT_NE(refusal_of_load(c.map, c.coordinates)->find("it may begin before the box, not behind it"),
              std::string::npos);
    c.coordinates.at[1] = -100;
    EXPECT_EQ(refusal_of_load(c.map, c.coordinates), std::nullopt);
  }
}

}  // namespace
