// Loads, stores and reductions of tiles.
#include "vgpu/copy/tensor_copy.hpp"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "warpmill/error.hpp"

namespace wm::vgpu::copy {
namespace {

[[noreturn]] void outside_shared(const SharedMemory& shared, std::uint64_t address, std::uint64_t bytes) {
  throw Error(ErrorCode::execution,
              fmt::format("a tensor copy reaches shared addresses 0x{:x}..0x{:x}; the block has 0x{:x}..0x{:x}",
                          address, address + bytes - 1, shared.first, shared.first + shared.bytes.size()));
}

// Also keeps the sums of addresses below from passing 2^32.
void check_tile(const SharedMemory& shared, std::uint32_t tile, const Fields& map, const Coordinates& coordinates) {
  if (tile % 128 != 0)
    throw Error(
        ErrorCode::execution,
        fmt::format("a tensor copy has its tile at shared address 0x{:x}, which is not a multiple of 128", tile));
  const std::uint64_t end = tile_end(map, coordinates, tile);
  if (tile < shared.first || end > std::uint64_t{shared.first} + shared.bytes.size())
    outside_shared(shared, tile, end - tile);
}

inline std::byte* at(const SharedMemory& shared, std::uint32_t address, std::uint32_t bytes) {
  const std::uint64_t offset = std::uint64_t{address} - shared.first;  // an address before the first becomes huge
  if (offset > shared.bytes.size() || bytes > shared.bytes.size() - offset) outside_shared(shared, address, bytes);
  return shared.bytes.data() + offset;
}

// Calls visit(place in shared memory, offset in the run, bytes) for the parts of a run that the swizzle keeps together.
// Whole 16-byte parts, by far the most common, get a loop in which the size is a constant.
template <class Visit>
void for_each_part(const SharedMemory& shared, Swizzle swizzle, std::uint32_t address, std::uint32_t bytes,
                   Visit visit) {
  if (swizzle == Swizzle::none) {
    visit(at(shared, address, bytes), 0u, bytes);
    return;
  }
  const std::uint32_t atom = atom_of(swizzle), end = address + bytes;
  for (std::uint32_t from = address; from < end;) {
    const std::uint32_t line = from & ~127u, line_end = std::min(line + 128, end);
    const std::uint32_t turn = swizzled(swizzle, line) ^ line;  // the same for all of a line
    if (atom == 16 && from % 16 == 0)
      for (; from + 16 <= line_end; from += 16) visit(at(shared, from ^ turn, 16), from - address, 16u);
    while (from < line_end) {
      const std::uint32_t part = std::min(line_end - from, atom - from % atom);
      visit(at(shared, from ^ turn, part), from - address, part);
      from += part;
    }
  }
}

// Bytes of elements outside the tensor: zeros, or 0x7ff7 in every 16 bits, which is a NaN in each type.
std::array<std::byte, 2> fill_of(const Fields& map) {
  if (map.fill == OutOfBounds::zeros) return {};
  return {std::byte{0xf7}, std::byte{0x7f}};
}

// tf32 elements are rounded while they are loaded. No type flushes subnormal numbers, in spite of the names.
bool is_rounded(MapElement element) { return element == MapElement::tf32 || element == MapElement::tf32_ftz; }
std::uint32_t rounded_to_tf32(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  constexpr std::uint32_t infinity = 0x7f800000u;
  if (magnitude > infinity) return 0x7fffe000u;  // NaN
  if (magnitude == infinity) return bits;
  return (bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu;  // 10 bits of mantissa, to nearest even
}

}  // namespace

std::uint32_t load(const Fields& map, const Coordinates& coordinates, GlobalMemory& global, const SharedMemory& shared,
                   std::uint32_t tile) {
  check_tile(shared, tile, map, coordinates);
  const std::array<std::byte, 2> fill = fill_of(map);
  const bool rounds = is_rounded(map.element);
  std::uint32_t total = 0;
  for_each_run(map, coordinates, [&](const Run& run) {
    total += run.bytes;
    if (!run.inside) {
      for_each_part(shared, map.swizzle, tile + run.tile, run.bytes,
                    [&](std::byte* place, std::uint32_t, std::uint32_t bytes) {
                      if (map.fill == OutOfBounds::zeros)
                        std::memset(place, 0, bytes);
                      else
                        for (std::uint32_t i = 0; i < bytes; ++i) place[i] = fill[i % 2];
                    });
      return;
    }
    const std::byte* source = global.readable(run.global, run.bytes);
    for_each_part(shared, map.swizzle, tile + run.tile, run.bytes,
                  [&](std::byte* place, std::uint32_t offset, std::uint32_t bytes) {
                    std::memcpy(place, source + offset, bytes);
                    if (rounds)
                      for (std::uint32_t i = 0; i < bytes; i += 4) {
                        std::uint32_t bits;
                        std::memcpy(&bits, place + i, 4);
                        bits = rounded_to_tf32(bits);
                        std::memcpy(place + i, &bits, 4);
                      }
                  });
  });
  return total;
}

void store(const Fields& map, const Coordinates& coordinates, GlobalMemory& global, const SharedMemory& shared,
           std::uint32_t tile) {
  check_tile(shared, tile, map, coordinates);
  for_each_stored_run(map, coordinates, [&](const Run& run) {
    std::byte* destination = global.writable(run.global, run.bytes);
    for_each_part(shared, map.swizzle, tile + run.tile, run.bytes,
                  [&](const std::byte* place, std::uint32_t offset, std::uint32_t bytes) {
                    std::memcpy(destination + offset, place, bytes);
                  });
  });
}

void reduce(const Fields& map, const Coordinates& coordinates, Reduction reduction, GlobalMemory& global,
            const SharedMemory& shared, std::uint32_t tile) {
  check_tile(shared, tile, map, coordinates);
  for_each_stored_run(map, coordinates, [&](const Run& run) {
    std::byte* destination = global.writable(run.global, run.bytes);
    for_each_part(shared, map.swizzle, tile + run.tile, run.bytes,
                  [&](const std::byte* place, std::uint32_t offset, std::uint32_t bytes) {
                    reduce_elements(reduction, map.element, destination + offset, place, bytes);
                  });
  });
}

}  // namespace wm::vgpu::copy
