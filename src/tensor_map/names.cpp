// Names and properties of the choices a tensor map has.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "warpmill/error.hpp"
#include "warpmill/tensor_map.hpp"

namespace wm {
namespace {

struct ElementTraits {
  std::string_view name;
  std::uint8_t bits;
  bool floating;
};
constexpr std::array<ElementTraits, 16> elements{{{"u8", 8, false},
                                                  {"u16", 16, false},
                                                  {"u32", 32, false},
                                                  {"i32", 32, false},
                                                  {"u64", 64, false},
                                                  {"i64", 64, false},
                                                  {"f16", 16, true},
                                                  {"f32", 32, true},
                                                  {"f64", 64, true},
                                                  {"bf16", 16, true},
                                                  {"f32_ftz", 32, true},
                                                  {"tf32", 32, true},
                                                  {"tf32_ftz", 32, true},
                                                  {"16u4_align8b", 4, false},
                                                  {"16u4_align16b", 4, false},
                                                  {"16u6_align16b", 6, false}}};
constexpr std::array<std::string_view, 3> interleaves{"none", "16B", "32B"};
constexpr std::array<std::string_view, 7> swizzles{
    "none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"};
constexpr std::array<std::string_view, 4> promotions{"none", "64B", "128B", "256B"};
constexpr std::array<std::string_view, 2> fills{"zeros", "nan"};

const ElementTraits& of(MapElement element) { return elements.at(static_cast<std::size_t>(element)); }

template <class Choice, class Names>
Choice choose(std::string_view what, const Names& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is no {} of a tensor map; there are: {}", name, what, fmt::join(names, ", ")));
  return static_cast<Choice>(found - names.begin());
}

}  // namespace

MapElement map_element(DType dtype) {
  switch (dtype) {
    case DType::u8:
    case DType::i8:
    case DType::e4m3:
    case DType::e5m2: return MapElement::u8;
    case DType::u16:
    case DType::i16: return MapElement::u16;
    case DType::u32: return MapElement::u32;
    case DType::i32: return MapElement::i32;
    case DType::u64: return MapElement::u64;
    case DType::i64: return MapElement::i64;
    case DType::f16: return MapElement::f16;
    case DType::bf16: return MapElement::bf16;
    case DType::f32: return MapElement::f32;
    case DType::tf32: return MapElement::tf32;
    case DType::f64: return MapElement::f64;
  }
  throw Error(ErrorCode::internal, "a dtype without a tensor-map element");
}

std::size_t bits_of(MapElement element) { return of(element).bits; }
bool is_floating(MapElement element) { return of(element).floating; }

std::size_t span_of(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none: return 0;
    case Swizzle::b32: return 32;
    case Swizzle::b64: return 64;
    default: return 128;
  }
}

std::string_view name_of(MapMode mode) {
  constexpr std::array<std::string_view, 4> names{"tiled", "im2col", "im2col::w", "im2col::w::128"};
  return names.at(static_cast<std::size_t>(mode));
}
std::string_view name_of(MapElement element) { return of(element).name; }
std::string_view name_of(Interleave interleave) { return interleaves.at(static_cast<std::size_t>(interleave)); }
std::string_view name_of(Swizzle swizzle) { return swizzles.at(static_cast<std::size_t>(swizzle)); }
std::string_view name_of(L2Promotion promotion) { return promotions.at(static_cast<std::size_t>(promotion)); }
std::string_view name_of(OutOfBounds fill) { return fills.at(static_cast<std::size_t>(fill)); }

MapElement map_element_from_name(std::string_view name) {
  std::array<std::string_view, elements.size()> names;
  std::transform(elements.begin(), elements.end(), names.begin(), [](const ElementTraits& e) { return e.name; });
  return choose<MapElement>("element type", names, name);
}
Interleave interleave_from_name(std::string_view name) { return choose<Interleave>("interleave", interleaves, name); }
Swizzle swizzle_from_name(std::string_view name) { return choose<Swizzle>("swizzle", swizzles, name); }
L2Promotion l2_promotion_from_name(std::string_view name) {
  return choose<L2Promotion>("L2 promotion", promotions, name);
}
OutOfBounds out_of_bounds_from_name(std::string_view name) {
  return choose<OutOfBounds>("out-of-bounds fill", fills, name);
}

}  // namespace wm
