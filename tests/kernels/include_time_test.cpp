// What including each header of the layer costs a kernel in NVRTC time: printed, and held to its promise.
#include <algorithm>
#include <ctime>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compile.hpp"

namespace wm::test {
namespace {

// Seconds of processor time, which a busy machine does not change much. Each compilation is new to the cache.
double compile_seconds(const std::string& includes) {
  static const auto start = std::time(nullptr);
  static int unique = 0;
  const std::string text =
      fmt::format("{}__global__ void kernel(int* out) {{ *out = 1; }}  // {} {}\n", includes, start, ++unique);
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t begin = std::clock();
    compile("time.cu", text + std::string(static_cast<std::size_t>(i), '\n'), "sm_90a");
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

TEST(IncludeTime, NoHeaderCostsAKernelMoreThanItsShare) {
  compile_seconds("");  // the first compilation also loads the compiler
  const double bare = compile_seconds("");
  fmt::print("{:<40}{:>10.1f} ms\n", "a kernel without headers", bare * 1e3);
  std::string whole;
  for (const auto& [name, text] : jit::embedded_headers()) {
    if (!name.starts_with("warpmill/ptx/")) continue;
    const std::string include = fmt::format("#include \"{}\"\n", name);
    const double cost = compile_seconds(include) - bare;
    fmt::print("{:<40}{:>+10.1f} ms\n", name, cost * 1e3);
    EXPECT_LT(cost, 0.15) << name;
    if (!name.starts_with("warpmill/ptx/wgmma_")) whole += include;
  }
  for (const char* types : {"bf16", "f16", "e4m3"}) {
    const double cost = compile_seconds(whole + fmt::format("#include \"warpmill/ptx/wgmma_{}.cuh\"\n", types)) - bare;
    fmt::print("{:<40}{:>+10.1f} ms\n", fmt::format("all of them, with wgmma of {}", types), cost * 1e3);
    EXPECT_LT(cost, 0.15) << types;
  }
}

}  // namespace
}  // namespace wm::test
