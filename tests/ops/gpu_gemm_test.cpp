// What only a chip can show of the GEMM call: graph capture and its cost to the host.
#include <cstdlib>
#include <filesystem>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "gemm/graph.hpp"
#include "gemm/random_product.hpp"
#include "ops/gemm_case.hpp"
#include "ops/gemm_kernel.hpp"
#include "ops/on_chip.hpp"
#include "ops/settings.hpp"
#include "warpmill/attention.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/gemm.hpp"
#include "warpmill/module.hpp"

using namespace wm;

TEST(GemmOnChip, IsCapturedIntoGraphs) {
  const Device device = Device::open("cuda:0");
  const Stream stream(device);
  const test::EpilogueCase epilogue{.beta = 1, .row_scale = test::Scale::each, .amax = true};
  for (const test::GemmCase& c : {
           test::GemmCase{.m = 300, .n = 504, .k = 2000, .epilogue = epilogue},
           test::GemmCase{.m = 300, .n = 504, .k = 2000, .epilogue = epilogue, .plan = "128x64 s3 split"},
           test::GemmCase{.m = 300, .n = 504, .k = 2000, .epilogue = epilogue, .plan = "128x128 s4 c2x1 pingpong"},
           test::GemmCase{.m = 64, .n = 48, .k = 200, .batch = 300, .listed = true, .epilogue = epilogue},
       }) {
    test::GemmRun run(device, c);
    const std::vector<std::byte> poisoned = run.result();
    gemm(stream, run.request());  // modules are loaded and workspace is allocated before a capture begins
    stream.synchronize();
    run.reset();
    const bench::Graph graph(stream, [&] { gemm(stream, run.request()); });
    stream.synchronize();
    EXPECT_TRUE(run.result() == poisoned) << "a capture runs nothing";
    for (int i = 0; i < 3; ++i) {
      run.reset();
      graph.replay(stream);
      stream.synchronize();
      run.expect_right();
    }
  }
}

// Behind a product of ours in a graph, what that product writes is waited for, and nothing else: the weights of the
// second product come early where the first makes its rows, and not where it makes the weights themselves. A wait too
// few would multiply poison.
TEST(GemmOnChip, WaitsForWhatTheKernelAheadWrites) {
  const Device device = Device::open("cuda:0");
  const Stream stream(device);
  constexpr std::int64_t rows = 8, width = 464, many = 27000, narrow = 64;
  const auto random = [&](std::int64_t count, unsigned seed) {
    std::vector<bf16> values(count);
    std::mt19937 dice(seed);
    for (bf16& value : values) value = bf16(float(int(dice() % 513) - 256) / 256);
    return Buffer::of<bf16>(device, values);
  };
  const Buffer x = random(rows * width, 1), mix = random(width * width, 2), weights = random(many * width, 3),
               tall = random(many * narrow, 4), wide = random(narrow * width, 5);
  const Buffer middle(device, rows * width * 2), made(device, many * width * 2), out(device, rows * many * 2);
  const View out_view = out.view<bf16>({rows, many});
  struct {
    const Buffer& between;
    GemmRequest first, second;
    bool early;
  } const cases[] = {
      {middle,
       {.a = x.view<bf16>({rows, width}),
        .b = mix.view<bf16>({width, width}).transposed(),
        .d = middle.view<bf16>({rows, width})},
       {.a = middle.view<bf16>({rows, width}), .b = weights.view<bf16>({many, width}).transposed(), .d = out_view},
       true},
      {made,
       {.a = tall.view<bf16>({many, narrow}),
        .b = wide.view<bf16>({narrow, width}),
        .d = made.view<bf16>({many, width})},
       {.a = x.view<bf16>({rows, width}), .b = made.view<bf16>({many, width}).transposed(), .d = out_view},
       false}};
  for (const auto& [between, first, second, early] : cases) {
    gemm(stream, first);
    EXPECT_FALSE(gemm(stream, second).early) << "nobody knows what is ahead in a stream";
    stream.synchronize();
    const std::vector<std::byte> right = out.download<std::byte>();
    bool second_early = false;
    const bench::Graph graph(stream, [&] {
      gemm(stream, first);
      second_early = gemm(stream, second).early;
    });
    EXPECT_EQ(second_early, early);
    for (int i = 0; i < test::asked("GEMM_TEST_REPLAYS", 50); ++i) {
      stream.fill(between.address(), std::byte{0x7f}, between.bytes());
      stream.fill(out.address(), std::byte{0x7f}, out.bytes());
      graph.replay(stream);
      stream.synchronize();
      ASSERT_TRUE(out.download<std::byte>() == right) << "replay " << i;
    }
  }
}

