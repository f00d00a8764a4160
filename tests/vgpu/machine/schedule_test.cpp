// Who runs when: determinism, deadlocks and their report, limits, residency, several host threads.
#include <chrono>
#include <thread>

#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

// Blocks hand a token on through global memory: block i waits for block i - 1.
constexpr std::string_view chain = R"(
.visible .entry chain(.param .u64 flags)
{
  .reg .pred %p<3>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [flags];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %nctaid.x;
  sub.u32 %r2, %r2, 1;
  sub.u32 %r2, %r2, %r1;      // the last block comes first, so that every other has to wait
  mad.wide.u32 %rd2, %r2, 4, %rd1;
wait:
  ld.acquire.gpu.global.u32 %r3, [%rd2];
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra wait;
  add.u32 %r3, %r3, 1;
  st.release.gpu.global.u32 [%rd2+4], %r3;
  ret;
}
)";

TEST(Schedule, ResidentBlocksSeeEachOthersFlags) {
  Gpu gpu;
  gpu.load(module_text(chain));
  const std::uint32_t blocks = 100;
  for (const int threads : {1, 2})
    for (const Mode mode : {Mode::friendly, Mode::random, Mode::adversarial}) {
      gpu.options = {.mode = mode, .seed = 3, .host_threads = threads, .max_instructions = 100'000'000};
      std::vector<std::uint32_t> flags(blocks + 1);
      flags[0] = 1;
      const auto on_device = gpu.upload(flags);
      gpu.run("chain", {{blocks}, {32}, {}, 0}, parameters(on_device));
      EXPECT_EQ(gpu.download<std::uint32_t>(on_device, blocks + 1)[blocks], blocks + 1);
    }
}

// Warps race for places in a list: its order is the schedule.
constexpr std::string_view order = R"(
.visible .entry order(.param .u64 list)
{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [list];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r1, %r2, %r3, %r1;
  mov.u32 %r5, 0;
again:
  atom.global.add.u32 %r4, [%rd1], 1;
  mad.wide.u32 %rd2, %r4, 4, %rd1;
  st.global.u32 [%rd2+4], %r1;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r5, 4;
  @%p1 bra again;
  ret;
}
)";

std::vector<std::uint32_t> order_of(Gpu& gpu, const RunOptions& options) {
  gpu.options = options;
  const auto list = gpu.upload(std::vector<std::uint32_t>(4 * 256 + 1));
  gpu.run("order", {{2}, {128}, {}, 0}, parameters(list));
  auto result = gpu.download<std::uint32_t>(list, 4 * 256 + 1);
  gpu.machine().free(list);
  return result;
}

TEST(Schedule, TheSameSeedGivesTheSameRun) {
  Gpu gpu;
  gpu.load(module_text(order));
  for (const Mode mode : {Mode::friendly, Mode::random, Mode::adversarial}) {
    const RunOptions options{.mode = mode, .seed = 11, .deterministic = true};
    EXPECT_EQ(order_of(gpu, options), order_of(gpu, options));
  }
  const auto one = order_of(gpu, {.mode = Mode::random, .seed = 1, .deterministic = true});
  const auto two = order_of(gpu, {.mode = Mode::random, .seed = 2, .deterministic = true});
  EXPECT_NE(one, two);
}

std::string failure(std::string_view body, std::uint32_t threads = 64, RunOptions options = {}) {
  Gpu gpu;
  gpu.options = options;
  gpu.load(kernel_text(body));
  const auto out = gpu.upload(std::vector<std::uint64_t>(threads));
  return gpu.failure("test", {{1}, {threads}, {}, 0}, parameters(out, out));
}

TEST(Schedule, ADeadlockSaysWhoWaitsForWhat) {
  const std::string text = failure(R"(
    .shared .align 8 .b64 full;
    mov.u32 %r5, full;
    setp.ne.u32 %p1, %lane, 0;
    @!%p1 mbarrier.init.shared.b64 [%r5], 2;
    bar.sync 0;
    @!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 64;
    setp.lt.u32 %p2, %lane, 32;
    @%p2 bra hang;
  wait:
    mbarrier.try_wait.parity.shared.b64 %p3, [%r5], 0;
    @!%p3 bra wait;
  hang:
    bar.sync 1;
  )");
  EXPECT_TRUE(contains(text, "deadlock: no warp of block (0,0,0) can go on, and nothing is in flight")) << text;
  EXPECT_TRUE(contains(text,
                       "block (0,0,0) warp 1  waits for the mbarrier at 0x400, parity 0: 1 of 2 arrivals pending, 64 "
                       "bytes to come  test.ptx:"))
      << text;
  EXPECT_TRUE(contains(text, "block (0,0,0) warp 0  waits at barrier 1: 32 of 64 threads arrived  test.ptx:")) << text;
  EXPECT_TRUE(contains(text, "`mbarrier.try_wait.parity.shared.b64`")) << text;
}

