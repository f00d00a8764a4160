// wmma in every shape, type and order of its matrices, with pitches wider than they are: numbers so small that every
// type has them exactly.
#include <random>

#include <fmt/format.h>

#include "vgpu/machine/virtual_gpu.hpp"
#include "warpmill/dtype.hpp"

namespace wm::vgpu::testing {
namespace {

struct Types {
  const char *ab, *sum;
  int bits, sum_bits;  // of an element
  int extra = 0;       // fragments of f16 have eight registers whatever they hold
};
struct Shape {
  int m, n, k;
  std::vector<Types> types;
};

const std::vector<Types> of_k16 = {{"f16", "f32", 16, 32, 8},
                                   {"f16", "f16", 16, 16, 8},
                                   {"bf16", "f32", 16, 32},
                                   {"s8", "s32", 8, 32},
                                   {"u8", "s32", 8, 32}};
const Shape shapes[] = {{16, 16, 16, of_k16},
                        {32, 8, 16, of_k16},
                        {8, 32, 16, of_k16},
                        {16, 16, 8, {{"tf32", "f32", 32, 32}}},
                        {8, 8, 4, {{"f64", "f64", 64, 64}}},
                        {8, 8, 32, {{"s4", "s32", 4, 32}, {"u4", "s32", 4, 32}}}};

// Bits of a whole number in a type; and back.
std::uint64_t bits_of(const std::string& type, int value) {
  if (type == "f16") return f16(static_cast<float>(value)).bits;
  if (type == "bf16") return bf16(static_cast<float>(value)).bits;
  if (type == "f32" || type == "tf32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == "f64") return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  return static_cast<std::uint32_t>(value);
}
double number_of(const std::string& type, std::uint64_t bits) {
  if (type == "f16") return static_cast<float>(f16::from_bits(static_cast<std::uint16_t>(bits)));
  if (type == "f32") return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (type == "f64") return std::bit_cast<double>(bits);
  return static_cast<std::int32_t>(bits);
}

// A matrix in memory: `rows` by `columns`, the one that is contiguous padded by sixteen elements.
struct Matrix {
  int rows, columns, bits;
  bool row_major;
  std::vector<std::uint8_t> bytes =
      std::vector<std::uint8_t>(static_cast<std::size_t>(pitch() * lines() * bits / 8), 0xee);
  int pitch() const { return (row_major ? columns : rows) + 16; }
  int lines() const { return row_major ? rows : columns; }
  int index(int row, int column) const { return row_major ? row * pitch() + column : column * pitch() + row; }
  void put(int row, int column, std::uint64_t value) {
    const int at = index(row, column);
    if (bits == 4) {
      std::uint8_t& byte = bytes[static_cast<std::size_t>(at / 2)];
      byte = static_cast<std::uint8_t>(at % 2 ? (byte & 0x0f) | value << 4 : (byte & 0xf0) | (value & 15));
    } else {
      std::memcpy(&bytes[static_cast<std::size_t>(at * bits / 8)], &value, static_cast<std::size_t>(bits / 8));
    }
  }
  std::uint64_t get(int row, int column) const {
    std::uint64_t value = 0;
    std::memcpy(&value, &bytes[static_cast<std::size_t>(index(row, column) * bits / 8)],
                static_cast<std::size_t>(bits / 8));
    return value;
  }
};

std::string registers(const char* name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i ? ", " : "", name, i);
  return text + "}";
}

TEST(Wmma, MultipliesEveryShapeTypeAndOrder) {
  Gpu gpu("sm_80");
  std::mt19937 random(3);
  for (const Shape& s : shapes)
    for (const Types& t : s.types)
      for (int orders = 0; orders < 8; ++orders) {
        const bool a_row = orders & 1, b_row = orders & 2, d_row = orders & 4;
        if (t.bits == 4 && (!a_row || b_row)) continue;  // there is no other
        const std::string types = fmt::format("{} to {}, {}x{}x{}, orders {}", t.ab, t.sum, s.m, s.n, s.k, orders);
        SCOPED_TRACE(types);
        Matrix a{s.m, s.k, t.bits, a_row}, b{s.k, s.n, t.bits, b_row}, c{s.m, s.n, t.sum_bits, d_row};
        const bool is_unsigned = t.ab[0] == 'u';
        const auto draw = [&] { return static_cast<int>(random() % 8) - (is_unsigned ? 0 : 4); };
        std::vector<int> of_a, of_b, want;
        for (int i = 0; i < s.m * s.k; ++i) a.put(i / s.k, i % s.k, bits_of(t.ab, of_a.emplace_back(draw())));
        for (int i = 0; i < s.k * s.n; ++i) b.put(i / s.n, i % s.n, bits_of(t.ab, of_b.emplace_back(draw())));
        for (int i = 0; i < s.m * s.n; ++i) {
          int sum = draw();
          c.put(i / s.n, i % s.n, bits_of(t.sum, sum));
          for (int k = 0; k < s.k; ++k) sum += of_a[i / s.n * s.k + k] * of_b[k * s.n + i % s.n];
          want.push_back(sum);
        }
        const auto count = [&](int elements, int bits) {
          return std::max(1, elements * bits / 32 / std::max(32, bits));
        };
        const int na = t.extra ? t.extra : count(s.m * s.k, t.bits), nb = t.extra ? t.extra : count(s.n * s.k, t.bits),
                  nc = count(s.m * s.n, t.sum_bits);
        const char* word = t.bits == 64 ? "b64" : "b32";
        const std::string shape = fmt::format("m{}n{}k{}", s.m, s.n, s.k);
        const auto order = [](bool row) { return row ? "row" : "col"; };
        std::string text = fmt::format("  .reg .{} %a<8>, %b<8>, %c<8>;\n", word);
        text += fmt::format("  wmma.load.a.sync.aligned.{}.{}.global.{} {}, [%in], {};\n", order(a_row), shape, t.ab,
                            registers("a", na), a.pitch());
        text += fmt::format("  wmma.load.b.sync.aligned.{}.{}.{} {}, [%in+8192], {};\n", order(b_row), shape, t.ab,
                            registers("b", nb), b.pitch());
        text += fmt::format("  wmma.load.c.sync.aligned.{}.{}.global.{} {}, [%in+16384], {};\n", order(d_row), shape,
                            t.sum, registers("c", nc), c.pitch());
        const std::string all =
            t.extra ? fmt::format("{}.{}", t.sum, t.sum) : fmt::format("{}.{}.{}.{}", t.sum, t.ab, t.ab, t.sum);
        text += fmt::format("  wmma.mma.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\n", order(a_row), order(b_row), shape,
                            all, registers("c", nc), registers("a", na), registers("b", nb), registers("c", nc));
        text += fmt::format("  wmma.store.d.sync.aligned.{}.{}.global.{} [%out], {}, {};\n", order(d_row), shape, t.sum,
                            registers("c", nc), c.pitch());
        gpu.load(kernel_text(text, "sm_80"));
        std::vector<std::uint8_t> image(24576);
        std::ranges::copy(a.bytes, image.begin());
        std::ranges::copy(b.bytes, image.begin() + 8192);
        std::ranges::copy(c.bytes, image.begin() + 16384);
        Matrix d = c;
        std::ranges::fill(d.bytes, 0xee);
        const auto in = gpu.upload(image), out = gpu.upload(d.bytes);
        gpu.run("test", {{1}, {32}, {}, 0}, parameters(out, in));
        d.bytes = gpu.download<std::uint8_t>(out, d.bytes.size());
        for (int i = 0; i < s.m * s.n; ++i)
          ASSERT_EQ(number_of(t.sum, d.get(i / s.n, i % s.n)), want[static_cast<std::size_t>(i)]) << i;
        EXPECT_EQ(d.bytes[static_cast<std::size_t>((d.pitch() - 1) * d.bits / 8)], 0xee) << "the padding is left alone";
      }
}

TEST(Wmma, SumsMayBeTheOperandsOfOtherPartsOrOfAnotherType) {
  Gpu gpu("sm_80");
  // Ones times ones; D's registers are C's in another order, and C is f16 where D is f32.
  const auto out = compute<std::uint32_t>(gpu, R"(
    mov.b32 %r5, 0x3c003c00;
    mov.b32 %r10, 0f3f800000; mov.b32 %r11, 0f40000000; mov.b32 %r12, %r10; mov.b32 %r13, %r10;
    mov.b32 %r14, %r11; mov.b32 %r15, %r11; mov.b32 %r16, %r11; mov.b32 %r17, %r11;
    mov.b32 %r11, %r10;
    wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%r14, %r15, %r16, %r17, %r10, %r11, %r12, %r13},
      {%r5, %r5, %r5, %r5, %r5, %r5, %r5, %r5}, {%r5, %r5, %r5, %r5, %r5, %r5, %r5, %r5},
      {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17};
    cvt.rzi.u32.f32 %r20, %r14;
    cvt.rzi.u32.f32 %r21, %r10;
    wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16 {%r14, %r15, %r16, %r17, %r10, %r11, %r12, %r13},
      {%r5, %r5, %r5, %r5, %r5, %r5, %r5, %r5}, {%r5, %r5, %r5, %r5, %r5, %r5, %r5, %r5}, {%r5, %r5, %r5, %r5};
    cvt.rzi.u32.f32 %r22, %r13;
    wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32 {%r30, %r31, %r32, %r33},
      {%r5, %r5, %r5, %r5, %r5, %r5, %r5, %r5}, {%r5, %r5, %r5, %r5, %r5, %r5, %r5, %r5},
      {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17};
    sub.u32 %r33, %r33, 0x50205020;  // 33 twice
    mad.lo.u32 %r0, %r20, 100, %r21;
    mad.lo.u32 %r0, %r0, 100, %r22;
    mad.lo.u32 %r0, %r33, 1000000, %r0;
  )",
                                          {}, 32, "sm_80");
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 171817u);
}

