// A product of matrices in a warp's registers: of mma.sync, and of wmma, which is made of several.
#pragma once

#include <vector>

#include "vgpu/isa/numeric/mma.hpp"
#include "vgpu/machine/warp.hpp"

namespace wm::vgpu::isa {

struct Product {
  enum class Kind : u8 { plain, quad, nibbles, f64 };
  Kind kind = Kind::plain;
  numeric::MmaShape shape;  // m, n and k of every kind
  numeric::QuadMmaShape quad;
  numeric::NibbleMmaShape nibbles;
  std::vector<Operand> d, a, b, c;  // rows
};

// By the warp, all of it.
void multiply(Warp& warp, const Product& product);

}  // namespace wm::vgpu::isa
