// The copy engine against a reference that follows the definition element by element.
#include "vgpu/copy/tensor_copy.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tensor_map/random_copies.hpp"
#include "warpmill/error.hpp"

using namespace wm;
using namespace wm::test;
using namespace wm::vgpu::copy;

namespace {

constexpr std::uint64_t base = 0x7000'0000'0000;

// One element of a copy: where it is in the tile, and its address if it is inside the tensor.
struct Element {
  std::uint32_t tile;
  std::optional<std::uint64_t> address;
};

// ---- the definition, written as the manual tells it and without a thought for speed

struct Definition {
  const Fields& map;
  const Coordinates& coordinates;
  std::int64_t bytes = static_cast<std::int64_t>(bits_of(map.element) / 8);
  std::int64_t slice_bytes = map.interleave == Interleave::b16 ? 16 : 32;

  // c, w, h, ... are coordinates in the tensor.
  std::optional<std::uint64_t> address_of(const std::vector<std::int64_t>& at) const {
    for (std::uint32_t i = 0; i < map.rank; ++i) {
      std::int64_t size = static_cast<std::int64_t>(map.dims[i]);
      if (i == 0 && map.interleave != Interleave::none)  // the last slice is padded to the full
        size = (size * bytes + slice_bytes - 1) / slice_bytes * slice_bytes / bytes;
      if (at[i] < 0 || at[i] >= size) return std::nullopt;
    }
    std::uint64_t address = map.address;
    if (map.interleave == Interleave::none) {
      address += at[0] * bytes;
      for (std::uint32_t i = 1; i < map.rank; ++i) address += at[i] * map.strides[i - 1];
      return address;
    }
    address += at[0] * bytes % slice_bytes + at[0] * bytes / slice_bytes * map.strides[0] + at[1] * slice_bytes;
    for (std::uint32_t i = 2; i < map.rank; ++i) address += at[i] * map.strides[i - 1];
    return address;
  }

  std::vector<Element> tiled() const {
    std::vector<std::int64_t> counts;
    for (std::uint32_t i = 0; i < map.rank; ++i) {
      const std::int64_t step = i == 0 ? 1 : map.element_strides[i];
      std::int64_t count = 0;
      for (std::int64_t at = 0; at < map.box[i]; at += step) ++count;
      counts.push_back(count);
    }
    std::int64_t total = 1, inner_pixels = 1;
    for (std::int64_t count : counts) total *= count;
    for (std::uint32_t i = 1; i + 1 < map.rank; ++i) inner_pixels *= counts[i];
    std::vector<Element> elements;
    for (std::int64_t index = 0; index < total; ++index) {
      std::vector<std::int64_t> box_at, at;
      std::int64_t rest = index;
      for (std::uint32_t i = 0; i < map.rank; ++i) {
        box_at.push_back(rest % counts[i]);
        rest /= counts[i];
        at.push_back(coordinates.at[i] + box_at[i] * (i == 0 ? 1 : map.element_strides[i]));
      }
      std::int64_t tile = index * bytes;
      if (map.interleave != Interleave::none) {
        std::int64_t pixel = 0;  // within an image, W fastest
        for (std::uint32_t i = map.rank - 1; i-- > 1;) pixel = pixel * counts[i] + box_at[i];
        const std::int64_t slices = counts[0] * bytes / slice_bytes, slice = box_at[0] * bytes / slice_bytes;
        tile = ((box_at[map.rank - 1] * slices + slice) * inner_pixels + pixel) * slice_bytes +
               box_at[0] * bytes % slice_bytes;
      }
      elements.push_back({static_cast<std::uint32_t>(tile), address_of(at)});
    }
    return elements;
  }

  std::vector<Element> im2col() const {
    // All base pixels in the order of the walk, from the start of the image to the pixel the copy starts at and on.
    std::vector<Element> elements;
    const std::uint32_t spatial = map.rank - 2;
    std::vector<std::int64_t> pixel(coordinates.at.begin() + 1, coordinates.at.begin() + map.rank);
    for (std::uint32_t p = 0; p < map.pixels; ++p) {
      for (std::uint32_t c = 0; c < map.channels; ++c) {
        std::vector<std::int64_t> at{coordinates.at[0] + c};
        for (std::uint32_t i = 0; i < spatial; ++i) at.push_back(pixel[i] + coordinates.offsets[i]);
        at.push_back(pixel[spatial]);
        std::int64_t tile = (std::int64_t{p} * map.channels + c) * bytes;
        if (map.interleave != Interleave::none)
          tile = (c * bytes / slice_bytes * map.pixels + p) * slice_bytes + c * bytes % slice_bytes;
        elements.push_back({static_cast<std::uint32_t>(tile), address_of(at)});
      }
      bool carry = true;
      for (std::uint32_t i = 0; i < spatial && carry; ++i) {
        const std::int64_t last = static_cast<std::int64_t>(map.dims[i + 1]) + map.upper[i] - 1;
        pixel[i] += map.element_strides[i + 1];
        carry = pixel[i] > last;
        if (carry) pixel[i] = map.lower[i];
      }
      if (carry) pixel[spatial] += 1;
    }
    return elements;
  }

