// tcgen05: which instruction it is; columns of tensor memory taken and given back, fences, commits.
#include "vgpu/isa/tcgen05.hpp"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/isa/async_copy.hpp"
#include "vgpu/isa/families.hpp"
#include "vgpu/isa/gather.hpp"
#include "vgpu/isa/matrix_types.hpp"
#include "vgpu/isa/memory_operands.hpp"
#include "vgpu/machine/access.hpp"

namespace wm::vgpu::isa {

using ptx::Type;

u32 take_cta_group(FunctionDecoder& d) {
  const int group = d.modifiers.take_one_of({"cta_group::1", "cta_group::2"});
  if (group < 0) d.refuse("it needs .cta_group::1 or .cta_group::2");
  return static_cast<u32>(group) + 1;
}

void enter_cta_group(Warp& warp, u32 group, u32 lane) {
  TensorShare& share = warp.block().tensor;
  if (share.cta_group != 0 && share.cta_group != group)
    warp.fault(
        fmt::format("the block has used .cta_group::{} before, and all tcgen05 instructions of a kernel have the "
                    "same",
                    share.cta_group),
        lane);
  share.cta_group = group;
  if (group == 2 && peer_of(warp.block()) == nullptr)
    warp.fault(fmt::format(".cta_group::2 needs a cluster of an even number of blocks, and this one has {}",
                           warp.cluster().blocks.size()),
               lane);
}

void check_columns(const Warp& warp, const Block& block, u32 column, u32 count, u32 lane) {
  if (column + count > TensorMemory::columns)
    warp.fault(fmt::format("columns {} to {} of tensor memory are used; it has {}", column, column + count - 1,
                           TensorMemory::columns),
               lane, fault::out_of_bounds);
  if (!block.tensor.holds(column, count))
    warp.fault(fmt::format("columns {} to {} of tensor memory are used, and block ({},{},{}) has not allocated all of "
                           "them",
                           column, column + count - 1, block.id.x, block.id.y, block.id.z),
               lane, fault::unallocated_columns);
}

numeric::TensorDescriptor matrix_at(const Warp& warp, u64 bits, numeric::Element element, bool mn_major,
                                    const char* whose, u32 lane) {
  using numeric::TensorDescriptor;
  if (const std::string why = TensorDescriptor::refusal(bits, element, mn_major); !why.empty())
    warp.fault(fmt::format("{}'s {}", whose, why), lane);
  Observer* const observer = warp.launch().observer;
  if (observer != nullptr && TensorDescriptor::is_of_wgmma(bits))
    observer->tolerates(
        warp, Omission::descriptor_version,
        fmt::format("{}'s descriptor {:#018x} has 0 in bits 46-48, as wgmma's do, where tcgen05 has 1", whose, bits));
  return TensorDescriptor::decode(bits);
}

u64 tensor_stream(const Warp& warp, u32 lane) { return reinterpret_cast<u64>(&warp) + lane; }

u64 cell_address(const Block& block, u32 lane, u32 column) {
  return tensor_window + ((u64{block.rank} * TensorMemory::lanes + lane) * TensorMemory::columns + column) * 4;
}

namespace {

struct Allocation {
  u32 group = 1;
  AddressSpace space = AddressSpace::shared;
  Address to;
  Operand base, count;
};

[[noreturn]] void wrong_allocation(const Warp& warp, const std::string& why) {
  warp.fault(why, lanes_per_warp, fault::tensor_allocation);
}

u32 columns_of(const Warp& warp, Operand operand, u32 active) {
  const u32* rows = warp.source32(operand);
  const u32 count = rows[std::countr_zero(active)];
  if ((active & ballot_of([&](u32 i) { return rows[i] != count; })) != 0)
    wrong_allocation(warp, "the lanes of a warp give different numbers of columns");
  if (count < TensorMemory::unit || count > TensorMemory::columns || !std::has_single_bit(count))
    wrong_allocation(warp, fmt::format("columns come as 32, 64, 128, 256 or 512, not as {}", count));
  return count;
}

Step allocate_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& a = op.as<Allocation>();
  Block& block = warp.block();
  TensorShare& share = block.tensor;
  enter_cta_group(warp, a.group, lanes_per_warp);
  const u32 count = columns_of(warp, a.count, active);
  if (share.relinquished)
    wrong_allocation(warp, "the block has given up its right to allocate (relinquish_alloc_permit)");
  if (count > share.most)
    wrong_allocation(warp, fmt::format("{} columns are asked for after {}: a block's later allocations are not larger "
                                       "than its earlier ones",
                                       count, share.most));
  const bool pair = a.group == 2;
  if (pair && !share.granted)
    if (const u32 other = peer_of(block)->tensor.wanted; other != 0 && other != count)
      wrong_allocation(warp, fmt::format("the blocks of a pair ask for {} and for {} columns", count, other));
  const auto base = allocate_columns(block, count, pair);
  if (!base) {
    Wait wait;
    wait.kind = WaitKind::tensor_memory;
    wait.index = count;
    wait.anywhere = pair;
    return warp.wait(wait, active);
  }
  ++warp.cluster().advances;
  const u32 first = active & -active;
  LaneAddresses addresses;
  lane_addresses(warp, a.to, addresses);
  LaneBytes place;
  resolve(warp, op, a.space, addresses, 4, 4, AccessKind::write, first, place);
  std::memcpy(place.at[std::countr_zero(first)], &*base, 4);
  return Step::go;
}

Step free_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& a = op.as<Allocation>();
  TensorShare& share = warp.block().tensor;
  enter_cta_group(warp, a.group, lanes_per_warp);
  const u32 count = columns_of(warp, a.count, active);
  const TensorAddress at = TensorAddress::of(warp.source32(a.base)[std::countr_zero(active)]);
  const auto same = std::find_if(share.columns.begin(), share.columns.end(), [&](const TensorShare::Columns& c) {
    return at.lane == 0 && c.base == at.column && c.count == count;
  });
  if (same == share.columns.end())
    wrong_allocation(warp, fmt::format("{} columns from {} on are given back, and the block has no such allocation",
                                       count, at.column));
  if (Observer* observer = warp.launch().observer)  // nobody may still use them
    for (u32 lane = 0; lane < TensorMemory::lanes; ++lane)
      observer->access_range(warp, AccessKind::write, {cell_address(warp.block(), lane, at.column), u64{count} * 4},
                             static_cast<u32>(std::countr_zero(active)));
  share.columns.erase(same);
  share.memory->give_back(at.column, count);
  warp.launch().tensor_frees.fetch_add(1, std::memory_order_relaxed);
  ++warp.cluster().advances;
  return Step::go;
}

