// Every legal instantiation of the wrappers that sm_80 has.
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/cache.cuh"
#include "warpmill/ptx/cp_async.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/ldmatrix.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/ptx/mma.cuh"
#include "warpmill/ptx/special.cuh"

using namespace wm;

__global__ void mbarriers(u32* out) {
  __shared__ u64 barrier;
  mbarrier::init(&barrier, 4);
  const auto state = mbarrier::arrive(&barrier);
  out[0] = mbarrier::pending_count(mbarrier::arrive_no_complete(&barrier, 1));
  out[1] = mbarrier::pending_count(mbarrier::arrive_drop_no_complete(&barrier, 1));
  out[2] = mbarrier::test_wait(&barrier, mbarrier::arrive_drop(&barrier));
  mbarrier::wait(&barrier, state);
  out[3] = mbarrier::test_wait_parity(&barrier, 0);
  mbarrier::invalidate(&barrier);
}

template <int bytes>
__device__ void copies(SharedAddress to, const char* from) {
  using cp_async::Prefetch;
  cp_async::copy<bytes>(to, from);
  cp_async::copy<bytes, Prefetch::bytes64>(to, from, 1);
  cp_async::copy<bytes, Prefetch::bytes128>(to, from, 0);
  cp_async::copy<bytes, Prefetch::bytes256>(to, from);
  cp_async::copy_unless<bytes>(threadIdx.x > 3, to, from);
}

__global__ void asynchronous_copies(const char* from) {
  using cp_async::Prefetch;
  __shared__ alignas(16) char tile[2048];
  __shared__ u64 barrier;
  const SharedAddress to = SharedAddress(tile) + 16 * threadIdx.x;
  copies<4>(to, from);
  copies<8>(to, from);
  copies<16>(to, from);
  cp_async::copy_past_l1(to, from);
  cp_async::copy_past_l1<Prefetch::bytes64>(to, from, 3);
  cp_async::copy_past_l1<Prefetch::bytes128>(to, from);
  cp_async::copy_past_l1<Prefetch::bytes256>(to, from);
  cp_async::commit_group();
  cp_async::wait_group<0>();
  cp_async::wait_group<7>();
  cp_async::wait_all();
  cp_async::mbarrier_arrive(&barrier);
  cp_async::mbarrier_arrive_no_increment(&barrier);
}

__global__ void fences() {
  fence::proxy_alias();
  fence::acquire_release<Scope::block>();
  fence::acquire_release<Scope::device>();
  fence::acquire_release<Scope::system>();
  fence::sequential<Scope::block>();
  fence::sequential<Scope::device>();
  fence::sequential<Scope::system>();
}

__global__ void named_barriers(u32* out) {
  barrier::sync();
  barrier::sync(1);
  barrier::sync(2, 64);
  barrier::sync<15, 1024>();
  barrier::arrive(3, 64);
  barrier::arrive<0, 32>();
  barrier::sync_unaligned(4, 64);
  barrier::arrive_unaligned(5, 64);
  barrier::sync_warp();
  barrier::sync_warp(0xff);
  out[0] = barrier::sync_count(6, 64, threadIdx.x & 1);
  out[1] = barrier::sync_all(7, 64, threadIdx.x & 1);
  out[2] = barrier::sync_any(8, 64, threadIdx.x & 1);
}

__global__ void matrix_loads(u32* out) {
  __shared__ alignas(16) char tile[512];
  const SharedAddress row = SharedAddress(tile) + 16 * threadIdx.x;
  u32 one[1], two[2], four[4];
  ldmatrix::load(one, row);
  ldmatrix::load(two, row);
  ldmatrix::load(four, row);
  out[0] = one[0] + two[0] + two[1] + four[0] + four[1] + four[2] + four[3];
  ldmatrix::load_transposed(one, row);
  ldmatrix::load_transposed(two, row);
  ldmatrix::load_transposed(four, row);
  out[1] = one[0] + two[0] + two[1] + four[0] + four[1] + four[2] + four[3];
}

template <class A, class B, mma::Overflow overflow>
__device__ void integer_products(i32 (&d)[4], i32 (&e)[2], const u32 (&a)[4], const u32 (&b)[2]) {
  const u32 a1[1] = {a[0]}, a2[2] = {a[0], a[1]}, b1[1] = {b[0]};
  mma::m8n8k16<A, B, overflow>(e, a1, b1, e);
  mma::m16n8k16<A, B, overflow>(d, a2, b1, d);
  mma::m16n8k32<A, B, overflow>(d, a, b, d);
}
template <class A, class B>
__device__ void integer_products(i32 (&d)[4], i32 (&e)[2], const u32 (&a)[4], const u32 (&b)[2]) {
  integer_products<A, B, mma::Overflow::wrap>(d, e, a, b);
  integer_products<A, B, mma::Overflow::saturate>(d, e, a, b);
}

__global__ void integers(i32* out, u32 x, u32 y) {
  i32 d[4] = {}, e[2] = {};
  const u32 a[4] = {x, x, y, y}, b[2] = {y, x};
  integer_products<i8, i8>(d, e, a, b);
  integer_products<i8, u8>(d, e, a, b);
  integer_products<u8, i8>(d, e, a, b);
  integer_products<u8, u8>(d, e, a, b);
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3] + e[0] + e[1];
}

__global__ void floats(f32* out, f64* doubles, u32 x, u32 y) {
  f32 d[4] = {};
  u32 h[2] = {};
  f64 e[2] = {};
  const u32 a4[4] = {x, x, y, y}, a2[2] = {x, y}, b2[2] = {y, x}, b1[1] = {y};
  const f64 ae[1] = {1.5}, be[1] = {2.5};
  mma::m16n8k4<tf32>(d, a2, b1, d);
  mma::m16n8k8<tf32>(d, a4, b2, d);
  mma::m16n8k8<bf16>(d, a2, b1, d);
  mma::m16n8k8<f16>(d, a2, b1, d);
  mma::m16n8k8<f16>(h, a2, b1, h);
  mma::m16n8k16<bf16>(d, a4, b2, d);
  mma::m16n8k16<f16>(d, a4, b2, d);
  mma::m16n8k16<f16>(h, a4, b2, h);
  mma::m8n8k4(e, ae, be, e);
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3] + static_cast<f32>(h[0] + h[1]);
  doubles[threadIdx.x] = e[0] + e[1];
}

template <cache::Priority priority>
__device__ u64 policies(const void* at) {
  return cache::fractional<priority>(0.5f).bits ^ cache::range<priority>(at, 128, 1024).bits;
}

__global__ void caches(u64* out, char* at) {
  using cache::Priority;
  out[0] = policies<Priority::evict_last>(at) ^ policies<Priority::evict_normal>(at) ^
           policies<Priority::evict_first>(at) ^ policies<Priority::evict_unchanged>(at);
  cache::prefetch_l1(at);
  cache::prefetch_l2(at);
  cache::prefetch_l2_evict_last(at);
  cache::prefetch_l2_evict_normal(at);
  cache::apply_priority_normal(at);
  cache::discard(at);
}

__global__ void special_registers(u64* out) {
  using namespace special;
  out[0] = lane() ^ lanes_equal() ^ lanes_below() ^ lanes_up_to() ^ lanes_above() ^ lanes_from();
  out[1] = dynamic_shared_bytes() ^ total_shared_bytes() ^ grid() ^ multiprocessors() ^ warp_slot() ^ multiprocessor();
  out[2] = special::clock() ^ special::clock64() ^ nanoseconds();
}
