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

#include "vgpu/check/findings.hpp"
#include "vgpu/check/lanes.hpp"
#include "vgpu/check/names.hpp"
#include "vgpu/check/shadow.hpp"
#include "vgpu/check/sites.hpp"
#include "vgpu/check/swizzles.hpp"
#include "vgpu/machine/block.hpp"
#include "vgpu/machine/fault.hpp"
#include "vgpu/machine/observer.hpp"

namespace wm::vgpu::check {

// What the writers of a location passed on.
struct Flag {
  Clock clock;
  Scope scope = Scope::device;
  u32 block = 0;  // of the last writer
  u64 cluster = 0;
};

class Judge final : public Observer {
 public:
  explicit Judge(const Run& run);

  // The run ended with this; findings of the same kind that are there already explain it.
  void faulted(const Fault& fault);
  CheckReport take_report();

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
  void unwritten(const MemoryRange& range) override { unwritten_[range.address] = range.bytes; }
  void freed(const MemoryRange& range) override;

 private:
  // What has met at a barrier in one of its last generations.
  struct Meeting {
    u64 generation = ~u64{0};
    Clock clock;
    Pending pending;
  };
  using Meetings = std::array<Meeting, 4>;
  static Meeting& meeting(Meetings& meetings, u64 generation);

  // A line of asynchronous work that completes in groups, in order: cp.async or bulk copies of a thread, wgmma of a
  // warp.
  struct GroupLine {
    u64 id = 0;            // 0: not used yet; + 1 is the line of its sources' reads
    u32 open = 1;          // number of the group that is not committed yet
    u32 source = 0;        // the last work that reads shared memory
    bool follows = false;  // tcgen05: work was issued behind the last fence after a synchronisation
  };

  struct WarpState {
    u32 number = 0;
    WarpClock clock;
    Meeting warp_meeting;  // bar.warp.sync that is being gathered
    u32 gathered = 0;
    Clock gathered_clock;  // of the last that was complete
    Pending gathered_pending;
    std::array<u64, lanes_per_warp> barrier_generation{}, cluster_generation{};
    std::array<GroupLine, lanes_per_warp> copies, bulk;
    std::array<GroupLine, lanes_per_warp> tensor_products;  // tcgen05: products and copies of a thread
    GroupLine tensor_loads, tensor_stores;                  // of the warp
    struct {
      u32 open = 1;   // number of the group of wgmma that is not committed yet
      u32 id = 0;     // the last group with a product in it
      u32 known = 0;  // groups up to this one have been waited for
    } products;
    Shadow local;
    // .aligned instructions in the order of execution; each lane is at a place of it
    struct Together {
      u32 site;
      u32 lanes;
    };
    std::deque<Together> aligned;
    u64 aligned_begin = 0;
    std::array<u64, lanes_per_warp> aligned_at{};
    // Registers, by number in the function's text, while wgmma is used.
    struct InFlight {
      u32 group = 0;  // 0: not in flight
      u32 site = 0;
      bool sum = false;      // D; else A
      bool awaited = false;  // the assembler waits where it is copied
    };
    std::vector<InFlight> in_flight;
    std::vector<u32> loaded;  // the tcgen05.ld whose value a register holds, by its number; 0: none that matters
    std::vector<u32> dirty;   // site + 1 of the last ordinary write since wgmma.fence
    bool fenced = false;      // wgmma.fence has been run
    // Registers, by function and number, whose lanes hold what nobody had written where it was read.
    struct Unwritten {
      u32 site = 0;  // of the read
      u32 lanes = 0;
    };
    std::map<std::pair<u32, u32>, Unwritten> unwritten;
    struct Together4 {  // instructions of whole warpgroups
      u32 count = 0;    // of lanes
      Stamp last;
    };
    Together4 budgets, multiplies;
    struct SameIssue {  // a copy that several lanes may issue, each once
      u64 execution;
      u32 first;  // asynchronous work
      u32 lanes;
      CopyIssue issue;
    };
    std::map<u32, std::deque<SameIssue>> same_issues;  // by site
    struct {
      Stamp stamp;
      u64 barrier = 0;  // its address
      const char* why = nullptr;
    } idle_wait;  // its last wait for an mbarrier, where that was granted without a phase having ended for it
  };

