// Every rule of tensor maps, each a small function; the table at the end says which of them the driver enforces.
#include "tensor_map/rules.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

namespace wm::tensor_map {
namespace {

using Result = std::optional<Finding>;
constexpr std::int64_t largest_dim = std::int64_t{1} << 32;
constexpr std::int64_t stride_end = std::int64_t{1} << 40;
constexpr std::uint64_t address_end = std::uint64_t{1} << 57;
constexpr std::int64_t processor_shared = 228 * 1024;  // of a multiprocessor; a block gets 1 KiB less

// ---- words the rules share

bool is_packed(MapElement element) { return element >= MapElement::u4x16_align8; }
bool is_padded(MapElement element) {
  return element >= MapElement::u4x16_align16;
}  // packed with gaps in shared memory
std::int64_t bytes_of(const TensorMapSpec& spec, std::int64_t elements) {
  return elements * static_cast<std::int64_t>(bits_of(spec.element)) / 8;
}
std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Strides and address must be multiples of this.
std::int64_t granule(const TensorMapSpec& spec) {
  return spec.interleave == Interleave::b32 || is_padded(spec.element) ? 32 : 16;
}

// Bytes from one element of the innermost dimension to the next: interleaved, a pixel is a slice of channels.
std::int64_t inner_step(const TensorMapSpec& spec) {
  if (spec.interleave == Interleave::none) return bytes_of(spec, 1);
  return spec.interleave == Interleave::b16 ? 16 : 32;
}

// The part of the innermost dimension that one copy moves, under the name it has in the mode.
struct InnerBox {
  std::int64_t elements;
  std::string name;
};
InnerBox inner_box(const TensorMapSpec& spec) {
  if (is_im2col(spec.mode)) return {spec.channels_per_pixel, "channels_per_pixel"};
  return {spec.box.back(), fmt::format("box[{}]", spec.rank() - 1)};
}

// The first value of a list outside low..high.
Result range(std::string_view name, const std::vector<std::int64_t>& values, std::int64_t low, std::int64_t high,
             std::string_view fix) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] < low || values[i] > high)
      return Finding{fmt::format("{}[{}] = {} is not in {}..{}", name, i, values[i], low, high), std::string(fix)};
  return std::nullopt;
}

// ---- the device

Result architecture(const TensorMapSpec&, const Architecture& arch) {
  if (arch.number() >= 90) return std::nullopt;
  return Finding{fmt::format("{} has no tensor copy engine", arch.name()),
                 "copy with cp.async or plain loads on this device"};
}

Result blackwell_element(const TensorMapSpec& spec, const Architecture& arch) {
  if (!is_packed(spec.element) || arch.number() >= 100) return std::nullopt;
  return Finding{fmt::format("element type {} on {}", name_of(spec.element), arch.name()),
                 "move the packed bytes as u8 and unpack them in the kernel"};
}

Result blackwell_swizzle(const TensorMapSpec& spec, const Architecture& arch) {
  if (spec.swizzle <= Swizzle::b128 || arch.number() >= 100) return std::nullopt;
  return Finding{fmt::format("swizzle {} on {}", name_of(spec.swizzle), arch.name()), "use swizzle 128B"};
}

Result blackwell_mode(const TensorMapSpec& spec, const Architecture& arch) {
  if (!is_wide(spec.mode) || arch.number() >= 100) return std::nullopt;
  return Finding{fmt::format("an {} map on {}", name_of(spec.mode), arch.name()), "use an im2col map"};
}

// ---- shape of the specification

Result rank(const TensorMapSpec& spec, const Architecture&) {
  const std::size_t least = is_im2col(spec.mode) ? 3 : 1;
  if (spec.rank() >= least && spec.rank() <= 5) return std::nullopt;
  return Finding{fmt::format("the tensor has {} dimensions", spec.rank()),
                 spec.rank() > 5 ? "merge dimensions that lie behind each other in memory, or index the outermost ones "
                                   "by one map each"
                                 : "add dimensions of 1 element outside"};
}

