// What an instruction does to more than its registers: the memory it touches, through which proxy, ordered how and how
// far, and what completes it. A decoder says it once, when it emits an op; execution and judge read it.
#pragma once

#include "vgpu/machine/op.hpp"
#include "vgpu/memory/spaces.hpp"

namespace wm::vgpu {

// The threads that an order reaches; or, of two threads, the smallest of these that holds both.
enum class Scope : u8 { block, cluster, device };

enum class Ordering : u8 { weak, relaxed, acquire, release, acq_rel, volatile_, mmio };

// The ways to memory. Accesses of different proxies to the same bytes need a fence between them.
enum class Proxy : u8 { generic, async, tensor_map };

// How it is learnt that work beside the threads is done.
enum class Completion : u8 {
  at_once,          // there is none
  copy_groups,      // cp.async.wait_group, of the thread
  bulk_groups,      // cp.async.bulk.wait_group, of the thread
  products,         // wgmma.wait_group, of the warpgroup
  mbarrier,         // complete_tx
  tensor_products,  // tcgen05.commit and its mbarrier: products and copies of the thread
  tensor_loads,     // tcgen05.wait::ld, of the warp
  tensor_stores,    // tcgen05.wait::st
};

struct Effect {
  enum class Kind : u8 {
    none,        // registers only, or nothing
    arithmetic,  // registers only, and every one it reads counts
    move,        // a value from register to register
    name,        // tells the observer a name; no instruction
    access,      // of threads to memory
    fence,
    proxy_fence,
    init_fence,  // of mbarrier initialisations
    map_release,
    map_acquire,
    warp_sync,
    block_barrier,
    cluster_arrive,
    cluster_wait,
    mbarrier,
    copy,            // begins asynchronous work on memory
    copy_arrival,    // arrives at an mbarrier when the thread's work so far is done
    commit,          // closes a group
    wait,            // for groups
    multiply,        // begins a product of matrices
    multiply_fence,  // of the registers that a product uses
    tensor_fence,    // between tcgen05 and the threads' synchronisation; releases before it, acquires after it
    register_budget,
  };

  Kind kind = Kind::none;
  AddressSpace space = AddressSpace::generic;  // touched; of a proxy fence generic: every one
  Ordering ordering = Ordering::weak;
  Scope scope = Scope::device;
  Proxy proxy = Proxy::generic;
  Completion completion = Completion::at_once;
  bool atomic = false;        // reads, changes and writes in one
  bool compares = false;      // writes only where the value is the expected one
  bool whole_warp = false;    // .aligned: all lanes of the warp together
  bool gathers = false;       // .sync, by registers alone: executed when all lanes that its mask names have come
  bool sources_only = false;  // waits until the groups' sources are read
  bool commits = false;       // waits for what is not committed too
  bool allocates = false;     // columns of tensor memory: what it writes is their address
  bool first = false;         // op of its instruction, which may be several
  u32 count = 0;              // groups that may stay pending

  bool operator==(const Effect&) const = default;

  bool strong() const { return atomic || ordering != Ordering::weak; }
  bool acquires() const { return ordering == Ordering::acquire || ordering == Ordering::acq_rel; }
  bool releases() const { return ordering == Ordering::release || ordering == Ordering::acq_rel; }
  bool relaxed() const { return ordering == Ordering::relaxed; }

  static constexpr Effect none() { return {}; }
  static constexpr Effect arithmetic() { return {.kind = Kind::arithmetic}; }
  static constexpr Effect move() { return {.kind = Kind::move}; }
  static constexpr Effect name() { return {.kind = Kind::name}; }

  static constexpr Effect access(AddressSpace space, Ordering ordering = Ordering::weak, Scope scope = Scope::device) {
    return {.kind = Kind::access, .space = space, .ordering = ordering, .scope = scope};
  }
  static constexpr Effect atomic_access(AddressSpace space, Ordering ordering, Scope scope, bool compares) {
    Effect effect = access(space, ordering, scope);
    effect.atomic = true;
    effect.compares = compares;
    return effect;
  }

