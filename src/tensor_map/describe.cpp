// A tensor map in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tensor_map/rules.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t divisor) { return (value + divisor - 1) / divisor; }

// Bytes of shared memory that a whole pattern of the swizzle takes.
std::size_t repeat_of(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none: return 128;
    case Swizzle::b32: return 256;
    case Swizzle::b64: return 512;
    case Swizzle::b128: return 1024;
    case Swizzle::b128_atom32:
    case Swizzle::b128_atom32_flip8: return 512;
    case Swizzle::b128_atom64: return 256;
  }
  return 128;
}

std::string swizzle_words(Swizzle swizzle) {
  const std::string base = fmt::format("; base the tile at a multiple of {} bytes", repeat_of(swizzle));
  switch (swizzle) {
    case Swizzle::none: return "none" + base;
    case Swizzle::b128_atom32: return "128B_atom_32B: 32-byte chunks trade places within 128 bytes" + base;
    case Swizzle::b128_atom32_flip8:
      return "128B_atom_32B_flip_8B: 32-byte chunks trade places within 128 bytes, and in every other row the halves "
             "of "
             "each 16 bytes" +
             base;
    case Swizzle::b128_atom64: return "128B_atom_64B: 64-byte halves of 128 bytes trade places" + base;
    default:
      return fmt::format("{}: 16-byte chunks trade places within {} bytes{}", name_of(swizzle), span_of(swizzle), base);
  }
}

// Packed elements that are aligned to 16 bytes take a byte each in shared memory, counting the gaps.
std::size_t shared_bits_of(MapElement element) {
  const bool padded = element == MapElement::u4x16_align16 || element == MapElement::u6x16_align16;
  return padded ? 8 : bits_of(element);
}

}  // namespace

std::size_t TensorMapSpec::box_bytes() const {
  const bool interleaved = interleave != Interleave::none;
  std::int64_t count = 1;  // elements, or interleaved pixels
  if (tensor_map::is_im2col(mode)) {
    const std::int64_t pixels = mode == MapMode::im2col_w128 ? tensor_map::w128_pixels : pixels_per_column;
    count = interleaved ? pixels : channels_per_pixel * pixels;
  } else {
    for (std::size_t i = 0; i < box.size(); ++i) {
      if (interleaved && i == 1) continue;  // one slice of the channels, whatever the box says
      // The step along the innermost dimension counts only where channels are interleaved.
      const bool steps = !element_strides.empty() && (i + 1 < box.size() || interleaved);
      count *= steps ? rounded_up(box[i], element_strides[i]) : box[i];
    }
  }
  if (interleaved) return static_cast<std::size_t>(count) * (interleave == Interleave::b16 ? 16 : 32);
  return static_cast<std::size_t>(count) * bits_of(element) / 8;
}

std::size_t TensorMapSpec::tile_bytes() const {
  if (interleave != Interleave::none) return box_bytes();
  const std::int64_t elements = tensor_map::is_im2col(mode) ? channels_per_pixel : box.back();
  const std::size_t row = static_cast<std::size_t>(elements) * bits_of(element) / 8;
  const std::size_t row_in_tile = static_cast<std::size_t>(elements) * shared_bits_of(element) / 8;
  return row == 0 ? box_bytes() : box_bytes() / row * std::max(row_in_tile, span_of(swizzle));
}

std::string TensorMapSpec::describe(const Architecture& arch) const {
  const auto refusal = tensor_map::first_refusal(*this, arch);
  std::string text = fmt::format("{} tensor map of {} elements at 0x{:x}\n", name_of(mode), name_of(element), address);
  const auto line = [&](std::string_view name, std::string_view words) {
    text += fmt::format("  {:<12}{}\n", name, words);
  };
  line("tensor", fmt::format("{} elements, outermost dimension first", fmt::join(dims, " x ")));
  if (!strides.empty()) line("strides", fmt::format("{} bytes", fmt::join(strides, ", ")));
  const std::string taken = refusal ? "" : fmt::format(", {} bytes of shared memory", tile_bytes());
  if (mode == MapMode::tiled) {
    line("box", fmt::format("{} elements{}", fmt::join(box, " x "), taken));
  } else {
    line("corners", fmt::format("from {} counted from the first pixel to {} counted from the last",
                                fmt::join(lower_corner, ", "), fmt::join(upper_corner, ", ")));
    line("column", fmt::format("{} pixels of {} channels{}",
                               mode == MapMode::im2col_w128 ? tensor_map::w128_pixels : pixels_per_column,
                               channels_per_pixel, taken));
  }
  if (!element_strides.empty()) line("steps", fmt::format("{} elements", fmt::join(element_strides, ", ")));
  line("swizzle", swizzle_words(swizzle));
  if (interleave != Interleave::none)
    line("interleave", fmt::format("channels in slices of {}, one slice a copy", name_of(interleave)));
  line("L2", l2_promotion == L2Promotion::none ? std::string("no promotion")
                                               : fmt::format("fetches {}", name_of(l2_promotion)));
  line("outside", fill == OutOfBounds::zeros ? "filled with zeros" : "filled with NaN");
  if (refusal) text += refusal->refusal() + '\n';
  for (const auto& note : tensor_map::notes(*this, arch))
    text += fmt::format("  note: {}\n    rule: {} (the driver does not check it)\n    {}\n", note.finding.what,
                        note.rule->text, note.finding.fix);
  return text;
}

}  // namespace wm
