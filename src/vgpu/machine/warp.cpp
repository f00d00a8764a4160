// How a warp runs: which of its parts goes next, how parts split and merge, calls and returns.
#include "vgpu/machine/warp.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/machine/block.hpp"
#include "vgpu/machine/mbarrier.hpp"
#include "vgpu/machine/observer.hpp"
#include "vgpu/machine/tally.hpp"
#include "vgpu/memory/spaces.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

namespace {
constexpr u32 none = ~0u;
constexpr u32 turn = 256;       // instructions a part may run while others could
constexpr u64 patience = 2048;  // instructions after which a part that could run goes first
constexpr u32 deepest_call = 1000;
// With dice: so many instructions parts of a warp may run in any order, and then a quarter of all. A loop that lanes
// leave one by one would run once for each of them otherwise.
constexpr u64 least_scattered = 512;
}  // namespace

template <class Word>
void Warp::grow(Rows<Word>& rows, std::size_t used, std::size_t words) {
  Rows<Word> wider(new (std::align_val_t{64}) Word[words]);
  if (used > 0) std::memcpy(wider.get(), rows.get(), used * sizeof(Word));
  std::memset(wider.get() + used, 0, (words - used) * sizeof(Word));
  rows = std::move(wider);
}

void Warp::start(Block& block, u32 index, u32 threads) {
  block_ = &block;
  index_ = index;
  started_ = live_ = threads >= lanes_per_warp ? all_lanes : (1u << threads) - 1;
  frame_ = Frame{&launch().entry};
  recent = {};
  copies.clear();
  bulk.clear();
  matrices.clear();
  tensor_stores = 0;
  registers = launch().registers;
  cluster_arrived = cluster_parity = 0;
  instructions_ = scattered_ = 0;
  mask = live_;
  reserve(frame_);
  Part part;
  part.mask = live_;
  part.frame = frame_;
  parts_.clear();
  parts_.push_back(std::move(part));
}

void Warp::reserve(const Frame& frame) {
  const Function& f = *frame.function;
  if (frame.base32 + f.rows32 > capacity32_) {
    const u32 rows = std::max(frame.base32 + f.rows32, 2 * capacity32_);
    grow(file32_, std::size_t{capacity32_} * lanes_per_warp, std::size_t{rows} * lanes_per_warp);
    capacity32_ = rows;
  }
  if (frame.base64 + f.rows64 > capacity64_) {
    const u32 rows = std::max(frame.base64 + f.rows64, 2 * capacity64_);
    grow(file64_, std::size_t{capacity64_} * lanes_per_warp, std::size_t{rows} * lanes_per_warp);
    capacity64_ = rows;
  }
  if (frame.base_predicates + f.predicates > predicate_file_.size())
    predicate_file_.resize(frame.base_predicates + f.predicates);
  predicate_file_[frame.base_predicates + true_predicate] |= mask;
  const u32 local_end = frame.local_base + f.frame_bytes;
  if (local_end > most_local_bytes)
    fault(fmt::format("a thread's local memory would grow to {} bytes; {} is the most: recursion without an end?",
                      local_end, most_local_bytes));
  if (local_end > local_stride_) {
    const u32 stride = std::min(most_local_bytes, std::max((local_end + 63) / 64 * 64, 2 * local_stride_));
    Rows<std::byte> wider(new (std::align_val_t{64}) std::byte[std::size_t{stride} * lanes_per_warp]);
    std::memset(wider.get(), 0, std::size_t{stride} * lanes_per_warp);
    for (u32 lane = 0; local_stride_ > 0 && lane < lanes_per_warp; ++lane)
      std::memcpy(wider.get() + std::size_t{lane} * stride, local(lane), local_stride_);
    local_ = std::move(wider);
    local_stride_ = stride;
  }
}

void Warp::bind() {
  r32_ = file32_.get() + std::size_t{frame_.base32} * lanes_per_warp;
  r64_ = file64_.get() + std::size_t{frame_.base64} * lanes_per_warp;
  predicates_ = predicate_file_.data() + frame_.base_predicates;
  const Program& program = launch().program;
  bases32_[0] = r32_;
  bases32_[1] = program.constants32();
  bases64_[0] = r64_;
  bases64_[1] = program.constants64();
  code_ = frame_.function->ops.data();
}

