// What the floating-point families share: formats of types, rounding and flags as modifiers.
#pragma once

#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/numeric/format.hpp"

namespace wm::vgpu::isa {

// An element format and whether a register holds two of them.
struct FloatType {
  numeric::Format format = numeric::Format::f32;
  bool pair = false;
};
bool is_float(ptx::Type type);
FloatType float_type(const FunctionDecoder& decoder, ptx::Type type);

// Rounding (.rn .rz .rm .rp), .ftz, .sat, .relu as far as they are there; checked against the type.
numeric::Mode take_mode(FunctionDecoder& decoder);

}  // namespace wm::vgpu::isa
