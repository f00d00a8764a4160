// malloc and free in kernels: what is freed is used again, and whoever goes on using it is told.
#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tensor_map/virtual_form.hpp"
#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

// %rd10 = malloc(bytes), and free(%rd10).
std::string take(std::string_view bytes) {
  return fmt::format(R"(
  {{
    .param .b64 size;
    .param .b64 place;
    mov.u64 %rd11, {};
    st.param.b64 [size], %rd11;
    call.uni (place), malloc, (size);
    ld.param.b64 %rd10, [place];
  }}
)",
                     bytes);
}
const std::string give = R"(
  {
    .param .b64 place;
    st.param.b64 [place], %rd10;
    call.uni free, (place);
  }
)";

std::string heap_kernel(const std::string& body) {
  return kernel_text(body).insert(module_text("").size(), R"(
.extern .func (.param .b64 place) malloc(.param .b64 size);
.extern .func free(.param .b64 place);
)");
}

#if !defined(__SANITIZE_ADDRESS__)  // it keeps what was freed
// Each thread allocates, writes and frees, `times` times.
std::string take_and_give(int times) {
  return heap_kernel(fmt::format(R"(
  mov.u32 %r1, 0;
again:
  {}
  st.u32 [%rd10], %r1;
  st.u32 [%rd10+60], %r1;
  {}
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, {};
  @%p1 bra again;
  st.global.u32 [%mine], %r1;
)",
                                 take("64"), give, times));
}

// In a child that may take little more memory than it has.
void run_with_little_memory(const std::string& text, bool check) {
  Gpu gpu;
  gpu.options.check = check;
  gpu.load(text);
  const auto out = gpu.upload(std::vector<std::uint64_t>(128));
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + (rlim_t{100} << 20);
  const rlimit bounds{limit, limit};
  if (::setrlimit(RLIMIT_AS, &bounds) != 0) std::_Exit(3);
  try {
    gpu.run("test", {{1}, {64}, {}, 0}, parameters(out, out));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    std::_Exit(4);
  }
  std::_Exit(check && !gpu.report.check->clean() ? 5 : 0);
}

// 64 threads with 64 bytes each, 2000 times: 4 KiB at a time, 8 MiB in all, half a gigabyte in pages.
TEST(Heap, FreedMemoryIsUsedAgainWhileTheKernelRuns) {
  EXPECT_EXIT(run_with_little_memory(take_and_give(2000), false), ::testing::ExitedWithCode(0), "");
}
TEST(Heap, FreedMemoryIsUsedAgainUnderTheJudge) {
  EXPECT_EXIT(run_with_little_memory(take_and_give(2000), true), ::testing::ExitedWithCode(0), "");
}
#endif

TEST(Heap, HoldsEightMegabytesAtATimeAndAsMuchAgainAfterwards) {
  Gpu gpu;
  gpu.load(heap_kernel(take("8388608") + "  mov.u64 %rd1, %rd10;\n" + take("16") +
                       "  mov.u64 %rd2, %rd10;\n  mov.u64 %rd10, %rd1;\n" + give + take("4194304") +
                       "  st.global.v2.u64 [%out], {%rd1, %rd2};\n  st.global.u64 [%out+16], %rd10;\n" + give));
  const auto out = gpu.upload(std::vector<std::uint64_t>(4));
  for (int launch = 0; launch < 2; ++launch) {
    gpu.run("test", {{1}, {1}, {}, 0}, parameters(out, out));
    const auto got = gpu.download<std::uint64_t>(out, 3);
    EXPECT_NE(got[0], 0u);
    EXPECT_EQ(got[1], 0u) << "the heap was full";
    EXPECT_NE(got[2], 0u);
    EXPECT_NE(got[2], got[0]) << "an address was used twice";
  }
}

