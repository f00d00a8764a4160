// Modules with very many parts are loaded and given back in a time that follows their length.
#include <chrono>
#include <functional>

#include <fmt/format.h>

#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

// Seconds to load a module and to let it go.
double seconds_of(const std::string& text) {
  Gpu gpu;
  const auto start = std::chrono::steady_clock::now();
  gpu.machine().load(text, "test.ptx");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string repeated(int count, const std::function<std::string(int)>& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(i);
  return text;
}

// Eight times as much takes eight times as long, or 64 times where something is compared with everything before it.
// The best of a few turns, because others may have the machine; a quarter of a second is little whatever the ratio.
void expect_linear(const std::function<std::string(int)>& module) {
  const std::string small = module_text(module(10'000)), large = module_text(module(80'000));
  double ratio = 1e9, time = 1e9;
  for (int turn = 0; turn < 5 && ratio > 24 && time > 0.25; ++turn) {
    const double first = seconds_of(small);
    time = std::min(time, seconds_of(large));
    ratio = std::min(ratio, time / first);
  }
  EXPECT_TRUE(ratio <= 24 || time <= 0.25) << time << " s, " << ratio << " times the time of an eighth";
}

TEST(LargeModule, Globals) {
  expect_linear([](int count) {
    return repeated(count, [](int i) { return fmt::format(".visible .global .align 4 .u32 v{} = {};\n", i, i); });
  });
}

TEST(LargeModule, GlobalsThatKernelsAndInitialisersName) {
  expect_linear([](int count) {
    std::string names;
    for (int i = 0; i < count / 2; ++i) names += fmt::format("{}v{}", i == 0 ? "" : ", ", i);
    return repeated(count / 2, [](int i) { return fmt::format(".const .align 4 .u32 v{} = {};\n", i, i); }) +
           fmt::format(".global .align 8 .u64 table[{}] = {{{}}};\n", count / 2, names) +
           ".visible .entry test()\n{\n  .reg .b64 %d<2>;\n" +
           repeated(count / 2, [](int i) { return fmt::format("  mov.u64 %d1, v{};\n", i); }) + "  ret;\n}\n";
  });
}

TEST(LargeModule, FunctionsThatCallEachOther) {
  expect_linear([](int count) {
    return ".shared .align 4 .b8 words[64];\n" +
           repeated(count / 2, [](int i) { return fmt::format(".func f{}();\n", i); }) +
           repeated(count / 2 - 1,
                    [](int i) { return fmt::format(".func f{}()\n{{\n  call.uni f{};\n  ret;\n}}\n", i, i + 1); }) +
           fmt::format(".func f{}()\n{{\n  .reg .b32 %r;\n  mov.u32 %r, words;\n  ret;\n}}\n", count / 2 - 1);
  });
}

TEST(LargeModule, LabelsAndScopes) {
  expect_linear([](int count) {
    return ".visible .entry test()\n{\n" +
           repeated(count / 2,
                    [](int i) { return fmt::format("l{}:\n  {{ .reg .b32 %q; mov.b32 %q, {}; }}\n", i, i); }) +
           "  ret;\n}\n";
  });
}

}  // namespace
}  // namespace wm::vgpu::testing
