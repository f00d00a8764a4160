// A warp: registers as rows of 32 lanes, and one or more parts, each a program counter with the lanes that are there.
#pragma once

#include <array>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "vgpu/machine/fault.hpp"
#include "vgpu/machine/groups.hpp"
#include "vgpu/machine/op.hpp"
#include "vgpu/machine/program.hpp"

namespace wm::vgpu {

struct Block;
struct Cluster;
struct Run;

// One activation of a function. Rows are numbered from the frame's base in each bank.
struct Frame {
  const Function* function = nullptr;
  u32 base32 = 0, base64 = 0, base_predicates = 0;
  u32 local_base = 0;  // of the frame in each lane's local memory
  u32 return_pc = 0;   // in the caller
  bool operator==(const Frame&) const = default;
};

enum class WaitKind : u8 {
  none,
  lanes,            // a .sync instruction waits for lanes of this warp
  barrier,          // bar.sync, bar.red: `index` and `generation` of a barrier of the block
  cluster_barrier,  // barrier.cluster.wait
  mbarrier,         // try_wait and test_wait: `address`, `parity`
  copy_groups,      // cp.async.wait_group
  bulk_groups,      // cp.async.bulk.wait_group
  matrix_groups,    // wgmma.wait_group
  products,         // all wgmma, where the assembler puts a wait in
  tensor_memory,    // tcgen05.alloc: `index` columns; `anywhere`: of a pair
  tensor_stores,    // tcgen05.wait::st
  registers,        // setmaxnreg.inc: `index` for each thread
  pause,            // nanosleep: let the others go first
};

// Why a part cannot go on. Its program counter stays at the instruction that waits, which runs again when the wait is
// over.
struct Wait {
  WaitKind kind = WaitKind::none;
  bool may_give_up = false;  // try_wait and test_wait may also answer "not yet"
  u8 parity = 0;
  bool reading = false;   // bulk groups: only until their sources are read
  bool anywhere = false;  // lanes: any bar.warp.sync of theirs will do, not only this one; columns: of both blocks
  u32 index = 0;          // barrier; how many groups may stay pending; how many columns
  u32 lanes = 0;          // the lanes that a .sync instruction names
  u64 address = 0;
  u64 generation = 0;
  u64 until = 0;  // the cluster's round in which it gives up, or in which a pause is over
};

struct Part {
  u32 pc = 0;
  u32 mask = 0;
  Frame frame;
  std::vector<Frame> callers;  // outermost first
  Wait wait;
  bool resumed = false;  // the instruction at pc has waited: it runs for the second time
  bool gave_up = false;  // and its wait ended without what it waited for
  u64 last_run = 0;      // the warp's instruction count when it last ran
};

class Warp {
 public:
  Warp() = default;
  Warp(Warp&&) = default;

  // Ready at the kernel's first instruction, lanes 0 to `threads` - 1.
  void start(Block& block, u32 index, u32 threads);
  // Runs at most `budget` instructions; gives how many it ran. 0: every part waits.
  u32 run(u32 budget);
  bool finished() const { return parts_.empty(); }
  const std::vector<Part>& parts() const { return parts_; }
  std::vector<Part>& parts() { return parts_; }

  // ---- for handlers: the running part, unpacked ----
  u32 pc = 0;    // of the next instruction
  u32 mask = 0;  // lanes of this part
  bool resumed = false, gave_up = false;

  const u32* source32(Operand o) const { return bases32_[o.code & 1] + (o.code >> 1) * lanes_per_warp; }
  const u64* source64(Operand o) const { return bases64_[o.code & 1] + (o.code >> 1) * lanes_per_warp; }
  u32* row32(Operand o) { return r32_ + (o.code >> 1) * lanes_per_warp; }
  u64* row64(Operand o) { return r64_ + (o.code >> 1) * lanes_per_warp; }
  u32 predicate(Predicate p) const { return predicates_[p.row] ^ p.flip; }
  void set_predicate(u32 row, u32 bits, u32 active) {
    predicates_[row] = (predicates_[row] & ~active) | (bits & active);
  }
  u32 local_base() const { return frame_.local_base; }
  const Function* function() const { return frame_.function; }
  const Frame& frame() const { return frame_; }
  // Of an op of the running function.
  const Effect& effect(const Op& op) const {
    return frame_.function->effects[static_cast<std::size_t>(&op - frame_.function->ops.data())];
  }
  // 32-bit rows from the first of a frame. Calls may move them: not to be kept.
  u32* frame_rows(u32 base32) { return file32_.get() + std::size_t{base32} * lanes_per_warp; }