  std::vector<Element> elements() const { return map.mode == MapMode::tiled ? tiled() : im2col(); }
};

// The place of a byte by the manual's tables: the chunk's column exchanged according to the line it is in.
std::uint32_t placed(Swizzle swizzle, std::uint32_t address) {
  const std::uint32_t line = address / 128, column = address % 128;
  switch (swizzle) {
    case Swizzle::none: return address;
    case Swizzle::b32: return line * 128 + ((column / 16) ^ (line % 2)) * 16 + column % 16;
    case Swizzle::b64: return line * 128 + ((column / 16) ^ (line % 4)) * 16 + column % 16;
    default: return line * 128 + ((column / 16) ^ (line % 8)) * 16 + column % 16;
  }
}

class TensorCopy : public testing::TestWithParam<MapMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, TensorCopy, testing::Values(MapMode::tiled, MapMode::im2col),
                         [](const auto& mode) { return mode.param == MapMode::tiled ? "Tiled" : "Im2col"; });

std::uint32_t as_loaded(MapElement element, std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  if (element != MapElement::tf32 && std::abs(value) < 0x1p-126f) return bits & 0x80000000u;
  if (element == MapElement::f32_ftz || !std::isfinite(value)) return bits;
  const float grid = std::ldexp(1.f, std::max(std::ilogb(value), -126) - 10);
  const float rounded = value == 0 ? value : static_cast<float>(std::nearbyint(double{value} / grid) * grid);
  std::memcpy(&bits, &rounded, 4);
  return bits;
}

}  // namespace

TEST_P(TensorCopy, LoadsWhatTheDefinitionSays) {
  Random random(20261115);
  for (int round = 0; round < 1500; ++round) {
    const RandomCopy c = random_copy(random, random_map(random, GetParam(), Size::small), base);
    SCOPED_TRACE(c.spec.describe());
    HostMemory global(base, memory_bytes(c.map));
    fill_randomly(random, global.bytes);
    const auto elements = Definition{c.map, c.coordinates}.elements();
    const std::size_t bytes = bits_of(c.map.element) / 8;
    ASSERT_EQ(tile_bytes(c.map), elements.size() * bytes);
    ASSERT_EQ(c.spec.box_bytes(), elements.size() * bytes);

    std::vector<std::byte> shared(c.tile + elements.size() * bytes + 128, std::byte{0xcd}), expected = shared;
    for (const Element& element : elements) {
      std::array<std::byte, 8> value{};
      if (element.address) {
        std::memcpy(value.data(), global.readable(*element.address, bytes), bytes);
        if (c.map.element == MapElement::tf32 || c.map.element == MapElement::tf32_ftz ||
            c.map.element == MapElement::f32_ftz) {
          std::uint32_t bits;
          std::memcpy(&bits, value.data(), 4);
          bits = as_loaded(c.map.element, bits);
          std::memcpy(value.data(), &bits, 4);
        }
      } else if (c.map.fill == OutOfBounds::nan) {
        value.fill(std::byte{0xff});
        value[bytes - 1] = std::byte{0x7f};
      }
      std::memcpy(&expected[placed(c.map.swizzle, c.tile + element.tile)], value.data(), bytes);
    }
    ASSERT_EQ(load(c.map, c.coordinates, global, {shared, 0}, c.tile), elements.size() * bytes);
    ASSERT_EQ(shared, expected) << "round " << round;
  }
}

TEST_P(TensorCopy, StoresOnlyWhatIsInside) {
  Random random(7);
  for (int round = 0; round < 700; ++round) {
    const RandomCopy c = random_copy(random, random_map(random, GetParam(), Size::small), base);
    SCOPED_TRACE(c.spec.describe());
    HostMemory global(base, memory_bytes(c.map));
    fill_randomly(random, global.bytes);
    const auto elements = Definition{c.map, c.coordinates}.elements();
    const std::size_t bytes = bits_of(c.map.element) / 8;
    std::vector<std::byte> shared(c.tile + elements.size() * bytes + 128);
    fill_randomly(random, shared);
    HostMemory expected = global;
    for (const Element& element : elements)
      if (element.address)
        std::memcpy(expected.writable(*element.address, bytes), &shared[placed(c.map.swizzle, c.tile + element.tile)],
                    bytes);
    store(c.map, c.coordinates, global, {shared, 0}, c.tile);
    ASSERT_TRUE(global.bytes == expected.bytes) << "round " << round;
  }
}

