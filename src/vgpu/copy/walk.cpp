// How a map and coordinates become the levels of a walk.
#include "vgpu/copy/walk.hpp"

#include <limits>
#include <string>

#include "warpmill/error.hpp"

namespace wm::vgpu::copy {
namespace {

std::uint32_t element_bytes(const Fields& map) {
  const std::size_t bits = bits_of(map.element);
  if (bits < 8)
    throw Error(ErrorCode::unsupported, "the virtual GPU does not copy tensors of " +
                                            std::string(name_of(map.element)) + ", a Blackwell element type");
  return static_cast<std::uint32_t>(bits / 8);
}

std::int64_t divided_up(std::int64_t value, std::int64_t divisor) { return (value + divisor - 1) / divisor; }

std::uint32_t slice_bytes(Interleave interleave) { return interleave == Interleave::b16 ? 16 : 32; }

}  // namespace

namespace detail {

// Without interleave a line is the box's innermost dimension, and the other dimensions are one level each.
// With interleave (N C/8 D H W C8) a line is a slice: 16 or 32 bytes of channels, always whole, because the last one is
// padded in memory. Neighbours along W lie a slice apart, so the map's first stride is free for the way from slice to
// slice; in the tile all of a slice's pixels come before the next slice, and all slices of an image before the next
// image.
Route route(const Fields& map, const Coordinates& coordinates) {
  const std::uint32_t bytes = element_bytes(map);
  const auto channels = map.mode == MapMode::im2col ? map.channels : map.box[0];
  Route route;
  route.address = map.address;
  route.line = {coordinates.at[0], static_cast<std::int64_t>(map.dims[0]), channels, bytes};

  const auto outer_level = [&](std::uint32_t dim) {
    const std::int64_t step = map.element_strides[dim];
    return Level{static_cast<std::uint32_t>(divided_up(map.box[dim], step)), coordinates.at[dim], step,
                 static_cast<std::int64_t>(map.dims[dim]), map.strides[dim - 1]};
  };
  for (std::uint32_t dim = 1; dim < map.rank; ++dim) route.level[route.levels++] = outer_level(dim);
  if (map.interleave == Interleave::none) return route;

  const std::int64_t slice = slice_bytes(map.interleave) / bytes;
  if (coordinates.at[0] % slice != 0)
    throw Error(ErrorCode::execution, "the first coordinate of a copy with interleaved channels is " +
                                          std::to_string(coordinates.at[0]) + ", not a multiple of the " +
                                          std::to_string(slice) + " channels of a slice");
  const std::int64_t step = map.mode == MapMode::im2col ? 1 : map.element_strides[0];
  const Level slices{static_cast<std::uint32_t>(divided_up(divided_up(channels, slice), step)),
                     coordinates.at[0] / slice, step, divided_up(static_cast<std::int64_t>(map.dims[0]), slice),
                     map.strides[0]};
  route.line = {0, slice, static_cast<std::uint32_t>(slice), bytes};
  route.level[0].stride = slice_bytes(map.interleave);
  if (map.mode == MapMode::im2col) {
    route.slices = slices;
  } else {
    route.level[route.levels] = route.level[route.levels - 1];  // images stay outermost
    route.level[route.levels - 1] = slices;
    ++route.levels;
  }
  return route;
}

}  // namespace detail

std::uint32_t tile_bytes(const Fields& map) {
  const detail::Route route = detail::route(map, {});
  std::uint64_t bytes = route.line.bytes();  // at most 2^11, times 256 or 1024 a level: no overflow
  if (map.mode == MapMode::im2col)
    bytes *= std::uint64_t{route.slices.count} * map.pixels;
  else
    for (int i = 0; i < route.levels; ++i) bytes *= route.level[i].count;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace wm::vgpu::copy
