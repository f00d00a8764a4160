// A run says how far it is, and ends when its caller wants no more.
#include <stdexcept>
#include <thread>

#include "vgpu/machine/virtual_gpu.hpp"
#include "warpmill/device.hpp"
#include "warpmill/module.hpp"
#include "warpmill/virtual.hpp"

namespace wm::vgpu::testing {
namespace {

// The last block never ends; the others end at once.
const char* const last_block_spins = R"(
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %nctaid.x;
  sub.u32 %r2, %r2, 1;
  setp.ne.u32 %p1, %r1, %r2;
  @%p1 ret;
again:
  add.u32 %r3, %r3, 1;
  bra again;
)";

// Answers stop when it is asked again and so many blocks are done; keeps what it was told.
struct StopLater {
  std::uint64_t blocks = 0;
  std::vector<RunProgress> told = {};
  std::vector<std::thread::id> threads = {};
  auto callback() {
    return [this](const RunProgress& so_far) {
      told.push_back(so_far);
      threads.push_back(std::this_thread::get_id());
      return told.size() > 1 && so_far.blocks_done >= blocks ? Answer::stop : Answer::go_on;
    };
  }
};

ErrorCode code_of(Gpu& gpu, const LaunchShape& shape) {
  const auto out = gpu.upload(std::vector<std::uint64_t>(1024));
  try {
    gpu.run("test", shape, parameters(out, out));
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

TEST(Progress, AKernelWithoutAnEndStopsInEveryModeOnAnyNumberOfThreads) {
  for (const Mode mode : {Mode::friendly, Mode::random, Mode::adversarial})
    for (const int threads : {1, 2, 5}) {
      SCOPED_TRACE(::testing::Message() << "mode " << static_cast<int>(mode) << ", " << threads << " threads");
      Gpu gpu;
      gpu.load(kernel_text(last_block_spins));
      StopLater caller{.blocks = 4};
      gpu.options = {.mode = mode, .host_threads = threads, .progress = caller.callback()};
      EXPECT_EQ(code_of(gpu, {{5}, {64}, {}, 0}), ErrorCode::stopped);
      ASSERT_GE(caller.told.size(), 2u);
      EXPECT_EQ(caller.told[0].blocks, 5u);
      EXPECT_EQ(caller.told[0].warp_instructions, 0u);
      EXPECT_GT(caller.told[1].seconds, 0.05);
      for (const auto& thread : caller.threads) EXPECT_EQ(thread, std::this_thread::get_id());
      EXPECT_EQ(gpu.report.blocks, 4u);
      EXPECT_GT(gpu.report.warp_instructions, 10'000u);
    }
}

TEST(Progress, IsAskedOnceByAShortRunWhichGoesOn) {
  Gpu gpu;
  gpu.load(kernel_text(""));
  int asked = 0;
  gpu.options.progress = [&](const RunProgress&) {
    ++asked;
    return Answer::go_on;
  };
  EXPECT_EQ(code_of(gpu, {{3}, {32}, {}, 0}), ErrorCode::internal);  // no error
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(gpu.report.blocks, 3u);
  gpu.options.progress = [](const RunProgress&) { return Answer::stop; };
  EXPECT_EQ(code_of(gpu, {{3}, {32}, {}, 0}), ErrorCode::stopped);
  EXPECT_EQ(gpu.report.blocks, 0u);
  EXPECT_EQ(gpu.report.warp_instructions, 0u);
}

TEST(Progress, WhatTheJudgeFoundBeforeTheStopIsKept) {
  Gpu gpu;
  gpu.load(kernel_text(R"(
  .shared .align 4 .b8 x[128];
  mov.u32 %r5, x;
  st.shared.u32 [%r5], %lane;
)" + std::string(last_block_spins)));
  StopLater caller{};
  gpu.options.check = gpu.options.count_instructions = true;
  gpu.options.progress = caller.callback();
  EXPECT_EQ(code_of(gpu, {{1}, {64}, {}, 0}), ErrorCode::stopped);
  ASSERT_TRUE(gpu.report.check.has_value());
  ASSERT_FALSE(gpu.report.check->findings.empty());
  EXPECT_GT(gpu.report.check->executed.instructions, 0u);
}

TEST(Progress, AnErrorOfTheCallerComesBackToIt) {
  Gpu gpu;
  gpu.load(kernel_text(last_block_spins));
  gpu.options.progress = [](const RunProgress&) -> Answer { throw std::logic_error("of the caller"); };
  const auto out = gpu.upload(std::vector<std::uint64_t>(64));
  for (const bool check : {false, true}) {
    gpu.options.check = check;
    EXPECT_THROW(gpu.run("test", {{2}, {32}, {}, 0}, parameters(out, out)), std::logic_error);
  }
}

TEST(Progress, ADeviceWorksAfterALaunchWasStopped) {
  const Device device = Device::open("virtual");
  const Module module = Module::load_ptx(device,
                                         module_text(".visible .entry spins() { again: bra again; }\n"
                                                     ".visible .entry ends() { ret; }\n"),
                                         "test.ptx");
  StopLater caller{};
  set_run_options(device, {.progress = caller.callback()});
  try {
    launch(Stream(device), module.kernel("spins"), LaunchConfig{.grid = {7}, .block = {1}});
    FAIL() << "it ended";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::stopped);
    EXPECT_TRUE(contains(error.what(), "`spins` was stopped by its caller after 0 of 7 blocks and ")) << error.what();
  }
  set_run_options(device, {});
  launch(Stream(device), module.kernel("ends"), LaunchConfig{.grid = {2}, .block = {1}});
  EXPECT_EQ(last_run(device).blocks, 2u);
}

}  // namespace
}  // namespace wm::vgpu::testing
