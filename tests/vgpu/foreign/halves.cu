// Half precision, bfloat16 and 8-bit floats through the toolkit's headers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void half_pairs(const float2* a, const float2* b, float2* out) {
  const half2 x = __float22half2_rn(a[threadIdx.x]), y = __float22half2_rn(b[threadIdx.x]);
  float2* row = out + threadIdx.x * 10;
  row[0] = __half22float2(__hadd2(x, y));
  row[1] = __half22float2(__hmul2(x, y));
  row[2] = __half22float2(__hfma2(x, y, x));
  row[3] = __half22float2(__hmax2(x, y));
  row[4] = __half22float2(__hmin2(x, __hneg2(y)));
  row[5] = __half22float2(__habs2(__hsub2(x, y)));
  row[6] = __half22float2(__hadd2_sat(x, y));
  row[7] = __half22float2(__lowhigh2highlow(x));
  row[8] = make_float2(__hlt(__low2half(x), __low2half(y)), __hbeq2(x, x));
  row[9] = __half22float2(__h2div(x, __hadd2(__habs2(y), __float2half2_rn(1.0f))));
}

extern "C" __global__ void half_functions(const float* in, float* out) {
  const half x = __float2half(in[threadIdx.x]);
  float* row = out + threadIdx.x * 8;
  row[0] = __half2float(hexp(x * half(0.25f)));
  row[1] = __half2float(hsqrt(__habs(x)));
  row[2] = __half2float(hrcp(x + half(20.0f)));
  row[3] = __half2float(hsin(x));
  row[4] = __half2float(hfloor(x));
  row[5] = __half2float(hlog2(__habs(x) + half(1.0f)));
  row[6] = float(__half2int_rn(x));
  row[7] = __half2float(__int2half_rn(int(in[threadIdx.x]) * 3));
}

extern "C" __global__ void brain_pairs(const float2* a, const float2* b, float2* out) {
  const __nv_bfloat162 x = __float22bfloat162_rn(a[threadIdx.x]), y = __float22bfloat162_rn(b[threadIdx.x]);
  float2* row = out + threadIdx.x * 6;
  row[0] = __bfloat1622float2(__hadd2(x, y));
  row[1] = __bfloat1622float2(__hmul2(x, y));
  row[2] = __bfloat1622float2(__hfma2(x, y, x));
  row[3] = __bfloat1622float2(__hmax2(x, y));
  row[4] = __bfloat1622float2(__habs2(__hsub2(x, y)));
  row[5] = make_float2(__bfloat162float(__float2bfloat16_rz(a[threadIdx.x].x)), __bfloat162float(x.y * y.x));
}

extern "C" __global__ void half_atomics(half2* pairs, __nv_bfloat162* brains, half* single) {
  atomicAdd(pairs + threadIdx.x % 3, __floats2half2_rn(1.0f, 0.5f));
  atomicAdd(brains + threadIdx.x % 2, __floats2bfloat162_rn(1.0f, 2.0f));
  atomicAdd(single + threadIdx.x % 5, __float2half(2.0f));
}

extern "C" __global__ void eighths(const float* in, float* out, unsigned char* bytes) {
  const float x = in[threadIdx.x];
  const __nv_fp8_e4m3 a(x);
  const __nv_fp8_e5m2 b(x);
  const __nv_fp8x2_storage_t pair = __nv_cvt_float2_to_fp8x2(make_float2(x, -x * 0.5f), __NV_SATFINITE, __NV_E4M3);
  out[threadIdx.x * 3 + 0] = float(a);
  out[threadIdx.x * 3 + 1] = float(b);
  out[threadIdx.x * 3 + 2] = __half2float(half(__nv_cvt_fp8_to_halfraw(pair >> 8, __NV_E4M3)));
  bytes[threadIdx.x * 2 + 0] = a.__x;
  bytes[threadIdx.x * 2 + 1] = b.__x;
}

// A dot product the way half kernels are written: vector loads, pairs, sums in single precision.
extern "C" __global__ void half_dot(const uint4* a, const uint4* b, float* out, int vectors) {
  float sum = 0;
  for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
    const uint4 left = __ldg(a + i), right = __ldcg(b + i);
    const half2 *x = reinterpret_cast<const half2*>(&left), *y = reinterpret_cast<const half2*>(&right);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float2 product = __half22float2(__hmul2(x[k], y[k]));
      sum += product.x + product.y;
    }
  }
  for (int width = 16; width > 0; width /= 2) sum += __shfl_down_sync(~0u, sum, width);
  __shared__ float partial[32];
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) sum += partial[warp];
    *out = sum;
  }
}
