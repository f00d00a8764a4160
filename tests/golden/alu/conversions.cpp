// cvt: every pair and modifier of sm_90.
#include <fmt/format.h>

#include "golden/alu/variant.hpp"

namespace wm::golden {

namespace {

struct Type {
  const char* name;
  int bits;
  bool is_signed = false;
};
constexpr Type integers[] = {{"u8", 8},   {"s8", 8, true},   {"u16", 16}, {"s16", 16, true},
                             {"u32", 32}, {"s32", 32, true}, {"u64", 64}, {"s64", 64, true}};
constexpr Type floats[] = {{"f16", 16}, {"bf16", 16}, {"f32", 32}, {"f64", 64}};

Kind kind_of(const Type& type) {
  const std::string name = type.name;
  if (name == "f16") return Kind::f16;
  if (name == "bf16") return Kind::bf16;
  if (name == "f32") return Kind::f32;
  if (name == "f64") return Kind::f64;
  return type.bits == 64 ? Kind::b64 : type.bits == 16 ? Kind::b16 : Kind::b32;
}
DType result_of(const Type& type) { return type.bits == 64 ? DType::u64 : type.bits == 16 ? DType::u16 : DType::u32; }

class Conversions {
 public:
  // cvt.MODIFIERS.TO.FROM %d, %a
  void add(const std::string& family, const std::string& modifiers, const Type& to, const Type& from) {
    const std::string name = fmt::format("cvt{}.{}.{}", modifiers, to.name, from.name);
    // 8-bit values live in wider registers.
    variants.push_back({family + "/" + name, name + " %d, %a;", result_of(to), {kind_of(from)}, {}});
  }
  // cvt with named operand kinds: packed forms.
  void add(const std::string& name, const std::string& operands, DType result, std::vector<Kind> inputs) {
    variants.push_back({"cvt_packed/" + name, name + " " + operands + ";", result, std::move(inputs), {}});
  }
  std::vector<Variant> variants;
};

void floats_to_floats(Conversions& out) {
  const Type &f16 = floats[0], &bf16 = floats[1], &f32 = floats[2], &f64 = floats[3];
  const Type tf32{"tf32", 32};
  const std::string family = "cvt_float";
  for (const char* modifiers : {"", ".ftz", ".sat", ".ftz.sat"}) out.add(family, modifiers, f32, f16);
  for (const char* modifiers : {"", ".ftz", ".sat", ".ftz.sat"}) out.add(family, modifiers, f32, f32);
  out.add(family, "", f32, bf16);
  out.add(family, "", f64, f16);
  out.add(family, "", f64, bf16);
  out.add(family, ".sat", f64, f64);
  out.add(family, "", f64, f32);
  out.add(family, ".ftz", f64, f32);
  for (const char* rounding : {".rn", ".rz", ".rm", ".rp"}) {
    for (const char* more : {"", ".ftz", ".sat"}) out.add(family, rounding + std::string(more), f32, f64);
    for (const char* more : {"", ".ftz", ".sat"}) out.add(family, rounding + std::string(more), f16, f32);
    out.add(family, rounding, f16, f64);
    out.add(family, rounding, bf16, f64);
    out.add(family, rounding, bf16, f16);
    out.add(family, rounding, f16, bf16);
  }
  for (const Type* to : {&f16, &bf16})
    for (const char* modifiers : {".rn.relu", ".rz.relu", ".rn.satfinite", ".rz.satfinite", ".rn.relu.satfinite"})
      out.add(family, modifiers, *to, f32);
  for (const char* rounding : {".rn", ".rz", ".rm", ".rp"}) out.add(family, rounding, bf16, f32);
  for (const char* modifiers : {".rna", ".rna.satfinite", ".rn", ".rn.relu", ".rz", ".rz.relu"})
    out.add(family, modifiers, tf32, f32);
  for (const char* rounding : {".rni", ".rzi", ".rmi", ".rpi"}) {
    for (const Type* type : {&f16, &bf16, &f32, &f64}) out.add("cvt_integral", rounding, *type, *type);
    out.add("cvt_integral", rounding + std::string(".ftz"), f32, f32);
    out.add("cvt_integral", rounding + std::string(".sat"), f32, f32);
  }
}

// Every f16 beside a one, so that no number goes untried.
void every_half(Conversions& out, const char* modifiers, const char* to) {
  const std::string name = fmt::format("cvt{}.{}.f16x2", modifiers, to);
  out.variants.push_back(
      {"cvt_packed/" + name + " of every f16",
       ".reg .b16 %one;\n.reg .b32 %pair;\nmov.b16 %one, 0x3c00;\nmov.b32 %pair, {%a, %one};\n" + name + " %d, %pair;",
       DType::u16,
       {Kind::f16},
       {}});
}

void packed(Conversions& out) {
  for (const char* to : {"f16x2", "bf16x2"})
    for (const char* modifiers : {".rn", ".rz", ".rn.relu", ".rz.relu", ".rn.satfinite", ".rn.relu.satfinite"})
      out.add(fmt::format("cvt{}.{}.f32", modifiers, to), "%d, %a, %b", DType::u32, {Kind::f32, Kind::f32});
  for (const char* to : {"e4m3x2", "e5m2x2"})
    for (const char* modifiers : {".rn.satfinite", ".rn.satfinite.relu"}) {
      out.add(fmt::format("cvt{}.{}.f32", modifiers, to), "%d, %a, %b", DType::u16, {Kind::f32, Kind::f32});
      out.add(fmt::format("cvt{}.{}.f16x2", modifiers, to), "%d, %a", DType::u16, {Kind::f16x2});
      every_half(out, modifiers, to);
    }
  for (const char* modifiers : {".rn", ".rn.relu"}) {
    out.add(fmt::format("cvt{}.f16x2.e4m3x2", modifiers), "%d, %a", DType::u32, {Kind::e4m3x2});
    out.add(fmt::format("cvt{}.f16x2.e5m2x2", modifiers), "%d, %a", DType::u32, {Kind::e5m2x2});
  }
}

}  // namespace

std::vector<Variant> conversion_variants() {
  Conversions out;
  floats_to_floats(out);
  packed(out);
  // Between bf16 and 8-bit integers ptxas wants 8-bit registers, which no compiler uses: left out.
  const auto exotic = [](const Type& number, const Type& integer) {
    return number.name == std::string("bf16") && integer.bits == 8;
  };
  for (const Type& from : floats)
    for (const Type& to : integers)
      for (const char* rounding : {".rni", ".rzi", ".rmi", ".rpi"}) {
        if (exotic(from, to)) continue;
        out.add("cvt_float_to_int", rounding, to, from);
        const bool single = from.name == std::string("f32");
        if (single) out.add("cvt_float_to_int", rounding + std::string(".ftz"), to, from);
      }
  for (const Type& from : integers)
    for (const Type& to : floats)
      for (const char* rounding : {".rn", ".rz", ".rm", ".rp"})
        if (!exotic(to, from)) out.add("cvt_int_to_float", rounding, to, from);
  for (const Type& from : integers)
    for (const Type& to : integers) {
      out.add("cvt_int", "", to, from);
      // .sat exists only where a value may not fit.
      const bool fits = from.is_signed == to.is_signed ? from.bits <= to.bits : !from.is_signed && from.bits < to.bits;
      if (!fits) out.add("cvt_int", ".sat", to, from);
    }
  return out.variants;
}

}  // namespace wm::golden
