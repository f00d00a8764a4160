// Integer instructions.
#include <fmt/format.h>

#include "golden/alu/variant.hpp"

namespace wm::golden {

namespace {

Kind kind_of(int bits) { return bits == 64 ? Kind::b64 : bits == 16 ? Kind::b16 : Kind::b32; }
DType result_of(int bits) { return bits == 64 ? DType::u64 : bits == 16 ? DType::u16 : DType::u32; }

class Integers {
 public:
  void add(const std::string& family, const std::string& name, DType result, std::vector<Kind> inputs,
           const std::string& immediates = "") {
    std::string body = name + " %d";
    for (std::size_t i = 0; i < inputs.size(); ++i) body += fmt::format(", %{}", "abc"[i]);
    variants.push_back({family + "/" + name + immediates, body + immediates + ";", result, std::move(inputs), {}});
  }
  std::vector<Variant> variants;
};

void arithmetic(Integers& out) {
  for (int bits : {16, 32, 64})
    for (char sign : {'u', 's'}) {
      const std::string type = fmt::format(".{}{}", sign, bits);
      const Kind kind = kind_of(bits);
      const DType result = result_of(bits);
      for (const char* opcode : {"add", "sub", "min", "max", "mul.lo", "mul.hi"})
        out.add("int", opcode + type, result, {kind, kind});
      for (const char* opcode : {"mad.lo", "mad.hi", "sad"}) out.add("int", opcode + type, result, {kind, kind, kind});
      if (bits != 64) out.add("int", "mul.wide" + type, result_of(2 * bits), {kind, kind});
      if (bits != 64) out.add("int", "mad.wide" + type, result_of(2 * bits), {kind, kind, kind_of(2 * bits)});
      if (bits != 16)
        for (const char* opcode : {"div", "rem"})
          out.add("int", opcode + type, result, {kind, bits == 64 ? Kind::divisor64 : Kind::divisor});
      if (sign == 's')
        for (const char* opcode : {"abs", "neg"}) out.add("int", opcode + type, result, {kind});
      for (const char* opcode : {"shr"}) out.add("int", opcode + type, result, {kind, Kind::count});
    }
  for (int bits : {16, 32, 64}) {
    const std::string type = fmt::format(".b{}", bits);
    out.add("int", "shl" + type, result_of(bits), {kind_of(bits), Kind::count});
    for (const char* opcode : {"not", "cnot"}) out.add("int", opcode + type, result_of(bits), {kind_of(bits)});
  }
  for (const char* name : {"add.sat.s32", "sub.sat.s32"}) out.add("int", name, DType::u32, {Kind::b32, Kind::b32});
  out.add("int", "mad.hi.sat.s32", DType::u32, {Kind::b32, Kind::b32, Kind::b32});
  for (const char* type : {"u32", "s32"})
    for (const char* half : {"lo", "hi"}) {
      out.add("int", fmt::format("mul24.{}.{}", half, type), DType::u32, {Kind::b32, Kind::b32});
      out.add("int", fmt::format("mad24.{}.{}", half, type), DType::u32, {Kind::b32, Kind::b32, Kind::b32});
    }
  out.variants.push_back(
      {"int/add.cc.u32 addc.u32",
       ".reg .b32 %low, %high;\nadd.cc.u32 %low, %a, %b;\naddc.u32 %high, %a, %c;\nmov.b64 %d, {%low, "
       "%high};",
       DType::u64,
       {Kind::b32, Kind::b32, Kind::b32},
       {}});
  out.variants.push_back(
      {"int/sub.cc.u32 subc.u32",
       ".reg .b32 %low, %high;\nsub.cc.u32 %low, %a, %b;\nsubc.u32 %high, %a, %c;\nmov.b64 %d, {%low, "
       "%high};",
       DType::u64,
       {Kind::b32, Kind::b32, Kind::b32},
       {}});
  for (const char* a : {"u32", "s32"})
    for (const char* b : {"u32", "s32"}) {
      out.add("dot", fmt::format("dp4a.{}.{}", a, b), DType::u32, {Kind::b32, Kind::b32, Kind::b32});
      for (const char* half : {"lo", "hi"})
        out.add("dot", fmt::format("dp2a.{}.{}.{}", half, a, b), DType::u32, {Kind::b32, Kind::b32, Kind::b32});
    }
}

void bits(Integers& out) {
  for (int width : {32, 64}) {
    const Kind kind = kind_of(width);
    const DType result = result_of(width);
    for (char sign : {'u', 's'}) {
      out.add("bits", fmt::format("bfe.{}{}", sign, width), result, {kind, Kind::count, Kind::count});
      for (const char* more : {"", ".shiftamt"})
        out.add("bits", fmt::format("bfind{}.{}{}", more, sign, width), DType::u32, {kind});
    }
    const std::string insert = fmt::format("bfi.b{}", width);
    out.variants.push_back(
        {"bits/" + insert, insert + " %d, %a, %a, %b, %c;", result, {kind, Kind::count, Kind::count}, {}});
    const std::string invert = fmt::format(".reg .b{0} %x;\nnot.b{0} %x, %a;\n", width);
    out.variants.push_back({"bits/" + insert + " over the complement",
                            invert + insert + " %d, %a, %x, %b, %c;",
                            result,
                            {kind, Kind::count, Kind::count},
                            {}});
    out.add("bits", fmt::format("brev.b{}", width), result, {kind});
    for (const char* opcode : {"clz", "popc"})
      out.add("bits", fmt::format("{}.b{}", opcode, width), DType::u32, {kind});
  }
  for (const char* mode : {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"})
    out.add("bits", fmt::format("prmt.b32{}", mode), DType::u32, {Kind::b32, Kind::b32, Kind::b32});
  for (int table : {0x00, 0x01, 0x1e, 0x3c, 0x69, 0x80, 0x96, 0xac, 0xca, 0xd8, 0xe8, 0xea, 0xf8, 0xff})
    out.add("bits", "lop3.b32", DType::u32, {Kind::b32, Kind::b32, Kind::b32}, fmt::format(", {:#04x}", table));
  for (const char* direction : {"l", "r"})
    for (const char* mode : {"wrap", "clamp"})
      out.add("bits", fmt::format("shf.{}.{}.b32", direction, mode), DType::u32, {Kind::b32, Kind::b32, Kind::count});
}

void comparisons(Integers& out) {
  for (int width : {16, 32, 64})
    for (char sign : {'u', 's'})
      for (const char* comparison : {"eq", "ne", "lt", "le", "gt", "ge"}) {
        const std::string name = fmt::format("setp.{}.{}{}", comparison, sign, width);
        out.variants.push_back({"compare_int/" + name,
                                name + " %p, %a, %b;\nselp.u32 %d, 1, 0, %p;",
                                DType::u32,
                                {kind_of(width), kind_of(width)},
                                {}});
      }
  for (const char* comparison : {"lo", "ls", "hi", "hs"}) {
    const std::string name = fmt::format("setp.{}.u32", comparison);
    out.variants.push_back(
        {"compare_int/" + name, name + " %p, %a, %b;\nselp.u32 %d, 1, 0, %p;", DType::u32, {Kind::b32, Kind::b32}, {}});
  }
  for (const char* operation : {"and", "or", "xor"}) {
    const std::string name = fmt::format("setp.lt.{}.s32", operation);
    out.variants.push_back({"compare_int/" + name,
                            ".reg .pred %q, %r;\nsetp.gt.s32 %q, %c, 0;\n" + name +
                                " %p|%r, %a, %b, %q;\nselp.u32 %d, 1, 0, %p;\n@%r add.u32 %d, %d, 2;",
                            DType::u32,
                            {Kind::b32, Kind::b32, Kind::b32},
                            {}});
  }
}

}  // namespace

std::vector<Variant> integer_variants() {
  Integers out;
  arithmetic(out);
  bits(out);
  comparisons(out);
  return out.variants;
}

}  // namespace wm::golden