Result lengths(const TensorMapSpec& spec, const Architecture&) {
  const auto wrong = [&](std::string_view name, std::size_t has, std::size_t wants) -> Result {
    if (has == wants) return std::nullopt;
    return Finding{fmt::format("{} has {} values for a tensor of {} dimensions", name, has, spec.rank()),
                   fmt::format("give {} values for {}, outermost dimension first", wants, name)};
  };
  if (auto finding = wrong("strides", spec.strides.size(), spec.rank() - 1)) return finding;
  if (!spec.element_strides.empty())
    if (auto finding = wrong("element_strides", spec.element_strides.size(), spec.rank())) return finding;
  if (spec.mode == MapMode::tiled) return wrong("box", spec.box.size(), spec.rank());
  const std::size_t offsets = corner_offsets(spec.mode, spec.rank());
  if (auto finding = wrong("lower_corner", spec.lower_corner.size(), offsets)) return finding;
  return wrong("upper_corner", spec.upper_corner.size(), offsets);
}

// ---- the tensor in global memory

Result address_alignment(const TensorMapSpec& spec, const Architecture&) {
  const auto multiple = static_cast<std::uint64_t>(granule(spec));
  if (spec.address % multiple == 0) return std::nullopt;
  return Finding{fmt::format("address = 0x{:x} is not a multiple of {}", spec.address, multiple),
                 "move the tensor: coordinates cannot make up for it, the innermost goes in steps of 16 bytes"};
}

Result address_range(const TensorMapSpec& spec, const Architecture&) {
  if (spec.address < address_end) return std::nullopt;
  return Finding{fmt::format("address = 0x{:x} has more than 57 bits", spec.address),
                 "give the address of device memory, without tags in its upper bits"};
}

Result dim_range(const TensorMapSpec& spec, const Architecture&) {
  return range("dims", spec.dims, 1, largest_dim, "skip the copy of an empty tensor; split a tensor that is larger");
}

Result packed_dim(const TensorMapSpec& spec, const Architecture&) {
  if (!is_packed(spec.element)) return std::nullopt;
  const std::int64_t multiple = is_padded(spec.element) ? 128 : 2;
  if (spec.dims.back() % multiple == 0) return std::nullopt;
  return Finding{fmt::format("dims[{}] = {} is not a multiple of {}", spec.rank() - 1, spec.dims.back(), multiple),
                 fmt::format("pad the inner dimension to {} elements", round_up(spec.dims.back(), multiple))};
}

Result stride_multiple(const TensorMapSpec& spec, const Architecture&) {
  const std::int64_t multiple = granule(spec);
  for (std::size_t i = 0; i < spec.strides.size(); ++i) {
    const std::int64_t stride = spec.strides[i];
    if (stride % multiple == 0) continue;
    const bool dense_rows = i + 2 == spec.rank() && stride == bytes_of(spec, spec.dims.back());
    const std::int64_t padded = round_up(std::max<std::int64_t>(stride, 1), multiple);
    return Finding{
        fmt::format("stride[{}] = {} bytes is not a multiple of {}", i, stride, multiple),
        dense_rows
            ? fmt::format("pad the inner dimension from {} to {} elements of {}, or copy into a buffer with padded "
                          "rows",
                          spec.dims.back(), padded * 8 / static_cast<std::int64_t>(bits_of(spec.element)),
                          name_of(spec.element))
            : fmt::format("allocate the tensor so that the stride is {} bytes", padded)};
  }
  return std::nullopt;
}

Result stride_range(const TensorMapSpec& spec, const Architecture&) {
  return range("stride", spec.strides, 0, stride_end - 1,
               "turn the dimension around, or give each of its indices a map of its own");
}

