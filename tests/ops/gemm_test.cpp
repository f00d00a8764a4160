// The GEMM call, part by part: types, layouts, epilogues, plans, sizes. Every element is compared with float64.
#include <array>
#include <thread>

#include <fmt/format.h>

#include "ops/gemm_fixture.hpp"
#include "plan/gemm_plan_text.hpp"

namespace wm::test {

using enum DType;

namespace {

// Several tiles and tails of most plans; k ends inside a stage. The copy engine can address all of it.
GemmCase ordinary() { return {.m = 208, .n = 144, .k = 240}; }

GemmCase of_types(DType a, DType b, DType d) {
  GemmCase c = ordinary();
  c.a = a, c.b = b, c.d = d;
  if (a == i8 && d != i32) c.epilogue.alpha = 0x1p-9f;  // f16 would overflow
  return c;
}

}  // namespace

TEST_F(Gemm, IsRightForEveryPairOfOperandTypesAndEveryOutput) {
  for (const DType type : {bf16, f16, f32, i8})
    for (const DType d : {bf16, f16, f32, e4m3}) check(stream, of_types(type, type, d));
  check(stream, of_types(tf32, tf32, f32));
  check(stream, of_types(i8, i8, i32));
  for (const DType a : {e4m3, e5m2})
    for (const DType b : {e4m3, e5m2}) check(stream, of_types(a, b, bf16));
  for (const DType d : {f16, f32, e4m3}) check(stream, of_types(e4m3, e4m3, d));
}

TEST_F(Gemm, TakesOperandsInEitherMajorness) {
  for (const DType type : {bf16, f32, i8, e4m3})
    for (const auto& [a_columns, b_columns] : {std::array{false, false}, {true, true}, {true, false}}) {
      GemmCase c = of_types(type, type, type == i8 ? i32 : bf16);
      c.a_layout.columns = a_columns;
      c.b_layout.columns = b_columns;
      const std::string path = check(stream, c).path();
      if (type == bf16) {
        EXPECT_EQ(path, "copy engine");
      } else {  // only 16-bit types are read by wgmma as they lie
        // f32 is rounded on the way
        const std::string along_k = type == f32 ? "threads, element by element" : "threads, 16-byte copies";
        const std::string a = a_columns ? "threads, transposing" : along_k;
        const std::string b = b_columns ? along_k : "threads, transposing";
        EXPECT_TRUE(path.starts_with(a == b ? a : fmt::format("a: {}; b: {}", a, b))) << path;  // D's way is the plan's
      }
    }
}

TEST_F(Gemm, StoresEveryLayoutOfD) {
  for (const DType d : {bf16, f32, e4m3})
    for (const Layout& layout : {Layout{.padding = 16}, Layout{.columns = true, .padding = 16}, Layout{.step = 3},
                                 Layout{.columns = true, .padding = 1, .step = 2, .offset = 1}})
      for (const char* plan : {"128x80 s3", "64x80 s3 g1 exchange"}) {
        GemmCase c = ordinary();
        c.d = d;
        c.d_layout = layout;
        c.plan = plan;
        const std::string path = check(stream, c).path();
        const bool columns = layout.columns != (c.plan.find("exchange") != c.plan.npos);  // as the kernel sees them
        const bool by_engine = layout.step == 1 && !(columns && d != bf16);
        EXPECT_EQ(path, by_engine ? "copy engine" : "copy engine; d: stored by threads") << describe(c);
      }
}

TEST_F(Gemm, MultipliesBatches) {
  const auto batched = [&](Layout a, Layout b, Layout d, const char* plan = "") {
    GemmCase c{.m = 100, .n = 72, .k = 136, .batch = 5, .a_layout = a, .b_layout = b, .d_layout = d};
    c.plan = plan;
    for (const bool listed : {false, true}) {
      c.listed = listed;
      c.epilogue = {};
      check(stream, c);
      c.epilogue.beta = 0.5f;
      check(stream, c);
      c.epilogue.in_place = true;
      check(stream, c);
    }
  };
  batched({}, {.columns = true}, {});
  batched({.repeated = true}, {.columns = true}, {});
  batched({}, {.columns = true, .repeated = true}, {.columns = true, .padding = 4});
  batched({.repeated = true}, {.columns = true, .repeated = true}, {});
  batched({.batch_padding = 24}, {.columns = true, .padding = 8, .batch_padding = 8}, {.batch_padding = 40});
  batched({.batch_padding = 1}, {.columns = true, .batch_padding = 2}, {.batch_padding = 3});
  batched({}, {.columns = true}, {}, "128x64 s3 split");
  batched({.repeated = true}, {.columns = true}, {}, "64x64 s3 c1x2 pingpong");
  batched({}, {.columns = true}, {}, "64x64 s3 g1 multistage");
  batched({}, {.columns = true}, {}, "64x48 s3 g1 exchange");
}

// More products than the numbers of one launch, of matrices that are parts of larger ones.
TEST_F(Gemm, MultipliesALongListOfMatrices) {
  constexpr std::int64_t heads = 600, size = 16;
  GemmCase c{.m = size, .n = size, .k = 2 * size, .batch = heads, .listed = true};
  c.epilogue.amax = true;
  check(stream, c);
  const std::vector<float> ones(heads * size * size, 1.f);
  const Buffer a = Buffer::of<float>(device, ones), b = Buffer::of<float>(device, ones),
               d(device, ones.size() * sizeof(float));
  std::vector<std::uint64_t> blocks;  // side by side in rows of heads * size
  for (std::int64_t i = 0; i < heads; ++i) blocks.push_back(d.address() + static_cast<std::uint64_t>(i) * size * 4);
  gemm(stream, {.a = a.view<float>({size, size}, {heads * size, 1}),
                .b = b.view<float>({size, size}),
                .d = d.view<float>({size, size}, {heads * size, 1}),
                .batch = GemmBatch{.d = blocks}});
  stream.synchronize();
  EXPECT_EQ(d.download<float>(), std::vector<float>(ones.size(), float(size)));
}

// Further apart than numbers of 31 bits reach in steps of an element.
TEST_F(Gemm, MultipliesMatricesThatLieFarApart) {
  constexpr std::int64_t size = 32;
  const std::vector<wm::bf16> ones(size * size, wm::bf16(1.f));
  const Buffer b = Buffer::of<wm::bf16>(device, ones), d(device, 3 * size * size * sizeof(float));
  Buffer far(device, (std::size_t{5} << 30) + 4 * size * size);
  std::vector<std::uint64_t> a_at, d_at;
  for (const std::size_t offset : {std::size_t{2}, std::size_t{5} << 30, std::size_t{4} << 20}) {
    far.upload(std::as_bytes(std::span(ones)), offset);
    a_at.push_back(far.address() + offset);
    d_at.push_back(d.address() + d_at.size() * size * size * sizeof(float));
  }
  gemm(stream, {.a = View(device, a_at[0], bf16, {size, size}),
                .b = b.view<wm::bf16>({size, size}),
                .d = d.view<float>({size, size}),
                .batch = GemmBatch{.a = a_at, .d = d_at}});
  stream.synchronize();
  EXPECT_EQ(d.download<float>(), std::vector<float>(3 * size * size, float(size)));
}

TEST_F(Gemm, AppliesTheEpilogue) {
  const auto with = [&](const EpilogueCase& epilogue, DType type = bf16, DType d = bf16,
                        const char* plan = "128x48 s3") {
    GemmCase c = of_types(type, type, d);
    c.epilogue = epilogue;
    c.plan = plan;
    check(stream, c);
  };
  with({.alpha = -0.75f});
  with({.alpha = 0});
  with({.alpha = 2, .beta = -0.5f});
  with({.beta = 1, .in_place = true});
  with({.beta = 2, .c = f32, .c_layout = {.columns = true, .padding = 3, .offset = 1}}, bf16, f16);
  with({.beta = 1, .in_place = true}, f16, f32);
  with({.beta = 1, .c = f16}, f32, f32);
  with({.row_bias = f32, .column_bias = f32});
  with({.column_bias = bf16, .activation = Activation::gelu_tanh});
  with({.row_bias = f16, .activation = Activation::gelu_erf}, bf16, f32);
  with({.activation = Activation::relu});
  with({.activation = Activation::silu}, f16, f16);
  with({.activation = Activation::expression, .expression = "x * sigmoid(1.702f * x)"});
  with({.row_scale = Scale::each, .column_scale = Scale::each}, e4m3, bf16);
  with({.row_scale = Scale::tensor, .column_scale = Scale::tensor, .amax = true, .d_scale = true}, e4m3, e4m3);
  with({.row_scale = Scale::each, .column_scale = Scale::tensor, .row_bias = bf16}, i8, f32);
  // Everything at once, where A and B change places and where clusters share tiles along k.
  with(full_epilogue);
  with(full_epilogue, bf16, bf16, "64x48 s3 g1 exchange");
  with(full_epilogue, bf16, f32, "64x64 s3 g1 split exchange");
}

TEST_F(Gemm, TakesAlphaAndBetaAnewInEachCall) {
  constexpr std::int64_t size = 64;
  const std::vector<wm::bf16> ones(size * size, wm::bf16(1.f));
  const Buffer operand = Buffer::of<wm::bf16>(stream.device(), ones);
  const Buffer c = Buffer::of<wm::bf16>(stream.device(), ones);
  const Buffer d(stream.device(), size * size * sizeof(float));
  const View view = operand.view<wm::bf16>({size, size});
  for (const auto& [alpha, beta] : {std::array{2.f, 3.f}, {4.f, 3.f}, {4.f, 5.f}}) {
    gemm(stream, {.a = view,
                  .b = view,
                  .d = d.view<float>({size, size}),
                  .epilogue = {.alpha = alpha, .beta = beta, .c = c.view<wm::bf16>({size, size})}});
    stream.synchronize();
    EXPECT_EQ(d.download<float>(), std::vector<float>(size * size, alpha * size + beta));
  }
}

TEST_F(Gemm, IsRightWithEachKindOfPlan) {
  for (const char* plan : {"128x256 s4 c2x1",
                           "128x224 s4 c1x2",
                           "256x128 s4 c2x1",
                           "128x112 s3 c2x1",
                           "128x32 s8",
                           "128x64 s2 c2x2",
                           "128x208 s4",
                           "64x16 s12 g1",
                           "64x48 s3 g1 c1x2",
                           "64x256 s3 g1",
                           "192x96 s3 g3",
                           "64x256 s4 pingpong",
                           "128x128 s4 pingpong c2x1",
                           "64x176 s3 pingpong c2x2",
                           "128x64 s3 split",
                           "128x128 s3 c2x1 split",
                           "64x32 s3 g1 split exchange",
                           "256x64 s3 c1x2 split",
                           "128x96 s3 exchange c1x2",
                           "64x80 s3 pingpong exchange",
                           "64x48 s3 c1x1x2 g1",
                           "64x64 s3 c1x1x4 g1 exchange",
                           "256x64 s3 c1x1x2",
                           "128x256 s4 c1x1x4",
                           "64x80 s3 c4x2 g1",  // of four blocks that share B two bring it, of two for A both
                           "64x48 s3 c2x4 g1 split",
                           "128x80 s3 c8x1",  // five of eight
                           "192x96 s3 c1x4 g3",
                           "128x96 s3 c1x1x3 exchange",
                           "64x32 s3 c1x1x2 g1 split exchange",  // sums meet in a cluster, then in the workspace
                           "128x64 s3 c1x1x2 split2",
                           "128x64 s3 c2x1x2",  // blocks share operands, and tiles with others that do
                           "64x32 s3 c1x2x2 g1 split exchange",
                           "128x48 s4 c1x4x2 split",
                           "64x8 s5 g1",  // the fewest columns
                           "64x8 s3 c1x1x3 g1 split exchange",
                           "128x8 s3 c4x1 exchange",
                           "192x8 s3 c2x1 g3",
                           "256x8 s3 split exchange"}) {
    GemmCase c = ordinary();
    c.plan = plan;
    // One tile and less; several waves with tails and odd clusters; many steps along k.
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{40, 24, 72}, settings.waves, {136, 72, 1304}}) {
      c.m = m, c.n = n, c.k = k;
      EXPECT_EQ(plan::text_of(check(stream, c).plan), plan::text_of(plan::plan_from_text(plan)));
    }
  }
}

