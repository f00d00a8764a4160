// Each mma.sync on fragments that come ready from the host.
#include "warpmill/ptx/mma.cuh"

using namespace wm;

#define PRODUCT(entry, D, T, d_count, a_count, b_count, ...)                        \
  extern "C" __global__ void entry(const T* as, const T* bs, const D* cs, D* out) { \
    T a[a_count], b[b_count];                                                       \
    D c[d_count], d[d_count];                                                       \
    for (int i = 0; i < a_count; ++i) a[i] = as[i * 32 + threadIdx.x];              \
    for (int i = 0; i < b_count; ++i) b[i] = bs[i * 32 + threadIdx.x];              \
    for (int i = 0; i < d_count; ++i) c[i] = cs[i * 32 + threadIdx.x];              \
    __VA_ARGS__(d, a, b, c);                                                        \
    for (int i = 0; i < d_count; ++i) out[i * 32 + threadIdx.x] = d[i];             \
  }

#define INTEGERS(a, b)                                                                                    \
  PRODUCT(m8n8k16_##a##_##b, i32, u32, 2, 1, 1, mma::m8n8k16<a, b>)                                       \
  PRODUCT(m16n8k16_##a##_##b, i32, u32, 4, 2, 1, mma::m16n8k16<a, b>)                                     \
  PRODUCT(m16n8k32_##a##_##b, i32, u32, 4, 4, 2, mma::m16n8k32<a, b>)                                     \
  PRODUCT(m8n8k16_##a##_##b##_saturate, i32, u32, 2, 1, 1, mma::m8n8k16<a, b, mma::Overflow::saturate>)   \
  PRODUCT(m16n8k16_##a##_##b##_saturate, i32, u32, 4, 2, 1, mma::m16n8k16<a, b, mma::Overflow::saturate>) \
  PRODUCT(m16n8k32_##a##_##b##_saturate, i32, u32, 4, 4, 2, mma::m16n8k32<a, b, mma::Overflow::saturate>)
INTEGERS(i8, i8)
INTEGERS(i8, u8)
INTEGERS(u8, i8)
INTEGERS(u8, u8)

#define SMALL_FLOATS(a, b)                                                  \
  PRODUCT(m16n8k16_##a##_##b, f32, u32, 4, 2, 1, mma::m16n8k16<a, b>)       \
  PRODUCT(m16n8k16_##a##_##b##_f16, u32, u32, 2, 2, 1, mma::m16n8k16<a, b>) \
  PRODUCT(m16n8k32_##a##_##b, f32, u32, 4, 4, 2, mma::m16n8k32<a, b>)       \
  PRODUCT(m16n8k32_##a##_##b##_f16, u32, u32, 2, 4, 2, mma::m16n8k32<a, b>)
SMALL_FLOATS(e4m3, e4m3)
SMALL_FLOATS(e4m3, e5m2)
SMALL_FLOATS(e5m2, e4m3)
SMALL_FLOATS(e5m2, e5m2)

PRODUCT(m16n8k4_tf32_tf32, f32, u32, 4, 2, 1, mma::m16n8k4<tf32>)
PRODUCT(m16n8k8_tf32_tf32, f32, u32, 4, 4, 2, mma::m16n8k8<tf32>)
PRODUCT(m16n8k8_bf16_bf16, f32, u32, 4, 2, 1, mma::m16n8k8<bf16>)
PRODUCT(m16n8k16_bf16_bf16, f32, u32, 4, 4, 2, mma::m16n8k16<bf16>)
PRODUCT(m16n8k8_f16_f16, f32, u32, 4, 2, 1, mma::m16n8k8<f16>)
PRODUCT(m16n8k16_f16_f16, f32, u32, 4, 4, 2, mma::m16n8k16<f16>)
PRODUCT(m16n8k8_f16_f16_f16, u32, u32, 2, 2, 1, mma::m16n8k8<f16>)
PRODUCT(m16n8k16_f16_f16_f16, u32, u32, 2, 4, 2, mma::m16n8k16<f16>)
PRODUCT(m8n8k4_f64_f64, f64, f64, 2, 1, 1, mma::m8n8k4)
PRODUCT(m16n8k4_f64_f64, f64, f64, 4, 2, 1, mma::m16n8k4)
PRODUCT(m16n8k8_f64_f64, f64, f64, 4, 4, 2, mma::m16n8k8)
PRODUCT(m16n8k16_f64_f64, f64, f64, 4, 8, 4, mma::m16n8k16)
