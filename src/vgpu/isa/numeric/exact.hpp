// Exact numbers between unpacking and rounding: every result of this folder that the host's own arithmetic does not
// give is computed as an integer times a power of two and rounded once, here.
#pragma once

#include <cstdint>

#include "vgpu/isa/numeric/format.hpp"

namespace wm::vgpu::numeric {

__extension__ using Wide = unsigned __int128;

// (-1)^negative * significand * 2^exponent. Bits that were shifted out below are remembered by setting the lowest bit
// (which is why a significand that lost bits must hold many more than any format keeps).
struct Exact {
  bool negative = false;
  int exponent = 0;
  Wide significand = 0;
};

int bit_width(Wide value);

// A finite number of a format.
Exact unpack(Format format, std::uint64_t bits);

Exact add(const Exact& a, const Exact& b);  // where the sum is zero, the sign is not decided here
Exact multiply(const Exact& a, const Exact& b);
Exact divide(const Exact& a, const Exact& b);  // b is not zero
Exact square_root(const Exact& a);             // a is not negative

// The number rounded to a multiple of 2^exponent.
Exact round_to_multiple(const Exact& value, int exponent, Rounding rounding);

// The nearest number of the format in the mode's direction, with the mode's clamps. Zero keeps the sign it has.
std::uint64_t pack(Format format, const Exact& value, const Mode& mode);

// The clamps alone, on bits that are a result already (also NaN and infinities): ftz, sat, satfinite, relu and the
// format's canonical NaN.
std::uint64_t finish(Format format, std::uint64_t bits, const Mode& mode);

}  // namespace wm::vgpu::numeric