Result stride_covers(const TensorMapSpec& spec, const Architecture&) {
  // From one element of a dimension to the next.
  std::int64_t reach =
      spec.interleave == Interleave::none ? bytes_of(spec, spec.dims.back()) : inner_step(spec) * spec.dims.back();
  for (std::size_t i = spec.strides.size(); i-- > 0;) {
    if (spec.dims[i] == 1) continue;  // nobody steps along it
    if (spec.strides[i] < reach)
      return Finding{fmt::format("stride[{}] = {} bytes is less than the {} bytes of what it steps over", i,
                                 spec.strides[i], reach),
                     "harmless for loads; stores through this map write the same bytes twice"};
    // stride * dim may pass 2^63 (2^40 * 2^32): more than any stride can cover.
    reach = spec.strides[i] > stride_end / spec.dims[i] ? stride_end : spec.strides[i] * spec.dims[i];
  }
  return std::nullopt;
}

// ---- the box in shared memory

Result box_range(const TensorMapSpec& spec, const Architecture&) {
  if (spec.mode != MapMode::tiled) return std::nullopt;
  return range("box", spec.box, 1, 256, "copy in several boxes");
}

Result channel_range(const TensorMapSpec& spec, const Architecture&) {
  if (!is_im2col(spec.mode) || (spec.channels_per_pixel >= 1 && spec.channels_per_pixel <= 256)) return std::nullopt;
  return Finding{fmt::format("channels_per_pixel = {} is not in 1..256", spec.channels_per_pixel),
                 "copy the channels in several parts"};
}

Result pixel_range(const TensorMapSpec& spec, const Architecture&) {
  const bool is_read = is_im2col(spec.mode) && spec.mode != MapMode::im2col_w128;
  if (!is_read || (spec.pixels_per_column >= 1 && spec.pixels_per_column <= 1024)) return std::nullopt;
  return Finding{fmt::format("pixels_per_column = {} is not in 1..1024", spec.pixels_per_column),
                 "copy the column in several parts"};
}

Result packed_box(const TensorMapSpec& spec, const Architecture&) {
  const InnerBox inner = inner_box(spec);
  if (!is_padded(spec.element) || inner.elements == 128) return std::nullopt;
  return Finding{fmt::format("{} = {} elements of {}", inner.name, inner.elements, name_of(spec.element)),
                 "copy 128 elements of the inner dimension at a time"};
}

Result box_inner_multiple(const TensorMapSpec& spec, const Architecture&) {
  const InnerBox inner = inner_box(spec);
  const std::int64_t bytes = bytes_of(spec, inner.elements);
  const auto bits = static_cast<std::int64_t>(bits_of(spec.element));
  if (is_padded(spec.element) || inner.elements * bits % 128 == 0) return std::nullopt;
  return Finding{fmt::format("{} = {} elements of {} are {} bytes, not a multiple of 16", inner.name, inner.elements,
                             name_of(spec.element), bytes),
                 fmt::format("make it {} elements: what lies past the tensor's end is filled",
                             round_up(inner.elements, 128 / std::gcd<std::int64_t, std::int64_t>(bits, 128)))};
}

Result swizzle_span(const TensorMapSpec& spec, const Architecture&) {
  if (spec.interleave != Interleave::none || spec.swizzle == Swizzle::none) return std::nullopt;
  const InnerBox inner = inner_box(spec);
  const auto span = static_cast<std::int64_t>(span_of(spec.swizzle));
  // A padded packed element takes a byte of shared memory.
  const std::int64_t bytes = is_padded(spec.element) ? inner.elements : bytes_of(spec, inner.elements);
  if (bytes <= span) return std::nullopt;
  return Finding{fmt::format("{} = {} elements of {} are {} bytes, more than swizzle {} spans", inner.name,
                             inner.elements, name_of(spec.element), bytes, name_of(spec.swizzle)),
                 bytes <= 128 ? "use swizzle 128B"
                              : fmt::format("copy {} elements at a time, side by side in shared memory",
                                            span * 8 / static_cast<std::int64_t>(bits_of(spec.element)))};
}

