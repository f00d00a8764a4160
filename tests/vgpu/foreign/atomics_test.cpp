// atomics.cu: atomic operations of every kind and width, and memory orders between blocks.
#include <algorithm>
#include <cstdint>

#include "vgpu/foreign/foreign.hpp"

namespace wm {
namespace {

using Atomics = Foreign;
INSTANTIATE_TEST_SUITE_P(Nvcc, Atomics, testing::ValuesIn(everywhere), case_name);

TEST_P(Atomics, IntegersOf32And64Bits) {
  const int threads = 3 * 96;
  std::vector<int> i(4);
  std::vector<unsigned> u = {0, 0, ~0u, 0, 0, ~0u, 0};
  std::vector<std::uint64_t> l = {0, ~0ull, 0, ~0ull, 0, 0, 0};
  const Buffer ints = buffer(i), unsigneds = buffer(u), longs = buffer(l);
  run(kernel("atomics", "integers"), {.grid = {3}, .block = {96}}, ints, unsigneds, longs);
  for (int t = 0; t < threads; ++t) {
    i[0] += t;
    i[1] -= t;
    i[2] = std::min(i[2], (t * 37) % 1000 - 500);
    i[3] = std::max(i[3], (t * 37) % 1000 - 500);
    u[0] = u[0] >= 99 ? 0 : u[0] + 1;
    u[1] = u[1] == 0 || u[1] > 77 ? 77 : u[1] - 1;
    u[2] &= ~(1u << (t % 32)) | 0x80000001u;
    u[3] |= 1u << (t % 30);
    u[4] ^= unsigned(t) * 2654435761u;
    u[5] = std::min(u[5], unsigned(t) ^ 0x80000000u);
    u[6] = std::max(u[6], unsigned(t) ^ 0x80000000u);
    l[0] += 0x100000001ull * t;
    l[1] = std::min(l[1], std::uint64_t(t) << 33);
    l[2] = std::max(l[2], std::uint64_t(t) << 33);
    l[3] &= ~(1ull << (t % 60));
    l[4] |= 1ull << (t % 64);
    l[5] ^= 0x9e3779b97f4a7c15ull * t;
    l[6] = std::uint64_t(std::min(std::int64_t(l[6]), std::int64_t(t) - 5));
  }
  EXPECT_EQ(ints.download<int>(), i);
  EXPECT_EQ(unsigneds.download<unsigned>(), u);
  EXPECT_EQ(longs.download<std::uint64_t>(), l);
}

TEST_P(Atomics, ExchangesFormOneChainAndCompareLoopsLoseNothing) {
  const Buffer chain = buffer(std::vector<int>{-1}), seen = zeros<int>(128), wide = zeros<std::uint64_t>(2);
  run(kernel("atomics", "exchanged"), {.grid = {2}, .block = {64}}, chain, seen, wide);
  auto values = seen.download<int>();
  values.push_back(chain.download<int>()[0]);
  std::sort(values.begin(), values.end());
  for (int i = 0; i <= 128; ++i) EXPECT_EQ(values[i], i - 1);
  const auto words = wide.download<std::uint64_t>();
  EXPECT_EQ(words[0] >> 40, 1u);
  std::uint64_t expected = 0;
  for (int i = 0; i < 128; ++i) expected = expected * 3 + 1;
  EXPECT_EQ(words[1], expected);
}

TEST_P(Atomics, SumsOfSingleAndDoublePrecision) {
  const Buffer singles = zeros<float>(11), doubles = zeros<double>(1);
  run(kernel("atomics", "reals"), {.grid = {3}, .block = {64}}, singles, doubles);
  const auto f = singles.download<float>();
  EXPECT_EQ(f[0], 12 * 120 * 0.25f);
  for (int block = 0; block < 3; ++block) EXPECT_EQ(f[1 + block], 32.0f);
  EXPECT_EQ(f[10], 2.5f);
  EXPECT_EQ(doubles.download<double>()[0], 191 * 192 / 2 * 0.125);
}

TEST_P(Atomics, CompareAndSwapOf16Bits) {
  const Buffer cells = buffer(std::vector<std::uint16_t>{1, 2, 3, 65535});
  run(kernel("atomics", "narrow_cas"), {.grid = {1}, .block = {64}}, cells);
  EXPECT_EQ(cells.download<std::uint16_t>(), (std::vector<std::uint16_t>{49, 50, 51, 47}));
}

TEST_P(Atomics, BlockAndSystemScope) {
  known_finding = "global-race";  // blocks meet in one cell with atomics of block scope
  const Buffer cells = zeros<int>(3);
  run(kernel("atomics", "scoped"), {.grid = {4}, .block = {50}}, cells);
  EXPECT_EQ(cells.download<int>(), (std::vector<int>{200, 49, 400}));
}

TEST_P(Atomics, TheLastBlockSeesWhatTheOthersWrote) {
  const auto in = whole_numbers<int>(5000, -1000, 1000);
  int expected = 0;
  for (const int value : in) expected += value;
  const Buffer input = buffer(in), partial = zeros<int>(7), total = zeros<int>(1);
  run(kernel("atomics", "last_block"), {.grid = {7}, .block = {64}}, input, 5000, partial, total);
  EXPECT_EQ(total.download<int>()[0], expected);
}

TEST_P(Atomics, BlocksThatWaitForTheBlockBefore) {
  const Buffer values = zeros<int>(20), flags = zeros<int>(20);
  run(kernel("atomics", "chained"), {.grid = {20}, .block = {32}}, values, flags);
  const auto got = values.download<int>();
  for (int b = 0, before = 1; b < 20; ++b) {
    before = before * 2 + b;
    EXPECT_EQ(got[b], before) << b;
  }
}

TEST_P(Atomics, MemoryOrdersOfLibcuxx) {
  const Buffer cells = zeros<unsigned>(4);
  run(kernel("atomics", "ordered"), {.grid = {3}, .block = {40}}, cells);
  EXPECT_EQ(cells.download<unsigned>(), (std::vector<unsigned>{3 * 780, 117, 117, 117}));
}

}  // namespace
}  // namespace wm
