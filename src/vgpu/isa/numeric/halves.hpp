// f16, bf16, e4m3 and e5m2 to and from f32, without branches, so that loops over them vectorise. Narrowing rounds to
// nearest even. NaN becomes the canonical one of the result, but from bf16 to f32, where the bits are kept.
#pragma once

#include <bit>
#include <cstdint>

namespace wm::vgpu::numeric {

[[gnu::always_inline]] inline std::uint32_t f32_bits(float value) { return std::bit_cast<std::uint32_t>(value); }
[[gnu::always_inline]] inline float f32_from(std::uint32_t bits) { return std::bit_cast<float>(bits); }

[[gnu::always_inline]] inline float f32_of_bf16(std::uint32_t bits) { return f32_from(bits << 16); }

// The exponent moves by shifting; a product with a power of two rebiases it and makes subnormals normal, exactly.
[[gnu::always_inline]] inline float f32_of_f16(std::uint32_t bits) {
  const std::uint32_t size = bits & 0x7fff;
  const std::uint32_t number = f32_bits(f32_from(size << 13) * 0x1p112f);
  const std::uint32_t result = (bits & 0x8000) << 16 | (size >= 0x7c00 ? 0x7f800000 : number);
  return f32_from(size > 0x7c00 ? 0x7fffffff : result);
}

[[gnu::always_inline]] inline float f32_of_e5m2(std::uint32_t bits) { return f32_of_f16((bits & 0xff) << 8); }

[[gnu::always_inline]] inline float f32_of_e4m3(std::uint32_t bits) {
  const std::uint32_t size = bits & 0x7f;
  const std::uint32_t number = f32_bits(f32_from(size << 20) * 0x1p120f);
  return f32_from(size == 0x7f ? 0x7fffffff : (bits & 0x80) << 24 | number);
}

[[gnu::always_inline]] inline std::uint16_t bf16_of_f32(float value) {
  const std::uint32_t bits = f32_bits(value);
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded);
}

[[gnu::always_inline]] inline std::uint16_t f16_of_f32(float value) {
  const std::uint32_t bits = f32_bits(value), size = bits & 0x7fffffff, sign = (bits >> 16) & 0x8000;
  const std::uint32_t normal = (size + 0xfff + ((size >> 13) & 1) - 0x38000000) >> 13;
  // A subnormal result: the sum with 2^-1, whose last bit is worth 2^-24, rounds it.
  const std::uint32_t small = f32_bits(f32_from(size) + 0.5f) - 0x3f000000;
  const std::uint32_t finite = size < 0x38800000 ? small : normal;
  const std::uint32_t number = sign | (size >= 0x477ff000 ? 0x7c00 : finite);  // from 65520 on: infinity
  return static_cast<std::uint16_t>(size > 0x7f800000 ? 0x7fff : number);
}

}  // namespace wm::vgpu::numeric
