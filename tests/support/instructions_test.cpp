// The instructions of a product, told before it runs.
#include "gemm/instructions.hpp"

#include <gtest/gtest.h>

#include "ops/gemm_problem.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/virtual.hpp"

using namespace wm;
using namespace wm::bench;

TEST(ExpectedInstructions, AreThoseThatTheProductTakes) {
  struct Case {
    const char* device;
    Shape shape;
    const char* plan;
    Variant variant{};
  };
  const Case cases[] = {
      {"virtual:sm_90a:sms=4", {1024, 768, 512}, ""},
      {"virtual:sm_90a:sms=4", {1000, 500, 300}, ""},
      {"virtual:sm_90a:sms=4", {512, 512, 512, DType::e4m3}, "128x128 s4 c2x1"},
      {"virtual:sm_90a:sms=4", {512, 512, 1024}, "64x128 s4 c1x1 pingpong"},
      {"virtual:sm_90a:sms=4", {512, 512, 1024}, "64x64 s4 c1x1 g1 split"},
      {"virtual:sm_90a:sms=4", {64, 512, 2048}, "64x64 s4 c1x1 g1 split exchange"},
      {"virtual:sm_90a:sms=4", {256, 256, 256, DType::bf16, DType::bf16, 3}, ""},
      {"virtual:sm_80:sms=4", {512, 384, 512}, ""},
  };
  for (const Case& c : cases) {
    const Device device = Device::open(c.device);
    const Stream stream(device);
    const RandomProduct problem(stream, c.shape, 1, c.variant);
    std::optional<GemmPlan> plan;
    if (*c.plan)
      plan = plan::plan_from_text(
          c.plan, ops::understand(stream, problem.request(), plan::instruction_of(device.info().arch)).kind);
    const auto expected = static_cast<double>(expected_instructions(stream, problem, plan));
    EXPECT_FALSE(problem.sampled_error() < 1) << "D is poisoned again";
    gemm(stream, problem.request(plan));
    const auto real = static_cast<double>(vgpu::last_run(device).warp_instructions);
    EXPECT_GT(expected, 0.9 * real) << c.device << " " << c.plan;
    EXPECT_LT(expected, 1.4 * real) << c.device << " " << c.plan;
    EXPECT_LT(problem.sampled_error(), 1);
  }
}