void Warp::resume(u32 part) {
  current_ = part;
  Part& p = parts_[part];
  pc = p.pc;
  mask = p.mask;
  resumed = p.resumed;
  gave_up = p.gave_up;
  p.resumed = p.gave_up = false;
  frame_ = p.frame;
  bind();
}

u32 Warp::run(u32 budget) {
  u32 used = 0;
  while (used < budget && !parts_.empty()) {
    bool contended = false;
    const u32 chosen = pick(contended);
    if (chosen == none) break;
    resume(chosen);
    u32 allowance = budget - used;
    u32 end = ~0u;
    if (parts_.size() > 1) {
      if (contended) {
        allowance = std::min(allowance, scatters() ? 1 + cluster().random.below(32) : turn);
      }
      end = limit();
    }
    const u64 stop = instructions_ + allowance;
    Tally* const tally = launch().tally;
    const auto step = [&] {
      if (tally != nullptr) tally->add(*frame_.function, pc);
      const Op& op = code_[pc];
      const u32 active = mask & (predicates_[op.guard.row] ^ op.guard.flip);
      ++pc;
      ++instructions_;
      return active == 0 ? Step::go : op.run(*this, op, active);
    };
    const auto run_on = [&](const auto& one) {
      Step last = Step::go;
      if (resumed) {
        last = one();
        resumed = gave_up = false;
      }
      while (last == Step::go && pc < end && instructions_ < stop) last = one();
    };
    if (Observer* const observer = launch().observer; observer == nullptr)
      run_on(step);
    else
      run_on([&] {
        const u32 at = pc, before = mask;
        const Op& op = code_[pc];
        const u32 active = mask & (predicates_[op.guard.row] ^ op.guard.flip);
        ++pc;
        ++instructions_;
        if (tally != nullptr) tally->add(*frame_.function, at);
        if (active == 0) return Step::go;
        observer->executes(*this, op, active);
        const Step next = op.run(*this, op, active);
        // A .sync instruction may have run for lanes that waited for these, or left some of them behind.
        observer->executed(*this, op, (active & mask) | (mask & ~before), pc == at);
        return next;
      });
    const u32 ran = static_cast<u32>(instructions_ + allowance - stop);
    used += ran;
    if (contended) scattered_ += ran;
    Part& part = parts_[current_];
    part.pc = pc;
    part.mask = mask;
    part.frame = frame_;
    part.last_run = instructions_;
    if (mask == 0) parts_.erase(parts_.begin() + current_);
    if (parts_.size() > 1) merge();
  }
  return used;
}

// The usual order is the innermost call first, then the lowest program counter, which brings parts together where
// branches meet. A part that could run but has not for long goes before that: its siblings may be spinning until it
// does something.
u32 Warp::pick(bool& contended) {
  if (parts_.size() == 1) return ready(parts_[0]) ? 0 : none;
  u32 best = none, count = 0, oldest = none;
  for (u32 i = 0; i < parts_.size(); ++i) {
    if (!ready(parts_[i])) continue;
    ++count;
    const auto key = [&](u32 part) {
      return std::pair(-static_cast<i64>(parts_[part].callers.size()), parts_[part].pc);
    };
    if (best == none || key(i) < key(best)) best = i;
    if (oldest == none || parts_[i].last_run < parts_[oldest].last_run) oldest = i;
  }
  contended = count > 1;
  if (!contended) return best;
  if (scatters()) {
    u32 skip = cluster().random.below(count);
    for (u32 i = 0;; ++i)
      if (parts_[i].wait.kind == WaitKind::none && skip-- == 0) return i;
  }
  return instructions_ - parts_[oldest].last_run > patience ? oldest : best;
}

bool Warp::same_place(const Part& a, const Part& b) const {
  return a.pc == b.pc && a.frame == b.frame && a.callers == b.callers;
}

