// What tensor copies do, element by element: the definition that the copy engine is held to.
#pragma once

#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "tensor_map/random_copies.hpp"

namespace wm::test {

using tensor_map::Fields;
using vgpu::copy::Coordinates;

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

  // Pixel `k` of a walk along W alone, by division: the rest of the first image, then whole boxes.
  std::vector<Element> width() const {
    const std::int64_t step = map.element_strides[1], offset = coordinates.offsets[0];
    const std::int64_t start = coordinates.at[1] + offset, lower = map.lower[0] + offset,
                       last = static_cast<std::int64_t>(map.dims[1]) - 1 + map.upper[0] + offset;
    const std::int64_t first_image = (last - start) / step + 1, other_images = (last - lower) / step + 1;
    std::vector<Element> elements;
    const auto add = [&](std::int64_t row, std::int64_t k) {
      std::vector<std::int64_t> at(coordinates.at.begin(), coordinates.at.begin() + map.rank);
      const std::int64_t behind = k - first_image;
      at[1] = behind < 0 ? start + k * step : lower + behind % other_images * step;
      if (behind >= 0) at[map.rank - 1] += (1 + behind / other_images) * map.element_strides[map.rank - 1];
      for (std::uint32_t c = 0; c < map.channels; ++c, ++at[0])
        add_cell(elements, row * pitch(map.channels) + c * cell, at);
    };
    const bool chunked = map.mode == MapMode::im2col_w128;
    const std::int64_t pixels = chunked ? 128 : map.pixels, chunks = chunked ? 4 : 1, chunk = pixels / chunks;
    for (std::int64_t k = 0; k < pixels; ++k) add(k, k);
    for (std::int64_t c = 0; c < chunks; ++c)
      for (std::int64_t h = 0; h < coordinates.halo; ++h) add(pixels + h * chunks + c, (c + 1) * chunk + h);
    return elements;
  }

  std::vector<Element> elements() const {
    return map.mode == MapMode::tiled ? tiled() : map.mode == MapMode::im2col ? im2col() : width();
  }
};

// The place of a byte by the manual's tables: the chunk's column exchanged according to the line it is in.
inline std::uint32_t placed(Swizzle swizzle, std::uint32_t address) {
  const std::uint32_t line = address / 128, column = address % 128;
  switch (swizzle) {
    case Swizzle::none: return address;
    case Swizzle::b32: return line * 128 + ((column / 16) ^ (line % 2)) * 16 + column % 16;
    case Swizzle::b64: return line * 128 + ((column / 16) ^ (line % 4)) * 16 + column % 16;
    case Swizzle::b128: return line * 128 + ((column / 16) ^ (line % 8)) * 16 + column % 16;
    case Swizzle::b128_atom32: return line * 128 + ((column / 32) ^ (line % 4)) * 32 + column % 32;
    case Swizzle::b128_atom32_flip8: {  // the halves of 16 bytes change places in odd lines
      const std::uint32_t half = (column / 8) ^ (line % 2);
      return line * 128 + ((half / 4) ^ (line % 4)) * 32 + half % 4 * 8 + column % 8;
    }
    case Swizzle::b128_atom64: return line * 128 + ((column / 64) ^ (line % 2)) * 64 + column % 64;
  }
  return address;
}

inline std::uint32_t as_tf32(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  if (std::isnan(value)) return 0x7fffe000;
  if (std::isinf(value)) return bits;
  const float grid = std::ldexp(1.f, std::max(std::ilogb(value), -126) - 10);
  const float rounded = value == 0 ? value : static_cast<float>(std::nearbyint(double{value} / grid) * grid);
  std::memcpy(&bits, &rounded, 4);
  return bits;
}

// Where the byte at an offset from the tile's first lies in `shared`, whose first byte has the address 0.
inline std::size_t place_of(const RandomCopy& copy, std::uint32_t offset, std::size_t bytes,
                            const std::vector<std::byte>& shared) {
  const std::size_t place = placed(copy.map.swizzle, copy.tile + offset);
  if (place + bytes > shared.size()) throw Error(ErrorCode::execution, "outside shared memory");
  return place;
}

// Shared memory after a load. Like the others it throws where the copy leaves either memory.
inline void defined_load(const RandomCopy& copy, HostMemory& global, std::vector<std::byte>& shared) {
  const std::size_t bytes = bits_of(copy.map.element) / 8;
  for (const Element& element : Definition{copy.map, copy.coordinates}.elements()) {
    std::array<std::byte, 8> value{};
    if (element.address) {
      std::memcpy(value.data(), global.readable(*element.address, bytes), bytes);
      if (copy.map.element == MapElement::tf32 || copy.map.element == MapElement::tf32_ftz) {
        std::uint32_t bits;
        std::memcpy(&bits, value.data(), 4);
        bits = as_tf32(bits);
        std::memcpy(value.data(), &bits, 4);
      }
    } else if (copy.map.fill == OutOfBounds::nan) {
      for (std::size_t i = 0; i < bytes; ++i) value[i] = i % 2 ? std::byte{0x7f} : std::byte{0xf7};
    }
    std::memcpy(&shared[place_of(copy, element.tile, bytes, shared)], value.data(), bytes);
  }
}

// Global memory after a reduction: update(destination, source, bytes) for each element inside.
template <class Update>
void defined_reduction(const RandomCopy& copy, HostMemory& global, const std::vector<std::byte>& shared,
                       Update&& update) {
  const std::size_t bytes = bits_of(copy.map.element) / 8;
  for (const Element& element : Definition{copy.map, copy.coordinates, true}.elements()) {
    const std::size_t place = place_of(copy, element.tile, bytes, shared);
    if (element.address) update(global.writable(*element.address, bytes), &shared[place], bytes);
  }
}
inline void defined_store(const RandomCopy& copy, HostMemory& global, const std::vector<std::byte>& shared) {
  defined_reduction(copy, global, shared,
                    [](std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); });
}

}  // namespace wm::test
