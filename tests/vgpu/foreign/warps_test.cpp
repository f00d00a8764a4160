// warps.cu: votes, matches, shuffles, reductions, and lanes that wait for each other.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "vgpu/foreign/foreign.hpp"

namespace wm {
namespace {

using Warps = Foreign;
INSTANTIATE_TEST_SUITE_P(Nvcc, Warps, testing::ValuesIn(everywhere), case_name);

constexpr int threads = 96;  // three warps

// The lanes of a thread's warp for which `holds(thread)`.
template <typename Condition>
std::uint32_t ballot(int thread, const Condition& holds) {
  std::uint32_t mask = 0;
  for (int lane = 0; lane < 32; ++lane) mask |= std::uint32_t(holds(thread / 32 * 32 + lane)) << lane;
  return mask;
}

TEST_P(Warps, Votes) {
  const auto in = whole_numbers<int>(threads, 0, 99);
  const Buffer input = buffer(in), out = zeros<unsigned>(threads);
  run(kernel("warps", "votes"), {.grid = {1}, .block = {threads}}, input, out);
  const auto got = out.download<unsigned>();
  for (int t = 0; t < threads; ++t) {
    std::uint32_t result = ballot(t, [&](int i) { return in[i] % 2 == 0; });
    if (in[t] > 50) {
      const auto above = [&](int i) { return in[i] > 50; };
      result ^= ballot(t, [&](int i) { return above(i) && (in[i] & 2); }) + std::popcount(ballot(t, above));
      result += (ballot(t, [&](int i) { return in[i] == 99; }) != 0) + 2;
    }
    EXPECT_EQ(got[t], result) << t;
  }
}

TEST_P(Warps, Matches) {
  auto in = whole_numbers<int>(threads, -3, 3, 1);
  for (int t = 32; t < 64; ++t) in[t] = 5 + in[t];  // one warp agrees on the sign
  const auto in64 = whole_numbers<long long>(threads, 0, 1, 2);
  auto shifted = in64;
  for (auto& value : shifted) value <<= 40;  // differs in the upper half alone
  const Buffer input = buffer(in), input64 = buffer(shifted), out = zeros<unsigned>(threads);
  run(kernel("warps", "matches"), {.grid = {1}, .block = {threads}}, input, input64, out);
  const auto got = out.download<unsigned>();
  for (int t = 0; t < threads; ++t) {
    const std::uint32_t equals = ballot(t, [&](int i) { return in[i] == in[t]; });
    const std::uint32_t equals64 = ballot(t, [&](int i) { return in64[i] == in64[t]; });
    const bool same = ballot(t, [&](int i) { return (in[i] < 0) == (in[t] < 0); }) == ~0u;
    const std::uint32_t all = same ? ~0u : 0;
    EXPECT_EQ(got[t], equals ^ (equals64 << 1) ^ (all & 0xff) ^ (std::uint32_t(same) << 31)) << t;
  }
}

TEST_P(Warps, ShufflesOf64Bits) {
  const auto in = whole_numbers<double>(threads, -1000, 1000);
  const Buffer input = buffer(in), out = zeros<double>(threads);
  run(kernel("warps", "shuffles"), {.grid = {1}, .block = {threads}}, input, out);
  const auto got = out.download<double>();
  for (int t = 0; t < threads; ++t) {
    const int warp = t / 32 * 32, lane = t % 32;
    double sum = 0;
    for (int i = 0; i < 32; ++i) sum += in[warp + i];
    EXPECT_EQ(got[t], in[warp + (lane * 5 + 3) % 32] + 2 * in[lane % 8 >= 3 ? t - 3 : t] +
                          4 * in[lane + 9 < 32 ? t + 9 : t] + 8 * in[warp + (lane ^ 13)] + 16 * sum)
        << t;
  }
}

TEST_P(Warps, Reductions) {
  const auto in = whole_numbers<int>(threads, -100000, 100000);
  const Buffer input = buffer(in), out = zeros<int>(threads);
  run(kernel("warps", "reductions"), {.grid = {1}, .block = {threads}}, input, out);
  const auto got = out.download<int>();
  for (int t = 0; t < threads; ++t) {
    int sum = 0, least = in[t];
    unsigned greatest = 0, parity = 0, any = 0, every = ~0u;
    for (int i = t / 32 * 32; i < t / 32 * 32 + 32; ++i) {
      sum += in[i];
      least = std::min(least, in[i]);
      greatest = std::max(greatest, unsigned(in[i]));
      if (i % 2 == 1) parity ^= unsigned(in[i]);
      if (i % 2 == 0) any |= unsigned(in[i]), every &= unsigned(in[i]);
    }
    int result = sum ^ least * 3;
    result += int(greatest & 0xffff);
    result = int(unsigned(result) ^ (t % 2 == 1 ? parity : any - every));
    EXPECT_EQ(got[t], result) << t;
  }
}

TEST_P(Warps, OneAtomicForAllLanesWithTheSameBin) {
  const auto in = whole_numbers<unsigned char>(1000, 0, 9);
  const Buffer input = buffer(in), bins = zeros<unsigned>(10);
  run(kernel("warps", "aggregated"), {.grid = {2}, .block = {64}}, input, 1000, bins);
  std::vector<unsigned> expected(10);
  for (const unsigned char value : in) ++expected[value];
  EXPECT_EQ(bins.download<unsigned>(), expected);
}

TEST_P(Warps, BitonicSortAndLaneMasks) {
  const auto in = whole_numbers<unsigned>(threads, 0, 4000000000);
  const Buffer input = buffer(in), sorted = zeros<unsigned>(threads), ranks = zeros<unsigned>(threads);
  run(kernel("warps", "bitonic"), {.grid = {1}, .block = {threads}}, input, sorted, ranks);
  auto expected = in;
  for (int warp = 0; warp < threads; warp += 32) std::sort(expected.begin() + warp, expected.begin() + warp + 32);
  EXPECT_EQ(sorted.download<unsigned>(), expected);
  const auto got = ranks.download<unsigned>();
  for (int t = 0; t < threads; ++t)
    EXPECT_EQ(got[t], unsigned(std::count_if(expected.begin() + t / 32 * 32, expected.begin() + t,
                                             [](unsigned value) { return value & 1; })))
        << t;
}

TEST_P(Warps, ALockThatLanesOfOneWarpTakeInTurn) {
  const Buffer lock = zeros<int>(1), counter = zeros<int>(1), order = zeros<int>(128);
  run(kernel("warps", "locked"), {.grid = {2}, .block = {64}}, lock, counter, order);
  EXPECT_EQ(counter.download<int>()[0], 128);
  auto tickets = order.download<int>();
  std::sort(tickets.begin(), tickets.end());
  for (int i = 0; i < 128; ++i) EXPECT_EQ(tickets[i], i);
}

TEST_P(Warps, LanesThatWaitForTheirSiblings) {
  const Buffer mailbox = zeros<int>(32), out = zeros<int>(64);
  run(kernel("warps", "siblings"), {.grid = {1}, .block = {64}}, mailbox, out);
  const auto got = out.download<int>();
  for (int t = 0; t < 64; ++t) {
    int value = 0;
    if (t % 2 == 1)
      for (int round = 1; round <= 5; ++round) value = value * 3 + round + t / 2;
    EXPECT_EQ(got[t], value) << t;
  }
}

TEST_P(Warps, LoopsOfDifferentLengthsAndEarlyExits) {
  const int count = 333;
  const Buffer steps = zeros<int>(count);
  run(kernel("warps", "collatz"), {.grid = {3}, .block = {128}}, steps, count);
  const auto got = steps.download<int>();
  for (int i = 0; i < count; ++i) {
    int taken = 0;
    for (std::uint64_t value = std::uint64_t(i) + 1; value != 1; ++taken)
      value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    EXPECT_EQ(got[i], taken) << i;
  }
}

}  // namespace
}  // namespace wm
