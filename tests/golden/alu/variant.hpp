// Variants of ALU instructions for the golden vectors: the PTX of each, what it takes and gives, and its inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "golden/golden.hpp"

namespace wm::golden {

// What an operand holds, for drawing inputs that tell something.
enum class Kind {
  f16,
  bf16,
  f16x2,
  bf16x2,
  e4m3x2,
  e5m2x2,
  f32,
  f64,
  b16,
  b32,
  b64,
  count,    // of bits, around the widths
  divisor,  // b32, not zero
  divisor64,
  angle,     // f32 within [-pi, pi]
  selector,  // a lane
};
int bits_of(Kind kind);

struct Variant {
  std::string name;  // "family/instruction"
  std::string body;  // PTX that sets %d from %a, %b, %c
  DType result = DType::u32;
  std::vector<Kind> inputs;
  Bound bound;

  std::size_t count() const;  // elements: all of a 16-bit operand, else a few thousand
  std::uint64_t input(std::size_t operand, std::size_t index) const;
};

// A module with an entry a variant: variant0, variant1, ...
std::string module_of(std::span<const Variant> variants);

// Families, each in its own file, and all of them.
std::vector<Variant> every_variant();
std::vector<Variant> conversion_variants();
std::vector<Variant> float_variants();
std::vector<Variant> integer_variants();
std::vector<Variant> warp_variants();

}  // namespace wm::golden
