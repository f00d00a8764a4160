// Special registers (%tid.x, %clock64, ...) and addresses of variables as values.
#pragma once

#include <string>

#include "vgpu/isa/decoder.hpp"

namespace wm::vgpu {

// Puts the register's value into `row`; refuses names that are not known.
void emit_special(FunctionDecoder& decoder, const Effect& effect, const std::string& name, Operand row, u32 bytes);
void emit_special_predicate(FunctionDecoder& decoder, const std::string& name, u32 row);  // %is_explicit_cluster
// The address of a variable in its own space, or of a function.
void emit_symbol(FunctionDecoder& decoder, const Effect& effect, const ptx::Operand& symbol, Operand row, u32 bytes);

}  // namespace wm::vgpu
