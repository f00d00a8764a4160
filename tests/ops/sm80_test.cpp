// The GEMM for sm_80: mma.sync and cp.async through the same call, epilogue and ring. Every element is compared with
// float64.
#include <array>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/gemm_case.hpp"
#include "ops/schedules.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/error.hpp"

namespace wm::test {

using enum DType;

namespace {

class GemmSm80 : public testing::Test {
 protected:
  const Device device = Device::open("virtual:sm_80:sms=4");
  const Stream stream{device};
};

// Several tiles and tails; k ends inside a stage.
GemmCase ordinary(DType type = bf16, DType d = bf16) {
  GemmCase c{.m = 208, .n = 144, .k = 240, .a = type, .b = type, .d = d};
  if (type == i8 && d != i32) c.epilogue.alpha = 0x1p-9f;  // f16 would overflow
  return c;
}

}  // namespace

TEST_F(GemmSm80, IsRightForEveryTypeAndMajorness) {
  for (const DType type : {bf16, f16, f32, i8})
    for (const auto& [a_columns, b_columns] : {std::array{false, true}, {false, false}, {true, true}, {true, false}}) {
      GemmCase c = ordinary(type, type == i8 ? i32 : type);
      c.a_layout.columns = a_columns;
      c.b_layout.columns = b_columns;
      const bool sixteen = type == bf16 || type == f16;  // ldmatrix turns 16-bit elements
      const auto by = [&](bool along_k) {
        return along_k || sixteen ? "threads, 16-byte copies" : "threads, transposing";
      };
      const std::string a = by(!a_columns), b = by(b_columns);
      EXPECT_EQ(check(stream, c).path(), a == b ? a : fmt::format("a: {}; b: {}", a, b)) << describe(c);
    }
  for (const DType d : {bf16, f16, f32}) check(stream, ordinary(i8, d));
  check(stream, ordinary(bf16, f32));
  check(stream, ordinary(f16, bf16));
}

TEST_F(GemmSm80, IsRightWithEachKindOfPlan) {
  for (const char* plan :
       {"256x128 s3 mma", "128x112 s2 mma", "64x16 s8 g1 mma", "128x80 s3 mma split", "64x32 s3 g1 mma split exchange"})
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{40, 24, 72}, {515, 304, 200}, {136, 72, 1304}}) {
      GemmCase c{.m = m, .n = n, .k = k, .plan = plan};
      EXPECT_EQ(plan::text_of(check(stream, c).plan), plan::text_of(plan::plan_from_text(plan)));
      c.a_layout.columns = true;  // spans of 64 along m, and of a part of them along n
      c.b_layout.columns = false;
      check(stream, c);
    }
}

TEST_F(GemmSm80, TakesEveryAlignmentAndStoresEveryLayout) {
  struct {
    DType type;
    Layout a, b, d;
    const char* path;
  } const cases[] = {
      {bf16, {.offset = 8}, {.padding = 8}, {.padding = 16}, "threads, 16-byte copies"},
      {bf16,
       {.padding = 4},
       {.columns = true, .offset = 2},
       {.columns = true, .padding = 8},
       "a: threads, 8-byte copies; b: threads, 4-byte copies"},
      {bf16,
       {.columns = true, .padding = 4},
       {.padding = 2},
       {.padding = 1},
       "a: threads, 8-byte copies; b: threads, 4-byte copies; d: stored by threads"},
      {bf16,
       {.columns = true, .offset = 1},
       {.columns = true, .padding = 8},
       {.columns = true, .step = 2},
       "a: threads, transposing; b: threads, 16-byte copies; d: stored by threads"},
      {bf16,
       {.step = 2},
       {.padding = 1},
       {.offset = 4},
       "a: threads, element by element; b: threads, transposing; d: stored by threads"},
      {i8,
       {.padding = 8},
       {.columns = true, .offset = 4},
       {.padding = 4},
       "a: threads, 8-byte copies; b: threads, 4-byte copies"},
      {i8,
       {.padding = 1},
       {.padding = 16},
       {.columns = true},
       "a: threads, element by element; b: threads, transposing; d: stored by threads"},
  };
  for (const auto& [type, a, b, d, path] : cases) {
    GemmCase c = ordinary(type, type == i8 ? i32 : bf16);
    c.a_layout = a;
    c.b_layout = b;
    c.d_layout = d;
    EXPECT_EQ(check(stream, c).path(), path) << describe(c);
    // The last copies are partial; lines along k stay where they were.
    c.k -= 7;
    if (!a.columns) c.a_layout.padding += 7 * a.step;
    if (b.columns) c.b_layout.padding += 7 * b.step;
    check(stream, c);
  }
}

