// Names that kernels put into comments of their PTX.
#pragma once

#include <string>

#include "vgpu/isa/decoder.hpp"

namespace wm::vgpu::isa {

// Decodes a `// wm.name` comment before an instruction; one that says nothing known is a comment like any other.
void decode_name(FunctionDecoder& decoder, const std::string& text);

}  // namespace wm::vgpu::isa
