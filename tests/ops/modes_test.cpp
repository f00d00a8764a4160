// The GEMM under every order that the virtual GPU's scheduler can choose: a wait or a fence too few shows here.
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ops/gemm_case.hpp"
#include "ops/gemm_launch.hpp"
#include "ops/kernel_ahead.hpp"
#include "ops/schedules.hpp"
#include "ops/settings.hpp"
#include "ops/workspace.hpp"
#include "plan/gemm_plan_text.hpp"
#include "plan/gemm_schedule.hpp"
#include "warpmill/attention.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/error.hpp"
#include "warpmill/module.hpp"
#include "warpmill/virtual.hpp"

namespace wm::test {

using enum DType;

class GemmModes : public testing::Test {
 protected:
  const Device device = Device::open("virtual:sm_90a:sms=4");
  const Stream stream{device};

  std::vector<std::byte> result_of(GemmRun& product) const {
    product.reset();
    gemm(stream, product.request());
    return product.result();
  }
};

TEST_F(GemmModes, AHundredSeedsGiveTheSameBits) {
  for (const GemmCase& c : {GemmCase{.m = 296, .n = 136, .k = 200, .plan = "128x64 s3 c2x1"},
                            GemmCase{.m = 296, .n = 136, .k = 200, .plan = "128x64 s3 split"}}) {
    GemmRun product(device, c);
    std::vector<std::byte> first;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      vgpu::RunOptions options;
      options.mode = vgpu::Mode::random;
      options.seed = seed;
      options.deterministic = true;
      vgpu::set_run_options(device, options);
      if (seed == 0) first = result_of(product);
      ASSERT_TRUE(first == result_of(product)) << describe(c) << ", seed " << seed;
    }
    product.expect_right();
  }
  vgpu::set_run_options(device, {});
}