TEST(Heap, MemoryOutlivesTheLaunchAndHoldsNothingToRelyOn) {
  Gpu gpu;
  const auto out = gpu.upload(std::vector<std::uint64_t>(4));
  gpu.load(heap_kernel(take("64") + "  ld.u64 %rd1, [%rd10+8];\n  st.u64 [%rd10+8], 5;\n" +
                       "  st.global.v2.u64 [%out], {%rd10, %rd1};\n"));
  gpu.run("test", {{1}, {1}, {}, 0}, parameters(out, out));
  EXPECT_EQ(gpu.download<std::uint64_t>(out, 2)[1], ~std::uint64_t{0});
  gpu.load(kernel_text("  ld.global.u64 %rd1, [%out];\n  ld.u64 %rd2, [%rd1+8];\n  st.global.u64 [%out+8], %rd2;\n"));
  gpu.run("test", {{1}, {1}, {}, 0}, parameters(out, out));
  EXPECT_EQ(gpu.download<std::uint64_t>(out, 2)[1], 5u);
}

// What the run of one thread ends with.
std::string failure(const std::string& text, const RunOptions& options = {}) {
  Gpu gpu;
  gpu.options = options;
  gpu.load(text);
  const auto out = gpu.upload(std::vector<std::uint64_t>(64));
  return gpu.failure("test", {{1}, {1}, {}, 0}, parameters(out, out));
}

TEST(Heap, UseAfterFreeIsToldSoonAndLate) {
  for (const char* use : {"ld.u32 %r9, [%rd9+4];", "st.u32 [%rd9+4], %r9;", "atom.add.u32 %r9, [%rd9+4], 1;"}) {
    const std::string soon = failure(heap_kernel(take("64") + "  mov.u64 %rd9, %rd10;\n" + give + use));
    EXPECT_TRUE(contains(soon, "an allocation of 64 bytes at") && contains(soon, "that has been freed")) << soon;
    // After ten thousand others the allocation is not remembered, but nobody got its address.
    const std::string late = failure(heap_kernel(take("64") + "  mov.u64 %rd9, %rd10;\n" + give + R"(
  mov.u32 %r1, 0;
again:)" + take("64") + give + R"(
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 10000;
  @%p1 bra again;
)" + use));
    EXPECT_TRUE(contains(late, "lie in memory that the kernel has freed")) << late;
  }
}

TEST(Heap, BytesPastAnAllocationAreToldFromFreedOnes) {
  const std::string past = failure(heap_kernel(take("64") + "  ld.u8 %r9, [%rd10+64];\n"));
  EXPECT_TRUE(contains(past, "0 bytes past the end of an allocation of 64 bytes")) << past;
}

TEST(Heap, FreeingTwiceOrWhatIsNoneIsAFault) {
  const std::string twice = failure(heap_kernel(take("64") + give + give));
  EXPECT_TRUE(contains(twice, "which has been freed before")) << twice;
  const std::string none = failure(heap_kernel("  mov.u64 %rd10, %out;\n" + give));
  EXPECT_TRUE(contains(none, "which malloc did not give")) << none;
  EXPECT_EQ(failure(heap_kernel("  mov.u64 %rd10, 0;\n" + give)), "");
}

// ---- copies that are under way when their memory is freed

struct Flight {
  std::string name, issue, wait;
};
std::vector<Flight> flights() {
  const std::string group = "cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n";
  const std::string arrival = R"(
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r7], 0;
  @!%p2 bra wait;
)";
  return {
      {"bulk store", "cp.async.bulk.global.shared::cta.bulk_group [%rd10], [%r5], 64;", group},
      {"bulk reduction", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd10], [%r5], 64;", group},
      {"bulk load",
       "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 64;\n"
       "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd10], 64, [%r7];",
       arrival},
      {"cp.async", "cp.async.ca.shared.global [%r5], [%rd10], 8;", "cp.async.wait_all;"},
      {"cp.async with a size", "cp.async.ca.shared.global [%r5], [%rd10], 8, 4;", "cp.async.wait_all;"},
      {"tensor store", "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd8, {0}], [%r5];", group},
      {"tensor load",
       "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 64;\n"
       "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r5], [%rd8, {0}], [%r7];",
       arrival}};
}

