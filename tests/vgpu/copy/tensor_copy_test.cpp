// The copy engine against a reference that follows the definition element by element.
#include "vgpu/copy/tensor_copy.hpp"

#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tensor_map/random_copies.hpp"
#include "vgpu/copy/definition.hpp"
#include "warpmill/error.hpp"

using namespace wm;
using namespace wm::test;
using namespace wm::vgpu::copy;

namespace {

constexpr std::uint64_t base = 0x7000'0000'0000;

class TensorCopy : public testing::TestWithParam<MapMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, TensorCopy, testing::Values(MapMode::tiled, MapMode::im2col),
                         [](const auto& mode) { return mode.param == MapMode::tiled ? "Tiled" : "Im2col"; });

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
    defined_load(c, global, expected);
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
    std::vector<std::byte> shared(c.tile + tile_extent(c.map) + 128);
    fill_randomly(random, shared);
    HostMemory expected = global;
    defined_store(c, expected, shared);
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
    std::vector<std::byte> shared(c.tile + tile_extent(c.map) + 128);
    fill_randomly(random, shared);
    HostMemory expected = global;
    defined_reduction(c, expected, shared, [](std::byte* to, const std::byte* from, std::size_t bytes) {
      for (std::size_t i = 0; i < bytes; ++i) to[i] ^= from[i];
    });
    reduce(c.map, c.coordinates, Reduction::bit_xor, global, {shared, 0}, c.tile);
    ASSERT_TRUE(global.bytes == expected.bytes) << c.spec.describe() << "round " << round;
  }
  EXPECT_GT(reduced, 100);
}

// Chunks of a copy by byte of shared memory, each with its address in global memory.
using Bytes = std::map<std::uint32_t, std::optional<std::uint64_t>>;

auto into(Bytes& bytes) {
  return [&bytes](const Chunk& chunk) {
    EXPECT_LE(chunk.bytes, 16u);
    for (std::uint32_t i = 0; i < chunk.bytes; ++i) {
      const auto address = chunk.inside ? std::optional(chunk.global + i) : std::nullopt;
      EXPECT_TRUE(bytes.emplace(chunk.shared + i, address).second) << "twice";
    }
  };
}

Bytes defined_bytes(const RandomCopy& c, bool stored) {
  const std::uint32_t bytes = static_cast<std::uint32_t>(bits_of(c.map.element) / 8);
  Bytes defined;
  for (const Element& element : Definition{c.map, c.coordinates, stored}.elements())
    for (std::uint32_t i = 0; i < bytes; ++i)
      if (element.address || !stored)
        defined[placed(c.map.swizzle, c.tile + element.tile) + i] =
            element.address ? std::optional(*element.address + i) : std::nullopt;
  return defined;
}

TEST_P(TensorCopy, ChunksAreTheBytesThatAreMovedEachOnce) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const RandomCopy c = random_copy(random, random_map(random, GetParam(), Size::small), base);
    SCOPED_TRACE(c.spec.describe());
    Bytes loaded, stored;
    for_each_loaded_chunk(c.map, c.coordinates, c.tile, into(loaded));
    ASSERT_EQ(loaded, defined_bytes(c, false)) << "round " << round;
    ASSERT_EQ(tile_end(c.map, c.coordinates, c.tile), loaded.rbegin()->first + 1) << "round " << round;
    for_each_stored_chunk(c.map, c.coordinates, c.tile, into(stored));
    ASSERT_EQ(stored, defined_bytes(c, true)) << "round " << round;
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

namespace {

// Of 4- and 6-bit elements: bit `index` times their size of what is packed at `from`.
unsigned packed_element(const std::byte* from, unsigned bits, unsigned index) {
  unsigned value = 0;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned at = index * bits + bit;
    value |= (std::to_integer<unsigned>(from[at / 8]) >> at % 8 & 1) << bit;
  }
  return value;
}

}  // namespace

