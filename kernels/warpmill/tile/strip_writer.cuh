// A warpgroup's way out of a kernel: strips in shared memory, swizzled, that are written while the ones before them are
// still being stored.
//
//   auto& strip = strips.begin();              nobody reads it any more
//   store_rows(strip, fragment);               ordinary stores, by all threads of the group
//   strips.filled();                           whoever takes it out sees them
//   strips.send(strip, map, {column, row});    by the copy engine; or threads copy it out themselves
//   ... strips.end();                          before the group leaves the kernel
#pragma once

#include "warpmill/pipeline/roles.cuh"
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/bulk.cuh"
#include "warpmill/ptx/fence.cuh"
#include "warpmill/ptx/tma.cuh"

namespace wm {

// Who takes a strip out of shared memory.
enum class StripStore { engine, threads };

// Who writes a strip together: a warpgroup, which meets at a named barrier of its own, or each of its warps its sixteen
// rows for itself.
struct WarpgroupTogether {
  u32 barrier;
  static constexpr u32 rows = 64;
  WM_DEVICE void sync() const { barrier::sync(barrier, warpgroup_threads); }
  static WM_DEVICE bool first() { return thread_of_warpgroup() == 0; }
  static WM_DEVICE u32 first_row() { return 0; }
};
struct WarpTogether {
  static constexpr u32 rows = 16;
  WM_DEVICE void sync() const { barrier::sync_warp(); }
  static WM_DEVICE bool first() { return threadIdx.x % 32 == 0; }
  static WM_DEVICE u32 first_row() { return thread_of_warpgroup() / 32 * rows; }
};

// All functions: all threads that write together.
template <class Tile, int buffers, StripStore by = StripStore::engine, class Together = WarpgroupTogether>
class StripWriter {
 public:
  using Shared = Tile[buffers];
  WM_DEVICE StripWriter(Shared& strips, Together together) : strips_(strips), together_(together) {}

  // The next strip, once the store that last used it has read it.
  WM_DEVICE Tile& begin() {
    Tile& strip = begin(buffer_);
    buffer_ = (buffer_ + 1) % buffers;
    return strip;
  }
  // The same for who counts strips, and spares a register: one after the other, each is sent, copied or left out.
  WM_DEVICE Tile& begin(u32 number) {
    if constexpr (by == StripStore::engine)
      if (together_.first()) bulk::wait_group_read<buffers - 1>();  // only the issuer of a store can know
    together_.sync();
    return strips_[number % buffers];
  }
  WM_DEVICE void filled() const {
    if constexpr (by == StripStore::engine) fence::proxy_async_shared();
    together_.sync();
  }
  // One store by the copy engine, of the rows that were written together: a box of so many, at `at`.
  template <int rank>
  WM_DEVICE void send(Tile& strip, const TensorMap& map, const i32 (&at)[rank]) const {
    static_assert(by == StripStore::engine, "threads copy these strips out");
    if (!together_.first()) return;
    tma::store(map, at, strip.from_row(Together::first_row()));
    bulk::commit_group();
  }
  // Several, which lie one after the other in the strip: a box each.
  template <int boxes, int rank>
  WM_DEVICE void send(Tile& strip, const TensorMap& map, const i32 (&at)[boxes][rank]) const {
    static_assert(by == StripStore::engine, "threads copy these strips out");
    if (!together_.first()) return;
#pragma unroll
    for (int i = 0; i < boxes; ++i) tma::store(map, at[i], strip.from_row(i * (Tile::rows / boxes)));
    bulk::commit_group();
  }
  // Instead of send: the threads that wrote the strip have copied it out themselves. It counts as a store all the same:
  // begin() goes by their number.
  WM_DEVICE void copied() const {
    if (together_.first()) bulk::commit_group();
  }
  // A strip that is never begun.
  WM_DEVICE void left_out() const { copied(); }
  // Nobody reads a strip any more: its memory may become something else.
  WM_DEVICE void drain() const {
    if constexpr (by == StripStore::engine)
      if (together_.first()) bulk::wait_group_read<0>();
    together_.sync();
  }
  // Shared memory lives until its last store has read it.
  WM_DEVICE void end() const {
    if constexpr (by == StripStore::engine) bulk::wait_group_read<0>();
  }

 private:
  Shared& strips_;
  Together together_;
  u32 buffer_ = 0;
};

}  // namespace wm
