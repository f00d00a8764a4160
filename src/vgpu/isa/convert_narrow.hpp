// cvt of the narrow formats of sm_100a, and of others with scales.
#pragma once

#include "vgpu/isa/decoder.hpp"

namespace wm::vgpu::isa {

// Decodes a cvt to or from e2m1x2, e2m3x2, e3m2x2 or ue8m0x2, or with scales; false where it is another one.
bool convert_narrow(FunctionDecoder& decoder);

}  // namespace wm::vgpu::isa
