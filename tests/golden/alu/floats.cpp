// Floating-point arithmetic, comparisons and approximations.
#include <fmt/format.h>

#include "golden/alu/variant.hpp"

namespace wm::golden {

namespace {

struct Type {
  const char* name;
  Kind kind;
  DType bits;
};
constexpr Type f32{"f32", Kind::f32, DType::u32}, f64{"f64", Kind::f64, DType::u64}, f16{"f16", Kind::f16, DType::u16},
    bf16{"bf16", Kind::bf16, DType::u16}, f16x2{"f16x2", Kind::f16x2, DType::u32},
    bf16x2{"bf16x2", Kind::bf16x2, DType::u32};

class Floats {
 public:
  // OPCODE.TYPE %d, %a(, %b(, %c)): `operands` of the type.
  void add(const char* family, const std::string& opcode, const Type& type, int operands) {
    const std::string name = opcode + "." + type.name;
    std::string body = name + " %d";
    for (int i = 0; i < operands; ++i) body += fmt::format(", %{}", "abc"[i]);
    variants.push_back({std::string(family) + "/" + name,
                        body + ";",
                        type.bits,
                        std::vector<Kind>(static_cast<std::size_t>(operands), type.kind),
                        {}});
  }
  // The same, compared as numbers within a bound.
  void approximate(const std::string& opcode, const Type& type, DType result, std::vector<Kind> inputs, Bound bound) {
    const std::string name = opcode + "." + type.name;
    std::string body = name + " %d";
    for (std::size_t i = 0; i < inputs.size(); ++i) body += fmt::format(", %{}", "abc"[i]);
    variants.push_back({"approx/" + name, body + ";", result, std::move(inputs), bound});
  }
  std::vector<Variant> variants;
};

constexpr const char* roundings[] = {".rn", ".rz", ".rm", ".rp"};

void rounded(Floats& out) {
  for (const char* rounding : roundings) {
    for (const char* more : {"", ".ftz", ".sat", ".ftz.sat"}) {
      for (const char* opcode : {"add", "sub", "mul"}) out.add("f32", opcode + std::string(rounding) + more, f32, 2);
      out.add("f32", "fma" + std::string(rounding) + more, f32, 3);
    }
    for (const char* more : {"", ".ftz"}) {
      out.add("f32_divide", "div" + std::string(rounding) + more, f32, 2);
      for (const char* opcode : {"rcp", "sqrt"}) out.add("f32_divide", opcode + std::string(rounding) + more, f32, 1);
    }
    for (const char* opcode : {"add", "sub", "mul", "div"}) out.add("f64", opcode + std::string(rounding), f64, 2);
    for (const char* opcode : {"rcp", "sqrt"}) out.add("f64", opcode + std::string(rounding), f64, 1);
    out.add("f64", "fma" + std::string(rounding), f64, 3);
  }
}

void halves(Floats& out) {
  for (const Type* type : {&f16, &f16x2}) {
    for (const char* more : {"", ".ftz", ".sat", ".ftz.sat"}) {
      for (const char* opcode : {"add.rn", "sub.rn", "mul.rn"}) out.add("half", opcode + std::string(more), *type, 2);
      out.add("half", "fma.rn" + std::string(more), *type, 3);
    }
    for (const char* more : {".relu", ".ftz.relu"}) out.add("half", "fma.rn" + std::string(more), *type, 3);
    for (const char* more : {"", ".ftz"})
      for (const char* opcode : {"neg", "abs"}) out.add("half", opcode + std::string(more), *type, 1);
  }
  for (const Type* type : {&bf16, &bf16x2}) {
    for (const char* opcode : {"add.rn", "sub.rn", "mul.rn"}) out.add("half", opcode, *type, 2);
    for (const char* opcode : {"fma.rn", "fma.rn.relu"}) out.add("half", opcode, *type, 3);
    for (const char* opcode : {"neg", "abs"}) out.add("half", opcode, *type, 1);
  }
}

void extremes(Floats& out) {
  for (const char* opcode : {"min", "max"}) {
    for (const char* more : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"}) {
      for (const Type* type : {&f16, &f16x2, &bf16, &bf16x2, &f32})
        out.add("minmax", opcode + std::string(more), *type, 2);
      for (const Type* type : {&f16, &f16x2, &f32}) out.add("minmax", opcode + std::string(".ftz") + more, *type, 2);
    }
    out.add("minmax", opcode, f64, 2);
  }
}

void signs(Floats& out) {
  for (const char* opcode : {"neg", "abs"}) {
    for (const char* more : {"", ".ftz"}) out.add("sign", opcode + std::string(more), f32, 1);
    out.add("sign", opcode, f64, 1);
  }
  for (const Type* type : {&f32, &f64}) {
    out.add("sign", "copysign", *type, 2);
    for (const char* property : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
      const std::string name = fmt::format("testp.{}.{}", property, type->name);
      out.variants.push_back({"sign/" + name, name + " %p, %a;\nselp.u32 %d, 1, 0, %p;", DType::u32, {type->kind}, {}});
    }
  }
}

void comparisons(Floats& out) {
  for (const char* comparison :
       {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}) {
    for (const Type* type : {&f32, &f64, &f16, &bf16})
      for (const char* ftz : {"", ".ftz"}) {
        if (*ftz && type != &f32 && type != &f16) continue;
        const std::string name = fmt::format("setp.{}{}.{}", comparison, ftz, type->name);
        out.variants.push_back({"compare/" + name,
                                name + " %p, %a, %b;\nselp.u32 %d, 1, 0, %p;",
                                DType::u32,
                                {type->kind, type->kind},
                                {}});
      }
    for (const char* result : {"u32", "f32"}) {
      const std::string name = fmt::format("set.{}.{}.f32", comparison, result);
      out.variants.push_back({"compare/" + name, name + " %d, %a, %b;", DType::u32, {Kind::f32, Kind::f32}, {}});
    }
    const std::string pair = fmt::format("set.{}.f16x2.f16x2", comparison);
    out.variants.push_back({"compare/" + pair, pair + " %d, %a, %b;", DType::u32, {Kind::f16x2, Kind::f16x2}, {}});
    const std::string both = fmt::format("setp.{}.f16x2", comparison);
    out.variants.push_back(
        {"compare/" + both,
         ".reg .pred %q;\n.reg .b32 %low, %high;\n" + both +
             " %p|%q, %a, %b;\nselp.u32 %low, 1, 0, %p;\nselp.u32 %high, 2, 0, %q;\nor.b32 %d, %low, "
             "%high;",
         DType::u32,
         {Kind::f16x2, Kind::f16x2},
         {}});
  }
}

// Bounds: the greatest distances from the chip that were measured (docs/fidelity.md), rounded up to a power of two.
// A subnormal result has an absolute unit.
void approximations(Floats& out) {
  constexpr double unit = 0x1p-149;
  for (const char* ftz : {"", ".ftz"}) {
    const std::string more = ftz;
    out.approximate("ex2.approx" + more, f32, DType::f32, {Kind::f32}, {2 * unit, 0x1p-22});
    out.approximate("lg2.approx" + more, f32, DType::f32, {Kind::f32}, {0x1p-22, 0x1p-23});
    out.approximate("rcp.approx" + more, f32, DType::f32, {Kind::f32}, {unit, 0x1p-23});
    out.approximate("rsqrt.approx" + more, f32, DType::f32, {Kind::f32}, {0, 0x1p-23});
    out.approximate("sqrt.approx" + more, f32, DType::f32, {Kind::f32}, {unit, 0x1p-23});
    out.approximate("sin.approx" + more, f32, DType::f32, {Kind::angle}, {0x1p-21, 0});
    out.approximate("cos.approx" + more, f32, DType::f32, {Kind::angle}, {0x1p-21, 0});
    out.approximate("div.approx" + more, f32, DType::f32, {Kind::f32, Kind::f32}, {unit, 0x1p-23});
    out.approximate("div.full" + more, f32, DType::f32, {Kind::f32, Kind::f32}, {unit, 0x1p-23});
  }
  out.approximate("tanh.approx", f32, DType::f32, {Kind::f32}, {0, 0x1p-16});
  out.approximate("rcp.approx.ftz", f64, DType::f64, {Kind::f64}, {0, 0x1p-20});
  out.approximate("rsqrt.approx.ftz", f64, DType::f64, {Kind::f64}, {0, 0x1p-20});
  out.approximate("ex2.approx", f16, DType::f16, {Kind::f16}, {0x1p-24, 0x1p-10});
  out.approximate("ex2.approx.ftz", bf16, DType::bf16, {Kind::bf16}, {0, 0x1p-7});
  out.approximate("tanh.approx", f16, DType::f16, {Kind::f16}, {0x1p-11, 0});
  out.approximate("tanh.approx", bf16, DType::bf16, {Kind::bf16}, {0x1p-8, 0});
}

}  // namespace

std::vector<Variant> float_variants() {
  Floats out;
  rounded(out);
  halves(out);
  extremes(out);
  signs(out);
  comparisons(out);
  approximations(out);
  return out.variants;
}

}  // namespace wm::golden