// One of each way to bring operands, to share work and to store it; with one seed, or as many as GEMM_TEST_SEEDS says.
TEST_F(GemmModes, EveryModeOfTheSchedulerGivesTheSameBitsAndTheJudgeIsSilent) {
  const auto seeds = static_cast<std::uint64_t>(asked("GEMM_TEST_SEEDS", 1));
  const EpilogueCase in_place{.beta = 1, .in_place = true, .amax = true};
  for (const GemmCase& c : {
           GemmCase{.m = 264, .n = 200, .k = 200, .plan = "128x64 s3"},
           GemmCase{.m = 392, .n = 200, .k = 200, .plan = "128x64 s3 c2x1"},
           GemmCase{.m = 300, .n = 264, .k = 200, .plan = "128x64 s2 c2x2"},
           GemmCase{.m = 300, .n = 264, .k = 200, .plan = "64x80 s2 c4x2 g1"},  // two of four bring B
           GemmCase{.m = 200, .n = 264, .k = 400, .plan = "64x48 s3 c2x4 g1 split"},
           GemmCase{.m = 300, .n = 264, .k = 200, .epilogue = in_place, .plan = "64x64 s3 pingpong"},
           GemmCase{.m = 300, .n = 200, .k = 200, .plan = "64x48 s2 c1x2 pingpong"},
           GemmCase{.m = 200, .n = 136, .k = 600, .d = f32, .epilogue = in_place, .plan = "128x64 s3 split"},
           GemmCase{.m = 200, .n = 100, .k = 800, .plan = "64x32 s3 c2x1 g1 split exchange"},
           GemmCase{.m = 300, .n = 136, .k = 500, .plan = "64x48 s3 c1x1x2 g1"},
           GemmCase{.m = 100, .n = 72, .k = 299, .a_layout = {.padding = 1}, .plan = "64x32 s3 c1x1x4 g1"},
           // More tiles than clusters; blocks without columns; three groups.
           GemmCase{.m = 392, .n = 136, .k = 300, .plan = "128x64 s3 c1x1x2"},
           GemmCase{.m = 150, .n = 112, .k = 300, .plan = "128x96 s3 c1x1x4"},
           GemmCase{.m = 200, .n = 72, .k = 300, .b_layout = {.padding = 1}, .plan = "192x48 s4 c1x1x2 g3"},
           // Clusters that share tiles, and blocks of a cluster that share its piece.
           GemmCase{.m = 60, .n = 40, .k = 1400, .plan = "64x48 s3 c1x1x2 g1 split"},
           GemmCase{.m = 264, .n = 40, .k = 1000, .d = f32, .epilogue = in_place, .plan = "128x48 s3 c1x1x2 split"},
           // The same by blocks that share operands.
           GemmCase{.m = 520, .n = 136, .k = 304, .plan = "128x64 s3 c2x1x2"},
           GemmCase{
               .m = 200, .n = 136, .k = 200, .a_layout = {.columns = true}, .b_layout = {}, .plan = "128x64 s3 c1x2"},
           GemmCase{.m = 200, .n = 136, .k = 200, .d_layout = {.columns = true}, .plan = "128x80 s3"},
           GemmCase{.m = 200, .n = 136, .k = 200, .batch = 3, .listed = true, .plan = "128x64 s3 c2x1"},
           GemmCase{.m = 200, .n = 136, .k = 202, .a_layout = {.padding = 2}, .plan = "128x64 s3"},
           GemmCase{.m = 200, .n = 136, .k = 201, .a_layout = {.padding = 1}, .plan = "64x64 s2 pingpong"},
           // Promoted parts: rounds of several steps and of those that are left; turns that end inside a round and
           // behind it; and by threads.
           GemmCase{.m = 392, .n = 136, .k = 1552, .a = e4m3, .b = e4m3, .promote = true, .plan = "128x64 s3 c2x1"},
           GemmCase{.m = 200, .n = 236, .k = 784, .a = e4m3, .b = e4m3, .promote = true, .plan = "128x160 s3"},
           GemmCase{.m = 200, .n = 136, .k = 304, .a = e4m3, .b = e4m3, .promote = true, .plan = "256x112 s3"},
           GemmCase{.m = 264, .n = 150, .k = 400, .a = e4m3, .b = e4m3, .promote = true, .plan = "256x144 s3"},
           GemmCase{.m = 300, .n = 200, .k = 656, .a = e4m3, .b = e4m3, .promote = true, .plan = "64x64 s2 pingpong"},
           GemmCase{.m = 200, .n = 136, .k = 1024, .a = e4m3, .b = e4m3, .promote = true, .plan = "64x64 s2 pingpong"},
           GemmCase{.m = 200, .n = 136, .k = 1040, .a = e4m3, .b = e4m3, .promote = true, .plan = "128x80 s3 split"},
           GemmCase{.m = 200, .n = 136, .k = 700, .a = e4m3, .b = e4m3, .promote = true, .plan = "128x64 s3"},
           GemmCase{.m = 200,
           .n = 136,
           .k = 300,
           .a = i8,
           .b = i8,
           .d = i32,
           .a_layout = {.columns = true},
           .plan = "128x64 s3 split"},
       }) {
    SCOPED_TRACE(describe(c));
    GemmRun product(device, c);
    const std::vector<std::byte> first = result_of(product);
    product.expect_right();
    in_every_schedule(device, seeds, [&] { EXPECT_TRUE(result_of(product) == first); });
  }
}

// Tiles that all their blocks finish: who waits, who leaves and who comes last differs from seed to seed.
TEST_F(GemmModes, SpreadTilesAreTheSameInAnyOrderAndTheJudgeIsSilent) {
  for (const GemmCase& c : {GemmCase{.m = 200, .n = 60, .k = 800, .d = f32, .plan = "128x64 s3 split spread"},
                            GemmCase{.m = 40, .n = 100, .k = 1000, .plan = "64x48 s3 c2x1 g1 split spread exchange"}}) {
    SCOPED_TRACE(describe(c));
    GemmRun product(device, c);
    const std::vector<std::byte> first = result_of(product);
    product.expect_right();
    in_every_schedule(device, 8, [&] { EXPECT_TRUE(result_of(product) == first); });
  }
}