// The same plans on other types: their stages hold other numbers of k, their sums other values.
TEST_F(Gemm, IsRightWithEachKindOfPlanForOtherTypes) {
  struct {
    DType type, d;
    const char* plan;
    bool promote = false;
  } const cases[] = {{e4m3, bf16, "128x128 s4 c2x1 pingpong"},
                     {e4m3, bf16, "128x64 s3 split"},
                     {e4m3, bf16, "128x128 s4", true},
                     {e4m3, f32, "64x128 s4 pingpong c1x2", true},
                     {e4m3, bf16, "128x192 s3", true},  // in halves that are multiplied together
                     {e5m2, bf16, "256x96 s3 c2x1", true},
                     {e4m3, f32, "192x144 s3 g3", true},
                     {e4m3, bf16, "256x144 s3", true},
                     {e4m3, bf16, "128x256 s3", true},  // and one after the other
                     {e4m3, f32, "192x160 s3 g3", true},
                     {e5m2, bf16, "128x80 s3 split", true},
                     {i8, i32, "128x96 s3 c2x2"},
                     {i8, i32, "64x48 s3 g1 split exchange"},
                     {f32, f32, "64x240 s3 pingpong"},
                     {f32, f32, "128x64 s3 c1x2 split"},
                     {f16, f16, "256x112 s3 c2x1"},
                     {i8, i32, "64x32 s3 c1x1x2 g1"},
                     {e4m3, bf16, "128x64 s3 c1x1x2", true},
                     {i8, i32, "128x96 s3 c1x1x4"},
                     {f32, f32, "128x64 s3 c1x1x2"},
                     {i8, i32, "128x96 s3 c1x1x2 split"},
                     {e4m3, bf16, "64x48 s3 c1x1x2 g1 split", true},
                     {e4m3, bf16, "64x112 s3 c4x2 g1"},
                     {i8, i32, "128x80 s3 c4x1 pingpong"},
                     {i8, i32, "64x8 s3 g1 exchange"},
                     {f32, f32, "128x32 s4 c2x1x2 split"},
                     {e4m3, bf16, "128x8 s3 split exchange", true},
                     {e4m3, e4m3, "64x8 s3 g1 exchange"},
                     {f32, f32, "128x8 s3 c2x1"}};
  for (const auto& [type, d, plan, promote] : cases) {
    GemmCase c{.m = 300, .n = 208, .k = 656, .a = type, .b = type, .d = d, .promote = promote, .plan = plan};
    if (promote) c.k = 1808;  // fifteen steps: rounds of eight and four, or of four and two, and single ones
    check(stream, c);
  }
}

