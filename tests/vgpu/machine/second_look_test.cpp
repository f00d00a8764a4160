// A run that is made again because what nobody wrote was read: whoever ends that, the memory is the first run's.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

// Takes a word that nobody has written and drops it; each thread stores its number.
constexpr std::string_view drops_a_word = R"(
  .shared .align 4 .b8 x[128];
  mov.u32 %r1, x;
  ld.shared.u32 %r2, [%r1];
  and.b32 %r3, %r2, 0;
  add.u32 %r3, %r3, %lane;
  cvt.u64.u32 %rd1, %r3;
  st.global.u64 [%mine], %rd1;
)";

// Calls `act` when the second run starts, the first that looks again.
template <class Act>
auto in_the_second_run(Act act) {
  return [act, runs = 0](const RunProgress& progress) mutable {
    runs += progress.warp_instructions == 0 && progress.seconds == 0;
    return runs == 2 ? act() : Answer::go_on;
  };
}

std::vector<std::uint64_t> numbers() {
  std::vector<std::uint64_t> all(32);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

struct Look : ::testing::Test {
  Look() {
    gpu.load(kernel_text(drops_a_word));
    out = gpu.upload(std::vector<std::uint64_t>(32));
    gpu.options.check = true;
  }
  void run() { gpu.run("test", {{1}, {32}, {}, 0}, parameters(out, out)); }

  Gpu gpu;
  std::uint64_t out = 0;
};

TEST_F(Look, FindsThatNoResultDependsOnIt) {
  run();
  EXPECT_EQ(gpu.report.check->count(Severity::warning), 1u);
  EXPECT_TRUE(gpu.report.check->clean());
  EXPECT_EQ(gpu.download<std::uint64_t>(out, 32), numbers());
}

TEST_F(Look, IsStoppedByTheCallerAsTheRunIs) {
  gpu.options.progress = in_the_second_run([] { return Answer::stop; });
  try {
    run();
    FAIL() << "it ended";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::stopped) << error.what();
  }
  EXPECT_TRUE(gpu.report.ended_by);
  EXPECT_EQ(gpu.report.check->findings.size(), 1u);
  EXPECT_EQ(gpu.download<std::uint64_t>(out, 32), numbers());
}

TEST_F(Look, GivesAnErrorOfTheCallerBackToIt) {
  gpu.options.progress = in_the_second_run([]() -> Answer { throw std::logic_error("of the caller"); });
  EXPECT_THROW(run(), std::logic_error);
  EXPECT_EQ(gpu.download<std::uint64_t>(out, 32), numbers());
}

TEST_F(Look, LetsTheErrorStandWhereMemoryIsFreedMeanwhile) {
  gpu.options.progress = in_the_second_run([&] {
    std::thread([&] { gpu.machine().free(out); }).join();
    return Answer::go_on;
  });
  run();
  EXPECT_EQ(gpu.report.check->count(Severity::error), 1u);
  EXPECT_EQ(gpu.report.check->findings.size(), 1u);
}

// Each run would take more of the heap, which is 8 MiB, and nothing that the kernel shows tells of it.
TEST_F(Look, IsNotTakenOfARunThatAllocates) {
  const std::string allocates = R"(
  setp.ne.u32 %p1, %lane, 0;
  @%p1 bra others;
  {
    .param .b64 size;
    .param .b64 place;
    mov.u64 %rd2, 3000000;
    st.param.b64 [size], %rd2;
    call.uni (place), malloc, (size);
    ld.param.b64 %rd3, [place];
  }
others:)" + std::string(drops_a_word);
  gpu.load(kernel_text(allocates).insert(module_text("").size(),
                                         ".extern .func (.param .b64 place) malloc(.param .b64 size);\n"));
  run();
  EXPECT_EQ(gpu.report.check->count(Severity::error), 1u);
  EXPECT_EQ(gpu.download<std::uint64_t>(out, 32), numbers());
}

TEST_F(Look, FillsWhatTheRunHasReadAlone) {
  constexpr std::size_t too_much = std::size_t{300} << 20;
  const std::uint64_t large = gpu.machine().allocate(too_much);
  run();
  EXPECT_EQ(gpu.report.check->count(Severity::warning), 1u);
  gpu.machine().forget(large);
  gpu.load(kernel_text(R"(
  ld.global.u32 %r2, [%in];
  and.b32 %r3, %r2, 0;
  st.global.u32 [%mine], %r3;
)"));
  gpu.run("test", {{1}, {32}, {}, 0}, parameters(out, large));
  EXPECT_EQ(gpu.report.check->count(Severity::error), 1u);
}

}  // namespace
}  // namespace wm::vgpu::testing
