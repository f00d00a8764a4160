// Packing and unpacking of the virtual device's tensor map, and tensormap.replace on it.
#include "tensor_map/virtual_form.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tensor_map/hardware_form.hpp"
#include "tensor_map/packed.hpp"
#include "tensor_map/rules.hpp"
#include "warpmill/error.hpp"

namespace wm::tensor_map {
namespace {

Packed read(std::span<const std::byte, 128> bytes) {
  const auto first_half = bytes.first<hardware_bytes>();
  if (is_hardware_form(first_half)) return read_hardware_form(first_half);
  Packed packed;
  std::memcpy(&packed, bytes.data(), sizeof(packed));
  if (packed.magic != packed_magic)
    throw Error(ErrorCode::invalid_argument,
                "these 128 bytes are no tensor map, neither the virtual device's nor one in the hardware's own "
                "form: make the map for this device with make_tensor_map, and pass it by value or copy all 128 bytes");
  if (packed.version != packed_version || packed.zero != decltype(packed.zero){} || packed.tail != 0)
    throw Error(ErrorCode::invalid_argument,
                "this tensor map of the virtual device was overwritten: its reserved bytes have changed");
  return packed;
}

// What tensormap.replace finds. Nothing but zeros is a tiled map whose fields are still to come: compilers clear 128
// bytes and put every field in (Triton's tl.make_tensor_descriptor), which the hardware takes.
Packed read_or_begin(std::span<const std::byte, 128> bytes) {
  if (std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{}; })) return read(bytes);
  return begin_packed();
}

template <class T>
T saturate(std::uint64_t value) {
  return static_cast<T>(std::min<std::uint64_t>(value, std::numeric_limits<T>::max()));
}

// PTX gives swizzles as a span and, for 128 bytes, an atom.
struct SwizzleCode {
  std::uint8_t mode, atomicity;
};
constexpr std::array<SwizzleCode, 7> swizzle_codes{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {3, 1}, {3, 2}, {3, 3}}};
std::optional<Swizzle> swizzle_of(std::uint8_t mode, std::uint8_t atomicity) {
  for (std::size_t i = 0; i < swizzle_codes.size(); ++i)
    if (swizzle_codes[i].mode == mode && swizzle_codes[i].atomicity == atomicity) return static_cast<Swizzle>(i);
  return std::nullopt;
}

template <class Enum>
Enum enumerator(std::string_view field, std::uint8_t value, Enum last) {
  if (value > static_cast<std::uint8_t>(last))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("this tensor map has {} {}, which does not exist", field, value));
  return static_cast<Enum>(value);
}

constexpr std::array<std::string_view, 11> replaceable_names{
    "global_address", "rank",     "box_dim",           "global_dim",   "global_stride",
    "element_stride", "elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity",
    "fill_mode"};

}  // namespace

TensorMap encode_virtual(const TensorMapSpec& spec) {
  const Fields fields = to_fields(spec);
  const SwizzleCode swizzle = swizzle_codes.at(static_cast<std::size_t>(fields.swizzle));
  Packed packed = begin_packed();
  packed.mode = static_cast<std::uint8_t>(fields.mode);
  packed.rank = saturate<std::uint8_t>(fields.rank);
  packed.element = static_cast<std::uint8_t>(fields.element);
  packed.interleave = static_cast<std::uint8_t>(fields.interleave);
  packed.swizzle_mode = swizzle.mode;
  packed.swizzle_atomicity = swizzle.atomicity;
  packed.l2_promotion = static_cast<std::uint8_t>(fields.l2_promotion);
  packed.fill = static_cast<std::uint8_t>(fields.fill);
  packed.address = fields.address;
  packed.dims = fields.dims;
  packed.strides = fields.strides;
  for (int i = 0; i < max_rank; ++i) {
    packed.box[i] = saturate<std::uint16_t>(fields.box[i]);
    packed.element_strides[i] = saturate<std::uint8_t>(fields.element_strides[i]);
  }
  for (int i = 0; i < 3; ++i) {
    packed.lower[i] = static_cast<std::int16_t>(std::clamp(fields.lower[i], -32768, 32767));
    packed.upper[i] = static_cast<std::int16_t>(std::clamp(fields.upper[i], -32768, 32767));
  }
  packed.channels = saturate<std::uint16_t>(fields.channels);
  packed.pixels = saturate<std::uint16_t>(fields.pixels);
  TensorMap map;
  std::memcpy(map.bytes, &packed, sizeof(packed));
  return map;
}

