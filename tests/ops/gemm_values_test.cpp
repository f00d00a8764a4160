// Products of values that a rounding or a sum may lose: ties, infinities, NaN, sums of many 8-bit floats.
#include <cmath>

#include "ops/gemm_fixture.hpp"
#include "warpmill/virtual.hpp"

namespace wm::test {

TEST_F(Gemm, TellsOfANanInTheLargestMagnitude) {
  constexpr std::int64_t size = 64;
  std::vector<float> values(size * size, 1.f);
  values[7 * size + 3] = std::nanf("");
  const Buffer a = Buffer::of<float>(device, values),
               b = Buffer::of<float>(device, std::vector<float>(size * size, 1.f)),
               d(device, size * size * sizeof(float)), amax(device, sizeof(float));
  GemmRequest request{
      .a = a.view<float>({size, size}), .b = b.view<float>({size, size}), .d = d.view<float>({size, size})};
  request.epilogue.amax = amax.view<float>({1});
  gemm(stream, request);
  stream.synchronize();
  EXPECT_TRUE(std::isnan(amax.download<float>()[0]));
}

// On its way to the tensor cores an f32 halfway between two numbers of tf32 goes to the even one by the copy engine,
// away from zero by a thread; infinities and NaN stay.
TEST_F(Gemm, RoundsTiesOfF32AsItsProducerDoesAndKeepsWhatIsNoNumber) {
  constexpr std::int64_t size = 16;
  struct Rounded {
    float value, by_engine, by_threads;
  };
  const Rounded cases[] = {{0x1.002p0f, 1, 0x1.004p0f},
                           {-0x1.002p0f, -1, -0x1.004p0f},
                           {0x1.006p0f, 0x1.008p0f, 0x1.008p0f},
                           {0x1.002002p0f, 0x1.004p0f, 0x1.004p0f},
                           {0x1.001ffep0f, 1, 1},
                           {INFINITY, INFINITY, INFINITY},
                           {-INFINITY, -INFINITY, -INFINITY},
                           {NAN, NAN, NAN}};
  std::vector<float> ones(size * size);
  for (std::int64_t i = 0; i < size; ++i) ones[i * size + i] = 1;
  const Buffer b = Buffer::of<float>(device, ones), d(device, size * size * sizeof(float));
  for (const bool engine : {true, false}) {
    const std::int64_t line = engine ? size : size + 1;  // the engine needs lines of 16 bytes
    std::vector<float> values(size * line);
    for (std::size_t i = 0; i < std::size(cases); ++i) values[i * line + i] = cases[i].value;
    const Buffer a = Buffer::of<float>(device, values);
    const GemmResult result = gemm(stream, {.a = a.view<float>({size, size}, {line, 1}),
                                            .b = b.view<float>({size, size}).transposed(),
                                            .d = d.view<float>({size, size})});
    stream.synchronize();
    EXPECT_EQ(result.plan.kind.a_producer == Producer::tma, engine);
    const std::vector<float> got = d.download<float>();
    for (std::size_t i = 0; i < std::size(cases); ++i) {
      const float expected = engine ? cases[i].by_engine : cases[i].by_threads, is = got[i * size + i];
      EXPECT_TRUE(is == expected || (std::isnan(is) && std::isnan(expected))) << cases[i].value << " became " << is;
    }
  }
}

// The tensor cores drop what lies below bit 13 of a sum of 8-bit floats: of 4096 times 81/64 a hundredth is lost,
// unless every 128 products are added in full precision.
TEST_F(Gemm, PromotedSumsLoseNothing) {
  constexpr std::int64_t m = 64, n = 16, k = 4096;
  if (device.info().kind == DeviceKind::virtual_gpu) vgpu::set_run_options(device, {.chip_sums = true});
  const std::vector<wm::e4m3> values(m * k, wm::e4m3(1.125f));
  const Buffer operand = Buffer::of<wm::e4m3>(device, values), d(device, m * n * sizeof(float));
  const auto product = [&](bool promote) {
    gemm(stream, {.a = operand.view<wm::e4m3>({m, k}),
                  .b = operand.view<wm::e4m3>({n, k}).transposed(),
                  .d = d.view<float>({m, n}),
                  .promote = promote});
    stream.synchronize();
    return d.download<float>();
  };
  constexpr float exact = k * 1.125f * 1.125f;
  for (const float sum : product(true)) ASSERT_EQ(sum, exact);
  for (const float sum : product(false)) ASSERT_TRUE(sum < exact - 8 && sum > 0.95f * exact) << sum;
  if (device.info().kind == DeviceKind::virtual_gpu) vgpu::set_run_options(device, {});
}

}  // namespace wm::test
