// The judge: listens to a run and finds what the memory model does not allow. One launch, one host thread.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "vgpu/check/before_images.hpp"
#include "vgpu/check/findings.hpp"
#include "vgpu/check/judge_state.hpp"
#include "vgpu/check/lanes.hpp"
#include "vgpu/check/names.hpp"
#include "vgpu/check/shadow.hpp"
#include "vgpu/check/sites.hpp"
#include "vgpu/check/swizzles.hpp"
#include "vgpu/machine/block.hpp"
#include "vgpu/machine/fault.hpp"
#include "vgpu/machine/observer.hpp"

namespace wm::vgpu::check {

class Judge final : public Observer {
 public:
  explicit Judge(const Run& run);

  // The run ended with this; findings of the same kind that are there already explain it.
  void faulted(const Fault& fault);
  CheckReport take_report();

  // Nothing is wrong but that memory is read that nobody has written; local memory and registers are no such memory.
  bool only_unwritten_reads();
  void no_result_depends_on_unwritten() { unwritten_matters_ = false; }
  const BeforeImages& overwritten() const { return overwritten_; }
  // Each run that takes of the heap would leave less of it, and has other addresses.
  bool can_be_repeated() const { return overwritten_.whole() && !used_heap_; }
  // Allocations of which it read what nobody had written, by address.
  const std::set<u64>& read_unwritten() const { return read_unwritten_; }
  // Whether global memory counted as unwritten there when the run began, and which bytes of the grain the run wrote.
  bool is_unwritten(u64 address) const { return unwritten_allocation(address).has_value(); }
  u32 written(u64 address) const { return global_.written(address); }

  void cluster_starts(const Cluster& cluster) override;
  void cluster_ends(const Cluster& cluster) override;
  void stuck(const Cluster& cluster) override;
  void executes(const Warp& warp, const Op& op, u32 active) override;
  void executed(const Warp& warp, const Op& op, u32 active, bool waits) override;
  void exits(const Warp& warp, u32 lanes) override;
  void access(const Warp& warp, const Op& op, AccessKind kind, const u64* addresses, u32 bytes, u32 active) override;
  void out_of_bounds(const Fault& fault) override;
  void lanes_differ(const Warp& warp, const Op& op, u32 lane, u64 address, u32 bytes) override;
  void names_foreign_lane(const Warp& warp, u32 lane) override;
  void tolerates(const Warp& warp, Omission what, const std::string& operand) override;
  void shuffles_absent(const Warp& warp, const Op& op, u32 lane, u32 from) override;
  void access_range(const Warp& warp, AccessKind kind, const MemoryRange& range, u32 lane) override;
  void barrier_arrives(const Warp& warp, u32 lanes, u32 barrier, u32 threads, bool waits) override;
  void barrier_passes(const Warp& warp, u32 lanes, u32 barrier) override;
  void uses_mbarrier(const Warp& warp, const Op& op, u32 lanes, const MbarrierUse& use) override;
  u64 copy_issued(const Warp& warp, u32 lane, const CopyIssue& issue) override;
  u64 arrival_issued(const Warp& warp, u32 lane, u64 barrier, bool increments) override;
  void bytes_arrive(const Cluster& cluster, u64 barrier, u32 bytes, u64 copy) override;
  void arrival_arrives(const Cluster& cluster, u64 barrier, u64 arrival) override;
  void multiply_issued(const Warp& warp, const Op& op, const MatrixReads& issue) override;
  void role_named(const Warp& warp, u32 lanes, const std::string& role) override;
  void shared_named(const Warp& warp, const std::string& name, u64 address, u32 bytes, u32 count) override;
  void unwritten(const MemoryRange& range) override;
  void freed(const MemoryRange& range) override;

 private:
  static Meeting& meeting(Meetings& meetings, u64 generation);

  // An accessor's view while cells are checked.
  struct Actor {
    const Warp& warp;
    const LaneClass& knows;
    Stamp stamp;
    bool reads = false, writes = false;
    bool async_proxy = false;
    bool shared = true;  // the memory that is being checked
    bool tensor = false;
    u32 after = 0;                       // asynchronous work whose writes it was just seen to be ordered after
    const TileLayout* layout = nullptr;  // of a tensor's tile or a product's operand
    // How writes of ordinary instructions must be known.
    Known way() const { return !async_proxy ? Known::data : shared ? Known::shared_proxy : Known::global_proxy; }
    // How reads must be known: tcgen05.dealloc has no data, so that it is enough that they are over.
    Known way_of_reads() const { return tensor && writes && stamp.async == 0 ? Known::control : Known::reads; }
  };