Fields decode_virtual(std::span<const std::byte, 128> bytes, const Architecture& chip) {
  const Packed packed = read(bytes);
  Fields fields;
  fields.mode = enumerator("mode", packed.mode, MapMode::im2col_w128);
  fields.element = enumerator("element type", packed.element, MapElement::u6x16_align16);
  fields.interleave = enumerator("interleave", packed.interleave, Interleave::b32);
  fields.l2_promotion = enumerator("L2 promotion", packed.l2_promotion, L2Promotion::b256);
  fields.fill = enumerator("out-of-bounds fill", packed.fill, OutOfBounds::nan);
  const auto swizzle = swizzle_of(packed.swizzle_mode, packed.swizzle_atomicity);
  if (!swizzle)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("this tensor map has swizzle mode {} with atomicity {}, which does not exist",
                            packed.swizzle_mode, packed.swizzle_atomicity));
  fields.swizzle = *swizzle;
  const int least_rank = is_im2col(fields.mode) ? 3 : 1;
  if (packed.rank < least_rank || packed.rank > max_rank)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("this tensor map has {} dimensions: {}", packed.rank, rule("rank").text));
  fields.rank = packed.rank;
  fields.address = packed.address;
  // A replaced rank leaves fields of the old one behind: only the dimensions there are now count.
  for (std::uint32_t i = 0; i < fields.rank; ++i) {
    fields.dims[i] = packed.dims[i];
    fields.element_strides[i] = packed.element_strides[i];
    if (i > 0) fields.strides[i - 1] = packed.strides[i - 1];
  }
  if (fields.mode == MapMode::tiled) {
    std::copy_n(packed.box.begin(), fields.rank, fields.box.begin());
  } else {
    std::copy_n(packed.lower.begin(), corner_offsets(fields.mode, fields.rank), fields.lower.begin());
    std::copy_n(packed.upper.begin(), corner_offsets(fields.mode, fields.rank), fields.upper.begin());
    fields.channels = packed.channels;
    fields.pixels = packed.pixels;
  }
  if (const auto violation = first_refusal(to_spec(fields), chip))
    throw Error(ErrorCode::invalid_argument, violation->refusal());
  return fields;
}

Replaceable replaceable_from_name(std::string_view name) {
  const auto found = std::find(replaceable_names.begin(), replaceable_names.end(), name);
  if (found == replaceable_names.end())
    throw Error(ErrorCode::invalid_argument, fmt::format("tensormap.replace has no field '{}'; there are: {}", name,
                                                         fmt::join(replaceable_names, ", ")));
  return static_cast<Replaceable>(found - replaceable_names.begin());
}

void replace(std::span<std::byte, 128> bytes, Replaceable field, std::uint32_t ordinal, std::uint64_t value) {
  Packed packed = read_or_begin(bytes);
  const std::string_view name = replaceable_names.at(static_cast<std::size_t>(field));
  if (packed.mode != static_cast<std::uint8_t>(MapMode::tiled))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("tensormap.replace.tile.{} on an im2col map: only tiled maps can be changed", name));
  const auto choice = [&](std::uint64_t count) {
    if (value >= count)
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("tensormap.replace.tile.{}: value {} does not exist, the largest is {}", name, value, count - 1));
    return static_cast<std::uint8_t>(value);
  };
  const auto dimension = [&](std::uint32_t count) {
    if (ordinal >= count)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("tensormap.replace.tile.{}: ordinal {} is past the last, {}", name, ordinal, count - 1));
    return ordinal;
  };
  switch (field) {
    case Replaceable::global_address: packed.address = value; break;
    case Replaceable::rank: packed.rank = static_cast<std::uint8_t>(choice(max_rank) + 1); break;
    case Replaceable::box_dim: packed.box[dimension(max_rank)] = saturate<std::uint16_t>(value); break;
    case Replaceable::global_dim: packed.dims[dimension(max_rank)] = value; break;
    case Replaceable::global_stride: packed.strides[dimension(max_rank - 1)] = value; break;
    case Replaceable::element_stride:
      packed.element_strides[dimension(max_rank)] = saturate<std::uint8_t>(value);
      break;
    case Replaceable::elemtype:
      packed.element = static_cast<std::uint8_t>(ptx_elements[choice(ptx_elements.size())]);
      break;
    case Replaceable::interleave_layout: packed.interleave = choice(3); break;
    case Replaceable::swizzle_mode: packed.swizzle_mode = choice(4); break;
    case Replaceable::swizzle_atomicity: packed.swizzle_atomicity = choice(4); break;
    case Replaceable::fill_mode: packed.fill = choice(2); break;
  }
  std::memcpy(bytes.data(), &packed, sizeof(packed));
}

}  // namespace wm::tensor_map
