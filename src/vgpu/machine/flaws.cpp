// The list of findings: names, what they mean, what to do.
#include "vgpu/machine/flaws.hpp"

#include <array>
#include <utility>

namespace wm::vgpu {
namespace {

using Entry = std::pair<Flaw, FindingKind>;
constexpr std::array list = std::to_array<Entry>({
    {Flaw::deadlock,
     {"deadlock", Severity::error, "no warp of a cluster can go on, and nothing is in flight",
      "what each one waits for must be done by a thread that does not itself wait for it"}},
    {Flaw::no_end,
     {"no-end", Severity::error, "the kernel ran more instructions than allowed",
      "look for a loop that waits for what never comes; --max-instructions allows more"}},
    {Flaw::wrong_byte_count,
     {"wrong-byte-count", Severity::error, "the bytes announced to an mbarrier are not those its copies bring",
      "announce as many bytes as the phase's copies bring; a box counts whole, also beyond the tensor"}},
    {Flaw::barrier_not_initialised,
     {"barrier-not-initialised", Severity::error,
      "an mbarrier is used, and nothing orders this after its initialisation",
      "one thread runs mbarrier.init, then a barrier, before anybody uses it"}},
    {Flaw::barrier_init_not_visible,
     {"barrier-init-not-visible", Severity::error, "no fence made an mbarrier's initialisation visible to who uses it",
      "the initialising thread runs fence.mbarrier_init.release.cluster before the barrier that lets the others go"}},
    {Flaw::barrier_reinitialised,
     {"barrier-reinitialised", Severity::error,
      "an mbarrier is initialised again, or invalidated, while it may still be used",
      "a barrier between the last use and mbarrier.inval, which comes before a new mbarrier.init"}},
    {Flaw::barrier_overwritten,
     {"barrier-overwritten", Severity::error, "data is written over an mbarrier that is alive",
      "mbarrier.inval, and a barrier, before its memory is used for anything else"}},
    {Flaw::barrier_overrun,
     {"barrier-overrun", Severity::error, "more arrivals at an mbarrier than it was initialised for",
      "initialise it with the number of threads that arrive, or let fewer arrive"}},
    {Flaw::barrier_count_mismatch,
     {"barrier-count-mismatch", Severity::error,
      "threads that meet at a named barrier say different numbers of threads",
      "all that meet at a barrier name the same number of threads: those that sync and those that arrive"}},
    {Flaw::missed_phase,
     {"missed-phase", Severity::error, "a phase of an mbarrier can end, and the next one too, before a waiter looks",
      "the thread that completes the next phase first waits for word that this one was seen"}},
    {Flaw::shared_race,
     {"shared-race", Severity::error, "two accesses to shared memory are not ordered",
      "a barrier between them that both threads take part in"}},
    {Flaw::global_race,
     {"global-race", Severity::error, "two accesses to global memory are not ordered",
      "a release by the first (or a fence and a flag) that the second acquires, both at device scope"}},
    {Flaw::read_before_arrival,
     {"read-before-arrival", Severity::error, "memory is read before the copy that writes it has arrived",
      "every reading thread waits for the copy's mbarrier, or meets one that has"}},
    {Flaw::overwritten_in_use,
     {"overwritten-in-use", Severity::error, "memory is overwritten while a copy, a wgmma or a reader may still use it",
      "the copy is issued after all readers have said that they are done"}},
    {Flaw::missing_proxy_fence,
     {"missing-proxy-fence", Severity::error,
      "asynchronous work follows ordinary stores to the same memory with no proxy fence between",
      "each writing thread runs fence.proxy.async after its stores and before the barrier that lets this go on"}},
    {Flaw::register_in_flight,
     {"register-in-flight", Severity::error, "a register that a wgmma still uses is touched before the wait for it",
      "wgmma.wait_group that covers the product comes first"}},
    {Flaw::missing_wgmma_fence,
     {"missing-wgmma-fence", Severity::error, "a wgmma uses registers that were written after the last wgmma.fence",
      "wgmma.fence.sync.aligned after the registers are written and before the first wgmma that uses them"}},
    {Flaw::peer_exited,
     {"peer-exited", Severity::error, "shared memory of another block is used, and that block may have exited",
      "every thread of the cluster runs barrier.cluster.arrive and .wait after the last such access"}},
    {Flaw::copy_in_flight_at_exit,
     {"copy-in-flight-at-exit", Severity::warning,
      "a block ends, and nothing says that its bulk copies have read its shared memory",
      "the thread that issued the copy commits it and runs cp.async.bulk.wait_group.read 0 before it exits"}},
    {Flaw::divergent_aligned,
     {"divergent-aligned", Severity::error, "an .aligned instruction is not executed by all lanes of a warp together",
      "bring the whole warp to one such instruction, or use the form without .aligned where there is one"}},
    {Flaw::partial_warpgroup,
     {"partial-warpgroup", Severity::error,
      "an instruction of a whole warpgroup is executed by some of its four warps only",
      "all four warps of an aligned warpgroup (the first one's number divisible by four) execute it, all their lanes"}},
    {Flaw::register_budget,
     {"register-budget", Severity::error, "setmaxnreg waits for more registers than the block was started with",
      "the counts of all threads add up to no more than at the start, where each has 65536 / threads rounded down to "
      "eights: a role gives back what another takes"}},
    {Flaw::out_of_bounds,
     {"out-of-bounds", Severity::error, "an access outside any allocation, or outside shared or local memory",
      "compare the index with the size; the last block of a grid often reaches beyond it"}},
    {Flaw::misaligned,
     {"misaligned", Severity::error, "an address that is no multiple of what the instruction needs",
      "an access of n bytes needs a multiple of n; copies need 16 bytes, tensor tiles 128"}},
    {Flaw::use_after_free,
     {"use-after-free", Severity::error, "an access to memory that was freed",
      "free the memory after its last use, with a barrier between"}},
    {Flaw::uninitialised_read,
     {"uninitialised-read", Severity::error, "memory or a register is read that nobody has written",
      "write it first; memory holds nothing when a kernel starts"}},
    {Flaw::absent_lane,
     {"absent-lane", Severity::error, "a shuffle reads a lane that does not take part: an undefined value",
      "all lanes that are read from execute the shuffle and are in its mask"}},
    {Flaw::misaligned_tile,
     {"misaligned-tile", Severity::error, "a swizzled tile does not begin where its pattern does",
      "align the tile to its pattern, which follows the address, not the tile"}},
    {Flaw::layout_mismatch,
     {"layout-mismatch", Severity::error, "a product or a store reads a tile in another layout than it was written in",
      "the tensor map and the matrix descriptor name the same swizzle; without one, a box is 16 bytes wide"}},
    {Flaw::stale_tensor_map,
     {"stale-tensor-map", Severity::error, "a copy uses a tensor map that was changed, without the fences for it",
      "the writer runs fence.proxy.tensormap::generic.release (or tensormap.cp_fenceproxy), the copying thread "
      "fence.proxy.tensormap::generic.acquire on the map"}},
    {Flaw::misplaced_tensor_map,
     {"misplaced-tensor-map", Severity::error, "a copy is given a tensor map in local or shared memory",
      "copies read maps in the kernel's parameters, in constant and in global memory; by value, a map is copied to "
      "local memory unless the parameter is `const __grid_constant__`"}},
    {Flaw::tensor_allocation,
     {"tensor-memory-allocation", Severity::error,
      "columns of tensor memory are allocated or given back in a way that PTX forbids",
      "no allocation is larger than the one before, none follows relinquish_alloc_permit, and each is given back once, "
      "in "
      "its size, before the block ends"}},
    {Flaw::unallocated_columns,
     {"unallocated-columns", Severity::error, "columns of tensor memory are used that the block has not allocated",
      "take the first column from where tcgen05.alloc wrote it, and allocate as many as are used"}},
    {Flaw::missing_tensor_fence,
     {"missing-tensor-fence", Severity::warning,
      "tensor memory passes from thread to thread with no tcgen05.fence around their synchronisation",
      "tcgen05.fence::before_thread_sync before the arrival, tcgen05.fence::after_thread_sync after the wait"}},
    {Flaw::foreign_lanes,
     {"foreign-lanes", Severity::error, "a warp names lanes of tensor memory that are another warp's",
      "warp w of a block reaches lanes 32 (w % 4) to 31 more: the address has that lane, or lane 0"}},
    {Flaw::wrong_peer_barrier,
     {"wrong-peer-barrier", Severity::error, "of two blocks that work as a pair, the wrong one's mbarrier is signalled",
      "copies with .cta_group::2 name the mbarrier of the block that waits; a commit that both blocks wait for names "
      "both "
      "(.multicast::cluster)"}},
    {Flaw::unequal_pair,
     {"unequal-pair", Severity::error,
      "the blocks of a pair have their operands at different places of their shared memory",
      "a product of two blocks reads both at the offsets of the one that issues it: lay shared memory out alike"}},
    {Flaw::tolerated_operand,
     {"tolerated-operand", Severity::warning, "an operand is not as PTX has it, and chips take it", ""}},
    {Flaw::execution_fault,
     {"execution-fault", Severity::error, "the run ended with an error that has no name of its own", ""}},
    {Flaw::bank_conflicts,
     {"bank-conflicts", Severity::advice, "lanes of one access meet in the same banks of shared memory",
      "pad the rows, or swizzle them, so that lanes meet different banks"}},
    {Flaw::uncoalesced,
     {"uncoalesced", Severity::advice, "an access of a warp touches more sectors of global memory than its bytes need",
      "let neighbouring lanes touch neighbouring addresses"}},
    {Flaw::ring_not_reused,
     {"ring-not-reused", Severity::advice, "no stage of a ring was filled twice in this run: too small to judge reuse",
      "check a problem of more steps than the ring has stages"}},
});

constexpr bool in_order() {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].first != static_cast<Flaw>(i)) return false;
  return list.back().first == Flaw::ring_not_reused;
}
static_assert(in_order(), "the list follows the enumeration and has all of it");