// With more multiprocessors, so that several clusters of four share a tile.
TEST_F(GemmModes, ClustersThatShareOperandsAndTilesShareTheseWithOthers) {
  const Device larger = Device::open("virtual:sm_90a:sms=20");
  const Stream its_stream(larger);
  for (const char* plan : {"64x32 s3 c1x2x2 g1 split", "128x64 s3 c2x1x2 split"}) {
    GemmRun product(larger, {.m = 200, .n = 60, .k = 1304, .plan = plan});
    in_every_schedule(larger, 1, [&] {
      product.reset();
      gemm(its_stream, product.request());
      product.expect_right();
    });
  }
}

// A kernel that does nothing, and what is told of it.
class Teller {
 public:
  explicit Teller(const Stream& stream)
      : stream_(stream),
        kernel_(
            Module::load_ptx(stream.device(), ".version 8.0\n.target sm_90a\n.address_size 64\n.entry none() { ret; }")
                .kernel("none")) {}
  void tell(std::initializer_list<runtime::ByteRange> writes) const {
    runtime::launch(stream_, kernel_, {.grid = {1}, .block = {1}}, {}, {.writes = writes});
  }

 private:
  const Stream& stream_;
  Kernel kernel_;
};

// Behind a kernel that does not write them, operands are loaded before it has ended: into stages of several tiles, as
// many as there are or fewer; of one operand, or of both. Sharing one, in pieces.
TEST_F(GemmModes, LoadsAheadOfTheKernelAheadAndTheJudgeIsSilent) {
  const Teller teller(stream);
  for (const GemmCase& c : {
           GemmCase{.m = 7, .n = 600, .k = 304, .plan = "64x8 s7 c1x1 g1 exchange"},
           GemmCase{.m = 7, .n = 600, .k = 304, .plan = "64x16 s7 c1x1 g1 exchange"},
           GemmCase{.m = 7, .n = 600, .k = 304, .plan = "128x16 s3 c1x1 exchange"},
           GemmCase{.m = 7, .n = 1000, .k = 104, .plan = "64x16 s16 c2x1 g1 exchange"},
           GemmCase{.m = 600, .n = 7, .k = 304, .plan = "256x16 s3 c1x1"},
           GemmCase{.m = 60, .n = 600, .k = 200, .plan = "64x96 s3 c1x2 pingpong"},
           GemmCase{.m = 7, .n = 600, .k = 904, .d = f32, .plan = "64x8 s5 c1x1 g1 split exchange"},
           GemmCase{.m = 7, .n = 300, .k = 904, .plan = "64x16 s3 c1x1x3 g1 exchange"},
           GemmCase{
               .m = 7, .n = 600, .k = 304, .a = e4m3, .b = e4m3, .promote = true, .plan = "64x16 s7 c1x1 g1 exchange"},
       }) {
    SCOPED_TRACE(describe(c));
    GemmRun product(device, c);
    const std::vector<std::byte> first = result_of(product);
    product.expect_right();
    // One that writes something else, the first operand, or the second.
    const GemmRequest request = product.request();
    for (const View* written : std::initializer_list<const View*>{nullptr, &request.a, &request.b})
      in_every_schedule(device, 1, [&] {
        product.reset();
        teller.tell({written ? ops::bytes_of(*written) : runtime::ByteRange{1, 2}});
        const bool streams = written != (c.m < c.n ? &request.b : &request.a);
        EXPECT_EQ(gemm(stream, request).early, streams);
        EXPECT_TRUE(product.result() == first);
      });
    GemmRequest late = request;
    late.early = false;
    teller.tell({{1, 2}});
    EXPECT_FALSE(gemm(stream, late).early) << "not wanted";
  }
}

