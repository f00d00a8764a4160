// The .approx functions. The chip interpolates in tables; here a host function is rounded, so results agree with the
// chip's to the bound PTX gives for each (stated below), and exactly for special values.
#pragma once

#include <cstdint>

#include "vgpu/isa/numeric/format.hpp"

namespace wm::vgpu::numeric {

// f32, bits in and out. The bound is the chip's greatest distance from the true value as PTX states it; what is
// computed here is within half a unit in the last place (ulp) of it, up to double rounding.
std::uint32_t ex2_approx(std::uint32_t a, bool ftz);    // 2^a              2 ulp
std::uint32_t lg2_approx(std::uint32_t a, bool ftz);    // log2(a)          absolute 2^-22 near 1, else relative 2^-22
std::uint32_t rcp_approx(std::uint32_t a, bool ftz);    // 1/a              1 ulp
std::uint32_t rsqrt_approx(std::uint32_t a, bool ftz);  // 1/sqrt(a)        relative 2^-22.9
std::uint32_t sqrt_approx(std::uint32_t a, bool ftz);   // sqrt(a)          relative 2^-23
std::uint32_t sin_approx(std::uint32_t a, bool ftz);    // sin(a)           absolute 2^-20.5 in [-pi, pi]
std::uint32_t cos_approx(std::uint32_t a, bool ftz);    // cos(a)           absolute 2^-20.5 in [-pi, pi]
std::uint32_t tanh_approx(std::uint32_t a);             // tanh(a)          relative 2^-11
std::uint32_t div_approx(std::uint32_t a, std::uint32_t b, bool ftz);  // a/b  2 ulp while |b| is in [2^-126, 2^126]
std::uint32_t div_full(std::uint32_t a, std::uint32_t b, bool ftz);    // a/b  2 ulp

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the chip looks at the upper 32 bits alone and leaves the lower zero.
std::uint64_t rcp_approx_f64(std::uint64_t a);
std::uint64_t rsqrt_approx_f64(std::uint64_t a);
// rsqrt.approx.f64 without .ftz is a routine of the compiler's, good to one unit in the last place.
std::uint64_t rsqrt_f64(std::uint64_t a);

// f16 and bf16 (one number; see pairwise for x2).
std::uint16_t ex2_approx_half(Format format, std::uint16_t a, bool ftz);  // f16: relative 2^-9.9; bf16 (.ftz): 2^-7
std::uint16_t tanh_approx_half(Format format, std::uint16_t a);           // f16: absolute 2^-10.987; bf16: 2^-8

}  // namespace wm::vgpu::numeric
