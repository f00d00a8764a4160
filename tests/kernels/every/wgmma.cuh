// Every legal wgmma of one N, pair of element types and accumulator, for the compiler to accept. The test writes an
// explicit instantiation of `wgmma_kernel` for each N.
#pragma once

#include "warpmill/ptx/wgmma.cuh"

namespace every {

using namespace wm;
using wgmma::Major;
using wgmma::Options;

template <class A, class B, Options options, class D, int count>
__device__ void both_places(D (&d)[count], u64 a, u64 b) {
  wgmma::multiply<A, B, options>(d, wgmma::Descriptor{a}, wgmma::Descriptor{b}, true);
  if constexpr (options.a_major == Major::k) {
    const u32 fragment[4] = {u32(a), u32(b), u32(a >> 32), u32(b >> 32)};
    wgmma::multiply<A, B, options>(d, fragment, wgmma::Descriptor{b}, true);
  }
}

template <class A, class B, Major a_major, Major b_major, class D, int count>
__device__ void all_scales(D (&d)[count], u64 a, u64 b) {
  both_places<A, B, Options{.a_major = a_major, .b_major = b_major}>(d, a, b);
  both_places<A, B, Options{.a_major = a_major, .b_major = b_major, .scale_a = -1}>(d, a, b);
  both_places<A, B, Options{.a_major = a_major, .b_major = b_major, .scale_b = -1}>(d, a, b);
  both_places<A, B, Options{.a_major = a_major, .b_major = b_major, .scale_a = -1, .scale_b = -1}>(d, a, b);
}

template <class A, class B, class D, int n>
__global__ void __launch_bounds__(128) wgmma_kernel(D* out, u64 a, u64 b) {
  __shared__ u64 tile[16];
  b += wgmma::descriptor(tile, 128, 256, wgmma::Swizzle::bytes128).bits();
  constexpr int count = n / (same<D, u32> ? 4 : 2);
  D d[count] = {};
  wgmma::pin(d);
  wgmma::fence();
  if constexpr (one_of<A, i8, u8>) {
    both_places<A, B, Options{}>(d, a, b);
    both_places<A, B, Options{.saturate = true}>(d, a, b);
  } else {
    all_scales<A, B, Major::k, Major::k>(d, a, b);
    if constexpr (one_of<A, bf16, f16>) {
      all_scales<A, B, Major::k, Major::mn>(d, a, b);
      all_scales<A, B, Major::mn, Major::k>(d, a, b);
      all_scales<A, B, Major::mn, Major::mn>(d, a, b);
    }
  }
  wgmma::commit();
  wgmma::wait<0>(d);
  for (int i = 0; i < count; ++i) out[i * 128 + threadIdx.x] = d[i];
}

}  // namespace every