// A kernel whose map (at %in) is aimed at what it allocates.
std::string in_flight(const Flight& flight) {
  return heap_kernel(R"(
  .shared .align 128 .b8 tile[64];
  .shared .align 8 .b64 barrier;
  mov.u32 %r5, tile;
  mov.u32 %r7, barrier;
  mbarrier.init.shared::cta.b64 [%r7], 1;
)" + take("64") + R"(
  tensormap.replace.tile.global_address.global.b1024.b64 [%in], %rd10;
  mov.u64 %rd8, %in;
  fence.proxy.async;
)" + flight.issue + give +
                     flight.wait);
}

TEST(Heap, ACopyUnderWayToFreedMemoryIsAFaultWithItsPlace) {
  for (const Flight& flight : flights())
    for (const Mode mode : {Mode::friendly, Mode::random, Mode::adversarial})
      for (const bool check : {false, true}) {
        SCOPED_TRACE(flight.name + " mode " + std::to_string(static_cast<int>(mode)) + (check ? " checked" : ""));
        int told = 0;
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
          Gpu gpu;
          gpu.options = {.mode = mode, .seed = seed, .deterministic = true, .check = check};
          gpu.load(in_flight(flight));
          const TensorMap map = tensor_map::encode_virtual({.element = MapElement::u8, .dims = {64}, .box = {64}});
          const auto in = gpu.upload(std::vector<TensorMap>{map});
          std::string text = gpu.failure("test", {{1}, {1}, {}, 0}, parameters(in, in));
          if (check && text.empty())
            for (const Finding& finding : gpu.report.check->findings)
              if (finding.name == "use-after-free") text += finding.text();
          if (text.empty()) continue;  // it was done before the memory was freed
          ++told;
          EXPECT_TRUE(contains(text, "that has been freed")) << text;
          EXPECT_TRUE(contains(text, "test.ptx:")) << text;
          EXPECT_TRUE(contains(text, "cp.")) << text;
        }
        EXPECT_GT(told, mode == Mode::friendly ? 7 : 0);
      }
}

// Two threads write the same bytes; one frees them between the other's two stores.
TEST(Heap, FindingsBeforeAStoreToFreedMemoryAreKept) {
  Gpu gpu;
  gpu.load(heap_kernel(R"(
  .shared .align 8 .b8 shared_place[16];
  mov.u32 %r5, shared_place;
  setp.ne.u32 %p1, %lane, 0;
  @%p1 bra meet;
)" + take("64") + R"(
  st.shared.u64 [%r5], %rd10;
meet:
  bar.sync 0;
  ld.shared.u64 %rd10, [%r5];
  st.u32 [%rd10], %lane;
  setp.ne.u32 %p1, %lane, 32;
  @%p1 bra last;
)" + give + R"(
  st.shared.u32 [%r5+8], 1;
last:
  ld.volatile.shared.u32 %r8, [%r5+8];
  setp.eq.u32 %p2, %r8, 1;
  @!%p2 bra last;
  st.u32 [%rd10], 7;
)"));
  gpu.options = {.max_instructions = 1'000'000, .check = true};
  const auto out = gpu.upload(std::vector<std::uint64_t>(64));
  EXPECT_EQ(gpu.failure("test", {{1}, {64}, {}, 0}, parameters(out, out)), "");
  ASSERT_TRUE(gpu.report.check.has_value());
  std::vector<std::string> names;
  for (const Finding& finding : gpu.report.check->findings) names.push_back(finding.name);
  EXPECT_TRUE(std::ranges::find(names, "shared-race") != names.end()) << ::testing::PrintToString(names);
  EXPECT_GE(names.size(), 2u) << "of what ended the run";
}

}  // namespace
}  // namespace wm::vgpu::testing
