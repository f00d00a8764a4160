// The GEMM for sm_100a: tcgen05 and tensor memory through the same call, epilogue and ring. Every element is compared
// with float64. Linked twice: for a virtual GPU and for the chip.
#include <array>

#include <fmt/format.h>

#include "ops/gemm_kernel.hpp"
#include "ops/sm100_fixture.hpp"
#include "plan/gemm_plan_text.hpp"
#include "plan/gemm_ranking.hpp"
#include "warpmill/error.hpp"

namespace wm::test {

using enum DType;

namespace {

// Several tiles and tails; k ends inside a stage.
GemmCase ordinary(DType type = bf16, DType d = bf16) {
  GemmCase c{.m = 208, .n = 144, .k = 240, .a = type, .b = type, .d = d};
  if (type == i8 && d != i32) c.epilogue.alpha = 0x1p-9f;  // f16 would overflow
  return c;
}

}  // namespace

TEST_F(GemmSm100, IsRightForEveryTypeAndMajorness) {
  for (const DType type : {bf16, f16, f32, i8, e4m3, e5m2})
    for (const auto& [a_columns, b_columns] : {std::array{false, true}, {true, false}}) {
      GemmCase c = ordinary(type, type == i8 ? i32 : f32);
      c.a_layout.columns = a_columns;
      c.b_layout.columns = b_columns;
      const bool engine = size_of(type) == 2 || !a_columns;
      const GemmResult result = check(stream, c);
      // Exchanged, D's rows are columns to the kernel, and only 16-bit ones leave through the engine.
      const bool by_threads = result.plan.exchange && size_of(c.d) != 2;
      EXPECT_EQ(result.path(), std::string(engine ? "copy engine" : "threads, transposing") +
                                   (by_threads ? "; d: stored by threads" : ""))
          << describe(c);
      EXPECT_EQ(result.plan.instruction, TensorInstruction::tcgen05);
    }
  GemmCase mixed = ordinary(e4m3, bf16);
  mixed.b = e5m2;
  check(stream, mixed);
  for (const DType d : {bf16, f16, e4m3}) check(stream, ordinary(i8, d));
  check(stream, ordinary(f16, e4m3));
}

TEST_F(GemmSm100, IsRightWithEachKindOfPlan) {
  for (const char* plan :
       {"128x256 s3 c1x1 g1 tcgen05", "128x48 s4 c1x1 tcgen05", "64x80 s3 c1x1 g1 tcgen05", "64x32 s2 c1x1 tcgen05",
        "128x64 s3 c2x1 g1 tcgen05", "128x64 s3 c1x2 g1 tcgen05", "64x80 s3 c4x2 tcgen05", "128x64 s3 c2x1 g1 pair",
        "128x160 s4 c2x1 pair", "64x32 s3 c1x1 g1 tcgen05 claim", "128x64 s3 c2x1 pair claim",
        "128x16 s8 c1x1 g1 tcgen05 exchange"})
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{40, 24, 72}, {520, 304, 200}, {136, 72, 1304}}) {
      GemmCase c{.m = m, .n = n, .k = k, .plan = plan};
      EXPECT_EQ(plan::text_of(check(stream, c).plan), plan::text_of(plan::plan_from_text(plan)));
      c.a_layout.columns = true;  // spans of 64 along m, and of a part of them along n
      c.b_layout.columns = false;
      c.d_layout.columns = true;
      check(stream, c);
    }
}

TEST_F(GemmSm100, ServesAnEmptyKAndNothingAtAll) {
  check(stream, {.m = 136, .n = 72, .k = 0, .epilogue = {.column_bias = f32}});
  EXPECT_EQ(check(stream, {.m = 0, .n = 72, .k = 64}).blocks, 0u);
  EXPECT_EQ(check(stream, {.m = 136, .n = 0, .k = 64}).blocks, 0u);
}

TEST_F(GemmSm100, RefusesInWordsWhatItDoesNotHave) {
  const auto refusal = [&](const GemmCase& c) -> std::string {
    try {
      gemm(stream, GemmRun(device, c).request());
    } catch (const Error& error) {
      return error.what();
    }
    return "served";
  };
  EXPECT_NE(refusal({.m = 64, .n = 64, .k = 64, .plan = "128x64 s3"}).find("wgmma, which only sm_90a has"),
            std::string::npos);
  EXPECT_NE(refusal({.m = 64, .n = 64, .k = 64, .a = e4m3, .b = e4m3, .promote = true}).find("Hopper's tensor cores"),
            std::string::npos);
  EXPECT_NE(refusal({.m = 64, .n = 64, .k = 64, .plan = "128x64 s3 c1x1 g1 tcgen05 split"}).find("no split"),
            std::string::npos);
  const Device hopper = Device::open("virtual:sm_90a:sms=1");
  const Stream other(hopper);
  EXPECT_THROW(gemm(other, GemmRun(hopper, {.m = 64, .n = 64, .k = 64, .plan = "128x64 g1 tcgen05"}).request()), Error);
}

// The build that NVIDIA's own run-time checks of tensor memory are part of.
TEST_F(GemmSm100, AssemblesWithItsAccessesChecked) {
  ::setenv("NVRTC_APPEND_FLAGS", "--ptxas-options=-g-tmem-access-check", 1);
  for (const char* text : {"128x256 s4 c1x1 g1 tcgen05", "128x128 s4 c2x1 pair", "64x64 s4 c1x1 tcgen05",
                           "128x64 s3 c2x1 g1 pair claim"}) {
    const ops::KernelSource source = ops::gemm_source(plan::plan_from_text(text));
    const auto program = ops::compile(source, device.info().arch, ops::Target::chip);
    EXPECT_FALSE(program.cubin.empty()) << text;
  }
  ::unsetenv("NVRTC_APPEND_FLAGS");
}

}  // namespace wm::test
