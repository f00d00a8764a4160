// Widening and transposing of operands, eight rows at a time.
#include "vgpu/isa/numeric/panel.hpp"

#include <array>
#include <cstring>

#include "vgpu/isa/numeric/dispatch.hpp"
#include "vgpu/isa/numeric/halves.hpp"
#include "vgpu/isa/numeric/matrix.hpp"
#include "vgpu/isa/numeric/narrow.hpp"

namespace wm::vgpu::numeric {

namespace {

using Four [[gnu::vector_size(16)]] = float;

[[gnu::always_inline]] inline Four load(const float* from) {
  Four value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
[[gnu::always_inline]] inline void store(float* to, Four value) { std::memcpy(to, &value, sizeof value); }

template <Narrow format>
const std::array<float, 64>& narrow_numbers() {
  static const std::array<float, 64> all = [] {
    std::array<float, 64> numbers{};
    for (std::uint32_t bits = 0; bits < 1u << bits_of(format); ++bits)
      numbers[bits] = f32_from(f32_of_narrow(format, bits));
    return numbers;
  }();
  return all;
}

// One element of each type at `index`, as f32. Tensor cores ignore the low 13 bits of tf32.
template <Element element>
[[gnu::always_inline]] inline float widened(const std::uint8_t* bytes, int index) {
  if constexpr (element == Element::tf32) {
    std::uint32_t word;
    std::memcpy(&word, bytes + 4 * index, 4);
    return f32_from(word & ~std::uint32_t{0x1fff});
  } else if constexpr (element == Element::f16 || element == Element::bf16) {
    std::uint16_t word;
    std::memcpy(&word, bytes + 2 * index, 2);
    return element == Element::f16 ? f32_of_f16(word) : f32_from(std::uint32_t{word} << 16);
  } else if constexpr (element == Element::e4m3) {
    return f32_of_e4m3(bytes[index]);
  } else if constexpr (element == Element::e5m2) {
    return f32_of_e5m2(bytes[index]);
  } else if constexpr (element == Element::s8) {
    return static_cast<float>(static_cast<std::int8_t>(bytes[index]));
  } else if constexpr (element == Element::e2m3) {
    return narrow_numbers<Narrow::e2m3>()[bytes[index] & 63];
  } else if constexpr (element == Element::e3m2) {
    return narrow_numbers<Narrow::e3m2>()[bytes[index] & 63];
  } else if constexpr (element == Element::e2m1) {
    return narrow_numbers<Narrow::e2m1>()[bytes[index] & 15];
  } else if constexpr (element == Element::e2m1_pairs) {
    return narrow_numbers<Narrow::e2m1>()[bytes[index / 2] >> index % 2 * 4 & 15];
  } else {
    return static_cast<float>(bytes[index]);
  }
}

// Calls `body` with the element type as a constant.
template <class Body>
void with_element(Element element, const Body& body) {
  switch (element) {
    case Element::f16: return body(std::integral_constant<Element, Element::f16>{});
    case Element::bf16: return body(std::integral_constant<Element, Element::bf16>{});
    case Element::tf32: return body(std::integral_constant<Element, Element::tf32>{});
    case Element::e4m3: return body(std::integral_constant<Element, Element::e4m3>{});
    case Element::e5m2: return body(std::integral_constant<Element, Element::e5m2>{});
    case Element::s8: return body(std::integral_constant<Element, Element::s8>{});
    case Element::u8: return body(std::integral_constant<Element, Element::u8>{});
    case Element::e2m3: return body(std::integral_constant<Element, Element::e2m3>{});
    case Element::e3m2: return body(std::integral_constant<Element, Element::e3m2>{});
    case Element::e2m1: return body(std::integral_constant<Element, Element::e2m1>{});
    case Element::e2m1_pairs: return body(std::integral_constant<Element, Element::e2m1_pairs>{});
  }
}

struct Quarter {
  Four rows[4];
};
// Four rows of four, as four columns.
[[gnu::always_inline]] inline Quarter transposed(Four a, Four b, Four c, Four d) {
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  return {{__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5), __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
           __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
           __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)}};
}

// Each of four numbers four times.
[[gnu::always_inline]] inline void store_spread(float* to, Four value) {
  store(to, __builtin_shufflevector(value, value, 0, 0, 0, 0));
  store(to + 4, __builtin_shufflevector(value, value, 1, 1, 1, 1));
  store(to + 8, __builtin_shufflevector(value, value, 2, 2, 2, 2));
  store(to + 12, __builtin_shufflevector(value, value, 3, 3, 3, 3));
}

// Widens a group and gives each `k` and half of the (reordered) rows as a vector: use(k, half, four numbers).
template <bool even_first, class Use>
void transpose_group(Element element, const RawGroup& group, int k, const Use& use) {
  with_element(element, [&](auto type) {
    constexpr int width = slice_elements(type());
    dispatch([&]() __attribute__((always_inline)) {
      alignas(64) float wide[8][width];
      for (int row = 0; row < 8; ++row)
        for (int i = 0; i < width; ++i) wide[row][i] = widened<type()>(group.bytes[row], i);
      for (int half = 0; half < 2; ++half)
        for (int first = 0; first < k; first += 4) {
          const auto row = [&](int i) __attribute__((always_inline)) {
            return load(&wide[even_first ? 2 * i + half : 4 * half + i][first]);
          };
          const Quarter quarter = transposed(row(0), row(1), row(2), row(3));
          for (int i = 0; i < 4; ++i) use(first + i, half, quarter.rows[i]);
        }
    });
  });
}

}  // namespace

void spread_packed(Element element, RawGroup& group) {
  for (auto& row : group.bytes)
    for (std::uint8_t* chunk : {row, row + 16}) spread_over_bytes(chunk, element == Element::e2m1 ? 4 : 6);
}

void to_low_bits(Element element, RawGroup& group) {
  if (element != Element::e2m1) return;
  for (auto& row : group.bytes)
    for (std::uint8_t& byte : row) byte = byte >> middle_shift & 15;
}

void widen_columns(Element element, const RawGroup& group, int k, float* panel) {
  transpose_group<true>(
      element, group,
      k, [=](int at, int half, Four four) __attribute__((always_inline)) { store(panel + at * 8 + half * 4, four); });
}

void widen_rows(Element element, const RawGroup& group, int k, bool negate, float* panel, int stride) {
  const float sign = negate ? -1.0f : 1.0f;
  transpose_group<false>(
      element, group, k, [=](int at, int half, Four four) __attribute__((always_inline)) {
        store_spread(panel + at * stride + half * 16, four * sign);
      });
}

void widen_columns(Element element, const RawTransposed& group, float* panel) {
  with_element(element, [&](auto type) {
    dispatch([&]() __attribute__((always_inline)) {
      for (int k = 0; k < 16; ++k)
        for (int i = 0; i < 8; ++i) panel[k * 8 + i] = widened<type()>(group.bytes[k], 2 * (i % 4) + i / 4);
    });
  });
}

void widen_rows(Element element, const RawTransposed& group, bool negate, float* panel, int stride) {
  const float sign = negate ? -1.0f : 1.0f;
  with_element(element, [&](auto type) {
    dispatch([&]() __attribute__((always_inline)) {
      for (int k = 0; k < 16; ++k) {
        alignas(32) float wide[8];
        for (int i = 0; i < 8; ++i) wide[i] = widened<type()>(group.bytes[k], i) * sign;
        store_spread(panel + k * stride, load(wide));
        store_spread(panel + k * stride + 16, load(wide + 4));
      }
    });
  });
}

}  // namespace wm::vgpu::numeric