TEST(Schedule, EveryKindOfWaitCanDeadlockInWords) {
  EXPECT_TRUE(contains(
      failure("setp.lt.u32 %p1, %lane, 32; @%p1 bra on; barrier.cluster.arrive; barrier.cluster.wait; bra done; "
              "on: bar.sync 2, 64; done:"),
      "waits at the cluster's barrier: 32 of 64 threads arrived"));
  EXPECT_TRUE(contains(
      failure("and.b32 %r1, %lane, 31; setp.lt.u32 %p1, %r1, 16; @%p1 bra on; bar.warp.sync -1; bra done; on: bar.sync "
              "2, 64; done:"),
      "waits for lanes 0x0000ffff of its warp"));
  EXPECT_TRUE(contains(
      failure(".shared .align 8 .b64 b; mbarrier.init.shared.b64 [b], 1; w: mbarrier.test_wait.parity.shared.b64 "
              "%p1, [b], 0; @!%p1 bra w;",
              1),
      "deadlock"));
}

// Three groups of 128 threads: the first gives registers back, the others wait until there are as many as they ask for.
TEST(Schedule, RegistersAreWaitedFor) {
  const auto outcome = [](std::string_view bounds, int left, Mode mode) {
    Gpu gpu;
    gpu.options = {.mode = mode, .seed = 5};
    gpu.load(module_text(fmt::format(R"(
.visible .entry take(.param .u64 out)
{}
{{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %p1, %r1, 128;
  @%p1 bra take;
  setmaxnreg.dec.sync.aligned.u32 {};
  bra done;
take:
  setmaxnreg.inc.sync.aligned.u32 232;
done:
  atom.global.add.u32 %r2, [%rd1], 1;
  ret;
}}
)",
                                     bounds, left)));
    const auto out = gpu.upload(std::vector<std::uint32_t>(1));
    const std::string failure = gpu.failure("take", {{1}, {384}, {}, 0}, parameters(out));
    return failure.empty() ? std::to_string(gpu.download<std::uint32_t>(out, 1)[0]) : failure;
  };
  for (const Mode mode : {Mode::friendly, Mode::random, Mode::adversarial}) {
    EXPECT_EQ(outcome(".reqntid 384", 40, mode), "384");
    const std::string text = outcome(".reqntid 384", 48, mode);  // 48 + 2 x 232 of 3 x 168
    EXPECT_TRUE(contains(text, "deadlock")) << text;
    EXPECT_TRUE(contains(text, "waits for 232 registers a thread (setmaxnreg)")) << text;
    EXPECT_EQ(outcome("", 48, mode), "384") << "without bounds ptxas drops setmaxnreg";
  }
}

TEST(Schedule, ALoopThatCountsItsTriesGetsToItsEnd) {
  // try_wait may answer "not yet": a kernel that gives up after some tries is not called a deadlock.
  EXPECT_EQ(failure(".shared .align 8 .b64 b; mbarrier.init.shared.b64 [b], 1; mov.u32 %r1, 0; w: add.u32 %r1, %r1, 1; "
                    "setp.gt.u32 "
                    "%p2, %r1, 100; @%p2 bra out; mbarrier.try_wait.parity.shared.b64 %p1, [b], 0; @!%p1 bra w; out:",
                    1),
            "");
}