  u32 number_of(const Block& block) const {
    const Dim3& grid = run_.shape.grid;
    return (block.id.z * grid.y + block.id.y) * grid.x + block.id.x;
  }
  Dim3 id_of(u32 block) const {
    const Dim3& grid = run_.shape.grid;
    return {block % grid.x, block / grid.x % grid.y, block / grid.x / grid.y};
  }
  BlockState& state_of(const Block& block) { return *blocks_[number_of(block)]; }
  const WarpState& state_of(u32 warp) const { return blocks_[warp / warps_per_block_]->warps[warp % warps_per_block_]; }
  WarpState& state_of(const Warp& warp) { return state_of(warp.block()).warps[warp.index()]; }
  Meetings& cluster_meetings(const Cluster& cluster) { return state_of(*cluster.blocks[0]).cluster_meetings; }
  Stamp stamp(const Warp& warp, u32 lanes, u32 site);
  u32 site_of(const Warp& warp, const Op& op) const;
  u64 new_line() { return lines_ += 4; }  // and three behind it

  // judge_memory.cpp, judge_races.cpp
  void check_range(Actor& actor, u64 address, u64 bytes);
  void check_footprint(Actor& actor, const Footprint& footprint);
  void check_cell(Actor& actor, Cell& cell, u64 address, u64 bytes);
  void check_records(Actor& actor, ShadowPage& page, u64 address, u64 grains);
  void check_write(Actor& actor, const Stamp& write, const Stamp* reader, u64 address, u64 bytes);
  bool passed_on(const Actor& actor, const Stamp* reader) const;
  void check_reader(const Actor& actor, const Stamp& reader, bool was_written, u64 address, u64 bytes);
  void check_written(const Actor& actor, u64 address, u64 bytes);
  void follow_unwritten(WarpState& state, const Warp& warp, u32 number, u32 active);
  bool is_unwritten_read(u32 site) const { return used_reads_.contains(site) && !explained_reads_.contains(site); }
  void report_unwritten_reads();
  const std::byte* bytes_at(const Actor& actor, u64 address, u64 bytes) const;
  bool ordered(const Actor& actor, const Stamp& before, Known way) const;
  static void looks_at(Actor& actor, u64 address) {
    actor.shared = is_shared(address);
    actor.tensor = is_tensor(address);
  }
  bool async_ordered(const Actor& actor, u32 work, Known way) const;
  bool async_reads_ordered(const Actor& actor, u32 work) const;
  bool outlasts(const Actor& actor, const Stamp& earlier) const;
  bool came_too_early(const Actor& actor, const Stamp& write);
  bool conflict_is_strong(const Stamp& a, const Stamp& b) const;
  Scope distance(u32 warp, u32 other) const;
  std::optional<Omission> relies_on_message(const Actor& actor, const Stamp& before) const;
  std::optional<Omission> relies_on_arrival(const Actor& actor, const Stamp& before, bool before_wrote) const;
  std::optional<Omission> relies_on_product(const Actor& actor, const Stamp& before, bool before_wrote) const;
  void race(const Actor& actor, const Stamp& before, bool before_wrote, bool was_written, u64 address, u64 bytes);
  Shadow* shadow_of(const Actor& actor, u64 address);
  void pass_flags(const Warp& warp, const Effect& effect, AccessKind kind, u64 address, u32 lane);
  void remember_visit(const Block& owner, const Stamp& stamp);
  void check_local(const Warp& warp, u32 site, AccessKind kind, u64 address, u32 bytes, u32 lane);
  std::optional<u64> unwritten_allocation(u64 address) const;
  void settle_writes();
  bool is_atomic(const Stamp& stamp) const {
    const Effect& effect = sites_.effect(stamp.site);
    return effect.kind == Effect::Kind::access && effect.atomic;
  }
  static bool is_plain_read(const Actor& actor) {
    return actor.stamp.async == 0 && !actor.stamp.strong && !actor.writes;
  }
  void doubt_read(const Stamp& reader, const Stamp& atomic, u64 address, u64 bytes);
  void settle_reads(const Stamp& compare, u64 address, u64 bytes);
  void report_doubtful_reads();

