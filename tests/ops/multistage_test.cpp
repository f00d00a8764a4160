// The multistage GEMM on Hopper: the same products as the kernels with roles.
#include <gtest/gtest.h>

#include "gemm/random_product.hpp"
#include "ops/schedules.hpp"
#include "plan/gemm_plan_text.hpp"
#include "warpmill/gemm.hpp"

using namespace wm;

namespace {

constexpr std::string_view plans[] = {
    "128x256 s4 multistage",   "128x128 s4 multistage",    "256x128 s4 multistage",      "64x32 s8 g1 multistage",
    "64x256 s2 g1 multistage", "192x112 s3 g3 multistage", "128x64 s3 multistage split",
};

}  // namespace

TEST(GemmMultistage, IsRightWithEveryPlanOverSeveralTilesAndTails) {
  const Device device = Device::open("virtual:sm_90a:sms=4");
  const Stream stream(device);
  for (const auto& shape : {bench::Shape{520, 264, 200}, {65, 8, 640}, {300, 520, 8}}) {
    const bench::RandomProduct problem(stream, shape, 1);
    for (const std::string_view text : plans) {
      problem.poison(stream);
      const GemmResult result = gemm(stream, problem.request(plan::plan_from_text(text)));
      EXPECT_EQ(plan::text_of(result.plan).find("multistage") != std::string::npos, true) << text;
      EXPECT_LT(problem.sampled_error(500), 1) << text << ", k " << shape.k;
    }
  }
}

// The load thread waits inside the multiply loop: an order in which a group falls far behind must not lock it.
TEST(GemmMultistage, GivesTheSameBitsInEveryModeOfTheSchedulerAndTheJudgeIsSilent) {
  const Device device = Device::open("virtual:sm_90a:sms=2");
  const Stream stream(device);
  const bench::RandomProduct problem(stream, {200, 136, 328}, 1);
  std::vector<std::byte> first(problem.d.bytes()), result(first.size());
  for (const char* plan : {"128x64 s3 multistage", "64x64 s2 g1 multistage split"}) {
    gemm(stream, problem.request(plan::plan_from_text(plan)));
    problem.d.download(first);
    EXPECT_LT(problem.sampled_error(500), 1);
    test::in_every_schedule(device, 4, [&] {
      problem.poison(stream);
      gemm(stream, problem.request(plan::plan_from_text(plan)));
      problem.d.download(result);
      EXPECT_EQ(first, result) << plan;
    });
  }
}