Result element_stride_range(const TensorMapSpec& spec, const Architecture&) {
  return range("element_strides", spec.element_strides, 1, 8,
               "fold a larger step into the tensor's stride: dims / step elements, stride * step bytes");
}

// The driver's own count, which is not the tile's: it rounds a box over an element stride down, applies the inner
// stride to every map, and takes interleaved pixels for single elements.
Result box_bytes(const TensorMapSpec& spec, const Architecture&) {
  std::int64_t elements = 1;  // at most 2^40
  if (is_im2col(spec.mode))
    elements = spec.channels_per_pixel * (spec.mode == MapMode::im2col_w128 ? w128_pixels : spec.pixels_per_column);
  else
    for (std::size_t i = 0; i < spec.rank(); ++i)
      elements *=
          spec.element_strides.empty() ? spec.box[i] : spec.box[i] / std::max<std::int64_t>(1, spec.element_strides[i]);
  const std::int64_t bytes = is_padded(spec.element) ? elements : bytes_of(spec, elements);
  if (bytes <= processor_shared) return std::nullopt;
  return Finding{fmt::format("a box of {} bytes is more than {}", bytes, processor_shared), "copy in several boxes"};
}

Result shared_capacity(const TensorMapSpec& spec, const Architecture&) {
  constexpr std::size_t capacity = processor_shared - 1024;
  if (spec.tile_bytes() <= capacity) return std::nullopt;
  return Finding{fmt::format("one copy fills {} bytes of shared memory", spec.tile_bytes()),
                 fmt::format("a block has at most {} bytes: use a smaller box", capacity)};
}

// ---- interleave, swizzle, fill

Result interleave_rank(const TensorMapSpec& spec, const Architecture&) {
  if (spec.interleave == Interleave::none || spec.rank() >= 3) return std::nullopt;
  return Finding{fmt::format("interleave {} with {} dimensions", name_of(spec.interleave), spec.rank()),
                 "add dimensions of 1 element, or use interleave none"};
}

Result interleave_swizzle(const TensorMapSpec& spec, const Architecture&) {
  if (spec.interleave != Interleave::b32 || spec.swizzle == Swizzle::b32) return std::nullopt;
  return Finding{fmt::format("interleave 32B with swizzle {}", name_of(spec.swizzle)), "use swizzle 32B"};
}

Result packed_interleave(const TensorMapSpec& spec, const Architecture&) {
  if (spec.element != MapElement::u6x16_align16 || spec.interleave == Interleave::none) return std::nullopt;
  return Finding{fmt::format("element type {} with interleave {}", name_of(spec.element), name_of(spec.interleave)),
                 "use interleave none"};
}

Result packed_swizzle(const TensorMapSpec& spec, const Architecture&) {
  if (!is_padded(spec.element)) return std::nullopt;
  const bool allowed = spec.swizzle == Swizzle::none || spec.swizzle == Swizzle::b128 ||
                       spec.swizzle == Swizzle::b128_atom32 ||
                       (spec.swizzle == Swizzle::b128_atom64 && spec.element == MapElement::u6x16_align16);
  if (allowed) return std::nullopt;
  return Finding{fmt::format("element type {} with swizzle {}", name_of(spec.element), name_of(spec.swizzle)),
                 "use swizzle 128B"};
}

Result wide_layout(const TensorMapSpec& spec, const Architecture&) {
  if (!is_wide(spec.mode)) return std::nullopt;
  if (spec.interleave != Interleave::none)
    return Finding{fmt::format("an {} map with interleave {}", name_of(spec.mode), name_of(spec.interleave)),
                   "use interleave none"};
  if (spec.swizzle == Swizzle::b64 || spec.swizzle == Swizzle::b128 || spec.swizzle == Swizzle::b128_atom32)
    return std::nullopt;
  return Finding{fmt::format("an {} map with swizzle {}", name_of(spec.mode), name_of(spec.swizzle)),
                 "use swizzle 64B or 128B"};
}

