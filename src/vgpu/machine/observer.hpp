// What the judge listens to. The machine tells it of every instruction, access, arrival and copy of a checked run; a
// plain run has no observer and pays a branch where it would be told.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "vgpu/machine/footprint.hpp"

namespace wm::vgpu {

class Fault;
class Warp;
struct Cluster;

enum class AccessKind : u8 { read, write, atomic };

// What a thread does to an mbarrier.
struct MbarrierUse {
  enum class Kind : u8 { init, invalidate, arrive, expect, complete, wait };
  Kind kind = Kind::arrive;
  u64 address = 0;  // shared address with the block's rank
  u32 count = 0;    // arrivals; of init, those of every phase
  u32 bytes = 0;    // announced, or completed
  bool drop = false;
  u32 parity = 0;     // a wait asks for
  bool done = false;  // and it is over
};

// How a tile lies in shared memory: as a copy of a tensor writes it, or as a product takes it to lie.
struct TileLayout {
  u32 pattern = 0;      // bytes after which its swizzle repeats; 0: none
  bool chunks = true;   // of 16 bytes are what the swizzle moves
  u32 row_bytes = 0;    // of the innermost dimension of a box; without swizzle a product takes rows of 16
  u32 float_bytes = 0;  // of an element, where it is a floating-point number
  bool aligned = true;  // it begins where the pattern does
};

// A copy as it is issued: what it will read and write, and the mbarrier it signals. The op's effect says the rest.
struct CopyIssue {
  Footprint reads, writes;
  u64 barrier = 0;    // shared address with rank; 0: none
  u64 map = 0;        // generic address of its tensor map; 0: none
  u32 map_bytes = 0;  // of what it is read from
  u64 tile = 0;       // shared address of a tensor's tile
  TileLayout layout;  // of that
};

// A warp's share of a wgmma: the shared memory it reads, and the bases of its operands.
struct MatrixReads {
  struct Operand {
    u32 address = 0;  // in the block's shared memory
    TileLayout layout;
    Footprint reads;
  };
  std::vector<Operand> operands;
  bool accumulates = true;
  std::span<const u32> sums, factors;  // registers of the text that it writes, and those of A that it reads
};

class Observer {
 public:
  virtual ~Observer() = default;

  virtual void cluster_starts(const Cluster& cluster) = 0;
  virtual void cluster_ends(const Cluster& cluster) = 0;
  // No warp can go on, and nothing is in flight.
  virtual void stuck(const Cluster& cluster) = 0;

  // Before and after an instruction runs for `active`. One that waits runs again when its wait is over (warp.resumed).
  virtual void executes(const Warp& warp, const Op& op, u32 active) = 0;
  virtual void executed(const Warp& warp, const Op& op, u32 active, bool waits) = 0;
  virtual void exits(const Warp& warp, u32 lanes) = 0;

  // A warp's instruction reads or writes `bytes` at each active lane's generic address.
  virtual void access(const Warp& warp, const Op& op, AccessKind kind, const u64* addresses, u32 bytes, u32 active) = 0;
  // One lane's access of any length.
  virtual void access_range(const Warp& warp, AccessKind kind, const MemoryRange& range, u32 lane) = 0;

  // bar.sync, bar.red (`waits`) and bar.arrive. `threads` 0: all of the block.
  // This access ends a run that nobody watches. Here it goes on: such a load reads zeros, such a store does nothing.
  virtual void out_of_bounds(const Fault& fault) = 0;
  // Lanes of one weak store wrote different values to the same bytes at `address`, generic: this one and an earlier
  // one.
  virtual void lanes_differ(const Warp& warp, const Op& op, u32 lane, u64 address, u32 bytes) = 0;
  // A shuffle gave `lane` the value of a lane that does not take part.
  virtual void shuffles_absent(const Warp& warp, const Op& op, u32 lane, u32 from) = 0;
  // An address in tensor memory names this lane, which the warp does not reach; it gets the same of its own quarter.
  virtual void names_foreign_lane(const Warp& warp, u32 lane) = 0;
  // An operand is not as PTX has it; chips take it, and so does this one.
  virtual void tolerates(const Warp& warp, Omission what, const std::string& operand) = 0;
  virtual void barrier_arrives(const Warp& warp, u32 lanes, u32 barrier, u32 threads, bool waits) = 0;
  virtual void barrier_passes(const Warp& warp, u32 lanes, u32 barrier) = 0;

  // One lane's use; a wait may be several lanes'.
  virtual void uses_mbarrier(const Warp& warp, const Op& op, u32 lanes, const MbarrierUse& use) = 0;

  // The numbers given here come back when bytes or arrivals reach a barrier.
  virtual u64 copy_issued(const Warp& warp, u32 lane, const CopyIssue& issue) = 0;
  virtual u64 arrival_issued(const Warp& warp, u32 lane, u64 barrier, bool increments) = 0;
  virtual void bytes_arrive(const Cluster& cluster, u64 barrier, u32 bytes, u64 copy) = 0;
  virtual void arrival_arrives(const Cluster& cluster, u64 barrier, u64 arrival) = 0;

  virtual void multiply_issued(const Warp& warp, const Op& op, const MatrixReads& issue) = 0;

  // What the kernel calls its warps and its shared memory.
  virtual void role_named(const Warp& warp, u32 lanes, const std::string& role) = 0;
  virtual void shared_named(const Warp& warp, const std::string& name, u64 address, u32 bytes, u32 count) = 0;

  // Device memory that nobody has written: when the run starts, and of the kernel's malloc.
  virtual void unwritten(const MemoryRange& range) = 0;
  // The kernel has freed what its malloc gave; no other memory will have these addresses.
  virtual void freed(const MemoryRange& range) = 0;
};

}  // namespace wm::vgpu
