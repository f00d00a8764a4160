// What including each header of the layer costs a kernel in NVRTC time: printed, and held to its promise.
#include <algorithm>
#include <cmath>
#include <ctime>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compile.hpp"

namespace wm::test {
namespace {

constexpr double share = 0.15;  // seconds that a header may cost

// Seconds of processor time, which a busy machine does not change much, over `bare`: of one compilation, or where that
// is beyond the share, the least of three. Each is new to the cache.
double compile_seconds(const std::string& includes, double bare) {
  static const auto start = std::time(nullptr);
  static int unique = 0;
  double least = INFINITY;
  for (int i = 0; i < 3 && least >= share; ++i) {
    const std::string text =
        fmt::format("{}__global__ void kernel(int* out) {{ *out = 1; }}  // {} {}\n", includes, start, ++unique);
    const std::clock_t begin = std::clock();
    compile("time.cu", text, "sm_90a");
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC - bare);
  }
  return least;
}

TEST(IncludeTime, NoHeaderCostsAKernelMoreThanItsShare) {
  compile_seconds("", 0);  // the first compilation also loads the compiler
  double bare = INFINITY;
  for (int i = 0; i < 3; ++i) bare = std::min(bare, compile_seconds("", 0));
  fmt::print("{:<40}{:>10.1f} ms\n", "a kernel without headers", bare * 1e3);
  std::string whole;
  for (const auto& [name, text] : jit::embedded_headers()) {
    if (!name.starts_with("warpmill/ptx/")) continue;
    const std::string include = fmt::format("#include \"{}\"\n", name);
    const double cost = compile_seconds(include, bare);
    fmt::print("{:<40}{:>+10.1f} ms\n", name, cost * 1e3);
    EXPECT_LT(cost, share) << name;
    if (!name.starts_with("warpmill/ptx/wgmma_")) whole += include;
  }
  for (const char* types : {"bf16", "f16", "e4m3"}) {
    const double cost = compile_seconds(whole + fmt::format("#include \"warpmill/ptx/wgmma_{}.cuh\"\n", types), bare);
    fmt::print("{:<40}{:>+10.1f} ms\n", fmt::format("all of them, with wgmma of {}", types), cost * 1e3);
    EXPECT_LT(cost, share) << types;
  }
}

}  // namespace
}  // namespace wm::test
