// What is rarer: 128-bit division, cache operators, libcu++ types, clocks, traps, bulk copies.
#include <cassert>

#include <cuda/ptx>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/tuple>

extern "C" __global__ void divide(const unsigned __int128* a, const unsigned __int128* b, unsigned __int128* out) {
  out[2 * threadIdx.x] = a[threadIdx.x] / b[threadIdx.x];
  out[2 * threadIdx.x + 1] = a[threadIdx.x] % b[threadIdx.x];
}

extern "C" __global__ void cached(const float4* __restrict__ in, float4* out) {
  const int i = threadIdx.x;
  __stcs(out + i, __ldcs(in + i));
  __stwt(out + 32 + i, __ldlu(in + i));
  __stcg(out + 64 + i, __ldcv(in + i));
  __stwb(out + 96 + i, __ldca(in + i));
}

__device__ cuda::std::tuple<float, int> farthest(const cuda::std::array<cuda::std::complex<float>, 4>& points) {
  cuda::std::tuple<float, int> best{-1.0f, 0};
  for (int i = 0; i < 4; ++i)
    if (const float distance = cuda::std::norm(points[i]); distance > cuda::std::get<0>(best)) best = {distance, i};
  return best;
}

extern "C" __global__ void orbits(const float2* in, float* out, int* where) {
  const cuda::std::complex<float> c(in[threadIdx.x].x, in[threadIdx.x].y);
  cuda::std::array<cuda::std::complex<float>, 4> points;
  points[0] = c;
  for (int i = 1; i < 4; ++i) points[i] = points[i - 1] * points[i - 1] - c;
  const auto [distance, index] = farthest(points);
  out[threadIdx.x] = distance;
  where[threadIdx.x] = index;
}

extern "C" __global__ void clocks(long long* out) {
  const long long begin = clock64();
  unsigned long long before, after;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
  __nanosleep(1000);
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
  out[0] = clock64() - begin;
  out[1] = (long long)(after - before);
}

extern "C" __global__ void trapped(int* out, int when) {
  out[threadIdx.x] = 1;
  if (int(threadIdx.x) == when) __trap();
}

extern "C" __global__ void asserted(int* out, int limit) {
  assert(int(threadIdx.x) < limit);
  out[threadIdx.x] = 1;
}

#if __CUDA_ARCH__ >= 900
// A bulk copy through the toolkit's own wrappers.
extern "C" __global__ void bulk(const int* in, int* out) {
  namespace ptx = cuda::ptx;
  __shared__ alignas(128) int tile[256];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in + blockIdx.x * 256, sizeof(tile), &barrier);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier, sizeof(tile));
  }
  __syncthreads();
  while (!ptx::mbarrier_try_wait_parity(&barrier, 0)) {
  }
  tile[threadIdx.x] = tile[threadIdx.x] * 2 + 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x * 256, tile, sizeof(tile));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
  }
}
#endif
