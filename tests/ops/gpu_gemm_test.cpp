// What only a chip can show of the GEMM call: graph capture and its cost to the host.
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "gemm/graph.hpp"
#include "gemm/random_product.hpp"
#include "ops/gemm_case.hpp"
#include "ops/gemm_kernel.hpp"
#include "ops/on_chip.hpp"
#include "warpmill/gemm.hpp"
#include "warpmill/module.hpp"

using namespace wm;

TEST(GemmOnChip, IsCapturedIntoGraphs) {
  const Device device = Device::open("cuda:0");
  const Stream stream(device);
  const test::EpilogueCase epilogue{.beta = 1, .row_scale = test::Scale::each, .amax = true};
  for (const test::GemmCase& c : {
           test::GemmCase{.m = 300, .n = 504, .k = 2000, .epilogue = epilogue},
           test::GemmCase{.m = 300, .n = 504, .k = 2000, .epilogue = epilogue, .plan = "128x64 s3 split"},
           test::GemmCase{.m = 300, .n = 504, .k = 2000, .epilogue = epilogue, .plan = "128x128 s4 c2x1 pingpong"},
           test::GemmCase{.m = 64, .n = 48, .k = 200, .batch = 300, .listed = true, .epilogue = epilogue},
       }) {
    test::GemmRun run(device, c);
    const std::vector<std::byte> poisoned = run.result();
    gemm(stream, run.request());  // modules are loaded and workspace is allocated before a capture begins
    stream.synchronize();
    run.reset();
    const bench::Graph graph(stream, [&] { gemm(stream, run.request()); });
    stream.synchronize();
    EXPECT_TRUE(run.result() == poisoned) << "a capture runs nothing";
    for (int i = 0; i < 3; ++i) {
      run.reset();
      graph.replay(stream);
      stream.synchronize();
      run.expect_right();
    }
  }
}

TEST(GemmOnChip, FirstUseTakesUnder800MillisecondsAndUnder20FromTheCache) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("warpmill-first-use-{}", getpid());
  setenv("WARPMILL_CACHE_DIR", folder.c_str(), 1);
  const Device device = Device::open("cuda:0");
  const Stream stream(device);
  const bench::RandomProduct problem(stream, {512, 512, 512}, 1);
  const GemmPlan plan{.stages = 3};  // a large one, that no other test has compiled in this process
  EXPECT_LT(test::milliseconds([&] { gemm(stream, problem.request(plan)); }), 800) << "plan, NVRTC, load";
  const auto from_cache = [&] {
    const ops::KernelSource source = ops::gemm_source(plan);
    const auto program = ops::compile(source, device.info().arch, ops::Target::chip);
    EXPECT_TRUE(program.from_cache);
    Module::load(device, program).kernel(source.expression);
  };
  EXPECT_LT(test::milliseconds(from_cache), 20);
  std::filesystem::remove_all(folder);
}

TEST(GemmOnChip, ARepeatedCallCostsTheHostLessThanFiveMicroseconds) {
  const Device device = Device::open("cuda:0");
  const Stream stream(device);
  const bench::RandomProduct problem(stream, {256, 256, 256}, 1);
  const GemmRequest request = problem.request();
  gemm(stream, request);
  stream.synchronize();
  const double microseconds = test::microseconds_a_call(stream, [&] { gemm(stream, request); });
  RecordProperty("microseconds", std::to_string(microseconds));
  EXPECT_LT(microseconds, 5);
}
