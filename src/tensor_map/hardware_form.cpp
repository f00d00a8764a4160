// Where the fields lie in the hardware's own form of a tensor map, and how it is read.
#include "tensor_map/hardware_form.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "warpmill/error.hpp"

namespace wm::tensor_map {
namespace {

using Words = std::array<std::uint64_t, hardware_bytes / sizeof(std::uint64_t)>;

struct BitField {
  std::uint8_t word, first, bits;
};
template <std::size_t count>
using BitFields = std::array<BitField, count>;

// As CuTe DSL 4.8.1 writes them, and as ptxas 13.0 has tensormap.replace, which is nothing but bits put into words:
// that has all of them but L2 promotion, of which 128B alone was seen. Its swizzle_atomicity has bit 21 of word 1 too,
// which CuTe sets where the tensor reaches over 128 KiB or more; it changes nothing here. Its swizzle_mode has bit 22,
// for a mode of sm_103a. Ranks, sizes, strides of elements and what a copy moves stand there less one.
constexpr std::uint8_t address_word = 0;
constexpr BitField im2col{1, 0, 1}, always_set{1, 1, 1}, rank{1, 4, 3}, element{1, 7, 4}, interleave{1, 11, 2},
    swizzle_mode{1, 13, 2}, fill{1, 15, 1}, rounds_to_tf32{1, 16, 1}, l2_promotion{1, 17, 2},
    swizzle_atomicity{1, 19, 2};
constexpr BitFields<4> strides{{{1, 32, 32}, {2, 0, 32}, {2, 32, 32}, {3, 0, 32}}};
constexpr BitFields<4> stride_tops{{{3, 32, 4}, {3, 36, 4}, {3, 40, 4}, {3, 44, 4}}};  // above those 32 bits
constexpr BitFields<5> sizes{{{4, 0, 32}, {4, 32, 32}, {5, 0, 32}, {5, 32, 32}, {6, 0, 32}}};
constexpr BitFields<5> element_strides{{{6, 32, 3}, {6, 35, 3}, {6, 38, 3}, {6, 41, 3}, {6, 44, 3}}};
constexpr BitFields<5> box{{{6, 56, 8}, {7, 0, 8}, {7, 8, 8}, {7, 16, 8}, {7, 24, 8}}};
constexpr BitField channels = box[0], pixels{7, 32, 10};
// Corners share 16 bits: one offset has all of them, two have 8 each, three 5.
constexpr std::uint8_t corner_word = 7, lower_first = 0, upper_first = 16;
constexpr std::array<std::uint8_t, 3> offset_bits{16, 8, 5};
constexpr BitFields<5> never_set{{{1, 2, 2}, {1, 22, 10}, {3, 48, 16}, {6, 47, 9}, {7, 42, 22}}};

constexpr std::uint64_t stride_unit = 16;  // bytes

Words words_of(HardwareBytes bytes) {
  Words words;
  std::memcpy(words.data(), bytes.data(), sizeof(words));
  return words;
}

constexpr std::uint64_t get(const Words& words, BitField field) {
  return words[field.word] >> field.first & ((std::uint64_t{1} << field.bits) - 1);
}
template <class Count>
Count get_count(const Words& words, BitField field) {
  return static_cast<Count>(get(words, field) + 1);
}
std::int16_t get_signed(const Words& words, BitField field) {
  const auto value = static_cast<std::int32_t>(get(words, field)), end = 1 << field.bits;
  return static_cast<std::int16_t>(value < end / 2 ? value : value - end);
}

// PTX's numbers up to bf16; behind it come the packed types, because tf32 is a bit beside f32 and f32_ftz.
MapElement element_of(const Words& words) {
  constexpr std::array packed_elements{MapElement::u4x16_align8, MapElement::u4x16_align16, MapElement::u6x16_align16};
  constexpr std::uint64_t first_packed = 11;
  const std::uint64_t number = get(words, element);
  if (number >= first_packed + packed_elements.size())
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("this tensor map in the hardware's form has element type {}, which does not exist", number));
  const MapElement found = number < first_packed ? ptx_elements[number] : packed_elements[number - first_packed];
  if (get(words, rounds_to_tf32) == 0) return found;
  if (found == MapElement::f32) return MapElement::tf32;
  if (found == MapElement::f32_ftz) return MapElement::tf32_ftz;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("this tensor map in the hardware's form rounds elements of {} to tf32, which only f32 and "
                          "f32_ftz can be",
                          name_of(found)));
}

// What one copy moves.
void read_box(const Words& words, Packed& packed) {
  for (std::size_t i = 0; i < box.size(); ++i) packed.box[i] = get_count<std::uint16_t>(words, box[i]);
}
void read_pixels(const Words& words, Packed& packed) {
  packed.mode = static_cast<std::uint8_t>(MapMode::im2col);
  packed.channels = get_count<std::uint16_t>(words, channels);
  packed.pixels = get_count<std::uint16_t>(words, pixels);
  const std::size_t offsets = std::clamp<std::size_t>(packed.rank, 3, max_rank) - 2;
  const std::uint8_t bits = offset_bits[offsets - 1];
  for (std::uint8_t i = 0; i < offsets; ++i) {
    const auto at = [&](std::uint8_t first) {
      return BitField{corner_word, static_cast<std::uint8_t>(first + i * bits), bits};
    };
    packed.lower[i] = get_signed(words, at(lower_first));
    packed.upper[i] = get_signed(words, at(upper_first));
  }
}

}  // namespace

bool is_hardware_form(HardwareBytes bytes) {
  // Our own form begins with an odd number where this one has the address, a multiple of 16.
  if (std::memcmp(bytes.data(), packed_magic.data(), packed_magic.size()) == 0) return false;
  const Words words = words_of(bytes);
  const bool has_pixels = get(words, pixels) != 0;
  return get(words, always_set) != 0 && (get(words, im2col) != 0 || !has_pixels) &&
         std::all_of(never_set.begin(), never_set.end(), [&](BitField field) { return get(words, field) == 0; });
}

Packed read_hardware_form(HardwareBytes bytes) {
  const Words words = words_of(bytes);
  const auto choice = [&](BitField field) { return static_cast<std::uint8_t>(get(words, field)); };
  Packed packed = begin_packed();
  packed.rank = get_count<std::uint8_t>(words, rank);
  packed.element = static_cast<std::uint8_t>(element_of(words));
  packed.interleave = choice(interleave);
  packed.swizzle_mode = choice(swizzle_mode);
  packed.swizzle_atomicity = choice(swizzle_atomicity);
  packed.l2_promotion = choice(l2_promotion);
  packed.fill = choice(fill);
  packed.address = words[address_word];
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    packed.dims[i] = get_count<std::uint64_t>(words, sizes[i]);
    packed.element_strides[i] = get_count<std::uint8_t>(words, element_strides[i]);
  }
  for (std::size_t i = 0; i < strides.size(); ++i)
    packed.strides[i] = (get(words, stride_tops[i]) << strides[i].bits | get(words, strides[i])) * stride_unit;
  if (get(words, im2col) != 0)
    read_pixels(words, packed);
  else
    read_box(words, packed);
  return packed;
}

}  // namespace wm::tensor_map
