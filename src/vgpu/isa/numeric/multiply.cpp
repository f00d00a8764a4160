// The multiply kernel. It works in the layout of the accumulators' registers, so nothing is shuffled before or after:
// a vector holds rows by four columns, A comes with each number four times and B as four columns for all rows.
#include <bit>
#include <cmath>

#include "vgpu/isa/numeric/dispatch.hpp"
#include "vgpu/isa/numeric/halves.hpp"
#include "vgpu/isa/numeric/panel.hpp"

#if defined(__x86_64__)
  #include <immintrin.h>
#endif

namespace wm::vgpu::numeric {

namespace {

// Any CPU: std::fma, so that the result is the same as with the instruction.
void multiply_baseline(const float* a, const float* b, int k, std::uint32_t* const* rows, bool accumulate) {
  for (int r = 0; r < 4; ++r)
    for (int lane = 0; lane < 32; ++lane) {
      float sum = accumulate ? f32_from(rows[r][lane]) : 0.0f;
      for (int i = 0; i < k; ++i) sum = std::fma(a[i * 64 + r / 2 * 32 + lane], b[i * 8 + r % 2 * 4 + lane % 4], sum);
      rows[r][lane] = sum == sum ? f32_bits(sum) : 0x7fffffff;
    }
}

#if defined(__x86_64__)

// For vector loads and stores, which may alias anything.
[[gnu::always_inline]] inline float* floats(std::uint32_t* row) { return reinterpret_cast<float*>(row); }

// Eight rows by eight columns at a time: 8 accumulators of 2 rows by 4 columns.
[[gnu::target("avx2,fma")]] void multiply_avx2(const float* a, const float* b, int k, std::uint32_t* const* rows,
                                               bool accumulate) {
  for (int half = 0; half < 2; ++half) {
    __m256 sum[2][4];
    for (int odd = 0; odd < 2; ++odd)
      for (int part = 0; part < 4; ++part)
        sum[odd][part] = accumulate ? _mm256_loadu_ps(floats(rows[2 * half + odd] + 8 * part)) : _mm256_setzero_ps();
    const float* from_a = a + half * 32;
    const float* from_b = b;
    for (int i = 0; i < k; ++i, from_a += 64, from_b += 8) {
      const __m256 even = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(from_b));
      const __m256 odd = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(from_b + 4));
      for (int part = 0; part < 4; ++part) {
        const __m256 row = _mm256_loadu_ps(from_a + 8 * part);
        sum[0][part] = _mm256_fmadd_ps(row, even, sum[0][part]);
        sum[1][part] = _mm256_fmadd_ps(row, odd, sum[1][part]);
      }
    }
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    for (int odd = 0; odd < 2; ++odd)
      for (int part = 0; part < 4; ++part) {
        const __m256 is_nan = _mm256_cmp_ps(sum[odd][part], sum[odd][part], _CMP_UNORD_Q);
        _mm256_storeu_ps(floats(rows[2 * half + odd] + 8 * part), _mm256_blendv_ps(sum[odd][part], nan, is_nan));
      }
  }
}

// Sixteen rows by 8 * groups columns: 8 accumulators of 4 rows by 4 columns a group, 24 of the 32 registers for three.
template <int groups>
[[gnu::target("avx512f")]] void multiply_avx512(const float* a, const float* b, int k, std::uint32_t* const* rows,
                                                bool accumulate) {
  __m512 sum[groups][4][2];
  for (int g = 0; g < groups; ++g)
    for (int r = 0; r < 4; ++r)
      for (int part = 0; part < 2; ++part)
        sum[g][r][part] = accumulate ? _mm512_loadu_ps(floats(rows[4 * g + r] + 16 * part)) : _mm512_setzero_ps();
  for (int i = 0; i < k; ++i, a += 64, b += 8) {
    const __m512 rows_of_a[4] = {_mm512_loadu_ps(a), _mm512_loadu_ps(a + 16), _mm512_loadu_ps(a + 32),
                                 _mm512_loadu_ps(a + 48)};
    for (int g = 0; g < groups; ++g)
      for (int odd = 0; odd < 2; ++odd) {
        const __m512 columns = _mm512_maskz_broadcast_f32x4(0xffff, _mm_loadu_ps(b + g * k * 8 + odd * 4));
        for (int part = 0; part < 4; ++part)
          sum[g][part / 2 * 2 + odd][part % 2] =
              _mm512_fmadd_ps(rows_of_a[part], columns, sum[g][part / 2 * 2 + odd][part % 2]);
      }
  }
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fffffff));
  for (int g = 0; g < groups; ++g)
    for (int r = 0; r < 4; ++r)
      for (int part = 0; part < 2; ++part) {
        const __mmask16 is_nan = _mm512_cmp_ps_mask(sum[g][r][part], sum[g][r][part], _CMP_UNORD_Q);
        _mm512_storeu_ps(floats(rows[4 * g + r] + 16 * part), _mm512_mask_mov_ps(sum[g][r][part], is_nan, nan));
      }
}

#endif

}  // namespace

void multiply_panels(const float* a, const float* b, int k, int groups, std::uint32_t* const* rows, bool accumulate) {
  int done = 0;
  const auto next = [&](int count, auto kernel) {
    for (; done + count <= groups; done += count) kernel(a, b + done * k * 8, k, rows + 4 * done, accumulate);
  };
#if defined(__x86_64__)
  if (cpu_in_use() == Cpu::avx512) {
    next(3, multiply_avx512<3>);
    next(2, multiply_avx512<2>);
    return next(1, multiply_avx512<1>);
  }
  if (cpu_in_use() == Cpu::avx2) return next(1, multiply_avx2);
#endif
  next(1, multiply_baseline);
}

}  // namespace wm::vgpu::numeric