// Element by element: packed in global memory and, of 16u4_align8b, in the tile; of the others sixteen begin every 16
// bytes of the tile. What they leave of those stays as it was, and no mbarrier counts it.
TEST(TensorCopyOfPackedElements, LoadsEachToItsPlace) {
  Random random(4);
  for (const auto& [element, bits, box] : {std::tuple{MapElement::u4x16_align8, 4u, 256u},
                                           {MapElement::u4x16_align8, 4u, 64u},
                                           {MapElement::u4x16_align16, 4u, 128u},
                                           {MapElement::u6x16_align16, 6u, 128u}})
    for (const Swizzle swizzle : {Swizzle::none, Swizzle::b128})
      for (const std::int32_t x : {0, 128, 256, 384, -128})
        for (const std::int32_t y : {0, 5, -3}) {
          const bool padded = element != MapElement::u4x16_align8;
          TensorMapSpec spec{.element = element, .address = base, .dims = {7, 384}, .strides = {384}, .box = {8, box}};
          spec.swizzle = swizzle;
          SCOPED_TRACE(testing::Message() << spec.describe(Architecture::parse("sm_100a")) << " at " << x << ", " << y);
          const Fields map = decoded(spec);
          HostMemory global(base, 7 * 384);
          fill_randomly(random, global.bytes);
          const std::uint32_t row = padded ? box : box / 2;
          const std::uint32_t pitch = std::max(row, static_cast<std::uint32_t>(span_of(swizzle)));
          ASSERT_EQ(spec.tile_bytes(), 8 * pitch);
          ASSERT_EQ(tile_extent(map), 8 * pitch);
          ASSERT_EQ(spec.box_bytes(), 8 * box * bits / 8);
          constexpr std::uint32_t tile = 256;
          std::vector<std::byte> shared(tile + 8 * pitch, std::byte{0xcd}), before = shared;
          ASSERT_EQ(load(map, {{x, y}}, global, {shared, 0}, tile), 8 * box * bits / 8);
          std::vector<bool> moved(shared.size());
          for (std::uint32_t i = 0; i < 8; ++i)
            for (std::uint32_t j = 0; j < box; ++j) {
              const std::int64_t at_x = x + static_cast<std::int64_t>(j), at_y = y + static_cast<std::int64_t>(i);
              const bool inside = at_x >= 0 && at_x < 384 && at_y >= 0 && at_y < 7;
              const unsigned want = inside ? packed_element(&global.bytes[static_cast<std::size_t>(at_y) * 384], bits,
                                                            static_cast<unsigned>(at_x))
                                           : 0;
              std::uint32_t chunk = tile + i * pitch + (padded ? j / 16 * 16 : j / 32 * 16);
              if (swizzle == Swizzle::b128) chunk ^= (chunk >> 7 & 7) << 4;
              const unsigned index = padded ? j % 16 : j % 32;
              ASSERT_EQ(packed_element(&shared[chunk], bits, index), want) << "row " << i << " element " << j;
              for (unsigned bit = index * bits; bit < (index + 1) * bits; ++bit) moved[chunk + bit / 8] = true;
            }
          for (std::size_t at = 0; at < shared.size(); ++at)
            if (!moved[at]) {
              ASSERT_EQ(shared[at], before[at]) << "byte " << at;
            }
        }
}

TEST(TensorCopyOfPackedElements, StoresThoseWithoutGaps) {
  const TensorMapSpec spec{
      .element = MapElement::u4x16_align8, .address = base, .dims = {4, 64}, .strides = {32}, .box = {4, 64}};
  HostMemory global(base, 4 * 32);
  std::vector<std::byte> shared(4 * 32);
  Random random(5);
  fill_randomly(random, shared);
  store(decoded(spec), {}, global, {shared, 0}, 0);
  EXPECT_EQ(global.bytes, shared);
  TensorMapSpec padded = spec;
  padded.element = MapElement::u4x16_align16;
  padded.dims = {4, 128};
  padded.strides = {64};
  padded.box = {4, 128};
  const auto refusal = refusal_of_store(decoded(padded), {});
  ASSERT_TRUE(refusal.has_value());
  EXPECT_NE(refusal->find("what becomes of the gaps of its tile is not confirmed"), std::string::npos);
}

TEST(TensorCopyOfPackedElements, BeginsAtWholePieces) {
  TensorMapSpec spec{
      .element = MapElement::u4x16_align8, .address = base, .dims = {4, 256}, .strides = {128}, .box = {4, 64}};
  EXPECT_FALSE(refusal_of_load(decoded(spec), {{32, 0}}).has_value());
  EXPECT_TRUE(refusal_of_load(decoded(spec), {{16, 0}}).has_value());
  EXPECT_TRUE(refusal_of_load(decoded(spec), {{33, 0}}).has_value());
  spec.element = MapElement::u6x16_align16;
  spec.strides = {192};
  spec.box = {4, 128};
  EXPECT_FALSE(refusal_of_load(decoded(spec), {{-128, 0}}).has_value());
  const auto refusal = refusal_of_load(decoded(spec), {{64, 0}});
  ASSERT_TRUE(refusal.has_value());
  EXPECT_NE(refusal->find("no multiple of 128"), std::string::npos);
}
