// The .approx functions. The chip interpolates in tables; here a host function is rounded, so results agree with the
// chip's within a measured bound (stated below), and exactly for special values.
#pragma once

#include <cstdint>

#include "vgpu/isa/numeric/format.hpp"

namespace wm::vgpu::numeric {

// f32, bits in and out. The bound is the greatest distance from the chip that was measured (docs/fidelity.md); what is
// computed here is within half a unit in the last place (ulp) of the true value, up to double rounding.
std::uint32_t ex2_approx(std::uint32_t a, bool ftz);    // 2^a              2 ulp
std::uint32_t lg2_approx(std::uint32_t a, bool ftz);    // log2(a)          absolute 2^-22 + relative 2^-23
std::uint32_t rcp_approx(std::uint32_t a, bool ftz);    // 1/a              1 ulp
std::uint32_t rsqrt_approx(std::uint32_t a, bool ftz);  // 1/sqrt(a)        1 ulp
std::uint32_t sqrt_approx(std::uint32_t a, bool ftz);   // sqrt(a)          1 ulp
std::uint32_t sin_approx(std::uint32_t a, bool ftz);    // sin(a)           absolute 2^-21
std::uint32_t cos_approx(std::uint32_t a, bool ftz);    // cos(a)           absolute 2^-21
std::uint32_t tanh_approx(std::uint32_t a);             // tanh(a)          relative 2^-16
std::uint32_t div_approx(std::uint32_t a, std::uint32_t b, bool ftz);  // a/b  1 ulp; zero where |b| is past 2^126
std::uint32_t div_full(std::uint32_t a, std::uint32_t b, bool ftz);    // a/b  1 ulp

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the chip looks at the upper 32 bits alone and leaves the lower zero.
std::uint64_t rcp_approx_f64(std::uint64_t a);
std::uint64_t rsqrt_approx_f64(std::uint64_t a);
// rsqrt.approx.f64 without .ftz is a routine of the compiler's, good to one unit in the last place.
std::uint64_t rsqrt_f64(std::uint64_t a);

// f16 and bf16 (one number; see pairwise for x2).
std::uint16_t ex2_approx_half(Format format, std::uint16_t a, bool ftz);  // 1 ulp
std::uint16_t tanh_approx_half(Format format, std::uint16_t a);           // 1 ulp

}  // namespace wm::vgpu::numeric
