// PTX in parts: what a kernel needs and nothing else, every line where it was.
#include "cudart/ptx_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cudart/names.hpp"

namespace wm::cudart {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* text = R"(// a comment with { and .entry
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .b8 table[8] = {1, 2, 3, 4};
.const .align 4 .u32 limit = 7; // }
.extern .shared .align 16 .b8 dynamic[];
.func (.param .b32 result) helper(.param .b32 x)
{
	ld.const.u32 %r1, [limit];
	ret;
}
.visible .entry one(.param .u64 p)
.maxntid 128
{
	.loc 1 5 3
	call (r), helper, (x); // "}"
	ret;
}
.visible .entry two()
{
	mov.u64 %rd1, table;
	ret;
}
.file 1 "two.cu"
)";

std::size_t line_of(const std::string& module, const std::string& part) {
  return static_cast<std::size_t>(
      std::count(module.begin(), module.begin() + static_cast<std::ptrdiff_t>(module.find(part)), '\n'));
}

TEST(PtxParts, AKernelHasWhatItUses) {
  const PtxParts parts{text};
  EXPECT_THAT(parts.kernels(), ElementsAre("one", "two"));
  EXPECT_FALSE(parts.whole());
  const std::string one = parts.kernel("one");
  EXPECT_THAT(one, HasSubstr(".func (.param .b32 result) helper"));
  EXPECT_THAT(one, HasSubstr(".extern .const .align 4 .u32 limit"));
  EXPECT_THAT(one, HasSubstr(".file 1"));
  EXPECT_THAT(one, Not(HasSubstr("table")));
  EXPECT_THAT(one, Not(HasSubstr("two()")));
  const std::string two = parts.kernel("two");
  EXPECT_THAT(two, HasSubstr("table[8]"));
  EXPECT_THAT(two, Not(HasSubstr("{1, 2, 3, 4}")));
  EXPECT_THAT(two, Not(HasSubstr("helper")));
  for (const char* part : {".version", "two()", "mov.u64", ".file"})
    EXPECT_EQ(line_of(two, part), line_of(text, part)) << part;
}

TEST(PtxParts, VariablesStandAlone) {
  const std::string variables = PtxParts{text}.variables();
  EXPECT_THAT(variables, HasSubstr("{1, 2, 3, 4}"));
  EXPECT_THAT(variables, HasSubstr("limit = 7"));
  EXPECT_THAT(variables, Not(HasSubstr("entry one")));
}

TEST(PtxParts, CallsThroughPointersKeepATextTogether) {
  for (const char* more : {".global .u64 functions[1] = {helper};\n", ".func f() { proto: .callprototype _ (); }\n"})
    EXPECT_TRUE(PtxParts{text + std::string(more)}.whole()) << more;
}

TEST(PtxParts, AnyTextIsCutWithoutHarm) {
  const std::string whole = text;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const PtxParts parts{whole.substr(0, i)};
    for (const auto name : parts.kernels()) parts.kernel(name);
    parts.variables();
  }
}

TEST(KernelNames, PatternsMeanWhatTheySay) {
  EXPECT_TRUE(matches("gemm", "void gemm<float>(float*)"));
  EXPECT_TRUE(matches("add|gemm", "gemm"));
  EXPECT_TRUE(matches("*<float>*", "void gemm<float>(float*)"));
  EXPECT_FALSE(matches("gemm*", "void gemm<float>(float*)"));
  EXPECT_FALSE(matches("", "gemm"));
  EXPECT_EQ(demangled("_Z5scaleIfEvPT_i"), "void scale<float>(float*, int)");
}

}  // namespace
}  // namespace wm::cudart
