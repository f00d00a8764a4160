// mma.sync of sm_120a, element by element as the sheet and CuTe have its fragments and scales; and what that chip does
// not have.
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "vgpu/machine/virtual_gpu.hpp"
#include "vgpu/tcgen05/cute.hpp"
#include "vgpu/tcgen05/sheet.hpp"

namespace wm::vgpu::testing {
namespace {

using sheet::Type;
using std::uint32_t;

const char* name_of(Type type) {
  switch (type) {
    case Type::e4m3: return "e4m3";
    case Type::e5m2: return "e5m2";
    case Type::e2m3: return "e2m3";
    case Type::e3m2: return "e3m2";
    case Type::e2m1: return "e2m1";
    case Type::ue8m0: return "ue8m0";
    default: return "ue4m3";
  }
}

struct Product {
  const char* kind = "f8f6f4";
  Type a = Type::e4m3, b = Type::e4m3;
  bool half_sums = false;
  int scales = 0;  // of a row
  Type scale = Type::ue8m0;
  uint32_t a_byte = 0, a_thread = 0, b_byte = 0, b_thread = 0;

  bool packed() const { return scales > 1; }
  uint32_t k() const { return packed() ? 64 : 32; }
  std::string instruction() const {
    const char* const sum = half_sums ? "f16" : "f32";
    std::string text = fmt::format("mma.sync.aligned.kind::{}", kind);
    if (scales != 0) text += fmt::format(".block_scale.scale_vec::{}X", scales);
    text += fmt::format(".m16n8k{}.row.col.{}.{}.{}.{}", k(), sum, name_of(a), name_of(b), sum);
    if (scales != 0) text += fmt::format(".{}", name_of(scale));
    const char* const d = half_sums ? "{%r20, %r21}" : "{%r20, %r21, %r22, %r23}";
    const char* const c = half_sums ? "{%r6, %r7}" : "{%r6, %r7, %r8, %r9}";
    text += fmt::format(" {}, {{%r0, %r1, %r2, %r3}}, {{%r4, %r5}}, {}", d, c);
    if (scales != 0)
      text += fmt::format(", {{%r10}}, {{{}, {}}}, {{%r11}}, {{{}, {}}}", a_byte, a_thread, b_byte, b_thread);
    return text + ";";
  }
};

// Twelve words for each lane: A, B, C, and the scales of A and of B; four come back.
constexpr uint32_t words = 12;

std::string kernel_of(const std::string& instruction, const char* target = "sm_120a") {
  std::string text = fmt::format(R"(.version 8.8
.target {}
.address_size 64
.visible .entry test(.param .u64 test_out, .param .u64 test_in)
{{
  .reg .b32 %r<32>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [test_out];
  ld.param.u64 %rd1, [test_in];
  mov.u32 %r30, %tid.x;
  mad.wide.u32 %rd2, %r30, {}, %rd1;
  mad.wide.u32 %rd3, %r30, 16, %rd0;
)",
                                 target, words * 4);
  for (uint32_t i = 0; i < words; ++i) text += fmt::format("  ld.global.u32 %r{}, [%rd2+{}];\n", i, 4 * i);
  for (uint32_t i = 0; i < 4; ++i) text += fmt::format("  mov.u32 %r{}, 0;\n", 20 + i);
  text += "  " + instruction + "\n";
  for (uint32_t i = 0; i < 4; ++i) text += fmt::format("  st.global.u32 [%rd3+{}], %r{};\n", 4 * i, 20 + i);
  return text + "  ret;\n}\n";
}

double f32_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return static_cast<double>(value);
}

// Register q of lane t: A has row t/4 + 8 (q%2), B column t/4; bytes 4 (t%4) to 4 (t%4) + 3 of each 16, an element each
// or, where k is 64, two.
struct Place {
  uint32_t lane, reg, within;
};
Place place_of_a(uint32_t depth, uint32_t row, uint32_t k) {
  const uint32_t word = depth / 8, chunk = depth / 2;
  return {row % 8 * 4 + k % chunk / word, row / 8 + 2 * (k / chunk), k % word};
}
Place place_of_b(uint32_t depth, uint32_t column, uint32_t k) {
  const uint32_t word = depth / 8, chunk = depth / 2;
  return {column * 4 + k % chunk / word, k / chunk, k % word};
}
// The lanes of a quad with (t%4)/2 == thread have rows t/4 + 8 (t%2); of B the lane t%4 == thread has column t/4.
uint32_t lane_of_a_scale(uint32_t row, uint32_t thread) { return row % 8 * 4 + 2 * thread + row / 8; }
uint32_t lane_of_b_scale(uint32_t column, uint32_t thread) { return 4 * column + thread; }

TEST(NarrowMma, HasCuTesFragments) {
  for (const uint32_t depth : {32u, 64u}) {
    const auto of = [&](const char* operand, uint32_t lane, uint32_t value) {
      const auto& walks = cute::vectors().walks(fmt::format("fragment {} {}", operand, depth));
      const sheet::Cell thread = walks.at(0).at(lane), along = walks.at(1).at(value);
      return sheet::Cell{thread.lane + along.lane, thread.column + along.column};
    };
    for (uint32_t k = 0; k < depth; ++k) {
      for (uint32_t row = 0; row < 16; ++row) {
        const Place at = place_of_a(depth, row, k);
        EXPECT_EQ(of("a", at.lane, at.reg * depth / 8 + at.within), (sheet::Cell{row, k}));
        for (const uint32_t thread : {0u, 1u})
          EXPECT_EQ(of("a-scales", lane_of_a_scale(row, thread), k), (sheet::Cell{row, k}));
      }
      for (uint32_t column = 0; column < 8; ++column) {
        const Place at = place_of_b(depth, column, k);
        EXPECT_EQ(of("b", at.lane, at.reg * depth / 8 + at.within), (sheet::Cell{column, k}));
        for (uint32_t thread = 0; thread < 4; ++thread)
          EXPECT_EQ(of("b-scales", lane_of_b_scale(column, thread), k), (sheet::Cell{column, k}));
      }
    }
  }
}

void check(const Product& p) {
  SCOPED_TRACE(p.instruction());
  std::mt19937 dice(static_cast<uint32_t>(p.k()) + p.a_byte);
  std::vector<uint32_t> in(32 * words);
  const auto byte = [&](Type type) -> uint32_t {
    switch (type) {
      case Type::e4m3:
      case Type::e5m2: return dice() % 2 << 7 | dice() % 80;
      case Type::e2m1: return p.packed() ? dice() % 256 : dice() % 16 << 2;  // the middle of its byte
      case Type::ue8m0: return 120 + dice() % 14;
      case Type::ue4m3: return dice() % 112;
      default: return dice() % 64;
    }
  };
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < words; ++i) {
      uint32_t& word = in[lane * words + i];
      if (i >= 6 && i < 10) {
        const float c = static_cast<float>(static_cast<int>(dice() % 64) - 32);
        std::memcpy(&word, &c, 4);
        if (p.half_sums) word = 0x3c004000;  // 2 and 1
        continue;
      }
      const Type type = i < 4 ? p.a : i < 6 ? p.b : p.scale;
      for (uint32_t at = 0; at < 32; at += 8) word |= byte(type) << at;
    }
  Gpu gpu("sm_120a");
  gpu.load(kernel_of(p.instruction()));
  const auto source = gpu.upload(in), out = gpu.upload(std::vector<uint32_t>(128));
  gpu.run("test", {{1}, {32}, {1}, 0}, parameters(out, source));
  const auto got = gpu.download<uint32_t>(out, 128);