TEST(Schedule, AnEndlessKernelIsStopped) {
  const std::string text = failure("again: add.u32 %r1, %r1, 1; bra again;", 32, {.max_instructions = 100'000});
  EXPECT_TRUE(contains(text, "stopped: the kernel ran more than 100000 warp instructions (max_instructions")) << text;
}

TEST(Schedule, TrapsSayWhere) {
  const std::string text = failure("setp.eq.u32 %p1, %lane, 40; @%p1 trap;");
  EXPECT_TRUE(contains(text, "the kernel executed `trap`")) << text;
  EXPECT_TRUE(contains(text, "block (0,0,0) warp 1 lane 8 (thread (40,0,0))")) << text;
}

TEST(Schedule, WhatCannotFitIsRefusedInWords) {
  Gpu gpu("sm_90a", 2);
  gpu.load(module_text(R"(
.visible .entry plain() { ret; }
.visible .entry bounded() .maxntid 128, 1, 1 { ret; }
.visible .entry exact() .reqntid 64, 2, 1 { ret; }
.visible .entry clustered() .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
.visible .entry heavy() .maxnreg 255 { ret; }
)"));
  const auto refusal = [&](std::string_view name, const LaunchShape& shape) { return gpu.failure(name, shape, {}); };
  EXPECT_EQ(refusal("plain", {{1}, {1024}, {}, 0}), "");
  EXPECT_EQ(refusal("plain", {{1}, {32}, {}, 232448}), "");
  EXPECT_TRUE(contains(refusal("plain", {{1}, {32}, {}, 232449}),
                       "a block asks for 232449 bytes of shared memory; sm_90a has 232448 a block"));
  EXPECT_TRUE(contains(refusal("plain", {{1}, {1025}, {}, 0}), "the block 1025x1x1 is more than 1024x1024x64"));
  EXPECT_TRUE(contains(refusal("plain", {{0}, {32}, {}, 0}), "the grid 0x1x1 has a size of 0"));
  EXPECT_TRUE(
      contains(refusal("plain", {{1, 65536}, {32}, {}, 0}), "the grid 1x65536x1 is more than 2147483647x65535x65535"));
  EXPECT_TRUE(contains(refusal("plain", {{3}, {32}, {2}, 0}), "the cluster 2x1x1 does not divide the grid 3x1x1"));
  EXPECT_TRUE(
      contains(refusal("plain", {{8, 4}, {32}, {8, 4}, 0}), "the cluster 8x4x1 has 32 blocks, and sm_90a allows 16"));
  EXPECT_TRUE(contains(refusal("plain", {{4}, {1024}, {4}, 200'000}),
                       "a cluster of 4 blocks does not fit on a chip that holds 2"));
  EXPECT_TRUE(contains(refusal("bounded", {{1}, {129}, {}, 0}),
                       "launch of `bounded` refused: the block 129x1x1 has 129 threads, and this kernel allows 128"));
  EXPECT_TRUE(contains(refusal("exact", {{1}, {64}, {}, 0}),
                       "the block is 64x1x1, and the kernel was compiled for exactly 64x2x1"));
  EXPECT_TRUE(contains(refusal("clustered", {{4}, {32}, {4}, 0}),
                       "the cluster is 4x1x1, and the kernel was compiled for exactly 2x1x1"));
  EXPECT_EQ(refusal("clustered", {{4}, {32}, {}, 0}), "");  // its own cluster where none is asked for
  EXPECT_TRUE(contains(refusal("heavy", {{1}, {512}, {}, 0}), "255 registers a thread does not fit"))
      << refusal("heavy", {{1}, {512}, {}, 0});
  EXPECT_TRUE(
      contains(gpu.failure("plain", {{1}, {32}, {}, 0}, parameters(1)), "takes 0 bytes of parameters and was given 4"));

  Gpu ampere("sm_80");
  ampere.load(module_text(".visible .entry plain() { ret; }", "sm_80"));
  EXPECT_TRUE(contains(ampere.failure("plain", {{2}, {32}, {2}, 0}, {}), "sm_80 has no clusters"));
  EXPECT_TRUE(
      contains(ampere.refusal(module_text(".visible .entry plain() { ret; }")), "is for sm_90a; this device is sm_80"));
}

TEST(Schedule, TwoThreadsLaunchAtOnce) {
  Gpu gpu;
  gpu.load(module_text(order));
  auto program = gpu.load(module_text(order));
  const ProgramKernel& kernel = gpu.kernel("order");
  std::vector<std::thread> threads;
  std::vector<std::uint32_t> counts(4);
  for (std::size_t t = 0; t < counts.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const auto list = gpu.upload(std::vector<std::uint32_t>(4 * 256 + 1));
        RunReport report;
        gpu.machine().run(*program, kernel, {{2}, {128}, {}, 0}, parameters(list).bytes(), {.host_threads = 2}, report);
        counts[t] += gpu.download<std::uint32_t>(list, 1)[0];
        gpu.machine().free(list);
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto count : counts) EXPECT_EQ(count, 10u * 1024);
}

TEST(Schedule, AnErrorInOneBlockEndsTheOthers) {
  Gpu gpu;
  gpu.load(
      kernel_text("mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 7; @%p1 trap; again: nanosleep.u32 100; bra again;"));
  gpu.options.host_threads = 2;
  EXPECT_TRUE(contains(gpu.failure("test", {{20}, {32}, {}, 0}, parameters(std::uint64_t{0}, std::uint64_t{0})),
                       "block (7,0,0)"));
}

// A kernel whose result depends on when a copy arrives: right under every schedule only if it waits.
constexpr std::string_view racy = R"(
    .shared .align 128 .b8 words[256];
    .shared .align 8 .b64 barrier;
    mov.u32 %r5, words;
    mov.u32 %r7, barrier;
    mbarrier.init.shared::cta.b64 [%r7], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r7], 256;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%in], 256, [%r7];
    ld.shared.u64 %rd2, [words+248];
    st.global.u64 [%out], %rd2;
)";

TEST(Schedule, AMissingWaitShowsUnderSomeSchedule) {
  Gpu gpu;
  gpu.load(kernel_text(racy));
  const auto in = gpu.upload(std::vector<std::uint64_t>(32, 5)), out = gpu.upload(std::vector<std::uint64_t>(1));
  int right = 0, wrong = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    gpu.options = {.mode = Mode::adversarial, .seed = seed, .deterministic = true};
    gpu.run("test", {{1}, {1}, {}, 0}, parameters(out, in));
    (gpu.download<std::uint64_t>(out, 1)[0] == 5 ? right : wrong)++;
  }
  EXPECT_GT(right, 0);
  EXPECT_GT(wrong, 0);
}

}  // namespace
}  // namespace wm::vgpu::testing