// Of a tile or two, in as many pieces as there are blocks: all of them finish it.
TEST_F(Gemm, SpreadsTilesOfEveryTypeOverTheBlocksThatShareThem) {
  const EpilogueCase in_place{.beta = 1, .in_place = true, .amax = true};
  for (const GemmCase& c : {
           GemmCase{.m = 200, .n = 60, .k = 1304, .plan = "128x64 s3 split spread"},
           GemmCase{.m = 100, .n = 60, .k = 1304, .d = f32, .epilogue = in_place, .plan = "128x64 s3 split spread"},
           GemmCase{.m = 100, .n = 60, .k = 2000, .a = i8, .b = i8, .d = i32, .plan = "128x64 s3 split spread"},
           GemmCase{.m = 40,
           .n = 100,
           .k = 2000,
           .a = e4m3,
           .b = e4m3,
           .d = e4m3,
           .promote = true,
           .plan = "64x48 s3 g1 split spread exchange"},
           GemmCase{.m = 100, .n = 60, .k = 1304, .batch = 2, .listed = true, .plan = "128x64 s3 split2 spread"},
           GemmCase{
               .m = 104, .n = 60, .k = 1304, .d_layout = {.columns = true}, .plan = "64x64 s3 c2x1 g1 split spread"},
       })
    check(stream, c);
}

