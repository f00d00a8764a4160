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

}  // namespace wm::vgpu::isa
