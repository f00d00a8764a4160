// The multistage GEMM on Hopper: the same products as the kernels with roles, without lost speed.
#include <gtest/gtest.h>

#include "gemm/gemm_problem.hpp"
#include "ops/gemm_kernel.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/gemm.hpp"
#include "warpmill/virtual.hpp"

using namespace wm;

namespace {

constexpr std::string_view plans[] = {
    "128x256 s4 multistage",   "128x128 s4 multistage",    "256x128 s4 multistage",      "64x32 s8 g1 multistage",
    "64x256 s2 g1 multistage", "192x112 s3 g3 multistage", "128x64 s3 multistage split",
};

}  // namespace

TEST(GemmMultistage, CompilesWithoutLostSpeed) {
  for (const std::string_view text : plans) {
    const GemmPlan plan = plan::plan_from_text(text);
    const auto program = ops::compile_gemm(ops::gemm_source(plan), Architecture::parse("sm_90a"), ops::Target::chip);
    EXPECT_EQ(program.resources.size(), 1u) << text;
  }
}

TEST(GemmMultistage, IsRightWithEveryPlanOverSeveralTilesAndTails) {
  const Device device = Device::open("virtual:sm_90a:sms=4");
  const Stream stream(device);
  for (const auto& shape : {bench::Shape{520, 264, 200}, {65, 8, 640}, {300, 520, 8}}) {
    const bench::GemmProblem problem(stream, shape, 1);
    for (const std::string_view text : plans) {
      problem.poison(stream);
      const GemmResult result = gemm(stream, problem.request(plan::plan_from_text(text)));
      EXPECT_EQ(plan::text_of(result.plan).find("multistage") != std::string::npos, true) << text;
      EXPECT_LT(problem.sampled_error(500), 1) << text << ", k " << shape.k;
    }
  }
}

// The load thread waits inside the multiply loop: an order in which a group falls far behind must not lock it.
TEST(GemmMultistage, GivesTheSameBitsInEveryModeOfTheScheduler) {
  const Device device = Device::open("virtual:sm_90a:sms=4");
  const Stream stream(device);
  const bench::GemmProblem problem(stream, {520, 136, 328}, 1);
  std::vector<std::byte> first(problem.d.bytes()), result(first.size());
  gemm(stream, problem.request(plan::plan_from_text("128x64 s3 multistage")));
  problem.d.download(first);
  EXPECT_LT(problem.sampled_error(500), 1);
  for (const vgpu::Mode mode : {vgpu::Mode::friendly, vgpu::Mode::random, vgpu::Mode::adversarial})
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      vgpu::RunOptions options;
      options.mode = mode;
      options.seed = seed;
      options.deterministic = true;
      vgpu::set_run_options(device, options);
      problem.poison(stream);
      gemm(stream, problem.request(plan::plan_from_text("128x64 s3 multistage")));
      problem.d.download(result);
      EXPECT_EQ(first, result) << "mode " << int(mode) << ", seed " << seed;
    }
  vgpu::set_run_options(device, {});
}
