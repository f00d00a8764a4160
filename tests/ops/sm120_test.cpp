// The GEMM for sm_120a: the copy engine and mma.sync through the same call, epilogue and ring. Every element is
// compared with float64.
#include <array>
#include <vector>

#include "ops/gemm_fixture.hpp"
#include "ops/schedules.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/error.hpp"

namespace wm::test {

using enum DType;

namespace {

using GemmSm120 = Gemm;

// Several tiles and tails; k ends inside a stage.
GemmCase ordinary(DType type = bf16, DType d = bf16) {
  GemmCase c{.m = 208, .n = 144, .k = 240, .a = type, .b = type, .d = d};
  if (type == i8 && d != i32) c.epilogue.alpha = 0x1p-9f;  // f16 would overflow
  return c;
}

}  // namespace

TEST_F(GemmSm120, IsRightForEveryTypeAndMajorness) {
  for (const DType type : {bf16, f16, f32, i8, e4m3, e5m2})
    for (const auto& [a_columns, b_columns] : {std::array{false, true}, {true, false}}) {
      GemmCase c = ordinary(type, type == i8 ? i32 : f32);
      c.a_layout.columns = a_columns;
      c.b_layout.columns = b_columns;
      const bool engine = size_of(type) == 2 || !a_columns;  // ldmatrix turns 16-bit elements
      const GemmResult result = check(stream, c);
      EXPECT_EQ(result.path(), engine ? "copy engine" : "threads, transposing") << describe(c);
      EXPECT_EQ(result.plan.instruction, TensorInstruction::mma_tma);
    }
  GemmCase mixed = ordinary(e4m3, bf16);
  mixed.b = e5m2;
  check(stream, mixed);
  for (const DType d : {bf16, f16, e4m3}) check(stream, ordinary(i8, d));
  check(stream, ordinary(f16, e4m3));
}

TEST_F(GemmSm120, IsRightWithEachKindOfPlan) {
  for (const char* plan : {"128x128 s2 mma-tma", "256x64 s2 mma-tma", "128x80 s2 mma-tma split", "128x48 s3 g1 mma-tma",
                           "64x32 s3 g1 mma-tma split exchange"})
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{40, 24, 72}, {520, 304, 200}, {136, 72, 1304}}) {
      GemmCase c{.m = m, .n = n, .k = k, .plan = plan};
      EXPECT_EQ(plan::text_of(check(stream, c).plan), plan::text_of(plan::plan_from_text(plan)));
      c.a_layout.columns = true;  // spans of 64 along m, and of a part of them along n
      c.b_layout.columns = false;
      c.d_layout.columns = true;
      check(stream, c);
    }
}

TEST_F(GemmSm120, AppliesTheEpilogueServesBatchesAndAnEmptyK) {
  for (const char* plan : {"", "64x48 s3 g1 mma-tma split exchange"}) {
    GemmCase c = ordinary();
    c.epilogue = full_epilogue;
    c.plan = plan;
    check(stream, c);
    c.batch = 3;
    c.listed = true;
    check(stream, c);
  }
  check(stream, {.m = 136, .n = 72, .k = 0, .epilogue = {.column_bias = f32}});
  EXPECT_EQ(check(stream, {.m = 0, .n = 72, .k = 64}).blocks, 0u);
}

// One of each way to bring operands and to store the sums.
TEST_F(GemmSm120, GivesTheSameBitsInEveryModeAndTheJudgeIsSilent) {
  const EpilogueCase in_place{.beta = 1, .in_place = true, .amax = true};
  for (const GemmCase& c : {
           GemmCase{.m = 300, .n = 264, .k = 200, .plan = "128x64 s3 mma-tma"},
           GemmCase{.m = 300, .n = 136, .k = 400, .epilogue = in_place, .plan = "64x64 s3 g1 mma-tma split"},
           GemmCase{.m = 200, .n = 136, .k = 200, .d = f32, .plan = "256x48 s2 mma-tma"},
           GemmCase{.m = 200,
           .n = 136,
           .k = 200,
           .a_layout = {.columns = true},
           .b_layout = {},
           .d_layout = {.columns = true},
           .plan = "128x80 s2 mma-tma"},
           GemmCase{.m = 200, .n = 136, .k = 201, .a_layout = {.padding = 1}, .plan = "128x64 s3 mma-tma"},
           GemmCase{.m = 200, .n = 136, .k = 202, .a_layout = {.padding = 2}, .plan = "64x64 s3 g1 mma-tma"},
           GemmCase{.m = 200, .n = 136, .k = 300, .a = e4m3, .b = e5m2, .plan = "128x64 s3 g1 mma-tma"},
           GemmCase{.m = 200, .n = 135, .k = 300, .a = i8, .b = i8, .d = i32, .plan = "128x64 s3 mma-tma"},
       }) {
    SCOPED_TRACE(describe(c));
    GemmRun product(device, c);
    const auto result = [&] {
      product.reset();
      gemm(stream, product.request());
      return product.result();
    };
    const std::vector<std::byte> first = result();
    product.expect_right();
    in_every_schedule(device, std::uint64_t(asked("GEMM_TEST_SEEDS", 1)), [&] { EXPECT_TRUE(result() == first); });
  }
}

TEST_F(GemmSm120, RunsAmperesKernelToo) {
  EXPECT_EQ(check(stream, {.m = 208, .n = 144, .k = 240, .plan = "64x64 s3 g1 mma"}).plan.instruction,
            TensorInstruction::mma);
}

TEST_F(GemmSm120, RefusesInWordsWhatItDoesNotHave) {
  const auto refusal = [&](const GemmCase& c) -> std::string {
    try {
      gemm(stream, GemmRun(device, c).request());
    } catch (const Error& error) {
      return error.what();
    }
    return "served";
  };
  const auto expect = [&](const GemmCase& c, const char* words) {
    EXPECT_NE(refusal(c).find(words), std::string::npos) << refusal(c);
  };
  expect({.m = 64, .n = 64, .k = 64, .plan = "128x64 s3"}, "wgmma, which only sm_90a has");
  expect({.m = 64, .n = 64, .k = 64, .a = e4m3, .b = e4m3, .promote = true}, "Hopper's tensor cores");
  expect({.m = 64, .n = 64, .k = 64, .plan = "128x128 s3 mma-tma"}, "101376 bytes");
  expect({.m = 64, .n = 64, .k = 64, .plan = "128x64 s3 c2x1 mma-tma"}, "no clusters");
  const Device hopper = Device::open("virtual:sm_90a:sms=1");
  try {
    gemm(Stream(hopper), GemmRun(hopper, {.m = 64, .n = 64, .k = 64, .plan = "128x64 s2 mma-tma"}).request());
    ADD_FAILURE() << "served on Hopper";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("mma-tma, which is for sm_120a"), std::string::npos) << error.what();
  }
}

}  // namespace wm::test
