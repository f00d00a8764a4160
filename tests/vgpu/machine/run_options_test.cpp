// What a caller may ask of a run, and what it says it did.
#include <limits>
#include <map>

#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

const char* const some_work = R"(
  .shared .align 4 .b8 words[128];
  mov.u32 %r1, words;
  mad.lo.u32 %r2, %lane, 4, %r1;
  mov.u32 %r3, 0;
again:
  st.shared.u32 [%r2], %r3;
  bar.sync 0;
  ld.shared.u32 %r4, [%r1];
  bar.sync 0;
  setp.gt.u32 %p2, %lane, 15;
  @%p2 add.u32 %r4, %r4, 1;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, 5;
  @%p1 bra again;
  st.global.u32 [%mine], %r4;
)";

TEST(RunOptions, InstructionsAreCountedWithTheJudgeAsWithout) {
  Gpu gpu;
  gpu.load(kernel_text(some_work));
  const auto out = gpu.upload(std::vector<std::uint64_t>(32));
  const auto counts = [&](bool check) {
    gpu.options = {.deterministic = true, .count_instructions = true, .check = check};
    gpu.run("test", {{3}, {32}, {}, 0}, parameters(out, out));
    std::map<std::string, std::uint64_t> times;
    for (const UsedInstruction& used : gpu.report.used) times[used.name] = used.times;
    return times;
  };
  const auto plain = counts(false);
  EXPECT_EQ(plain.at("st.shared.u32"), 15u);
  EXPECT_EQ(plain.at("ret"), 3u);
  EXPECT_EQ(counts(true), plain);
}

TEST(RunOptions, ALimitAboveAllCountsIsNone) {
  Gpu gpu;
  gpu.load(kernel_text(some_work));
  const auto out = gpu.upload(std::vector<std::uint64_t>(32));
  const auto end = [&](std::uint64_t most) {
    gpu.options.max_instructions = most;
    return gpu.failure("test", {{2}, {32}, {}, 0}, parameters(out, out));
  };
  EXPECT_EQ(end(std::numeric_limits<std::uint64_t>::max()), "");
  EXPECT_EQ(end(0), "");
  EXPECT_TRUE(contains(end(1), "ran more than 1 warp instructions")) << end(1);
}

TEST(RunOptions, ImpossibleNumbersOfHostThreadsAreRefused) {
  Gpu gpu;
  gpu.load(kernel_text(some_work));
  const auto out = gpu.upload(std::vector<std::uint64_t>(32));
  for (const int threads : {-1, 1025, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    gpu.options.host_threads = threads;
    const std::string text = gpu.failure("test", {{2}, {32}, {}, 0}, parameters(out, out));
    EXPECT_TRUE(contains(text, std::to_string(threads) + " host threads")) << text;
  }
  gpu.options.host_threads = 1024;
  EXPECT_EQ(gpu.failure("test", {{2}, {32}, {}, 0}, parameters(out, out)), "");
}

}  // namespace
}  // namespace wm::vgpu::testing
