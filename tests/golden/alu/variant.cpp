// Inputs and kernels of the ALU variants.
#include "golden/alu/variant.hpp"

#include <bit>
#include <span>

#include <fmt/format.h>

namespace wm::golden {

int bits_of(Kind kind) {
  switch (kind) {
    case Kind::f16:
    case Kind::bf16:
    case Kind::e4m3x2:
    case Kind::e5m2x2:
    case Kind::b16: return 16;
    case Kind::f64:
    case Kind::b64:
    case Kind::divisor64: return 64;
    default: return 32;
  }
}

namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Numbers at which rules change, as bits.
std::span<const std::uint64_t> edges_of(Kind kind) {
  static constexpr std::uint64_t half[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400,
                                           0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x4000, 0x3555, 0x7bff,
                                           0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01};
  static constexpr std::uint64_t brain[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x8080,
                                            0x3f80, 0xbf80, 0x3f81, 0x3f7f, 0x4000, 0x3eab, 0x7f7f,
                                            0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81};
  static constexpr std::uint64_t single[] = {
      0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x3f800000, 0xbf800000,
      0x3f800001, 0x3f7fffff, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000, 0xc0200000, 0x7f7fffff, 0xff7fffff,
      0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000,
      0xdf000000, 0x5f800000, 0x477fe000, 0x477ff000, 0x477fefff, 0x43e00000, 0x43e80000, 0x47600000, 0x47680000,
      0x33000000, 0x33000001, 0x38800000, 0x387fffff, 0x7e800000, 0x7f000000, 0xff000000, 0x00400000};
  static constexpr std::uint64_t wide[] = {
      0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000fffffffffffff,
      0x0010000000000000, 0x8010000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000001,
      0x3fefffffffffffff, 0x3fe0000000000000, 0x3ff8000000000000, 0x4004000000000000, 0x7fefffffffffffff,
      0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000001,
      0x7ff0000000000001, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000, 0x43e0000000000000,
      0xc3e0000000000000, 0x43f0000000000000, 0x47efffffe0000000, 0x47efffffefffffff, 0x47effffff0000000,
      0x36a0000000000000, 0x3690000000000000, 0x3690000000000001, 0x380fffffffffffff, 0x40effc0000000000,
      0x40effe0000000000, 0x3f10000000000000};
  static constexpr std::uint64_t integer[] = {0,          1,          2,          3,          0x7f,       0x80,
                                              0x81,       0xff,       0x100,      0x7fff,     0x8000,     0xffff,
                                              0x10000,    0x7fffff,   0x800000,   0xffffff,   0x1000000,  0x1000001,
                                              0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x55555555};
  static constexpr std::uint64_t integer64[] = {0,
                                                1,
                                                0x7f,
                                                0x80,
                                                0xffff,
                                                0x7fffffff,
                                                0x80000000,
                                                0xffffffff,
                                                0x100000000,
                                                0x1fffffffffffff,
                                                0x20000000000000,
                                                0x20000000000001,
                                                0x7fffffffffffffff,
                                                0x8000000000000000,
                                                0x8000000000000001,
                                                0xffffffff80000000,
                                                0xffffffff7fffffff,
                                                0xffffffffffffffff};
  static constexpr std::uint64_t counts[] = {0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 255, 256, 0xffffffff};
  switch (kind) {
    case Kind::f16: return half;
    case Kind::bf16: return brain;
    case Kind::f32:
    case Kind::angle: return single;
    case Kind::f64: return wide;
    case Kind::b64: return integer64;
    case Kind::count: return counts;
    case Kind::divisor64: return std::span(integer64).subspan(1);
    case Kind::divisor: return std::span(integer).subspan(1);
    case Kind::b16:
    case Kind::b32: return integer;
    default: return {};
  }
}

std::uint64_t draw_f32(std::uint64_t random) {
  const std::uint64_t choice = random >> 60, bits = random & 0xffffffff;
  if (choice < 5) return bits;
  if (choice < 10)
    return (bits & 0x80ffffff) + 0x3b000000 + (bits >> 25 << 23) % 0x0a000000;  // between 2^-9 and 2^11 or so
  static constexpr std::uint64_t tails[] = {0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0x2000, 0x18000, 0x80000};
  return (bits & 0xbfff0000) + tails[random >> 40 & 7] + (choice & 1 ? 0x10000000 : 0);  // halfway for narrower formats
}

std::uint64_t draw_f64(std::uint64_t random) {
  const std::uint64_t choice = random >> 60, more = mix(random);
  if (choice < 5) return more;
  const std::uint64_t exponent = 0x3ff - 40 + (random >> 32) % 80;  // close enough to one another to meet
  const std::uint64_t mantissa = choice < 11 ? more >> 12 : more >> 12 & 0xfffffffff0000000;
  return (more & 1) << 63 | exponent << 52 | mantissa;
}

std::uint64_t draw(Kind kind, std::uint64_t random) {
  switch (kind) {
    case Kind::f32: return draw_f32(random);
    case Kind::f64: return draw_f64(random);
    case Kind::angle: {
      const double turn = static_cast<double>(random >> 11) * 0x1p-53 * 2 - 1;
      return std::bit_cast<std::uint32_t>(static_cast<float>(turn * 3.14159));
    }
    case Kind::count: return random % 80;
    case Kind::selector: return random % 40;
    case Kind::divisor: return std::uint32_t(random >> random % 32) | 1;
    case Kind::divisor64: return random >> random % 64 | 1;
    case Kind::f16x2: return draw(Kind::f16, random) | draw(Kind::f16, mix(random)) << 16;
    case Kind::bf16x2: return draw(Kind::bf16, random) | draw(Kind::bf16, mix(random)) << 16;
    case Kind::f16:
    case Kind::bf16: {
      const auto edges = edges_of(kind);
      if (random >> 62 == 0) return edges[random % edges.size()];
      return random >> 62 == 1 ? random & 0xffff : (random & 0x83ff) + 0x3800 + (random >> 20 & 0xc00);
    }
    case Kind::b32: return random >> 61 == 0 ? random >> 32 : std::uint32_t(random) >> (random >> 32 & 31);
    case Kind::b64: return mix(random) >> (random & 63);
    default: return random;
  }
}

}  // namespace

