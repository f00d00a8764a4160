// What mma.sync and wgmma share: their types in numeric/'s words.
#pragma once

#include <optional>

#include "vgpu/isa/decoder.hpp"
#include "vgpu/isa/numeric/fragment.hpp"

namespace wm::vgpu::isa {

std::optional<numeric::Element> element_of(ptx::Type type);
std::optional<numeric::Sum> sum_of(ptx::Type type);
// Sparse operands and single bits, by name.
void refuse_foreign_matrices(FunctionDecoder& decoder);
void take_sync_aligned(FunctionDecoder& decoder);
// matrix_narrow.cpp: mma.sync with a .kind, behind .sync.aligned.
void narrow_matrix_multiply(FunctionDecoder& decoder);

}  // namespace wm::vgpu::isa
