// Instructions and every form of operand.
#include "vgpu/ptx/text.hpp"

namespace wm::vgpu::ptx {
namespace {

TEST(PtxInstructions, OpcodeModifiersGuardAndPlace) {
  const Function kernel = read_kernel(
      "@%p1 add.s32 %r1, %r2, 3;\n@!%p2 bra.uni done;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], [%rd1, {%r2, "
      "%r3}], [%r4], %rd2;\ndone: ret;");
  ASSERT_EQ(kernel.instructions.size(), 4u);
  const Instruction& add = kernel.instructions[0];
  EXPECT_EQ(add.opcode, "add");
  EXPECT_EQ(add.modifiers, (std::vector<std::string>{"s32"}));
  EXPECT_EQ(kernel.registers.at(std::size_t(add.guard)).name, "%p1");
  EXPECT_FALSE(add.guard_negated);
  EXPECT_EQ(add.place.ptx_line, 6u);
  EXPECT_TRUE(kernel.instructions[1].guard_negated);
  EXPECT_EQ(kernel.instructions[2].guard, -1);
  EXPECT_EQ(kernel.instructions[2].full_name(),
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint");
  EXPECT_EQ(kernel.instructions[2].modifiers[4], "shared::cluster");
}

TEST(PtxOperands, RegistersAndSinks) {
  const Function kernel =
      read_kernel("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;\nshfl.sync.down.b32 %r1|_, %r2, 1, 31, -1;");
  const Operand& pair = operand(kernel, 0, 0);
  ASSERT_EQ(pair.kind, OperandKind::pair);
  EXPECT_EQ(register_name(kernel, pair.parts[0]), "%p1");
  EXPECT_EQ(register_name(kernel, pair.parts[1]), "%p2");
  EXPECT_TRUE(operand(kernel, 0, 3).negated);
  EXPECT_EQ(register_name(kernel, operand(kernel, 0, 3)), "%p3");
  EXPECT_EQ(operand(kernel, 1, 0).parts[1].kind, OperandKind::sink);
  EXPECT_EQ(operand(kernel, 1, 4).integer, -1);
}

TEST(PtxOperands, Memory) {
  const Function kernel = read_kernel(
      ".shared .align 4 .b8 tile[64];\n"
      "ld.global.u32 %r1, [%rd1];\nld.global.u32 %r1, [%rd1+8];\nld.global.u32 %r1, [%rd1+-8];\n"
      "ld.global.u32 %r1, [%rd1 - 8];\nld.shared.u32 %r1, [tile];\nld.shared.u32 %r1, [tile+4*2];\n"
      "ld.param.u64 %rd1, [out+0];\nst.shared.u32 [16], %r1;\nld.global.u32 %r1, [0x10+4-8];");
  const std::int64_t offsets[] = {0, 8, -8, -8, 0, 8, 0};
  for (std::size_t i = 0; i < 7; ++i) {
    const Operand& memory = operand(kernel, i, 1);
    ASSERT_EQ(memory.kind, OperandKind::memory);
    ASSERT_EQ(memory.parts.size(), 1u);
    EXPECT_EQ(memory.integer, offsets[i]) << i;
    EXPECT_EQ(memory.parts[0].kind, i < 4 ? OperandKind::reg : OperandKind::symbol);
    EXPECT_EQ(memory.parts[0].integer, 0);
  }
  EXPECT_EQ(operand(kernel, 4, 1).parts[0].name, "tile");
  EXPECT_EQ(operand(kernel, 6, 1).parts[0].name, "out");
  const Operand& absolute = operand(kernel, 7, 0);
  EXPECT_EQ(absolute.parts[0].kind, OperandKind::integer);
  EXPECT_EQ(absolute.parts[0].integer + absolute.integer, 16);
  EXPECT_EQ(operand(kernel, 8, 1).parts[0].integer + operand(kernel, 8, 1).integer, 12);
}

TEST(PtxOperands, TensorCoordinates) {
  const Function kernel = read_kernel(
      "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1+128], [%rd1, {%r2, 0, "
      "%r3}], [%r4+8], {%r5};\n"
      "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd1, %rd2, {%f4, %f5}];");
  const Operand& tensor = operand(kernel, 0, 1);
  ASSERT_EQ(tensor.kind, OperandKind::tensor);
  ASSERT_EQ(tensor.parts.size(), 2u);
  EXPECT_EQ(tensor.parts[0].kind, OperandKind::memory);
  EXPECT_EQ(register_name(kernel, tensor.parts[0].parts[0]), "%rd1");
  ASSERT_EQ(tensor.parts[1].kind, OperandKind::vector);
  EXPECT_EQ(tensor.parts[1].parts.size(), 3u);
  EXPECT_EQ(tensor.parts[1].parts[1].kind, OperandKind::integer);
  EXPECT_EQ(operand(kernel, 0, 2).integer, 8);
  EXPECT_EQ(operand(kernel, 0, 3).kind, OperandKind::vector);
  EXPECT_EQ(operand(kernel, 1, 1).parts.size(), 3u);
}

TEST(PtxOperands, Vectors) {
  const Function kernel = read_kernel(
      "ld.global.v4.f32 {%f0, %f1, _, %f2}, [%rd1];\nmov.b64 %rd1, {%r1, 5};\nst.global.v2.f32 [%rd1], {0f3F800000, "
      "%f1};");
  EXPECT_EQ(operand(kernel, 0, 0).parts[2].kind, OperandKind::sink);
  EXPECT_EQ(operand(kernel, 1, 1).parts[1].integer, 5);
  EXPECT_EQ(operand(kernel, 2, 1).parts[0].kind, OperandKind::f32);
}

TEST(PtxOperands, VectorRegistersAndTheirComponents) {
  const Function kernel = read_kernel(
      ".reg .v4 .f32 %v; .reg .v2 .b32 pairs<3>;\n"
      "ld.global.v4.f32 %v, [%rd1];\nadd.f32 %f1, %v.y, %v.a;\nmov.b32 pairs2.x, %r1;");
  const Operand& whole = operand(kernel, 0, 0);
  ASSERT_EQ(whole.kind, OperandKind::vector);
  ASSERT_EQ(whole.parts.size(), 4u);
  EXPECT_EQ(register_name(kernel, whole.parts[3]), "%v.w");
  EXPECT_EQ(operand(kernel, 1, 1).index, whole.parts[1].index);
  EXPECT_EQ(operand(kernel, 1, 2).index, whole.parts[3].index);
  EXPECT_EQ(register_name(kernel, operand(kernel, 2, 0)), "pairs2.x");
  EXPECT_NE(kernel_refusal("mov.b32 %r1.x, 1;").find("'%r1' has no component '.x'"), std::string::npos);
  EXPECT_NE(kernel_refusal(".reg .v2 .b32 v; mov.b32 v.z, 1;").find("'v' has no component '.z'"), std::string::npos);
}

TEST(PtxOperands, SpecialRegisters) {
  const Function kernel = read_kernel(
      "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %cluster_ctarank;\nmov.u64 %rd1, %clock64;\nmov.u32 %r3, %envreg3;");
  EXPECT_EQ(operand(kernel, 0, 1).kind, OperandKind::special);
  EXPECT_EQ(operand(kernel, 0, 1).name, "%tid.x");
  EXPECT_EQ(operand(kernel, 1, 1).name, "%cluster_ctarank");
  EXPECT_EQ(operand(kernel, 2, 1).name, "%clock64");
  EXPECT_NE(kernel_refusal("mov.u32 %r1, %tid.q;").find("'%tid' has no component '.q'"), std::string::npos);
}

TEST(PtxOperands, SymbolsWithOffsets) {
  const Module module = read_module(
      ".global .u32 table[4];\n.entry k() { .reg .b64 a; .local .align 16 .b8 depot[64]; mov.u64 a, table+8; mov.u64 "
      "a, depot; }");
  const Function& kernel = module.functions[0];
  EXPECT_EQ(operand(kernel, 0, 1).kind, OperandKind::symbol);
  EXPECT_EQ(operand(kernel, 0, 1).name, "table");
  EXPECT_EQ(operand(kernel, 0, 1).integer, 8);
  EXPECT_EQ(operand(kernel, 1, 1).name, "depot");
  EXPECT_EQ(kernel.variables.at(0).space, Space::local);
}

TEST(PtxCalls, EveryForm) {
  const Module module = read_module(
      ".func f; .func (.param .b32 r) g (.param .b32 x);\n"
      ".entry k() { .reg .b64 pointer; .param .b32 in; .param .b32 out;\n"
      "prototype: .callprototype (.param .b32 _) _ (.param .b32 _) .noreturn;\n"
      "targets: .calltargets g;\n"
      "call f;\ncall.uni (out), g, (in);\ncall (out), pointer, (in), prototype;\ncall (out), pointer, (in), "
      "targets;\ncall pointer, prototype; }");
  const Function& kernel = module.functions.at(2);
  ASSERT_EQ(kernel.instructions.size(), 6u);  // and the final ret
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(operand(kernel, i, 0).kind, OperandKind::list);
    EXPECT_EQ(operand(kernel, i, 2).kind, OperandKind::list);
  }
  EXPECT_TRUE(operand(kernel, 0, 0).parts.empty());
  EXPECT_EQ(operand(kernel, 0, 1).name, "f");
  EXPECT_EQ(kernel.instructions[0].operands.size(), 3u);
  EXPECT_EQ(operand(kernel, 1, 0).parts.at(0).name, "out");
  EXPECT_EQ(operand(kernel, 1, 2).parts.at(0).name, "in");
  EXPECT_EQ(operand(kernel, 2, 1).kind, OperandKind::reg);
  EXPECT_EQ(operand(kernel, 2, 3).name, "prototype");
  EXPECT_EQ(operand(kernel, 4, 3).name, "prototype");
  EXPECT_NE(kernel_refusal("call nowhere;").find("'nowhere' is no register, variable or function known here"),
            std::string::npos);
  EXPECT_NE(kernel_refusal("call %rd1, (), nothing;").find("'nothing' is no prototype"), std::string::npos);
  EXPECT_NE(kernel_refusal("call 5;").find("expected a function or a register, found '5'"), std::string::npos);
}

TEST(PtxBranches, LabelsBeforeAndAfterTheirUse) {
  const Function kernel = read_kernel("top: bra bottom;\nbra.uni top;\nbottom: end:");
  ASSERT_EQ(kernel.instructions.size(), 3u);
  EXPECT_EQ(operand(kernel, 0, 0).kind, OperandKind::label);
  EXPECT_EQ(operand(kernel, 0, 0).index, 2u);
  EXPECT_EQ(operand(kernel, 1, 0).index, 0u);
  EXPECT_EQ(kernel.instructions[2].opcode, "ret");  // a label at the end marks an instruction too
}

TEST(PtxBranches, Tables) {
  const Function kernel =
      read_kernel("table: .branchtargets a, b,\n a;\nbrx.idx.uni %r1, table;\na: mov.b32 %r1, 1;\nb: mov.b32 %r2, 2;");
  EXPECT_EQ(operand(kernel, 0, 1).kind, OperandKind::table);
  ASSERT_EQ(kernel.branch_tables.size(), 1u);
  EXPECT_EQ(kernel.branch_tables[0].name, "table");
  EXPECT_EQ(kernel.branch_tables[0].targets, (std::vector<std::uint32_t>{1, 2, 1}));
  EXPECT_NE(
      kernel_refusal("table: .branchtargets a, b; a: ret;").find("'b' is no register, variable, function or label"),
      std::string::npos);
}

TEST(PtxBranches, ABodyThatRunsOffItsEndReturns) {
  EXPECT_EQ(read_kernel("").instructions.size(), 1u);
  EXPECT_EQ(read_kernel("@%p1 ret;").instructions.size(), 2u);
  EXPECT_EQ(read_kernel("ret;").instructions.size(), 1u);
  EXPECT_EQ(read_kernel("ret; last:").instructions.size(), 2u);
}

TEST(PtxInstructions, WrongOnesAreRefused) {
  EXPECT_NE(kernel_refusal("mov.b32 %r1, %r10;").find("6:14: the register '%r10' is not declared"), std::string::npos);
  EXPECT_NE(kernel_refusal("mov.b32 %r1, %r01;").find("the register '%r01' is not declared"), std::string::npos);
  EXPECT_NE(
      kernel_refusal("bra nowhere;").find("6:5: 'nowhere' is no register, variable, function or label known here"),
      std::string::npos);
  EXPECT_NE(kernel_refusal("@%r1 ret;").find("the guard '%r1' is no predicate register"), std::string::npos);
  EXPECT_NE(kernel_refusal("@ ret;").find("the guard 'ret' is no predicate register"), std::string::npos);
  EXPECT_NE(kernel_refusal("ld.u32 %r1, [%rd1;").find("expected ']' after an address, found ';'"), std::string::npos);
  EXPECT_NE(kernel_refusal("ld.u32 %r1, [%tid.x];").find("expected an address, found '%tid'"), std::string::npos);
  EXPECT_NE(kernel_refusal("mov.v2.u32 {%r1, {%r2}}, 1;").find("expected a register or a constant in a vector"),
            std::string::npos);
  EXPECT_NE(kernel_refusal("and.pred %p1, %p2, !5;").find("expected a register or a name, found '5'"),
            std::string::npos);
  EXPECT_NE(kernel_refusal("shfl.sync.b32 %r1|out, %r1;").find("'|' joins two registers"), std::string::npos);
  EXPECT_NE(kernel_refusal("add.s32 %r1, %r2").find("expected ';' after the operands of 'add.s32', found '}'"),
            std::string::npos);
  EXPECT_NE(kernel_refusal(".version 9.0;").find("'.version' is not supported in a function"), std::string::npos);
  EXPECT_NE(kernel_refusal(".global .u32 x;").find("'.global' is not supported in a function"), std::string::npos);
}

}  // namespace
}  // namespace wm::vgpu::ptx