std::size_t Variant::count() const {
  const bool all = inputs.size() == 1 && bits_of(inputs[0]) == 16;
  return all ? 65536 : 4096;
}

std::uint64_t Variant::input(std::size_t operand, std::size_t index) const {
  const Kind kind = inputs[operand];
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits_of(kind));
  if (count() == 65536) return index;
  const auto edges = edges_of(kind);
  // First the edges in every combination of the first two operands, then draws.
  const std::size_t first = edges_of(inputs[0]).size();
  const std::size_t combinations = inputs.size() == 1 ? first : first * edges_of(inputs[1]).size();
  if (!edges.empty() && index < combinations) {
    if (operand == 0) return edges[index % first];
    if (operand == 1) return edges[index / first];
    return edges[mix(index) % edges.size()];
  }
  return draw(kind, mix(index * 4 + operand)) & mask;
}

namespace {

// Each thread takes one element of each operand: base + index * size.
std::string address_of(const std::string& parameter, int bits) {
  return fmt::format("ld.param.u64 %base, [{}];\nmul.wide.u32 %place, %index, {};\nadd.u64 %base, %base, %place;\n",
                     parameter, bits / 8);
}

std::string entry_of(const Variant& variant, std::size_t number) {
  const int result_bits = static_cast<int>(size_of(variant.result)) * 8;
  const std::string name = fmt::format("variant{}", number);
  std::string parameters = fmt::format(".param .u64 {}_out", name), registers, loads;
  for (std::size_t i = 0; i < variant.inputs.size(); ++i) {
    const int bits = bits_of(variant.inputs[i]);
    const std::string parameter = fmt::format("{}_in{}", name, i);
    parameters += ", .param .u64 " + parameter;
    registers += fmt::format(".reg .b{} %{};\n", bits, "abc"[i]);
    loads += address_of(parameter, bits) + fmt::format("ld.global.b{} %{}, [%base];\n", bits, "abc"[i]);
  }
  return fmt::format(".visible .entry {}({})\n{{\n", name, parameters) +
         ".reg .b32 %index, %block, %size;\n.reg .b64 %base, %place;\n.reg .pred %p;\n" +
         fmt::format(".reg .b{} %d;\n", result_bits) + registers +
         "mov.u32 %index, %tid.x;\nmov.u32 %block, %ctaid.x;\nmov.u32 %size, %ntid.x;\n"
         "mad.lo.u32 %index, %block, %size, %index;\n" +
         loads + "{\n" + variant.body + "\n}\n" + address_of(name + "_out", result_bits) +
         fmt::format("st.global.b{} [%base], %d;\nret;\n}}\n", result_bits);
}

}  // namespace

std::string module_of(std::span<const Variant> variants) {
  std::string text = ".version 8.6\n.target sm_90a\n.address_size 64\n";
  for (std::size_t i = 0; i < variants.size(); ++i) text += entry_of(variants[i], i);
  return text;
}

std::vector<Variant> every_variant() {
  std::vector<Variant> all;
  for (auto family : {conversion_variants, float_variants, integer_variants, warp_variants})
    for (Variant& variant : family()) all.push_back(std::move(variant));
  return all;
}

}  // namespace wm::golden
