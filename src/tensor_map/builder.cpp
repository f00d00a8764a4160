// From views to specifications, and to the fields that a map is made of.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tensor_map/fields.hpp"
#include "tensor_map/rules.hpp"
#include "warpmill/error.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm {
namespace {

// What every map of a view has in common.
TensorMapSpec of_view(const View& view) {
  if (!view.shape.empty() && view.shape.back() > 1 && view.strides.back() != 1)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("tensor map refused: the view's innermost dimension has a stride of {} elements\n"
                            "  rule: the innermost dimension is contiguous\n"
                            "  fix: permute the view so that its contiguous dimension comes last (strides are {})",
                            view.strides.back(), fmt::join(view.strides, ", ")));
  TensorMapSpec spec;
  spec.element = map_element(view.dtype);
  spec.address = view.address;
  spec.dims = view.shape;
  const auto element_bytes = static_cast<std::int64_t>(size_of(view.dtype));
  constexpr std::int64_t too_long = std::int64_t{1} << 48;  // for any stride, and far from overflow
  for (std::size_t i = 0; i + 1 < view.shape.size(); ++i) {
    std::int64_t bytes = std::clamp(view.strides[i], -too_long, too_long) * element_bytes;
    // Nothing is reached through the stride of a dimension of one element, but it must be a legal one.
    if (view.shape[i] == 1) bytes = std::clamp<std::int64_t>((bytes + 15) / 16 * 16, 16, (std::int64_t{1} << 40) - 16);
    spec.strides.push_back(bytes);
  }
  spec.l2_promotion = L2Promotion::b128;
  return spec;
}

}  // namespace

TensorMapSpec TensorMapSpec::tiled(const View& view, std::vector<std::int64_t> box, Swizzle swizzle) {
  TensorMapSpec spec = of_view(view);
  spec.box = std::move(box);
  spec.swizzle = swizzle;
  return spec;
}

TensorMapSpec TensorMapSpec::im2col(const View& view, std::vector<std::int64_t> lower_corner,
                                    std::vector<std::int64_t> upper_corner, std::int64_t channels_per_pixel,
                                    std::int64_t pixels_per_column, Swizzle swizzle) {
  TensorMapSpec spec = of_view(view);
  spec.mode = MapMode::im2col;
  spec.lower_corner = std::move(lower_corner);
  spec.upper_corner = std::move(upper_corner);
  spec.channels_per_pixel = channels_per_pixel;
  spec.pixels_per_column = pixels_per_column;
  spec.swizzle = swizzle;
  return spec;
}

void check(const TensorMapSpec& spec, const Architecture& arch) {
  if (const auto violation = tensor_map::first_refusal(spec, arch))
    throw Error(violation->rule->code, violation->refusal());
}

namespace tensor_map {
namespace {

// Copies a list with the outermost first into an array with the innermost first, or back.
template <class Array, class Value>
void reverse_into(Array& array, const std::vector<Value>& list) {
  for (std::size_t i = 0; i < list.size() && i < array.size(); ++i)
    array[i] = static_cast<typename Array::value_type>(list[list.size() - 1 - i]);
}
template <class Array>
std::vector<std::int64_t> reversed(const Array& array, std::size_t count) {
  std::vector<std::int64_t> list(count);
  for (std::size_t i = 0; i < count; ++i) list[i] = static_cast<std::int64_t>(array[count - 1 - i]);
  return list;
}

}  // namespace

Fields to_fields(const TensorMapSpec& spec) {
  Fields fields{.mode = spec.mode,
                .element = spec.element,
                .interleave = spec.interleave,
                .swizzle = spec.swizzle,
                .l2_promotion = spec.l2_promotion,
                .fill = spec.fill,
                .rank = static_cast<std::uint32_t>(spec.rank()),
                .address = spec.address};
  reverse_into(fields.dims, spec.dims);
  reverse_into(fields.strides, spec.strides);
  if (spec.element_strides.empty())
    for (std::size_t i = 0; i < spec.rank() && i < fields.element_strides.size(); ++i) fields.element_strides[i] = 1;
  else
    reverse_into(fields.element_strides, spec.element_strides);
  if (spec.mode == MapMode::tiled) {
    reverse_into(fields.box, spec.box);
  } else {
    reverse_into(fields.lower, spec.lower_corner);
    reverse_into(fields.upper, spec.upper_corner);
    fields.channels = static_cast<std::uint32_t>(spec.channels_per_pixel);
    fields.pixels = static_cast<std::uint32_t>(spec.pixels_per_column);
  }
  return fields;
}

TensorMapSpec to_spec(const Fields& fields) {
  TensorMapSpec spec{.mode = fields.mode,
                     .element = fields.element,
                     .address = fields.address,
                     .dims = reversed(fields.dims, fields.rank),
                     .strides = reversed(fields.strides, fields.rank - 1),
                     .element_strides = reversed(fields.element_strides, fields.rank),
                     .interleave = fields.interleave,
                     .swizzle = fields.swizzle,
                     .l2_promotion = fields.l2_promotion,
                     .fill = fields.fill};
  if (fields.mode == MapMode::tiled) {
    spec.box = reversed(fields.box, fields.rank);
  } else {
    spec.lower_corner = reversed(fields.lower, corner_offsets(fields.mode, fields.rank));
    spec.upper_corner = reversed(fields.upper, corner_offsets(fields.mode, fields.rank));
    spec.channels_per_pixel = fields.channels;
    spec.pixels_per_column = fields.pixels;
  }
  return spec;
}

}  // namespace tensor_map
}  // namespace wm
