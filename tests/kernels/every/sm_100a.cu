// Every legal instantiation of the wrappers of sm_100a: tensor memory, its products, copies for pairs of blocks, and
// clusters that take over the work of others.
#include "warpmill/ptx/cluster_launch.cuh"
#include "warpmill/ptx/float_pair.cuh"
#include "warpmill/ptx/tcgen05_access.cuh"
#include "warpmill/ptx/tma.cuh"

using namespace wm;
using namespace wm::tcgen05;

template <Shape shape, int count>
__device__ void access(TensorAddress address, u32* out) {
  u32 values[count];
  if constexpr (shape == Shape::lanes16_twice) {
    load_twice<16>(values, address);
    store_twice<16>(address, values);
    load_twice_packed<32>(values, address);
    store_twice_unpacked<32>(address, values);
  } else {
    load<shape>(values, address);
    store<shape>(address, values);
    load_packed<shape>(values, address);
    store_unpacked<shape>(address, values);
  }
  wait_load();
  wait_store();
  out[threadIdx.x] = values[count - 1];
  if constexpr (count < 128) access<shape, 2 * count>(address, out);
}

__global__ void accesses(u32* out) {
  const TensorAddress address{out[0]};
  access<Shape::lanes32, 1>(address, out);
  access<Shape::lanes16_bytes8, 1>(address, out);
  access<Shape::lanes16_bytes16, 2>(address, out);
  access<Shape::lanes16_bytes32, 4>(address, out);
  access<Shape::lanes16_twice, 1>(address.lane(16) + 8, out);
}

template <int blocks, Kind kind>
__device__ void products(TensorAddress d, u64 a, u64 b, u32 product, const DisabledLanes<blocks>& disabled) {
  multiply<blocks, kind>(d, a, b, product, product > 1);
  multiply<blocks, kind>(d, a, b, product, product > 1, disabled);
  multiply<blocks, kind>(d, d + 64, b, product, product > 1);
  if constexpr (kind == Kind::f16 || kind == Kind::tf32) {
    multiply_scaled<blocks, kind, 0>(d, a, b, product, true);
    multiply_scaled<blocks, kind, 15>(d, a, b, product, true);
  }
}

template <int blocks, ScaledKind kind>
__device__ void scaled_products(TensorAddress d, u64 a, u64 b, u32 product) {
  multiply_block_scaled<blocks, kind>(d, a, b, product, d + 128, d + 132, product > 1);
  multiply_block_scaled<blocks, kind>(d, d + 64, b, product, d + 128, d + 132, product > 1);
}

template <int blocks>
__device__ void of_blocks(const DisabledLanes<blocks>& disabled, u64 a, u64 b, u32 product) {
  __shared__ TensorAddress address;
  __shared__ u64 barrier;
  allocate<blocks>(&address, 512);
  allocate_no_more<blocks>();
  fence_before_thread_sync();
  __syncthreads();
  fence_after_thread_sync();
  const TensorAddress d = address;
  if (threadIdx.x == 0) {
    products<blocks, Kind::f16>(d, a, b, product, disabled);
    products<blocks, Kind::tf32>(d, a, b, product, disabled);
    products<blocks, Kind::f8f6f4>(d, a, b, product, disabled);
    products<blocks, Kind::i8>(d, a, b, product, disabled);
    scaled_products<blocks, ScaledKind::mxf8f6f4>(d, a, b, product);
    scaled_products<blocks, ScaledKind::mxf4>(d, a, b, product);
    scaled_products<blocks, ScaledKind::mxf4nvf4_by_32>(d, a, b, product);
    scaled_products<blocks, ScaledKind::mxf4nvf4_by_16>(d, a, b, product);
    copy<blocks, Copied::rows128_bytes32>(d, a);
    copy<blocks, Copied::rows128_bytes16>(d, a);
    copy<blocks, Copied::rows64_bytes16_apart64>(d, a);
    copy<blocks, Copied::rows64_bytes16_neighbours>(d, a);
    copy<blocks, Copied::rows32_bytes16_everywhere>(d, a);
    commit<blocks>(SharedAddress(&barrier));
    commit_multicast<blocks>(&barrier, u16(3));
  }
  __syncthreads();
  tcgen05::free<blocks>(d, 512);
}
// One kind of block in a kernel: ptxas refuses a mixture.
__global__ void one_block(DisabledLanes<1> disabled, u64 a, u64 b, u32 product) {
  of_blocks<1>(disabled, a, b, product);
}
__global__ void two_blocks(DisabledLanes<2> disabled, u64 a, u64 b, u32 product) {
  of_blocks<2>(disabled, a, b, product);
}

template <int rank>
__device__ void copies(SharedAddress to, const TensorMap& map, const i32 (&at)[rank], SharedAddress barrier) {
  tma::load_for_pair(to, map, at, barrier);
  tma::load_multicast_for_pairs(to, map, at, barrier, u16(15));
}
__global__ void pair_copies(const __grid_constant__ TensorMap map) {
  __shared__ alignas(1024) u8 tile[1024];
  __shared__ u64 barrier;
  copies(tile, map, {1}, &barrier);
  copies(tile, map, {1, 2}, &barrier);
  copies(tile, map, {1, 2, 3}, &barrier);
  copies(tile, map, {1, 2, 3, 4}, &barrier);
  copies(tile, map, {1, 2, 3, 4, 5}, &barrier);
}

__global__ void float_pairs(f32* out) {
  FloatPair pair(out[0], out[1]);
  pair = float_pair::fma(pair, pair, FloatPair(2.f));
  pair = float_pair::add(float_pair::multiply(pair, pair), float_pair::subtract(pair, FloatPair(1.f)));
  const Pair<f32> values = float_pair::add_down(pair, pair).values();
  out[2] = largest(values.x, values.y, out[3]);
}

__global__ void launch_control(u32* out) {
  __shared__ alignas(16) cluster_launch::Answer answer;
  __shared__ u64 barrier;
  cluster_launch::request(&answer, &barrier);
  cluster_launch::request_for_cluster(&answer, &barrier);
  const auto answered = cluster_launch::read(&answer);
  if (!cluster_launch::taken(answered)) return;
  const auto place = cluster_launch::first_block(answered);
  out[0] = place.x + place.y + place.z;
}
