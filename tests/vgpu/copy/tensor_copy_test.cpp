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

// ---- the definition, written as the manual and an H200 tell it, and without a thought for speed

struct Definition {
  const Fields& map;
  const Coordinates& coordinates;
  bool whole_pieces = false;  // the innermost dimension ends at a multiple of 16 bytes: stores and reductions
  bool interleaved = map.interleave != Interleave::none;
  std::int64_t bytes = static_cast<std::int64_t>(bits_of(map.element) / 8);
  // What one step along the innermost dimension passes: an element, or a pixel that is a slice of channels.
  std::int64_t cell = !interleaved ? bytes : map.interleave == Interleave::b16 ? 16 : 32;

  // From row to row of the tile, each of `cells`.
  std::int64_t pitch(std::int64_t cells) const {
    return interleaved ? cells * cell : std::max(cells * cell, static_cast<std::int64_t>(span_of(map.swizzle)));
  }
  // Elements along a dimension.
  std::int64_t size(std::uint32_t dim) const {
    const auto elements = static_cast<std::int64_t>(map.dims[dim]);
    return dim == 0 && whole_pieces && !interleaved ? (elements * bytes + 15) / 16 * 16 / bytes : elements;
  }

  // Adds the elements of the cell at coordinates `at`, which lies at `tile`.
  void add_cell(std::vector<Element>& elements, std::int64_t tile, const std::vector<std::int64_t>& at) const {
    bool inside = true;
    std::uint64_t address = map.address;
    for (std::uint32_t i = 0; i < map.rank; ++i) {
      inside = inside && at[i] >= 0 && at[i] < size(i);
      address += static_cast<std::uint64_t>(at[i]) * (i == 0 ? static_cast<std::uint64_t>(cell) : map.strides[i - 1]);
    }
    for (std::int64_t part = 0; part < cell; part += bytes, tile += bytes)
      elements.push_back({static_cast<std::uint32_t>(tile),
                          inside ? std::optional(address + static_cast<std::uint64_t>(part)) : std::nullopt});
  }

  std::vector<Element> tiled() const {
    std::vector<std::int64_t> counts, steps;
    for (std::uint32_t i = 0; i < map.rank; ++i) {
      steps.push_back(i == 0 && !interleaved ? 1 : map.element_strides[i]);
      std::int64_t count = 0;
      for (std::int64_t at = 0; at < map.box[i]; at += steps[i]) ++count;
      counts.push_back(interleaved && i + 2 == map.rank ? 1 : count);  // one slice
    }
    std::int64_t total = 1;
    for (std::int64_t count : counts) total *= count;
    std::vector<Element> elements;
    for (std::int64_t index = 0; index < total; ++index) {
      std::vector<std::int64_t> at;
      std::int64_t rest = index;
      for (std::uint32_t i = 0; i < map.rank; ++i) {
        at.push_back(coordinates.at[i] + rest % counts[i] * steps[i]);
        rest /= counts[i];
      }
      add_cell(elements, index / counts[0] * pitch(counts[0]) + index % counts[0] * cell, at);
    }
    return elements;
  }

