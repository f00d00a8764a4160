// Every legal instantiation of the wrappers that came with sm_90 and that later chips kept.
#include "warpmill/ptx/bulk.cuh"
#include "warpmill/ptx/cache.cuh"
#include "warpmill/ptx/cluster.cuh"
#include "warpmill/ptx/elect.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/grid.cuh"
#include "warpmill/ptx/mbarrier.cuh"
#include "warpmill/ptx/mma.cuh"
#include "warpmill/ptx/stmatrix.cuh"
#include "warpmill/ptx/tensor_map.cuh"
#include "warpmill/ptx/tma.cuh"

using namespace wm;

__global__ void mbarriers(u32* out) {
  __shared__ u64 barrier;
  mbarrier::init(&barrier, 4);
  const auto state = mbarrier::arrive(&barrier, 2);
  out[0] = mbarrier::pending_count(mbarrier::arrive_drop(&barrier, 1));
  out[1] = mbarrier::pending_count(mbarrier::arrive_expect_tx(&barrier, 128));
  out[2] = mbarrier::pending_count(mbarrier::arrive_drop_expect_tx(&barrier, 128));
  mbarrier::expect_tx(&barrier, 64);
  mbarrier::complete_tx(&barrier, 64);
  const ClusterAddress remote = cluster::map(SharedAddress(&barrier), 1);
  mbarrier::arrive_remote(remote);
  mbarrier::arrive_remote(remote, 2);
  mbarrier::arrive_remote<Scope::block>(remote);
  mbarrier::arrive_remote_relaxed(remote);
  mbarrier::arrive_drop_remote(remote);
  mbarrier::arrive_expect_tx_remote(remote, 128);
  mbarrier::arrive_drop_expect_tx_remote(remote, 128);
  mbarrier::expect_tx_remote(remote, 16);
  mbarrier::complete_tx_remote(remote, 16);
  out[3] = mbarrier::try_wait(&barrier, state) + mbarrier::try_wait(&barrier, state, 1000);
  out[4] = mbarrier::try_wait_parity(&barrier, 0) + mbarrier::try_wait_parity<Scope::cluster>(&barrier, 0);
  out[5] = mbarrier::try_wait_parity_for(&barrier, 0, 1000);
  mbarrier::wait_parity(&barrier, 0);
  mbarrier::wait_parity<Scope::cluster>(&barrier, 0);
  mbarrier::wait_parity_relaxed(&barrier, 0);
}

template <Scope scope>
__device__ void fences_of(const TensorMap* map) {
  fence::acquire_release<scope>();
  fence::acquire<scope>();
  fence::release<scope>();
  fence::sequential<scope>();
  fence::tensor_map_release<scope>();
  fence::tensor_map_acquire<scope>(map);
}

__global__ void fences(const TensorMap* map) {
  fence::proxy_async();
  fence::proxy_async_shared();
  fence::proxy_async_cluster();
  fence::proxy_async_global();
  fence::mbarrier_init();
  fences_of<Scope::block>(map);
  fences_of<Scope::cluster>(map);
  fences_of<Scope::device>(map);
  fences_of<Scope::system>(map);
}

template <class T, Reduction... operations>
__device__ void asynchronous_reductions(ClusterAddress at, SharedAddress from, ClusterAddress barrier) {
  (cluster::reduce_async<operations>(at, T(1), barrier), ...);
  (bulk::reduce_to_block<operations, T>(at, from, 64, barrier), ...);
}

__global__ void clusters(u32* out) {
  __shared__ u64 barrier;
  __shared__ alignas(16) u32 words[64];
  const auto a = cluster::block_place(), b = cluster::shape(), c = cluster::place(), d = cluster::grid_shape();
  out[0] = cluster::rank() + cluster::blocks() + cluster::is_explicit() + a.x + b.y + c.z + d.x;
  cluster::arrive();
  cluster::wait();
  cluster::arrive_relaxed();
  cluster::wait();
  cluster::arrive_unaligned();
  cluster::wait_unaligned();
  cluster::arrive_relaxed_unaligned();
  cluster::wait_unaligned();
  cluster::sync();
  const ClusterAddress there = cluster::map(SharedAddress(words), 1);
  const ClusterAddress remote = cluster::map(SharedAddress(&barrier), 1);
  out[1] = *cluster::map(words, 1) + cluster::rank_of(there);
  out[2] = cluster::load<u32>(there) + cluster::load<Pair<u32>>(there).y + cluster::load<Quad<u32>>(there).w;
  cluster::store(there, 1.5f);
  cluster::store(there, u64(7));
  cluster::store(there, Quad<u32>{1, 2, 3, 4});
  out[3] = cluster::fetch_add(there, 1) + cluster::compare_swap(there, 1, 2);
  cluster::store_async(there, 1u, remote);
  cluster::store_async(there, u64(1), remote);
  cluster::store_async(there, Quad<u32>{1, 2, 3, 4}, remote);
  using R = Reduction;
  asynchronous_reductions<u32, R::add, R::min, R::max, R::increment, R::decrement, R::bit_and, R::bit_or, R::bit_xor>(
      there, words, remote);
  asynchronous_reductions<i32, R::add, R::min, R::max>(there, words, remote);
  asynchronous_reductions<u64, R::add>(there, words, remote);
}

template <class T, Reduction... operations>
__device__ void bulk_reductions(void* at, SharedAddress from) {
  (bulk::reduce<operations>(static_cast<T*>(at), from, 64), ...);
}

