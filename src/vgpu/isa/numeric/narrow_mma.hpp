// mma.sync of sm_120a for floats of 8, 6 and 4 bits (kind::f8f6f4), and with a scale for each row and group of elements
// along k (kinds mxf8f6f4, mxf4, mxf4nvf4). Operands and results are rows of 32 lanes, one a register.
//
// Elements are multiplied with their scales in f32, which is exact where the result is a number of f32; sums are f32
// fused multiply-adds in order of k. How the chip adds nobody has recorded.
#pragma once

#include "vgpu/isa/numeric/mma.hpp"

namespace wm::vgpu::numeric {

// Elements of fewer than 8 bits take a byte each: e2m1 its middle four bits, the others its low six. Of e2m1_pairs two
// share a byte, and k is 64.
struct NarrowMmaShape {
  Element a = Element::e4m3, b = Element::e4m3;
  Sum sum = Sum::f32;
  int scales = 0;     // of a row along k: 1, 2 or 4; 0: there are none
  bool ue8m0 = true;  // powers of two; otherwise ue4m3

  int k() const { return slice_elements(a); }
};

// The scales of row r of A lie in lane 4 (r % 8) + 2 `thread` + r / 8, those of column c of B in lane 4 c + `thread`:
// in its register from byte `byte` on.
struct NarrowMmaScales {
  const std::uint32_t* lanes = nullptr;
  std::uint32_t byte = 0, thread = 0;
};

// d may be any of the operands' rows.
void mma_narrow(const NarrowMmaShape& shape, Rows d, ConstRows a, ConstRows b, ConstRows c,
                const NarrowMmaScales& a_scales, const NarrowMmaScales& b_scales);

}  // namespace wm::vgpu::numeric
