// Timelines: what stamps of a kernel say of its roles.
#include <map>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ops/attention_kernel.hpp"
#include "ops/gemm_kernel.hpp"
#include "plan/gemm_plan_text.hpp"
#include "trace/stamps.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/gemm.hpp"

namespace wm {
namespace {

StampRecord stamp(const char* doing, unsigned long long clock, unsigned long long nanoseconds, unsigned step = 0) {
  const auto word = [](std::string_view text) {
    unsigned long long word = 0;
    for (std::size_t i = 0; i < text.size(); ++i) word |= static_cast<unsigned long long>(text[i]) << (8 * i);
    return word;
  };
  return {word("load"), word(doing), clock, nanoseconds, step, 1};
}

Trace trace_of(const std::string& plan) {
  const Device device = Device::open("virtual:sm_90a:sms=2");
  const Stream stream(device);
  constexpr std::int64_t m = 256, n = 128, k = 320;
  const Buffer a(device, m * k * 2), b(device, n * k * 2), d(device, m * n * 2);
  for (const Buffer* buffer : {&a, &b}) stream.fill(buffer->address(), std::byte{0}, buffer->bytes());
  Trace trace;
  gemm(stream, {.a = a.view(DType::bf16, {m, k}),
                .b = b.view(DType::bf16, {k, n}),
                .d = d.view(DType::bf16, {m, n}),
                .plan = plan::plan_from_text(plan),
                .trace = &trace});
  return trace;
}

}  // namespace

// Two clocks per nanosecond; the second warp began a microsecond after the first, on a clock of its own.
TEST(Trace, LaysTheClocksOfWarpsSideBySide) {
  std::vector<StampRecord> records(8);
  records[0] = stamp("wait", 1000, 5000, 3);
  records[1] = stamp("copy", 1600, 5300, 3);
  records[2] = stamp("end", 5000, 7000);
  records[4] = stamp("wait", 90, 6000, 4);
  records[5] = stamp("end", 94, 6002);
  const Trace trace = trace::timeline(records, 2, 4);
  ASSERT_EQ(trace.slices.size(), 3u);
  EXPECT_FALSE(trace.truncated);
  EXPECT_EQ(trace.slices[0].doing, "wait");
  EXPECT_EQ(trace.slices[0].step, 3u);
  EXPECT_DOUBLE_EQ(trace.slices[0].begin_us, 0);
  EXPECT_DOUBLE_EQ(trace.slices[0].end_us, 0.3);
  EXPECT_DOUBLE_EQ(trace.slices[1].end_us, 2);
  EXPECT_EQ(trace.slices[2].warp, 1u);
  EXPECT_DOUBLE_EQ(trace.slices[2].begin_us, 1);
}

// A virtual GPU's warps count their own instructions: one that waits for long has not moved on its own clock.
TEST(Trace, GoesByTheChipsClockWhereWarpsCountInstructions) {
  std::vector<StampRecord> records(4);
  records[0] = stamp("wait", 0, 5000);
  records[1] = stamp("copy", 1, 9000);
  records[2] = stamp("end", 900, 9500);
  const Trace trace = trace::timeline(records, 1, 4, trace::StampTime::of_chip);
  ASSERT_EQ(trace.slices.size(), 2u);
  EXPECT_DOUBLE_EQ(trace.slices[0].end_us, 4);
  EXPECT_DOUBLE_EQ(trace.slices[1].end_us, 4.5);
}

TEST(Trace, SaysThatItsEndIsMissing) {
  std::vector<StampRecord> records{stamp("wait", 0, 10), stamp("copy", 4, 12), stamp("wait", 6, 13)};
  EXPECT_TRUE(trace::timeline(records, 1, 3).truncated);
}

TEST(Trace, HasEveryRoleOfEveryBlockStepByStep) {
  const Trace trace = trace_of("128x64 s3 c1x1");
  EXPECT_FALSE(trace.truncated);
  std::map<std::pair<unsigned, std::string>, std::set<std::string>> doings;
  std::map<std::pair<unsigned, unsigned>, double> ended;
  std::size_t copies = 0;
  for (const TraceSlice& slice : trace.slices) {
    doings[{slice.block, slice.role}].insert(slice.doing);
    EXPECT_LE(slice.begin_us, slice.end_us);
    EXPECT_GE(slice.begin_us, (ended[{slice.block, slice.warp}])) << "slices of a role follow one another";
    ended[{slice.block, slice.warp}] = slice.end_us;
    copies += slice.role == "load" && slice.doing == "copy";
  }
  for (const unsigned block : {0u, 1u}) {
    EXPECT_EQ((doings[{block, "load"}]), (std::set<std::string>{"copy", "wait"}));
    EXPECT_EQ((doings[{block, "multiply"}]), (std::set<std::string>{"multiply", "store", "turn", "wait"}));
  }
  EXPECT_EQ(copies, 4u * 5);  // tiles, and steps of each
}

// A module has one place for its stamps.
TEST(Trace, OfTwoThreadsAtOnceHasEachItsOwn) {
  const std::string plan = "64x64 s2 c1x1 g1";
  const std::size_t slices = trace_of(plan).slices.size();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 3; ++j) EXPECT_EQ(trace_of(plan).slices.size(), slices);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Trace, IsJsonThatATraceViewerReads) {
  const auto json = nlohmann::json::parse(trace_of("64x64 s3 c1x1 pingpong").to_json());
  std::size_t slices = 0, names = 0;
  for (const auto& event : json["traceEvents"]) {
    slices += event["ph"] == "X" && event["dur"].get<double>() >= 0;
    names += event["ph"] == "M";
  }
  EXPECT_GT(slices, 0u);
  EXPECT_EQ(names, 2u * 2 * 9);  // a process and a thread for each warp that stamps: one loads, eight multiply
}

// The kernel as it would be without its stamps: those lines cut out.
// A kernel without the lines of `header` that stamp is byte for byte the one with them.
void expect_nothing_left(const std::string& header, const ops::KernelSource& source) {
  const auto arch = Architecture::parse("sm_90a");
  const std::string_view with = jit::embedded_headers().at(header);
  std::string without;
  for (std::size_t begin = 0, end; begin < with.size(); begin = end) {
    end = std::min(with.find('\n', begin), with.size() - 1) + 1;
    const std::string_view line = with.substr(begin, end - begin);
    if (line.find("stamp<") == line.npos && line.find("start_stamps()") == line.npos) without += line;
  }
  ASSERT_LT(without.size(), with.size());
  const std::string include = "#include \"" + header + "\"\n";
  ASSERT_NE(source.text.find(include), std::string::npos);
  ops::KernelSource bare = source;
  bare.text.replace(bare.text.find(include), include.size(), without);
  const jit::Program plain = ops::compile(source, arch, ops::Target::chip);
  EXPECT_TRUE(ops::compile(bare, arch, ops::Target::chip).cubin == plain.cubin) << source.expression;
  EXPECT_NE(ops::compile(source.stamped(), arch, ops::Target::chip).ptx.find("clock64"), std::string::npos);
}

TEST(Trace, LeavesNothingInAKernelThatIsNotStamped) {
  for (const char* plan : {"128x256 s4 c2x1", "128x96 s6 c1x1 pingpong", "64x64 s13 c1x1 g1 split"})
    expect_nothing_left("warpmill/gemm/sm90.cuh", ops::gemm_source(plan::plan_from_text(plan)));
  expect_nothing_left("warpmill/attention/sm90.cuh",
                      ops::attention_source({.kind = {.mask = {.right = true}}, .keys = 64}));
}

}  // namespace wm
