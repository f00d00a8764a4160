// shared.cu: templates over tiles, dynamic shared memory, barriers and pipelines of libcu++.
#include <algorithm>

#include "vgpu/foreign/foreign.hpp"

namespace wm {
namespace {

using Shared = Foreign;
INSTANTIATE_TEST_SUITE_P(Nvcc, Shared, testing::ValuesIn(everywhere), case_name);

template <typename T>
std::vector<T> product(const std::vector<T>& a, const std::vector<T>& b, int m, int n, int k, bool transposed) {
  std::vector<T> c(std::size_t(m) * n);
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column)
      for (int i = 0; i < k; ++i)
        c[row * n + column] += a[row * k + i] * (transposed ? b[column * k + i] : b[i * n + column]);
  return c;
}

TEST_P(Shared, TiledProductsWithTails) {
  const int m = 37, n = 29, k = 45;
  const auto a = whole_numbers<float>(m * k, -9, 9, 1), b = whole_numbers<float>(k * n, -9, 9, 2);
  const Buffer left = buffer(a), right = buffer(b), out = zeros<float>(m * n);
  run(kernel("shared", "multiply_float"), {.grid = {2, 3}, .block = {16, 16}}, left, right, out, m, n, k);
  EXPECT_EQ(out.download<float>(), product(a, b, m, n, k, false));

  const auto c = whole_numbers<double>(m * k, -9, 9, 3), d = whole_numbers<double>(k * n, -9, 9, 4);
  const Buffer left64 = buffer(c), right64 = buffer(d), out64 = zeros<double>(m * n);
  run(kernel("shared", "multiply_double"), {.grid = {4, 5}, .block = {8, 8}}, left64, right64, out64, m, n, k);
  EXPECT_EQ(out64.download<double>(), product(c, d, m, n, k, true));
}

TEST_P(Shared, DynamicMemoryCutIntoArrays) {
  const auto in = whole_numbers<int>(3000, 0, 100000);
  const int bins = 37;
  const Buffer input = buffer(in), histogram = zeros<int>(bins), mean = zeros<double>(1);
  run(kernel("shared", "carved"), {.grid = {1}, .block = {128}, .shared_bytes = 152 + 128 * 10}, input, 3000, bins,
      histogram, mean);
  std::vector<int> expected(bins);
  double sum = 0;
  for (const int value : in) ++expected[value % bins], sum += value;
  EXPECT_EQ(histogram.download<int>(), expected);
  EXPECT_EQ(mean.download<double>()[0], sum / 3000);
}

TEST_P(Shared, ProducersAndConsumersThroughBarriers) {
  const int rounds = 6;
  const auto in = whole_numbers<int>(rounds * 64, -1000, 1000);
  const Buffer input = buffer(in), out = zeros<long long>(64);
  run(kernel("shared", "handed_over"), {.grid = {1}, .block = {128}}, input, out, rounds);
  const auto got = out.download<long long>();
  for (int lane = 0; lane < 64; ++lane) {
    long long sum = 0;
    for (int round = 0; round < rounds; ++round) sum = sum * 3 + in[round * 64 + 63 - lane];
    EXPECT_EQ(got[lane], sum) << lane;
  }
}

TEST_P(Shared, APipelineOfTwoStages) {
  const int batches = 5;
  const auto in = whole_numbers<int>(batches * 64 * 4, -1000, 1000);
  const Buffer input = buffer(in), out = zeros<int>(64);
  run(kernel("shared", "pipelined"), {.grid = {1}, .block = {64}}, input, out, batches);
  const auto got = out.download<int>();
  for (int t = 0; t < 64; ++t) {
    int sum = 0;
    for (int batch = 0; batch < batches; ++batch) {
      const int* value = &in[(batch * 64 + (t + 1) % 64) * 4];
      sum = sum * 5 + (value[0] ^ value[1]) + (value[2] - value[3]);
    }
    EXPECT_EQ(got[t], sum) << t;
  }
}

TEST_P(Shared, BarriersThatVote) {
  const auto in = whole_numbers<int>(128, 0, 20);
  const Buffer input = buffer(in), out = zeros<int>(128);
  run(kernel("shared", "voted"), {.grid = {1}, .block = {128}}, input, out);
  const auto count = std::count_if(in.begin(), in.end(), [](int value) { return value > 10; });
  const bool any = std::find(in.begin(), in.end(), 13) != in.end();
  EXPECT_EQ(out.download<int>(), std::vector<int>(128, int(count) * 100 + 10 + any));
}

}  // namespace
}  // namespace wm