  static constexpr Effect fence(Ordering ordering, Scope scope) {
    return {.kind = Kind::fence, .ordering = ordering, .scope = scope};
  }
  // Between the generic proxy and the async one, for this space or, generic, for all.
  static constexpr Effect proxy_fence(AddressSpace space) {
    return {.kind = Kind::proxy_fence, .space = space, .proxy = Proxy::async};
  }
  static constexpr Effect init_fence() { return {.kind = Kind::init_fence, .scope = Scope::cluster}; }
  static constexpr Effect map_release(Scope scope) {
    return {.kind = Kind::map_release, .scope = scope, .proxy = Proxy::tensor_map};
  }
  static constexpr Effect map_acquire(Scope scope) {
    return {.kind = Kind::map_acquire, .scope = scope, .proxy = Proxy::tensor_map};
  }

  static constexpr Effect warp_sync() { return {.kind = Kind::warp_sync}; }
  static constexpr Effect block_barrier() { return {.kind = Kind::block_barrier, .scope = Scope::block}; }
  static constexpr Effect cluster_arrive(Ordering ordering) {
    return {.kind = Kind::cluster_arrive, .ordering = ordering, .scope = Scope::cluster};
  }
  static constexpr Effect cluster_wait() {
    return {.kind = Kind::cluster_wait, .ordering = Ordering::acquire, .scope = Scope::cluster};
  }
  static constexpr Effect mbarrier(Ordering ordering, Scope scope) {
    return {.kind = Kind::mbarrier, .space = AddressSpace::shared_cluster, .ordering = ordering, .scope = scope};
  }

  static constexpr Effect copy(Proxy proxy, Completion completion) {
    return {.kind = Kind::copy, .proxy = proxy, .completion = completion};
  }
  // Each element is an atomic operation.
  static constexpr Effect reduction(Proxy proxy, Completion completion) {
    Effect effect = copy(proxy, completion);
    effect.atomic = true;
    return effect;
  }
  static constexpr Effect copy_arrival() {
    return {.kind = Kind::copy_arrival,
            .ordering = Ordering::release,
            .scope = Scope::block,
            .completion = Completion::copy_groups};
  }
  static constexpr Effect tensor_commit() {
    return {.kind = Kind::copy_arrival, .scope = Scope::cluster, .completion = Completion::tensor_products};
  }
  static constexpr Effect tensor_fence(bool after) {
    return {.kind = Kind::tensor_fence, .ordering = after ? Ordering::acquire : Ordering::release};
  }
  static constexpr Effect commit(Completion groups) { return {.kind = Kind::commit, .completion = groups}; }
  static constexpr Effect wait(Completion groups, u32 pending) {
    return {.kind = Kind::wait, .completion = groups, .count = pending};
  }
  // Until their sources are read.
  static constexpr Effect wait_for_sources(Completion groups, u32 pending) {
    Effect effect = wait(groups, pending);
    effect.sources_only = true;
    return effect;
  }
  static constexpr Effect wait_for_all(Completion groups) {
    Effect effect = wait(groups, 0);
    effect.commits = true;
    return effect;
  }

  static constexpr Effect multiply() {
    return {.kind = Kind::multiply,
            .space = AddressSpace::shared,
            .proxy = Proxy::async,
            .completion = Completion::products};
  }
  static constexpr Effect multiply_fence() { return {.kind = Kind::multiply_fence}; }
  static constexpr Effect register_budget() { return {.kind = Kind::register_budget}; }

  // Lanes exchange or use registers, so that what each has loaded into them has come.
  bool brings_together() const { return gathers || (whole_warp && kind == Kind::none); }

  static constexpr Effect gathering() {
    Effect effect;
    effect.gathers = true;
    return effect;
  }
  constexpr Effect by_whole_warp(bool yes = true) const {
    Effect effect = *this;
    effect.whole_warp = yes;
    return effect;
  }
  constexpr Effect of_allocation() const {
    Effect effect = *this;
    effect.allocates = true;
    return effect;
  }
};

}  // namespace wm::vgpu