  const auto element = [&](Type type, const Place& at, uint32_t first) {
    const uint32_t word = in[at.lane * words + first + at.reg];
    if (p.packed()) return sheet::value(type, word >> 4 * at.within & 15);
    const uint32_t bits = word >> 8 * at.within & 0xff;
    return sheet::value(type, type == Type::e2m1 ? bits >> 2 : bits);
  };
  const auto a = [&](uint32_t row, uint32_t k) { return element(p.a, place_of_a(p.k(), row, k), 0); };
  const auto b = [&](uint32_t k, uint32_t column) { return element(p.b, place_of_b(p.k(), column, k), 4); };
  const auto scale = [&](bool of_b, uint32_t index, uint32_t k) {
    if (p.scales == 0) return 1.0;
    const uint32_t lane = of_b ? lane_of_b_scale(index, p.b_thread) : lane_of_a_scale(index, p.a_thread);
    const uint32_t first = of_b ? p.b_byte : p.a_byte, group = k * static_cast<uint32_t>(p.scales) / p.k();
    return sheet::value(p.scale, in[lane * words + (of_b ? 11 : 10)] >> 8 * (first + group) & 0xff);
  };
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t r = 0; r < 4; ++r) {
      const uint32_t row = lane / 4 + 8 * (r / 2), column = 2 * (lane % 4) + r % 2;
      const auto half = [&](uint32_t word) { return sheet::value(Type::f16, word >> 16 * (r % 2) & 0xffff); };
      double sum = p.half_sums ? half(in[lane * words + 6 + r / 2]) : f32_of(in[lane * words + 6 + r]);
      double size = std::abs(sum);
      for (uint32_t k = 0; k < p.k(); ++k) {
        const double term = a(row, k) * scale(false, row, k) * b(k, column) * scale(true, column, k);
        sum += term;
        size += std::abs(term);
      }
      const double result = p.half_sums ? half(got[lane * 4 + r / 2]) : f32_of(got[lane * 4 + r]);
      ASSERT_NEAR(result, sum, size * (p.half_sums ? 0x1p-9 : 4e-6) + 1e-30) << "row " << row << " column " << column;
    }
}