// Of what is ahead in a capture, only kernels of ours are known, and only where one alone is ahead.
TEST(GemmOnChip, KnowsWhatIsAheadInACapture) {
  const Device device = Device::open("cuda:0");
  const Stream stream(device), other(device);
  constexpr std::int64_t rows = 8, width = 64, many = 27000;
  const Buffer x(device, rows * width * 2), weights(device, many * width * 2), out(device, rows * many * 2),
      small(device, 64 * 64 * 2), attended(device, 64 * 64 * 2), largest(device, 4);
  GemmRequest product{.a = x.view<bf16>({rows, width}),
                      .b = weights.view<bf16>({many, width}).transposed(),
                      .d = out.view<bf16>({rows, many})};
  const View head = small.view<bf16>({1, 1, 64, 64});
  const auto attend = [&] {
    attention(stream, {.q = head, .k = head, .v = head, .out = attended.view<bf16>({1, 1, 64, 64})});
  };
  const Kernel nobodys =
      Module::load_ptx(device, ".version 8.0\n.target sm_80\n.address_size 64\n.entry none() { ret; }").kernel("none");
  const auto early = [&] { return gemm(stream, product).early; };
  EXPECT_FALSE(early());
  EXPECT_FALSE(early()) << "nobody knows what is ahead in a stream";
  attend();
  const bench::Graph graph(stream, [&] {
    EXPECT_FALSE(early()) << "nothing is ahead";
    EXPECT_TRUE(early());
    stream.fill(attended.address(), std::byte{0}, 4);
    EXPECT_FALSE(early()) << "behind a fill";
    EXPECT_TRUE(early());
    attend();
    EXPECT_TRUE(early());
    launch(stream, nobodys, {.grid = {1}, .block = {1}});
    EXPECT_FALSE(early()) << "behind a kernel of the caller's own";
    product.epilogue.amax = largest.view<float>({1});
    EXPECT_FALSE(early()) << "behind the fill that clears its amax";
    product.epilogue.amax.reset();
    product.early = false;
    EXPECT_FALSE(early()) << "not wanted";
    product.early = true;
    EXPECT_TRUE(early());
    const Event forked(device), joined(device);
    stream.record(forked);
    other.wait(forked);
    other.fill(attended.address(), std::byte{0}, 4);
    other.record(joined);
    stream.wait(joined);
    EXPECT_FALSE(early()) << "two are ahead";
  });
  graph.replay(stream);
  stream.synchronize();
}

TEST(GemmOnChip, FirstUseTakesUnder800MillisecondsAndUnder20FromTheCache) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("warpmill-first-use-{}", getpid());
  setenv("WARPMILL_CACHE_DIR", folder.c_str(), 1);
  const Device device = Device::open("cuda:0");
  const Stream stream(device);
  const bench::RandomProduct problem(stream, {512, 512, 512}, 1);
  const GemmPlan plan{.stages = 3};  // a large one, that no other test has compiled in this process
  EXPECT_LT(test::milliseconds([&] { gemm(stream, problem.request(plan)); }), 800) << "plan, NVRTC, load";
  const auto from_cache = [&] {
    const ops::KernelSource source = ops::gemm_source(plan);
    const auto program = ops::compile(source, device.info().arch, ops::Target::chip);
    EXPECT_TRUE(program.from_cache);
    Module::load(device, program).kernel(source.expression);
  };
  EXPECT_LT(test::milliseconds(from_cache), 20);
  std::filesystem::remove_all(folder);
}

TEST(GemmOnChip, ARepeatedCallCostsTheHostLessThanFiveMicroseconds) {
  const Device device = Device::open("cuda:0");
  const Stream stream(device);
  const bench::RandomProduct problem(stream, {256, 256, 256}, 1);
  const GemmRequest request = problem.request();
  gemm(stream, request);
  stream.synchronize();
  const double microseconds = test::microseconds_a_call(stream, [&] { gemm(stream, request); });
  RecordProperty("microseconds", std::to_string(microseconds));
  EXPECT_LT(microseconds, 5);
}