TEST_F(Gemm, MajorNessesGoWithClustersTilesAndSplits) {
  for (const char* plan :
       {"128x16 s3", "128x80 s3 c1x2", "256x112 s3 c2x1", "64x128 s3 pingpong c2x2", "64x80 s3 c4x2 g1",
        "128x48 s3 split", "64x32 s3 g1 split exchange", "64x32 s3 c1x1x2 g1 exchange"}) {
    GemmCase c{.m = 328, .n = 200, .k = 136, .plan = plan};
    for (const auto& [a_columns, b_columns] : {std::array{true, false}, {true, true}}) {
      c.a_layout.columns = a_columns;
      c.b_layout.columns = b_columns;
      check(stream, c);
    }
  }
}

// What the copy engine cannot address is copied by threads, in the largest pieces that every row allows.
TEST_F(Gemm, TakesEveryAlignmentOfBasesAndLeadingDimensions) {
  struct {
    DType type;
    Layout a, b;
    const char* path;
  } const cases[] = {
      {bf16, {.offset = 8}, {.columns = true, .padding = 8}, "copy engine"},
      {bf16, {.offset = 4}, {.columns = true}, "a: threads, 8-byte copies; b: threads, 16-byte copies"},
      {bf16, {.padding = 2}, {.columns = true, .offset = 2}, "threads, 4-byte copies"},
      {bf16,
       {.padding = 4},
       {.columns = true, .offset = 1},
       "a: threads, 8-byte copies; b: threads, element by element"},
      {bf16, {.columns = true, .offset = 1}, {.padding = 1}, "threads, transposing"},
      {bf16, {.padding = 3, .step = 2}, {.columns = true, .step = 3}, "threads, element by element"},
      {f32, {.offset = 1}, {.columns = true, .padding = 2}, "threads, element by element"},  // and rounded
      {e4m3, {.padding = 1}, {.columns = true, .offset = 3}, "threads, element by element"},
      {e4m3, {.offset = 8}, {.columns = true, .padding = 4}, "a: threads, 8-byte copies; b: threads, 4-byte copies"},
      {i8,
       {.padding = 8, .offset = 2},
       {.columns = true, .offset = 16},
       "a: threads, element by element; b: threads, 16-byte copies"},
  };
  for (const auto& [type, a, b, path] : cases) {
    GemmCase c = of_types(type, type, type == i8 ? i32 : bf16);
    c.a_layout = a;
    c.b_layout = b;
    c.align = false;
    EXPECT_TRUE(check(stream, c).path().starts_with(path)) << describe(c);
    c.k -= 7;
    c.a_layout.padding += 7 * a.step;
    c.b_layout.padding += 7 * b.step;
    check(stream, c);  // the last copies are partial
  }
}

