// Rows give the scalar functions' bits on every level of CPU, and leave inactive lanes alone.
#include "vgpu/isa/numeric/rows.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "vgpu/isa/numeric/approximate.hpp"
#include "vgpu/isa/numeric/arithmetic.hpp"
#include "vgpu/isa/numeric/convert.hpp"
#include "vgpu/isa/numeric/dispatch.hpp"

namespace wm::vgpu::numeric {
namespace {

using Row = std::array<std::uint32_t, 32>;

class Rows : public testing::TestWithParam<Cpu> {
 protected:
  void SetUp() override {
    if (GetParam() > best_cpu()) GTEST_SKIP() << "this CPU does not have it";
    use_cpu(GetParam());
  }
  void TearDown() override { use_cpu(best_cpu()); }

  Row draw() {
    static const std::uint32_t edges[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff,
                                          0x00800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                          0xffc00001, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x477fefff,
                                          0x477ff000, 0x33000000, 0x33000001, 0x38800000, 0x387fffff};
    Row row;
    for (auto& lane : row) {
      const auto r = random_();
      lane = r % 3 == 0   ? edges[r / 3 % std::size(edges)]
             : r % 3 == 1 ? static_cast<std::uint32_t>(random_())
                          : 0x3f000000 + static_cast<std::uint32_t>(random_() % 0x02000000);
    }
    return row;
  }

  // `row(d, active)` must give `scalar(lane)` in active lanes and leave the others.
  template <class RowCall, class Scalar>
  void expect_lanes(RowCall row, Scalar scalar, const char* what) {
    const auto active = random_() % 2 ? ~std::uint32_t{0} : static_cast<std::uint32_t>(random_());
    const Row before = draw();
    Row d = before;
    row(d.data(), active);
    for (int i = 0; i < 32; ++i) {
      const std::uint32_t expected = active >> i & 1 ? static_cast<std::uint32_t>(scalar(i)) : before[i];
      ASSERT_EQ(d[i], expected) << what << " lane " << i << std::hex << " active " << active;
    }
  }

  std::mt19937_64 random_{42};
};

TEST_P(Rows, ArithmeticEqualsTheScalarFunctions) {
  for (int round = 0; round < 400; ++round) {
    const Row a = draw(), b = draw(), c = draw();
    for (bool ftz : {false, true}) {
      for (bool sat : {false, true}) {
        const Mode mode{.ftz = ftz, .sat = sat};
        expect_lanes([&](auto d, auto active) { rows::add_f32(d, a.data(), b.data(), active, ftz, sat); },
                     [&](int i) { return add(Format::f32, a[i], b[i], mode); }, "add");
        expect_lanes([&](auto d, auto active) { rows::subtract_f32(d, a.data(), b.data(), active, ftz, sat); },
                     [&](int i) { return subtract(Format::f32, a[i], b[i], mode); }, "sub");
        expect_lanes([&](auto d, auto active) { rows::multiply_f32(d, a.data(), b.data(), active, ftz, sat); },
                     [&](int i) { return multiply(Format::f32, a[i], b[i], mode); }, "mul");
        expect_lanes([&](auto d, auto active) { rows::fma_f32(d, a.data(), b.data(), c.data(), active, ftz, sat); },
                     [&](int i) { return fma(Format::f32, a[i], b[i], c[i], mode); }, "fma");
      }
      expect_lanes([&](auto d, auto active) { rows::minimum_f32(d, a.data(), b.data(), active, ftz); },
                   [&](int i) { return minimum(Format::f32, a[i], b[i], {.ftz = ftz}); }, "min");
      expect_lanes([&](auto d, auto active) { rows::maximum_f32(d, a.data(), b.data(), active, ftz); },
                   [&](int i) { return maximum(Format::f32, a[i], b[i], {.ftz = ftz}); }, "max");
      expect_lanes([&](auto d, auto active) { rows::ex2_approx_f32(d, a.data(), active, ftz); },
                   [&](int i) { return ex2_approx(a[i], ftz); }, "ex2");
    }
    for (Format format : {Format::f16, Format::bf16}) {
      expect_lanes([&](auto d, auto active) { rows::pack_f32(format, d, a.data(), b.data(), active); },
                   [&](int i) { return pack_pair(format, Format::f32, a[i], b[i]); }, "pack");
      expect_lanes([&](auto d, auto active) { rows::widen_to_f32(format, d, a.data(), active); },
                   [&](int i) { return convert(Format::f32, format, a[i] & 0xffff); }, "widen");
    }
    if (HasFatalFailure()) return;
  }
}

TEST_P(Rows, WritesIntoAnOperand) {
  Row a = draw();
  const Row before = a;
  rows::add_f32(a.data(), a.data(), a.data(), ~0u);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(a[i], add(Format::f32, before[i], before[i]));
}

INSTANTIATE_TEST_SUITE_P(EveryCpu, Rows, testing::Values(Cpu::baseline, Cpu::avx2, Cpu::avx512));

TEST(Exponential, StaysWithinItsBound) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> x(-150.0f, 129.0f);
  for (int i = 0; i < 200000; ++i) {
    const float value = i % 2 ? x(random) : x(random) / 128;
    const double exact = std::exp2(static_cast<double>(value));
    const float got = std::bit_cast<float>(ex2_approx(std::bit_cast<std::uint32_t>(value), false));
    if (exact > 3.4028235677973366e38) {
      ASSERT_TRUE(std::isinf(got));
      continue;
    }
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
    ASSERT_LE(std::abs(got - exact), 0.51 * ulp) << value;
  }
}

}  // namespace
}  // namespace wm::vgpu::numeric
