// Random tensor maps that break no rule, small or of any size: for the copy engine's tests and the agreement run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "warpmill/tensor_map.hpp"

namespace wm::test {

using Random = std::mt19937_64;

inline std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}
inline bool chance(Random& random, int percent) { return between(random, 1, 100) <= percent; }
inline std::int64_t multiple_above(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// A length in bytes; past what any stride can be, one more does not matter.
inline std::int64_t times(std::int64_t length, std::int64_t count) {
  constexpr std::int64_t most = std::int64_t{1} << 42;
  return count != 0 && length > most / count ? most : length * count;
}

enum class Size { small, any };  // small: the tensor takes at most about a megabyte

// A legal map. Its strides are what its layout in memory needs, and often more.
inline TensorMapSpec random_map(Random& random, MapMode mode, Size size) {
  TensorMapSpec spec;
  spec.mode = mode;
  spec.element = static_cast<MapElement>(between(random, 0, static_cast<int>(MapElement::tf32_ftz)));
  const std::int64_t bytes = static_cast<std::int64_t>(bits_of(spec.element)) / 8;
  const std::int64_t rank = between(random, mode == MapMode::im2col ? 3 : 1, 5);
  if (rank >= 3 && chance(random, 25)) spec.interleave = chance(random, 50) ? Interleave::b16 : Interleave::b32;
  spec.swizzle = spec.interleave == Interleave::b32 ? Swizzle::b32 : static_cast<Swizzle>(between(random, 0, 3));
  spec.l2_promotion = static_cast<L2Promotion>(between(random, 0, 3));
  if (is_floating(spec.element) && chance(random, 30)) spec.fill = OutOfBounds::nan;

  const std::int64_t largest = size == Size::small ? (rank <= 2 ? 60 : rank == 3 ? 20 : 8) : 3000;
  for (std::int64_t i = 0; i < rank; ++i) spec.dims.push_back(between(random, 1, largest));
  // Pixels of im2col are counted in 32 bits: there the images or the innermost dimension.
  if (size == Size::any && chance(random, 5)) {
    const bool whole = mode == MapMode::tiled || spec.interleave != Interleave::none;
    const std::int64_t last = mode == MapMode::tiled ? rank - 1 : 1;
    spec.dims[whole ? between(random, 0, last) : chance(random, 50) ? 0 : rank - 1] = std::int64_t{1} << 32;
  }

  // Innermost first: the row of elements or of interleaved pixels, then each dimension over the one inside it.
  const std::int64_t granule = spec.interleave == Interleave::b32 ? 32 : 16;
  const std::int64_t slice = granule / bytes;
  const auto padded = [&](std::int64_t length) {
    const std::int64_t padding = chance(random, 50) ? 0 : granule * between(random, 0, 3);
    return std::min(multiple_above(length, granule) + padding, (std::int64_t{1} << 40) - granule);
  };
  std::vector<std::int64_t> strides(static_cast<std::size_t>(rank - 1));  // innermost first
  const auto dim = [&](std::int64_t i) { return spec.dims[static_cast<std::size_t>(rank - 1 - i)]; };
  std::int64_t length = dim(0) * (spec.interleave == Interleave::none ? bytes : granule);
  for (std::int64_t i = 1; i < rank; ++i) length = times(strides[i - 1] = padded(length), dim(i));
  spec.strides.assign(strides.rbegin(), strides.rend());

  // The innermost dimension of the box in bytes: a multiple of 16, within the swizzle's span.
  const auto span = static_cast<std::int64_t>(span_of(spec.swizzle));
  std::int64_t inner = 0;
  if (spec.interleave == Interleave::none) {
    const std::int64_t most = std::min<std::int64_t>({span == 0 ? 256 : span, 256 * bytes});
    inner = 16 * between(random, 1, std::max<std::int64_t>(1, most / 16)) / bytes;
  } else {
    inner = std::min<std::int64_t>(256, slice * between(random, 1, 4));
  }
  const std::int64_t outer = size == Size::small ? (rank <= 2 ? 40 : 6) : 256;
  if (chance(random, 30))
    for (std::int64_t i = 0; i < rank; ++i) spec.element_strides.push_back(between(random, 1, 8));
  if (mode == MapMode::tiled) {
    for (std::int64_t i = 0; i + 1 < rank; ++i) spec.box.push_back(between(random, 1, outer));
    spec.box.push_back(inner);
    if (spec.interleave != Interleave::none && size == Size::small) spec.box[1] = between(random, 1, 20);  // slices
    // Within what the driver takes for shared memory, and often close to it.
    const auto fits = [&] {
      std::int64_t total = bytes;
      for (std::size_t i = 0; i < spec.box.size(); ++i)
        total *= spec.element_strides.empty() ? spec.box[i] : spec.box[i] / spec.element_strides[i];
      return total <= 228 * 1024;
    };
    while (!fits()) {
      auto& largest = *std::max_element(spec.box.begin(), spec.box.end() - 1);
      largest = largest * 7 / 8;
    }
    return spec;
  }
  const std::int64_t limit = rank == 3 ? 32768 : rank == 4 ? 128 : 16;
  const std::int64_t reach = size == Size::small ? 3 : limit;
  for (std::int64_t i = 0; i < rank - 2; ++i) {
    const std::int64_t extent = spec.dims[static_cast<std::size_t>(i + (spec.interleave == Interleave::none ? 1 : 2))];
    const std::int64_t lower = between(random, -reach, std::min(reach - 1, extent - 1));
    spec.lower_corner.push_back(lower);
    // At least one pixel: lower <= extent - 1 + upper.
    spec.upper_corner.push_back(between(random, std::max(-limit, lower - extent + 1), std::max(-limit, reach - 1)));
  }
  spec.channels_per_pixel = inner;
  const std::int64_t pixels = std::min<std::int64_t>(1024, 228 * 1024 / (inner * bytes));
  spec.pixels_per_column = between(random, 1, size == Size::small ? 70 : pixels);
  return spec;
}

}  // namespace wm::test
