// Names and sizes of the PTX types.
#include "vgpu/ptx/module.hpp"

namespace wm::vgpu::ptx {

namespace {

struct TypeFacts {
  std::string_view name;
  std::uint32_t bytes;
};

// In the order of the enumeration.
constexpr TypeFacts facts[] = {
    {"none", 0},  {"pred", 0},   {"b8", 1},     {"b16", 2},   {"b32", 4},   {"b64", 8},  {"b128", 16}, {"u8", 1},
    {"u16", 2},   {"u32", 4},    {"u64", 8},    {"s8", 1},    {"s16", 2},   {"s32", 4},  {"s64", 8},   {"f16", 2},
    {"f16x2", 4}, {"bf16", 2},   {"bf16x2", 4}, {"tf32", 4},  {"f32", 4},   {"f64", 8},  {"f32x2", 8}, {"e4m3", 1},
    {"e5m2", 1},  {"e4m3x2", 2}, {"e5m2x2", 2}, {"u16x2", 4}, {"s16x2", 4}, {"u8x4", 4}, {"s8x4", 4}};
static_assert(std::size(facts) == std::size_t(Type::s8x4) + 1);

}  // namespace

std::uint32_t bytes_of(Type type) { return facts[std::size_t(type)].bytes; }
std::string_view name_of(Type type) { return facts[std::size_t(type)].name; }

Type type_named(std::string_view name) {
  for (std::size_t index = 1; index < std::size(facts); ++index)
    if (facts[index].name == name) return Type(index);
  return Type::none;
}

std::string Instruction::full_name() const {
  std::string name = opcode;
  for (const std::string& modifier : modifiers) name.append(".").append(modifier);
  return name;
}

}  // namespace wm::vgpu::ptx
