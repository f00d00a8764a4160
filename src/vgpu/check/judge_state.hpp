// What the judge knows of warps, mbarriers, blocks and asynchronous work.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "vgpu/check/lanes.hpp"
#include "vgpu/check/shadow.hpp"
#include "vgpu/machine/block.hpp"
#include "vgpu/machine/observer.hpp"
#include "warpmill/check.hpp"

namespace wm::vgpu::check {

// What the writers of a location passed on.
struct Flag {
  Clock clock;
  Scope scope = Scope::device;
  u32 block = 0;  // of the last writer
  u64 cluster = 0;
};

// What has met at a barrier in one of its last generations.
struct Meeting {
  u64 generation = ~u64{0};
  Clock clock;
  Pending pending;
};
using Meetings = std::array<Meeting, 4>;
// A line of asynchronous work that completes in groups, in order: cp.async or bulk copies of a thread, wgmma of a
// warp.
struct GroupLine {
  u64 id = 0;            // 0: not used yet; + 1 is the line of its sources' reads
  u32 open = 1;          // number of the group that is not committed yet
  u32 source = 0;        // the last work that reads shared memory
  bool follows = false;  // tcgen05: work was issued behind the last fence after a synchronisation
};

// Lanes of one mask that meet at bar.warp.sync.
struct WarpMeeting {
  explicit WarpMeeting(u32 lanes) : named(lanes) {}
  u32 named;         // the mask
  u32 gathered = 0;  // who has come, while somebody has not
  Clock clock;       // of those
  Pending pending;
  Clock met_clock;  // of the last that was complete
  Pending met_pending;
};

struct WarpState {
  u32 number = 0;
  WarpClock clock;
  std::vector<WarpMeeting> meetings;
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
  u64 id = 0;       // its line of completed phases, for copies; behind it those for messages of its block and of peers
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
  std::map<u32, Stamp> arrivals;                  // the last one of each warp
  std::vector<Stamp> arrived, arrived_before;     // in this phase and in the one before, a warp's at one site together
  Stamp missed_end;                               // what ended a phase when nobody had seen the end of the one before
  std::vector<Stamp> missed_crowd;                // all that arrived in the two, where they are more than it expects
  std::map<u64, u32> under_way;                   // copies: bytes still to come
  u32 copied_until = 0;                           // copies have signalled phases before this one
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

}  // namespace wm::vgpu::check
