// Tensor copies of every kind through the whole machine, in every mode: random maps, legal and damaged, coordinates in
// and around the tensor, memory that ends where the copy ends or before it. Each ends as the definition says, or with
// an error of the kernel.
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tensor_map/movement_kernels.hpp"
#include "vgpu/copy/definition.hpp"
#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::test {
namespace {

using vgpu::Mode;
using vgpu::copy::Reduction;
using vgpu::testing::Gpu;
using vgpu::testing::Parameters;

enum class Direction { load, store, reduce };
constexpr std::array<std::string_view, 8> operations{"add", "min", "max", "inc", "dec", "and", "or", "xor"};

// Maps are made for memory that begins here, and moved to where it is.
constexpr std::uint64_t base = 0x0100'0000'0000;
constexpr std::size_t most_memory = 4 << 20;
constexpr std::uint32_t most_tile = 4 << 20;  // that the definition goes through

struct Case {
  Direction direction = Direction::load;
  Reduction reduction = Reduction::add;
  RandomCopy copy;
  std::optional<TensorMap> damaged;  // where it is no map any more
  bool walkable() const { return !damaged && vgpu::copy::tile_bytes(copy.map) <= most_tile; }
  std::string entry() const {
    const std::string verb = direction == Direction::load ? "load"
                             : direction == Direction::store
                                 ? "store"
                                 : fmt::format("reduce_{}", operations[static_cast<std::size_t>(reduction)]);
    return fmt::format("{}_{}_{}", verb, copy.map.mode == MapMode::im2col ? "im2col" : "tile", copy.map.rank);
  }
};

// Swizzles that only tensormap.replace can put into a map for this chip, too.
TensorMapSpec any_map(Random& random) {
  TensorMapSpec spec = random_map(random, chance(random, 60) ? MapMode::tiled : MapMode::im2col, Size::small);
  if (spec.swizzle == Swizzle::b128 && chance(random, 40)) spec.swizzle = static_cast<Swizzle>(between(random, 4, 6));
  return spec;
}

// As a kernel might, that writes over its map.
void damage(Random& random, Case& c) {
  TensorMap map = tensor_map::encode_virtual(c.copy.spec);
  for (std::int64_t n = between(random, 1, 3); n > 0; --n) {
    std::byte& byte = bytes_of(map)[static_cast<std::size_t>(between(random, 4, 127))];
    byte = static_cast<std::byte>(chance(random, 50) ? between(random, 0, 16) : between(random, 0, 255));
  }
  try {
    const Fields fields = tensor_map::decode_virtual(bytes_of(map));
    if (bits_of(fields.element) >= 8)
      c.copy.map = fields;
    else
      c.damaged = map;
  } catch (const Error&) {
    c.damaged = map;
  }
}

Case random_case(Random& random) {
  Case c;
  TensorMapSpec spec = any_map(random);
  c.direction = static_cast<Direction>(between(random, 0, 2));
  const bool load = c.direction == Direction::load;
  const bool legal = chance(random, 85);  // of a store: what the chip does not answer with an illegal instruction
  if (!load && legal)
    for (auto* corner : {&spec.lower_corner, &spec.upper_corner}) std::ranges::fill(*corner, 0);
  c.copy = random_copy(random, spec, base);
  if (!load && spec.mode == MapMode::im2col) c.copy.coordinates.offsets = {};
  if (!load && legal)
    for (auto& at : c.copy.coordinates.at) at = std::max(at, 0);
  if (chance(random, 3)) c.copy.coordinates.at[0] += 1;
  if (chance(random, 3))
    c.copy.coordinates.at[between(random, 0, spec.rank() - 1)] = chance(random, 50) ? 0x7ffffff0 : -0x7ffffff0;
  c.reduction = static_cast<Reduction>(between(random, 0, 7));
  for (int i = 0; i < 20 && !has_reduction(c.reduction, c.copy.map.element); ++i)
    c.reduction = static_cast<Reduction>(between(random, 0, 7));
  if (chance(random, 15)) damage(random, c);
  return c;
}

// What the chip answers with an illegal instruction.
bool refused(const Case& c) {
  const Fields& map = c.copy.map;
  const auto& at = c.copy.coordinates.at;
  if (map.interleave == Interleave::none && std::int64_t{at[0]} * static_cast<std::int64_t>(bits_of(map.element)) % 128)
    return true;
  if (c.direction == Direction::load) return false;
  if (c.direction == Direction::reduce && !has_reduction(c.reduction, map.element)) return true;
  if (std::any_of(at.begin(), at.begin() + map.rank, [](std::int32_t value) { return value < 0; })) return true;
  const std::array<std::int32_t, 3> none{};
  return map.lower != none || map.upper != none;
}

// Does what the definition says to both memories; throws where the copy leaves one of them.
void define(const Case& c, HostMemory& global, std::vector<std::byte>& shared) {
  switch (c.direction) {
    case Direction::load: return defined_load(c.copy, global, shared);
    case Direction::store: return defined_store(c.copy, global, shared);
    case Direction::reduce:
      return defined_reduction(c.copy, global, shared, [&](std::byte* to, const std::byte* from, std::size_t bytes) {
        reduce_elements(c.reduction, c.copy.map.element, to, from, bytes);
      });
  }
}

// The last bytes that the definition asks for.
struct Ends {
  std::size_t shared = 0, global = 0;
};
Ends ends_of(const Case& c) {
  Ends ends;
  const std::size_t bytes = bits_of(c.copy.map.element) / 8;
  for (const Element& e : Definition{c.copy.map, c.copy.coordinates, c.direction != Direction::load}.elements()) {
    ends.shared = std::max<std::size_t>(ends.shared, placed(c.copy.map.swizzle, c.copy.tile + e.tile) + bytes);
    if (e.address && *e.address >= base) ends.global = std::max(ends.global, *e.address - base + bytes);
  }
  return ends;
}

struct Count {
  int right = 0, refused = 0;
};

// The same memories before a copy and, where it is right, after it.
struct Memories {
  HostMemory global{base, 0};
  std::vector<std::byte> shared;
};

class Movement {
 public:
  Movement() { gpu_.load(movement_ptx()); }