// The nearest program counter ahead where another part could be joined.
u32 Warp::limit() const {
  const Part& mine = parts_[current_];
  u32 nearest = ~0u;
  for (u32 i = 0; i < parts_.size(); ++i) {
    const Part& other = parts_[i];
    const bool joinable = other.wait.kind == WaitKind::none || other.wait.kind == WaitKind::lanes;
    if (i != current_ && joinable && other.pc > mine.pc && other.callers.size() == mine.callers.size())
      nearest = std::min(nearest, other.pc);
  }
  return nearest;
}

bool Warp::scatters() const {
  return launch().options.mode != Mode::friendly && scattered_ < least_scattered + instructions_ / 4;
}

// Joins parts that stand at the same place. In adversarial mode nothing is joined before an instruction asks for it.
void Warp::merge() {
  if (launch().options.mode == Mode::adversarial && scatters()) return;
  const auto joinable = [](const Part& p) { return p.wait.kind == WaitKind::none && !p.resumed; };
  for (u32 i = 0; i < parts_.size(); ++i) {
    if (!joinable(parts_[i])) continue;
    for (u32 j = i + 1; j < parts_.size();) {
      if (joinable(parts_[j]) && same_place(parts_[i], parts_[j])) {
        parts_[i].mask |= parts_[j].mask;
        parts_.erase(parts_.begin() + j);
      } else {
        ++j;
      }
    }
  }
}

bool Warp::ready(Part& part) {
  Wait& wait = part.wait;
  bool over = false;
  switch (wait.kind) {
    case WaitKind::none: return true;
    case WaitKind::lanes: over = (wait.lanes & live_ & ~part.mask) == 0 || release_gathered(part); break;
    case WaitKind::barrier: over = block_->barriers[wait.index].generation != wait.generation; break;
    case WaitKind::cluster_barrier: over = cluster().barrier.generation != wait.generation; break;
    case WaitKind::mbarrier:
      over = mbarrier::phase_done(cluster(), wait.address, wait.parity);
      if (!over && wait.until <= cluster().round) over = part.gave_up = true;
      break;
    case WaitKind::copy_groups: over = copies.at_most(wait.index, part.mask, false); break;
    case WaitKind::bulk_groups: over = bulk.at_most(wait.index, part.mask, wait.reading); break;
    case WaitKind::matrix_groups: over = matrices.at_most(wait.index, 1, false); break;
    case WaitKind::products: over = matrices.idle(); break;
    case WaitKind::tensor_memory: over = may_allocate_columns(*block_, wait.index, wait.anywhere); break;
    case WaitKind::tensor_stores: over = tensor_stores == 0; break;
    case WaitKind::registers: over = block_->has_registers(*this, wait.index); break;
    case WaitKind::pause: over = wait.until <= cluster().round; break;
  }
  if (over) {
    wait.kind = WaitKind::none;
    part.resumed = true;
  }
  return over;
}

// bar.warp.sync may be met by its lanes at different places: all go on when the last has come.
bool Warp::release_gathered(const Part& part) {
  if (!part.wait.anywhere) return false;
  const u32 named = part.wait.lanes;
  const auto gathered = [&](const Part& p) {
    return p.wait.kind == WaitKind::lanes && p.wait.anywhere && p.wait.lanes == named;
  };
  u32 here = 0;
  for (const Part& p : parts_)
    if (gathered(p)) here |= p.mask;
  if ((named & live_ & ~here) != 0) return false;
  for (Part& p : parts_)
    if (gathered(p)) {
      p.wait.kind = WaitKind::none;
      p.resumed = true;
    }
  return true;
}

void Warp::split(u32 lanes, u32 at_pc) {
  Part other;
  other.pc = at_pc;
  other.mask = lanes;
  other.frame = frame_;
  other.callers = parts_[current_].callers;
  other.last_run = instructions_;
  parts_.push_back(std::move(other));
  mask &= ~lanes;
}

Step Warp::branch(u32 target, u32 taken) {
  if (taken == mask) {
    pc = target;
    return Step::go;
  }
  split(taken, target);
  return Step::regroup;
}