TEST_P(TensorCopy, ReducesEachElementInsideOnce) {
  Random random(11);
  int reduced = 0;
  for (int round = 0; round < 700; ++round) {
    const RandomCopy c = random_copy(random, random_map(random, GetParam(), Size::small), base);
    if (!has_reduction(Reduction::bit_xor, c.map.element)) continue;
    ++reduced;
    HostMemory global(base, memory_bytes(c.map));
    fill_randomly(random, global.bytes);
    const auto elements = Definition{c.map, c.coordinates}.elements();
    const std::size_t bytes = bits_of(c.map.element) / 8;
    std::vector<std::byte> shared(c.tile + elements.size() * bytes + 128);
    fill_randomly(random, shared);
    HostMemory expected = global;
    for (const Element& element : elements)
      if (element.address)
        for (std::size_t i = 0; i < bytes; ++i)
          *expected.writable(*element.address + i, 1) ^= shared[placed(c.map.swizzle, c.tile + element.tile) + i];
    reduce(c.map, c.coordinates, Reduction::bit_xor, global, {shared, 0}, c.tile);
    ASSERT_TRUE(global.bytes == expected.bytes) << c.spec.describe() << "round " << round;
  }
  EXPECT_GT(reduced, 100);
}

TEST_P(TensorCopy, ChunksCoverTheTileOnceAndNameTheSameBytes) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const RandomCopy c = random_copy(random, random_map(random, GetParam(), Size::small), base);
    const std::uint32_t bytes = static_cast<std::uint32_t>(bits_of(c.map.element) / 8);
    std::map<std::uint32_t, std::optional<std::uint64_t>> expected, seen;  // by byte of shared memory
    for (const Element& element : Definition{c.map, c.coordinates}.elements())
      for (std::uint32_t i = 0; i < bytes; ++i)
        expected[placed(c.map.swizzle, c.tile + element.tile) + i] =
            element.address ? std::optional(*element.address + i) : std::nullopt;
    for_each_chunk(c.map, c.coordinates, c.tile, [&](const Chunk& chunk) {
      ASSERT_LE(chunk.bytes, 16u);
      for (std::uint32_t i = 0; i < chunk.bytes; ++i)
        ASSERT_TRUE(
            seen.emplace(chunk.shared + i, chunk.inside ? std::optional(chunk.global + i) : std::nullopt).second);
    });
    ASSERT_EQ(seen, expected) << c.spec.describe() << "round " << round;
  }
}

// A plain 2D map: 3 rows of 40 bytes, stride 48.
TensorMapSpec plain() {
  return {.element = MapElement::u8, .address = base, .dims = {3, 40}, .strides = {48}, .box = {2, 32}};
}
Fields decoded(const TensorMapSpec& spec) {
  return tensor_map::decode_virtual(bytes_of(tensor_map::encode_virtual(spec)));
}

TEST(TensorCopyLimits, CoordinatesFarOutsideOnlyFill) {
  HostMemory global(base, 256);
  std::vector<std::byte> shared(64, std::byte{1});
  for (std::int32_t far : {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
    shared.assign(64, std::byte{1});
    EXPECT_EQ(load(decoded(plain()), {.at = {far, far}}, global, {shared, 0}, 0), 64u);
    EXPECT_EQ(shared, std::vector<std::byte>(64));
    store(decoded(plain()), {.at = {far, far}}, global, {shared, 0}, 0);
  }
}

TEST(TensorCopyLimits, NothingOutsideTheAllocationIsTouched) {
  HostMemory global(base, 100);  // the tensor needs 136
  std::vector<std::byte> shared(128);
  EXPECT_THROW(load(decoded(plain()), {.at = {0, 1}}, global, {shared, 0}, 0), Error);
  EXPECT_THROW(store(decoded(plain()), {.at = {0, 1}}, global, {shared, 0}, 0), Error);
}

TEST(TensorCopyLimits, ATileOutsideSharedMemoryOrMisalignedIsRefused) {
  HostMemory global(base, 256);
  std::vector<std::byte> shared(1024);
  EXPECT_NO_THROW(load(decoded(plain()), {}, global, {shared, 1024}, 1024));
  EXPECT_THROW(load(decoded(plain()), {}, global, {shared, 1024}, 2048), Error);
  EXPECT_THROW(load(decoded(plain()), {}, global, {shared, 1024}, 0), Error);
  EXPECT_THROW(load(decoded(plain()), {}, global, {std::span(shared).first(63), 0}, 0), Error);
  EXPECT_THROW(load(decoded(plain()), {}, global, {shared, 0}, 64), Error);
}

TEST(TensorCopyLimits, AHugeBoxIsRefusedBeforeItIsWalked) {
  const TensorMapSpec spec{.element = MapElement::u64,
                           .address = base,
                           .dims = {64, 64, 64, 64, 64},
                           .strides = {64 * 64 * 64 * 512, 64 * 64 * 512, 64 * 512, 512},
                           .box = {256, 256, 256, 256, 256}};
  EXPECT_EQ(tile_bytes(decoded(spec)), std::numeric_limits<std::uint32_t>::max());
  HostMemory global(base, 256);
  std::vector<std::byte> shared(1024);
  EXPECT_THROW(load(decoded(spec), {}, global, {shared, 0}, 0), Error);
}

TEST(TensorCopyLimits, BlackwellElementsAreRefusedByName) {
  TensorMapSpec spec = plain();
  spec.element = MapElement::u4x16_align8;
  EXPECT_THROW(tile_bytes(decoded(spec)), Error);
}
