// The module's head, variables with their initial values, and functions' heads.
#include "vgpu/ptx/text.hpp"

namespace wm::vgpu::ptx {
namespace {

using Bytes = std::vector<std::uint8_t>;

Variable variable(std::string_view declaration) { return read_module(declaration).variables.back(); }

TEST(PtxHead, VersionTargetAndOptionsAreRead) {
  const Module module = read(".version 6.4\n.target sm_80, texmode_independent, debug\n", "old.ptx");
  EXPECT_EQ(module.name, "old.ptx");
  EXPECT_EQ(module.version_major, 6);
  EXPECT_EQ(module.version_minor, 4);
  EXPECT_EQ(module.target.name(), "sm_80");
  EXPECT_EQ(read(".version 9.0\n.target sm_100a", "x").target.name(), "sm_100a");
  EXPECT_EQ(read(".version 9.0\n.target sm_100f", "x").target.name(), "sm_100f");
  EXPECT_EQ(read(std::string_view(".version 9.0 .target sm_90\0\0", 28), "x").target.name(), "sm_90");
}

TEST(PtxHead, WrongHeadsAreRefused) {
  EXPECT_EQ(refusal(""),
            "test.ptx:1:1: expected '.version' at the start of a PTX module, found the end of the text\n    \n    ^");
  EXPECT_NE(refusal("add.s32 a, b, c;").find("expected '.version'"), std::string::npos);
  EXPECT_NE(refusal(".version 9\n.target sm_90").find("expected a version such as 9.0, found '9'"), std::string::npos);
  EXPECT_NE(refusal(".version 10.1\n.target sm_90").find("PTX 10.1 is newer"), std::string::npos);
  EXPECT_NE(refusal(".version 9.0\n").find("expected '.target'"), std::string::npos);
  EXPECT_NE(refusal(".version 9.0\n.target sm_x\n").find("found 'sm_x'"), std::string::npos);
  EXPECT_NE(refusal(".version 9.0\n.global .u32 x;").find("expected '.target' before"), std::string::npos);
  EXPECT_NE(refusal(".version 9.0 .target sm_90 .address_size 32").find("64-bit"), std::string::npos);
  EXPECT_NE(module_refusal(".alias a, b;").find("'.alias' is not supported"), std::string::npos);
  EXPECT_NE(module_refusal(".nonsense").find("'.nonsense' is not supported outside functions"), std::string::npos);
  EXPECT_NE(module_refusal("\xff").find("the character 0xff has no place in PTX"), std::string::npos);
  EXPECT_NE(module_refusal("/* never closed").find("this comment has no end"), std::string::npos);
  EXPECT_NE(module_refusal(".pragma \"open\n;").find("this string has no end"), std::string::npos);
}

TEST(PtxRefusal, ShowsThePlaceAndTheLine) {
  EXPECT_EQ(kernel_refusal("\n  add.s32 %r1, %r2 %r3;"),
            "test.ptx:7:20: expected ';' after the operands of 'add.s32', found '%r3'\n"
            "      add.s32 %r1, %r2 %r3;\n"
            "                       ^");
}

TEST(PtxVariables, SpaceTypeAlignmentAndSize) {
  const Variable table = variable(".visible .const .align 16 .b8 table[64];");
  EXPECT_EQ(table.name, "table");
  EXPECT_EQ(table.space, Space::constant);
  EXPECT_EQ(table.type, Type::b8);
  EXPECT_EQ(table.alignment, 16u);
  EXPECT_EQ(table.bytes, 64u);
  EXPECT_EQ(table.place.ptx_line, 4u);
  EXPECT_TRUE(table.initial.empty());
  EXPECT_EQ(variable(".shared .v4 .f32 tile[2][3];").bytes, 96u);
  EXPECT_EQ(variable(".shared .v4 .f32 tile[2][3];").alignment, 16u);
  EXPECT_EQ(variable(".weak .global .u64 x;").alignment, 8u);
  EXPECT_EQ(variable(".common .global .b128 x;").bytes, 16u);
  EXPECT_EQ(variable(".global .attribute(.managed) .align 4 .b8 x[4*(2+1)];").bytes, 12u);
  EXPECT_EQ(variable(".global .attribute(.unified(1,2)) .b8 x[1];").bytes, 1u);
  const Module several = read_module(".global .u32 a, b[4] = {1}, c = 7;");
  EXPECT_EQ(several.variables.size(), 3u);
  EXPECT_EQ(several.variables[2].initial, (Bytes{7, 0, 0, 0}));
}

TEST(PtxVariables, DynamicSharedMemoryHasNoSize) {
  const Variable dynamic = variable(".extern .shared .align 128 .b8 memory[];");
  EXPECT_TRUE(dynamic.dynamic);
  EXPECT_TRUE(dynamic.external);
  EXPECT_EQ(dynamic.bytes, 0u);
  EXPECT_EQ(dynamic.alignment, 128u);
  EXPECT_FALSE(variable(".extern .global .u32 elsewhere;").dynamic);
}

TEST(PtxVariables, AnExternDeclarationIsCompletedByItsDefinition) {
  const Module module = read_module(".extern .global .u32 x;\n.global .u32 x = 3;\n.extern .global .u32 x;");
  ASSERT_EQ(module.variables.size(), 1u);
  EXPECT_FALSE(module.variables[0].external);
  EXPECT_EQ(module.variables[0].initial[0], 3);
  EXPECT_NE(module_refusal(".global .u32 x; .global .u32 x;").find("'x' is already declared"), std::string::npos);
  EXPECT_NE(module_refusal(".global .u32 x; .func x;").find("already declared as a variable"), std::string::npos);
}

TEST(PtxInitials, NumbersOfEveryType) {
  EXPECT_EQ(variable(".global .u16 x[4] = {1, -1, 0x1234};").initial, (Bytes{1, 0, 0xff, 0xff, 0x34, 0x12}));
  EXPECT_EQ(variable(".global .f32 x[2] = {0f3F800000, 2.0};").initial, (Bytes{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}));
  EXPECT_EQ(variable(".global .f32 x = 1;").initial, (Bytes{0, 0, 0x80, 0x3f}));
  EXPECT_EQ(variable(".global .f64 x = 0d3FF0000000000000;").initial, (Bytes{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}));
  EXPECT_EQ(variable(".global .b32 x = 0f3F800000;").initial, (Bytes{0, 0, 0x80, 0x3f}));
  EXPECT_EQ(variable(".const .s32 x = 1 << 4;").initial, (Bytes{16, 0, 0, 0}));
  EXPECT_NE(module_refusal(".global .u32 x = 1.5;").find("a floating-point number in a variable of type .u32"),
            std::string::npos);
}

TEST(PtxInitials, NestedBracesFillRows) {
  const Variable nested = variable(".global .u8 x[2][3] = {{1}, {4, 5}};");
  EXPECT_EQ(nested.bytes, 6u);
  EXPECT_EQ(nested.initial, (Bytes{1, 0, 0, 4, 5}));
  EXPECT_EQ(variable(".global .u8 x[2][3] = {1, 2, 3, 4};").initial, (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(variable(".global .u8 x[] = {1, 2, 3};").bytes, 3u);
  EXPECT_EQ(variable(".global .u8 x[][4] = {{1}, {2}};").bytes, 8u);
  EXPECT_EQ(variable(".global .u8 x[][4] = {1, 2, 3, 4, 5};").bytes, 8u);
  EXPECT_EQ(variable(".global .v2 .u8 x[2] = {{1, 2}, {3, 4}};").initial, (Bytes{1, 2, 3, 4}));
  EXPECT_NE(module_refusal(".global .u8 x[2] = {1, 2, 3};").find("more initial values than 'x' has elements"),
            std::string::npos);
  EXPECT_NE(module_refusal(".global .u8 x[2][2] = {{1, 2, 3}};").find("more initial values"), std::string::npos);
  EXPECT_NE(module_refusal(".global .u8 x[2][2] = {1, {2}};").find("row before is not complete"), std::string::npos);
  EXPECT_NE(module_refusal(".global .u8 x[2] = 1;").find("expected '{' before the initial values"), std::string::npos);
}

TEST(PtxInitials, AddressesBecomeRelocations) {
  const Module module = read_module(
      ".global .u32 target[8]; .extern .func callee;\n"
      ".global .u64 x[4] = {target, generic(target)+12, target-4, callee};\n"
      ".global .u8 bytes[3] = {0xFF(target), 0xFF00(generic(target)+8), 7};");
  const auto& relocations = module.variables[1].relocations;
  ASSERT_EQ(relocations.size(), 4u);
  EXPECT_EQ(relocations[0].symbol, "target");
  EXPECT_FALSE(relocations[0].generic);
  EXPECT_EQ(relocations[1].offset, 8u);
  EXPECT_EQ(relocations[1].bytes, 8u);
  EXPECT_EQ(relocations[1].addend, 12);
  EXPECT_TRUE(relocations[1].generic);
  EXPECT_EQ(relocations[2].addend, -4);
  EXPECT_EQ(relocations[3].symbol, "callee");
  const auto& masked = module.variables[2].relocations;
  ASSERT_EQ(masked.size(), 2u);
  EXPECT_EQ(masked[1].offset, 1u);
  EXPECT_EQ(masked[1].bytes, 1u);
  EXPECT_EQ(masked[1].shift, 8u);
  EXPECT_EQ(masked[1].addend, 8);
  EXPECT_EQ(module.variables[2].initial[2], 7);
  EXPECT_EQ(read_module(".global .u64 a = b; .global .u32 b;").variables[0].relocations[0].symbol, "b");
  EXPECT_NE(module_refusal(".global .u64 x = nothing;").find("4:18: 'nothing' is no variable or function"),
            std::string::npos);
  EXPECT_NE(module_refusal(".global .u16 a; .global .u16 x = a;").find("does not fit type .u16"), std::string::npos);
  EXPECT_NE(module_refusal(".global .u8 a; .global .u8 x = 0xF0(a);").find("one byte of an address"),
            std::string::npos);
}

TEST(PtxVariables, WrongDeclarationsAreRefused) {
  EXPECT_NE(module_refusal(".global x;").find("expected a type, found 'x'"), std::string::npos);
  EXPECT_NE(module_refusal(".global .u33 x;").find("expected a type or a name, found '.u33'"), std::string::npos);
  EXPECT_NE(module_refusal(".global .pred x;").find("these live in registers only"), std::string::npos);
  EXPECT_NE(module_refusal(".global .align 3 .u32 x;").find("power of two"), std::string::npos);
  EXPECT_NE(module_refusal(".global .u32 x[];").find("neither a size nor initial values"), std::string::npos);
  EXPECT_NE(module_refusal(".global .u32 x[2][];").find("only the first dimension"), std::string::npos);
  EXPECT_NE(module_refusal(".global .u32 x[-1];").find("an array of -1 elements"), std::string::npos);
  EXPECT_NE(module_refusal(".shared .u32 x = 1;").find("only .global and .const"), std::string::npos);
  EXPECT_NE(module_refusal(".global .u32 x<4>;").find("numbered family"), std::string::npos);
  EXPECT_NE(module_refusal(".global .texref x;").find("'.texref' variables are not supported"), std::string::npos);
  EXPECT_NE(module_refusal(".global .u32 x").find("expected ';' after a declaration"), std::string::npos);
  EXPECT_NE(module_refusal(".local .u32 x;").find("'.local' is not supported outside functions"), std::string::npos);
}

TEST(PtxVariables, HugeSizesCostNothingAndOverflowIsRefused) {
  EXPECT_EQ(variable(".global .u8 x[1000000000000] = {1};").initial.size(), 1u);
  EXPECT_NE(module_refusal(".global .u64 x[4294967296][4294967296];").find("larger than a tebibyte"),
            std::string::npos);
  EXPECT_NE(module_refusal(".global .u64 x[9223372036854775807];").find("larger than a tebibyte"), std::string::npos);
  EXPECT_NE(module_refusal(".global .u8 x[2][1000000000] = {{1}, {2}};").find("too large gaps"), std::string::npos);
  EXPECT_NE(module_refusal(".global .u8 x[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1];").find("dimensions"),
            std::string::npos);
}

TEST(PtxFunctions, AKernelsHead) {
  const Module module = read_module(
      ".visible .entry kernel(\n.param .u64 .ptr .global .align 16 out,\n.param .align 64 .b8 map[128],\n"
      ".param .f32 scale\n)\n.maxntid 128, 2\n.reqntid 64\n.minnctapersm 2\n.maxnreg 168\n.maxnctapersm 4\n"
      ".reqnctapercluster 2, 1, 1\n.explicitcluster\n.maxclusterrank 8\n.blocksareclusters\n"
      ".pragma \"nounroll\";\n{\nret;\n}");
  const Function& kernel = module.functions.at(0);
  EXPECT_EQ(kernel.name, "kernel");
  EXPECT_TRUE(kernel.entry);
  EXPECT_FALSE(kernel.declaration);
  ASSERT_EQ(kernel.parameters.size(), 3u);
  EXPECT_TRUE(kernel.parameters[0].pointer);
  EXPECT_EQ(kernel.parameters[0].alignment, 8u);
  EXPECT_EQ(kernel.parameters[0].space, Space::param);
  EXPECT_EQ(kernel.parameters[1].alignment, 64u);
  EXPECT_EQ(kernel.parameters[1].bytes, 128u);
  EXPECT_EQ(kernel.parameters[2].type, Type::f32);
  EXPECT_EQ(kernel.max_threads, (std::vector<std::uint32_t>{128, 2, 1}));
  EXPECT_EQ(kernel.required_threads, (std::vector<std::uint32_t>{64, 1, 1}));
  EXPECT_EQ(kernel.required_cluster, (std::vector<std::uint32_t>{2, 1, 1}));
  EXPECT_EQ(kernel.min_blocks, 2u);
  EXPECT_EQ(kernel.max_registers, 168u);
  EXPECT_EQ(kernel.max_cluster, 8u);
  EXPECT_TRUE(kernel.explicit_cluster);
  EXPECT_TRUE(kernel.blocks_are_clusters);
  EXPECT_EQ(kernel.place.ptx_line, 4u);
}

TEST(PtxFunctions, DeclarationsDeviceFunctionsAndRecursion) {
  const Module module = read_module(
      ".extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 list);\n"
      ".func .attribute(.unified(1, 2)) (.param .b32 r) f (.param .b32 x);\n"
      ".func (.param .b32 r) f (.param .b32 x)\n.noreturn\n{ call (r), f, (x); ret; }\n"
      ".func g (.reg .b32 a) { .reg .b32 b; mov.b32 b, a; }\n");
  ASSERT_EQ(module.functions.size(), 3u);
  EXPECT_TRUE(module.functions[0].declaration);
  EXPECT_EQ(module.functions[0].results.size(), 1u);
  EXPECT_EQ(module.functions[0].parameters.size(), 2u);
  EXPECT_EQ(module.functions[1].name, "f");
  EXPECT_FALSE(module.functions[1].declaration);
  EXPECT_EQ(module.functions[1].instructions.size(), 2u);
  const Function& g = module.functions[2];
  ASSERT_EQ(g.parameters.at(0).reg, 0);
  EXPECT_EQ(operand(g, 0, 1).index, 0u);
}

TEST(PtxFunctions, WrongHeadsAreRefused) {
  EXPECT_NE(module_refusal(".func f { ret; } .func f { ret; }").find("'f' already has a body"), std::string::npos);
  EXPECT_NE(module_refusal(".entry k(.u32 x) { ret; }").find("expected '.param', found '.u32'"), std::string::npos);
  EXPECT_NE(module_refusal(".entry k(.param .u32 x, .param .u32 x) {}").find("already declared"), std::string::npos);
  EXPECT_NE(module_refusal(".entry k .maxntid 0 {}").find("sizes of at least 1"), std::string::npos);
  EXPECT_NE(module_refusal(".entry k .maxntid 1,1,1,1 {}").find("one to three sizes"), std::string::npos);
  EXPECT_NE(module_refusal(".entry k .maxnreg 5000000000 {}").find("too large"), std::string::npos);
  EXPECT_NE(module_refusal(".entry k .fast {}").find("'.fast' is not supported at a function's head"),
            std::string::npos);
  EXPECT_NE(module_refusal(".entry k() { ret;").find("found the end of the text"), std::string::npos);
}

}  // namespace
}  // namespace wm::vgpu::ptx