Step Warp::exit(u32 lanes) {
  live_ &= ~lanes;
  mask &= ~lanes;
  Cluster& c = cluster();
  const u32 arrived = cluster_arrived & lanes & (c.barrier.generation & 1 ? cluster_parity : ~cluster_parity);
  c.barrier.left += std::popcount(lanes);
  c.barrier.arrived += std::popcount(lanes & ~arrived);
  block_->threads_left(std::popcount(lanes));
  if (block_->finished() && !block_->tensor.columns.empty())
    fault(fmt::format("the block ends and has not given back {} columns of tensor memory",
                      block_->tensor.columns.front().count),
          lanes_per_warp, fault::tensor_allocation);
  if (launch().observer != nullptr) launch().observer->exits(*this, lanes);
  c.settle();
  ++c.events;
  return Step::regroup;
}

Step Warp::wait(const Wait& wait, u32 active) {
  if (active != mask) split(mask & ~active, pc);
  --pc;
  parts_[current_].wait = wait;
  return Step::regroup;
}

bool Warp::together(u32 named, u32& active) {
  if ((named & live_ & ~active) == 0) return true;
  Part& mine = parts_[current_];
  mine.pc = pc - 1;
  mine.frame = frame_;
  for (u32 i = 0; i < parts_.size();) {
    const Part& other = parts_[i];
    if (i != current_ && other.wait.kind == WaitKind::lanes && !other.wait.anywhere && other.wait.lanes == named &&
        same_place(mine, other)) {
      active |= other.mask;
      mask |= other.mask;
      parts_.erase(parts_.begin() + i);
      if (i < current_) --current_;
      return together(named, active);
    }
    ++i;
  }
  return false;
}

Step Warp::wait_for_lanes(u32 named, u32 active, bool anywhere) {
  Wait w;
  w.kind = WaitKind::lanes;
  w.lanes = named;
  w.anywhere = anywhere;
  return wait(w, active);
}

Step Warp::call(const Function& callee, u32 active) {
  if (parts_[current_].callers.size() >= deepest_call)
    fault(fmt::format("calls are nested {} deep: recursion without an end?", deepest_call));
  const bool alone = active == mask;
  if (!alone) split(mask & ~active, pc);
  Frame next;
  next.function = &callee;
  next.base32 = frame_.base32 + frame_.function->rows32;
  next.base64 = frame_.base64 + frame_.function->rows64;
  next.base_predicates = frame_.base_predicates + frame_.function->predicates;
  next.local_base = (frame_.local_base + frame_.function->frame_bytes + 127) / 128 * 128;
  next.return_pc = pc;
  reserve(next);
  parts_[current_].callers.push_back(frame_);
  frame_ = next;
  pc = 0;
  bind();
  return parts_.size() == 1 ? Step::go : Step::regroup;
}

Step Warp::ret(u32 active) {
  auto& callers = parts_[current_].callers;
  if (callers.empty()) return exit(active);
  if (active != mask) split(mask & ~active, pc);
  pc = frame_.return_pc;
  auto& mine = parts_[current_].callers;  // split() may have moved the parts
  frame_ = mine.back();
  mine.pop_back();
  bind();
  return parts_.size() == 1 ? Step::go : Step::regroup;
}

std::string Warp::describe() const {
  return fmt::format("block ({},{},{}) warp {}", block_->id.x, block_->id.y, block_->id.z, index_);
}

void Warp::fault(const std::string& what, u32 lane, Flaw finding) const {
  std::string who = describe();
  if (lane < lanes_per_warp) {
    const Dim3& b = launch().shape.block;
    const u32 t = thread(lane);
    who += fmt::format(" lane {} (thread ({},{},{}))", lane, t % b.x, t / b.x % b.y, t / b.x / b.y);
  }
  const u32 at = pc > 0 ? pc - 1 : 0;
  Fault error(fmt::format("{}\n  --> {}   {}", what, launch().program.place_of(*frame_.function, at), who), finding,
              what);
  error.function = frame_.function;
  error.pc = at;
  error.block = block_->id;
  error.warp = index_;
  throw error;
}

}  // namespace wm::vgpu
