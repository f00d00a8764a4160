// The smallest product of two blocks: 256x16 times 16x16 of bf16, all ones. Each block brings its 128 rows of A and its
// 8 columns of B by the copy engine, in core matrices without swizzle.
#pragma once

#include "tensor.cuh"

struct alignas(128) PairOperands {
  bf16 a[128 * 16];
  bf16 b[8 * 16];
};

inline constexpr u32 pair_product =
    1u << 4 | 1u << 7 | 1u << 10 | 2u << 17 | 16u << 24;  // f32, bf16, bf16, N 16, M 256

WM_DEVICE bool leads() { return cluster::rank() == 0; }

// Both barriers are ready for one arrival, columns are allocated.
WM_DEVICE TensorAddress begin_pair(TensorAddress& place, u64& full, u64& done) {
  if (first_warp()) tcgen05::allocate<2>(&place, columns);
  prepare(full, 1, done, 1);
  cluster::sync();
  tcgen05::fence_after_thread_sync();
  return place;
}

// One thread of each block: what this block brings, counted by `full`.
WM_DEVICE void load_for_pair(PairOperands& tile, const TensorMap& a, const TensorMap& b, ClusterAddress full) {
  tma::load_for_pair(tile.a, a, {0, 0}, full);
  tma::load_for_pair(tile.b, b, {0, 0}, full);
}

// One thread of the leading block.
WM_DEVICE void multiply_pair(TensorAddress d, const PairOperands& tile) {
  tcgen05::multiply<2, tcgen05::Kind::f16>(d, descriptor(tile.a), descriptor(tile.b), pair_product, false);
}

// One thread of each block: the leading one hears of both.
template <Scope scope>
WM_DEVICE void tell_leader(u64& told) {
  mbarrier::arrive_remote<scope>(cluster::map(SharedAddress(&told), 0));
  if (leads()) mbarrier::wait_parity<scope>(&told, 0);
}

WM_DEVICE void give_back_pair(TensorAddress place) {
  tcgen05::wait_load();
  tcgen05::fence_before_thread_sync();
  cluster::sync();
  if (first_warp()) tcgen05::free<2>(place, columns);
}
