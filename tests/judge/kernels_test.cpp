// The repository's own kernels under the judge: no error and no warning in any mode, with any seed.
#include <gtest/gtest.h>

#include "case/check_case.hpp"
#include "gemm/random_product.hpp"
#include "schedules.hpp"
#include "warpmill/virtual.hpp"

namespace wm::judge {
namespace {

using vgpu::CheckReport;

struct GemmCase {
  const char* name;
  bench::Shape shape;
  GemmPlan plan;
};

// One block a tile and several, multicast of either operand and of both, edges in every dimension.
const GemmCase gemm_cases[] = {
    {"alone", {256, 256, 192}, {.tile = {128, 128}, .stages = 3, .cluster = {1, 1}}},
    {"wide", {128, 256, 320}, {.tile = {128, 256}, .stages = 4, .cluster = {1, 1}}},
    {"small_tile", {128, 96, 128}, {.tile = {128, 32}, .stages = 4, .cluster = {1, 1}}},
    {"shared_b", {256, 128, 192}, {.tile = {128, 128}, .stages = 3, .cluster = {2, 1}}},
    {"shared_a", {128, 256, 192}, {.tile = {128, 128}, .stages = 3, .cluster = {1, 2}}},
    {"edges", {200, 136, 104}, {.tile = {128, 128}, .stages = 2, .cluster = {2, 1}}},
    {"pingpong",
     {256, 200, 200},
     {.pipelining = Pipelining::pingpong, .tile = {64, 64}, .stages = 3, .cluster = {2, 1}}},
    {"shared_tiles",
     {72, 72, 520},
     {.tile = {64, 64}, .stages = 3, .cluster = {1, 1}, .multiply_groups = 1, .split = true}},
    {"exchanged",
     {20, 136, 264},
     {.tile = {64, 32},
      .stages = 4,
      .cluster = {1, 1},
      .multiply_groups = 1,
      .split = true,
      .pieces = 2,
      .exchange = true}},
    {"parts_of_k",
     {72, 72, 520},
     {.tile = {64, 32}, .stages = 3, .cluster = {1, 1, 2}, .multiply_groups = 1, .exchange = true}},
    {"by_threads", {72, 40, 98}, {.tile = {64, 32}, .stages = 3, .cluster = {1, 1}, .multiply_groups = 1}},
    {"element_by_element", {70, 41, 99}, {.tile = {64, 32}, .stages = 3, .cluster = {1, 1}, .multiply_groups = 1}},
};

class OwnGemm : public testing::TestWithParam<GemmCase> {};

TEST_P(OwnGemm, GivesNoErrorAndNoWarning) {
  const GemmCase& c = GetParam();
  const Device device = Device::open("virtual:sm_90a");
  const Stream stream(device);
  const bench::RandomProduct problem(stream, c.shape, 1);
  for (const Schedule& schedule : all_schedules()) {
    vgpu::RunOptions options;
    options.mode = schedule.mode;
    options.seed = schedule.seed;
    options.check = true;
    vgpu::set_run_options(device, options);
    problem.poison(stream);
    gemm(stream, problem.request(c.plan));
    const CheckReport report = *vgpu::last_run(device).check;
    ASSERT_TRUE(is_silent(report)) << schedule.name() << ":\n" << text_of(report);
    ASSERT_GT(report.executed.products, 0u);
    ASSERT_LT(problem.sampled_error(), 1) << schedule.name() << ": wrong result";
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, OwnGemm, testing::ValuesIn(gemm_cases),
                         [](const auto& info) { return info.param.name; });

TEST(OwnExamples, GiveNoErrorAndNoWarning) {
  const std::filesystem::path folder = std::filesystem::path(WARPMILL_SOURCE) / "examples";
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    ++cases;
    const auto result = cases::check_case(cases::read_case(entry.path()), {.modes = {}, .seeds = 20});
    EXPECT_TRUE(is_silent(result.report)) << entry.path() << ":\n" << text_of(result.report);
    EXPECT_EQ(result.runs, result.right) << entry.path();
  }
  EXPECT_GE(cases, 5u);
}

}  // namespace
}  // namespace wm::judge
