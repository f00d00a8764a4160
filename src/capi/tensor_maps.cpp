// Tensor maps for C.
#include "capi/boundary.hpp"
#include "warpmill/tensor_map.hpp"

using namespace wm;
using namespace wm::capi;

namespace {

TensorMapSpec spec_of(const wm_tensor_map_request* request) {
  const wm_tensor_map_request given = read(request, "request");
  const std::size_t rank = given.rank;
  constexpr std::size_t most_dimensions = 16;  // more than a map may have, which has words of its own
  if (rank > most_dimensions)
    throw Error(ErrorCode::invalid_argument, "a tensor map has 1 to 5 dimensions, not " + std::to_string(rank));
  TensorMapSpec spec;
  spec.mode = given.box ? MapMode::tiled : MapMode::im2col;
  spec.element = map_element_from_name(&at(given.element, "element"));
  spec.address = given.address;
  spec.dims = list_of(given.dims, rank);
  spec.strides = list_of(given.strides, rank > 0 ? rank - 1 : 0);
  spec.element_strides = list_of(given.element_strides, rank);
  spec.box = list_of(given.box, rank);
  if (given.interleave) spec.interleave = interleave_from_name(given.interleave);
  if (given.swizzle) spec.swizzle = swizzle_from_name(given.swizzle);
  if (given.l2_promotion) spec.l2_promotion = l2_promotion_from_name(given.l2_promotion);
  if (given.fill) spec.fill = out_of_bounds_from_name(given.fill);
  const std::size_t corners = rank > 2 ? rank - 2 : 0;
  spec.lower_corner = list_of(given.lower_corner, corners);
  spec.upper_corner = list_of(given.upper_corner, corners);
  spec.channels_per_pixel = given.channels_per_pixel;
  spec.pixels_per_column = given.pixels_per_column;
  return spec;
}

}  // namespace

wm_status wm_tensor_map_make(const wm_device* device, const wm_tensor_map_request* request, unsigned char map[128]) {
  return guarded([&] {
    const TensorMap made = make_tensor_map(at(device, "device").device, spec_of(request));
    std::memcpy(&at(map, "map"), made.bytes, sizeof made.bytes);
  });
}

wm_status wm_tensor_map_describe(const wm_device* device, const wm_tensor_map_request* request, const char** text) {
  return guarded(
      [&] { at(text, "text") = thread_text(spec_of(request).describe(at(device, "device").device.info().arch)); });
}
