// What no virtual GPU can show of the GEMM for sm_100a: what docs/blackwell.md says could not be verified without a
// chip. That the products are right there (descriptors, layouts of tensor memory, pairs of blocks) are sm100_test's own
// cases.
#include <vector>

#include <fmt/format.h>

#include "gemm/random_product.hpp"
#include "ops/sm100_fixture.hpp"
#include "plan/gemm_plan_text.hpp"
#include "plan/gemm_ranking.hpp"

namespace wm::test {

using enum DType;

// A missing wait or fence shows, if at all, as bits that change from run to run.
TEST_F(GemmSm100, GivesTheSameBitsInManyRuns) {
  for (const char* plan : {"128x256 s4 c1x1 g1 tcgen05", "128x256 s4 c2x1 g1 tcgen05", "128x256 s6 c2x1 g1 pair"}) {
    GemmRun product(device, {.m = 3001, .n = 3112, .k = 520, .plan = plan});
    std::vector<std::byte> first;
    for (int run = 0; run < settings.equal_runs; ++run) {
      product.reset();
      gemm(stream, product.request());
      stream.synchronize();
      if (run == 0) first = product.result();
      ASSERT_TRUE(first == product.result()) << plan;
    }
    product.expect_right();
  }
}

// The tensor cores keep a sum of 8-bit floats in full: 1 after 2^20 products of 2^-20, which fewer bits would lose.
TEST_F(GemmSm100, KeepsSumsOfSmallFloatsInFullPrecision) {
  const std::int64_t k = 1 << 20;
  std::vector<wm::e4m3> row(static_cast<std::size_t>(k), wm::e4m3(0x1p-9f));
  row[0] = wm::e4m3(16.f);
  const Buffer a = Buffer::of<wm::e4m3>(device, row), d(device, sizeof(float));
  const View line = a.view<wm::e4m3>({1, k});
  gemm(stream, {.a = line, .b = line.transposed(), .d = d.view<float>({1, 1})});
  EXPECT_NEAR(d.download<float>()[0], 256 + double(k - 1) * 0x1p-18, 0x1p-9) << "docs/fidelity.md says what is assumed";
}

// The model was fitted on nobody's measurement: it is right if a large product takes what it says, to a quarter.
TEST_F(GemmSm100, TakesAsLongAsPredicted) {
  const plan::ChipRates rates = plan::rates_of(device.info());
  for (const DType type : {bf16, e4m3})
    for (const std::int64_t size : {4096, 8192}) {
      const bench::RandomProduct problem(stream, {.m = size, .n = size, .k = size, .operands = type, .d = bf16}, 1);
      const GemmPlan plan = gemm(stream, problem.request()).plan;
      stream.synchronize();
      const Event begin(device), end(device);
      constexpr int runs = 20;
      stream.record(begin);
      for (int i = 0; i < runs; ++i) gemm(stream, problem.request());
      stream.record(end);
      end.synchronize();
      const double seconds = end.since(begin) * 1e-3 / runs;
      const double predicted = plan::estimate(plan, {size, size, size}, rates).seconds;
      fmt::print("{} {}^3: {:.1f} us, {:.0f} TFLOP/s; predicted {:.1f} us\n", name_of(type), size, seconds * 1e6,
                 2.0 * double(size * size * size) / seconds * 1e-12, predicted * 1e6);
      EXPECT_NEAR(seconds / predicted, 1, 0.25) << plan::text_of(plan);
    }
}

}  // namespace wm::test