  // In all modes.
  void check(Random& random, const Case& c, Count& count) {
    const Memories before = memories(random, c);
    Memories after = before;
    bool right = c.walkable() && !refused(c);
    try {
      if (right) define(c, after.global, after.shared);
    } catch (const Error&) {
      right = false;
    }
    ++(right ? count.right : count.refused);
    const std::uint64_t seed = random();
    for (const Mode mode : {Mode::friendly, Mode::random, Mode::adversarial})
      for (const bool check : {false, true}) {
        gpu_.options = {.mode = mode, .seed = seed, .deterministic = true, .check = check};
        SCOPED_TRACE(fmt::format("{} mode {}{}, {} bytes global, {} shared, tile at {}, coordinates {}\n{}", c.entry(),
                                 static_cast<int>(mode), check ? " checked" : "", before.global.bytes.size(),
                                 before.shared.size(), c.copy.tile, fmt::join(c.copy.coordinates.at, ","),
                                 c.damaged ? "damaged" : to_spec(c.copy.map).describe({10, 0, true})));
        run(c, before, right ? &after : nullptr);
        if (::testing::Test::HasFailure()) return;
      }
  }

 private:
  // They mostly end with the last byte that is moved, sometimes before it.
  static Memories memories(Random& random, const Case& c) {
    std::size_t global = std::min(most_memory, memory_bytes(c.copy.map)), shared = 64 * 1024;
    if (c.walkable()) {
      const Ends ends = ends_of(c);
      if (chance(random, 70) && ends.global > 0 && ends.global <= most_memory) global = ends.global;
      if (chance(random, 15))
        global = std::max<std::size_t>(1, global - static_cast<std::size_t>(between(random, 1, 16)));
      if (ends.shared <= shared) {
        shared = ends.shared;
        if (chance(random, 15)) shared -= 16;
        if (chance(random, 25)) shared += 128;
      }
    }
    Memories m{HostMemory(base, global), std::vector<std::byte>(shared)};
    fill_randomly(random, m.global.bytes);
    fill_randomly(random, m.shared);
    return m;
  }