TEST_F(GemmSm80, AppliesTheEpilogueAndMultipliesBatches) {
  const EpilogueCase own{
      .beta = 1, .in_place = true, .activation = Activation::expression, .expression = "x * sigmoid(1.702f * x)"};
  for (const EpilogueCase& epilogue : {full_epilogue, own})
    for (const char* plan : {"", "64x48 s3 g1 mma split exchange"}) {
      GemmCase c = ordinary();
      c.epilogue = epilogue;
      c.plan = plan;
      check(stream, c);
      for (const bool listed : {false, true})
        check(stream, {.m = 100,
                       .n = 72,
                       .k = 136,
                       .batch = 5,
                       .listed = listed,
                       .b_layout = {.columns = true, .repeated = true},
                       .d_layout = {.batch_padding = 3},
                       .epilogue = epilogue,
                       .plan = plan});
    }
}

TEST_F(GemmSm80, HandlesOnesAndZeros) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                {1, 304, 72},
                                {304, 1, 72},
                                {5, 9, 1},
                                {64, 8, 0},
                                {0, 8, 8},
                                {8, 0, 8}}) {
    check(stream, {.m = m, .n = n, .k = k});
    check(stream, {.m = m, .n = n, .k = k, .a = i8, .b = i8, .d = i32});
  }
}

TEST_F(GemmSm80, GivesTheSameBitsInEveryModeOfTheSchedulerAndTheJudgeIsSilent) {
  // Copies and ordinary stores fill stages; D leaves in strips, and element by element.
  for (const GemmCase& c :
       {GemmCase{.m = 136, .n = 72, .k = 328, .plan = "128x64 s3 mma"},
        GemmCase{.m = 136,
        .n = 72,
        .k = 328,
        .b_layout = {.padding = 2},
        .d_layout = {.padding = 1},
        .plan = "64x32 s2 g1 mma split"},
        GemmCase{.m = 72, .n = 40, .k = 200, .a_layout = {.columns = true, .padding = 1}, .plan = "64x32 s3 g1 mma"}}) {
    GemmRun run(device, c);
    gemm(stream, run.request());
    run.expect_right();
    const auto first = run.result();
    in_every_schedule(device, 3, [&] {
      run.reset();
      gemm(stream, run.request());
      EXPECT_TRUE(first == run.result()) << describe(c);
    });
  }
}

// It is plain code for anything from sm_80 on; on Hopper it is chosen by hand only.
TEST_F(GemmSm80, RunsOnHopperToo) {
  const Device hopper = Device::open("virtual:sm_90a:sms=4");
  const GemmResult result = check(Stream(hopper), {.m = 208, .n = 144, .k = 240, .plan = "128x64 s3 mma"});
  EXPECT_EQ(result.plan.instruction, TensorInstruction::mma);
}

TEST_F(GemmSm80, RefusesInWordsWhatItHasNot) {
  const auto refusal = [&](const GemmCase& c) -> std::string {
    const GemmRun run(device, c);
    try {
      gemm(stream, run.request());
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto expect = [&](const GemmCase& c, const char* words) {
    EXPECT_NE(refusal(c).find(words), std::string::npos) << refusal(c);
  };
  GemmCase c = ordinary();
  c.a = c.b = e4m3;
  expect(c, "no 8-bit floats");
  c = ordinary();
  c.d = e4m3;
  expect(c, "no 8-bit floats");
  c = ordinary();
  c.plan = "128x128 s3";
  expect(c, "wgmma");
  c.plan = "256x128 s4 mma";
  expect(c, "166912 bytes");
  c.plan = "128x128 s3 c2x1 mma";
  expect(c, "cluster");
}

}  // namespace wm::test