  struct Mbarrier {
    u64 address = 0;  // in shared memory, with the block's rank
    u64 id = 0;  // its line of completed phases, for copies; behind it those for messages of its block and of peers
    Stamp init;
    bool valid = false, again = false;  // again: it was valid when it was initialised
    u32 expected = 0, pending = 0;
    i64 bytes = 0;
    i64 announced = 0;                                  // in this phase
    u32 phase = 0;                                      // number of the one that goes on
    Clock arriving;                                     // of this phase and all before
    Clock done;                                         // of all phases that are over
    Clock peers_arriving, peers_done;                   // what is learnt beside that by who waits at cluster scope
    bool own_messages = false, peers_messages = false;  // st.async has brought bytes
    std::map<std::pair<u32, u32>, Stamp> users;         // the last use of each warp's lanes
    std::vector<Stamp> waits;                           // for the phase that ended last
    std::map<u32, Stamp> heard;                         // of each warp, the last wait that told it of a phase
    Stamp expectation;                                  // the last announcement of bytes
    Stamp copy;                                         // the last copy that brought some
    Stamp last_arrival;
    std::map<u32, Stamp> arrivals;               // the last one of each warp
    std::vector<Stamp> arrived, arrived_before;  // in this phase and in the one before, a warp's at one site together
    Stamp missed_end;                            // what ended a phase when nobody had seen the end of the one before
    std::vector<Stamp> missed_crowd;             // all that arrived in the two, where they are more than it expects
    std::map<u64, u32> under_way;                // copies: bytes still to come
    u32 copied_until = 0;                        // copies have signalled phases before this one
    std::vector<Finding::Party>* circle = nullptr;  // all that use it
  };

  // Lanes of the running instruction that have waited for an mbarrier, and what they learn of it.
  struct Learnt {
    u64 barrier = 0;
    u32 lanes = 0;
    Clock clock;
    Pending pending;
  };

  struct BlockState {
    std::vector<WarpState> warps;
    Shadow shared, tensor;
    std::array<Meetings, barriers_per_block> barriers;
    std::array<Stamp, barriers_per_block> last_arrival;
    Meetings cluster_meetings;                    // of the cluster, in the state of its first block
    std::unordered_map<u64, Mbarrier> mbarriers;  // by offset
    std::set<u64> live;                           // those that are initialised
    std::unordered_map<u64, Flag> flags;
    // Products are a warpgroup's: one warp's wait says that all four have issued theirs, and that these have read.
    struct Products {
      u64 line = 0;
      std::map<u32, Clock> issued;               // by group: what the warps had done when they issued it
      std::map<std::pair<u32, u32>, u32> works;  // by group and site
    };
    std::map<u32, Products> products;
    Clock exits;
    LastOfEach visitors;        // accesses from other blocks
    std::vector<u32> arriving;  // copies that other blocks sent into this one
  };

  // A copy, or a wgmma of a warpgroup.
  struct AsyncWork {
    Stamp issue;
    u64 line = 0;  // whose times say that its writes are done
    u32 time = 0;  // 0: under way
    u64 source_line = 0;
    u32 source_time = 0;
    u64 bytes = 0;
    Clock clock;       // of the issue, while it is under way
    u32 unread = 0;    // asynchronous work whose result this overwrote before anybody had read it
    u32 replaced = 0;  // the same, read or not
    u32 twin = 0;      // the first of the same copies of a warp's lanes
    u64 barrier = 0;   // that it signals, with rank
    TileLayout layout;
    u64 tile = 0;  // of a copied tensor: the offset in shared memory
    bool matrix = false;
    bool tensor = false;                        // of tcgen05; what one thread issues takes place in that order
    Stamp used;                                 // of a tcgen05.ld: the first use of a register that it wrote
    bool signals = false;                       // a barrier; else a group
    bool generic = false;                       // its writes are those of ordinary instructions: cp.async, st.async
    bool from_peer = false;                     // a message of another block's thread
    std::array<u32, warps_per_group> shares{};  // of a wgmma: when each warp issued its own; 0: not yet
  };

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
  std::optional<Omission> relies_on_product(const Actor& actor, const Stamp& before, bool before_wrote) const;
  void race(const Actor& actor, const Stamp& before, bool before_wrote, bool was_written, u64 address, u64 bytes);
  Shadow* shadow_of(const Actor& actor, u64 address);
  void pass_flags(const Warp& warp, const Effect& effect, AccessKind kind, u64 address, u32 lane);
  void remember_visit(const Block& owner, const Stamp& stamp);
  void check_local(const Warp& warp, u32 site, AccessKind kind, u64 address, u32 bytes, u32 lane);
  bool is_unwritten(u64 address) const;
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
  void reinitialised(const Stamp& init, u64 address, const Stamp& use, const char* verb = "initialised again");
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
  void check_map(const Warp& warp, u32 lane, u64 map, const Stamp& stamp);
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
  std::map<u64, u64> unwritten_;   // device memory: address and bytes
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