TEST(Wmma, TheStrideMayLieInARegisterThatIsLoaded) {
  Gpu gpu("sm_80");
  std::vector<std::vector<std::uint64_t>> numbers(2);  // 0 to 255, 16 in a row
  for (std::uint64_t i = 0; i < 256; i += 4)
    numbers[i / 128].push_back(i | (i + 1) << 16 | (i + 2) << 32 | (i + 3) << 48);
  const auto out = compute<std::uint32_t>(gpu, R"(
    mov.u32 %r10, 16;
    wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%in], %r10;
    mov.u32 %r0, %r13;
  )",
                                          numbers, 32, "sm_80");
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t first = (lane / 4 + 8) * 16 + lane % 4 * 2 + 8;
    EXPECT_EQ(out[lane], first | (first + 1) << 16) << lane;
  }
}

TEST(Wmma, WrongFormsAreRefusedInWords) {
  Gpu gpu("sm_80");
  const auto refusal = [&](const std::string& text) { return gpu.refusal(kernel_text(text, "sm_80")); };
  EXPECT_TRUE(contains(refusal("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1, %r2, %r3, %r4}, [%in];"),
                       "this fragment has 8 registers, not 4"));
  EXPECT_TRUE(contains(refusal("wmma.load.a.sync.aligned.row.m16n16k8.f16 {%r1}, [%in];"),
                       "there is no matrix of this type in this shape"));
  EXPECT_TRUE(contains(refusal("wmma.load.a.sync.aligned.m16n16k16.f16 {%r1}, [%in];"), "it needs the order"));
  EXPECT_TRUE(contains(refusal("wmma.store.a.sync.aligned.row.m16n16k16.f16 [%out], {%r1};"), "or stores .d"));
  EXPECT_TRUE(contains(refusal("wmma.load.a.sync.aligned.row.m16n16k4.f16 {%r1}, [%in];"), "its shape is"));
  EXPECT_TRUE(contains(refusal("wmma.load.a.sync.aligned.col.m8n8k32.s4 {%r1}, [%in];"), "of 4 bits A is .row"));
  EXPECT_TRUE(contains(refusal("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r1, %r2}, {%r3}, "
                               "{%r4}, {%r1, %r2};"),
                       "matrices of .b1 are not supported"));
  gpu.load(
      kernel_text("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, "
                  "[%in], 24;",
                  "sm_80"));
  const auto in = gpu.upload(std::vector<std::uint16_t>(15 * 24 + 15));
  EXPECT_TRUE(contains(gpu.failure("test", {{1}, {32}, {}, 0}, parameters(in, in)), "past the end"));
}

}  // namespace
}  // namespace wm::vgpu::testing