// Of a kernel's A and B, which change places with the caller's where the plan says so.
TEST_F(GemmModes, LoadsThatOperandEarlyWhichTheKernelAheadLeaves) {
  GemmRun wide(device, {.m = 7, .n = 600, .k = 304}), tall(device, {.m = 600, .n = 7, .k = 304});
  const auto early = [&](const GemmRun& run, const char* text, ops::EarlyOperands operands) {
    const ops::GemmProblem problem = ops::understand(stream, run.request(), TensorInstruction::wgmma);
    const GemmPlan plan = plan::plan_from_text(text, problem.kind);
    const GemmArguments arguments = ops::prepare_launches(device, problem, plan, operands).front().arguments;
    return ops::EarlyOperands{arguments.a_early, arguments.b_early};
  };
  using Early = ops::EarlyOperands;
  EXPECT_EQ(early(wide, "64x16 s3 c1x1 g1 exchange", {.b = true}), (Early{.a = true}));
  EXPECT_EQ(early(wide, "64x16 s3 c1x1 g1 exchange", {.a = true}), Early{}) << "seven rows are no use by themselves";
  EXPECT_EQ(early(wide, "64x16 s3 c1x1 g1 exchange", {.a = true, .b = true}), (Early{.a = true, .b = true}));
  EXPECT_EQ(early(tall, "64x16 s3 c1x1 g1", {.a = true}), (Early{.a = true}));
  EXPECT_EQ(early(tall, "64x16 s3 c1x1 g1", {.b = true}), Early{});
  EXPECT_EQ(early(wide, "64x64 s3 c1x1 g1", {.b = true}), (Early{.b = true}));
  EXPECT_EQ(early(wide, "64x64 s3 g1 multistage", {.a = true, .b = true}), Early{});
  GemmRun square(device, {.m = 600, .n = 600, .k = 304});
  EXPECT_EQ(early(square, "64x64 s3 c1x1 g1", {.a = true, .b = true}), Early{}) << "nothing streams";
  GemmRun few(device, {.m = 7, .n = 100, .k = 304});
  EXPECT_EQ(early(few, "64x16 s3 c1x1 g1 exchange", {.b = true}), Early{}) << "two blocks for four multiprocessors";
  EXPECT_EQ(early(few, "192x16 s3 c1x1 g3 exchange", {.b = true}), (Early{.a = true})) << "tall ones all the same";
}

// What is told of a product, and of an attention: what they write, until another kernel comes.
TEST_F(GemmModes, KnowsWhatTheKernelAheadWrites) {
  const auto leaves = [&](const auto& what) { return ops::KernelAhead(stream).leaves(ops::bytes_of(what)); };
  GemmRun product(device, {.m = 100, .n = 100, .k = 1000, .epilogue = {.amax = true}, .plan = "128x64 s3 split"});
  const GemmRequest request = product.request();
  EXPECT_FALSE(gemm(stream, request).early) << "an amax is cleared before it";
  EXPECT_TRUE(leaves(request.a));
  EXPECT_TRUE(leaves(request.b));
  EXPECT_FALSE(leaves(request.d));
  const std::uint64_t end = request.d.address + request.d.span_bytes(), sums = ops::workspace_of(stream, 1);
  EXPECT_FALSE(ops::KernelAhead(stream).leaves({end - 1, end}));
  EXPECT_TRUE(ops::KernelAhead(stream).leaves({end, end + 1}));
  EXPECT_FALSE(leaves(request.epilogue.amax));
  EXPECT_FALSE(ops::KernelAhead(stream).leaves({sums, sums + 1}));
  const Buffer small = Buffer::of<wm::bf16>(device, std::vector<wm::bf16>(64 * 64)), out(device, 64 * 64 * 2),
               logarithms(device, 64 * 4);
  const View square = small.view<wm::bf16>({1, 1, 64, 64}), attended = out.view<wm::bf16>({1, 1, 64, 64}),
             lse = logarithms.view<float>({1, 1, 64});
  attention(stream, {.q = square, .k = square, .v = square, .out = attended, .lse = lse});
  EXPECT_TRUE(leaves(request.d));
  EXPECT_FALSE(leaves(attended));
  EXPECT_FALSE(leaves(lse));
  // Kernels of which nothing is told: one that lets the next start at once, and one whose matrices lie anywhere.
  for (const GemmCase& c : {GemmCase{.m = 100, .n = 104, .k = 104, .plan = "64x64 s3 g1 multistage"},
                            GemmCase{.m = 64, .n = 48, .k = 200, .batch = 3, .listed = true}}) {
    Teller(stream).tell({{1, 2}});
    EXPECT_TRUE(leaves(request.a));
    GemmRun others(device, c);
    gemm(stream, others.request());
    EXPECT_FALSE(leaves(request.a)) << describe(c);
  }
}

