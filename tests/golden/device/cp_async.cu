// cp.async: sizes, zero fill, hints, groups, arrivals on an mbarrier.
#include "warpmill/ptx/cache.cuh"
#include "warpmill/ptx/cp_async.cuh"
#include "warpmill/ptx/mbarrier.cuh"

using namespace wm;

__device__ void poison(u32 (&words)[512]) {
  for (u32 i = threadIdx.x; i < 512; i += blockDim.x) words[i] = 0xa5a5a5a5;
  __syncthreads();
}
__device__ void give_back(const u32 (&words)[512], u32* out) {
  __syncthreads();
  for (u32 i = threadIdx.x; i < 512; i += blockDim.x) out[i] = words[i];
}

// Thread t copies `bytes` of which valid[t] are read; past L1 where asked.
template <int bytes, bool past_l1>
__global__ void copy(const char* in, const u32* valid, u32* out) {
  __shared__ alignas(16) u32 words[512];
  poison(words);
  const SharedAddress to = SharedAddress(words) + bytes * threadIdx.x;
  if constexpr (past_l1)
    cp_async::copy_past_l1(to, in + bytes * threadIdx.x, valid[threadIdx.x]);
  else
    cp_async::copy<bytes>(to, in + bytes * threadIdx.x, valid[threadIdx.x]);
  cp_async::wait_all();
  give_back(words, out);
}

// Hints change nothing that is copied; `ignore` does.
enum class Variant { prefetch_64, prefetch_128, prefetch_256, past_l1_prefetch_256, ignore };

template <Variant variant>
__global__ void copy_variant(const char* in, u32* out) {
  using cp_async::Prefetch;
  __shared__ alignas(16) u32 words[512];
  poison(words);
  const u32 t = threadIdx.x;
  const SharedAddress to = SharedAddress(words) + 16 * t;
  const char* from = in + 16 * t;
  if constexpr (variant == Variant::prefetch_64) cp_async::copy<16, Prefetch::bytes64>(to, from);
  if constexpr (variant == Variant::prefetch_128) cp_async::copy<16, Prefetch::bytes128>(to, from);
  if constexpr (variant == Variant::prefetch_256) cp_async::copy<16, Prefetch::bytes256>(to, from);
  if constexpr (variant == Variant::past_l1_prefetch_256) cp_async::copy_past_l1<Prefetch::bytes256>(to, from);
  if constexpr (variant == Variant::ignore) cp_async::copy_unless<16>(t >= 64 && t & 1, to, from);
  cp_async::commit_group();
  cp_async::wait_group<0>();
  give_back(words, out);
}

// Three groups in flight; each is read by its own thread as soon as its group has finished.
extern "C" __global__ void groups(const u32* in, u32* out) {
  __shared__ u32 words[512];
  poison(words);
  const u32 t = threadIdx.x;
  for (u32 group = 0; group < 3; ++group) {
    cp_async::copy<4>(SharedAddress(&words[group * 128 + t]), in + group * 128 + t);
    cp_async::commit_group();
  }
  cp_async::wait_group<2>();
  out[t] = words[t];
  cp_async::wait_group<1>();
  out[128 + t] = words[128 + t];
  cp_async::wait_group<0>();
  out[256 + t] = words[256 + t];
}

// The copies of 64 threads arrive on a barrier; the other 64 read what came.
template <bool increment>
__global__ void copy_to_barrier(const u32* in, u32* out) {
  __shared__ u32 words[512];
  __shared__ u64 barrier;
  poison(words);
  const u32 t = threadIdx.x;
  if (t == 0) mbarrier::init(&barrier, 64);
  __syncthreads();
  if (t < 64) {
    cp_async::copy<4>(SharedAddress(&words[t]), in + t);
    if constexpr (increment) {
      cp_async::mbarrier_arrive(&barrier);
      mbarrier::arrive(&barrier);
    } else {
      cp_async::mbarrier_arrive_no_increment(&barrier);
    }
  } else {
    mbarrier::wait_parity(&barrier, 0);
    out[t - 64] = words[t - 64];
  }
}
