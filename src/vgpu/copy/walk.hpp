// The way of a tensor copy through the tensor: which bytes of global memory go to which bytes of the tile.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "tensor_map/fields.hpp"

namespace wm::vgpu::copy {

using tensor_map::Fields;

// What an instruction adds to its map; innermost dimension first, as in PTX.
struct Coordinates {
  std::array<std::int32_t, 5> at{};
  std::array<std::uint16_t, 3> offsets{};  // im2col: of W, H, D; along W alone of W
  std::uint16_t halo = 0;                  // along W alone: pixels behind the others, or behind each 32 of 128
};

// Bytes that lie together in global memory and, before the swizzle, in the tile.
struct Run {
  std::uint64_t global = 0;  // address of the first; nothing where the run is outside
  std::uint32_t tile = 0;    // offset of the first in the tile
  std::uint32_t bytes = 0;
  bool inside = false;  // of the tensor; what is outside is filled by loads and left alone by stores
};

// Bytes that a copy moves and a load's mbarrier counts: parts outside the tensor count like the others. A
// legal map may describe far more than shared memory holds (then the most a number can say): compare before walking.
std::uint32_t tile_bytes(const Fields& map, const Coordinates& coordinates = {});

// Bytes of shared memory that a tile takes. Lines shorter than the swizzle's span lie a span apart; what is between
// them belongs to the tile, but no copy touches it.
std::uint32_t tile_extent(const Fields& map, const Coordinates& coordinates = {});

// The shared address behind the last byte that a copy of the tile at `tile` touches. Where its last line ends within
// the swizzle's span this depends on the tile's place, and may be before or behind the end of its extent.
std::uint64_t tile_end(const Fields& map, const Coordinates& coordinates, std::uint32_t tile);

// What lies together along the innermost dimension: an element, or those of fewer than 8 bits that share bytes. Two of
// 16u4_align8b are a byte. Sixteen of the others are 8 or 12 bytes of global memory and begin every 16 bytes of the
// tile; the gap behind them is no part of the copy. Throws unsupported where such gaps would be interleaved.
struct Unit {
  std::uint32_t elements = 1;
  std::uint32_t bytes = 1;  // that are moved
  std::uint32_t pitch = 1;  // bytes of the tile from one to the next
};
Unit unit_of(const Fields& map);

// Why the chip answers a load from there with an illegal instruction; nothing where it does not.
std::optional<std::string> refusal_of_load(const Fields& map, const Coordinates& coordinates);
// The same of stores and reductions.
std::optional<std::string> refusal_of_store(const Fields& map, const Coordinates& coordinates);

namespace detail {

// One dimension of the walk: coordinates start, start + step, ...
struct Level {
  std::uint32_t count = 1;
  std::int64_t start = 0, step = 1;
  std::int64_t size = 1;     // coordinates 0 .. size - 1 are inside
  std::uint64_t stride = 0;  // bytes from one coordinate to the next
};

// A stretch of the innermost dimension: `units` from coordinate `start` on, counted in units.
struct Line {
  std::int64_t start = 0, size = 0;  // coordinate of the first unit, units of the dimension
  std::uint32_t units = 0;
  Unit unit;
  std::uint32_t pitch = 0;  // bytes of the tile from this line to the next
  std::uint32_t bytes() const { return units * unit.bytes; }
  std::uint32_t extent() const { return units * unit.pitch; }  // in the tile
};

// Everything a walk needs, computed once a copy.
struct Route {
  Line line;
  int levels = 0;
  std::array<Level, 5> level{};  // fastest first; im2col: of pixels (W, H, D), then images
  std::uint64_t address = 0;
  bool inside = true;  // as far as coordinates are concerned that no level has
};
Route route(const Fields& map, const Coordinates& coordinates);

template <class Visit>
void visit_line(const Line& line, std::uint64_t address, std::uint32_t tile, bool inside, Visit& visit) {
  const std::int64_t units = line.units;
  const std::int64_t first = inside ? std::clamp<std::int64_t>(-line.start, 0, units) : units;
  const std::int64_t end = inside ? std::clamp<std::int64_t>(line.size - line.start, first, units) : units;
  // Units without gaps lie together.
  const auto visit_units = [&](std::int64_t from, std::int64_t to, bool are_inside) {
    const std::int64_t step = line.unit.pitch == line.unit.bytes ? to - from : 1;
    for (; from < to; from += step)
      visit(Run{are_inside ? address + static_cast<std::uint64_t>(line.start + from) * line.unit.bytes : 0,
                tile + static_cast<std::uint32_t>(from) * line.unit.pitch,
                static_cast<std::uint32_t>(step) * line.unit.bytes, are_inside});
  };
  visit_units(0, first, false);
  visit_units(first, end, true);
  visit_units(end, units, false);
}

inline bool inside(const Level& level, std::int64_t coordinate) { return coordinate >= 0 && coordinate < level.size; }

// Addresses wrap around 2^64, as registers do; whoever follows them checks that they are memory.
template <class Visit>
void walk_level(const Route& route, int depth, std::uint64_t address, std::uint32_t& tile, bool all_inside,
                Visit& visit) {
  if (depth < 0) {
    visit_line(route.line, address, tile, all_inside, visit);
    tile += route.line.pitch;
    return;
  }
  const Level& level = route.level[depth];
  std::int64_t coordinate = level.start;
  for (std::uint32_t i = 0; i < level.count; ++i, coordinate += level.step)
    walk_level(route, depth - 1, address + static_cast<std::uint64_t>(coordinate) * level.stride, tile,
               all_inside && inside(level, coordinate), visit);
}

// im2col: base pixels go through the bounding box row by row and image by image; the filter's offset is added to each.
template <class Visit>
void walk_pixels(const Route& route, const Fields& map, const Coordinates& coordinates, Visit& visit) {
  const int spatial = static_cast<int>(map.rank) - 2;
  std::uint32_t tile = 0;
  std::array<std::int64_t, 4> base{};  // W, H, D, N
  for (int i = 0; i <= spatial; ++i) base[i] = route.level[i].start;
  for (std::uint32_t pixel = 0; pixel < map.pixels; ++pixel) {
    std::uint64_t address = route.address;
    bool all_inside = route.inside;
    for (int i = 0; i <= spatial; ++i) {
      const Level& level = route.level[i];
      const std::int64_t coordinate = base[i] + (i < spatial ? coordinates.offsets[i] : 0);
      address += static_cast<std::uint64_t>(coordinate) * level.stride;
      all_inside = all_inside && inside(level, coordinate);
    }
    visit_line(route.line, address, tile, all_inside, visit);
    tile += route.line.pitch;
    int i = 0;
    for (; i < spatial; ++i) {
      base[i] += route.level[i].step;
      if (base[i] <= route.level[i].size - 1 + map.upper[i]) break;
      base[i] = map.lower[i];
    }
    if (i == spatial) base[spatial] += route.level[spatial].step;
  }
}

// Pixels along W alone, from image to image within the corners, which the offset moves with the first of them. The
// halos are what the walk would take next; they lie behind all others, of several chunks the first pixels of each
// together.
template <class Visit>
void walk_width(const Route& route, const Fields& map, const Coordinates& coordinates, Visit& visit) {
  const int images = static_cast<int>(map.rank) - 2;
  const std::int64_t offset = coordinates.offsets[0], lower = map.lower[0] + offset,
                     last = route.level[0].size - 1 + map.upper[0] + offset;
  struct Place {
    std::int64_t w, image;
  };
  std::uint32_t tile = 0;
  const auto take = [&](Place& place) {
    std::uint64_t address = route.address;
    bool all_inside = route.inside;
    for (int i = 0; i <= images; ++i) {
      const Level& level = route.level[i];
      const std::int64_t coordinate = i == 0 ? place.w : i == images ? place.image : level.start;
      address += static_cast<std::uint64_t>(coordinate) * level.stride;
      all_inside = all_inside && inside(level, coordinate);
    }
    visit_line(route.line, address, tile, all_inside, visit);
    tile += route.line.pitch;
    place.w += route.level[0].step;
    if (place.w <= last) return;
    place.w = lower;
    place.image += route.level[images].step;
  };
  const bool chunked = map.mode == MapMode::im2col_w128;
  const std::uint32_t pixels = chunked ? tensor_map::w128_pixels : map.pixels,
                      chunk = chunked ? tensor_map::w128_chunk : pixels;
  Place place{route.level[0].start + offset, route.level[images].start};
  std::array<Place, tensor_map::w128_pixels / tensor_map::w128_chunk> behind{};
  for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
    take(place);
    if ((pixel + 1) % chunk == 0) behind[pixel / chunk] = place;
  }
  for (std::uint32_t i = 0; i < coordinates.halo; ++i)
    for (std::uint32_t c = 0; c < pixels / chunk; ++c) take(behind[c]);
}

}  // namespace detail

// Calls visit(const Run&) for every run of a load, in the order of the tile.
template <class Visit>
void for_each_run(const Fields& map, const Coordinates& coordinates, Visit&& visit) {
  const detail::Route route = detail::route(map, coordinates);
  if (map.mode == MapMode::im2col) {
    detail::walk_pixels(route, map, coordinates, visit);
  } else if (tensor_map::is_wide(map.mode)) {
    detail::walk_width(route, map, coordinates, visit);
  } else {
    std::uint32_t tile = 0;
    detail::walk_level(route, route.levels - 1, route.address, tile, route.inside, visit);
  }
}

// The same of a store or a reduction: runs inside the tensor, in pieces of 16 bytes. Where the innermost dimension ends
// within one, the rest of it is read and written too.
template <class Visit>
void for_each_stored_run(const Fields& map, const Coordinates& coordinates, Visit&& visit) {
  for_each_run(map, coordinates, [&](const Run& run) {
    if (run.inside) visit(Run{run.global, run.tile, (run.bytes + 15) / 16 * 16, true});
  });
}

}  // namespace wm::vgpu::copy
