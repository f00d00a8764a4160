// What each reducing copy does to an element, computed on the host.
#pragma once

#include <string>
#include <vector>

#include "lab.hpp"

namespace wm::golden {

enum class Reduction { add, min, max, increment, decrement, bit_and, bit_or, bit_xor };  // in the order of types.cuh

std::string name_of(Reduction reduction);
// The pairs the chip has, for memory reached by bulk copies and by tensor copies.
std::vector<std::pair<Reduction, DType>> global_reductions();
// The same for another block's shared memory.
std::vector<std::pair<Reduction, DType>> block_reductions();

// Elements of `type` that make a good case: whole range for integers, numbers of like size for floats.
std::vector<std::byte> reduction_operands(DType type, Reduction reduction, std::size_t count, std::uint64_t seed);
// In place: memory = memory (reduction) value, element by element.
void apply(Reduction reduction, DType type, std::byte* memory, const std::byte* value);

}  // namespace wm::golden