constexpr Type narrow[] = {Type::e4m3, Type::e5m2, Type::e2m3, Type::e3m2, Type::e2m1};

TEST(NarrowMma, MultipliesEveryPairOfTypes) {
  for (const Type a : narrow)
    for (const Type b : narrow) {
      ASSERT_NO_FATAL_FAILURE(check({.a = a, .b = b}));
      ASSERT_NO_FATAL_FAILURE(check({.kind = "mxf8f6f4", .a = a, .b = b, .scales = 1, .a_byte = 1, .b_thread = 2}));
    }
  for (const Type a : {Type::e2m1, Type::e3m2}) check({.a = a, .b = Type::e2m3, .half_sums = true});
}

TEST(NarrowMma, TakesScalesFromTheThreadsAndBytesItNames) {
  for (uint32_t byte = 0; byte < 4; ++byte)
    for (uint32_t thread = 0; thread < 4; ++thread)
      check({.kind = "mxf8f6f4",
             .scales = 1,
             .a_byte = byte,
             .a_thread = thread / 2,
             .b_byte = 3 - byte,
             .b_thread = thread});
  for (const uint32_t byte : {0u, 2u})
    for (const char* kind : {"mxf4", "mxf4nvf4"})
      for (uint32_t thread = 0; thread < 4; ++thread)
        check({.kind = kind,
               .a = Type::e2m1,
               .b = Type::e2m1,
               .scales = 2,
               .a_byte = byte,
               .a_thread = thread % 2,
               .b_byte = 2 - byte,
               .b_thread = thread});
  for (uint32_t thread = 0; thread < 4; ++thread)
    check({.kind = "mxf4nvf4",
           .a = Type::e2m1,
           .b = Type::e2m1,
           .scales = 4,
           .scale = Type::ue4m3,
           .a_thread = thread / 2,
           .b_thread = thread});
}

std::string failure(const Product& p, uint32_t scales = 0x7f7f7f7f) {
  Gpu gpu("sm_120a");
  gpu.load(kernel_of(p.instruction()));
  std::vector<uint32_t> in(32 * words, scales);
  return gpu.failure("test", {{1}, {32}, {1}, 0}, parameters(gpu.upload(std::vector<uint32_t>(128)), gpu.upload(in)));
}

bool contains(const std::string& text, std::string_view words_of_it) {
  return text.find(words_of_it) != std::string::npos;
}

