// sm_100a's narrow numbers: conversions to and from e2m1, e2m3, e3m2 and ue8m0; the least and greatest float of a warp.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "vgpu/machine/virtual_gpu.hpp"

namespace wm::vgpu::testing {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

u32 bits(float value) { return std::bit_cast<u32>(value); }

struct Format {
  const char* name;
  int exponent_bits, mantissa_bits;
  u32 sign() const { return 1u << (exponent_bits + mantissa_bits); }
  double value(u32 code) const {
    const int bias = (1 << (exponent_bits - 1)) - 1, exponent = static_cast<int>(code & (sign() - 1)) >> mantissa_bits;
    const double fraction = static_cast<double>(code & ((1u << mantissa_bits) - 1)) / (1 << mantissa_bits);
    const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    return code & sign() ? -size : size;
  }
  // By search: the nearest number, of two the one with an even code; beyond the last one that one, NaN too.
  u32 nearest(float x, bool relu) const {
    if (x != x) return sign() - 1;
    if (relu && std::signbit(x)) return 0;
    if (std::abs(x) > value(sign() - 1)) return sign() - 1 + (std::signbit(x) ? sign() : 0);
    u32 best = 0;
    for (u32 code = 0; code < sign(); ++code) {
      const double now = std::abs(value(code) - std::abs(double{x})),
                   then = std::abs(value(best) - std::abs(double{x}));
      if (now < then || (now == then && code % 2 == 0)) best = code;
    }
    return best | (std::signbit(x) ? sign() : 0);
  }
};
constexpr Format formats[] = {{"e2m1x2", 2, 1}, {"e2m3x2", 2, 3}, {"e3m2x2", 3, 2}};

std::vector<u64> samples() {
  std::vector<u64> all;
  for (const float x : {0.0f,
                        -0.0f,
                        0.25f,
                        -0.25f,
                        0.75f,
                        2.5f,
                        5.0f,
                        6.0f,
                        7.0f,
                        7.25f,
                        7.5f,
                        7.75f,
                        28.0f,
                        30.0f,
                        1e30f,
                        -1e30f,
                        1e-30f,
                        0.03125f,
                        0.0625f,
                        0.09375f,
                        0.1875f,
                        -0.5f,
                        std::numeric_limits<float>::infinity(),
                        -std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN(),
                        -std::numeric_limits<float>::quiet_NaN(),
                        0x1p-149f})
    all.push_back(bits(x));
  std::mt19937 dice(5);
  while (all.size() < 512)
    all.push_back(bits(std::ldexp(static_cast<float>(dice() % 4096) - 2048, -9 + all.size() % 3)));
  return all;
}

// Registers of 8 bits are joined as NVIDIA's cuda_fp4.hpp does it.
TEST(Narrow, RoundsToNearestAndStaysFinite) {
  Gpu gpu("sm_100a");
  const auto values = samples();
  std::vector<u64> others(values.rbegin(), values.rend());
  for (const Format& format : formats)
    for (const bool relu : {false, true}) {
      const bool byte = format.mantissa_bits == 1;
      const std::string cvt = std::string("cvt.rn.satfinite") + (relu ? ".relu." : ".") + format.name + ".f32 ";
      const std::string text =
          byte ? "{ .reg .b8 pair; " + cvt + "pair, %r1, %r2; mov.b16 %h1, {pair, 0}; cvt.u32.u16 %r0, %h1; }"
               : cvt + "%h1, %r1, %r2; cvt.u32.u16 %r0, %h1;";
      const auto got = compute<u32>(gpu, text, {values, others}, 512, "sm_100a");
      for (std::size_t i = 0; i < 512; ++i) {
        const auto one = [&](u64 x) { return format.nearest(std::bit_cast<float>(static_cast<u32>(x)), relu); };
        ASSERT_EQ(got[i], one(values[i]) << (byte ? 4 : 8) | one(others[i]))
            << format.name << " of " << std::bit_cast<float>(static_cast<u32>(values[i])) << " and "
            << std::bit_cast<float>(static_cast<u32>(others[i]));
      }
    }
}

TEST(Narrow, WidensToF16) {
  Gpu gpu("sm_100a");
  for (const Format& format : formats) {
    const bool byte = format.mantissa_bits == 1;
    std::vector<u64> codes;
    for (u32 i = 0; i < 64; ++i) codes.push_back(byte ? i << 2 | i >> 4 : (i ^ 21) << 8 | i);
    const std::string text =
        byte
            ? "{ .reg .b8 pair, zero; cvt.u16.u32 %h1, %r1; mov.b16 {pair, zero}, %h1; cvt.rn.f16x2.e2m1x2 %r0, pair; }"
            : std::string("cvt.u16.u32 %h1, %r1; cvt.rn.f16x2.") + format.name + " %r0, %h1;";
    const auto got = compute<u32>(gpu, text, {codes}, 64, "sm_100a");
    const auto half = [](u32 code) {  // no subnormal or infinite f16 among them
      const double size = std::ldexp(1 + (code & 0x3ff) / 1024.0, static_cast<int>(code >> 10 & 31) - 15);
      return (code & 0x7fff) == 0 ? 0.0 : code >> 15 ? -size : size;
    };
    for (u32 i = 0; i < 64; ++i) {
      const u32 pair = static_cast<u32>(codes[i]), mask = byte ? 15 : 63;
      EXPECT_EQ(half(got[i] & 0xffff), format.value(pair & mask)) << format.name << " " << i;
      EXPECT_EQ(half(got[i] >> 16), format.value(pair >> (byte ? 4 : 8) & mask)) << format.name << " " << i;
    }
  }
}

// Of halves the same as of the floats that they are.
TEST(Narrow, RoundsHalves) {
  Gpu gpu("sm_100a");
  std::vector<u64> pairs;
  for (u32 i = 0; i < 512; ++i) pairs.push_back(u64{0x3000 + i * 5} << 16 | (0xb800 + i * 3));
  for (const Format& format : formats)
    for (const char* half : {"f16x2", "bf16x2"}) {
      const bool byte = format.mantissa_bits == 1, bf16 = half[0] == 'b';
      const std::string cvt = std::string("cvt.rn.satfinite.") + format.name + "." + half;
      const std::string text =
          byte ? "{ .reg .b8 pair; " + cvt + " pair, %r1; mov.b16 %h1, {pair, 0}; cvt.u32.u16 %r0, %h1; }"
               : cvt + " %h1, %r1; cvt.u32.u16 %r0, %h1;";
      const auto got = compute<u32>(gpu, text, {pairs}, 512, "sm_100a");
      const auto number = [&](u64 bits) {
        const u32 b = static_cast<u32>(bits & 0xffff);
        if (bf16) return std::bit_cast<float>(b << 16);
        return std::ldexp(1 + static_cast<float>(b & 0x3ff) / 1024, static_cast<int>(b >> 10 & 31) - 15) *
               (b >> 15 ? -1 : 1);
      };
      for (std::size_t i = 0; i < 512; ++i)
        ASSERT_EQ(got[i], format.nearest(number(pairs[i] >> 16), false) << (byte ? 4 : 8) |
                              format.nearest(number(pairs[i]), false))
            << format.name << " of " << half << " " << i;
    }
}

TEST(Narrow, WidensToBf16WithAScaleForEach) {
  Gpu gpu("sm_100a");
  const auto run = [&](const std::string& modifiers, u32 pair, u32 scales) {
    const bool byte = modifiers.ends_with("e2m1x2");
    const std::string from = byte ? "pair" : "%h1", last = modifiers.find("scaled") != modifiers.npos ? ", %h2;" : ";";
    return compute<u32>(
        gpu,
        "{ .reg .b8 pair, zero; cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; mov.b16 {pair, zero}, %h1; cvt.rn" +
            modifiers + " %r0, " + from + last + " }",
        {{pair}, {scales}}, 32, "sm_100a")[0];
  };
  EXPECT_EQ(run(".bf16x2.e2m1x2", 0x9f, 0), 0xbf00c0c0u);                           // -0.5, -6
  EXPECT_EQ(run(".relu.bf16x2.e2m1x2", 0x9d, 0), 0u);                               // -0.5, -3
  EXPECT_EQ(run(".bf16x2.e3m2x2", 0x1f0d, 0), 0x41e03fa0u);                         // 28, 1.25
  EXPECT_EQ(run(".scaled::n2::ue8m0.bf16x2.e2m1x2", 0x72, 0x807e), 0x41403f00u);    // 6 x 2, 1 / 2
  EXPECT_EQ(run(".scaled::n2::ue8m0.bf16x2.e4m3x2", 0x38b8, 0x7f00), 0x3f808040u);  // 1, -2^-127
  EXPECT_EQ(run(".scaled::n2::ue8m0.bf16x2.e5m2x2", 0x7b3c, 0xfeff),
            0x7f807fffu);  // beyond the largest; a scale that is NaN
  EXPECT_EQ(run(".satfinite.scaled::n2::ue8m0.bf16x2.e5m2x2", 0x7bfb, 0xfefe), 0x7f7fff7fu);
  EXPECT_EQ(run(".satfinite.scaled::n2::ue8m0.bf16x2.s2f6x2", 0x8181, 0x8585), 0xc2fec2feu);  // -127
}

TEST(Narrow, TakesTheExponentAlone) {
  Gpu gpu("sm_100a");
  const auto run = [&](const char* mode, u64 a, u64 b) {
    return compute<u32>(gpu, std::string("cvt") + mode + ".ue8m0x2.f32 %h1, %r1, %r2; cvt.u32.u16 %r0, %h1;",
                        {{a}, {b}}, 32, "sm_100a")[4];
  };
  const u64 infinity = 0x7f800000, nan = 0x7fc00000, largest = 0x7f7fffff;
  EXPECT_EQ(run(".rz", bits(1.0f), bits(-3.9f)), 127u << 8 | 128);
  EXPECT_EQ(run(".rp", bits(1.0f), bits(-3.9f)), 127u << 8 | 129);
  EXPECT_EQ(run(".rz", bits(0.0f), nan), 0xffu);
  EXPECT_EQ(run(".rp", largest, infinity), 0xffffu);
  EXPECT_EQ(run(".rp.satfinite", largest, infinity), 0xfefeu);
  EXPECT_EQ(run(".rz.satfinite", largest, nan), 0xfeffu);
  EXPECT_EQ(run(".rp", 0x00400000, 0x00400001), 1u);  // 2^-127 is the smallest, and the next is more
  const auto of_bf16 = compute<u32>(gpu, "cvt.rp.satfinite.ue8m0x2.bf16x2 %h1, %r1; cvt.u32.u16 %r0, %h1;",
                                    {{0x3f803fc0}}, 32, "sm_100a");
  EXPECT_EQ(of_bf16[0], 127u << 8 | 128);
  const auto back =
      compute<u32>(gpu, "cvt.u16.u32 %h1, %r1; cvt.rn.bf16x2.ue8m0x2 %r0, %h1;", {{0x7f00, 0xff80}}, 32, "sm_100a");
  EXPECT_EQ(back[0], 0x3f800040u);
  EXPECT_EQ(back[1], 0x7fff4000u);
}

TEST(Narrow, OtherFormsAreRefusedInWords) {
  Gpu gpu("sm_100a"), hopper;
  const auto refusal = [&](const char* text) { return gpu.refusal(kernel_text(text, "sm_100a")); };
  EXPECT_TRUE(contains(refusal("cvt.rn.e2m3x2.f32 %h1, %f1, %f2;"), "it needs .satfinite"));
  EXPECT_TRUE(contains(refusal("cvt.rz.satfinite.e2m3x2.f32 %h1, %f1, %f2;"), "rounded by .rn"));
  EXPECT_TRUE(contains(refusal("cvt.rn.satfinite.ue8m0x2.f32 %h1, %f1, %f2;"), "cvt.rn.bf16x2.ue8m0x2"));
  EXPECT_TRUE(contains(refusal("cvt.rs.satfinite.e4m3x4.f32 %r1, {%f1, %f2, %f3, %f4}, %r2;"), "not confirmed"));
  EXPECT_TRUE(contains(refusal("redux.sync.add.f32 %f1, %f2, -1;"), "it is .min or .max"));
  EXPECT_TRUE(contains(hopper.refusal(kernel_text("cvt.rn.satfinite.e2m3x2.f32 %h1, %f1, %f2;")), "sm_100a"));
  EXPECT_TRUE(contains(hopper.refusal(kernel_text("redux.sync.min.f32 %f1, %f2, -1;")), "sm_100a"));
}

TEST(Narrow, FindsTheLeastAndTheGreatestFloatOfAWarp) {
  Gpu gpu("sm_100a");
  std::vector<u64> values(32, bits(1.0f));
  values[3] = bits(-4.0f);
  values[9] = bits(2.5f);
  const auto run = [&](const std::string& form) {
    return compute<u32>(gpu, "redux.sync." + form + ".f32 %r0, %r1, -1;", {values}, 32, "sm_100a")[9];
  };
  EXPECT_EQ(run("min"), bits(-4.0f));
  EXPECT_EQ(run("max"), bits(2.5f));
  EXPECT_EQ(run("max.abs"), bits(4.0f));
  EXPECT_EQ(run("min.abs"), bits(1.0f));
  values[20] = 0xffc12345;  // a NaN
  EXPECT_EQ(run("min"), bits(-4.0f));
  EXPECT_EQ(run("max.NaN"), 0x7fffffffu);
  EXPECT_EQ(run("min.abs.NaN"), 0x7fffffffu);
  values.assign(32, bits(0.0f));
  values[5] = bits(-0.0f);
  EXPECT_EQ(run("min"), bits(-0.0f));
  EXPECT_EQ(run("max"), bits(0.0f));
  values.assign(32, 0x7fc00000);
  EXPECT_EQ(run("max"), 0x7fffffffu);
}

}  // namespace
}  // namespace wm::vgpu::testing
