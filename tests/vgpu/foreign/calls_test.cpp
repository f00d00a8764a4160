// calls.cu: recursion, structs in and out, function pointers, virtual functions, lambdas, printf.
#include <algorithm>
#include <numeric>

#include "vgpu/foreign/foreign.hpp"

namespace wm {
namespace {

using Calls = Foreign;
INSTANTIATE_TEST_SUITE_P(Nvcc, Calls, testing::ValuesIn(everywhere), case_name);

unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

TEST_P(Calls, RecursionToDifferentDepthsByLane) {
  const Buffer out = zeros<unsigned>(64);
  run(kernel("calls", "recursion"), {.grid = {1}, .block = {64}}, out);
  const auto got = out.download<unsigned>();
  for (unsigned t = 0; t < 64; ++t) EXPECT_EQ(got[t], ackermann(t % 3, t / 3)) << t;
}

TEST_P(Calls, RecursiveSortOfRows) {
  const int rows = 40, width = 23;
  auto expected = whole_numbers<int>(rows * width, -50, 50);
  const Buffer data = buffer(expected);
  run(kernel("calls", "sort_rows"), {.grid = {1}, .block = {rows}}, data, width);
  for (int row = 0; row < rows; ++row) std::sort(expected.begin() + row * width, expected.begin() + (row + 1) * width);
  EXPECT_EQ(data.download<int>(), expected);
}

struct Fraction {
  long long over, under;
  char tag[5];
};

Fraction sum(Fraction a, const Fraction& b) {
  Fraction result = a;
  result.over = a.over * b.under + b.over * a.under;
  result.under = a.under * b.under;
  const long long common = std::gcd(result.over, result.under);
  result.over /= common;
  result.under /= common;
  for (int i = 0; i < 5; ++i) result.tag[i] = char(a.tag[4 - i] + (b.tag[i] & 1));
  return result;
}

TEST_P(Calls, StructsByValueAndByReference) {
  std::vector<Fraction> in(32);
  for (int i = 0; i < 32; ++i) in[i] = {i + 1, 2 + i % 5, {char('a' + i), 'b', 'c', 'd', char('A' + i)}};
  const Buffer input = buffer(in), out = zeros<Fraction>(32);
  run(kernel("calls", "fractions"), {.grid = {1}, .block = {32}}, input, out, 6);
  const auto got = out.download<Fraction>();
  for (int t = 0; t < 32; ++t) {
    Fraction total = in[t];
    for (int i = 1; i < 6; ++i) total = sum(total, in[(t + i) % 32]);
    EXPECT_EQ(got[t].over, total.over) << t;
    EXPECT_EQ(got[t].under, total.under) << t;
    EXPECT_EQ(std::string(got[t].tag, 5), std::string(total.tag, 5)) << t;
  }
}

TEST_P(Calls, FunctionPointersThatDivergeByLane) {
  const auto a = whole_numbers<float>(128, -9, 9, 1), b = whole_numbers<float>(128, -9, 9, 2);
  const auto which = whole_numbers<int>(128, 0, 2, 3);
  const Buffer left = buffer(a), right = buffer(b), choice = buffer(which), out = zeros<float>(128);
  run(kernel("calls", "indirect"), {.grid = {2}, .block = {64}}, left, right, choice, out);
  const auto got = out.download<float>();
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(got[i], which[i] == 0 ? a[i] + b[i] : which[i] == 1 ? a[i] - b[i] : a[i] * b[i]) << i;
}

TEST_P(Calls, VirtualFunctions) {
  const Buffer out = zeros<float>(48);
  run(kernel("calls", "dispatch"), {.grid = {1}, .block = {48}}, out);
  const auto got = out.download<float>();
  for (int t = 0; t < 48; ++t) EXPECT_EQ(got[t], t % 3 == 0 ? float(t * t + 1) : float(3 * t * t)) << t;
}

TEST_P(Calls, Lambdas) {
  const Buffer out = zeros<int>(64);
  run(kernel("calls", "lambdas"), {.grid = {1}, .block = {64}}, out, 5);
  const auto got = out.download<int>();
  for (int t = 0; t < 64; ++t) {
    int first = 0, second = 0;
    for (int i = 0; i < t; ++i) first += 5 * i;
    for (int i = 0; i < t % 7; ++i) second = second * 3 + i - t;
    EXPECT_EQ(got[t], first ^ second) << t;
  }
}

TEST_P(Calls, PrintfWithEveryKindOfArgument) {
  const std::string text = "device text";
  const Buffer string = buffer(std::vector<char>(text.c_str(), text.c_str() + text.size() + 1));
  testing::internal::CaptureStdout();
  run(kernel("calls", "print"), {.grid = {1}, .block = {64}}, 42, 3.25, string);
  testing::internal::GetCapturedStdout();
  const std::string printed = vgpu::last_run(device).printed;
  const std::string line = "hello from 33:  3.25|42    |00002a|z|device text|%|18446744073709551615|3.250000e+00\n";
  EXPECT_NE(printed.find(line), std::string::npos) << printed;
  EXPECT_NE(printed.find("no arguments\n"), std::string::npos) << printed;
  EXPECT_EQ(printed.size(), line.size() + 13);
}

}  // namespace
}  // namespace wm