Step relinquish_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  enter_cta_group(warp, op.as<Allocation>().group, lanes_per_warp);
  warp.block().tensor.relinquished = true;
  return Step::go;
}

// Products and copies of other threads may follow those of this one without a commit between.
template <bool after>
Step fence_op(Warp& warp, const Op&, u32 active) {
  if (warp.cluster().run->options.mode == Mode::friendly) return Step::go;  // there they are done as they were issued
  AsyncQueue& queue = warp.cluster().async;
  after ? queue.acquire(tensor_stream(warp, 0), active) : queue.release(tensor_stream(warp, 0), active);
  return Step::go;
}

void decode_allocate(FunctionDecoder& d) {
  Allocation a;
  a.group = take_cta_group(d);
  take_sync_aligned(d);
  a.space = take_space(d);
  if (a.space != AddressSpace::generic && a.space != AddressSpace::shared)
    d.refuse("the address goes to shared memory");
  if (d.modifiers.take_type() != Type::b32) d.refuse("its type is .b32");
  d.expect_operands(2);
  a.to = d.address(d.operand(0), a.space);
  a.count = d.source(d.operand(1), Type::u32);
  d.emit(&allocate_op, Effect::access(a.space).by_whole_warp().of_allocation(), a);
}

void decode_free(FunctionDecoder& d) {
  Allocation a;
  a.group = take_cta_group(d);
  take_sync_aligned(d);
  if (d.modifiers.take_type() != Type::b32) d.refuse("its type is .b32");
  d.expect_operands(2);
  a.base = d.source(d.operand(0), Type::u32);
  a.count = d.source(d.operand(1), Type::u32);
  d.emit(&free_op, Effect::none().by_whole_warp(), a);
}

void decode_relinquish(FunctionDecoder& d) {
  Allocation a;
  a.group = take_cta_group(d);
  take_sync_aligned(d);
  d.expect_operands(0);
  d.emit(&relinquish_op, Effect::none().by_whole_warp(), a);
}

// ---- commit ----

struct Commit {
  u32 group = 1;
  AddressSpace space = AddressSpace::shared_cluster;
  Address barrier;
  bool multicast = false;
  Operand mask;
};

