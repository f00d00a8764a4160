// How the chip's tensor cores add, bit for bit: products of some k at a time and the accumulator are brought to the
// largest exponent among them, cut off below it, added as integers, and the sum is rounded once. Slow here, and so only
// where a run asks for the chip's bits; known from published measurements, and held against golden vectors.
#pragma once

#include <cstdint>

#include "vgpu/isa/numeric/fragment.hpp"

namespace wm::vgpu::numeric {

struct ChipSum {
  int products = 16;       // added at a time
  int fraction_bits = 25;  // kept of each term below the largest exponent
  int result_bits = 23;    // of the mantissa of an f32 result; what is below is cut off

  bool operator==(const ChipSum&) const = default;
};

// wgmma on Hopper: a step at a time. Sums of 8-bit floats keep 13 bits.
constexpr ChipSum wgmma_sum(Element element) {
  const bool byte = bits_of(element) == 8;
  return {slice_elements(element), byte ? 13 : 25, byte ? 13 : 23};
}
// mma.sync: Hopper adds what 32 bytes hold, Ampere 16.
constexpr ChipSum hopper_mma_sum(Element element) { return {slice_elements(element), 25, 23}; }
constexpr ChipSum ampere_mma_sum(Element element) { return {slice_elements(element) / 2, 24, 23}; }

// multiply_fragments with the chip's sums; f32 and f16 accumulators. `a_type` and `b_type` tell the exponents of
// subnormal operands.
void multiply_as_chip(const ChipSum& how, Element a_type, Element b_type, const Accumulation& accumulation,
                      const float* a, const float* b, int k, int groups, std::uint32_t* const* rows);

}  // namespace wm::vgpu::numeric
