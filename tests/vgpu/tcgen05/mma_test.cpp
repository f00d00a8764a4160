// tcgen05.mma against the sheet's formulas and CuTe's layouts: every kind, type, order, swizzle and place of D and A,
// one block and two.
#include <random>

#include "vgpu/tcgen05/product.hpp"

namespace wm::vgpu::testing {
namespace {

TEST(TensorMultiply, ReadsEveryKMajorSwizzleOfEveryKind) {
  for (const int swizzle : {0, 2, 4, 6}) {
    check({.a_swizzle = swizzle, .b_swizzle = swizzle});
    check({.a = Type::f16, .b = Type::f16, .a_swizzle = swizzle, .b_swizzle = 2});
    check({.kind = "tf32", .a = Type::tf32, .b = Type::tf32, .a_swizzle = swizzle, .b_swizzle = 6});
    check({.kind = "f8f6f4", .a = Type::e4m3, .b = Type::e5m2, .a_swizzle = swizzle, .b_swizzle = 4});
    check({.kind = "i8", .a = Type::s8, .b = Type::u8, .sum = 2, .a_swizzle = swizzle, .b_swizzle = 0});
  }
}

TEST(TensorMultiply, ReadsEveryMnMajorSwizzleOfEveryKind) {
  for (const int swizzle : {0, 2, 4, 6}) {
    check({.a_mn = true, .b_mn = true, .a_swizzle = swizzle, .b_swizzle = swizzle});
    check({.kind = "f8f6f4",
           .a = Type::e5m2,
           .b = Type::e4m3,
           .a_mn = true,
           .b_mn = true,
           .a_swizzle = swizzle,
           .b_swizzle = 2});
    check({.kind = "i8",
           .a = Type::u8,
           .b = Type::s8,
           .sum = 2,
           .a_mn = true,
           .b_mn = true,
           .a_swizzle = 4,
           .b_swizzle = swizzle});
  }
  check({.kind = "tf32", .a = Type::tf32, .b = Type::tf32, .a_mn = true, .b_mn = true, .a_swizzle = 1, .b_swizzle = 1});
  check({.kind = "tf32", .a = Type::tf32, .b = Type::tf32, .b_mn = true, .a_swizzle = 2, .b_swizzle = 1});
}

constexpr int swizzles_of_all[] = {0, 6, 4, 2};

// Every kind, type and pair of orders that CuTe has an instruction descriptor for, with its own, on operands that lie
// as it lays them in every swizzle.
TEST(TensorMultiply, AgreesWithCuTe) {
  const std::map<std::string, Type> types = {{"f16", Type::f16},   {"bf16", Type::bf16}, {"tf32", Type::tf32},
                                             {"e4m3", Type::e4m3}, {"e5m2", Type::e5m2}, {"s8", Type::s8},
                                             {"u8", Type::u8}};
  int turn = 0;
  for (const auto& [name, bits] : cute::vectors().products()) {
    std::istringstream words(name);
    std::string kind, a, b, sum, a_order, b_order;
    Product p;
    words >> kind >> a >> b >> sum >> p.m >> p.n >> a_order >> b_order;
    p.kind = kind.c_str();
    p.a = types.at(a);
    p.b = types.at(b);
    p.sum = sum == "f16" ? 0 : sum == "f32" ? 1 : 2;
    p.a_mn = a_order == "mn";
    p.b_mn = b_order == "mn";
    p.blocks = p.m == 256 ? 2 : 1;
    EXPECT_EQ(p.descriptor(), bits) << name;
    p.as_cute = true;
    const auto swizzle = [&](bool mn, Type type) { return mn && type == Type::tf32 ? 1 : swizzles_of_all[turn++ % 4]; };
    p.a_swizzle = swizzle(p.a_mn, p.a);
    p.b_swizzle = swizzle(p.b_mn, p.b);
    ASSERT_NO_FATAL_FAILURE(check(p));
    if (p.m == 128 && p.n == 256) {  // the same bits for a pair
      p.blocks = 2;
      ASSERT_NO_FATAL_FAILURE(check(p));
    }
  }
  for (const int swizzle : swizzles_of_all) {  // and each swizzle in both orders
    for (const bool mn : {false, true}) {
      check({.n = 256, .a_mn = mn, .b_mn = mn, .a_swizzle = swizzle, .b_swizzle = swizzle, .as_cute = true});
      check({.kind = "i8",
             .a = Type::s8,
             .b = Type::s8,
             .sum = 2,
             .n = 256,
             .a_mn = mn,
             .b_mn = mn,
             .a_swizzle = swizzle,
             .b_swizzle = swizzle,
             .as_cute = true});
    }
    check({.kind = "tf32",
           .a = Type::tf32,
           .b = Type::tf32,
           .n = 256,
           .a_swizzle = swizzle,
           .b_swizzle = swizzle,
           .as_cute = true});
  }
}

TEST(TensorMultiply, TakesAWhereCuTePutsIt) {
  for (const auto& [blocks, m, n] :
       {std::tuple{1, 64, 32}, {1, 128, 48}, {1, 128, 256}, {2, 128, 256}, {2, 256, 256}}) {
    const Product any{.blocks = blocks, .m = m, .n = n, .a_in_tensor_memory = true, .as_cute = true};
    for (const auto& [kind, type] : {std::pair{"f16", Type::f16},
                                     {"f16", Type::bf16},
                                     {"tf32", Type::tf32},
                                     {"f8f6f4", Type::e4m3},
                                     {"f8f6f4", Type::e5m2},
                                     {"i8", Type::s8}}) {
      Product p = any;
      p.kind = kind;
      p.a = p.b = type;
      p.sum = type == Type::s8 ? 2 : 1;
      ASSERT_NO_FATAL_FAILURE(check(p));
    }
  }
}

// The upper lanes multiply their own copy of A: what happens where it is another one nobody says.
TEST(TensorMultiply, RefusesTwoDifferentCopiesOfA) {
  Product p{.blocks = 2, .m = 128, .n = 64, .a_in_tensor_memory = true};
  Gpu gpu("sm_100a", 2);
  gpu.load(kernel_of(p));
  std::vector<uint8_t> image(2 * image_bytes);
  image[image_bytes + 64 * 32 + 5] = 1;  // of the second block
  const std::string text = gpu.failure("test", {{2}, {128}, {2}, image_bytes},
                                       parameters(gpu.upload(std::vector<uint32_t>(2 * 128 * 512)), gpu.upload(image)));
  EXPECT_TRUE(contains(text, "row 0 of A differs between lanes 0 and 64")) << text;
}

TEST(TensorMultiply, WritesDWhereTheSheetSays) {
  for (const int n : {8, 24, 256}) {
    check({.m = 128, .n = n});
    check({.m = 64, .n = n});
    check({.m = 64, .n = n, .d_lane = 16});
  }
  check({.n = 40, .d_column = 100});  // not at a tile's first column
  for (const int n : {16, 48, 256}) {
    check({.blocks = 2, .m = 256, .n = n});
    check({.blocks = 2, .m = 128, .n = n});
  }
}

TEST(TensorMultiply, TakesAFromTensorMemory) {
  for (const int m : {64, 128}) {
    check({.m = m, .n = 32, .a_in_tensor_memory = true});
    check({.kind = "tf32", .a = Type::tf32, .b = Type::tf32, .m = m, .n = 32, .a_in_tensor_memory = true});
    check({.kind = "f8f6f4", .a = Type::e4m3, .b = Type::e4m3, .m = m, .n = 32, .a_in_tensor_memory = true});
    check({.kind = "i8", .a = Type::s8, .b = Type::s8, .sum = 2, .m = m, .n = 32, .a_in_tensor_memory = true});
  }
  check({.m = 64, .n = 32, .a_in_tensor_memory = true, .d_lane = 16});
  check({.blocks = 2, .m = 256, .n = 64, .a_in_tensor_memory = true});
  check({.blocks = 2, .m = 128, .n = 64, .a_in_tensor_memory = true});
}

TEST(TensorMultiply, TwoBlocksShareEveryKind) {
  check({.a = Type::f16, .b = Type::f16, .sum = 0, .blocks = 2, .m = 256, .n = 64});
  check(
      {.kind = "tf32", .a = Type::tf32, .b = Type::tf32, .blocks = 2, .m = 256, .n = 64, .b_mn = true, .b_swizzle = 1});
  check({.kind = "f8f6f4", .a = Type::e4m3, .b = Type::e4m3, .blocks = 2, .m = 128, .n = 64});
  check({.kind = "i8", .a = Type::s8, .b = Type::s8, .sum = 2, .blocks = 2, .m = 256, .n = 64});
}

TEST(TensorMultiply, SumsInF16InTheLowHalfOfACell) {
  check({.a = Type::f16, .b = Type::f16, .sum = 0});
  check({.kind = "f8f6f4", .a = Type::e4m3, .b = Type::e4m3, .sum = 0});
  check({.a = Type::f16, .b = Type::f16, .sum = 0, .twice = true});
}

TEST(TensorMultiply, AddsToDNegatesScalesAndLeavesLanesAlone) {
  check({.twice = true});
  check({.kind = "i8", .a = Type::s8, .b = Type::s8, .sum = 2, .twice = true});
  check({.options = ", 3", .twice = true});
  check({.kind = "tf32", .a = Type::tf32, .b = Type::tf32, .options = ", 15", .twice = true});
  for (const int negate : {1, 2, 3}) check({.negate = negate});
  check({.mask = ", {0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa, 0xaaaaaaaa}"});
}

TEST(TensorMultiply, IsTheSameUnderEverySchedule) {
  for (const Mode mode : {Mode::random, Mode::adversarial})
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      check({.twice = true}, mode, seed);
      check({.blocks = 2, .m = 256, .twice = true}, mode, seed);
      check({.n = 32, .a_in_tensor_memory = true}, mode, seed);
    }
}

// But that cells are looked at that no product wrote, nothing is wrong with these kernels.
TEST(TensorMultiply, LeavesTheJudgeSilent) {
  for (const Mode mode : {Mode::friendly, Mode::random, Mode::adversarial}) {
    check({.twice = true}, mode, 1, true);
    check({.blocks = 2, .m = 256, .b_mn = true}, mode, 1, true);
    check({.blocks = 2, .m = 128, .n = 32, .a_in_tensor_memory = true}, mode, 1, true);
    check({.m = 64, .n = 32, .a_in_tensor_memory = true}, mode, 1, true);
  }
}

}  // namespace
}  // namespace wm::vgpu::testing
