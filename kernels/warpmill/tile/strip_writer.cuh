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

// `barrier` is a named barrier of the group's own. All functions: all threads of the warpgroup.
template <class Tile, int buffers, StripStore by = StripStore::engine>
class StripWriter {
 public:
  using Shared = Tile[buffers];
  WM_DEVICE StripWriter(Shared& strips, u32 barrier) : strips_(strips), barrier_(barrier) {}

  // The next strip, once the store that last used it has read it.
  WM_DEVICE Tile& begin() {
    Tile& strip = strips_[buffer_];
    buffer_ = (buffer_ + 1) % buffers;
    if constexpr (by == StripStore::engine)
      if (issuer()) bulk::wait_group_read<buffers - 1>();  // only the issuer of a store can know
    barrier::sync(barrier_, warpgroup_threads);
    return strip;
  }
  WM_DEVICE void filled() const {
    if constexpr (by == StripStore::engine) fence::proxy_async_shared();
    barrier::sync(barrier_, warpgroup_threads);
  }
  // One store by the copy engine.
  template <int rank>
  WM_DEVICE void send(Tile& strip, const TensorMap& map, const i32 (&at)[rank]) const {
    static_assert(by == StripStore::engine, "threads copy these strips out");
    if (!issuer()) return;
    tma::store(map, at, strip.from_row(0));
    bulk::commit_group();
  }
  // Nobody reads a strip any more: its memory may become something else.
  WM_DEVICE void drain() const {
    if constexpr (by == StripStore::engine)
      if (issuer()) bulk::wait_group_read<0>();
    barrier::sync(barrier_, warpgroup_threads);
  }
  // Shared memory lives until its last store has read it.
  WM_DEVICE void end() const {
    if constexpr (by == StripStore::engine) bulk::wait_group_read<0>();
  }

 private:
  static WM_DEVICE bool issuer() { return thread_of_warpgroup() == 0; }

  Shared& strips_;
  u32 barrier_;
  u32 buffer_ = 0;
};

}  // namespace wm
