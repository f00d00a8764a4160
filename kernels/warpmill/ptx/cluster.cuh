// Clusters (sm_90): their barrier, their ranks, and the shared memory of their blocks.
#pragma once

#include "warpmill/types.cuh"

namespace wm::cluster {

// %cluster_ctarank, %cluster_nctarank: this block's number in the cluster, and how many there are. Any thread.
WM_DEVICE u32 rank() {
  u32 value;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(value));
  return value;
}
WM_DEVICE u32 blocks() {
  u32 value;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(value));
  return value;
}

// %is_explicit_cluster: whether the launch asked for clusters at all.
WM_DEVICE bool is_explicit() {
  u32 value;
  asm("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p;}" : "=r"(value));
  return value;
}

// %cluster_ctaid, %cluster_nctaid: the block's place in the cluster and the cluster's shape; %clusterid, %nclusterid:
// the cluster's place in the grid and the grid's shape in clusters.
struct Place {
  u32 x, y, z;
};
WM_DEVICE Place block_place() {
  Place p;
  asm("mov.u32 %0, %%cluster_ctaid.x; mov.u32 %1, %%cluster_ctaid.y; mov.u32 %2, %%cluster_ctaid.z;"
      : "=r"(p.x), "=r"(p.y), "=r"(p.z));
  return p;
}
WM_DEVICE Place shape() {
  Place p;
  asm("mov.u32 %0, %%cluster_nctaid.x; mov.u32 %1, %%cluster_nctaid.y; mov.u32 %2, %%cluster_nctaid.z;"
      : "=r"(p.x), "=r"(p.y), "=r"(p.z));
  return p;
}
WM_DEVICE Place place() {
  Place p;
  asm("mov.u32 %0, %%clusterid.x; mov.u32 %1, %%clusterid.y; mov.u32 %2, %%clusterid.z;"
      : "=r"(p.x), "=r"(p.y), "=r"(p.z));
  return p;
}
WM_DEVICE Place grid_shape() {
  Place p;
  asm("mov.u32 %0, %%nclusterid.x; mov.u32 %1, %%nclusterid.y; mov.u32 %2, %%nclusterid.z;"
      : "=r"(p.x), "=r"(p.y), "=r"(p.z));
  return p;
}

// The cluster's barrier: all threads of all blocks, each arriving once and waiting once. `.aligned`: whole warps.

// barrier.cluster.arrive.release.aligned.
WM_DEVICE void arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
// barrier.cluster.arrive.relaxed.aligned: without the release, for a barrier that only keeps blocks alive.
WM_DEVICE void arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
// barrier.cluster.wait.acquire.aligned.
WM_DEVICE void wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
// The three for a warp in pieces.
WM_DEVICE void arrive_unaligned() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
WM_DEVICE void arrive_relaxed_unaligned() { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
WM_DEVICE void wait_unaligned() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
// arrive and wait.
WM_DEVICE void sync() {
  arrive();
  wait();
}

// mapa.shared::cluster.u32: where the variable at `own` lies in block `rank` of the cluster. Any thread.
WM_DEVICE ClusterAddress map(SharedAddress own, u32 rank) {
  u32 address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(own.value), "r"(rank));
  return ClusterAddress(address);
}

// mapa.u64: the same for a generic pointer into shared memory; the result is dereferenced as any pointer.
template <class T>
WM_DEVICE T* map(T* own, u32 rank) {
  u64 address;
  asm("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(own), "r"(rank));
  return reinterpret_cast<T*>(address);
}

// getctarank.shared::cluster.u32: whose shared memory an address is.
WM_DEVICE u32 rank_of(ClusterAddress address) {
  u32 value;
  asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(value) : "r"(address.value));
  return value;
}

// Loads and stores of another block's shared memory. Any thread; the block must have started (a cluster barrier) and
// must not exit before (another). Plain accesses: a barrier at cluster scope orders them.

// ld.shared::cluster: 4, 8 or 16 bytes.
template <class T>
WM_DEVICE T load(ClusterAddress address) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "cluster::load moves 4, 8 or 16 bytes");
  union {
    u32 word[sizeof(T) / 4];
    T value;
  };
  if constexpr (sizeof(T) == 4)
    asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(word[0]) : "r"(address.value) : "memory");
  else if constexpr (sizeof(T) == 8)
    asm volatile("ld.shared::cluster.v2.b32 {%0, %1}, [%2];"
                 : "=r"(word[0]), "=r"(word[1])
                 : "r"(address.value)
                 : "memory");
  else
    asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                 : "r"(address.value)
                 : "memory");
  return value;
}