  // judge_advice.cpp
  void advise(const Warp& warp, u32 site, AccessKind kind, const u64* addresses, u32 bytes, u32 active);
  void report_advice();

  // judge_barriers.cpp, judge_mbarriers.cpp, judge_misuse.cpp
  Mbarrier* find_mbarrier(const Cluster& cluster, u64 address);
  void check_init_visible(const Warp& warp, u32 lane, u64 address, Mbarrier& barrier, const Stamp& use, bool by_copy);
  void reinitialised(const Stamp& init, u64 address, const Stamp& use, const char* verb = "initialised again",
                     std::optional<Omission> omission = std::nullopt);
  bool check_done_with(const Actor& actor, const Mbarrier& barrier, const char* verb);
  void check_barriers_under(const Actor& actor, u64 address, u64 bytes);
  void invalidate(const Warp& warp, u32 lane, Mbarrier& barrier, const Stamp& stamp);
  void initialise(const Warp& warp, u32 lane, u64 address, const MbarrierUse& use, const Stamp& stamp);
  static void announce(Mbarrier& barrier, u32 bytes, const Stamp& me);
  void arrive(Mbarrier& barrier, u32 count, const Clock& message, Scope distance, const Stamp& stamp);
  void turn(Mbarrier& barrier);
  void wait(const Warp& warp, Mbarrier& barrier, const MbarrierUse& use, const Stamp& stamp, const Effect& effect);
  void check_bytes_left(const Cluster& cluster, bool ended);
  void joins_circle(Mbarrier& barrier, u32 warp);
  static std::vector<Stamp> crowd(const Mbarrier& barrier);
  void ends_in_a_copy(const Mbarrier& barrier, const AsyncWork& copy, u32 left);
  void overrun(const Mbarrier& barrier, const Stamp& arrival, const std::vector<Stamp>& others);
  void missed(const Mbarrier& barrier, const Stamp& waiter, std::string waits, const Stamp& end,
              const std::vector<Stamp>& crowd);
  std::string describe_wait(const Cluster& cluster, const Warp& warp, const Part& part);
  std::string why_pending(const Cluster& cluster, const Mbarrier& barrier);
  void cluster_arrive(const Warp& warp, u32 lanes, bool relaxed);
  void cluster_wait(const Warp& warp, u32 lanes);
  void gather_warp(const Warp& warp, const Op& op, u32 lanes);
  void meet_warp(const Warp& warp, const Op& op, u32 lanes);
  void check_aligned(const Warp& warp, u32 site, u32 lanes);
  void divergent(const Warp& warp, u32 site, u32 lanes, std::optional<u32> other_site);

  // judge_layout.cpp
  struct Misaligned {  // a tile between two patterns, which a copy or a product takes, and another instruction
    Stamp tile, other;
    u64 begin = 0;  // of a copied tile, in shared memory
    u32 pattern = 0;
    bool product = false;
    const char* what = nullptr;
  };
  void check_layout(const Actor& actor, const Stamp& write);
  void misaligned(const Stamp& tile, const TileLayout& layout, const Stamp& other, const char* what);
  void report_misaligned();
  void report_misaligned(const Misaligned& use, std::optional<Omission> omission, const char* does);
  void note_rings(const Cluster& cluster);
  void report_rings();
  u32 twin_of(WarpState& state, u32 lane, u32 number, const CopyIssue& issue);

  // judge_tensor.cpp
  static GroupLine* tensor_line_of(WarpState& state, Completion completion, u32 lane);
  void wait_tensor(const Warp& warp, Completion completion);
  void fence_tensor(const Warp& warp, const Effect& effect, u32 lanes);
  void note_loaded(const Warp& warp, WarpState& state, u32 load);
  void note_use(const Warp& warp, WarpState& state, u32 site);
  std::optional<Omission> relies_on_use(const Actor& actor, const Stamp& before, bool before_wrote) const;
  bool follows_in_order(const Actor& actor, const AsyncWork& work) const;
  bool follows_by_fences(const Actor& actor, const AsyncWork& work) const;
  void check_tensor_fence(const Actor& actor, const Stamp& before, bool before_wrote, u64 address, u64 bytes);
  void describe_tensor_race(Finding& finding, u32 work, bool wrote, bool too_early) const;

