// The reference of tensor copies.
#include "tensor_reference.hpp"

#include <algorithm>

namespace wm::golden {

namespace {

using Axis = std::array<std::int64_t, 5>;

// Lists innermost first, as the manual counts.
Axis reversed(const std::vector<std::int64_t>& list, std::int64_t rest) {
  Axis out;
  out.fill(rest);
  for (std::size_t i = 0; i < list.size(); ++i) out[i] = list[list.size() - 1 - i];
  return out;
}

std::int64_t swizzled(std::int64_t offset, Swizzle swizzle) {
  const std::int64_t mask = swizzle == Swizzle::b128  ? 7
                            : swizzle == Swizzle::b64 ? 3
                            : swizzle == Swizzle::b32 ? 1
                                                      : 0;
  return offset ^ ((offset >> 7 & mask) << 4);
}

bool is_interleaved(const TensorMapSpec& spec) { return spec.interleave != Interleave::none; }

std::int64_t element_bytes(const TensorMapSpec& spec) { return static_cast<std::int64_t>(bits_of(spec.element) / 8); }

// What one step along the innermost dimension passes: an element, or an interleaved pixel, which is a slice of
// channels.
std::int64_t cell_bytes(const TensorMapSpec& spec) {
  return !is_interleaved(spec) ? element_bytes(spec) : spec.interleave == Interleave::b16 ? 16 : 32;
}

// Cells of the tile along each dimension; im2col: channels, then pixels.
Axis counts_of(const TensorMapSpec& spec) {
  Axis counts;
  counts.fill(1);
  if (spec.mode == MapMode::im2col) {
    counts[0] = spec.channels_per_pixel;
    counts[1] = spec.pixels_per_column;
    return counts;
  }
  const Axis box = reversed(spec.box, 1), steps = reversed(spec.element_strides, 1);
  for (std::size_t d = 0; d < spec.rank(); ++d)
    counts[d] = d == 0 && !is_interleaved(spec) ? box[0] : (box[d] + steps[d] - 1) / steps[d];
  if (is_interleaved(spec)) counts[spec.rank() - 2] = 1;  // one slice of channels, whatever the box says
  return counts;
}

// From one row of the tile to the next.
std::int64_t pitch_of(const TensorMapSpec& spec) {
  const std::int64_t row = counts_of(spec)[0] * cell_bytes(spec);
  return is_interleaved(spec) ? row : std::max(row, static_cast<std::int64_t>(span_of(spec.swizzle)));
}

}  // namespace

std::uint32_t extent_of(const TensorMapSpec& spec) {
  const Axis counts = counts_of(spec);
  return static_cast<std::uint32_t>(pitch_of(spec) * counts[1] * counts[2] * counts[3] * counts[4]);
}

void for_each_element(const TensorMapSpec& spec, const Place& place, End end,
                      const std::function<void(std::int64_t, std::int64_t)>& visit) {
  const std::int64_t size = element_bytes(spec), cell = cell_bytes(spec), pitch = pitch_of(spec);
  const int rank = static_cast<int>(spec.rank());
  const Axis steps = reversed(spec.element_strides, 1), strides = reversed(spec.strides, 0), counts = counts_of(spec);
  Axis dims = reversed(spec.dims, 1);
  const std::int64_t inner = dims[0];
  if (end == End::piece && !is_interleaved(spec)) dims[0] = (inner * size + 15) / 16 * 16 / size;

  const auto visit_cell = [&](std::int64_t tile, const Axis& at) {
    bool inside = true;
    std::int64_t global = at[0] * cell;
    for (int d = 0; d < rank; ++d) inside = inside && at[d] >= 0 && at[d] < dims[d];
    for (int d = 1; d < rank; ++d) global += at[d] * strides[d - 1];
    for (std::int64_t part = 0; part < cell; part += size)
      visit(swizzled(tile + part, spec.swizzle), inside ? global + part : -1);
  };
  Axis start{};
  for (int d = 0; d < rank; ++d) start[d] = place.at[static_cast<std::size_t>(d)];

  if (spec.mode == MapMode::im2col) {
    const Axis lower = reversed(spec.lower_corner, 0), upper = reversed(spec.upper_corner, 0);
    Axis base = start;
    for (std::int64_t pixel = 0; pixel < counts[1]; ++pixel) {
      Axis at = base;
      for (int d = 1; d < rank - 1; ++d) at[d] += place.offset[static_cast<std::size_t>(d - 1)];
      for (std::int64_t channel = 0; channel < counts[0]; ++channel, ++at[0])
        visit_cell(pixel * pitch + channel * size, at);
      // The next pixel of the bounding box, then of the next image.
      int d = 1;
      for (; d < rank - 1; ++d) {
        base[d] += steps[d];
        if (base[d] <= dims[d] - 1 + upper[d - 1]) break;
        base[d] = lower[d - 1];
      }
      if (d == rank - 1) ++base[rank - 1];
    }
    return;
  }
  const std::int64_t rows = counts[1] * counts[2] * counts[3] * counts[4];
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < counts[0]; ++i) {
      Axis at = start;
      at[0] += is_interleaved(spec) ? i * steps[0] : i;
      for (std::int64_t d = 1, rest = row; d < rank; rest /= counts[d++]) at[d] += rest % counts[d] * steps[d];
      visit_cell(row * pitch + i * cell, at);
    }
}

}  // namespace wm::golden
