// Kernels that nobody here wrote for the virtual GPU: nvcc's output for CUDA C++ in other people's style.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

#include <fmt/format.h>

#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

class Foreign : public ::testing::TestWithParam<const char*> {
 protected:
  Foreign() : gpu(GetParam()) {
    std::ifstream file(fmt::format("{}/foreign/kernels.{}.ptx", WARPMILL_TEST_DATA, GetParam()));
    std::stringstream text;
    text << file.rdbuf();
    gpu.load(text.str(), "kernels.ptx");
  }
  Gpu gpu;
};
INSTANTIATE_TEST_SUITE_P(Architectures, Foreign, ::testing::Values("sm_80", "sm_90a"));

TEST_P(Foreign, BlockPrimitivesOfTheToolkit) {
  std::vector<int> in(128);
  for (int i = 0; i < 128; ++i) in[i] = i * i % 7;
  std::vector<int> keys(512);
  std::mt19937 random(1);
  for (int& key : keys) key = static_cast<int>(random());
  std::vector<float> values(1000);
  for (int i = 0; i < 1000; ++i) values[i] = static_cast<float>(i % 13);
  const auto source = gpu.upload(in), sums = gpu.upload(std::vector<int>(128)), sorted = gpu.upload(keys);
  const auto floats = gpu.upload(values), total = gpu.upload(std::vector<float>(1));
  std::sort(keys.begin(), keys.end());
  under_every_schedule(gpu, [&] {
    gpu.run("block_scan", {{1}, {128}, {}, 0}, parameters(source, sums, 100));
    const auto scanned = gpu.download<int>(sums, 100);
    for (int i = 0, sum = 0; i < 100; ++i) ASSERT_EQ(scanned[i], sum += in[i]);
    gpu.run("block_sort", {{1}, {128}, {}, 0}, parameters(sorted));
    ASSERT_EQ(gpu.download<int>(sorted, 512), keys);
    gpu.run("block_reduce", {{1}, {256}, {}, 0}, parameters(floats, total, 1000));
    ASSERT_EQ(gpu.download<float>(total, 1)[0], std::accumulate(values.begin(), values.end(), 0.f));
  });
}

TEST_P(Foreign, CooperativeGroups) {
  std::vector<int> in(64);
  for (int i = 0; i < 64; ++i) in[i] = i * 37 % 101;
  const auto source = gpu.upload(in), out = gpu.upload(std::vector<int>(64));
  under_every_schedule(gpu, [&] {
    gpu.run("groups", {{1}, {64}, {}, 0}, parameters(source, out));
    const auto result = gpu.download<int>(out, 64);
    for (int i = 0; i < 64; ++i) {
      const auto warp = in.begin() + i / 32 * 32, four = in.begin() + i / 4 * 4;
      const int sum = std::accumulate(warp, warp + 32, 0), largest = *std::max_element(four, four + 4);
      ASSERT_EQ(result[i], in[i] & 1 ? sum * 1000 + largest : -largest) << i;
    }
  });
}

template <class T>
T scrambled(T x) {
  T c[8], sum = 0;
  for (int i = 0; i < 8; ++i) c[i] = T(i) * x;
  for (int i = 0; i < 8; ++i) sum += c[(i * 5 + int(x)) & 7] * T(i);
  return sum;
}

TEST_P(Foreign, TablesLocalArraysRecursionPointersAndPrintf) {
  const int table[] = {5, 7, 11, 1, -3, 100, 9, 77, 13, 0, 0}, fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21};
  const auto whole = gpu.upload(std::vector<int>(64)), real = gpu.upload(std::vector<double>(64));
  const RunReport report = gpu.run("mixed", {{1}, {64}, {}, 0}, parameters(whole, real));
  const auto integers = gpu.download<int>(whole, 64);
  const auto doubles = gpu.download<double>(real, 64);
  for (int i = 0; i < 64; ++i) {
    const int applied = i % 3 == 0 ? i + 3 : i % 3 == 1 ? i * 3 : i - 3;
    EXPECT_EQ(integers[i], table[i % 11] + int(scrambled<float>(i)) + applied + fibonacci[i % 9]) << i;
    const double expected = std::sin(double(i)) + std::exp(i * 0.1) + std::pow(1.1, double(i)) + scrambled<double>(i);
    EXPECT_NEAR(doubles[i], expected, 1e-12 * std::fabs(expected)) << i;
  }
  EXPECT_TRUE(contains(report.printed, "thread 3 of mixed: ")) << report.printed;
  EXPECT_TRUE(contains(report.printed, " 1234567890123 x%\n")) << report.printed;
}

TEST_P(Foreign, VirtualFunctionsAndTheHeap) {
  const auto out = gpu.upload(std::vector<int>(32));
  gpu.run("polymorphic", {{1}, {32}, {}, 0}, parameters(out));
  const auto result = gpu.download<int>(out, 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(result[i], (i & 1 ? 11 : 10 * i) + i);
}

TEST_P(Foreign, LocksAndGridBarriers) {
  under_every_schedule(
      gpu,
      [&] {
        const auto lock = gpu.upload(std::vector<int>(1)), count = gpu.upload(std::vector<int>(1));
        gpu.run("locked", {{4}, {64}, {}, 0}, parameters(lock, count));
        ASSERT_EQ(gpu.download<int>(count, 1)[0], 256);
        const auto arrived = gpu.upload(std::vector<int>(1)), data = gpu.upload(std::vector<int>(40));
        gpu.run("grid_barrier", {{20}, {64}, {}, 0}, parameters(arrived, data));
        const auto sums = gpu.download<int>(data, 40);
        for (int i = 0; i < 20; ++i) ASSERT_EQ(sums[20 + i], 210);
      },
      2);
}

TEST_P(Foreign, PackedHalves) {
  const auto h = gpu.upload(std::vector<std::uint32_t>(32, 0x40003c00)),
             b = gpu.upload(std::vector<std::uint32_t>(32, 0x40403f80));
  gpu.run("halves", {{1}, {32}, {}, 0}, parameters(h, b));
  EXPECT_EQ(gpu.download<std::uint32_t>(h, 32)[9], 0x45004000u);  // 2 * 2 + 1, 1 * 1 + 1
  EXPECT_EQ(gpu.download<std::uint32_t>(b, 32)[9], 0x41104000u);  // 9, at least 2
}

}  // namespace
}  // namespace wm::vgpu::testing