// A stride of 0 over rows or columns repeats them; the copy engine knows no such stride.
TEST_F(Gemm, RepeatsRowsAndColumns) {
  const Buffer ones = Buffer::of<wm::bf16>(device, std::vector(64, wm::bf16(1.f)));
  const Buffer out(device, 64 * 64 * 4);
  const auto expect_k = [&](std::vector<std::int64_t> shape, View a, View b) {
    const View d = out.view(f32, shape);
    stream.fill(out.address(), std::byte{0xff}, out.bytes());
    gemm(stream, {.a = a, .b = b, .d = d});
    const std::vector<float> result = out.download<float>();
    for (std::int64_t i = 0; i < d.elements(); ++i) ASSERT_EQ(result[i], float(a.shape[1])) << "k " << a.shape[1];
  };
  for (const std::int64_t k : {1, 40}) {
    expect_k({64, 64}, ones.view(bf16, {64, k}, {0, 1}), ones.view(bf16, {k, 64}, {0, 1}));
    expect_k({64, 64}, ones.view(bf16, {64, k}, {1, 0}), ones.view(bf16, {k, 64}, {1, 0}));
    expect_k({1, 64}, ones.view(bf16, {1, k}, {1, 0}), ones.view(bf16, {k, 64}, {0, 0}));
  }
}

