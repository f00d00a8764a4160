// Operands that are copied to where the copy engine can read them, before the product.
#include <thread>

#include "ops/gemm_fixture.hpp"
#include "warpmill/error.hpp"

namespace wm::test {
namespace {

using enum DType;

class GemmAligned : public Gemm {
 protected:
  // Whether operands are copied, and the product right, as it is where they are not.
  bool copied(GemmCase c) {
    const bool aligned = check(stream, c).aligned;
    c.align = false;
    EXPECT_FALSE(check(stream, c).aligned) << describe(c);
    return aligned;
  }
};

TEST_F(GemmAligned, CopiesLinesThatBeginAnywhereInEveryType) {
  for (const DType type : {bf16, f16, f32, e4m3, i8}) {
    const DType d = type == i8 ? i32 : type == f32 ? f32 : bf16;
    EXPECT_TRUE(copied({.m = 70, .n = 150, .k = 1003, .a = type, .b = type, .d = d})) << name_of(type);
  }
  EXPECT_TRUE(copied({.m = 129, .n = 67, .k = 1101, .a_layout = {.padding = 3, .offset = 5}}));
  EXPECT_TRUE(copied({.m = 500, .n = 700, .k = 502})) << "by fours, much of it";
}

TEST_F(GemmAligned, CopiesOneOperandWhereTheOtherNeedsNone) {
  EXPECT_TRUE(copied({.m = 200, .n = 72, .k = 800, .a_layout = {.offset = 1}}));
  EXPECT_TRUE(copied({.m = 72, .n = 200, .k = 800, .b_layout = {.columns = true, .padding = 1}}));
}

TEST_F(GemmAligned, CopiesLinesAlongRowsAndColumns) {
  EXPECT_TRUE(copied({.m = 203, .n = 301, .k = 333, .a_layout = {.columns = true}, .b_layout = {}}));
  EXPECT_TRUE(copied({.m = 203, .n = 301, .k = 333, .a_layout = {}, .b_layout = {}}));
}

TEST_F(GemmAligned, CopiesBatchesAndWhatTheyShareOnce) {
  GemmCase c{.m = 33, .n = 47, .k = 501, .batch = 3};
  EXPECT_TRUE(copied(c));
  c.a_layout.batch_padding = 7;
  c.b_layout.repeated = true;
  EXPECT_TRUE(copied(c));
}

TEST_F(GemmAligned, LeavesToThreadsWhatIsSmallOrHasNoLines) {
  EXPECT_FALSE(copied({.m = 20, .n = 30, .k = 201}));
  EXPECT_FALSE(copied({.m = 200, .n = 144, .k = 300, .a_layout = {.step = 2}}));
  EXPECT_FALSE(copied({.m = 400, .n = 240, .k = 300, .a = e4m3, .b = e4m3, .a_layout = {.columns = true}}));
  EXPECT_FALSE(copied({.m = 70, .n = 150, .k = 1000})) << "the engine reads them where they are";
}

// Copy and product of one thread are neighbours in the stream, whoever else uses it.
TEST_F(GemmAligned, KeepsTheOperandsOfThreadsThatShareAStreamApart) {
  const auto work = [&](std::uint64_t seed) {
    for (int i = 0; i < 8; ++i) {
      GemmRun run(device, {.m = 70, .n = 60, .k = 701, .seed = seed + i});
      EXPECT_TRUE(gemm(stream, run.request()).aligned);
      stream.synchronize();
      run.expect_right();
    }
  };
  std::jthread other([&] { work(100); });
  work(1);
}

TEST_F(GemmAligned, IsRefusedBeforeAnythingIsCopied) {
  const Buffer memory(stream.device(), 1 << 20);
  const View a = memory.view(bf16, {100, 501}), b = memory.view(bf16, {501, 300});
  const View d(stream.device(), a.address + 64, bf16, {100, 300});
  for (int i = 0; i < 2; ++i) {
    try {
      gemm(stream, {.a = a, .b = b, .d = d});
      FAIL() << "d overlaps a";
    } catch (const Error& error) {
      EXPECT_NE(std::string_view(error.what()).find("overlap"), std::string_view::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace wm::test
