// Floating-point arithmetic of PTX for f16, bf16, f32 and f64: every rounding mode, ftz, sat, relu, and the chip's
// NaNs. Bits in, bits out; hot f32 instructions of a whole warp are in rows.hpp.
#pragma once

#include <cstdint>

#include "vgpu/isa/numeric/format.hpp"

namespace wm::vgpu::numeric {

// An invalid operation, or a NaN among the operands, gives the format's canonical NaN; in f64 a NaN is passed on, of
// several that of b, else c's, else a's (divide: a's before b's).
std::uint64_t add(Format format, std::uint64_t a, std::uint64_t b, const Mode& mode = {});
std::uint64_t subtract(Format format, std::uint64_t a, std::uint64_t b, const Mode& mode = {});
std::uint64_t multiply(Format format, std::uint64_t a, std::uint64_t b, const Mode& mode = {});
std::uint64_t fma(Format format, std::uint64_t a, std::uint64_t b, std::uint64_t c, const Mode& mode = {});
std::uint64_t divide(Format format, std::uint64_t a, std::uint64_t b, const Mode& mode = {});
std::uint64_t square_root(Format format, std::uint64_t a, const Mode& mode = {});
std::uint64_t reciprocal(Format format, std::uint64_t a, const Mode& mode = {});

std::uint64_t negate(Format format, std::uint64_t a, bool ftz = false);
std::uint64_t absolute(Format format, std::uint64_t a, bool ftz = false);
std::uint64_t copy_sign(Format format, std::uint64_t sign_from, std::uint64_t number);  // copysign d, a, b

struct MinMaxMode {
  bool ftz = false;
  bool nan = false;          // .NaN: a NaN operand gives NaN; without it the other operand
  bool xorsign_abs = false;  // of the absolute values, with the product of the signs
};
std::uint64_t minimum(Format format, std::uint64_t a, std::uint64_t b, const MinMaxMode& mode = {});
std::uint64_t maximum(Format format, std::uint64_t a, std::uint64_t b, const MinMaxMode& mode = {});

enum class Comparison : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
bool compare(Comparison comparison, Format format, std::uint64_t a, std::uint64_t b, bool ftz = false);

enum class Property : std::uint8_t { finite, infinite, number, notanumber, normal, subnormal };
bool test_property(Property property, Format format, std::uint64_t a);  // testp

// Both halves of registers of f16x2 or bf16x2, the operation given the bits of one half of each:
// pairwise([&](auto a, auto b) { return add(Format::f16, a, b, mode); }, ra, rb).
template <class Operation, class... Pairs>
std::uint32_t pairwise(Operation operation, Pairs... pairs) {
  const auto high = static_cast<std::uint32_t>(operation(static_cast<std::uint64_t>(pairs >> 16)...));
  const auto low = static_cast<std::uint32_t>(operation(static_cast<std::uint64_t>(pairs & 0xffff)...));
  return high << 16 | (low & 0xffff);
}

}  // namespace wm::vgpu::numeric