TEST(NarrowMma, RefusesScalesThatAreNotThere) {
  const Product bytes{.kind = "mxf8f6f4", .scales = 1};
  const Product four{.kind = "mxf4nvf4", .a = Type::e2m1, .b = Type::e2m1, .scales = 4, .scale = Type::ue4m3};
  const auto with = [](Product p, auto change) {
    change(p);
    return p;
  };
  EXPECT_EQ(failure(bytes), "");
  EXPECT_TRUE(contains(failure(with(bytes, [](auto& p) { p.a_byte = 4; })), "A's scales begin at byte 4"));
  EXPECT_TRUE(contains(failure(with(bytes, [](auto& p) { p.a_thread = 2; })),
                       "A's scales come from thread 2; there are 0 to 1"));
  EXPECT_TRUE(contains(failure(with(bytes, [](auto& p) { p.b_thread = 4; })),
                       "B's scales come from thread 4; there are 0 to 3"));
  EXPECT_TRUE(contains(failure(with(four, [](auto& p) { p.b_byte = 2; })),
                       "B's scales begin at byte 2 of their register; 4 for a row begin at 0"));
  EXPECT_TRUE(contains(failure(with(four, [](auto& p) { p.scales = 2, p.scale = Type::ue8m0, p.a_byte = 1; })),
                       "2 for a row begin at 0 or 2"));
  EXPECT_TRUE(contains(failure(four, 0x7f7fff7f), "ue4m3 has no sign"));
}

TEST(NarrowMma, RefusesFormsThatThereAreNot) {
  const std::pair<const char*, const char*> forms[] = {
      {"mma.sync.aligned.kind::f8f6f4.m16n8k16.row.col.f32.e4m3.e4m3.f32", "its shape is .m16n8k32"},
      {"mma.sync.aligned.kind::mxf4.block_scale.m16n8k32.row.col.f32.e2m1.e2m1.f32.ue8m0", "its shape is .m16n8k64"},
      {"mma.sync.aligned.kind::f8f6f4.block_scale.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0",
       "have .block_scale, and no others"},
      {"mma.sync.aligned.kind::mxf8f6f4.m16n8k32.row.col.f32.e4m3.e4m3.f32", "have .block_scale"},
      {"mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::2X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0",
       "has .scale_vec::1X"},
      {"mma.sync.aligned.kind::mxf4nvf4.block_scale.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3", "has to say"},
      {"mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0",
       "newer than PTX 9.0"},
      {"mma.sync.aligned.kind::mxf4.block_scale.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3", "scales are .ue8m0"},
      {"mma.sync.aligned.kind::mxf4.block_scale.m16n8k64.row.col.f32.e4m3.e2m1.f32.ue8m0", "A and B are .e2m1"},
      {"mma.sync.aligned.kind::mxf8f6f4.block_scale.m16n8k32.row.col.f16.e4m3.e4m3.f16.ue8m0",
       "with scales sums are .f32"},
      {"mma.sync.aligned.kind::f8f6f4.m16n8k32.row.row.f32.e4m3.e4m3.f32", "its order is .row.col"},
  };
  Gpu gpu("sm_120a");
  const char* const operands = " {%r20, %r21, %r22, %r23}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6, %r7, %r8, %r9};";
  for (const auto& [form, why] : forms) {
    const std::string text = gpu.refusal(kernel_of(std::string(form) + operands));
    EXPECT_TRUE(contains(text, why)) << form << "\n" << text;
  }
  const std::string right = Product{}.instruction();
  EXPECT_TRUE(contains(gpu.refusal(kernel_of(right, "sm_120")), "of sm_120a and its family"));
  EXPECT_TRUE(contains(Gpu("sm_100a").refusal(kernel_of(right, "sm_100a")), "of sm_120a and its family"));
}

// 99 KiB for a block, no tensor memory, no wgmma; conversions of the narrow formats, clusters and the copy engine.
TEST(VirtualSm120, HasWhatTheSheetSays) {
  const Chip chip = Chip::of(Architecture::parse("sm_120a"));
  EXPECT_EQ(chip.shared_bytes_per_block, 101376u);
  EXPECT_EQ(chip.threads_per_multiprocessor, 48 * 32);
  Gpu gpu("sm_120a");
  EXPECT_TRUE(contains(gpu.refusal(kernel_of("tcgen05.wait::ld.sync.aligned;")),
                       "only sm_100a and its family have tensor memory"));
  EXPECT_TRUE(contains(gpu.refusal(kernel_of("wgmma.fence.sync.aligned;")), "only sm_90a has wgmma"));
  EXPECT_TRUE(contains(gpu.refusal(kernel_of("redux.sync.min.f32 %r1, %r2, 0xffffffff;")), "of sm_100a"));
  EXPECT_EQ(gpu.refusal(kernel_of("{.reg .b8 %n; cvt.rn.satfinite.e2m1x2.f32 %n, %r1, %r2;}")), "");
}

}  // namespace
}  // namespace wm::vgpu::testing