Result fill_float(const TensorMapSpec& spec, const Architecture&) {
  if (spec.fill == OutOfBounds::zeros || is_floating(spec.element)) return std::nullopt;
  return Finding{fmt::format("out-of-bounds fill nan with element type {}", name_of(spec.element)),
                 "fill with zeros, or use a floating element type of the same size"};
}

// ---- im2col

Result corner_range(const TensorMapSpec& spec, const Architecture&) {
  if (!is_im2col(spec.mode)) return std::nullopt;
  const std::int64_t limit = spec.rank() == 3 || is_wide(spec.mode) ? 32768 : spec.rank() == 4 ? 128 : 16;
  const std::string_view fix = "move the rest of the offset into the copies' coordinates";
  if (auto finding = range("lower_corner", spec.lower_corner, -limit, limit - 1, fix)) return finding;
  return range("upper_corner", spec.upper_corner, -limit, limit - 1, fix);
}

Result corner_area(const TensorMapSpec& spec, const Architecture&) {
  if (!is_im2col(spec.mode)) return std::nullopt;
  const std::size_t first = is_wide(spec.mode)                    ? spec.rank() - 2
                            : spec.interleave == Interleave::none ? 1
                                                                  : 2;  // after N, and the slices of channels
  for (std::size_t i = 0; i < spec.lower_corner.size(); ++i) {
    const std::size_t dim = first + i;
    const std::int64_t end = spec.dims[dim] + spec.upper_corner[i], last = end - 1;
    const std::int64_t taken = static_cast<std::int32_t>(end);  // the driver counts pixels in 32 bits
    if (spec.lower_corner[i] < taken) continue;
    if (taken != end)
      return Finding{fmt::format("{} pixels of dimension {} up to the upper corner are taken for {}", end, dim, taken),
                     "split the tensor: pixels are counted in 32 bits, with a sign"};
    return Finding{
        fmt::format("pixels {}..{} of dimension {} (lower_corner[{}] = {}, upper_corner[{}] = {}, {} "
                    "elements) are none",
                    spec.lower_corner[i], last, dim, i, spec.lower_corner[i], i, spec.upper_corner[i], spec.dims[dim]),
        "raise the upper corner: it counts from the last pixel, so -(filter size - 1) + padding is usual"};
  }
  return std::nullopt;
}

// ---- the table

constexpr auto enforced = Standing::enforced;
constexpr auto noted = Standing::noted;

