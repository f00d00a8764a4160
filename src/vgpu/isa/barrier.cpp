// bar and barrier: threads of a block, of a warp, of a cluster wait for each other.
#include <bit>

#include <fmt/format.h>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/gather.hpp"
#include "vgpu/machine/block.hpp"
#include "vgpu/machine/observer.hpp"

namespace wm::vgpu::isa {

using ptx::Type;

namespace {

enum class Reduction : u8 { none, population, conjunction, disjunction };

struct BarrierOperands {
  Operand barrier, threads;  // threads: constant 0 for the whole block
  Predicate vote;
};

// The barrier and the count of the first active lane; lanes with others stay behind.
struct Chosen {
  u32 barrier, threads;
};
Chosen choose(Warp& warp, const BarrierOperands& b, u32& active, bool waits) {
  const u32 *ids = warp.source32(b.barrier), *counts = warp.source32(b.threads);
  const u32 first = static_cast<u32>(std::countr_zero(active));
  const u32 others = active & ballot_of([&](u32 i) { return ids[i] != ids[first] || counts[i] != counts[first]; });
  if (others != 0) {
    warp.split(others, warp.pc - 1);
    active &= ~others;
  }
  const u32 id = ids[first], count = counts[first];
  if (id >= barriers_per_block)
    warp.fault(fmt::format("a block has {} barriers; there is no barrier {}", barriers_per_block, id), first);
  if (count % lanes_per_warp != 0)
    warp.fault(fmt::format("a barrier counts whole warps; {} threads are none", count), first);
  if (count > (warp.block().warps.size()) * lanes_per_warp)
    warp.fault(fmt::format("the barrier waits for {} threads of a block of {}", count, warp.block().threads), first);
  if (Observer* observer = warp.launch().observer; observer != nullptr && !warp.resumed)
    observer->barrier_arrives(warp, active, id, count, waits);
  const NamedBarrier& now = warp.block().barriers[id];
  if (!warp.resumed && now.arrived > 0 && count != 0 && now.expected != 0 && now.expected != count)
    warp.fault(fmt::format("barrier {} is used with {} threads while others wait for {}", id, count, now.expected),
               first, fault::barrier_count_mismatch);
  return {id, count};
}

template <Reduction reduction>
Step sync_op(Warp& warp, const Op& op, u32 active) {
  const auto& b = op.as<BarrierOperands>();
  const Chosen chosen = choose(warp, b, active, /*waits=*/true);
  NamedBarrier& barrier = warp.block().barriers[chosen.barrier];
  if (!warp.resumed) {
    Wait w;
    w.kind = WaitKind::barrier;
    w.index = chosen.barrier;
    w.generation = barrier.generation;
    if constexpr (reduction != Reduction::none) {
      barrier.votes += std::popcount(warp.predicate(b.vote) & active);
      barrier.voters += std::popcount(active);
    }
    warp.block().arrive(chosen.barrier, warp, active, chosen.threads);
    return warp.wait(w, active);
  }
  if (Observer* observer = warp.launch().observer) observer->barrier_passes(warp, active, chosen.barrier);
  if constexpr (reduction != Reduction::none) {
    // The generation that has just ended is the one before the current; the next cannot end without this thread.
    const auto result = barrier.results[(barrier.generation - 1) & 1];
    if constexpr (reduction == Reduction::population)
      fill_row(warp.row32(op.d), active, [&](u32) { return result.yes; });
    else
      warp.set_predicate(
          op.d.row(),
          (reduction == Reduction::conjunction ? result.yes == result.voters : result.yes != 0) ? all_lanes : 0,
          active);
  }
  return Step::go;
}

Step arrive_op(Warp& warp, const Op& op, u32 active) {
  const Chosen chosen = choose(warp, op.as<BarrierOperands>(), active, /*waits=*/false);
  warp.block().arrive(chosen.barrier, warp, active, chosen.threads);
  return warp.parts().size() == 1 ? Step::go : Step::regroup;
}

Step warp_sync_op(Warp& warp, const Op& op, u32 active) {
  if (warp.resumed) return Step::go;
  const u32* masks = warp.source32(op.a);
  const u32 named = masks[std::countr_zero(active)];
  const u32 others = active & ballot_of([&](u32 i) { return masks[i] != named; });
  if (others != 0) {
    warp.split(others, warp.pc - 1);
    active &= ~others;
  }
  if ((active & ~named) != 0)
    warp.fault(fmt::format("the lane is not in the mask {:#010x} of lanes that are to take part", named),
               static_cast<u32>(std::countr_zero(active & ~named)));
  if ((named & warp.live() & ~active) == 0) return others == 0 ? Step::go : Step::regroup;
  return warp.wait_for_lanes(named, active, true);
}

Step cluster_arrive_op(Warp& warp, const Op&, u32 active) {
  Cluster& c = warp.cluster();
  const u32 twice = warp.cluster_arrived & active;
  if (twice != 0)
    warp.fault("the thread arrives at the cluster's barrier again without having waited", std::countr_zero(twice));
  warp.cluster_arrived |= active;
  warp.cluster_parity = (warp.cluster_parity & ~active) | (c.barrier.generation & 1 ? active : 0);
  c.barrier.arrived += std::popcount(active);
  ++c.events;
  ++c.advances;
  c.settle();
  return Step::go;
}

Step cluster_wait_op(Warp& warp, const Op&, u32 active) {
  Cluster& c = warp.cluster();
  const u32 missing = active & ~warp.cluster_arrived;
  if (missing != 0)
    warp.fault("the thread waits at the cluster's barrier without having arrived", std::countr_zero(missing));
  const u32 parity = c.barrier.generation & 1 ? all_lanes : 0;
  if ((active & ~(warp.cluster_parity ^ parity)) != 0) {  // some have arrived in the phase that still goes on
    Wait w;
    w.kind = WaitKind::cluster_barrier;
    w.generation = c.barrier.generation;
    return warp.wait(w, active);
  }
  warp.cluster_arrived &= ~active;
  return Step::go;
}

void decode_cluster(FunctionDecoder& d) {
  const bool arrive = d.modifiers.take("arrive");
  if (!arrive && !d.modifiers.take("wait")) d.refuse("it is barrier.cluster.arrive or .wait");
  const bool relaxed = d.modifiers.take_one_of({"release", "relaxed", "acquire"}) == 1;
  const bool aligned = d.modifiers.take("aligned");
  d.expect_operands(0);
  const Effect effect =
      arrive ? Effect::cluster_arrive(relaxed ? Ordering::relaxed : Ordering::release) : Effect::cluster_wait();
  d.emit(arrive ? &cluster_arrive_op : &cluster_wait_op, effect.by_whole_warp(aligned));
}

}  // namespace

void barrier(FunctionDecoder& d) {
  if (d.modifiers.take("cluster")) return decode_cluster(d);
  if (d.modifiers.take("warp")) {
    if (!d.modifiers.take("sync")) d.refuse("it is bar.warp.sync");
    d.expect_operands(1);
    const Operand members = d.source(d.operand(0), Type::b32);
    d.emit(&warp_sync_op, Effect::warp_sync()).a = members;
    return;
  }
  d.modifiers.take("cta");
  const bool aligned = d.modifiers.take("aligned") || d.instruction().opcode == "bar";
  const Effect effect = Effect::block_barrier().by_whole_warp(aligned);
  const int kind = d.modifiers.take_one_of({"sync", "arrive", "red"});
  if (kind < 0) d.refuse("it needs .sync, .arrive or .red");
  BarrierOperands b;
  std::size_t first = 0;
  Reduction reduction = Reduction::none;
  if (kind == 2) {
    const int operation = d.modifiers.take_one_of({"popc", "and", "or"});
    const Type type = d.modifiers.take_type();
    if (operation < 0 || type != (operation == 0 ? Type::u32 : Type::pred))
      d.refuse("it is .red.popc.u32, .red.and.pred or .red.or.pred");
    reduction = operation == 0   ? Reduction::population
                : operation == 1 ? Reduction::conjunction
                                 : Reduction::disjunction;
    d.expect_operands(3, 4);
    first = 1;
    b.vote = d.predicate(d.operand(d.operands() - 1));
  } else {
    d.expect_operands(kind == 1 ? 2 : 1, 2);
  }
  const std::size_t counted = d.operands() - (kind == 2 ? 2 : 0);
  b.barrier = d.source(d.operand(first), Type::u32);
  b.threads = counted > 1 ? d.source(d.operand(first + 1), Type::u32) : d.constant32(0);
  if (kind == 1) {
    d.emit(&arrive_op, effect, b);
    return;
  }
  Operand to;
  if (reduction == Reduction::population) to = d.destination(d.operand(0), Type::u32);
  if (reduction == Reduction::conjunction || reduction == Reduction::disjunction)
    to = Operand::reg(d.predicate_destination(d.operand(0)));
  const Handler handler = reduction == Reduction::none          ? &sync_op<Reduction::none>
                          : reduction == Reduction::population  ? &sync_op<Reduction::population>
                          : reduction == Reduction::conjunction ? &sync_op<Reduction::conjunction>
                                                                : &sync_op<Reduction::disjunction>;
  d.emit(handler, effect, b).d = to;
}

}  // namespace wm::vgpu::isa