  // `after` is null where the copy must fail.
  void run(const Case& c, const Memories& before, const Memories* after) {
    const std::uint64_t memory = gpu_.upload(before.global.bytes);
    std::vector<std::byte> filling = before.shared;
    filling.resize(filling.size() + 4);
    const std::uint64_t out = gpu_.upload(filling);
    TensorMapSpec moved = to_spec(c.copy.map);
    moved.address += memory - base;
    Parameters p;
    p.add(c.damaged ? *c.damaged : tensor_map::encode_virtual(moved), 64).add(out);
    p.add(c.damaged ? 16 : vgpu::copy::tile_bytes(c.copy.map)).add(c.copy.tile);
    p.add(static_cast<std::uint32_t>(before.shared.size() / 4));
    for (const std::int32_t at : c.copy.coordinates.at) p.add(at);
    for (const std::uint16_t offset : c.copy.coordinates.offsets) p.add(std::uint32_t{offset});
    const std::uint32_t gap = 0x400 - 16;  // from the end of the kernel's own variable to a multiple of 1024
    std::string error;
    try {
      gpu_.run(c.entry(), {{1}, {1}, {}, gap + static_cast<std::uint32_t>(before.shared.size())}, p);
      if (gpu_.options.check)
        for (const auto& finding : gpu_.report.check->findings)
          if (finding.name != "misaligned-tile") error += finding.text();  // tiles lie at any multiple of 128
    } catch (const Error& e) {
      error = e.what();
      EXPECT_EQ(e.code(), ErrorCode::execution) << error;
    }
    if (after == nullptr) {
      EXPECT_NE(error, "");
    } else {
      EXPECT_EQ(error, "");
      if (c.direction == Direction::load) {
        std::vector<std::byte> expected = after->shared;
        for (const int byte : {1, 0, 0, 0}) expected.push_back(static_cast<std::byte>(byte));  // all bytes counted
        EXPECT_TRUE(gpu_.download<std::byte>(out, filling.size()) == expected) << "shared memory";
      }
      EXPECT_TRUE(gpu_.download<std::byte>(memory, before.global.bytes.size()) == after->global.bytes)
          << "global memory";
    }
    gpu_.machine().free(out);
    gpu_.machine().free(memory);
  }
  Gpu gpu_{"sm_100a"};  // which has all swizzles
};

TEST(Movement, EveryCopyEndsAsDefinedInEveryMode) {
  Movement movement;
  Random random(20261201);
  Count count;
  for (int round = 0; round < 400 && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    movement.check(random, random_case(random), count);
  }
  EXPECT_GT(count.right, 200);
  EXPECT_GT(count.refused, 50);
}

// A few pixels of 16 bytes: a 128-byte swizzle puts them anywhere within the line of 128 bytes that they begin.
TEST(Movement, InterleavedTilesKeepToTheirLineUnderAWiderSwizzle) {
  Movement movement;
  Random random(1);
  Count count;
  for (int i = 0; i < 96 && !::testing::Test::HasFailure(); ++i) {
    Case c;
    c.direction = i % 2 == 0 ? Direction::store : Direction::load;
    c.copy = random_copy(random,
                         {.element = MapElement::u64,
                          .dims = {2, 3, 16},
                          .strides = {768, 256},
                          .interleave = Interleave::b16,
                          .swizzle = Swizzle::b128,
                          .box = {1, 1, 2 * (1 + i / 16)}},
                         base);
    c.copy.coordinates = {};
    c.copy.tile = 128 * (i / 2 % 8);
    movement.check(random, c, count);
  }
  EXPECT_GT(count.right, 60);
}

}  // namespace
}  // namespace wm::test
