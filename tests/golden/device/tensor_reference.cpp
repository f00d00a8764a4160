// The reference of tensor copies.
#include "tensor_reference.hpp"

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

}  // namespace

void for_each_element(const TensorMapSpec& spec, const Place& place,
                      const std::function<void(std::int64_t, std::int64_t)>& visit) {
  const auto size = static_cast<std::int64_t>(bits_of(spec.element) / 8);
  const int rank = static_cast<int>(spec.rank());
  const Axis dims = reversed(spec.dims, 1), steps = reversed(spec.element_strides, 1), box = reversed(spec.box, 1);
  Axis strides = reversed(spec.strides, 0);  // of dimensions 1, 2, ...
  const std::int64_t slice = spec.interleave == Interleave::b16 ? 16 : spec.interleave == Interleave::b32 ? 32 : 0;
  std::int64_t tile = 0;

  // One element at coordinates `at`. Interleaved channels lie in slices: a slice's pixels along the second dimension
  // are a slice apart, and the first stride leads from slice to slice.
  const auto element = [&](const Axis& at) {
    bool inside = true;
    std::int64_t global = 0;
    for (int d = 0; d < rank; ++d) inside = inside && at[d] >= 0 && at[d] < dims[d];
    for (int d = 2; d < rank; ++d) global += at[d] * strides[d - 1];
    if (slice == 0)
      global += at[0] * size + (rank > 1 ? at[1] * strides[0] : 0);
    else
      global += at[0] * size / slice * strides[0] + at[0] * size % slice + at[1] * slice;
    visit(swizzled(tile, spec.swizzle), inside ? global : -1);
    tile += size;
  };

  if (spec.mode == MapMode::im2col) {
    const Axis lower = reversed(spec.lower_corner, 0), upper = reversed(spec.upper_corner, 0);
    Axis base{};
    for (int d = 0; d < rank; ++d) base[d] = place.at[static_cast<std::size_t>(d)];
    for (std::int64_t pixel = 0; pixel < spec.pixels_per_column; ++pixel) {
      for (std::int64_t channel = 0; channel < spec.channels_per_pixel; ++channel) {
        Axis at = base;
        at[0] += channel;
        for (int d = 1; d < rank - 1; ++d) at[d] += place.offset[static_cast<std::size_t>(d - 1)];
        element(at);
      }
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

  Axis counts;
  counts.fill(1);
  for (int d = 0; d < rank; ++d) counts[d] = d == 0 && slice == 0 ? box[0] : (box[d] + steps[d] - 1) / steps[d];
  // The order in which dimensions vary in the tile, fastest first: interleaved slices come after all pixels of an
  // image.
  std::vector<int> order;
  for (int d = 1; d < rank; ++d) order.push_back(d);
  const std::int64_t per_slice = slice / size;
  const std::int64_t slices = slice ? (box[0] + per_slice - 1) / per_slice : 1;
  std::function<void(std::size_t, Axis&, std::int64_t)> walk = [&](std::size_t left, Axis& index, std::int64_t part) {
    if (left == 0) {
      Axis at{};
      for (int d = 1; d < rank; ++d) at[d] = place.at[static_cast<std::size_t>(d)] + index[d] * steps[d];
      const std::int64_t first = slice ? part * per_slice : 0, count = slice ? per_slice : counts[0];
      for (std::int64_t i = 0; i < count; ++i) {
        at[0] = place.at[0] + first + i;
        element(at);
      }
      return;
    }
    const int d = order[left - 1];
    // Slices vary just inside the outermost dimension.
    for (index[d] = 0; index[d] < counts[d]; ++index[d]) {
      if (slice && left == order.size())
        for (std::int64_t s = 0; s < slices; ++s) walk(left - 1, index, s);
      else
        walk(left - 1, index, part);
    }
  };
  Axis index{};
  walk(order.size(), index, 0);
}

}  // namespace wm::golden