  Block& block() const { return *block_; }
  Cluster& cluster() const;
  Run& launch() const;
  u32 index() const { return index_; }
  u32 live() const { return live_; }        // lanes that have not exited
  u32 started() const { return started_; }  // lanes that the block gave this warp
  u64 instructions() const { return instructions_; }
  u32 thread(u32 lane) const { return index_ * lanes_per_warp + lane; }

  // ---- for handlers: control flow ----
  // `taken` of the active lanes go to `target`, the others of the part go on.
  Step branch(u32 target, u32 taken);
  Step exit(u32 lanes);
  // The active lanes wait here; the part's other lanes go on.
  Step wait(const Wait& wait, u32 active);
  // For .sync instructions: whether all live lanes of `named` are here, after taking in those that wait here already.
  // If not, the caller gives wait_for_lanes(). Taking in lanes widens `active`.
  bool together(u32 named, u32& active);
  Step wait_for_lanes(u32 named, u32 active, bool anywhere = false);
  Step call(const Function& callee, u32 active);
  Step ret(u32 active);
  // Splits off lanes at another pc of the same frame.
  void split(u32 lanes, u32 at_pc);

  // ---- for handlers: local memory ----
  std::byte* local(u32 lane) { return local_.get() + std::size_t{lane} * local_stride_; }
  // Behind the running frame's variables; its callers' lie before them.
  u32 local_end() const { return frame_.local_base + frame_.function->frame_bytes; }

  // Ends the run with a message that says which instruction of which thread it was. `lane` may be lanes_per_warp: all.
  // `finding` is the judge's name for it.
  [[noreturn]] void fault(const std::string& what, u32 lane = lanes_per_warp, Flaw finding = fault::other) const;
  std::string describe() const;  // "block (0,0,0) warp 3"

  // Of the last device memory found, so that the table is asked rarely.
  Region recent;
  Groups copies;                                // cp.async, per lane
  Groups bulk;                                  // cp.async.bulk, per lane
  Groups matrices;                              // wgmma, the warp's
  u32 tensor_stores = 0;                        // tcgen05.st that are under way
  u32 registers = 0;                            // that each thread may have: setmaxnreg
  u32 cluster_arrived = 0, cluster_parity = 0;  // barrier.cluster: lanes that have arrived, and in which phase

 private:
  bool scatters() const;  // its parts go in any order
  bool ready(Part& part);
  bool release_gathered(const Part& part);
  bool same_place(const Part& a, const Part& b) const;
  void merge();
  u32 pick(bool& contended);
  u32 limit() const;
  void resume(u32 part);
  void bind();
  void reserve(const Frame& frame);

  Block* block_ = nullptr;
  u32 index_ = 0;
  u32 live_ = 0, started_ = 0;
  Frame frame_;
  u32* r32_ = nullptr;
  u64* r64_ = nullptr;
  u32* predicates_ = nullptr;
  const u32* bases32_[2] = {};
  const u64* bases64_[2] = {};
  const Op* code_ = nullptr;

  std::vector<Part> parts_;
  u32 current_ = 0;
  u64 instructions_ = 0, scattered_ = 0;  // run, and run while another part could

  struct Free {
    void operator()(void* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  template <class Word>
  using Rows = std::unique_ptr<Word[], Free>;
  template <class Word>
  static void grow(Rows<Word>& rows, std::size_t used, std::size_t words);
  Rows<u32> file32_;
  Rows<u64> file64_;
  std::vector<u32> predicate_file_;
  u32 capacity32_ = 0, capacity64_ = 0;  // rows
  Rows<std::byte> local_;
  u32 local_stride_ = 0;
};

}  // namespace wm::vgpu
