// What only a chip can show of the GEMM call: graph capture and its cost to the host.
#include <algorithm>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "gemm/gemm_problem.hpp"
#include "gemm/graph.hpp"
#include "warpmill/gemm.hpp"

using namespace wm;

TEST(GemmOnChip, IsCapturedIntoGraphs) {
  const Device device = Device::open("cuda:0");
  const Stream stream(device);
  const bench::GemmProblem problem(stream, {300, 504, 200}, 1);
  gemm(stream, problem.request());  // modules are loaded before a capture begins
  problem.poison(stream);
  const bench::Graph graph(stream, [&] { gemm(stream, problem.request()); });
  stream.synchronize();
  EXPECT_FALSE(problem.sampled_error() < 1) << "a capture runs nothing";
  graph.replay(stream);
  stream.synchronize();
  EXPECT_LT(problem.sampled_error(), 1);
}

TEST(GemmOnChip, ARepeatedCallCostsTheHostLessThanFiveMicroseconds) {
  const Device device = Device::open("cuda:0");
  const Stream stream(device);
  const bench::GemmProblem problem(stream, {256, 256, 256}, 1);
  const GemmRequest request = problem.request();
  gemm(stream, request);
  stream.synchronize();
  std::vector<double> microseconds;
  for (int burst = 0; burst < 21; ++burst) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) gemm(stream, request);
    microseconds.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
                           100);
    stream.synchronize();
  }
  std::sort(microseconds.begin(), microseconds.end());
  RecordProperty("microseconds", std::to_string(microseconds[10]));
  EXPECT_LT(microseconds[10], 5);
}