TEST_F(Gemm, HandlesOnesAndZeros) {
  const EpilogueCase epilogues[] = {{}, {.beta = 1, .column_bias = f32, .activation = Activation::silu}};
  for (const EpilogueCase& epilogue : epilogues)
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                  {1, 304, 72},
                                  {304, 1, 72},
                                  {5, 9, 1},
                                  {64, 8, 0},
                                  {33, 7, 0},
                                  {1, 1, 0},
                                  {0, 8, 8},
                                  {8, 0, 8},
                                  {0, 0, 0}})
      check(stream, {.m = m, .n = n, .k = k, .epilogue = epilogue});
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {1, 17, 40}, {17, 1, 40}, {3, 4, 0}}) {
    check(stream, {.m = m, .n = n, .k = k, .a = i8, .b = i8, .d = i32});
    for (const bool listed : {false, true})
      check(stream,
            {.m = m, .n = n, .k = k, .batch = 3, .listed = listed, .a_layout = {.columns = true}, .b_layout = {}});
  }
  check(stream, {.m = 0, .n = 8, .k = 8, .epilogue = {.amax = true}});  // no element: 0
}

TEST_F(Gemm, TakesOperandsThatLieSideBySideInOneBuffer) {
  // Rows of 128 elements: A is the first half of them, D goes into the second.
  const GemmRun apart(device, {.m = 64, .n = 64, .k = 64, .a_layout = {.padding = 64}, .d_layout = {.padding = 64}});
  const Buffer together(device, 64 * 128 * 2);
  GemmRequest request = apart.request();
  stream.copy(together.address(), request.a.address, together.bytes());
  request.a.address = together.address();
  request.d.address = together.address() + 128;
  gemm(stream, request);
  // D to where it is checked, row by row.
  for (std::uint64_t row = 0; row < 64; ++row)
    stream.copy(apart.request().d.address + row * 256, request.d.address + row * 256, 128);
  stream.synchronize();
  apart.expect_right();
}

TEST_F(Gemm, GivesTheSameBitsEveryTime) {
  const EpilogueCase epilogue{.alpha = 0.5f, .beta = 1, .in_place = true, .amax = true};
  for (const char* plan : {"", "128x64 s3 split", "128x64 s3 c2x1 split", "64x128 s3 pingpong", "64x48 s3 c1x1x2 g1",
                           "128x64 s3 c1x1x2 split", "128x64 s3 multistage", "64x48 s3 g1 mma split"}) {
    GemmCase c{.m = 304, .n = 272, .k = 456, .d = f32, .epilogue = epilogue, .plan = plan};
    GemmRun run(device, c);
    std::vector<std::byte> first;
    for (int i = 0; i < 20; ++i) {
      run.reset();
      gemm(stream, run.request());
      const auto result = run.result();
      if (i == 0) first = result;
      ASSERT_TRUE(first == result) << "run " << i << " of " << describe(c);
    }
    run.expect_right();
  }
}

// Each stream has a workspace of its own: sums that one leaves are not collected by another.
TEST_F(Gemm, TwoHostThreadsUseTwoStreamsAtOnce) {
  const auto work = [&](std::uint64_t seed) {
    const Stream own(device);
    for (std::int64_t i = 0; i < 4; ++i)
      check(own, {.m = 200 + 8 * i, .n = 136, .k = 712, .plan = "128x64 s3 split", .seed = seed + i});
  };
  std::thread other(work, 100);
  work(200);
  other.join();
}

}  // namespace wm::test
