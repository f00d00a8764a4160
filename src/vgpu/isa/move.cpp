// mov, and the conversions of addresses between spaces.
#include <algorithm>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/memory_operands.hpp"
#include "vgpu/isa/special.hpp"
#include "vgpu/machine/access.hpp"
#include "vgpu/machine/block.hpp"

namespace wm::vgpu::isa {

using ptx::OperandKind;
using ptx::Type;

namespace {

template <class W>
Step copy_row(Warp& warp, const Op& op, u32 active) {
  const W* a = source_row<W>(warp, op.a);
  fill_row(destination_row<W>(warp, op.d), active, [&](u32 i) { return a[i]; });
  return Step::go;
}

Step copy_predicate(Warp& warp, const Op& op, u32 active) {
  warp.set_predicate(op.d.row(), warp.predicate(op.as<Predicate>()), active);
  return Step::go;
}

// mov.b64 {lo, hi}, x and mov.b32 x, {a, b, c, d}: `pieces` from the lowest bits up.
struct Pieces {
  std::vector<Operand> rows;
  u32 bits = 0;  // of a piece
};
Step pack_pieces(Warp& warp, const Op& op, u32 active) {
  const auto& p = op.as<Pieces>();
  const bool wide = p.bits * p.rows.size() == 64;
  const u64 mask = (u64{1} << p.bits) - 1;
  LaneAddresses words{};
  for (std::size_t k = 0; k < p.rows.size(); ++k) {
    const u32* piece = warp.source32(p.rows[k]);
    for (u32 i = 0; i < lanes_per_warp; ++i) words[i] |= (piece[i] & mask) << (k * p.bits);
  }
  if (wide)
    fill_row(warp.row64(op.d), active, [&](u32 i) { return words[i]; });
  else
    fill_row(warp.row32(op.d), active, [&](u32 i) { return static_cast<u32>(words[i]); });
  return Step::go;
}
Step unpack_pieces(Warp& warp, const Op& op, u32 active) {
  const auto& p = op.as<Pieces>();
  const bool wide = p.bits * p.rows.size() == 64;
  const u64 mask = (u64{1} << p.bits) - 1;
  LaneAddresses words;
  for (u32 i = 0; i < lanes_per_warp; ++i) words[i] = wide ? warp.source64(op.a)[i] : warp.source32(op.a)[i];
  for (std::size_t k = 0; k < p.rows.size(); ++k)
    fill_row(warp.row32(p.rows[k]), active, [&](u32 i) { return static_cast<u32>(words[i] >> (k * p.bits) & mask); });
  return Step::go;
}

Type bits_type(u32 bytes) {
  return bytes == 8 ? Type::b64 : bytes == 4 ? Type::b32 : bytes == 2 ? Type::b16 : Type::b8;
}

void copy_wide_pair(FunctionDecoder& d, Operand to_low, Operand to_high, Operand low, Operand high) {
  Op& first = d.emit(&copy_row<u64>, Effect::move());
  first.d = to_low;
  first.a = low;
  Op& second = d.emit(&copy_row<u64>, Effect::move());
  second.d = to_high;
  second.a = high;
}

// mov.b128 between a register and {low, high}.
void move128(FunctionDecoder& d) {
  const auto halves = [&](const ptx::Operand& o, bool destination) -> std::pair<Operand, Operand> {
    if (o.kind == OperandKind::vector) {
      if (o.parts.size() != 2) d.refuse("128 bits are two registers of 64");
      return destination ? std::pair(d.destination(o.parts[0], 8), d.destination(o.parts[1], 8))
                         : std::pair(d.source(o.parts[0], Type::b64), d.source(o.parts[1], Type::b64));
    }
    const Operand low = destination ? d.destination(o, 16) : d.source(o, Type::b128);
    return {low, Operand::reg(low.row() + 1)};
  };
  const auto [low, high] = halves(d.operand(1), false);
  const auto [to_low, to_high] = halves(d.operand(0), true);
  copy_wide_pair(d, to_low, to_high, low, high);
}

void move_pieces(FunctionDecoder& d, Type type, bool pack) {
  const ptx::Operand& vector = d.operand(pack ? 1 : 0);
  const std::size_t count = vector.parts.size();
  const u32 bytes = ptx::bytes_of(type);
  if (count != 2 && count != 4) d.refuse("a register is taken apart into 2 or 4 pieces");
  const u32 piece = bytes / static_cast<u32>(count);
  if (piece == 0 || piece * count != bytes || piece > 4) d.refuse("the pieces do not fill the register");
  Pieces p;
  p.bits = piece * 8;
  for (const ptx::Operand& part : vector.parts)
    p.rows.push_back(pack ? d.source(part, bits_type(piece)) : d.destination(part, piece));
  if (pack) {
    const Operand to = d.destination(d.operand(0), type);
    d.emit(&pack_pieces, Effect::move(), p).d = to;
  } else {
    const Operand from = d.source(d.operand(1), type);
    d.emit(&unpack_pieces, Effect::move(), p).a = from;
  }
}

}  // namespace

void move(FunctionDecoder& d) {
  const bool vector = d.modifiers.take("v4");
  const Type type = d.modifiers.take_type();
  d.expect_operands(2);
  const ptx::Operand &to = d.operand(0), &from = d.operand(1);
  if (vector) {  // of a special register that has three
    if (from.kind != OperandKind::special || to.kind != OperandKind::vector || to.parts.size() != 4)
      d.refuse("with .v4 it reads a special register into four");
    if (type == Type::pred || (ptx::bytes_of(type) != 2 && ptx::bytes_of(type) != 4))
      d.refuse("with .v4 it has a type of 16 or 32 bits");
    for (std::size_t i = 0; i < 3; ++i)
      emit_special(d, Effect::move(), from.name + "." + "xyz"[i], d.destination(to.parts[i], type),
                   ptx::bytes_of(type));
    const Operand zero = d.constant32(0), last = d.destination(to.parts[3], type);
    Op& op = d.emit(&copy_row<u32>, Effect::move());
    op.d = last;
    op.a = zero;
    return;
  }
  if (type == Type::pred) {
    if (from.kind == OperandKind::special) return emit_special_predicate(d, from.name, d.predicate_destination(to));
    const Predicate p = d.predicate(from);
    const u32 row = d.predicate_destination(to);
    d.emit(&copy_predicate, Effect::move(), p).d = Operand::reg(row);
    return;
  }
  if (type == Type::b128) return move128(d);
  if (type == Type::none) d.refuse("it has no type");
  if (from.kind == OperandKind::vector) return move_pieces(d, type, true);
  if (to.kind == OperandKind::vector) return move_pieces(d, type, false);
  const u32 bytes = ptx::bytes_of(type);
  const Operand row = d.destination(to, type);
  if (from.kind == OperandKind::special) return emit_special(d, Effect::move(), from.name, row, bytes);
  if (from.kind == OperandKind::symbol) return emit_symbol(d, Effect::move(), from, row, bytes);
  const Operand a = d.source(from, type);
  Op& op = d.emit(bytes == 8 ? &copy_row<u64> : &copy_row<u32>, Effect::move());
  op.d = row;
  op.a = a;
}

namespace {

u64 window_of(const FunctionDecoder& d, AddressSpace space) {
  switch (space) {
    case AddressSpace::shared:
    case AddressSpace::shared_cluster: return shared_window;
    case AddressSpace::local: return local_window;
    case AddressSpace::param: return d.in_kernel() ? 0 : local_window;
    default: return 0;
  }
}

template <class W>
Step add_window(Warp& warp, const Op& op, u32 active) {
  const W* a = source_row<W>(warp, op.a);
  const auto window = static_cast<W>(op.immediate);
  fill_row(destination_row<W>(warp, op.d), active, [&](u32 i) { return static_cast<W>(a[i] + window); });
  return Step::go;
}

template <AddressSpace space>
Step test_space(Warp& warp, const Op& op, u32 active) {
  const u64* a = warp.source64(op.a);
  const u32 own = warp.block().rank;
  warp.set_predicate(op.d.row(), ballot_of([&](u32 i) {
                       const Located l = locate(a[i]);
                       if (space == AddressSpace::shared)
                         return l.space == AddressSpace::shared_cluster && l.address >> shared_rank_shift == own;
                       if (space == AddressSpace::constant)
                         return l.space == AddressSpace::global && warp.launch().memory.find(a[i]).constant();
                       return l.space == space;
                     }),
                     active);
  return Step::go;
}

// mapa: the same place in another block of the cluster: only the rank changes. Of a block that is not there the address
// may be made, and not used.
template <class W>
Step map_row(Warp& warp, const Op& op, u32 active) {
  const W* a = source_row<W>(warp, op.a);
  const u32* rank = warp.source32(op.b);
  constexpr u32 nobody = 0xff;
  fill_row(destination_row<W>(warp, op.d), active, [&](u32 i) {
    const auto offset = a[i] & ~static_cast<W>(u64{0xff} << shared_rank_shift);
    return static_cast<W>(offset | static_cast<W>(std::min(rank[i], nobody)) << shared_rank_shift);
  });
  return Step::go;
}
template <class W>
Step rank_row(Warp& warp, const Op& op, u32 active) {
  const W* a = source_row<W>(warp, op.a);
  fill_row(warp.row32(op.d), active, [&](u32 i) { return static_cast<u32>(a[i] >> shared_rank_shift & 0xff); });
  return Step::go;
}

}  // namespace

void convert_address(FunctionDecoder& d) {
  const bool to_space = d.modifiers.take("to");
  const AddressSpace space = take_space(d);
  if (space == AddressSpace::generic) d.refuse("it needs a state space");
  const Type type = d.modifiers.take_type();
  if (type != Type::u64 && type != Type::u32) d.refuse("addresses have 64 or 32 bits");
  d.expect_operands(2);
  const u64 window = window_of(d, space);
  const Operand a = d.source(d.operand(1), type);
  const Operand to = d.destination(d.operand(0), type);
  Op& op = d.emit(type == Type::u64 ? &add_window<u64> : &add_window<u32>, Effect::none());
  op.d = to;
  op.a = a;
  op.immediate = static_cast<i64>(to_space ? u64{0} - window : window);
}

void is_space(FunctionDecoder& d) {
  const AddressSpace space = take_space(d);
  if (space == AddressSpace::generic) d.refuse("it needs a state space");
  d.expect_operands(2);
  const Operand a = d.source(d.operand(1), Type::u64);
  const u32 to = d.predicate_destination(d.operand(0));
  const auto handler = [&]() -> Handler {
    switch (space) {
      case AddressSpace::shared: return &test_space<AddressSpace::shared>;
      case AddressSpace::shared_cluster: return &test_space<AddressSpace::shared_cluster>;
      case AddressSpace::local: return &test_space<AddressSpace::local>;
      case AddressSpace::constant: return &test_space<AddressSpace::constant>;
      case AddressSpace::param: return &test_space<AddressSpace::param>;
      default: return &test_space<AddressSpace::global>;
    }
  }();
  Op& op = d.emit(handler, Effect::none());
  op.d = Operand::reg(to);
  op.a = a;
}

void map_address(FunctionDecoder& d) {
  d.modifiers.take("shared::cluster");
  const Type type = d.modifiers.take_type();
  if (type != Type::u64 && type != Type::u32) d.refuse("addresses have 64 or 32 bits");
  emit_lanewise(d, Effect::none(), type == Type::u64 ? &map_row<u64> : &map_row<u32>, type, {type, Type::u32});
}

void block_rank_of(FunctionDecoder& d) {
  d.modifiers.take("shared::cluster");
  const Type type = d.modifiers.take_type();
  if (type != Type::u64 && type != Type::u32) d.refuse("addresses have 64 or 32 bits");
  emit_lanewise(d, Effect::none(), type == Type::u64 ? &rank_row<u64> : &rank_row<u32>, Type::u32, {type});
}

}  // namespace wm::vgpu::isa
