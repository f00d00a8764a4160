// Values of 8 bits between the copy engine and the tensor cores: wgmma reads them with keys side by side, the copy
// engine brings a row for each key. Warps of the load warpgroup that have nothing else to do transpose them.
#pragma once

#include "warpmill/attention/plan.h"
#include "warpmill/pipeline/ring.cuh"
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/ldmatrix.cuh"
#include "warpmill/ptx/stmatrix.cuh"
#include "warpmill/tile/element.cuh"
#include "warpmill/tile/operand_tile.cuh"

namespace wm {

inline constexpr u32 transposing_warps = AttentionPlan::transposing_warps;

// As they come: a row for each key.
template <AttentionPlan plan>
using ArrivingTile = OperandTile<Element<plan.kind.element>, Major::k, plan.keys,
                                 plan.rounded(plan.kind.value_dim, plan.product_columns())>;

// Takes no room where values are multiplied as they come.
template <AttentionPlan plan, bool narrow = plan.kind.narrow()>
struct ArrivingTiles {};
template <AttentionPlan plan>
struct ArrivingTiles<plan, true> {
  ArrivingTile<plan> arriving[plan.stages];
};
template <AttentionPlan plan>
using ArrivingRing = Ring<"arriving", plan.stages, TmaCourier<sizeof(ArrivingTile<plan>)>,
                          Readers{.groups = transposing_warps,
                                  .threads = 32,
                                  .blocks = u32(plan.blocks_together()),
                                  .cluster = u32(plan.blocks_together()),
                                  .scope = plan.pair ? Scope::cluster : Scope::block}>;

// Data that warps have stored, for the tensor cores to read.
template <u32 warps>
struct WarpCourier {
  static constexpr u32 arrivals = warps;
  static WM_DEVICE void announce(SharedAddress) {}
  static WM_DEVICE void sent(SharedAddress full) {
    fence::proxy_async_shared();
    barrier::sync_warp();
    if (threadIdx.x % 32 == 0) mbarrier::arrive(full);
  }
};

// One warp's share of a tile's values, 16 by 32 keys at a time: those of sixteen values after sixteen.
//
// The two bytes of a 16-bit element that ldmatrix transposes stay side by side: lane 4g+t gets the values 2g and 2g+1
// of the keys 2t and 2t+1. Of two such words, eight keys apart, one permutation makes four keys of value 2g and one of
// 2g+1: the keys 2t, 2t+1, 2t+8 and 2t+9. That is the order in which a thread has the scores of 16 keys, so P stays in
// its registers and products sum over keys in this order. Rows of one store are eight with different places in the
// swizzle: even values of the first half and odd ones of the second.
template <class From, class To>
class Transposer {
 public:
  WM_DEVICE Transposer(From& from, To& to, u32 warp) : from_(from), to_(to), warp_(warp) {}

  WM_DEVICE void all() const {
#pragma unroll 1
    for (u32 chunk = warp_; chunk < To::extent / 16; chunk += transposing_warps)
#pragma unroll
      for (u32 key = 0; key < To::k; key += 32) move(chunk, key, [](u32, u32) {});
  }
  // What lies beyond so many keys becomes zero.
  WM_DEVICE void some(u32 keys) const {
#pragma unroll 1
    for (u32 chunk = warp_; chunk < To::extent / 16; chunk += transposing_warps)
#pragma unroll 1
      for (u32 key = 0; key < To::k; key += 32)
        move(chunk, key, [&](u32 number, u32& word) {
#pragma unroll
          for (u32 byte = 0; byte < 4; ++byte)
            if (key + number / 2 * 16 + byte / 2 * 8 + threadIdx.x % 4 * 2 + byte % 2 >= keys)
              word &= ~(0xffu << byte * 8);
        });
  }

 private:
  template <class Change>
  WM_DEVICE void move(u32 chunk, u32 key, const Change& change) const {
    const u32 lane = threadIdx.x % 32, even = 0x6420, odd = 0x7531;  // bytes of two words
    const u32 first = lane < 16 ? even : odd, second = lane < 16 ? odd : even;
    const u32 row = lane % 8 * 2 + ((lane % 8 / 4 + lane / 8) % 2);  // of the sixteen values, whose address it gives
    u32 in[4];
    ldmatrix::load_transposed(in, from_.width[chunk / 8].chunk(key + lane, chunk % 8));
    u32 out[4] = {__byte_perm(in[0], in[1], first), __byte_perm(in[0], in[1], second), __byte_perm(in[2], in[3], first),
                  __byte_perm(in[2], in[3], second)};
#pragma unroll
    for (u32 i = 0; i < 4; ++i) change(i, out[i]);
    stmatrix::store(to_.width[key / 128].chunk(chunk * 16 + row, key % 128 / 16 + lane / 16), out);
  }

  From& from_;
  To& to_;
  u32 warp_;
};

}  // namespace wm