  // judge_pairs.cpp
  const Mbarrier* peers_barrier(const Cluster& cluster, const Mbarrier& barrier);
  bool bytes_went_to_peer(const Cluster& cluster, const Mbarrier& barrier);
  void check_commit_to_peer(const Cluster& cluster, const Stamp& waiter, u64 address);
  void check_equal_maps(const Actor& product, const Footprint& operands);

  // judge_async.cpp
  void commit(const Warp& warp, Completion groups, u32 lanes);
  void wait_groups(const Warp& warp, const Effect& effect, u32 lanes);
  void run_fence(const Warp& warp, const Effect& effect, u32 lanes);
  void check_map(const Warp& warp, u32 lane, const CopyIssue& issue, const Stamp& stamp);
  void missing_matrix_fence(const WarpState& state, const Stamp& stamp, u32 dirt);
  void check_registers(WarpState& state, const Warp& warp, u32 site);
  void wait_products(const Warp& warp, u32 allowed);
  void check_sources_read(const Warp& warp, u32 lanes);
  void ask_for_registers(const Warp& warp, u32 site, u32 lanes);
  void check_register_budget(const Block& block);
  void check_warpgroups(const Block& block);

  void report_fault(const Fault& fault, u32 site);
  FindingPlace place(const Stamp& stamp, std::string what) const;

  const Run& run_;
  Sites sites_;
  Names names_;
  std::unordered_map<u32, std::string> roles_;  // of warps that have one
  Findings findings_;
  CheckSummary executed_;
  u32 warps_per_block_ = 1;
  u32 running_ = 0;       // the site of the instruction that is running
  u32 running_warp_ = 0;  // and whose it is
  u32 running_lanes_ = 0;
  u64 executions_ = 0;
  bool multiplies_ = false;  // the program has wgmma
  u64 lines_ = 0;
  std::vector<std::unique_ptr<BlockState>> blocks_;  // of the grid; those that run
  ReaderLists reader_lists_;
  Shadow global_;
  std::unordered_map<u64, Flag> flags_;
  std::map<std::pair<u32, u64>, std::vector<Finding::Party>> circles_;  // of mbarriers, by block and offset
  std::vector<AsyncWork> async_;                                        // by number, from 1
  std::unordered_map<u64, Clock> arrivals_;                             // of cp.async.mbarrier.arrive, on their way
  std::unordered_map<u64, Stamp> arrival_stamps_;
  u64 arrivals_issued_ = 0;
  BeforeImages overwritten_;       // global memory
  bool unwritten_matters_ = true;  // some result depends on what nobody has written, or may
  std::map<u64, u64> unwritten_;   // device memory: address and bytes
  std::set<u64> read_unwritten_;
  bool used_heap_ = false;
  std::deque<MemoryRange> freed_;  // memory of the heap whose shadow is kept for a while
  struct Access {
    Stamp stamp;
    u64 address, bytes;
  };
  std::map<u32, Access> unwritten_reads_;  // by site
  std::set<u32> used_reads_;               // sites of unwritten_reads_ with an instruction that took the value
  std::set<u32> explained_reads_;          // sites of unwritten_reads_ that a race explains
  struct DoubtfulWrite {                   // may turn out to have written what was there
    Stamp before, after;
    u64 address;
    const std::byte* place;
    std::array<std::byte, 16> old;
    u32 bytes;
    std::optional<Omission> omission;
  };
  std::vector<DoubtfulWrite> doubtful_;
  struct DoubtfulRead {  // may turn out to be the first of a loop of compare-and-swap
    Stamp reader, atomic;
    u64 bytes;
  };
  std::map<std::tuple<u32, int, u64>, DoubtfulRead> doubtful_reads_;  // by warp, lane and address
  std::vector<Learnt> learnt_;
  struct Advice {
    u64 executed = 0, ideal = 0, actual = 0;
  };
  std::map<u32, Advice> conflicts_, scattered_;
  struct RingUse {  // of the barriers that one copy instruction signals
    Stamp copy;
    u32 barriers = 0;  // of a block
    bool reused = false;
  };
  std::map<u32, RingUse> rings_;  // by site
  Swizzles swizzles_;
  bool uses_tiles_ = false;                               // the program has copies that may swizzle, or products
  std::map<std::pair<u32, u32>, Misaligned> misaligned_;  // by the sites of both
};

}  // namespace wm::vgpu::check
