// 2^x for ex2.approx.f32, written so that loops over lanes vectorise and give the same bits on every CPU.
#pragma once

#include <bit>
#include <cstdint>

namespace wm::vgpu::numeric {

// The true value rounded to f32 twice at worst (once from within 2^-36 of it): under 0.51 ulp.
[[gnu::always_inline]] inline std::uint32_t exp2_bits(std::uint32_t bits, bool ftz) {
  if (ftz && (bits & 0x7f800000) == 0) bits &= 0x80000000;
  const double wanted = std::bit_cast<float>(bits);
  const bool nan = wanted != wanted;
  // Beyond these the result is infinity or zero; NaN goes on as the lower one and is put back at the end.
  const double x = wanted > 130.0 ? 130.0 : wanted > -160.0 ? wanted : -160.0;
  constexpr double shifter = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  const double shifted = x + shifter;
  const double r = (x - (shifted - shifter)) * 0.693147180559945309417;
  double sum = 1.0 / 3628800;
  sum = sum * r + 1.0 / 362880;
  sum = sum * r + 1.0 / 40320;
  sum = sum * r + 1.0 / 5040;
  sum = sum * r + 1.0 / 720;
  sum = sum * r + 1.0 / 120;
  sum = sum * r + 1.0 / 24;
  sum = sum * r + 1.0 / 6;
  sum = sum * r + 0.5;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(shifted) << 52;
  const auto result = static_cast<float>(std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) + exponent));
  auto out = std::bit_cast<std::uint32_t>(result);
  if (ftz && out < 0x00800000) out = 0;
  return nan ? 0x7fffffff : out;
}

}  // namespace wm::vgpu::numeric