constexpr std::array table{
    Rule{"architecture", "tensor maps need sm_90 or later", enforced, architecture, ErrorCode::unsupported},
    Rule{"rank", "a tiled map has 1 to 5 dimensions, an im2col map 3 to 5", enforced, rank},
    Rule{"lengths",
         "a tensor of n dimensions has n - 1 strides, n box sizes and element strides, and n - 2 offsets to a corner "
         "(along W alone one)",
         enforced, lengths},
    Rule{"blackwell-element", "the packed 4- and 6-bit element types need sm_100 or later", enforced, blackwell_element,
         ErrorCode::unsupported},
    Rule{"blackwell-swizzle", "128-byte swizzles of 32- and 64-byte atoms need sm_100 or later", enforced,
         blackwell_swizzle, ErrorCode::unsupported},
    Rule{"blackwell-mode", "im2col::w and im2col::w::128 need sm_100 or later", enforced, blackwell_mode,
         ErrorCode::unsupported},
    Rule{"interleave-rank", "an interleaved map has at least 3 dimensions", enforced, interleave_rank},
    Rule{"address-alignment",
         "the address is a multiple of 16 bytes (32 with 32-byte interleave and for the packed types aligned to 16)",
         enforced, address_alignment},
    Rule{"address-range", "the address is less than 2^57", enforced, address_range},
    Rule{"dim-range", "each dimension has 1 to 2^32 elements", enforced, dim_range},
    Rule{"packed-dim", "the inner dimension of a packed type is a multiple of 128 elements (of 2 for 16u4_align8b)",
         enforced, packed_dim},
    Rule{"stride-range", "global strides are less than 2^40 bytes, and not negative", enforced, stride_range},
    Rule{"stride-multiple",
         "global strides are multiples of 16 bytes (32 with 32-byte interleave and for the packed types aligned to 16)",
         enforced, stride_multiple},
    Rule{"box-range", "a box has 1 to 256 elements along each dimension", enforced, box_range},
    Rule{"channel-range", "an im2col map takes 1 to 256 channels of a pixel", enforced, channel_range},
    Rule{"pixel-range", "an im2col map takes 1 to 1024 pixels to a column", enforced, pixel_range},
    Rule{"packed-box", "a copy of packed types aligned to 16 bytes takes 128 elements of the inner dimension", enforced,
         packed_box},
    Rule{"box-inner-multiple", "the inner dimension of the box (the channels of a pixel) is a multiple of 16 bytes",
         enforced, box_inner_multiple},
    Rule{"swizzle-span",
         "without interleave, the inner dimension of the box (the channels of a pixel) is no longer than the swizzle's "
         "span",
         enforced, swizzle_span},
    Rule{"element-stride-range", "element strides are 1 to 8", enforced, element_stride_range},
    Rule{"box-bytes", "a box has at most 233472 bytes, the shared memory of a multiprocessor", enforced, box_bytes},
    Rule{"packed-interleave", "16u6_align16b has no interleave", enforced, packed_interleave},
    Rule{"packed-swizzle",
         "the packed types aligned to 16 bytes have swizzle none, 128B or 128B_atom_32B (16u6 also 128B_atom_64B)",
         enforced, packed_swizzle},
    Rule{"wide-layout", "im2col::w and im2col::w::128 have no interleave and swizzle 64B, 128B or 128B_atom_32B",
         enforced, wide_layout},
    Rule{"fill-float", "out-of-bounds elements are NaN only in floating types", enforced, fill_float},
    Rule{"corner-range",
         "offsets of im2col corners are in -32768..32767 with 3 dimensions, -128..127 with 4, -16..15 with 5 (along W "
         "alone as with 3)",
         enforced, corner_range},
    Rule{"corner-area", "the bounding box between the im2col corners contains a pixel", enforced, corner_area},
    Rule{"stride-covers", "a stride is at least as long as the dimensions inside it", noted, stride_covers},
    Rule{"interleave-swizzle", "32-byte interleave goes with swizzle 32B only", noted, interleave_swizzle},
    Rule{"shared-capacity", "the box fits into the shared memory of a block", noted, shared_capacity},
};

}  // namespace

std::string Violation::refusal() const {
  return fmt::format("tensor map refused: {}\n  rule: {}\n  fix: {}", finding.what, rule->text, finding.fix);
}

std::span<const Rule> rules() { return table; }

const Rule& rule(std::string_view id) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Rule& rule) { return rule.id == id; });
  if (found == table.end()) throw Error(ErrorCode::not_found, fmt::format("there is no tensor-map rule '{}'", id));
  return *found;
}

std::optional<Violation> first_refusal(const TensorMapSpec& spec, const Architecture& arch) {
  for (const Rule& rule : table)
    if (rule.standing == Standing::enforced)
      if (auto finding = rule.check(spec, arch)) return Violation{&rule, std::move(*finding)};
  return std::nullopt;
}

std::vector<Violation> notes(const TensorMapSpec& spec, const Architecture& arch) {
  std::vector<Violation> found;
  if (first_refusal(spec, arch)) return found;
  for (const Rule& rule : table)
    if (rule.standing == Standing::noted)
      if (auto finding = rule.check(spec, arch)) found.push_back({&rule, std::move(*finding)});
  return found;
}

}  // namespace wm::tensor_map
