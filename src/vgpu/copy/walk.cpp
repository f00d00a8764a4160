// How a map and coordinates become the levels of a walk.
#include "vgpu/copy/walk.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "vgpu/copy/swizzle.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu::copy {

using detail::Level;
using detail::Route;

Unit unit_of(const Fields& map) {
  const auto bits = static_cast<std::uint32_t>(bits_of(map.element));
  if (bits >= 8) return {1, bits / 8, bits / 8};
  if (map.element == MapElement::u4x16_align8) return {2, 1, 1};
  if (map.interleave != Interleave::none)
    throw Error(ErrorCode::unsupported,
                fmt::format("the virtual GPU does not copy interleaved tensors of {}", name_of(map.element)));
  return {16, 2 * bits, 16};
}

namespace {

std::optional<std::string> refusal_of_width(const Fields& map, const Coordinates& coordinates) {
  const std::uint32_t most_halo = map.mode == MapMode::im2col_w ? 511 : 31;
  constexpr std::uint32_t most_offset = 31;
  if (coordinates.halo > most_halo || coordinates.offsets[0] > most_offset)
    return fmt::format("an {} copy has a halo of {} pixels and an offset of {}: they are at most {} and {}",
                       name_of(map.mode), coordinates.halo, coordinates.offsets[0], most_halo, most_offset);
  const std::int64_t last = static_cast<std::int64_t>(map.dims[1]) - 1 + map.upper[0];
  if (coordinates.at[1] <= last) return std::nullopt;
  return fmt::format(
      "an {} copy begins at pixel {} along W, and the box of the map ends at {}: it may begin before the "
      "box, not behind it",
      name_of(map.mode), coordinates.at[1], last);
}

}  // namespace

std::optional<std::string> refusal_of_load(const Fields& map, const Coordinates& coordinates) {
  if (map.interleave != Interleave::none) return std::nullopt;
  if (tensor_map::is_wide(map.mode))
    if (auto refusal = refusal_of_width(map, coordinates)) return refusal;
  const Unit unit = unit_of(map);
  const std::int64_t at = coordinates.at[0];
  if (unit.pitch != unit.bytes) {
    if (at % 128 == 0) return std::nullopt;
    return fmt::format("the innermost coordinate {} of a tensor of {} is no multiple of 128", at, name_of(map.element));
  }
  if (at % unit.elements == 0 && at / unit.elements * unit.bytes % 16 == 0) return std::nullopt;
  return fmt::format(
      "the innermost coordinate {} of a tensor of {} is at byte {}: the copy engine goes in steps of 16 bytes, and the "
      "chip answers with an illegal instruction",
      at, name_of(map.element), at * static_cast<std::int64_t>(bits_of(map.element)) / 8);
}

std::optional<std::string> refusal_of_store(const Fields& map, const Coordinates& coordinates) {
  if (auto refusal = refusal_of_load(map, coordinates)) return refusal;
  if (const Unit unit = unit_of(map); unit.pitch != unit.bytes)
    return fmt::format("a tensor of {} is stored: what becomes of the gaps of its tile is not confirmed",
                       name_of(map.element));
  if (const std::array<std::int32_t, 3> none{}; map.lower != none || map.upper != none)
    return "a tensor store goes through an im2col map whose corners are not all 0: the chip answers with an illegal "
           "instruction; store through a map without corners";
  for (std::uint32_t i = 0; i < map.rank; ++i)
    if (coordinates.at[i] < 0)
      return fmt::format(
          "coordinate {} of a tensor store is {}: a box that is stored or reduced begins at no negative coordinate, "
          "and "
          "the chip answers with an illegal instruction",
          i, coordinates.at[i]);
  return std::nullopt;
}

