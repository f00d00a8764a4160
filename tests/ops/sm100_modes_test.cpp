// The GEMM for sm_100a under every order that the virtual GPU's scheduler can choose, with the judge watching.
#include <vector>

#include "ops/schedules.hpp"
#include "ops/sm100_fixture.hpp"

namespace wm::test {

using enum DType;

// One of each way to bring operands, to share them and to store the sums.
TEST_F(GemmSm100, GivesTheSameBitsInEveryModeAndTheJudgeIsSilent) {
  const EpilogueCase in_place{.beta = 1, .in_place = true, .amax = true};
  for (const GemmCase& c : {
           GemmCase{.m = 300, .n = 264, .k = 200, .plan = "64x64 s3 c1x2 g1 tcgen05 claim"},
           GemmCase{.m = 520, .n = 264, .k = 200, .plan = "128x64 s3 c2x1 g1 pair claim"},
           GemmCase{.m = 520, .n = 264, .k = 200, .plan = "128x64 s3 c1x1 g1 tcgen05"},
           GemmCase{.m = 300, .n = 264, .k = 200, .epilogue = in_place, .plan = "64x96 s2 c1x1 tcgen05"},
           GemmCase{.m = 520, .n = 264, .k = 200, .plan = "128x64 s3 c2x1 g1 tcgen05"},
           GemmCase{.m = 300, .n = 264, .k = 200, .plan = "128x64 s2 c2x2 tcgen05"},
           GemmCase{.m = 300, .n = 264, .k = 200, .plan = "64x80 s2 c4x2 g1 tcgen05"},  // two of four bring B
           GemmCase{.m = 520, .n = 264, .k = 304, .plan = "128x64 s3 c2x1 g1 pair"},
           GemmCase{.m = 300, .n = 136, .k = 200, .d = f32, .epilogue = in_place, .plan = "128x128 s2 c2x1 pair"},
           GemmCase{.m = 200,
           .n = 136,
           .k = 200,
           .a_layout = {.columns = true},
           .b_layout = {},
           .d_layout = {.columns = true},
           .plan = "128x80 s3 c1x2 g1 tcgen05"},
           GemmCase{.m = 200, .n = 136, .k = 201, .a_layout = {.padding = 1}, .plan = "128x64 s3 c1x1 g1 tcgen05"},
           GemmCase{.m = 200, .n = 136, .k = 202, .a_layout = {.padding = 2}, .plan = "64x64 s3 c1x1 g1 tcgen05"},
           GemmCase{.m = 200, .n = 135, .k = 300, .a = i8, .b = i8, .d = i32, .plan = "128x64 s3 c1x1 tcgen05"},
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

}  // namespace wm::test
