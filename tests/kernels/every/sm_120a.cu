// Every legal instantiation of the wrappers of sm_120a: products with block scales.
#include "warpmill/ptx/mma_scaled.cuh"

using namespace wm;
using namespace wm::mma;

template <class A, class B>
__device__ void bytes(f32 (&sums)[4], const u32 (&a)[4], const u32 (&b)[2], u32 scales) {
  m16n8k32_scaled<A, B, 0>(sums, a, b, scales, scales);
  m16n8k32_scaled<A, B, 1>(sums, a, b, scales, scales);
  m16n8k32_scaled<A, B, 2>(sums, a, b, scales, scales);
  m16n8k32_scaled<A, B, 3>(sums, a, b, scales, scales);
}

__global__ void products(f32* out, const u32* in) {
  f32 sums[4] = {};
  const u32 a[4] = {in[0], in[1], in[2], in[3]}, b[2] = {in[4], in[5]};
  bytes<e4m3, e4m3>(sums, a, b, in[6]);
  bytes<e4m3, e5m2>(sums, a, b, in[6]);
  bytes<e5m2, e4m3>(sums, a, b, in[6]);
  bytes<e5m2, e5m2>(sums, a, b, in[6]);
  m16n8k64_mxf4<0>(sums, a, b, in[6], in[7]);
  m16n8k64_mxf4<2>(sums, a, b, in[6], in[7]);
  m16n8k64_nvf4(sums, a, b, in[6], in[7]);
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = sums[i];
}
