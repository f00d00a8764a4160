// Tiles that the blocks of one cluster share along k, where they are large: every block gets the sums of some of the
// tile's columns from all blocks, adds them in the order of k, and stores them. Where as many blocks have columns as
// there are, each takes in a tile's worth; where the first adds all (cluster_sums.cuh), it is a tile's worth from every
// other. Parts of the columns are equal multiples of 16, so the last blocks may have none.
//
// The sums lie where the stages were, so all blocks finish their products before any sends, and the loads of the next
// tile wait until the sums have been taken: by every block whose stages they fill, where blocks share operands too.
//
//   done      1 arrival from each multiply warp of every block whose products are done: the stages may be overwritten
//   there[g]  of blocks with columns: 1 arrival (group g, which announces the bytes) + the sums for it from group g of
//             every block
//   taken     1 arrival from each multiply warp that has read its sums, of each block that our copies reach
#pragma once

#include "warpmill/gemm/cluster_sums.cuh"
#include "warpmill/ptx/fence.cuh"

namespace wm {

template <GemmPlan plan>
struct ScatteredSumsShared {
  static constexpr u32 warps = plan.multiply_groups * warpgroup_threads / 32;
  u64 done, taken, there[plan.multiply_groups];

  static constexpr Scope scope = plan.multicasts() ? Scope::cluster : Scope::block;  // of who loads and who takes sums

  // By one thread of the block, before a fence::mbarrier_init and the barrier that lets the others go. `reached`:
  // blocks whose stages our copies fill, this one among them.
  WM_DEVICE void init(u32 reached) {
    name_shared<"done", sizeof done, 1>(&done);
    name_shared<"taken", sizeof taken, 1>(&taken);
    name_shared<"there">(there);
    mbarrier::init(&done, warps * plan.cluster.k);
    mbarrier::init(&taken, warps * reached);
    for (u64& barrier : there) mbarrier::init(&barrier, 1);
  }
  // The stages hold no sums of the block's tile `number` any more.
  WM_DEVICE void wait_until_taken(u32 number) { mbarrier::wait_parity<scope>(&taken, number % 2); }
};

// One multiply thread's part in it; `sharers.part` of k and of the columns is its block's, `stages` the memory of the
// ring, which `sources` fill: a bit for each rank.
template <GemmPlan plan, class Sums, class Share>
class ScatteredSums {
 public:
  using Shared = ScatteredSumsShared<plan>;
  WM_DEVICE ScatteredSums(Shared& shared, void* stages, TileSharers<plan> sharers, u32 sources, u32 group)
      : shared_(shared),
        mine_(static_cast<Parts*>(stages)[group]),
        sharers_(sharers),
        sources_(sources),
        group_(group) {}

  // Whether this block has columns to store: `share`, with all sums now.
  WM_DEVICE bool join(const Sums& sums, Share& share) {
    const bool owns = sharers_.part < owners;
    const u32 thread = thread_of_warpgroup(), lane = thread % 32;
    barrier::sync_warp();
    if (lane < plan.cluster.k) mbarrier::arrive_remote<Scope::cluster>(sharers_.in_block(lane, &shared_.done));
    if (owns && thread == 0) mbarrier::arrive_expect_tx(&shared_.there[group_], sizeof(Parts));
    mbarrier::wait_parity<Scope::cluster>(&shared_.done, phase_);
    send(sums, thread);
    if (owns) {
      mbarrier::wait_parity<Scope::cluster>(&shared_.there[group_], phase_);
      add(share, thread);
      fence::proxy_async_shared();  // the copy engine writes the next tile's stages here
    }
    barrier::sync_warp();
    if constexpr (plan.multicasts()) {
      if (lane < plan.cluster_size() && (sources_ >> lane & 1))
        mbarrier::arrive_remote<Shared::scope>(cluster::map(SharedAddress(&shared_.taken), lane));
    } else {
      if (lane == 0) mbarrier::arrive(&shared_.taken);
    }
    phase_ ^= 1;
    return owns;
  }

 private:
  using Four = Quad<Sum<plan>>;
  static constexpr int slabs = Sums::slabs;  // of 64 rows
  static constexpr int quads = plan.written_columns() / 8, owners = plan.tile.n / plan.written_columns();
  // A thread's sums of one block's columns, beside those of its neighbours.
  using Part = Four[slabs][quads][warpgroup_threads];
  using Parts = Part[plan.cluster.k];  // of one group, from each block
  static_assert(sizeof(Parts) * plan.multiply_groups <= plan.stages * plan.stage_bytes(),
                "the stages hold the sums of a block's columns from all");

  WM_DEVICE void send(const Sums& sums, u32 thread) const {
#pragma unroll
    for (int owner = 0; owner < owners; ++owner) {
      const ClusterAddress there = sharers_.in_block(owner, &shared_.there[group_]);
      const ClusterAddress place = sharers_.in_block(owner, &mine_[sharers_.part][0][0][thread]);
#pragma unroll
      for (int i = 0; i < slabs * quads; ++i) {
        const auto* const value = sums.slab[i / quads].value + (owner * quads + i % quads) * 4;
        cluster::store_async(place + i * u32(sizeof(Four) * warpgroup_threads),
                             Four{value[0], value[1], value[2], value[3]}, there);
      }
    }
  }

  WM_DEVICE void add(Share& share, u32 thread) const {
    share.clear();
#pragma unroll
    for (int part = 0; part < plan.cluster.k; ++part)
#pragma unroll
      for (int i = 0; i < slabs * quads; ++i) {
        const Four four = mine_[part][i / quads][i % quads][thread];
        auto* const value = share.slab[i / quads].value + i % quads * 4;
        value[0] += four.x, value[1] += four.y, value[2] += four.z, value[3] += four.w;
      }
  }

  Shared& shared_;
  Parts& mine_;
  TileSharers<plan> sharers_;
  u32 sources_, group_, phase_ = 0;
};

}  // namespace wm
