// tensormap.replace and tensormap.cp_fenceproxy: maps that a kernel changes.
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "tensor_map/virtual_form.hpp"
#include "vgpu/isa/families.hpp"
#include "vgpu/isa/gather.hpp"
#include "vgpu/isa/memory_operands.hpp"
#include "vgpu/machine/access.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu::isa {

using ptx::Type;
using tensor_map::Replaceable;

namespace {

struct Replacement {
  Address address;
  AddressSpace space = AddressSpace::generic;
  Replaceable field = Replaceable::global_address;
  u32 ordinal = 0;
  bool wide = false;
  Operand value;
};

Step replace_op(Warp& warp, const Op& op, u32 active) {
  const auto& r = op.as<Replacement>();
  LaneAddresses addresses;
  lane_addresses(warp, r.address, addresses);
  for_each_lane(active, [&](u32 i) {
    std::byte* map = resolve_one(warp, r.space, addresses[i], 128, 64, AccessKind::write, i);
    if (Observer* observer = warp.launch().observer) {
      const u64 window = r.space == AddressSpace::shared ? shared_window : 0;
      observer->access_range(warp, AccessKind::write, {window + addresses[i], 128}, i);
    }
    const u64 value = r.wide ? warp.source64(r.value)[i] : warp.source32(r.value)[i];
    try {
      tensor_map::replace(std::span<std::byte, 128>(map, 128), r.field, r.ordinal, value);
    } catch (const Error& error) {
      warp.fault(error.what(), i);
    }
  });
  return Step::go;
}

struct MapCopy {
  Address to, from;
};
// The whole warp copies one map: the first lane's addresses count.
Step copy_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& c = op.as<MapCopy>();
  LaneAddresses to, from;
  lane_addresses(warp, c.to, to);
  lane_addresses(warp, c.from, from);
  const u32 lane = static_cast<u32>(std::countr_zero(active));
  const std::byte* source = resolve_one(warp, AddressSpace::shared, from[lane], 128, 128, AccessKind::read, lane);
  std::byte* target = resolve_one(warp, AddressSpace::global, to[lane], 128, 128, AccessKind::write, lane);
  if (Observer* observer = warp.launch().observer) {
    observer->access_range(warp, AccessKind::read, {shared_window + from[lane], 128}, lane);
    observer->access_range(warp, AccessKind::write, {to[lane], 128}, lane);
  }
  std::memcpy(target, source, 128);
  return Step::go;
}

void decode_replace(FunctionDecoder& d) {
  if (!d.modifiers.take("tile")) d.refuse("it is tensormap.replace.tile");
  Replacement r;
  const std::string field(d.modifiers.first());
  try {
    r.field = tensor_map::replaceable_from_name(field);
  } catch (const Error& error) {
    d.refuse(error.what());
  }
  d.modifiers.take(field);
  r.space = take_space(d);
  if (r.space != AddressSpace::generic && r.space != AddressSpace::global && r.space != AddressSpace::shared)
    d.refuse("a tensor map lies in global or shared memory");
  if (!d.modifiers.take("b1024")) d.refuse("it needs .b1024");
  const Type type = d.modifiers.take_type();
  if (type != Type::b32 && type != Type::b64) d.refuse("the value has 32 or 64 bits");
  r.wide = type == Type::b64;
  const bool ordinal = r.field == Replaceable::box_dim || r.field == Replaceable::global_dim ||
                       r.field == Replaceable::global_stride || r.field == Replaceable::element_stride;
  d.expect_operands(ordinal ? 3 : 2);
  r.address = d.address(d.operand(0), r.space);
  if (ordinal) {
    const i64 which = d.constant(d.operand(1), "the dimension");
    if (which < 0 || which > 4) d.refuse("a map has dimensions 0 to 4");
    r.ordinal = static_cast<u32>(which);
  }
  r.value = d.source(d.operand(ordinal ? 2 : 1), type);
  d.emit(&replace_op, Effect::access(r.space), r);
}

void decode_copy(FunctionDecoder& d) {
  if (take_space_first(d) != AddressSpace::global || take_space_first(d) != AddressSpace::shared)
    d.refuse("it copies from .shared::cta to .global");
  const bool releases = d.modifiers.take("tensormap::generic") && d.modifiers.take("release");
  const auto scope = take_scope(d);
  if (!releases || !scope || !d.modifiers.take("sync") || !d.modifiers.take("aligned"))
    d.refuse("it is .tensormap::generic.release.<scope>.sync.aligned");
  d.expect_operands(3);
  MapCopy c;
  c.to = d.address(d.operand(0), AddressSpace::global);
  c.from = d.address(d.operand(1), AddressSpace::shared);
  if (d.constant(d.operand(2), "the size") != 128) d.refuse("a tensor map has 128 bytes");
  d.emit(&copy_op, Effect::map_release(*scope).by_whole_warp(), c);
}

}  // namespace

void tensor_map_family(FunctionDecoder& d) {
  if (d.modifiers.take("replace")) return decode_replace(d);
  if (d.modifiers.take("cp_fenceproxy")) return decode_copy(d);
  d.refuse("there is no such operation on tensor maps");
}

}  // namespace wm::vgpu::isa