// st.shared::cluster: 4, 8 or 16 bytes.
template <class T>
WM_DEVICE void store(ClusterAddress address, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "cluster::store moves 4, 8 or 16 bytes");
  union Words {
    T value;
    u32 word[sizeof(T) / 4];
  } words{value};
  const auto& word = words.word;
  if constexpr (sizeof(T) == 4)
    asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(address.value), "r"(word[0]) : "memory");
  else if constexpr (sizeof(T) == 8)
    asm volatile("st.shared::cluster.v2.b32 [%0], {%1, %2};" ::"r"(address.value), "r"(word[0]), "r"(word[1])
                 : "memory");
  else
    asm volatile("st.shared::cluster.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address.value), "r"(word[0]), "r"(word[1]),
                 "r"(word[2]), "r"(word[3])
                 : "memory");
}

// atom.relaxed.cluster.shared::cluster.add.u32: returns the old value.
WM_DEVICE u32 fetch_add(ClusterAddress address, u32 value) {
  u32 old;
  asm volatile("atom.relaxed.cluster.shared::cluster.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "r"(address.value), "r"(value)
               : "memory");
  return old;
}

// atom.relaxed.cluster.shared::cluster.cas.b32: returns the old value.
WM_DEVICE u32 compare_swap(ClusterAddress address, u32 expected, u32 desired) {
  u32 old;
  asm volatile("atom.relaxed.cluster.shared::cluster.cas.b32 %0, [%1], %2, %3;"
               : "=r"(old)
               : "r"(address.value), "r"(expected), "r"(desired)
               : "memory");
  return old;
}

// st.async: a store (4, 8 or 16 bytes) that a barrier in the same block as its target counts. It is weak and happens
// later: only the barrier's wait orders it.
template <class T>
WM_DEVICE void store_async(ClusterAddress address, T value, ClusterAddress barrier) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "cluster::store_async moves 4, 8 or 16 bytes");
  union Words {
    T value;
    u32 word[sizeof(T) / 4];
  } words{value};
  const auto& word = words.word;
  if constexpr (sizeof(T) == 4)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(address.value),
                 "r"(word[0]), "r"(barrier.value)
                 : "memory");
  else if constexpr (sizeof(T) == 8)
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(address.value),
        "r"(word[0]), "r"(word[1]), "r"(barrier.value)
        : "memory");
  else
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                     address.value),
                 "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]), "r"(barrier.value)
                 : "memory");
}

// The same of four floats, which stay floats: as bits, the compiler would move a wgmma's sums while they are being
// made.
WM_DEVICE void store_async(ClusterAddress address, const Quad<f32>& value, ClusterAddress barrier) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address.value),
      "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w), "r"(barrier.value)
      : "memory");
}

// red.async: a reduction that a barrier counts as bytes, relaxed at cluster scope. u32: every operation; i32: add, min,
// max; u64: add.
template <Reduction operation, class T>
WM_DEVICE void reduce_async(ClusterAddress address, T value, ClusterAddress barrier) {
  static_assert(
      same<T, u32> || (same<T, i32> && operation <= Reduction::max) || (same<T, u64> && operation == Reduction::add),
      "red.async: u32 with every operation, i32 with add, min and max, u64 with add");
#define WM_RED_ASYNC(suffix, constraint)                                                        \
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." suffix \
               " [%0], %1, [%2];" ::"r"(address.value),                                         \
               constraint(value), "r"(barrier.value)                                            \
               : "memory")
  if constexpr (same<T, u64>) {
    WM_RED_ASYNC("add.u64", "l");
  } else if constexpr (same<T, i32>) {
    if constexpr (operation == Reduction::add) WM_RED_ASYNC("add.s32", "r");
    if constexpr (operation == Reduction::min) WM_RED_ASYNC("min.s32", "r");
    if constexpr (operation == Reduction::max) WM_RED_ASYNC("max.s32", "r");
  } else {
    if constexpr (operation == Reduction::add) WM_RED_ASYNC("add.u32", "r");
    if constexpr (operation == Reduction::min) WM_RED_ASYNC("min.u32", "r");
    if constexpr (operation == Reduction::max) WM_RED_ASYNC("max.u32", "r");
    if constexpr (operation == Reduction::increment) WM_RED_ASYNC("inc.u32", "r");
    if constexpr (operation == Reduction::decrement) WM_RED_ASYNC("dec.u32", "r");
    if constexpr (operation == Reduction::bit_and) WM_RED_ASYNC("and.b32", "r");
    if constexpr (operation == Reduction::bit_or) WM_RED_ASYNC("or.b32", "r");
    if constexpr (operation == Reduction::bit_xor) WM_RED_ASYNC("xor.b32", "r");
  }
#undef WM_RED_ASYNC
}

}  // namespace wm::cluster
