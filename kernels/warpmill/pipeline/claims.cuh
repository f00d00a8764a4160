// Work that a running cluster takes over from clusters that have not started (sm_100): a grid with a cluster for each
// tile is walked by those that came first, whatever else keeps the chip busy.
//
// One thread of each block claims: the first block's asks, and the answer comes to all of them. Whoever works reads
// each answer in turn. After the first refusal there is nothing left.
//
//   claims.full[i]   1 arrival (the block's claiming thread, which announces the bytes) + the answer's 16 bytes
//   claims.empty[i]  of the first block: 1 arrival from each reader of each block, and from the other blocks' claiming
//                    threads, which read it too
#pragma once

#include "warpmill/pipeline/names.cuh"
#include "warpmill/pipeline/ring.cuh"
#include "warpmill/ptx/barrier.cuh"
#include "warpmill/ptx/cluster_launch.cuh"
#include "warpmill/ptx/fence.cuh"

namespace wm {

struct ClaimsShared {
  static constexpr int answers = 2;  // so many tiles are claimed ahead of the slowest reader
  alignas(16) cluster_launch::Answer answer[answers];
  RingBarriers<answers> ring;

  // By one thread of the block, before a fence::mbarrier_init and the barrier that lets the others go. `readers` of all
  // `blocks` of the cluster together, without those that claim.
  WM_DEVICE void init(u32 readers, u32 blocks) {
    name_shared<"claims.full">(ring.full);
    name_shared<"claims.empty">(ring.empty);
    for (int i = 0; i < answers; ++i) {
      mbarrier::init(&ring.full[i], 1);
      mbarrier::init(&ring.empty[i], readers + blocks - 1);
    }
  }
};

// Who reads answers together.
struct ThreadReads {
  static WM_DEVICE void sync() {}
  static WM_DEVICE bool first() { return true; }
};
struct WarpReads {
  static WM_DEVICE void sync() { barrier::sync_warp(); }
  static WM_DEVICE bool first() { return threadIdx.x % 32 == 0; }
};

// One thread's place among the answers, in a cluster of so many blocks.
template <u32 blocks>
class Claims {
 public:
  WM_DEVICE explicit Claims(ClaimsShared& shared) : shared_(shared) {}

  // The claiming thread of each block: until a refusal.
  WM_DEVICE void claim() {
    const bool asks = blocks == 1 || cluster::rank() == 0;
    for (bool taken = true; taken; advance()) {
      if (asks) mbarrier::wait_parity<scope>(&shared_.ring.empty[index_], phase_ ^ 1);
      mbarrier::arrive_expect_tx(&shared_.ring.full[index_], sizeof(cluster_launch::Answer));
      if (asks && blocks == 1) cluster_launch::request(&shared_.answer[index_], &shared_.ring.full[index_]);
      if (asks && blocks > 1) cluster_launch::request_for_cluster(&shared_.answer[index_], &shared_.ring.full[index_]);
      taken = cluster_launch::taken(wait());
      if (!asks) release();
    }
  }

  // Whether there is more, and in `block` the number of the first block that it was meant for.
  template <class Together>
  WM_DEVICE bool next(u32& block) {
    const cluster_launch::Answer answer = wait();
    const bool taken = cluster_launch::taken(answer);
    if (taken) block = cluster_launch::first_block(answer).x;
    Together::sync();
    if (Together::first()) release();
    advance();
    return taken;
  }

 private:
  static constexpr Scope scope = blocks == 1 ? Scope::block : Scope::cluster;
  WM_DEVICE void release() const {
    if constexpr (blocks == 1)
      mbarrier::arrive(&shared_.ring.empty[index_]);
    else
      mbarrier::arrive_remote<scope>(cluster::map(SharedAddress(&shared_.ring.empty[index_]), 0));
  }
  WM_DEVICE cluster_launch::Answer wait() const {
    mbarrier::wait_parity(&shared_.ring.full[index_], phase_);
    const cluster_launch::Answer answer = cluster_launch::read(&shared_.answer[index_]);
    fence::proxy_async_shared();  // the next answer comes over it
    return answer;
  }
  WM_DEVICE void advance() {
    if (++index_ == ClaimsShared::answers) {
      index_ = 0;
      phase_ ^= 1;
    }
  }
  ClaimsShared& shared_;
  u32 index_ = 0, phase_ = 0;
};

// The same where one thread asks and reads, of a block alone or of each of two. It asks when it begins with something,
// and has the answer when it is done.
//
//   claim        1 arrival (the block's thread, which announces the bytes) + the answer's 16 bytes
//   claim.read   of two blocks the first one's: 1 arrival of the second's thread, which has read the answer
template <u32 blocks>
struct OwnClaimShared {
  alignas(16) cluster_launch::Answer answer;
  u64 arrived, read;  // the barriers

  // As ClaimsShared's.
  WM_DEVICE void init() {
    name_shared<"claim", 8, 1>(&arrived);
    mbarrier::init(&arrived, 1);
    if constexpr (blocks == 1) return;
    name_shared<"claim.read", 8, 1>(&read);
    mbarrier::init(&read, 1);
  }
};
template <u32 blocks>
class OwnClaim {
 public:
  WM_DEVICE explicit OwnClaim(OwnClaimShared<blocks>& shared) : shared_(shared) {}

  WM_DEVICE void ask() const {
    mbarrier::arrive_expect_tx(&shared_.arrived, sizeof(cluster_launch::Answer));
    if constexpr (blocks == 1) {
      cluster_launch::request(&shared_.answer, &shared_.arrived);
    } else if (cluster::rank() == 0) {
      mbarrier::wait_parity<Scope::cluster>(&shared_.read, phase_ ^ 1);  // at once before the first answer
      cluster_launch::request_for_cluster(&shared_.answer, &shared_.arrived);
    }
  }
  // Whether there is more, and in `block` the number of the block that it was meant for. Not to be asked for again
  // where there is not.
  WM_DEVICE bool take(u32& block) {
    mbarrier::wait_parity(&shared_.arrived, phase_);
    phase_ ^= 1;
    const cluster_launch::Answer answer = cluster_launch::read(&shared_.answer);
    fence::proxy_async_shared();  // the next answer comes over it
    if constexpr (blocks > 1)
      if (cluster::rank() > 0) mbarrier::arrive_remote(cluster::map(SharedAddress(&shared_.read), 0));
    if (!cluster_launch::taken(answer)) return false;
    block = cluster_launch::first_block(answer).x;
    return true;
  }

 private:
  OwnClaimShared<blocks>& shared_;
  u32 phase_ = 0;
};

}  // namespace wm
