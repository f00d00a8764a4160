// Nested scopes that reuse the names of registers, variables and labels.
#include "vgpu/ptx/text.hpp"

namespace wm::vgpu::ptx {
namespace {

TEST(PtxScopes, EachScopeHasItsOwnRegisters) {
  const Function kernel = read_kernel(
      "mov.b32 %r1, 1;\n{ .reg .b64 %r1; mov.b64 %r1, 2; { mov.b64 %r1, 3; } }\n{ .reg .f32 %r<4>; mov.f32 %r1, 4.0; "
      "mov.b32 %f1, 1; }\nmov.b32 %r1, 5;");
  const auto index = [&](std::size_t instruction) { return operand(kernel, instruction, 0).index; };
  EXPECT_NE(index(0), index(1));
  EXPECT_EQ(index(1), index(2));
  EXPECT_NE(index(3), index(1));
  EXPECT_NE(index(3), index(0));
  EXPECT_EQ(index(5), index(0));
  EXPECT_EQ(kernel.registers[index(1)].type, Type::b64);
  EXPECT_EQ(kernel.registers[index(3)].type, Type::f32);
}

TEST(PtxScopes, ARegisterEndsWithItsScope) {
  EXPECT_NE(kernel_refusal("{ .reg .b32 %inner; }\nmov.b32 %inner, 1;").find("'%inner' is not declared"),
            std::string::npos);
}

TEST(PtxScopes, VariablesOfOneNameGetDistinctNames) {
  const Function kernel = read_kernel(
      "{ .param .b32 param0; st.param.b32 [param0+0], %r1; }\n{ .param .b64 param0; st.param.b64 [param0], %rd1; }\n{ "
      ".param .b64 out; st.param.b64 [out], %rd1; }");
  ASSERT_EQ(kernel.variables.size(), 3u);
  EXPECT_EQ(kernel.variables[0].name, "param0");
  EXPECT_EQ(kernel.variables[1].name, "param0#2");
  EXPECT_EQ(kernel.variables[2].name, "out#2");  // the kernel has a parameter `out`
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(operand(kernel, i, 0).parts[0].name, kernel.variables[i].name);
}

TEST(PtxScopes, ALocalNameDoesNotHideTheModulesElsewhere) {
  const Module module =
      read_module(".global .u32 x;\n.entry k() { .reg .b64 a; { .local .u32 x; mov.u64 a, x; } mov.u64 a, x; }");
  EXPECT_EQ(operand(module.functions[0], 0, 1).name, "x#2");
  EXPECT_EQ(operand(module.functions[0], 1, 1).name, "x");
}

TEST(PtxScopes, EachScopeHasItsOwnLabels) {
  const Function kernel = read_kernel(
      "loop: mov.b32 %r1, 0;\n{ bra loop;\n mov.b32 %r1, 1;\nloop: mov.b32 %r1, 2; }\n{ bra loop; bra after; }\nafter: "
      "bra loop;");
  EXPECT_EQ(operand(kernel, 1, 0).index, 3u);  // the inner label, though the outer one came before
  EXPECT_EQ(operand(kernel, 4, 0).index, 0u);
  EXPECT_EQ(operand(kernel, 5, 0).index, 6u);
  EXPECT_EQ(operand(kernel, 6, 0).index, 0u);
  EXPECT_NE(kernel_refusal("{ inside: ret; }\nbra inside;").find("7:5: 'inside' is no"), std::string::npos);
}

TEST(PtxScopes, DuplicatesInOneScopeAreRefused) {
  EXPECT_NE(kernel_refusal(".reg .b32 a; .reg .b64 a;").find("'a' is already declared in this scope"),
            std::string::npos);
  EXPECT_NE(kernel_refusal(".reg .b32 %r<3>;").find("'%r' is already declared in this scope"), std::string::npos);
  EXPECT_NE(kernel_refusal("a: a: ret;").find("'a' is already declared"), std::string::npos);
}

TEST(PtxRegisters, OnlyNamedOnesExist) {
  const Function kernel = read_kernel(".reg .b32 many<4000000>;\nmov.b32 many3999999, many0;");
  EXPECT_EQ(kernel.registers.size(), 2u);
  EXPECT_NE(kernel_refusal(".reg .b32 many<4000000000>;").find("4000000000 registers in one declaration"),
            std::string::npos);
  EXPECT_NE(kernel_refusal(".reg .b32 many<5000000000>;").find("too large"), std::string::npos);
}

TEST(PtxRegisters, FamiliesWhoseNamesEndInDigits) {
  const Function kernel = read_kernel(".reg .b32 %a<5>; .reg .b64 %a1<5>;\nmov.b32 %a2, 1;\nmov.b64 %a12, 2;");
  EXPECT_EQ(kernel.registers[operand(kernel, 0, 0).index].type, Type::b32);
  EXPECT_EQ(kernel.registers[operand(kernel, 1, 0).index].type, Type::b64);
}

TEST(PtxScopes, DeepNestingIsRefused) {
  EXPECT_EQ(read_kernel(std::string(20, '{').append("ret;").append(20, '}')).instructions.size(), 1u);
  EXPECT_NE(kernel_refusal(std::string(1000000, '{')).find("scopes nested deeper than 32"), std::string::npos);
}

}  // namespace
}  // namespace wm::vgpu::ptx