  std::vector<Element> im2col() const {
    // All base pixels in the order of the walk, from the one the copy starts at and on.
    std::vector<Element> elements;
    const std::uint32_t spatial = map.rank - 2, first = interleaved ? 0 : 1;  // dimension of W
    std::vector<std::int64_t> base(coordinates.at.begin(), coordinates.at.begin() + map.rank);
    for (std::uint32_t p = 0; p < map.pixels; ++p) {
      std::vector<std::int64_t> at = base;
      for (std::uint32_t i = 0; i < spatial; ++i) at[first + i] += coordinates.offsets[i];
      const std::uint32_t cells = interleaved ? 1 : map.channels;
      for (std::uint32_t c = 0; c < cells; ++c) {
        if (!interleaved) at[0] = base[0] + c;
        add_cell(elements, p * pitch(cells) + c * cell, at);
      }
      bool carry = true;
      for (std::uint32_t i = 0; i < spatial && carry; ++i) {
        const std::uint32_t dim = first + i;
        base[dim] += map.element_strides[dim];
        carry = base[dim] > static_cast<std::int64_t>(map.dims[dim]) + map.upper[i] - 1;
        if (carry) base[dim] = map.lower[i];
      }
      if (carry) base[map.rank - 1] += map.element_strides[map.rank - 1];
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

std::uint32_t as_tf32(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  if (std::isnan(value)) return 0x7fffe000;
  if (std::isinf(value)) return bits;
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
    ASSERT_EQ(c.spec.tile_bytes(), tile_extent(c.map));

    std::vector<std::byte> shared(c.tile + tile_extent(c.map) + 128, std::byte{0xcd}), expected = shared;
    for (const Element& element : elements) {
      std::array<std::byte, 8> value{};
      if (element.address) {
        std::memcpy(value.data(), global.readable(*element.address, bytes), bytes);
        if (c.map.element == MapElement::tf32 || c.map.element == MapElement::tf32_ftz) {
          std::uint32_t bits;
          std::memcpy(&bits, value.data(), 4);
          bits = as_tf32(bits);
          std::memcpy(value.data(), &bits, 4);
        }
      } else if (c.map.fill == OutOfBounds::nan) {
        for (std::size_t i = 0; i < bytes; ++i) value[i] = i % 2 ? std::byte{0x7f} : std::byte{0xf7};
      }
      std::memcpy(&expected[placed(c.map.swizzle, c.tile + element.tile)], value.data(), bytes);
    }
    ASSERT_EQ(load(c.map, c.coordinates, global, {shared, 0}, c.tile), elements.size() * bytes);
    ASSERT_EQ(shared, expected) << "round " << round;
  }
}

TEST_P(TensorCopy, StoresWhatIsInsideInPiecesOf16Bytes) {
  Random random(7);
  for (int round = 0; round < 700; ++round) {
    const RandomCopy c = random_copy(random, random_map(random, GetParam(), Size::small), base);
    SCOPED_TRACE(c.spec.describe());
    HostMemory global(base, memory_bytes(c.map));
    fill_randomly(random, global.bytes);
    const auto elements = Definition{c.map, c.coordinates, true}.elements();
    const std::size_t bytes = bits_of(c.map.element) / 8;
    std::vector<std::byte> shared(c.tile + tile_extent(c.map) + 128);
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
    const auto elements = Definition{c.map, c.coordinates, true}.elements();
    const std::size_t bytes = bits_of(c.map.element) / 8;
    std::vector<std::byte> shared(c.tile + tile_extent(c.map) + 128);
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

// Bytes that an H200 wrote: 14 x 8 x 17 pixels of 16 bytes, N x slices x W; the box says 5 slices, one is moved.
TEST(TensorCopyInterleaved, MovesOneSliceOfChannelsAsTheChipDoes) {
  const TensorMapSpec spec{.element = MapElement::f16,
                           .address = base + 32,
                           .dims = {14, 8, 17},
                           .strides = {384, 128},
                           .interleave = Interleave::b16,
                           .box = {3, 5, 8}};
  HostMemory global(base, 8192);
  std::vector<std::byte> shared(384);
  for (std::size_t i = 0; i < shared.size(); ++i) shared[i] = static_cast<std::byte>(1 + i / 16);
  ASSERT_EQ(tile_bytes(decoded(spec)), 384u);
  store(decoded(spec), {.at = {8, 0, 3}}, global, {shared, 0}, 0);
  std::vector<std::byte> expected(8192);
  for (std::size_t image = 0; image < 3; ++image)
    std::copy_n(shared.begin() + static_cast<std::ptrdiff_t>(128 * image), 128,
                expected.begin() + static_cast<std::ptrdiff_t>(1312 + 384 * image));
  EXPECT_EQ(global.bytes, expected);
}

// Bytes that an H200 wrote: rows of 32 bytes under a swizzle of 128 lie 128 bytes apart.
TEST(TensorCopySwizzled, RowsShorterThanTheSpanLieASpanApart) {
  const TensorMapSpec spec{.element = MapElement::u8,
                           .address = base,
                           .dims = {4, 32},
                           .strides = {32},
                           .swizzle = Swizzle::b128,
                           .box = {4, 32}};
  HostMemory global(base, 128);
  for (std::size_t i = 0; i < 128; ++i) global.bytes[i] = static_cast<std::byte>(1 + i / 16);
  std::vector<std::byte> shared(512), expected(512);
  for (std::size_t piece = 0; piece < 8; ++piece) {
    const std::size_t row = piece / 2, column = (piece % 2) ^ row;
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(row * 128 + column * 16), 16,
                static_cast<std::byte>(1 + piece));
  }
  EXPECT_EQ(tile_extent(decoded(spec)), 512u);
  EXPECT_EQ(load(decoded(spec), {}, global, {shared, 0}, 0), 128u);  // what the mbarrier counts
  EXPECT_EQ(shared, expected);
}

// Bytes that an H200 wrote: 13 elements of bf16 end in the middle of a piece of 16 bytes, which is stored whole.
TEST(TensorCopyEdges, AStoreWritesTheLastPieceWhole) {
  const TensorMapSpec spec{.element = MapElement::bf16, .address = base, .dims = {13}, .box = {64}};
  HostMemory global(base, 64);
  std::vector<std::byte> shared(128, std::byte{7});
  store(decoded(spec), {}, global, {shared, 0}, 0);
  std::vector<std::byte> expected(64);
  std::fill_n(expected.begin(), 32, std::byte{7});
  EXPECT_EQ(global.bytes, expected);
}

// As an H200 does: images 5, 9 and 13 of 11, where pixels are one and the element stride of N is 4.
TEST(TensorCopyIm2col, TheNextImageIsAnElementStrideAway) {
  TensorMapSpec spec{.mode = MapMode::im2col,
                     .element = MapElement::u64,
                     .address = base,
                     .dims = {11, 1, 2},
                     .strides = {16, 16},
                     .element_strides = {4, 1, 1}};
  spec.lower_corner = spec.upper_corner = {0};
  spec.channels_per_pixel = 2;
  spec.pixels_per_column = 3;
  HostMemory global(base, 176);
  for (std::size_t i = 0; i < 176; ++i) global.bytes[i] = static_cast<std::byte>(i / 16);
  std::vector<std::byte> shared(48);
  load(decoded(spec), {.at = {0, 0, 5}}, global, {shared, 0}, 0);
  EXPECT_EQ(shared[0], std::byte{5});
  EXPECT_EQ(shared[16], std::byte{9});
  EXPECT_EQ(shared[32], std::byte{0});
}

TEST(TensorCopyLimits, TheInnermostCoordinateGoesInStepsOf16Bytes) {
  HostMemory global(base, 256);
  std::vector<std::byte> shared(64);
  for (std::int32_t at : {-16, 0, 16}) EXPECT_NO_THROW(load(decoded(plain()), {.at = {at}}, global, {shared, 0}, 0));
  for (std::int32_t at : {-1, 1, 8, 17}) {
    EXPECT_THROW(load(decoded(plain()), {.at = {at}}, global, {shared, 0}, 0), Error) << at;
    EXPECT_THROW(store(decoded(plain()), {.at = {at}}, global, {shared, 0}, 0), Error) << at;
  }
}

TEST(TensorCopyLimits, CoordinatesFarOutsideOnlyFill) {
  HostMemory global(base, 256);
  std::vector<std::byte> shared(64, std::byte{1});
  for (std::int32_t far : {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
    const std::int32_t aligned = far & ~15;
    shared.assign(64, std::byte{1});
    EXPECT_EQ(load(decoded(plain()), {.at = {aligned, far}}, global, {shared, 0}, 0), 64u);
    EXPECT_EQ(shared, std::vector<std::byte>(64));
    store(decoded(plain()), {.at = {aligned, far}}, global, {shared, 0}, 0);
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

// No rule lets such a map pass, but tensormap.replace can make one.
TEST(TensorCopyLimits, AHugeBoxIsRefusedBeforeItIsWalked) {
  const Fields map = tensor_map::to_fields({.element = MapElement::u64,
                                            .address = base,
                                            .dims = {64, 64, 64, 64, 64},
                                            .strides = {64 * 64 * 64 * 512, 64 * 64 * 512, 64 * 512, 512},
                                            .box = {256, 256, 256, 256, 256}});
  EXPECT_EQ(tile_bytes(map), std::numeric_limits<std::uint32_t>::max());
  HostMemory global(base, 256);
  std::vector<std::byte> shared(1024);
  EXPECT_THROW(load(map, {}, global, {shared, 0}, 0), Error);
}

TEST(TensorCopyLimits, BlackwellElementsAreRefusedByName) {
  TensorMapSpec spec = plain();
  spec.element = MapElement::u4x16_align8;
  EXPECT_THROW(tile_bytes(decoded(spec)), Error);
}
