// The GEMM under every order that the virtual GPU's scheduler can choose: a wait or a fence too few shows here.
#include <vector>

#include <gtest/gtest.h>

#include "gemm/gemm_problem.hpp"
#include "warpmill/gemm.hpp"
#include "warpmill/virtual.hpp"

using namespace wm;

TEST(GemmModes, AHundredSeedsGiveTheSameBits) {
  const Device device = Device::open("virtual:sm_90a:sms=4");
  const Stream stream(device);
  const bench::GemmProblem problem(stream, {300, 136, 200}, 1);
  std::vector<std::byte> first(problem.d.bytes()), result(first.size());
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    vgpu::RunOptions options;
    options.mode = vgpu::Mode::random;
    options.seed = seed;
    options.deterministic = true;
    vgpu::set_run_options(device, options);
    problem.poison(stream);
    gemm(stream, problem.request(GemmPlan{.tile = {128, 64}, .stages = 3, .cluster = {2, 1}}));
    problem.d.download(seed == 0 ? first : result);
    if (seed > 0) ASSERT_EQ(first, result) << "seed " << seed;
  }
  EXPECT_LT(problem.sampled_error(500), 1);
  vgpu::set_run_options(device, {});
}

TEST(GemmModes, IsRightInEveryModeOfTheScheduler) {
  const Device device = Device::open("virtual:sm_90a:sms=4");
  const Stream stream(device);
  const bench::GemmProblem problem(stream, {520, 264, 200}, 1);
  for (const ClusterShape cluster : {ClusterShape{1, 1}, {2, 1}, {1, 2}})
    for (const vgpu::Mode mode : {vgpu::Mode::friendly, vgpu::Mode::random, vgpu::Mode::adversarial})
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        vgpu::RunOptions options;
        options.mode = mode;
        options.seed = seed;
        options.deterministic = true;
        vgpu::set_run_options(device, options);
        problem.poison(stream);
        gemm(stream, problem.request(GemmPlan{.tile = {128, 64}, .stages = 3, .cluster = cluster}));
        EXPECT_LT(problem.sampled_error(2000), 1) << "mode " << int(mode) << ", seed " << seed;
      }
  vgpu::set_run_options(device, {});
}
