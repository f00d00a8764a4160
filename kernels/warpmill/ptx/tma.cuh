// TMA tensor copies (sm_90): a box of a tensor of 1 to 5 dimensions, between global and shared memory, through a map.
//
// One thread issues each. Coordinates are innermost first, in elements. A box may lie partly or wholly outside the
// tensor: loads fill with the map's fill value, stores leave out. But the innermost coordinate is a multiple of 16
// bytes (unless channels are interleaved), and no coordinate of a store or reduction is negative: the chip answers both
// with an illegal instruction. A store that crosses the end of the innermost dimension leaves out whole 16-byte pieces:
// it writes up to the next multiple of 16 bytes. Copies run in the asynchronous proxy: a tile that ordinary stores
// wrote needs fence::proxy_async_shared by its writers, then a barrier, before its store. Loads finish at an mbarrier
// that counts the box's bytes, the filled ones too; stores and reductions belong to the issuing thread's bulk groups
// (bulk.cuh).
//
//   tma::load(tile, map, {column, row}, barrier);
#pragma once

#include "warpmill/ptx/bulk.cuh"
#include "warpmill/ptx/cache.cuh"
#include "warpmill/types.cuh"

namespace wm::tma {

// Inline assembly takes no variable number of operands: each rank is a statement of its own, and these spell the
// coordinates that come last in each.
#define WM_AT1 "r"(at[0])
#define WM_AT2 WM_AT1, "r"(at[1])
#define WM_AT3 WM_AT2, "r"(at[2])
#define WM_AT4 WM_AT3, "r"(at[3])
#define WM_AT5 WM_AT4, "r"(at[4])

namespace detail {
template <int rank>
inline constexpr bool tile_rank = rank >= 1 && rank <= 5;
template <int rank, int offsets>
inline constexpr bool im2col_rank = rank >= 3 && rank <= 5 && offsets == rank - 2;
}  // namespace detail

// cp.async.bulk.tensor.<rank>d.shared::cluster.global.tile.mbarrier::complete_tx::bytes (on sm_120 .shared::cta).
template <int rank>
WM_DEVICE void load(SharedAddress to, const TensorMap& map, const i32 (&at)[rank], SharedAddress barrier,
                    CachePolicy policy = {}) {
  static_assert(detail::tile_rank<rank>, "a tensor map has 1 to 5 dimensions: give as many coordinates");
#define WM_LOAD(shape, coordinates, ...)                                                           \
  asm volatile("cp.async.bulk.tensor." shape WM_OWN_SHARED                                         \
               ".global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {" coordinates \
               "}], [%2], %3;" ::"r"(to.value),                                                    \
               "l"(&map), "r"(barrier.value), "l"(policy.bits), __VA_ARGS__                        \
               : "memory")
  if constexpr (rank == 1) WM_LOAD("1d", "%4", WM_AT1);
  if constexpr (rank == 2) WM_LOAD("2d", "%4, %5", WM_AT2);
  if constexpr (rank == 3) WM_LOAD("3d", "%4, %5, %6", WM_AT3);
  if constexpr (rank == 4) WM_LOAD("4d", "%4, %5, %6, %7", WM_AT4);
  if constexpr (rank == 5) WM_LOAD("5d", "%4, %5, %6, %7, %8", WM_AT5);
#undef WM_LOAD
}

// The same with .multicast::cluster: to the same place in each block of `blocks` (bit = rank); in each of them the
// barrier at the place of `barrier` counts the box's bytes.
template <int rank>
WM_DEVICE void load_multicast(SharedAddress to, const TensorMap& map, const i32 (&at)[rank], SharedAddress barrier,
                              u16 blocks, CachePolicy policy = {}) {
  static_assert(detail::tile_rank<rank>, "a tensor map has 1 to 5 dimensions: give as many coordinates");
#define WM_LOAD(shape, coordinates, ...)                                                                      \
  asm volatile("cp.async.bulk.tensor." shape                                                                  \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint " \
               "[%0], [%1, {" coordinates "}], [%2], %3, %4;" ::"r"(to.value),                                \
               "l"(&map), "r"(barrier.value), "h"(blocks), "l"(policy.bits), __VA_ARGS__                      \
               : "memory")
  if constexpr (rank == 1) WM_LOAD("1d", "%5", WM_AT1);
  if constexpr (rank == 2) WM_LOAD("2d", "%5, %6", WM_AT2);
  if constexpr (rank == 3) WM_LOAD("3d", "%5, %6, %7", WM_AT3);
  if constexpr (rank == 4) WM_LOAD("4d", "%5, %6, %7, %8", WM_AT4);
  if constexpr (rank == 5) WM_LOAD("5d", "%5, %6, %7, %8, %9", WM_AT5);
#undef WM_LOAD
}

// The same with .cta_group::2 (sm_100a): `barrier` may lie in this block or in the other of its pair, so that the block
// that multiplies for both waits for the bytes of both.
template <int rank>
WM_DEVICE void load_for_pair(SharedAddress to, const TensorMap& map, const i32 (&at)[rank], ClusterAddress barrier,
                             CachePolicy policy = {}) {
  static_assert(detail::tile_rank<rank>, "a tensor map has 1 to 5 dimensions: give as many coordinates");
#define WM_LOAD(shape, coordinates, ...)                                                                               \
  asm volatile(                                                                                                        \
      "cp.async.bulk.tensor." shape                                                                                    \
      ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2.L2::cache_hint [%0], [%1, {" coordinates \
      "}], [%2], %3;" ::"r"(to.value),                                                                                 \
      "l"(&map), "r"(barrier.value), "l"(policy.bits), __VA_ARGS__                                                     \
      : "memory")
  if constexpr (rank == 1) WM_LOAD("1d", "%4", WM_AT1);
  if constexpr (rank == 2) WM_LOAD("2d", "%4, %5", WM_AT2);
  if constexpr (rank == 3) WM_LOAD("3d", "%4, %5, %6", WM_AT3);
  if constexpr (rank == 4) WM_LOAD("4d", "%4, %5, %6, %7", WM_AT4);
  if constexpr (rank == 5) WM_LOAD("5d", "%4, %5, %6, %7, %8", WM_AT5);
#undef WM_LOAD
}
// And with .multicast::cluster: to each block of `blocks`; of each pair, the block whose rank is as odd as that of
// `barrier` counts the bytes.
template <int rank>
WM_DEVICE void load_multicast_for_pairs(SharedAddress to, const TensorMap& map, const i32 (&at)[rank],
                                        ClusterAddress barrier, u16 blocks, CachePolicy policy = {}) {
  static_assert(detail::tile_rank<rank>, "a tensor map has 1 to 5 dimensions: give as many coordinates");
#define WM_LOAD(shape, coordinates, ...)                                                                          \
  asm volatile(                                                                                                   \
      "cp.async.bulk.tensor." shape                                                                               \
      ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2.L2::cache_hint " \
      "[%0], [%1, {" coordinates "}], [%2], %3, %4;" ::"r"(to.value),                                             \
      "l"(&map), "r"(barrier.value), "h"(blocks), "l"(policy.bits), __VA_ARGS__                                   \
      : "memory")
  if constexpr (rank == 1) WM_LOAD("1d", "%5", WM_AT1);
  if constexpr (rank == 2) WM_LOAD("2d", "%5, %6", WM_AT2);
  if constexpr (rank == 3) WM_LOAD("3d", "%5, %6, %7", WM_AT3);
  if constexpr (rank == 4) WM_LOAD("4d", "%5, %6, %7, %8", WM_AT4);
  if constexpr (rank == 5) WM_LOAD("5d", "%5, %6, %7, %8, %9", WM_AT5);
#undef WM_LOAD
}

// cp.async.bulk.tensor.<rank>d.shared::cluster.global.im2col: pixels of a convolution's input, of rank 3 to 5. `at` is
// (channel, [[depth,] height,] width..., image) innermost first; `offset` is the filter tap's place, innermost first.
template <int rank, int offsets>
WM_DEVICE void load_im2col(SharedAddress to, const TensorMap& map, const i32 (&at)[rank], const u16 (&offset)[offsets],
                           SharedAddress barrier, CachePolicy policy = {}) {
  static_assert(detail::im2col_rank<rank, offsets>,
                "im2col: 3 to 5 coordinates, and one offset for each but the channel and the image");
#define WM_LOAD(shape, coordinates, offsets, ...)                                                                    \
  asm volatile("cp.async.bulk.tensor." shape                                                                         \
               ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {" coordinates \
               "}], [%2], {" offsets "}, %3;" ::"r"(to.value),                                                       \
               "l"(&map), "r"(barrier.value), "l"(policy.bits), __VA_ARGS__                                          \
               : "memory")
  if constexpr (rank == 3) WM_LOAD("3d", "%4, %5, %6", "%7", WM_AT3, "h"(offset[0]));
  if constexpr (rank == 4) WM_LOAD("4d", "%4, %5, %6, %7", "%8, %9", WM_AT4, "h"(offset[0]), "h"(offset[1]));
  if constexpr (rank == 5)
    WM_LOAD("5d", "%4, %5, %6, %7, %8", "%9, %10, %11", WM_AT5, "h"(offset[0]), "h"(offset[1]), "h"(offset[2]));
#undef WM_LOAD
}

// The same with .multicast::cluster.
template <int rank, int offsets>
WM_DEVICE void load_im2col_multicast(SharedAddress to, const TensorMap& map, const i32 (&at)[rank],
                                     const u16 (&offset)[offsets], SharedAddress barrier, u16 blocks,
                                     CachePolicy policy = {}) {
  static_assert(detail::im2col_rank<rank, offsets>,
                "im2col: 3 to 5 coordinates, and one offset for each but the channel and the image");
#define WM_LOAD(shape, coordinates, offsets, ...)                                                               \
  asm volatile("cp.async.bulk.tensor." shape                                                                    \
               ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint " \
               "[%0], [%1, {" coordinates "}], [%2], {" offsets "}, %3, %4;" ::"r"(to.value),                   \
               "l"(&map), "r"(barrier.value), "h"(blocks), "l"(policy.bits), __VA_ARGS__                        \
               : "memory")
  if constexpr (rank == 3) WM_LOAD("3d", "%5, %6, %7", "%8", WM_AT3, "h"(offset[0]));
  if constexpr (rank == 4) WM_LOAD("4d", "%5, %6, %7, %8", "%9, %10", WM_AT4, "h"(offset[0]), "h"(offset[1]));
  if constexpr (rank == 5)
    WM_LOAD("5d", "%5, %6, %7, %8, %9", "%10, %11, %12", WM_AT5, "h"(offset[0]), "h"(offset[1]), "h"(offset[2]));
#undef WM_LOAD
}

// cp.async.bulk.tensor.<rank>d.global.shared::cta.tile.bulk_group.
template <int rank>
WM_DEVICE void store(const TensorMap& map, const i32 (&at)[rank], SharedAddress from, CachePolicy policy = {}) {
  static_assert(detail::tile_rank<rank>, "a tensor map has 1 to 5 dimensions: give as many coordinates");
#define WM_STORE(shape, coordinates, ...)                                                                            \
  asm volatile("cp.async.bulk.tensor." shape ".global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {" coordinates \
               "}], [%1], %2;" ::"l"(&map),                                                                          \
               "r"(from.value), "l"(policy.bits), __VA_ARGS__                                                        \
               : "memory")
  if constexpr (rank == 1) WM_STORE("1d", "%3", WM_AT1);
  if constexpr (rank == 2) WM_STORE("2d", "%3, %4", WM_AT2);
  if constexpr (rank == 3) WM_STORE("3d", "%3, %4, %5", WM_AT3);
  if constexpr (rank == 4) WM_STORE("4d", "%3, %4, %5, %6", WM_AT4);
  if constexpr (rank == 5) WM_STORE("5d", "%3, %4, %5, %6, %7", WM_AT5);
#undef WM_STORE
}

// cp.async.bulk.tensor.<rank>d.global.shared::cta.im2col_no_offs.bulk_group: pixels back to where im2col loads them
// from with all offsets zero. The map's corners are 0: the chip answers any other with an illegal instruction.
template <int rank>
WM_DEVICE void store_im2col(const TensorMap& map, const i32 (&at)[rank], SharedAddress from, CachePolicy policy = {}) {
  static_assert(rank >= 3 && rank <= 5, "im2col: 3 to 5 coordinates");
#define WM_STORE(shape, coordinates, ...)                                                        \
  asm volatile("cp.async.bulk.tensor." shape                                                     \
               ".global.shared::cta.im2col_no_offs.bulk_group.L2::cache_hint [%0, {" coordinates \
               "}], [%1], %2;" ::"l"(&map),                                                      \
               "r"(from.value), "l"(policy.bits), __VA_ARGS__                                    \
               : "memory")
  if constexpr (rank == 3) WM_STORE("3d", "%3, %4, %5", WM_AT3);
  if constexpr (rank == 4) WM_STORE("4d", "%3, %4, %5, %6", WM_AT4);
  if constexpr (rank == 5) WM_STORE("5d", "%3, %4, %5, %6, %7", WM_AT5);
#undef WM_STORE
}

// cp.reduce.async.bulk.tensor.<rank>d.global.shared::cta.<operation>.tile.bulk_group: each element combined with what
// is there, atomically (relaxed, device scope); the map's element type decides how. Float maps: add, and for 16-bit
// floats min and max too; increment and decrement want u32.
template <Reduction operation, int rank>
WM_DEVICE void reduce(const TensorMap& map, const i32 (&at)[rank], SharedAddress from, CachePolicy policy = {}) {
  static_assert(detail::tile_rank<rank>, "a tensor map has 1 to 5 dimensions: give as many coordinates");
#define WM_REDUCE(shape, name, coordinates, ...)                                                 \
  asm volatile("cp.reduce.async.bulk.tensor." shape ".global.shared::cta." name                  \
               ".tile.bulk_group.L2::cache_hint [%0, {" coordinates "}], [%1], %2;" ::"l"(&map), \
               "r"(from.value), "l"(policy.bits), __VA_ARGS__                                    \
               : "memory")
#define WM_REDUCE_RANKS(name)                                               \
  if constexpr (rank == 1) WM_REDUCE("1d", name, "%3", WM_AT1);             \
  if constexpr (rank == 2) WM_REDUCE("2d", name, "%3, %4", WM_AT2);         \
  if constexpr (rank == 3) WM_REDUCE("3d", name, "%3, %4, %5", WM_AT3);     \
  if constexpr (rank == 4) WM_REDUCE("4d", name, "%3, %4, %5, %6", WM_AT4); \
  if constexpr (rank == 5) WM_REDUCE("5d", name, "%3, %4, %5, %6, %7", WM_AT5);
  if constexpr (operation == Reduction::add) {
    WM_REDUCE_RANKS("add")
  }
  if constexpr (operation == Reduction::min) {
    WM_REDUCE_RANKS("min")
  }
  if constexpr (operation == Reduction::max) {
    WM_REDUCE_RANKS("max")
  }
  if constexpr (operation == Reduction::increment) {
    WM_REDUCE_RANKS("inc")
  }
  if constexpr (operation == Reduction::decrement) {
    WM_REDUCE_RANKS("dec")
  }
  if constexpr (operation == Reduction::bit_and) {
    WM_REDUCE_RANKS("and")
  }
  if constexpr (operation == Reduction::bit_or) {
    WM_REDUCE_RANKS("or")
  }
  if constexpr (operation == Reduction::bit_xor) {
    WM_REDUCE_RANKS("xor")
  }
#undef WM_REDUCE_RANKS
#undef WM_REDUCE
}

// The same with .im2col_no_offs.
template <Reduction operation, int rank>
WM_DEVICE void reduce_im2col(const TensorMap& map, const i32 (&at)[rank], SharedAddress from, CachePolicy policy = {}) {
  static_assert(rank >= 3 && rank <= 5, "im2col: 3 to 5 coordinates");
#define WM_REDUCE(shape, name, coordinates, ...)                                                           \
  asm volatile("cp.reduce.async.bulk.tensor." shape ".global.shared::cta." name                            \
               ".im2col_no_offs.bulk_group.L2::cache_hint [%0, {" coordinates "}], [%1], %2;" ::"l"(&map), \
               "r"(from.value), "l"(policy.bits), __VA_ARGS__                                              \
               : "memory")
#define WM_REDUCE_RANKS(name)                                               \
  if constexpr (rank == 3) WM_REDUCE("3d", name, "%3, %4, %5", WM_AT3);     \
  if constexpr (rank == 4) WM_REDUCE("4d", name, "%3, %4, %5, %6", WM_AT4); \
  if constexpr (rank == 5) WM_REDUCE("5d", name, "%3, %4, %5, %6, %7", WM_AT5);
  if constexpr (operation == Reduction::add) {
    WM_REDUCE_RANKS("add")
  }
  if constexpr (operation == Reduction::min) {
    WM_REDUCE_RANKS("min")
  }
  if constexpr (operation == Reduction::max) {
    WM_REDUCE_RANKS("max")
  }
  if constexpr (operation == Reduction::increment) {
    WM_REDUCE_RANKS("inc")
  }
  if constexpr (operation == Reduction::decrement) {
    WM_REDUCE_RANKS("dec")
  }
  if constexpr (operation == Reduction::bit_and) {
    WM_REDUCE_RANKS("and")
  }
  if constexpr (operation == Reduction::bit_or) {
    WM_REDUCE_RANKS("or")
  }
  if constexpr (operation == Reduction::bit_xor) {
    WM_REDUCE_RANKS("xor")
  }
#undef WM_REDUCE_RANKS
#undef WM_REDUCE
}

// cp.async.bulk.prefetch.tensor.<rank>d.L2.global.tile: the box into L2 only. Orders nothing.
template <int rank>
WM_DEVICE void prefetch(const TensorMap& map, const i32 (&at)[rank], CachePolicy policy = {}) {
  static_assert(detail::tile_rank<rank>, "a tensor map has 1 to 5 dimensions: give as many coordinates");
#define WM_PREFETCH(shape, coordinates, ...)                                                              \
  asm volatile("cp.async.bulk.prefetch.tensor." shape ".L2.global.tile.L2::cache_hint [%0, {" coordinates \
               "}], %1;" ::"l"(&map),                                                                     \
               "l"(policy.bits), __VA_ARGS__                                                              \
               : "memory")
  if constexpr (rank == 1) WM_PREFETCH("1d", "%2", WM_AT1);
  if constexpr (rank == 2) WM_PREFETCH("2d", "%2, %3", WM_AT2);
  if constexpr (rank == 3) WM_PREFETCH("3d", "%2, %3, %4", WM_AT3);
  if constexpr (rank == 4) WM_PREFETCH("4d", "%2, %3, %4, %5", WM_AT4);
  if constexpr (rank == 5) WM_PREFETCH("5d", "%2, %3, %4, %5, %6", WM_AT5);
#undef WM_PREFETCH
}

// The same with .im2col.
template <int rank, int offsets>
WM_DEVICE void prefetch_im2col(const TensorMap& map, const i32 (&at)[rank], const u16 (&offset)[offsets],
                               CachePolicy policy = {}) {
  static_assert(detail::im2col_rank<rank, offsets>,
                "im2col: 3 to 5 coordinates, and one offset for each but the channel and the image");
#define WM_PREFETCH(shape, coordinates, offsets, ...)                                                       \
  asm volatile("cp.async.bulk.prefetch.tensor." shape ".L2.global.im2col.L2::cache_hint [%0, {" coordinates \
               "}], {" offsets "}, %1;" ::"l"(&map),                                                        \
               "l"(policy.bits), __VA_ARGS__                                                                \
               : "memory")
  if constexpr (rank == 3) WM_PREFETCH("3d", "%2, %3, %4", "%5", WM_AT3, "h"(offset[0]));
  if constexpr (rank == 4) WM_PREFETCH("4d", "%2, %3, %4, %5", "%6, %7", WM_AT4, "h"(offset[0]), "h"(offset[1]));
  if constexpr (rank == 5)
    WM_PREFETCH("5d", "%2, %3, %4, %5, %6", "%7, %8, %9", WM_AT5, "h"(offset[0]), "h"(offset[1]), "h"(offset[2]));
#undef WM_PREFETCH
}

#undef WM_AT1
#undef WM_AT2
#undef WM_AT3
#undef WM_AT4
#undef WM_AT5

}  // namespace wm::tma
