// Arguments of a case file: addresses, numbers, tensor maps, and structs of them.
#include "read_arguments.hpp"

#include <bit>

#include <fmt/format.h>

namespace wm::cases {
namespace {

std::vector<std::byte> hexadecimal(const Field& field) {
  const std::string& digits = field.string();
  auto value = [&](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    field.refuse(fmt::format("'{}' is no hexadecimal digit", c));
  };
  if (digits.size() % 2) field.refuse("an even number of hexadecimal digits is expected");
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(value(digits[i]) * 16 + value(digits[i + 1])));
  return bytes;
}

// Of what C++ may align in more than one way.
std::size_t alignment(const Field& field, std::size_t usual) {
  const auto given = field.find("alignment");
  if (!given) return usual;
  const std::uint64_t wanted = given->unsigned_integer(256);
  if (!std::has_single_bit(wanted)) given->refuse("an alignment is a power of two, 1 to 256");
  return wanted;
}

ScalarArgument read_scalar(const Field& field) {
  field.only({"buffer", "tensor_map", "struct", "pointer", "bytes", "i8", "u8", "i16", "u16", "i32", "u32", "i64",
              "u64", "f16", "bf16", "f32", "f64"});
  const std::string& kind = field.single_key();
  const Field value = field.at(kind);
  ScalarArgument scalar;
  const DType type = dtype_from_name(kind);
  const auto bits = element(value, type);
  scalar.bytes.assign(bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(size_of(type)));
  scalar.alignment = size_of(type);
  // A 16-bit float may be declared as bits or as a struct: only its size is checked.
  scalar.kind = !is_floating(type)   ? ParameterKind::integer
                : size_of(type) >= 4 ? ParameterKind::floating
                                     : ParameterKind::unknown;
  return scalar;
}

// Dims, strides and element strides: the buffer's own, or what the field says instead.
void read_extent(const Field& field, const Layout& layout, TensorMapSpec& map) {
  const auto dims = field.find("dims"), strides = field.find("strides"), steps = field.find("element_strides");
  map.dims = dims ? integers(*dims, 0) : layout.shape;
  const std::size_t rank = map.dims.size();
  std::vector<std::int64_t> elements = layout.strides;
  if (strides) {
    elements = integers(*strides, 0);
    if (elements.size() + 1 == rank) elements.push_back(1);
  } else if (dims) {
    try {
      elements = make_layout(layout.dtype, map.dims).strides;
    } catch (const Error& error) {
      dims->refuse(error.what());
    }
  }
  const Field& origin = strides ? *strides : dims ? *dims : field;
  if (elements.size() != rank)
    origin.refuse("one stride a dimension is expected; the innermost, always 1, may be left out");
  if (rank > 0 && elements.back() != 1) origin.refuse("the innermost stride of a tensor map is always 1");
  const auto bits = static_cast<std::int64_t>(bits_of(map.element));
  for (std::size_t d = 0; d + 1 < rank; ++d) {
    std::int64_t stride_bits = 0;
    if (__builtin_mul_overflow(elements[d], bits, &stride_bits)) origin.refuse("a stride is too large");
    if (stride_bits % 8) origin.refuse("a stride is not a whole number of bytes");
    map.strides.push_back(stride_bits / 8);
  }
  if (steps) map.element_strides = integers(*steps, 0);
  if (steps && map.element_strides.size() != rank) steps->refuse("one element stride a dimension is expected");
}

template <class Name>
void read_name(const Field& field, std::string_view name, Name (*from_name)(std::string_view), Name& result) {
  if (const auto value = field.find(name)) result = named(*value, from_name);
}

void read_im2col(const Field& field, TensorMapSpec& map) {
  field.only({"lower_corner", "upper_corner", "channels_per_pixel", "pixels_per_column"});
  map.mode = MapMode::im2col;
  if (map.rank() < 3 || map.rank() > 5)
    field.refuse(fmt::format("an im2col map has 3 to 5 dimensions, this one {}", map.rank()));
  auto corner = [&](std::string_view name) {
    const Field value = field.at(name);
    auto offsets = integers(value, INT16_MIN, INT16_MAX);
    if (offsets.size() != map.rank() - 2)
      value.refuse(fmt::format("{} offsets are expected, one a spatial dimension", map.rank() - 2));
    return offsets;
  };
  map.lower_corner = corner("lower_corner");
  map.upper_corner = corner("upper_corner");
  map.channels_per_pixel = field.at("channels_per_pixel").integer(0, INT32_MAX);
  map.pixels_per_column = field.at("pixels_per_column").integer(0, INT32_MAX);
}

TensorMapArgument read_tensor_map(const Field& field, const BufferList& buffers) {
  field.only({"buffer", "offset", "dtype", "dims", "strides", "box", "element_strides", "swizzle", "interleave",
              "l2_promotion", "fill", "im2col"});
  TensorMapArgument argument;
  TensorMapSpec& map = argument.map;
  const Field buffer = field.at("buffer");
  argument.buffer = buffers.index(buffer);
  argument.offset = buffers.offset(field, argument.buffer);
  const Layout& layout = buffers.layout(argument.buffer);
  map.element = map_element(layout.dtype);
  read_name(field, "dtype", map_element_from_name, map.element);
  read_name(field, "swizzle", swizzle_from_name, map.swizzle);
  read_name(field, "interleave", interleave_from_name, map.interleave);
  read_name(field, "l2_promotion", l2_promotion_from_name, map.l2_promotion);
  read_name(field, "fill", out_of_bounds_from_name, map.fill);
  read_extent(field, layout, map);
  if (const auto im2col = field.find("im2col")) {
    if (const auto box = field.find("box")) box->refuse("an im2col map has no box");
    read_im2col(*im2col, map);
  } else {
    const Field box = field.at("box");
    map.box = integers(box, 0);
    if (map.box.size() != map.rank())
      box.refuse(fmt::format("the tensor has {} dimensions, the box {}", map.rank(), map.box.size()));
  }
  return argument;
}

}  // namespace

ArgumentSpec read_argument(const Field& field, const BufferList& buffers) {
  ArgumentSpec argument;
  argument.place = field.place();
  if (const auto buffer = field.find("buffer")) {
    field.only({"buffer", "offset"});
    BufferArgument value;
    value.buffer = buffers.index(*buffer);
    value.offset = buffers.offset(field, value.buffer);
    argument.value = value;
  } else if (const auto map = field.find("tensor_map")) {
    field.only({"tensor_map", "alignment"});
    TensorMapArgument value = read_tensor_map(*map, buffers);
    value.alignment = alignment(field, value.alignment);
    argument.value = std::move(value);
  } else if (const auto members = field.find("struct")) {
    field.only({"struct"});
    StructArgument value;
    for (const Field& member : members->items()) value.members.push_back(read_argument(member, buffers));
    if (value.members.empty()) members->refuse("a struct has at least one member");
    argument.value = std::move(value);
  } else if (const auto pointee = field.find("pointer")) {
    field.only({"pointer"});
    argument.value = PointerArgument{std::make_shared<const ArgumentSpec>(read_argument(*pointee, buffers))};
  } else if (const auto bytes = field.find("bytes")) {
    field.only({"bytes", "alignment"});
    argument.value = ScalarArgument{.bytes = hexadecimal(*bytes), .alignment = alignment(field, 1)};
  } else {
    argument.value = read_scalar(field);
  }
  return argument;
}

}  // namespace wm::cases
