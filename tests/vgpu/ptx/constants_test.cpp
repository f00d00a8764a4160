// Literals and constant expressions, as immediates of an instruction.
#include <bit>
#include <string>

#include "vgpu/ptx/text.hpp"

namespace wm::vgpu::ptx {
namespace {

Operand immediate(const std::string& expression) {
  return operand(read_kernel("mov.b64 %rd1, " + expression + ";"), 0, 1);
}

std::int64_t integer(const std::string& expression) {
  const Operand value = immediate(expression);
  EXPECT_EQ(value.kind, OperandKind::integer) << expression;
  return value.integer;
}

TEST(PtxConstants, IntegersInEveryBase) {
  EXPECT_EQ(integer("255"), 255);
  EXPECT_EQ(integer("-1"), -1);
  EXPECT_EQ(integer("0xFFU"), 255);
  EXPECT_EQ(integer("0XfF"), 255);
  EXPECT_EQ(integer("0377"), 255);
  EXPECT_EQ(integer("0b1011"), 11);
  EXPECT_EQ(integer("0"), 0);
  EXPECT_EQ(integer("0xFFFFFFFFFFFFFFFF"), -1);
  EXPECT_EQ(integer("18446744073709551615U"), -1);
  EXPECT_EQ(integer("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(integer("WARP_SZ"), 32);
}

TEST(PtxConstants, FloatsKeepTheirBits) {
  EXPECT_EQ(immediate("0f7FC00001").kind, OperandKind::f32);
  EXPECT_EQ(immediate("0f7FC00001").integer, 0x7FC00001);
  EXPECT_EQ(immediate("-0f3F800000").integer, 0xBF800000);
  EXPECT_EQ(immediate("0d3FF0000000000000").kind, OperandKind::f64);
  EXPECT_EQ(immediate("0D3FF0000000000000").integer, 0x3FF0000000000000);
  for (const auto& [text, value] : {std::pair{"1.5", 1.5},
                                    {"2.", 2.0},
                                    {"1e3", 1000.0},
                                    {"-1.25e-2", -0.0125},
                                    {"0.5 * (1.0 + 3.0)", 2.0},
                                    {"0f3F800000 / 4.0", 0.25}}) {
    EXPECT_EQ(immediate(text).kind, OperandKind::f64) << text;
    EXPECT_EQ(std::bit_cast<double>(immediate(text).integer), value) << text;
  }
}

TEST(PtxConstants, ExpressionsFollowTheRulesOfC) {
  EXPECT_EQ(integer("1 + 2 * 3"), 7);
  EXPECT_EQ(integer("(1 + 2) * 3"), 9);
  EXPECT_EQ(integer("7 - 2 - 1"), 4);
  EXPECT_EQ(integer("1 << 4 | 3"), 19);
  EXPECT_EQ(integer("-7 / 2"), -3);
  EXPECT_EQ(integer("-7 % 4"), -3);
  EXPECT_EQ(integer("~0 ^ 5 & 6"), -5);
  EXPECT_EQ(integer("1 < 2 && 2 >= 2 && 3 != 4 && !(1 > 2) || 0"), 1);
  EXPECT_EQ(integer("1 == 2 ? 10 : 2 <= 3 ? 20 : 30"), 20);
  EXPECT_EQ(integer("-1 >> 1"), -1);
  EXPECT_EQ(integer("(.u64)-1 >> 63"), 1);
  EXPECT_EQ(integer("-1 < 1U"), 0);  // compared as unsigned
  EXPECT_EQ(integer("(.s64)0xFFFFFFFFFFFFFFFF < 1"), 1);
  EXPECT_EQ(integer("1 << 64"), 0);
  EXPECT_EQ(integer("1.5 < 2.0"), 1);
}

TEST(PtxConstants, OverflowWrapsAndDivisionByZeroIsRefused) {
  EXPECT_EQ(integer("-9223372036854775807 - 1"), INT64_MIN);
  EXPECT_EQ(integer("(-9223372036854775807 - 1) / -1"), INT64_MIN);
  EXPECT_EQ(integer("(-9223372036854775807 - 1) % -1"), 0);
  EXPECT_NE(kernel_refusal("mov.b64 %rd1, 1 / 0;").find("test.ptx:6:17: division by zero"), std::string::npos);
  EXPECT_NE(kernel_refusal("mov.b64 %rd1, 5 % (3 - 3);").find("division by zero"), std::string::npos);
}

TEST(PtxConstants, WrongLiteralsAreRefusedByName) {
  for (const char* wrong :
       {"0x", "08", "0f12", "0f123456789", "12abc", "18446744073709551616", "1e999", "0b12", "0d12"})
    EXPECT_NE(kernel_refusal("mov.b64 %rd1, " + std::string(wrong) + ";")
                  .find("test.ptx:6:15: '" + std::string(wrong) + "' is no number"),
              std::string::npos)
        << wrong << kernel_refusal("mov.b64 %rd1, " + std::string(wrong) + ";");
  EXPECT_NE(kernel_refusal("mov.b64 %rd1, 1.5 << 2;").find("integers"), std::string::npos);
  EXPECT_NE(kernel_refusal("mov.b64 %rd1, 1.5 + 2;").find("mixes integers"), std::string::npos);
  EXPECT_NE(kernel_refusal("mov.b64 %rd1, ~1.5;").find("'~' needs an integer"), std::string::npos);
  EXPECT_NE(kernel_refusal("mov.b64 %rd1, 1 +;").find("expected a constant, found ';'"), std::string::npos);
}

TEST(PtxConstants, DeepNestingIsRefusedInsteadOfExhaustingTheStack) {
  EXPECT_EQ(integer(std::string(50, '(') + "1" + std::string(50, ')')), 1);
  for (const char* opening : {"(", "-", "~", "1 ? 1 : ", "(.s64)"}) {
    std::string expression;
    for (int i = 0; i < 100000; ++i) expression += opening;
    EXPECT_NE(kernel_refusal("mov.b64 %rd1, " + expression + "1;").find("nested deeper than 64"), std::string::npos)
        << opening;
  }
}

}  // namespace
}  // namespace wm::vgpu::ptx