namespace {

std::int64_t divided_up(std::int64_t value, std::int64_t divisor) { return (value + divisor - 1) / divisor; }

std::uint32_t slice_bytes(Interleave interleave) { return interleave == Interleave::b16 ? 16 : 32; }

// Without interleave a line is the box's innermost dimension, and the other dimensions are levels.
// With interleave (N C/8 D H W C8) the dimensions are, innermost first, W, H, D, the slices of channels, and N. A line
// is a pixel: a slice of 16 or 32 bytes, always whole, because the last one is padded in memory. A copy moves one
// slice, whatever the box says of that dimension.
Route unchecked_route(const Fields& map, const Coordinates& coordinates) {
  const Unit unit = unit_of(map);
  const bool interleaved = map.interleave != Interleave::none;
  const bool im2col = tensor_map::is_im2col(map.mode);
  const auto level = [&](std::uint32_t dim) {
    const std::int64_t step = map.element_strides[dim];
    const std::uint64_t stride = dim == 0 ? slice_bytes(map.interleave) : map.strides[dim - 1];
    return Level{static_cast<std::uint32_t>(divided_up(map.box[dim], step)), coordinates.at[dim], step,
                 static_cast<std::int64_t>(map.dims[dim]), stride};
  };
  Route route;
  route.address = map.address;
  if (interleaved) {
    const std::uint32_t channels = slice_bytes(map.interleave) / unit.bytes;
    route.line = {0, channels, channels, unit, slice_bytes(map.interleave)};
    const std::uint32_t slices = map.rank - 2;
    const Level slice = level(slices);
    route.address += static_cast<std::uint64_t>(slice.start) * slice.stride;
    route.inside = inside(slice, slice.start);
    for (std::uint32_t dim = 0; dim < map.rank; ++dim)
      if (dim != slices) route.level[route.levels++] = level(dim);
    return route;
  }
  const std::uint32_t units = (im2col ? map.channels : map.box[0]) / unit.elements;
  route.line = {coordinates.at[0] / static_cast<std::int64_t>(unit.elements),
                static_cast<std::int64_t>(map.dims[0] / unit.elements), units, unit,
                std::max(units * unit.pitch, static_cast<std::uint32_t>(span_of(map.swizzle)))};
  for (std::uint32_t dim = 1; dim < map.rank; ++dim) route.level[route.levels++] = level(dim);
  return route;
}

}  // namespace

namespace detail {

Route route(const Fields& map, const Coordinates& coordinates) {
  if (const auto refusal = refusal_of_load(map, coordinates)) throw Error(ErrorCode::execution, *refusal);
  return unchecked_route(map, coordinates);
}

}  // namespace detail

namespace {

// All lines of the tile, `bytes` each: at most 2^11, times 256 or 1024 a level, so that nothing overflows.
std::uint32_t times_lines(const Fields& map, const Coordinates& coordinates, const detail::Route& route,
                          std::uint64_t bytes) {
  constexpr std::uint64_t chunks = tensor_map::w128_pixels / tensor_map::w128_chunk;
  if (map.mode == MapMode::im2col_w128)
    bytes *= tensor_map::w128_pixels + chunks * coordinates.halo;
  else if (tensor_map::is_im2col(map.mode))
    bytes *= std::uint64_t{map.pixels} + coordinates.halo;
  else
    for (int i = 0; i < route.levels; ++i) bytes *= route.level[i].count;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

std::uint32_t tile_bytes(const Fields& map, const Coordinates& coordinates) {
  const Route route = unchecked_route(map, {});
  return times_lines(map, coordinates, route, route.line.bytes());
}

std::uint32_t tile_extent(const Fields& map, const Coordinates& coordinates) {
  const Route route = unchecked_route(map, {});
  return times_lines(map, coordinates, route, route.line.pitch);
}

// All lines but the last end before the last span begins, or fill the spans that they lie in: interleaved lines, which
// share one, follow each other without a gap.
std::uint64_t tile_end(const Fields& map, const Coordinates& coordinates, std::uint32_t tile) {
  const Route route = unchecked_route(map, {});
  const std::uint64_t extent = times_lines(map, coordinates, route, route.line.pitch);
  if (map.swizzle == Swizzle::none || extent > std::numeric_limits<std::uint32_t>::max() - tile) return tile + extent;
  constexpr std::uint32_t line_bytes = 128;  // no swizzle moves bytes out of such a line
  const auto last = static_cast<std::uint32_t>(tile + extent - 1), line = last / line_bytes * line_bytes;
  const bool interleaved = map.interleave != Interleave::none;
  const std::uint32_t first = interleaved ? line : last + 1 - route.line.pitch;
  const std::uint32_t end = interleaved ? last + 1 : first + route.line.extent();
  std::uint64_t touched = 0;
  for (std::uint32_t at = first; at < end; at += atom_of(map.swizzle))
    touched = std::max<std::uint64_t>(touched, swizzled(map.swizzle, at) + std::uint64_t{atom_of(map.swizzle)});
  return touched;
}

}  // namespace wm::vgpu::copy