constexpr std::array omissions = std::to_array<std::pair<Omission, OmissionKind>>({
    {Omission::init_fence,
     {"a barrier is initialised by one thread, bar.sync, then a copy signals it, with no fence between", "9.7.13.4"}},
    {Omission::cp_async_fence, {"wgmma or tcgen05 reads what cp.async brought, with no proxy fence between", "8.6"}},
    {Omission::word_fence, {"a copy overwrites the word that tcgen05.alloc wrote, with no proxy fence between", "8.6"}},
    {Omission::warps_of_product, {"the four warps of a warpgroup are taken to be brought together by wgmma", "9.7.15"}},
    {Omission::lanes_of_product, {"one lane is taken to speak for its warp after wgmma.wait_group", "9.7.15"}},
    {Omission::lanes_together,
     {"one lane is taken to speak for others of its warp after they exchange or use registers together (mma.sync, "
      "shfl.sync, vote.sync, match.sync, redux.sync)",
      "8.9"}},
    {Omission::wait_before_exit, {"a block exits while a bulk copy may still read its shared memory", "9.7.9.25"}},
    {Omission::tensor_fence,
     {"threads pass tensor memory on through a barrier with no tcgen05.fence around it", "9.7.16.6"}},
    {Omission::load_wait, {"the use of a register that tcgen05.ld writes is taken for tcgen05.wait::ld", "9.7.16.6"}},
    {Omission::wait_for_product,
     {"registers that a wgmma writes are touched with no wgmma.wait_group at all behind it: the assembler puts one in "
      "(C7517), and nothing runs beside the product",
      "9.7.15"}},
    {Omission::tile_by_address,
     {"ordinary instructions are taken to swizzle a tile by its address, which is no multiple of the pattern",
      "5.5.7"}},
    {Omission::descriptor_version,
     {"bits 46-48 of a matrix descriptor for tcgen05 are 0, as wgmma has them, and not 1", "9.7.16.4"}},
    {Omission::commit_address,
     {"tcgen05.commit without .shared::cluster is given an address of shared memory that is not made generic",
      "9.7.16.12"}},
    {Omission::message_scope, {"a message of another block (st.async) is awaited at block scope", "8.7"}},
    {Omission::arrival_scope,
     {"an arrival at another block's mbarrier is of block scope, or awaited at block scope, where asynchronous work "
      "follows",
      "9.7.13.15.13"}},
    {Omission::init_by_lanes,
     {"several lanes of a warp initialise one mbarrier with one instruction and the same count", "9.7.13.15"}},
    {Omission::unused_contents,
     {"what nobody has written is computed with, and the results were the same with other contents there", "5.1"}},
});
constexpr bool omissions_in_order() {
  for (std::size_t i = 0; i < omissions.size(); ++i)
    if (omissions[i].first != static_cast<Omission>(i)) return false;
  return omissions.back().first == Omission::unused_contents;
}
static_assert(omissions_in_order(), "the list follows the enumeration and has all of it");

}  // namespace

const FindingKind& entry_of(Flaw flaw) { return list[static_cast<std::size_t>(flaw)].second; }
const OmissionKind& entry_of(Omission omission) { return omissions[static_cast<std::size_t>(omission)].second; }

std::vector<FindingKind> finding_kinds() {
  std::vector<FindingKind> kinds;
  for (const Entry& entry : list) kinds.push_back(entry.second);
  return kinds;
}

std::vector<OmissionKind> omission_kinds() {
  std::vector<OmissionKind> kinds;
  for (const auto& entry : omissions) kinds.push_back(entry.second);
  return kinds;
}

}  // namespace wm::vgpu
