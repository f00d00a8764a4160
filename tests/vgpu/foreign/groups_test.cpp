// groups.cu: cooperative groups.
#include <algorithm>
#include <array>
#include <numeric>

#include "vgpu/foreign/foreign.hpp"

namespace wm {
namespace {

using Groups = Foreign;
INSTANTIATE_TEST_SUITE_P(Nvcc, Groups, testing::ValuesIn(everywhere), case_name);

constexpr int threads = 64;

TEST_P(Groups, TilesReduceShuffleAndVote) {
  const auto in = whole_numbers<int>(threads, 0, 1000);
  const Buffer input = buffer(in), out = zeros<int>(threads);
  run(kernel("groups", "tiles"), {.grid = {1}, .block = {threads}}, input, out);
  const auto got = out.download<int>();
  for (int t = 0; t < threads; ++t) {
    const auto sums = [&](int size) {
      const auto first = in.begin() + t / size * size;
      return std::accumulate(first, first + size, 0) * size + t / size;
    };
    const auto tile = in.begin() + t / 16 * 16;
    int result = sums(32) ^ sums(8) ^ sums(4), votes = 0;
    for (int lane = 0; lane < 16; ++lane) votes |= (tile[lane] & 1) << lane;
    result +=
        tile[(t % 16) ^ 5] - (t % 16 >= 2 ? in[t - 2] : in[t]) + votes + (std::find(tile, tile + 16, 7) != tile + 16);
    result ^= *std::max_element(tile, tile + 16) * 3 + *std::min_element(tile, tile + 16);
    EXPECT_EQ(got[t], result) << t;
  }
}

TEST_P(Groups, CoalescedThreads) {
  const auto in = whole_numbers<int>(threads, 0, 20);
  const Buffer input = buffer(in), out = zeros<int>(threads), counter = zeros<int>(1);
  run(kernel("groups", "coalesced"), {.grid = {1}, .block = {threads}}, input, out, counter);
  const auto got = out.download<int>();
  int total = 0;
  for (int t = 0; t < threads; ++t) {
    int size = 0, rank = 0, sum = 0;
    for (int i = t / 32 * 32; i < t / 32 * 32 + 32; ++i)
      if (in[i] % 3 == 0) ++size, rank += i < t, sum += in[i];
    total += in[t] % 3 == 0;
    EXPECT_EQ(got[t], in[t] % 3 == 0 ? rank + 100 * size + 10000 * sum : -1) << t;
  }
  EXPECT_EQ(counter.download<int>()[0], total);
}

TEST_P(Groups, LabelledAndBinaryPartitions) {
  const auto in = whole_numbers<int>(threads, 0, 7);
  const Buffer input = buffer(in), out = zeros<int>(threads);
  run(kernel("groups", "labelled"), {.grid = {1}, .block = {threads}}, input, out);
  const auto got = out.download<int>();
  for (int t = 0; t < threads; ++t) {
    int size = 0, rank = 0, half = 0;
    for (int i = t / 32 * 32; i < t / 32 * 32 + 32; ++i) {
      if ((in[i] & 3) == (in[t] & 3)) ++size, rank += i < t;
      half += (in[i] & 4) == (in[t] & 4);
    }
    EXPECT_EQ(got[t], rank + 100 * size + 10000 * half + 1000000 * size) << t;
  }
}

TEST_P(Groups, Scans) {
  const auto in = whole_numbers<int>(threads, -500, 500);
  const Buffer input = buffer(in), inclusive = zeros<int>(threads), exclusive = zeros<int>(threads);
  run(kernel("groups", "scans"), {.grid = {1}, .block = {threads}}, input, inclusive, exclusive);
  const auto sums = inclusive.download<int>(), parities = exclusive.download<int>();
  for (int t = 0, sum = 0, parity = 0; t < threads; ++t) {
    if (t % 32 == 0) sum = parity = 0;
    sum += in[t];
    EXPECT_EQ(sums[t], sum) << t;
    EXPECT_EQ(parities[t], parity) << t;
    parity ^= in[t] & 0xff;
  }
}

TEST_P(Groups, AsynchronousCopiesInTwoStages) {
  const int rows = 5;
  const auto in = whole_numbers<float>(rows * 64 * 4, -50, 50);
  const Buffer input = buffer(in), out = zeros<float>(128);
  run(kernel("groups", "staged"), {.grid = {1}, .block = {128}}, input, out, rows);
  const auto got = out.download<float>();
  for (int t = 0; t < 128; ++t) {
    float sum = 0;
    for (int row = 0; row < rows; ++row) {
      const float* value = &in[(row * 64 + t * 5 % 64) * 4];
      sum += value[0] + 2 * value[1] + 3 * value[2] + 4 * value[3];
    }
    EXPECT_EQ(got[t], sum) << t;
  }
}

using Clusters = Foreign;  // sm_80 has none
INSTANTIATE_TEST_SUITE_P(Nvcc, Clusters, testing::ValuesIn(on_hopper), case_name);

TEST_P(Clusters, BlocksReadEachOther) {
  const auto in = whole_numbers<int>(8 * 64, -1000, 1000);
  const Buffer input = buffer(in), out = zeros<int>(8 * 64), counts = zeros<int>(2);
  run(kernel("groups", "neighbours"), {.grid = {8}, .block = {64}, .cluster = {4}}, input, out, counts);
  const auto got = out.download<int>();
  for (int block = 0; block < 8; ++block)
    for (int t = 0; t < 64; ++t) {
      const int next = block / 4 * 4 + (block + 1) % 4;
      EXPECT_EQ(got[block * 64 + t], in[next * 64 + 63 - t] * 2 + block % 4) << block << " " << t;
    }
  EXPECT_EQ(counts.download<int>(), (std::vector<int>{4 * 2016, 4 * 2016}));
}

}  // namespace
}  // namespace wm
