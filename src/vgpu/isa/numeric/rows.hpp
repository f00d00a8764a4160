// The hot instructions of a whole warp: rows of 32 lanes, computed at once and written where `active` has a bit.
// Each lane gets the same bits as from the scalar functions. A result may be one of the operands.
#pragma once

#include <cstdint>

#include "vgpu/isa/numeric/format.hpp"

namespace wm::vgpu::numeric::rows {

using Row = std::uint32_t*;
using Source = const std::uint32_t*;

// f32, rounded to nearest even.
void add_f32(Row d, Source a, Source b, std::uint32_t active, bool ftz = false, bool sat = false);
void subtract_f32(Row d, Source a, Source b, std::uint32_t active, bool ftz = false, bool sat = false);
void multiply_f32(Row d, Source a, Source b, std::uint32_t active, bool ftz = false, bool sat = false);
void fma_f32(Row d, Source a, Source b, Source c, std::uint32_t active, bool ftz = false, bool sat = false);
void minimum_f32(Row d, Source a, Source b, std::uint32_t active, bool ftz = false);
void maximum_f32(Row d, Source a, Source b, std::uint32_t active, bool ftz = false);
void ex2_approx_f32(Row d, Source a, std::uint32_t active, bool ftz = false);

// cvt.rn.bf16x2.f32 d, a, b and cvt.rn.f16x2.f32 d, a, b: a is the upper half.
void pack_f32(Format to, Row d, Source a, Source b, std::uint32_t active);
// cvt.f32.f16 and cvt.f32.bf16 of the lower halves.
void widen_to_f32(Format from, Row d, Source a, std::uint32_t active);

}  // namespace wm::vgpu::numeric::rows
