// tables.cu: switch tables, local arrays, constant tables, structs by value, odd integers.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "vgpu/foreign/foreign.hpp"

namespace wm {
namespace {

using Tables = Foreign;
INSTANTIATE_TEST_SUITE_P(Nvcc, Tables, testing::ValuesIn(everywhere), case_name);

enum Code : std::uint8_t {
  push,
  add,
  subtract,
  multiply,
  divide,
  rest,
  duplicate,
  swap,
  negate,
  jump_if,
  load,
  store,
  halt
};

int interpret(const std::vector<std::uint8_t>& program, int thread, int block) {
  std::vector<int> stack;
  int memory[4] = {thread, block, 3, 0};
  const auto pop = [&] {
    const int value = stack.back();
    stack.pop_back();
    return value;
  };
  for (std::size_t at = 0; at < program.size();) {
    switch (program[at++]) {
      case push: stack.push_back(std::int8_t(program[at++])); break;
      case add: {
        const int b = pop();
        stack.back() += b;
        break;
      }
      case subtract: {
        const int b = pop();
        stack.back() -= b;
        break;
      }
      case multiply: {
        const int b = pop();
        stack.back() *= b;
        break;
      }
      case divide: {
        const int b = pop();
        stack.back() /= b == 0 ? 1 : b;
        break;
      }
      case rest: {
        const int b = pop();
        stack.back() %= b == 0 ? 1 : b;
        break;
      }
      case duplicate: stack.push_back(stack.back()); break;
      case swap: std::swap(stack[stack.size() - 1], stack[stack.size() - 2]); break;
      case negate: stack.back() = -stack.back(); break;
      case jump_if: {
        const std::size_t target = program[at++];
        if (pop() > 0) at = target;
        break;
      }
      case load: stack.push_back(memory[program[at++]]); break;
      case store: memory[program[at++]] = pop(); break;
      case halt: return memory[3];
    }
  }
  return memory[3];
}

TEST_P(Tables, ASwitchOverEveryCodeInALoop) {
  const std::vector<std::uint8_t> program = {load,    0,     push,     5,     multiply, load,      1,     add,
                                             store,   3,  // m3 = thread * 5 + block
                                             load,    3,     load,     2,     add,      duplicate, push,  7,
                                             rest,    swap,  subtract, store, 3,  // 10: m3 = (m3 + m2) % 7 - (m3 + m2)
                                             load,    2,     push,     1,     subtract, duplicate, store, 2,
                                             jump_if, 10,  // three times
                                             load,    3,     negate,   load,  0,        push,      3,     rest,
                                             divide,  store, 3,        halt,  push,     9,         store, 3};
  const Buffer code = buffer(program), out = zeros<int>(4 * 48);
  run(kernel("tables", "interpret"), {.grid = {4}, .block = {48}}, code, int(program.size()), out);
  const auto got = out.download<int>();
  for (int block = 0; block < 4; ++block)
    for (int thread = 0; thread < 48; ++thread)
      EXPECT_EQ(got[block * 48 + thread], interpret(program, thread, block)) << block << " " << thread;
}

std::uint32_t checksum(std::string_view text) {
  std::uint32_t value = ~0u;
  for (const char c : text) {
    value ^= std::uint8_t(c);
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? (value >> 1) ^ 0xedb88320u : value >> 1;
  }
  return ~value;
}

TEST_P(Tables, AModulesVariableLivesFromOneKernelToTheNext) {
  const std::string text = "123456789The quick brown fox";
  const std::vector<int> begins = {0, 9, 9, 28};
  const Buffer bytes = buffer(std::vector<char>(text.begin(), text.end())), ranges = buffer(begins);
  const Buffer out = zeros<std::uint32_t>(3);
  const Module tables = module("tables");
  run(tables.kernel("checksum_table"), {.grid = {1}, .block = {256}});
  run(tables.kernel("checksum"), {.grid = {1}, .block = {3}}, bytes, ranges, out);
  const auto got = out.download<std::uint32_t>();
  EXPECT_EQ(checksum("123456789"), 0xcbf43926u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(got[i], checksum(std::string_view(text).substr(begins[i], begins[i + 1] - begins[i]))) << i;
}

TEST_P(Tables, ConstantCoefficients) {
  const auto in = whole_numbers<float>(100, -100, 100);
  const Buffer input = buffer(in), out = zeros<float>(100);
  run(kernel("tables", "smooth"), {.grid = {4}, .block = {32}}, input, out, 100);
  const auto got = out.download<float>();
  const float filter[] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
  for (int i = 0; i < 100; ++i) {
    float sum = 0;
    for (int k = -2; k <= 2; ++k) sum += filter[k + 2] * in[std::clamp(i + k, 0, 99)];  // exact in single precision
    EXPECT_EQ(got[i], sum) << i;
  }
}

struct Inner {
  short a;
  char b;
  double c[2];
};
struct Arguments {
  Inner inner[3];
  unsigned flags : 5, level : 11, rest : 16;
  union {
    float real;
    unsigned bits;
  };
  std::uint64_t pointer;
};

TEST_P(Tables, AStructOfArraysAndBitfieldsByValue) {
  const auto values = whole_numbers<int>(32, -1000, 1000);
  const Buffer input = buffer(values), out = zeros<double>(32);
  Arguments arguments{};
  for (int i = 0; i < 3; ++i) arguments.inner[i] = {short(i * 11 - 7), char(3 - i), {i + 0.25, i - 0.5}};
  arguments.flags = 21;
  arguments.level = 1030;
  arguments.rest = 0xffff;
  arguments.real = -6.5f;
  arguments.pointer = input.address();
  run(kernel("tables", "by_value"), {.grid = {1}, .block = {32}}, arguments, out, 1);
  const auto got = out.download<double>();
  for (int t = 0; t < 32; ++t) {
    const Inner& inner = arguments.inner[(1 + t) % 3];
    EXPECT_EQ(got[t], inner.a * 1000.0 + inner.b + inner.c[t & 1] + 1030 + 21 * 0.5 +
                          (std::bit_cast<unsigned>(-6.5f) >> 23) + values[t])
        << t;
  }
}

TEST_P(Tables, EightAndSixteenBitMemory) {
  const auto a = whole_numbers<std::int8_t>(96, -128, 127, 1);
  const auto b = whole_numbers<std::uint8_t>(96, 0, 255, 2);
  const Buffer left = buffer(a), right = buffer(b), out16 = zeros<std::int16_t>(96), out8 = zeros<std::uint8_t>(96);
  run(kernel("tables", "narrow"), {.grid = {1}, .block = {96}}, left, right, out16, out8);
  const auto wide = out16.download<std::int16_t>();
  const auto narrow = out8.download<std::uint8_t>();
  for (int i = 0; i < 96; ++i) {
    EXPECT_EQ(wide[i], std::int16_t(a[i] * b[i])) << i;
    EXPECT_EQ(narrow[i], std::clamp(a[i] + b[i], 0, 255)) << i;
  }
}

TEST_P(Tables, LocalArraysWhoseLengthDiffersByLane) {
  const auto in = whole_numbers<float>(64, -1000, 1000);
  const Buffer input = buffer(in), out = zeros<float>(64);
  run(kernel("tables", "medians"), {.grid = {1}, .block = {64}}, input, out, 25);
  const auto got = out.download<float>();
  for (int t = 0; t < 64; ++t) {
    std::vector<float> window;
    for (int i = 0; i < 1 + t % 25; ++i) window.push_back(in[(t + i * 7) % 64]);
    std::sort(window.begin(), window.end());
    EXPECT_EQ(got[t], window[window.size() / 2]) << t;
  }
}

TEST_P(Tables, IntegersOf128Bits) {
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> in(64);
  for (auto& word : in) word = random();
  in[0] = 0, in[1] = 0, in[2] = ~0ull, in[3] = ~0ull, in[4] = 0, in[5] = ~0ull;
  const Buffer input = buffer(in), out = zeros<std::uint64_t>(64);
  run(kernel("tables", "wide"), {.grid = {1}, .block = {32}}, input, out);
  const auto got = out.download<std::uint64_t>();
  for (int t = 0; t < 32; ++t) {
    const auto a = (unsigned __int128)in[2 * t] << 64 | in[2 * t + 1];
    const unsigned __int128 b = a * 0x123456789abcdefull + (a >> 3) - 1;
    const unsigned __int128 c = b - (a << 7);
    EXPECT_EQ(got[2 * t], std::uint64_t(c >> 64)) << t;
    EXPECT_EQ(got[2 * t + 1], std::uint64_t(c)) << t;
  }
}

}  // namespace
}  // namespace wm
