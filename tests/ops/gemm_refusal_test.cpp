// What the GEMM call refuses: in words, and before anything is launched.
#include <limits>

#include "ops/gemm_fixture.hpp"
#include "warpmill/error.hpp"

namespace wm::test {

using enum DType;

namespace {

std::string refusal(const Stream& stream, const GemmRequest& request) {
  try {
    gemm(stream, request);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_F(Gemm, AVectorMayHaveDimensionsOfSizeOne) {
  const Buffer a(device, 1 << 14), b(device, 1 << 14), d(device, 1 << 14), bias(device, 1 << 10);
  for (const auto& [shape, strides] : std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>>{
           {{64}, {1}}, {{1, 64}, {64, 1}}, {{64, 1}, {1, 1}}, {{1, 64, 1}, {7, 1, 9}}}) {
    GemmRequest request{.a = a.view(bf16, {64, 64}), .b = b.view(bf16, {64, 64}), .d = d.view(bf16, {64, 64})};
    request.epilogue.column_bias = bias.view(f32, shape, strides);
    EXPECT_EQ(refusal(stream, request), "accepted") << shape.size() << " dimensions";
  }
}

TEST_F(Gemm, RefusesInWordsBeforeAnythingIsLaunched) {
  const Buffer a(device, 1 << 16), b(device, 1 << 16), d(device, 1 << 16);
  const GemmRequest good{.a = a.view(bf16, {64, 64}), .b = b.view(bf16, {64, 64}), .d = d.view(bf16, {64, 64})};
  const auto vector = [&](DType dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {}) {
    return b.view(dtype, std::move(shape), std::move(strides), 1 << 15);
  };
  const auto expect = [&](const char* words, const auto& change) {
    GemmRequest bad = good;
    change(bad);
    EXPECT_NE(refusal(stream, bad).find(words), std::string::npos) << words << ": " << refusal(stream, bad);
  };
  using R = GemmRequest;
  // Types.
  expect("a holds f16 and b holds bf16", [&](R& r) { r.a = a.view(f16, {64, 64}); });
  expect("a holds e4m3 and b holds i8", [&](R& r) { r.a = a.view(e4m3, {64, 64}), r.b = b.view(i8, {64, 64}); });
  expect("a holds f64", [&](R& r) { r.a = a.view(f64, {64, 64}), r.b = b.view(f64, {64, 64}); });
  expect("d holds i32; it is bf16, f16, f32 or e4m3", [&](R& r) { r.d = d.view(i32, {64, 64}); });
  expect("d holds e5m2", [&](R& r) { r.d = d.view(e5m2, {64, 64}); });
  expect("promote is for e4m3 and e5m2", [&](R& r) { r.promote = true; });
  // Shapes and layouts.
  expect("shapes do not fit: a is 64 x 64, b is 32 x 64", [&](R& r) { r.b = b.view(bf16, {32, 64}, {1, 32}); });
  expect("a has 3 dimensions", [&](R& r) { r.a = a.view(bf16, {4, 4, 4}); });
  expect("batches differ", [&](R& r) {
    r.a = a.view(bf16, {3, 16, 16}), r.b = b.view(bf16, {2, 16, 16}), r.d = d.view(bf16, {3, 16, 16});
  });
  expect("d overlaps a; the product cannot be made in place", [&](R& r) { r.d = a.view(bf16, {64, 64}); });
  expect("d overlaps a", [&](R& r) {
    r.d = a.view(bf16, {64, 64}, {128, 1}, 64), r.a = a.view(bf16, {64, 64}, {128, 1});
  });
  expect("d's elements overlap", [&](R& r) { r.d = d.view(bf16, {64, 64}, {32, 1}); });
  expect("d's elements overlap", [&](R& r) { r.d = d.view(bf16, {64, 64}, {64, 0}); });
  expect("d's elements overlap: strides (64, 64, 1) for a shape of 2 x 64 x 64", [&](R& r) {
    r.a = a.view(bf16, {2, 64, 64}), r.b = b.view(bf16, {2, 64, 64}), r.d = d.view(bf16, {2, 64, 64}, {64, 64, 1});
  });
  // The epilogue.
  expect("beta is 2 and there is no c", [&](R& r) { r.epilogue.beta = 2; });
  expect("c holds i32", [&](R& r) { r.epilogue.beta = 1, r.epilogue.c = a.view(i32, {64, 64}); });
  expect("c is 32 x 64 and d is 64 x 64", [&](R& r) { r.epilogue.beta = 1, r.epilogue.c = a.view(bf16, {32, 64}); });
  expect("d overlaps c without being the same", [&](R& r) {
    r.epilogue.beta = 1, r.epilogue.c = d.view(bf16, {64, 64}, {64, 1}, 16);
  });
  expect("row_scale has 63 elements (shape 63); it must have 64, or one for all",
         [&](R& r) { r.epilogue.row_scale = vector(f32, {63}); });
  expect("column_scale holds bf16", [&](R& r) { r.epilogue.column_scale = vector(bf16, {64}); });
  expect("row_bias has a stride of 2", [&](R& r) { r.epilogue.row_bias = vector(f32, {64}, {2}); });
  expect("row_bias has a stride of 2", [&](R& r) { r.epilogue.row_bias = vector(f32, {64, 1}, {2, 1}); });
  expect("column_bias is a matrix of 8 x 8; it must be a vector of 64", [&](R& r) {
    r.epilogue.column_bias = vector(f32, {8, 8});
  });
  expect("column_bias has 1 elements", [&](R& r) { r.epilogue.column_bias = vector(f32, {1}); });
  expect("must hold the same type",
         [&](R& r) { r.epilogue.row_bias = vector(f32, {64}), r.epilogue.column_bias = vector(bf16, {64}); });
  expect("d overlaps column_bias", [&](R& r) { r.epilogue.column_bias = d.view(f32, {64}, {}, 256); });
  expect("d overlaps amax", [&](R& r) { r.epilogue.amax = d.view(f32, {1}); });
  expect("amax lies in d_scale", [&](R& r) { r.epilogue.amax = r.epilogue.d_scale = vector(f32, {1}); });
  expect("amax lies in b", [&](R& r) { r.epilogue.amax = b.view(f32, {1}); });
  expect("amax has 2 elements", [&](R& r) { r.epilogue.amax = vector(f32, {2}); });
  expect("d_scale holds f16", [&](R& r) { r.epilogue.d_scale = vector(f16, {1}); });
  expect("integer results have no epilogue", [&](R& r) {
    r.a = a.view(i8, {64, 64}), r.b = b.view(i8, {64, 64}), r.d = d.view(i32, {64, 64}), r.epilogue.alpha = 2;
  });
  expect("Activation::expression go together", [&](R& r) { r.epilogue.expression = "x"; });
  expect("Activation::expression go together", [&](R& r) { r.epilogue.activation = Activation::expression; });
  expect("the activation 'x +* 2' does not compile",
         [&](R& r) { r.epilogue.activation = Activation::expression, r.epilogue.expression = "x +* 2"; });
  // Plans.
  expect("shared memory", [&](R& r) { r.plan = GemmPlan{.tile = {128, 256}, .stages = 9}; });
  for (const int stages : {1, 0, -1, std::numeric_limits<int>::min()})
    expect("a ring needs 2 stages", [&](R& r) { r.plan = GemmPlan{.stages = stages}; });
  expect("at most 64 stages", [&](R& r) { r.plan = GemmPlan{.stages = std::numeric_limits<int>::max()}; });
  expect("the activation 'x; } int z() { return 1' is no expression of x: it ends with a semicolon", [&](R& r) {
    r.epilogue.activation = Activation::expression, r.epilogue.expression = "x; } int z() { return 1";
  });
  expect("only the copy engine brings data to a whole cluster", [&](R& r) {
    r.a = a.view(bf16, {64, 64}, {65, 1}), r.plan = GemmPlan{};
  });
  // Batches by addresses.
  const std::uint64_t a_at = a.address(), d_at = d.address();
  const std::uint64_t two_d[]{d_at + 8192, d_at}, close_d[]{d_at + 8190, d_at}, odd[]{a_at, a_at + 1}, null[]{a_at, 0},
      three[]{a_at, a_at, a_at}, d_and_a[]{d_at, a_at + 16};
  expect("3 addresses for a and 2 for d", [&](R& r) { r.batch = GemmBatch{.a = three, .d = two_d}; });
  expect("2 addresses for b and 0 for d", [&](R& r) { r.batch = GemmBatch{.b = two_d}; });
  expect("a[1] of the batch is at", [&](R& r) { r.batch = GemmBatch{.a = odd, .d = two_d}; });
  expect("a[1] of the batch is at 0x0", [&](R& r) { r.batch = GemmBatch{.a = null, .d = two_d}; });
  expect("d[1] of the batch overlaps d[0] of the batch", [&](R& r) { r.batch = GemmBatch{.d = close_d}; });
  expect("d[1] of the batch overlaps a;", [&](R& r) { r.batch = GemmBatch{.d = d_and_a}; });
  expect("of the batch overlaps c[", [&](R& r) {
    r.epilogue.beta = 1, r.epilogue.c = r.d;
    static const std::uint64_t turned[]{d_at, d_at + 8192};
    r.batch = GemmBatch{.c = turned, .d = two_d};
  });
  expect("the epilogue no c", [&](R& r) { r.batch = GemmBatch{.c = two_d, .d = two_d}; });
  expect("two dimensions", [&](R& r) {
    r.a = a.view(bf16, {1, 64, 64}), r.b = b.view(bf16, {1, 64, 64}), r.d = d.view(bf16, {1, 64, 64});
    r.batch = GemmBatch{.d = two_d};
  });
  EXPECT_NE(refusal(stream, {.a = a.view(bf16, {4, 16, 16}, {16, 64, 1}),
                             .b = b.view(bf16, {4, 16, 16}),
                             .d = a.view(bf16, {4, 16, 16}, {16, 128, 1}, 128)})
                .find("d overlaps a"),
            std::string::npos)
      << "rows of 64 and of 128";
  EXPECT_EQ(refusal(stream, {.a = a.view(bf16, {4, 16, 16}, {16, 128, 1}),
                             .b = b.view(bf16, {4, 16, 16}),
                             .d = a.view(bf16, {4, 16, 16}, {16, 128, 1}, 128)}),
            "accepted")
      << "heads side by side in rows of 128";
  const std::uint64_t one[]{d_at}, nowhere[]{0, 3};
  GemmRequest in_place = good;
  in_place.epilogue = {.beta = 1, .c = good.d};
  in_place.batch = GemmBatch{.d = one};
  EXPECT_EQ(refusal(stream, in_place), "accepted") << "one product, c is d";
  GemmRequest without_k = good;
  without_k.a = a.view(bf16, {64, 0}), without_k.b = b.view(bf16, {0, 64});
  without_k.batch = GemmBatch{.a = nowhere, .d = two_d};
  EXPECT_EQ(refusal(stream, without_k), "accepted") << "nothing lies there";
  EXPECT_EQ(refusal(stream, {.a = a.view(bf16, {1, 64}),
                             .b = b.view(bf16, {64, 64}, {128, 1}),
                             .d = b.view(bf16, {1, 64}, {64, 1}, 128)}),
            "accepted")
      << "a row between the rows of b";
  GemmRequest one_row{.a = a.view(bf16, {1, 64}), .b = good.b, .d = d.view(bf16, {1, 64})};
  one_row.epilogue = {.beta = 1, .c = d.view(bf16, {1, 64}, {128, 1})};
  EXPECT_EQ(refusal(stream, one_row), "accepted") << "c is d: where there is one row its stride says nothing";
  GemmRequest huge = good;
  huge.a = View(device, a.address(), bf16, {8388608, 64}, {0, 1});
  huge.b = View(device, b.address(), bf16, {64, 16777216}, {0, 0});
  huge.d = View(device, d.address(), bf16, {8388608, 16777216});
  EXPECT_NE(refusal(stream, huge).find("more than 2^31 tiles"), std::string::npos) << refusal(stream, huge);
  GemmRequest empty = good;
  empty.batch = GemmBatch{};
  EXPECT_EQ(refusal(stream, empty), "accepted") << "no products at all";
  // Devices.
  const Device other = Device::open("virtual:sm_90a:sms=2");
  const Buffer elsewhere(other, 1 << 13);
  expect("b lies on virtual:sm_90a:sms=2", [&](R& r) { r.b = elsewhere.view(bf16, {64, 64}); });
  expect("row_bias lies on", [&](R& r) { r.epilogue.row_bias = elsewhere.view(f32, {64}); });

  EXPECT_EQ(refusal(stream, good), "accepted");
}

}  // namespace wm::test
