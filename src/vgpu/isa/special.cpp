// Special registers, and addresses of variables as values.
#include "vgpu/isa/special.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <iterator>

#include <fmt/format.h>

#include "vgpu/isa/lanes.hpp"
#include "vgpu/machine/block.hpp"

namespace wm::vgpu {

namespace {

// The same for all threads of a warp.
using WarpValue = u64 (*)(const Warp&);
template <WarpValue value>
Step uniform(Warp& warp, const Op& op, u32 active) {
  const u64 v = value(warp);
  if (op.immediate == 8)
    fill_row(warp.row64(op.d), active, [&](u32) { return v; });
  else
    fill_row(warp.row32(op.d), active, [&](u32) { return static_cast<u32>(v); });
  return Step::go;
}
// Different from lane to lane.
using LaneValue = u32 (*)(const Warp&, u32);
template <LaneValue value>
Step per_lane(Warp& warp, const Op& op, u32 active) {
  if (op.immediate == 8)
    fill_row(warp.row64(op.d), active, [&](u32 i) { return u64{value(warp, i)}; });
  else
    fill_row(warp.row32(op.d), active, [&](u32 i) { return value(warp, i); });
  return Step::go;
}

// One host thread runs a cluster, so its own count of instructions is a clock that only goes forward.
u64 clock_of(const Warp& w) { return w.instructions() + w.cluster().round * 16; }
u64 global_timer(const Warp& w) {
  if (w.launch().options.deterministic) return clock_of(w);
  return static_cast<u64>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}
Dim3 block_in_cluster(const Warp& w) {
  const Dim3 &id = w.block().id, &c = w.launch().shape.cluster;
  return {id.x % c.x, id.y % c.y, id.z % c.z};
}
Dim3 cluster_id(const Warp& w) {
  const Dim3 &id = w.block().id, &c = w.launch().shape.cluster;
  return {id.x / c.x, id.y / c.y, id.z / c.z};
}
u64 block_number(const Warp& w) {
  const Dim3 &id = w.block().id, &g = w.launch().shape.grid;
  return id.x + u64{g.x} * (id.y + u64{g.y} * id.z);
}

struct Entry {
  std::string_view name;
  Handler handler;
};

template <WarpValue v>
constexpr Entry whole(std::string_view name) {
  return {name, &uniform<v>};
}
template <LaneValue v>
constexpr Entry lane(std::string_view name) {
  return {name, &per_lane<v>};
}

constexpr Entry table[] = {
    lane<+[](const Warp& w, u32 i) { return w.thread(i) % w.launch().shape.block.x; }>("%tid.x"),
    lane<+[](const Warp& w, u32 i) { return w.thread(i) / w.launch().shape.block.x % w.launch().shape.block.y; }>(
        "%tid.y"),
    lane<+[](const Warp& w, u32 i) { return w.thread(i) / w.launch().shape.block.x / w.launch().shape.block.y; }>(
        "%tid.z"),
    whole<+[](const Warp& w) -> u64 { return w.launch().shape.block.x; }>("%ntid.x"),
    whole<+[](const Warp& w) -> u64 { return w.launch().shape.block.y; }>("%ntid.y"),
    whole<+[](const Warp& w) -> u64 { return w.launch().shape.block.z; }>("%ntid.z"),
    whole<+[](const Warp& w) -> u64 { return w.block().id.x; }>("%ctaid.x"),
    whole<+[](const Warp& w) -> u64 { return w.block().id.y; }>("%ctaid.y"),
    whole<+[](const Warp& w) -> u64 { return w.block().id.z; }>("%ctaid.z"),
    whole<+[](const Warp& w) -> u64 { return w.launch().shape.grid.x; }>("%nctaid.x"),
    whole<+[](const Warp& w) -> u64 { return w.launch().shape.grid.y; }>("%nctaid.y"),
    whole<+[](const Warp& w) -> u64 { return w.launch().shape.grid.z; }>("%nctaid.z"),
    lane<+[](const Warp&, u32 i) { return i; }>("%laneid"),
    whole<+[](const Warp& w) -> u64 { return w.index(); }>("%warpid"),
    whole<+[](const Warp& w) -> u64 { return w.block().warps.size(); }>("%nwarpid"),
    lane<+[](const Warp&, u32 i) { return 1u << i; }>("%lanemask_eq"),
    lane<+[](const Warp&, u32 i) { return (2u << i) - 1; }>("%lanemask_le"),
    lane<+[](const Warp&, u32 i) { return (1u << i) - 1; }>("%lanemask_lt"),
    lane<+[](const Warp&, u32 i) { return ~0u << i; }>("%lanemask_ge"),
    lane<+[](const Warp&, u32 i) { return ~((2u << i) - 1); }>("%lanemask_gt"),
    // Blocks go round the multiprocessors; a persistent kernel gets one each.
    whole<+[](const Warp& w) -> u64 { return block_number(w) % static_cast<u64>(w.launch().chip.multiprocessors); }>(
        "%smid"),
    whole<+[](const Warp& w) -> u64 { return static_cast<u64>(w.launch().chip.multiprocessors); }>("%nsmid"),
    whole<+[](const Warp&) -> u64 { return 0; }>("%gridid"),
    whole<+[](const Warp& w) -> u64 { return (w.launch().shape.meeting_place >> 32); }>("%envreg1"),
    whole<+[](const Warp& w) -> u64 { return w.launch().shape.meeting_place & 0xffffffff; }>("%envreg2"),
    whole<+[](const Warp& w) -> u64 { return clock_of(w); }>("%clock"),
    whole<+[](const Warp& w) -> u64 { return (clock_of(w) >> 32); }>("%clock_hi"),
    whole<+[](const Warp& w) -> u64 { return clock_of(w); }>("%clock64"),
    whole<+[](const Warp& w) -> u64 { return global_timer(w); }>("%globaltimer"),
    whole<+[](const Warp& w) -> u64 { return global_timer(w) & 0xffffffff; }>("%globaltimer_lo"),
    whole<+[](const Warp& w) -> u64 { return (global_timer(w) >> 32); }>("%globaltimer_hi"),
    whole<+[](const Warp& w) -> u64 { return cluster_id(w).x; }>("%clusterid.x"),
    whole<+[](const Warp& w) -> u64 { return cluster_id(w).y; }>("%clusterid.y"),
    whole<+[](const Warp& w) -> u64 { return cluster_id(w).z; }>("%clusterid.z"),
    whole<+[](const Warp& w) -> u64 { return w.launch().clusters.x; }>("%nclusterid.x"),
    whole<+[](const Warp& w) -> u64 { return w.launch().clusters.y; }>("%nclusterid.y"),
    whole<+[](const Warp& w) -> u64 { return w.launch().clusters.z; }>("%nclusterid.z"),
    whole<+[](const Warp& w) -> u64 { return block_in_cluster(w).x; }>("%cluster_ctaid.x"),
    whole<+[](const Warp& w) -> u64 { return block_in_cluster(w).y; }>("%cluster_ctaid.y"),
    whole<+[](const Warp& w) -> u64 { return block_in_cluster(w).z; }>("%cluster_ctaid.z"),
    whole<+[](const Warp& w) -> u64 { return w.launch().shape.cluster.x; }>("%cluster_nctaid.x"),
    whole<+[](const Warp& w) -> u64 { return w.launch().shape.cluster.y; }>("%cluster_nctaid.y"),
    whole<+[](const Warp& w) -> u64 { return w.launch().shape.cluster.z; }>("%cluster_nctaid.z"),
    whole<+[](const Warp& w) -> u64 { return w.block().rank; }>("%cluster_ctarank"),
    whole<+[](const Warp& w) -> u64 { return w.launch().cluster_blocks; }>("%cluster_nctarank"),
    whole<+[](const Warp& w) -> u64 { return w.launch().shape.shared_bytes; }>("%dynamic_smem_size"),
    whole<+[](const Warp& w) -> u64 { return w.block().shared.size(); }>("%total_smem_size"),
    whole<+[](const Warp& w) -> u64 { return w.block().shared.size(); }>("%aggr_smem_size"),
    whole<+[](const Warp&) -> u64 { return shared_of_groups; }>("%reserved_smem_offset_1"),
    whole<+[](const Warp&) -> u64 { return 0; }>("%reserved_smem_offset_begin"),
    whole<+[](const Warp&) -> u64 { return shared_reserved; }>("%reserved_smem_offset_end"),
    whole<+[](const Warp&) -> u64 { return shared_reserved; }>("%reserved_smem_offset_cap"),
    whole<+[](const Warp&) -> u64 { return 0; }>("%current_graph_exec"),  // graphs' nodes are launched one by one
};
// What a driver or a profiler would have set.
constexpr Entry unset = whole<+[](const Warp&) -> u64 { return 0; }>("");
constexpr std::string_view unset_names[] = {"%envreg", "%pm"};

Step cluster_flag(Warp& warp, const Op& op, u32 active) {
  warp.set_predicate(op.d.row(), warp.launch().explicit_cluster ? all_lanes : 0, active);
  return Step::go;
}

Step shared_address(Warp& warp, const Op& op, u32 active) {
  const u64 dynamic = op.b.code != 0 ? warp.launch().entry.dynamic_shared : 0;
  const u64 v = warp.block().shared_base + dynamic + static_cast<u64>(op.immediate);
  if (op.c.code == 8)
    fill_row(warp.row64(op.d), active, [&](u32) { return v; });
  else
    fill_row(warp.row32(op.d), active, [&](u32) { return static_cast<u32>(v); });
  return Step::go;
}
Step frame_address(Warp& warp, const Op& op, u32 active) {
  const u64 v = warp.local_base() + static_cast<u64>(op.immediate);
  if (op.c.code == 8)
    fill_row(warp.row64(op.d), active, [&](u32) { return v; });
  else
    fill_row(warp.row32(op.d), active, [&](u32) { return static_cast<u32>(v); });
  return Step::go;
}
Step constant_address(Warp& warp, const Op& op, u32 active) {
  const auto v = static_cast<u64>(op.immediate);
  if (op.c.code == 8)
    fill_row(warp.row64(op.d), active, [&](u32) { return v; });
  else
    fill_row(warp.row32(op.d), active, [&](u32) { return static_cast<u32>(v); });
  return Step::go;
}

}  // namespace

void emit_special(FunctionDecoder& d, const Effect& effect, const std::string& name, Operand row, u32 bytes) {
  const Entry* entry = std::ranges::find(table, name, &Entry::name);
  if (entry == std::end(table)) {
    if (std::ranges::none_of(unset_names, [&](std::string_view start) { return name.starts_with(start); }))
      d.refuse(fmt::format("the special register {} is not known here", name));
    entry = &unset;
  }
  if (name == "%reserved_smem_offset_1") d.program().uses_reserved_shared = true;
  Op& op = d.emit(entry->handler, effect);
  op.d = row;
  op.immediate = bytes;
}

void emit_special_predicate(FunctionDecoder& d, const std::string& name, u32 row) {
  if (name != "%is_explicit_cluster") d.refuse(fmt::format("the special register {} is not known here", name));
  d.emit(&cluster_flag, Effect::move()).d = Operand::reg(row);
}

void emit_symbol(FunctionDecoder& d, const Effect& effect, const ptx::Operand& o, Operand row, u32 bytes) {
  if (bytes != 8 && bytes != 4) d.refuse("an address needs 64 or 32 bits");
  Address address;
  if (const Function* f = d.program().find(o.name))
    address.offset = static_cast<i64>(function_window + u64{f->index} * 16);
  else
    address = d.symbol(o.name).address;
  const bool shared = address.base == AddressBase::shared || address.base == AddressBase::dynamic_shared;
  Op& op = d.emit(shared                               ? &shared_address
                  : address.base == AddressBase::frame ? &frame_address
                                                       : &constant_address,
                  effect);
  op.d = row;
  op.b.code = address.base == AddressBase::dynamic_shared;
  op.c.code = bytes;
  op.immediate = address.offset + o.integer;
}

}  // namespace wm::vgpu