// Several other pieces of a tile are asked for at once: a full round of them and a rest. In a cluster first, or not; by
// the block that stores all columns, or by each that stores some. Nothing of them is left in the workspace.
TEST_F(GemmModes, CollectsManyPiecesOfATile) {
  struct {
    int multiprocessors;
    GemmCase product;
    unsigned pieces;
  } const cases[] = {{7, {.m = 20, .n = 10, .k = 2100, .plan = "64x16 s3 g1 split"}, 7},
                     {12, {.m = 20, .n = 30, .k = 4200, .plan = "64x32 s3 c1x1x2 g1 split"}, 6},
                     {14, {.m = 90, .n = 30, .k = 4200, .plan = "128x32 s3 c1x1x2 split"}, 7}};
  for (const auto& [multiprocessors, c, pieces] : cases) {
    SCOPED_TRACE(describe(c));
    const GemmPlan plan = plan::plan_from_text(c.plan);
    EXPECT_EQ(plan::schedule_of(plan, {c.m, c.n, c.k}, plan::hopper_rates(multiprocessors)).work.clusters, pieces);
    const std::size_t left_bytes = std::size_t{pieces} * plan.cluster_size() * plan.partial_bytes();
    EXPECT_GT(plan.runs_together(), 1);
    EXPECT_NE((pieces - 1) % plan.runs_together(), 0u) << "the last round is not full";
    const Device chip = Device::open("virtual:sm_90a:sms=" + std::to_string(multiprocessors));
    const Stream on_chip(chip);
    GemmRun product(chip, c);
    const std::uint64_t workspace = ops::workspace_of(on_chip, left_bytes);  // cleared when it is asked for
    Buffer left(chip, left_bytes);
    in_every_schedule(chip, 1, [&] {
      product.reset();
      gemm(on_chip, product.request());
      product.expect_right();
    });
    on_chip.copy(left.address(), workspace, left_bytes);
    on_chip.synchronize();
    EXPECT_EQ(left.download<std::byte>(), std::vector<std::byte>(left_bytes));
  }
}

// A split product's pieces meet at flags in the workspace, which each launch sets back: one that does not come to its
// end cannot.
TEST_F(GemmModes, ASplitProductIsRightAfterALaunchThatWasStopped) {
  GemmRun product(device, {.m = 128, .n = 64, .k = 2000, .plan = "128x64 s3 split"});
  for (const std::uint64_t most : {2000u, 4000u, 6000u}) {
    vgpu::RunOptions options;
    options.max_instructions = most;
    vgpu::set_run_options(device, options);
    EXPECT_THROW(
        {
          gemm(stream, product.request());
          stream.synchronize();
        },
        Error);
    vgpu::set_run_options(device, {});
    product.reset();
    gemm(stream, product.request());
    product.expect_right();
  }
}

}  // namespace wm::test
