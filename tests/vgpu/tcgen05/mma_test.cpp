// tcgen05.mma against the sheet's formulas and CuTe's layouts: every kind, type, order, swizzle and place of D and A,
// one block and two.
#include <random>

#include "vgpu/tcgen05/product.hpp"

namespace wm::vgpu::testing {
namespace {

std::string kernel_of(const Product& p) {
  std::string body;
  if (p.a_in_tensor_memory) {  // eight columns of A, from the image's first bytes: 32 bytes a thread
    body += "  mad.lo.u32 %r20, %thread, 32, %image;\n";
    for (int i = 0; i < 8; ++i) body += fmt::format("  ld.shared.u32 %r{}, [%r20+{}];\n", 24 + i, 4 * i);
    body += fmt::format(
        "  add.u32 %r21, %base, {};\n  tcgen05.st.sync.aligned.32x32b.x8.b32 [%r21], {};\n"
        "  tcgen05.wait::st.sync.aligned;\n  tcgen05.fence::before_thread_sync;\n"
        "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n  tcgen05.fence::after_thread_sync;\n",
        a_cells, registers(24, 8));
  }
  body += fmt::format("  add.u32 %r22, %base, {};\n  add.u32 %r23, %base, {};\n", p.d_lane << 16 | p.d_column,
                      (p.blocks == 1 && p.m == 64 ? p.d_lane << 16 : 0) + a_cells);
  body += "  shr.u32 %r24, %image, 4;\n  cvt.u64.u32 %rd2, %r24;\n";
  body += fmt::format("  add.u64 %rd3, %rd2, {};\n  add.u64 %rd4, %rd2, {};\n", p.place_a().descriptor(),
                      p.place_b().descriptor() + (b_begin >> 4));
  const std::string a = p.a_in_tensor_memory ? "[%r23]" : "%rd3";
  body += "  setp.eq.u32 %p4, %rank, 0;\n  and.pred %p4, %p4, %first;\n  @!%p4 bra issued;\n";
  for (const int accumulate : p.twice ? std::vector<int>{0, 1} : std::vector<int>{0})
    body +=
        fmt::format("  setp.ne.u32 %p5, {}, 0;\n  tcgen05.mma.cta_group::{}.kind::{} [%r22], {}, %rd4, {}{}, %p5{};\n",
                    accumulate, p.blocks, p.kind, a, p.descriptor(), p.mask, accumulate ? p.options : "");
  if (p.blocks == 2)
    body +=
        "  mov.b16 %h1, 3;\n"
        "  tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %h1;\n";
  else
    body += "  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n";
  body += "issued:\n";
  body += wait_for_commit;
  return tensor_kernel(body, p.blocks, image_bytes);
}

// Runs it and compares every cell of D; the others must be as they were.
void check(const Product& p, Mode mode = Mode::friendly, std::uint64_t seed = 0, bool judged = false) {
  SCOPED_TRACE(p.name());
  std::mt19937 dice(static_cast<uint32_t>(p.descriptor()) + static_cast<uint32_t>(p.a_swizzle * 8 + p.b_swizzle));
  std::vector<uint8_t> image(static_cast<std::size_t>(p.blocks) * image_bytes);
  for (uint32_t block = 0; block < static_cast<uint32_t>(p.blocks); ++block) {
    fill(image, block * image_bytes, b_begin, p.a, dice);
    fill(image, block * image_bytes + b_begin, image_bytes - b_begin, p.b, dice);
    if (p.a_twice()) std::memcpy(&image[block * image_bytes + 64 * 32], &image[block * image_bytes], 64 * 32);
  }
  Gpu gpu("sm_100a", 2);
  gpu.options.mode = mode;
  gpu.options.seed = seed;
  gpu.options.deterministic = true;
  gpu.options.check = judged;
  gpu.load(kernel_of(p));
  const auto in = gpu.upload(image);
  const std::size_t cells = static_cast<std::size_t>(p.blocks) * 128 * 512;
  const auto out = gpu.upload(std::vector<uint32_t>(cells));
  const uint32_t blocks = static_cast<uint32_t>(p.blocks);
  gpu.run("test", {{blocks}, {128}, {blocks}, image_bytes}, parameters(out, in));
  const auto got = gpu.download<uint32_t>(out, cells);
  if (judged) {
    for (const Finding& finding : gpu.report.check->findings)
      ASSERT_TRUE(finding.severity == Severity::advice || finding.name == "uninitialised-read") << finding.text();
  }

  const Product::Place place_a = p.place_a(), place_b = p.place_b();
  const std::string name_of_d = fmt::format("d {} {} {}", p.blocks, p.m, p.n);
  const std::vector<cute::Walk>* const d_by_cute =
      cute::vectors().has_walks(name_of_d) ? &cute::vectors().walks(name_of_d) : nullptr;
  ASSERT_TRUE(d_by_cute != nullptr || !p.as_cute);
  const uint32_t rows = static_cast<uint32_t>(p.m / p.blocks), n = static_cast<uint32_t>(p.n), depth = p.k();
  std::vector<double> a(std::size_t{blocks} * rows * depth), b(std::size_t{n} * depth);
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t i = 0; i < blocks * rows; ++i) {
      const uint32_t at = p.a_in_tensor_memory ? p.byte_in_cells(i % rows, k) : place_a.byte(i % rows, k);
      a[i * depth + k] = sheet::value(p.a, &image[i / rows * image_bytes + at]);
    }
    for (uint32_t j = 0; j < n; ++j) {
      const uint32_t owner = j / (n / blocks), column = j % (n / blocks);
      b[j * depth + k] = sheet::value(p.b, &image[owner * image_bytes + b_begin + place_b.byte(column, k)]);
    }
  }
  const double sign = p.negate == 1 || p.negate == 2 ? -1 : 1;
  std::vector<bool> is_d(cells);
  for (uint32_t block = 0; block < blocks; ++block)
    for (uint32_t i = 0; i < rows; ++i)
      for (uint32_t j = 0; j < n; ++j) {
        double sum = 0, size = 0;
        for (uint32_t k = 0; k < depth; ++k) {
          const double term = a[(block * rows + i) * depth + k] * b[j * depth + k];
          sum += term;
          size += std::abs(term);
        }
        sum *= sign;
        const auto place = sheet::cell_of_d(p.blocks, p.m, p.n, i, j);
        if (d_by_cute != nullptr) {
          const sheet::Cell row = d_by_cute->at(0).at(i), along = d_by_cute->at(1).at(j);
          ASSERT_EQ(place, (sheet::Cell{row.lane + along.lane, row.column + along.column}));
        }
        const std::size_t cell = (block * 128 + place.lane + static_cast<uint32_t>(p.d_lane)) * 512 + place.column +
                                 static_cast<uint32_t>(p.d_column);
        is_d[cell] = true;
        double want = sum;
        if (p.twice) want = sum + sum * (p.options.empty() ? 1 : std::ldexp(1.0, -std::stoi(p.options.substr(2))));
        if (!p.mask.empty() && place.lane % 2 == 1) {
          ASSERT_EQ(got[cell], fresh) << "row " << i << " column " << j;
          continue;
        }
        const double bound = p.sum == 2 ? 0 : p.sum == 0 ? size * 0x1p-9 + 0x1p-20 : size * 2e-6;
        ASSERT_NEAR(number(got[cell], p.sum), want, bound) << "block " << block << " row " << i << " column " << j;
      }
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const bool is_a = p.a_in_tensor_memory && cell % 512 >= a_cells && cell % 512 < a_cells + 8;
    if (is_d[cell] || is_a) continue;
    ASSERT_EQ(got[cell], fresh) << "cell " << cell;
  }
}

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