__global__ void bulk_copies(char* global) {
  __shared__ u64 barrier;
  __shared__ alignas(16) u32 words[64];
  bulk::load(words, global, 256, &barrier);
  bulk::load(words, global, 256, &barrier, cache::evict_first);
  bulk::load_multicast(words, global, 256, &barrier, 3);
  bulk::copy_to_block(cluster::map(SharedAddress(words), 1), words, 256, cluster::map(SharedAddress(&barrier), 1));
  bulk::store(global, words, 256);
  bulk::prefetch(global, 256);
  using R = Reduction;
  bulk_reductions<u32, R::add, R::min, R::max, R::increment, R::decrement, R::bit_and, R::bit_or, R::bit_xor>(global,
                                                                                                              words);
  bulk_reductions<i32, R::add, R::min, R::max>(global, words);
  bulk_reductions<u64, R::add, R::min, R::max, R::bit_and, R::bit_or, R::bit_xor>(global, words);
  bulk_reductions<i64, R::min, R::max>(global, words);
  bulk_reductions<f16, R::add, R::min, R::max>(global, words);
  bulk_reductions<bf16, R::add, R::min, R::max>(global, words);
  bulk_reductions<f32, R::add>(global, words);
  bulk_reductions<f64, R::add>(global, words);
  bulk::commit_group();
  bulk::wait_group<0>();
  bulk::wait_group<3>();
  bulk::wait_group_read<0>();
  bulk::wait_group_read<3>();
}

template <int rank, Reduction... operations>
__device__ void tensor_reductions(const TensorMap& map, const i32 (&at)[rank], SharedAddress tile) {
  (tma::reduce<operations>(map, at, tile), ...);
  if constexpr (rank >= 3) (tma::reduce_im2col<operations>(map, at, tile), ...);
}

template <int rank>
__device__ void tensor_copies(const TensorMap& map, const i32 (&at)[rank], SharedAddress tile, SharedAddress barrier) {
  tma::load(tile, map, at, barrier);
  tma::load(tile, map, at, barrier, cache::evict_last);
  tma::load_multicast(tile, map, at, barrier, 3);
  tma::store(map, at, tile);
  tma::prefetch(map, at);
  using R = Reduction;
  tensor_reductions<rank, R::add, R::min, R::max, R::increment, R::decrement, R::bit_and, R::bit_or, R::bit_xor>(
      map, at, tile);
  if constexpr (rank >= 3) {
    const u16 offset[rank - 2] = {1};
    tma::load_im2col(tile, map, at, offset, barrier);
    tma::load_im2col_multicast(tile, map, at, offset, barrier, 3);
    tma::prefetch_im2col(map, at, offset);
    tma::store_im2col(map, at, tile);
  }
}

__global__ void tensors(const __grid_constant__ TensorMap map) {
  __shared__ u64 barrier;
  __shared__ alignas(128) u32 tile[64];
  cache::prefetch(map);
  tensor_copies(map, {1}, tile, &barrier);
  tensor_copies(map, {1, 2}, tile, &barrier);
  tensor_copies(map, {1, 2, 3}, tile, &barrier);
  tensor_copies(map, {1, 2, 3, 4}, tile, &barrier);
  tensor_copies(map, {1, 2, 3, 4, 5}, tile, &barrier);
}

__global__ void matrix_stores(u32 x) {
  __shared__ alignas(16) char tile[512];
  const SharedAddress row = SharedAddress(tile) + 16 * threadIdx.x;
  const u32 one[1] = {x}, two[2] = {x, x}, four[4] = {x, x, x, x};
  stmatrix::store(row, one);
  stmatrix::store(row, two);
  stmatrix::store(row, four);
  stmatrix::store_transposed(row, one);
  stmatrix::store_transposed(row, two);
  stmatrix::store_transposed(row, four);
}

__global__ void elections(u32* out) {
  out[threadIdx.x] = elect_one() + elect_one(0xff00) + elected_lane() + elected_lane(0xff00);
}

__global__ void dependents() {
  grid::launch_dependents();
  grid::wait();
}

template <class A, class B>
__device__ void small_floats(f32 (&d)[4], u32 (&h)[2], const u32 (&a)[4], const u32 (&b)[2]) {
  const u32 a2[2] = {a[0], a[1]}, b1[1] = {b[0]};
  mma::m16n8k16<A, B>(d, a2, b1, d);
  mma::m16n8k16<A, B>(h, a2, b1, h);
  mma::m16n8k32<A, B>(d, a, b, d);
  mma::m16n8k32<A, B>(h, a, b, h);
}

__global__ void products(f32* out, f64* doubles, u32 x, u32 y) {
  f32 d[4] = {};
  u32 h[2] = {};
  const u32 a[4] = {x, x, y, y}, b[2] = {y, x};
  small_floats<e4m3, e4m3>(d, h, a, b);
  small_floats<e4m3, e5m2>(d, h, a, b);
  small_floats<e5m2, e4m3>(d, h, a, b);
  small_floats<e5m2, e5m2>(d, h, a, b);
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3] + static_cast<f32>(h[0] + h[1]);

  f64 e[4] = {};
  const f64 a2[2] = {1, 2}, a4[4] = {1, 2, 3, 4}, a8[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b1[1] = {1}, b2[2] = {1, 2};
  mma::m16n8k4(e, a2, b1, e);
  mma::m16n8k8(e, a4, b2, e);
  mma::m16n8k16(e, a8, a4, e);
  doubles[threadIdx.x] = e[0] + e[1] + e[2] + e[3];
}