// Comes after all work of its thread before it, and arrives.
class CommitArrival final : public AsyncOperation {
 public:
  CommitArrival(const Origin& origin, u64 barrier) : AsyncOperation(origin), barrier_(barrier) {}
  bool advance(Cluster& cluster, Random*) override {
    mbarrier::arrive_async(cluster, barrier_, 1, watched);
    return true;
  }

 private:
  u64 barrier_;
};

// Of a generic address. Chips take the lower half of one: compilers leave an address of shared memory as it is.
u64 barrier_of_commit(Warp& warp, u64 address, u32 lane) {
  const Located at = locate(address);
  if (at.space == AddressSpace::shared_cluster) return at.address;
  if (address >> 32 != 0) warp.fault("an mbarrier lies in shared memory", lane);
  resolve_one(warp, AddressSpace::shared_cluster, address, 8, 8, AccessKind::atomic, lane);
  if (Observer* observer = warp.launch().observer)
    observer->tolerates(
        warp, Omission::commit_address,
        fmt::format(
            "tcgen05.commit without .shared::cluster takes a generic address, and {:#x} is one of shared memory",
            address));
  return address;
}

Step commit_op(Warp& warp, const Op& op, u32 active) {
  const auto& c = op.as<Commit>();
  LaneAddresses barriers;
  lane_addresses(warp, c.barrier, barriers);
  Cluster& cluster = warp.cluster();
  for_each_lane(active, [&](u32 i) {
    enter_cta_group(warp, c.group, i);
    warp.block().tensor.open = nullptr;
    u64 barrier = barriers[i];
    if (c.space == AddressSpace::generic) barrier = barrier_of_commit(warp, barrier, i);
    const u32* mask = c.multicast ? &warp.source32(c.mask)[i] : nullptr;
    for (const Destination& to : destinations(warp, i, barrier, barrier, mask)) {
      resolve_one(warp, AddressSpace::shared_cluster, to.barrier, 8, 8, AccessKind::atomic, i);
      auto arrival = std::make_unique<CommitArrival>(Origin::of(warp, i), to.barrier);
      arrival->stream = tensor_stream(warp, i);
      if (Observer* observer = warp.launch().observer)
        arrival->watched = observer->arrival_issued(warp, i, to.barrier, false);
      cluster.async.issue(cluster, std::move(arrival));
    }
  });
  return Step::go;
}

void decode_commit(FunctionDecoder& d) {
  Commit c;
  c.group = take_cta_group(d);
  if (!d.modifiers.take("mbarrier::arrive::one")) d.refuse("it needs .mbarrier::arrive::one");
  c.space = take_space(d);
  if (c.space != AddressSpace::generic && c.space != AddressSpace::shared_cluster)
    d.refuse("its mbarrier is in .shared::cluster");
  c.multicast = d.modifiers.take("multicast::cluster");
  if (d.modifiers.take_type() != Type::b64) d.refuse("its type is .b64");
  d.expect_operands(c.multicast ? 2 : 1);
  c.barrier = d.address(d.operand(0), c.space);
  if (c.multicast) c.mask = d.source(d.operand(1), Type::u16);
  d.emit(&commit_op, Effect::tensor_commit(), c);
}

}  // namespace

void tensor_core_family(FunctionDecoder& d) {
  const Architecture& target = d.program().module().target;
  if (!d.chip().tensor_memory || !(target.specific || target.family))
    d.refuse(fmt::format("only sm_100a and its family have tensor memory; this is code for {} on {}", target.name(),
                         d.chip().arch.name()));
  d.program().uses_tensor_memory = true;
  const std::string operation(d.modifiers.first());
  d.modifiers.take(operation);
  if (operation == "alloc") return decode_allocate(d);
  if (operation == "dealloc") return decode_free(d);
  if (operation == "relinquish_alloc_permit") return decode_relinquish(d);
  if (operation == "ld") return tensor_load(d);
  if (operation == "st") return tensor_store(d);
  if (operation == "wait::ld") return tensor_wait(d, false);
  if (operation == "wait::st") return tensor_wait(d, true);
  if (operation == "mma") return tensor_multiply(d);
  if (operation == "cp") return tensor_copy_in(d);
  if (operation == "commit") return decode_commit(d);
  if (operation == "fence::before_thread_sync" || operation == "fence::after_thread_sync") {
    d.expect_operands(0);
    const bool after = operation == "fence::after_thread_sync";
    d.emit(after ? &fence_op<true> : &fence_op<false>, Effect::tensor_fence(after));
    return;
  }
  if (operation == "shift") d.refuse("in which direction rows move is not confirmed");
  d.refuse("tcgen05 has no such operation");
}

}  // namespace wm::vgpu::isa
