// The short look at a PTX text: target, parameters, required blocks.
#include "runtime/ptx_summary.hpp"

#include <string>

#include <gtest/gtest.h>

#include "runtime/kernels.hpp"

using namespace wm;
using runtime::PtxEntry;
using runtime::PtxSummary;
using runtime::summarize;

TEST(PtxSummary, KnowsTargetEntriesAndParameters) {
  const PtxSummary summary = summarize(test::signatures_ptx);
  ASSERT_TRUE(summary.target);
  EXPECT_EQ(summary.target->name(), "sm_90");
  EXPECT_EQ(summary.entries.size(), 6u);

  const PtxEntry* typed = summary.find("typed");
  ASSERT_NE(typed, nullptr);
  struct Expected {
    std::size_t offset, bytes;
    ParameterKind kind;
  };
  const Expected expected[] = {{0, 8, ParameterKind::pointer},   {8, 4, ParameterKind::floating},
                               {16, 8, ParameterKind::floating}, {24, 24, ParameterKind::aggregate},
                               {48, 4, ParameterKind::unknown},  {52, 1, ParameterKind::integer}};
  ASSERT_EQ(typed->parameters.size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(typed->parameters[i].offset, expected[i].offset) << i;
    EXPECT_EQ(typed->parameters[i].bytes, expected[i].bytes) << i;
    EXPECT_EQ(typed->parameters[i].kind, expected[i].kind) << i;
  }
  EXPECT_EQ(summary.find("exactly_32")->required_block, (Dim3{32, 1, 1}));
  EXPECT_EQ(summary.find("at_most_64")->required_block, (Dim3{0, 0, 0}));
  EXPECT_EQ(summary.find("absent"), nullptr);
}

TEST(PtxSummary, LooksPastCommentsStringsAndCode) {
  const PtxSummary summary = summarize(R"ptx(
// .entry commented(.param .u32 a)
/* .target sm_10
   .entry commented_too() */
.file 1 ".entry quoted(.param .u32 a)"
.target sm_90a, debug
.func (.param .b32 result) helper(.param .b32 a) { ret; }
.weak .entry $odd_name_1
(
  .param .align 128 .b8 map[128],  // the tensor map
  .param .align 4 .b8 pair[8]
)
{ ret; }
.entry no_list { ret; }
)ptx");
  EXPECT_EQ(summary.target->name(), "sm_90a");
  ASSERT_EQ(summary.entries.size(), 2u);
  EXPECT_EQ(summary.entries[0].name, "$odd_name_1");
  ASSERT_EQ(summary.entries[0].parameters.size(), 2u);
  EXPECT_EQ(summary.entries[0].parameters[1].offset, 128u);
  EXPECT_EQ(summary.entries[1].name, "no_list");
}

// Every prefix of a good text, and some texts that are none: no crash, no exception.
TEST(PtxSummary, TakesAnyText) {
  for (std::size_t length = 0; length <= test::signatures_ptx.size(); ++length)
    EXPECT_LE(summarize(test::signatures_ptx.substr(0, length)).entries.size(), 6u);
  EXPECT_FALSE(summarize(".target sm_9999").target);
  for (const char* text : {"", "\"", "/*", "//", ".entry", ".entry a(.param", ".entry a(.param .align", ".target",
                           ".entry a(.param .b8 x[99999999999999999999])", ".entry a(.param .align 0 .b8 x[4])"})
    EXPECT_NO_THROW(summarize(text)) << text;
  EXPECT_NO_THROW(summarize(std::string(1000, '\xff')));
}
