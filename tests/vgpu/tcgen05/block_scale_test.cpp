// Elements of fewer than 8 bits, and products with scales from tensor memory, against the sheet's formulas and CuTe's
// layouts.
#include "vgpu/tcgen05/product.hpp"

namespace wm::vgpu::testing {
namespace {

constexpr Type narrow[] = {Type::e4m3, Type::e5m2, Type::e2m3, Type::e3m2, Type::e2m1};

TEST(NarrowMultiply, ReadsEveryPairOfTypesWithTheirGaps) {
  int turn = 0;
  constexpr int swizzles[] = {2, 4, 6, 0};
  for (const Type a : narrow)
    for (const Type b : narrow) {
      Product p{.kind = "f8f6f4", .a = a, .b = b, .n = 48};
      p.a_swizzle = swizzles[turn++ % 4];
      p.b_swizzle = swizzles[turn++ / 2 % 4];
      ASSERT_NO_FATAL_FAILURE(check(p));
      p.sum = 0;
      p.blocks = 2;
      p.m = 256;
      ASSERT_NO_FATAL_FAILURE(check(p));
    }
}

TEST(ScaledMultiply, TakesEveryPairOfTypes) {
  int turn = 0;
  constexpr int swizzles[] = {2, 4, 6, 0};
  for (const Type a : narrow)
    for (const Type b : narrow)
      ASSERT_NO_FATAL_FAILURE(check({.kind = "mxf8f6f4",
                                     .a = a,
                                     .b = b,
                                     .n = 72,
                                     .a_swizzle = swizzles[turn % 4],
                                     .b_swizzle = swizzles[turn / 4 % 4],
                                     .group = 32,
                                     .a_scale_byte = turn % 4,
                                     .b_scale_byte = turn++ / 2 % 4}));
  check({.kind = "mxf8f6f4", .a = Type::e4m3, .b = Type::e5m2, .a_mn = true, .b_mn = true, .group = 32});
  check({.kind = "mxf8f6f4", .a = Type::e4m3, .b = Type::e2m1, .a_mn = true, .a_swizzle = 6, .group = 32});
}

constexpr Product mxf4{.kind = "mxf4", .a = Type::e2m1, .b = Type::e2m1, .group = 32};

TEST(ScaledMultiply, TakesTwoElementsAByte) {
  for (const int swizzle : {0, 2, 4, 6})
    for (const auto& [kind, group, scale] : {std::tuple{"mxf4", 32, Type::ue8m0},
                                             {"mxf4nvf4", 32, Type::ue8m0},
                                             {"mxf4nvf4", 16, Type::ue8m0},
                                             {"mxf4nvf4", 16, Type::ue4m3}}) {
      Product p = mxf4;
      p.kind = kind;
      p.group = group;
      p.scale = scale;
      p.a_swizzle = p.b_swizzle = swizzle;
      ASSERT_NO_FATAL_FAILURE(check(p));
      if (group == 16) continue;
      p.a_scale_byte = 2;
      ASSERT_NO_FATAL_FAILURE(check(p));
      std::swap(p.a_scale_byte, p.b_scale_byte);
      ASSERT_NO_FATAL_FAILURE(check(p));
    }
}

TEST(ScaledMultiply, FindsScalesOfEverySize) {
  for (const int n : {8, 24, 40, 128, 136, 256}) {
    Product p = mxf4;
    p.n = n;
    ASSERT_NO_FATAL_FAILURE(check(p));
    if (n % 16 != 0) continue;
    p.blocks = 2;
    ASSERT_NO_FATAL_FAILURE(check(p));
    p.m = 256;
    ASSERT_NO_FATAL_FAILURE(check(p));
  }
  for (const int m : {128, 256})
    for (const int n : {16, 48, 96, 256})
      ASSERT_NO_FATAL_FAILURE(check({.kind = "mxf8f6f4",
                                     .a = Type::e5m2,
                                     .b = Type::e3m2,
                                     .blocks = 2,
                                     .m = m,
                                     .n = n,
                                     .group = 32,
                                     .a_scale_byte = 3}));
}

// With CuTe's instruction descriptors, on operands and scales that lie as it lays them.
TEST(ScaledMultiply, AgreesWithCuTe) {
  const std::map<std::string, Type> types = {{"e4m3", Type::e4m3},  {"e5m2", Type::e5m2}, {"e2m3", Type::e2m3},
                                             {"e3m2", Type::e3m2},  {"e2m1", Type::e2m1}, {"ue8m0", Type::ue8m0},
                                             {"ue4m3", Type::ue4m3}};
  int turn = 0;
  constexpr int swizzles[] = {2, 4, 6, 0};
  ASSERT_GE(cute::vectors().scaled().size(), 22u);
  for (const auto& [name, bits] : cute::vectors().scaled()) {
    std::istringstream words(name);
    std::string kind, a, b, scale, a_order, b_order;
    Product p;
    words >> kind >> p.group >> a >> b >> scale >> p.m >> p.n >> a_order >> b_order;
    p.kind = kind.c_str();
    p.a = types.at(a);
    p.b = types.at(b);
    p.scale = types.at(scale);
    p.a_mn = a_order == "mn";
    p.b_mn = b_order == "mn";
    p.blocks = p.m / 128;
    p.as_cute = true;
    p.a_swizzle = swizzles[turn % 4];
    p.b_swizzle = swizzles[turn++ / 4 % 4];
    EXPECT_EQ(p.descriptor(), bits) << name;
    ASSERT_NO_FATAL_FAILURE(check(p));
    if (p.m == 128 && p.n == 256) {  // the same bits for a pair
      p.blocks = 2;
      ASSERT_NO_FATAL_FAILURE(check(p));
    }
  }
}

TEST(ScaledMultiply, TakesAFromTensorMemory) {
  for (const int blocks : {1, 2}) {
    Product p = mxf4;
    p.a_in_tensor_memory = true;
    p.blocks = blocks;
    ASSERT_NO_FATAL_FAILURE(check(p));
    p.kind = "mxf8f6f4";
    p.a = Type::e4m3;
    ASSERT_NO_FATAL_FAILURE(check(p));
  }
}

// Elements of 4 and 6 bits: as the sheet has them in their bytes, and brought there by a copy, where they must be what
// the product would have read in shared memory.
TEST(NarrowMultiply, TakesAFromTensorMemoryInContainers) {
  for (const Type a : {Type::e2m3, Type::e3m2, Type::e2m1})
    for (const int blocks : {1, 2}) {
      Product p{.kind = "f8f6f4", .a = a, .b = Type::e5m2, .blocks = blocks, .m = 128, .a_in_tensor_memory = true};
      p.as_cute = true;
      p.n = blocks == 1 ? 48 : 256;
      ASSERT_NO_FATAL_FAILURE(check(p));
      p.m = 128 * blocks;
      p.a_expanded = true;
      ASSERT_NO_FATAL_FAILURE(check(p, Mode::random, 3, true));
      p.kind = "mxf8f6f4";
      p.group = 32;
      p.a_scale_byte = 2;
      ASSERT_NO_FATAL_FAILURE(check(p));
      p.a_expanded = false;
      ASSERT_NO_FATAL_FAILURE(check(p));
    }
  ASSERT_NO_FATAL_FAILURE(
      check({.kind = "f8f6f4", .a = Type::e2m1, .b = Type::e2m1, .m = 64, .a_in_tensor_memory = true, .d_lane = 16}));
}

TEST(ScaledMultiply, AddsAndNegatesUnderEveryScheduleWithTheJudgeSilent) {
  for (const Mode mode : {Mode::friendly, Mode::random, Mode::adversarial})
    for (const int blocks : {1, 2}) {
      Product p = mxf4;
      p.blocks = blocks;
      p.twice = true;
      p.negate = 1;
      ASSERT_NO_FATAL_FAILURE(check(p, mode, 1, true));
      p.kind = "mxf8f6f4";
      p.b = Type::e2m3;
      p.m = 128 * blocks;
      ASSERT_NO_FATAL_FAILURE(check(p, mode, 2, true));
    }
}

}  // namespace
}  // namespace wm::vgpu::testing
