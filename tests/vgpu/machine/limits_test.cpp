// What goes past a limit: refused by name or reported, and never a crash of the host.
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

#include "vgpu/machine/virtual_gpu.hpp"
#include "warpmill/device.hpp"
#include "warpmill/module.hpp"
#include "warpmill/virtual.hpp"

namespace wm::vgpu::testing {
namespace {

// Even lanes address rank 0, odd lanes rank 1: from rank 1 the lowest address lies below the block's own memory.
TEST(Limits, LanesThatAddressSeveralBlocksOfAClusterReachEachTheirOwn) {
  Gpu gpu;
  gpu.load(kernel_text(R"(
  .shared .align 4 .b8 x[128];
  mov.u32 %r1, %cluster_ctarank;
  mad.lo.u32 %r2, %r1, 100, %lane;
  mov.u32 %r3, x;
  mad.lo.u32 %r3, %lane, 4, %r3;
  st.shared.u32 [%r3], %r2;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  and.b32 %r5, %lane, 1;
  mapa.shared::cluster.u32 %r6, %r3, %r5;
  ld.shared::cluster.u32 %r7, [%r6];
  cvt.u64.u32 %rd1, %r3;
  cvta.shared.u64 %rd2, %rd1;
  mapa.u64 %rd3, %rd2, %r5;
  ld.u32 %r8, [%rd3];
  mad.wide.u32 %mine, %r1, 256, %mine;
  st.global.v2.u32 [%mine], {%r7, %r8};
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)"));
  const auto out = gpu.upload(std::vector<std::uint32_t>(128));
  gpu.run("test", {{2}, {32}, {2}, 0}, parameters(out, out));
  const auto got = gpu.download<std::uint32_t>(out, 128);
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::uint32_t lane = i % 32, expected = lane % 2 * 100 + lane;
    EXPECT_EQ(got[2 * i], expected) << "shared::cluster " << i;
    EXPECT_EQ(got[2 * i + 1], expected) << "generic " << i;
  }
}

TEST(Limits, VariablesThatDoNotFitAreRefusedByNameAndLine) {
  Gpu gpu;
  const auto refusal = [&](std::string_view body) { return gpu.refusal(kernel_text(body)); };
  EXPECT_EQ(refusal(".local .align 8 .b8 large[524288];"), "");
  for (const char* size : {"600000", "4294967296", "1099511627776"})
    EXPECT_TRUE(contains(refusal(".local .b8 large[" + std::string(size) + "];"),
                         "test.ptx:20: `large` of `test` takes " + std::string(size) + " bytes"))
        << refusal(".local .b8 large[" + std::string(size) + "];");
  EXPECT_TRUE(contains(refusal(".local .b8 a[524287]; .local .b8 b[2];"), "`b` of `test`"));
  EXPECT_TRUE(contains(refusal(".shared .b8 large[4294967296];"), "test.ptx:20: `large` takes 4294967296"));
  EXPECT_TRUE(contains(refusal(".shared .b8 a[16776000]; .shared .align 1048576 .b8 b[8];"), "`b` takes 8 bytes"));
  EXPECT_TRUE(contains(gpu.refusal(module_text(".entry test(.param .b8 large[4294967304]) { ret; }")),
                       "test.ptx:4: `large` of `test` takes 4294967304 bytes"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they take a failed allocation for a bug
// In a child with little memory left: 1024 threads with 500,000 bytes each do not get theirs.
void start_blocks_without_memory() {
  Gpu gpu;
  gpu.options.host_threads = 2;
  gpu.load(kernel_text(".local .b8 large[500000];"));
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + (rlim_t{300} << 20);
  const rlimit bounds{limit, limit};
  if (::setrlimit(RLIMIT_AS, &bounds) != 0) std::_Exit(3);
  try {
    gpu.run("test", {{4}, {1024}, {}, 0}, parameters(std::uint64_t{0}, std::uint64_t{0}));
  } catch (const std::bad_alloc&) {
    std::_Exit(0);
  }
  std::_Exit(4);
}

TEST(Limits, BlocksThatFindNoHostMemoryEndTheLaunchAndNotTheProgram) {
  EXPECT_EXIT(start_blocks_without_memory(), ::testing::ExitedWithCode(0), "");
}
#endif

TEST(Limits, WhatAKernelPrintedBeforeItFailedIsSeen) {
  const std::string prints = R"(
.extern .func (.param .b32 status) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 text[6] = {104, 101, 114, 101, 10, 0};
.visible .entry test()
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  mov.u64 %rd1, text;
  cvta.global.u64 %rd2, %rd1;
  mov.u64 %rd3, 0;
  {
    .param .b64 format;
    .param .b64 arguments;
    .param .b32 status;
    st.param.b64 [format], %rd2;
    st.param.b64 [arguments], %rd3;
    call.uni (status), vprintf, (format, arguments);
  }
)";
  const Device device = Device::open("virtual");
  for (const char* failure : {"trap;", "bar.sync 0, 64;"}) {
    const Module module = Module::load_ptx(device, module_text(prints + failure + "\n  ret;\n}\n"), "test.ptx");
    ::testing::internal::CaptureStdout();
    EXPECT_THROW(launch(Stream(device), module.kernel("test"), LaunchConfig{.grid = {1}, .block = {1}}), Error);
    std::fflush(stdout);
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "here\n") << failure;
    EXPECT_EQ(last_run(device).printed, "here\n") << failure;
  }
}

}  // namespace
}  // namespace wm::vgpu::testing
