// tcgen05.ld and st: between tensor memory and the registers of a warp, in every shape.
#include <array>
#include <bit>
#include <optional>

#include <fmt/format.h>

#include "vgpu/isa/gather.hpp"
#include "vgpu/isa/matrix_types.hpp"
#include "vgpu/isa/tcgen05.hpp"
#include "vgpu/machine/access.hpp"

namespace wm::vgpu::isa {

using ptx::Type;

namespace {

enum class Shape : u8 { lanes32, bits64, bits128, bits256, halves };

struct Transfer {
  Shape shape = Shape::lanes32;
  bool packed = false;  // two columns of 16 bits a register
  u32 second = 0;       // halves: columns from the first 16 lanes' to those of the others
  Address address;
  std::vector<u32> rows;  // of a load, in the frame
  std::vector<Operand> sources;

  u32 registers() const { return static_cast<u32>(rows.empty() ? sources.size() : rows.size()); }
  u32 lanes() const { return shape == Shape::lanes32 ? 32 : 16; }

  // Where register r of a lane lies, from the address on; packed, the first of two columns.
  TensorAddress cell(u32 lane, u32 r) const {
    const u32 wide = packed ? 2 : 1;
    switch (shape) {
      case Shape::lanes32: return {lane, r * wide};
      case Shape::bits64: return {lane / 4 + 8 * (lane % 2), (2 * r + lane / 2 % 2) * wide};
      case Shape::bits128: return {lane / 4 + 8 * (r % 2), (r / 2 * 4 + lane % 4) * wide};
      case Shape::bits256: return {lane / 4 + 8 * (r / 2 % 2), (r / 4 * 8 + 2 * (lane % 4) + r % 2) * wide};
      case Shape::halves: return {lane % 16, r * wide + lane / 16 * second};
    }
    return {};
  }
  // Columns that it touches, from the address on.
  u32 columns() const {
    const u32 one = packed ? 2 : 1, count = registers();
    switch (shape) {
      case Shape::lanes32: return count * one;
      case Shape::bits64: return 2 * count * one;
      case Shape::bits128: return 2 * count * one;
      case Shape::bits256: return 2 * count * one;
      case Shape::halves: return second + count * one;
    }
    return 0;
  }
};

// The first cell of a warp's transfer, checked: warp w of the block reaches lanes 32 * (w % 4) and on.
TensorAddress first_cell(Warp& warp, const Transfer& t, u32 active) {
  LaneAddresses all;
  lane_addresses(warp, t.address, all);
  const u32 lane = static_cast<u32>(std::countr_zero(active));
  const TensorAddress at = TensorAddress::of(static_cast<u32>(all[lane]));
  if ((active & ballot_of([&](u32 i) { return all[i] != all[lane]; })) != 0)
    warp.fault("the lanes of a warp give different addresses in tensor memory");
  if (at.lane >= TensorMemory::lanes)
    warp.fault(fmt::format("lane {} of tensor memory is used; it has {}", at.lane, TensorMemory::lanes), lanes_per_warp,
               fault::out_of_bounds);
  if (at.lane % t.lanes() != 0)
    warp.fault(fmt::format("the transfer starts at lane {}: it starts at a multiple of {}", at.lane, t.lanes()),
               lanes_per_warp, fault::misaligned);
  if (t.shape == Shape::halves) {  // the two runs of columns may lie apart
    const u32 run = t.columns() - t.second;
    check_columns(warp, warp.block(), at.column, run, lanes_per_warp);
    check_columns(warp, warp.block(), at.column + t.second, run, lanes_per_warp);
  } else {
    check_columns(warp, warp.block(), at.column, t.columns(), lanes_per_warp);
  }
  const u32 own = warp.index() % 4 * 32;
  if (Observer* observer = warp.launch().observer; observer != nullptr && at.lane >= 32 && at.lane / 32 * 32 != own)
    observer->names_foreign_lane(warp, at.lane);
  return {own + at.lane % 32, at.column};
}

// Tells the judge what it touches; 0 where nobody watches.
u64 tell(const Warp& warp, const Transfer& t, const TensorAddress& at, bool load) {
  Observer* observer = warp.launch().observer;
  if (observer == nullptr) return 0;
  CopyIssue issue;
  Footprint& touched = load ? issue.reads : issue.writes;
  const u32 run = t.columns() - t.second;
  for (u32 lane = 0; lane < t.lanes(); ++lane) {
    touched.add(cell_address(warp.block(), at.lane + lane, at.column), u64{run} * 4);
    if (t.shape == Shape::halves)
      touched.add(cell_address(warp.block(), at.lane + lane, at.column + t.second), u64{run} * 4);
  }
  return observer->copy_issued(warp, 0, issue);
}

u32 read_cell(TensorMemory& memory, u32 lane, u32 column, bool packed) {
  if (!packed) return memory.at(lane, column);
  return (memory.at(lane, column) & 0xffff) | memory.at(lane, column + 1) << 16;
}

void write_cell(TensorMemory& memory, u32 lane, u32 column, bool packed, u32 value) {
  if (!packed) {
    memory.at(lane, column) = value;
    return;
  }
  memory.at(lane, column) = value & 0xffff;
  memory.at(lane, column + 1) = value >> 16;
}

// The accelerated case: 32 neighbouring lanes of one column, eight of which lie four words apart.
void read_column(TensorMemory& memory, u32 lane, u32 column, u32* to) {
  for (u32 eight = 0; eight < 4; ++eight) {
    const u32* from = &memory.at(lane + 8 * eight, column);
    for (u32 i = 0; i < 8; ++i) to[8 * eight + i] = from[4 * i];
  }
}

Step load_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& t = op.as<Transfer>();
  const TensorAddress at = first_cell(warp, t, active);
  tell(warp, t, at, true);
  TensorMemory& memory = *warp.block().tensor.memory;
  u32* frame = warp.frame_rows(warp.frame().base32);
  for (u32 r = 0; r < t.rows.size(); ++r) {
    u32* to = frame + std::size_t{t.rows[r]} * lanes_per_warp;
    if (t.shape == Shape::lanes32 && !t.packed && active == all_lanes) {
      read_column(memory, at.lane, at.column + r, to);
      continue;
    }
    for_each_lane(active, [&](u32 i) {
      const TensorAddress cell = t.cell(i, r);
      to[i] = read_cell(memory, at.lane + cell.lane, at.column + cell.column, t.packed);
    });
  }
  return Step::go;
}

class CellStore final : public AsyncOperation {
 public:
  CellStore(const Origin& origin, const Transfer& what, const TensorAddress& to, u32 lanes)
      : AsyncOperation(origin), what_(what), to_(to), lanes_(lanes) {}
  std::vector<std::array<u32, lanes_per_warp>> values;  // by register

  bool advance(Cluster&, Random*) override {
    Warp& warp = *origin.warp;
    TensorMemory& memory = *warp.block().tensor.memory;
    for (u32 r = 0; r < values.size(); ++r)
      for_each_lane(lanes_, [&](u32 i) {
        const TensorAddress cell = what_.cell(i, r);
        write_cell(memory, to_.lane + cell.lane, to_.column + cell.column, what_.packed, values[r][i]);
      });
    --warp.tensor_stores;
    return true;
  }

 private:
  const Transfer& what_;
  TensorAddress to_;
  u32 lanes_;
};

Step store_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const auto& t = op.as<Transfer>();
  const TensorAddress at = first_cell(warp, t, active);
  auto store = std::make_unique<CellStore>(Origin::of(warp, 0), t, at, active);
  for (const Operand& source : t.sources) {
    const u32* row = warp.source32(source);
    std::copy(row, row + lanes_per_warp, store->values.emplace_back().begin());
  }
  store->watched = tell(warp, t, at, false);
  ++warp.tensor_stores;
  Cluster& cluster = warp.cluster();
  // In friendly mode it is done at once: published kernels say that a store is done without waiting for it, which the
  // judge finds and a chip does not show.
  if (cluster.run->options.mode == Mode::friendly)
    store->advance(cluster, nullptr);
  else
    cluster.async.issue(cluster, std::move(store));
  return Step::go;
}

Step wait_loads_op(Warp& warp, const Op&, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  return Step::go;  // a load has its values when it is issued
}

Step wait_stores_op(Warp& warp, const Op&, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  if (warp.tensor_stores == 0) return Step::go;
  Wait wait;
  wait.kind = WaitKind::tensor_stores;
  return warp.wait(wait, active);
}

// .SHAPE.xN and, last, .b32; gives N.
u32 take_shape(FunctionDecoder& d, Transfer& t) {
  take_sync_aligned(d);
  const int shape = d.modifiers.take_one_of({"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"});
  if (shape < 0) d.refuse("its shapes are .32x32b, .16x64b, .16x128b, .16x256b and .16x32bx2");
  t.shape = static_cast<Shape>(shape);
  u32 count = 0;
  for (u32 n = 1; n <= 128; n *= 2)
    if (d.modifiers.take(fmt::format("x{}", n))) count = n;
  const u32 most = t.shape == Shape::bits128 ? 64 : t.shape == Shape::bits256 ? 32 : 128;
  if (count == 0 || count > most) d.refuse(fmt::format("of this shape it is .x1 to .x{}, powers of two", most));
  return count * (t.shape == Shape::bits128 ? 2 : t.shape == Shape::bits256 ? 4 : 1);
}

void take_offset(FunctionDecoder& d, Transfer& t, std::size_t operand) {
  if (t.shape != Shape::halves) return;
  const i64 offset = d.constant(d.operand(operand), "the offset of the second half");
  if (offset < 0 || offset >= i64{TensorMemory::columns})
    d.refuse("the offset of the second half is a number of columns");
  t.second = static_cast<u32>(offset);
}

void check_registers(FunctionDecoder& d, const Transfer& t, u32 count) {
  if (t.registers() != count) d.refuse(fmt::format("it has {} registers, not {}", count, t.registers()));
}

}  // namespace

void tensor_load(FunctionDecoder& d) {
  if (d.modifiers.has("red")) d.refuse("`.red` is of sm_103a");
  Transfer t;
  const u32 count = take_shape(d, t);
  t.packed = d.modifiers.take("pack::16b");
  if (d.modifiers.take_type() != Type::b32) d.refuse("its type is .b32");
  d.expect_operands(t.shape == Shape::halves ? 3 : 2);
  t.address = d.address(d.operand(1), AddressSpace::generic);
  take_offset(d, t, 2);
  for (const Operand row : d.destinations(d.operand(0), Type::b32)) t.rows.push_back(row.row());
  check_registers(d, t, count);
  d.emit(&load_op, Effect::copy(Proxy::async, Completion::tensor_loads).by_whole_warp(), std::move(t));
}

void tensor_store(FunctionDecoder& d) {
  Transfer t;
  const u32 count = take_shape(d, t);
  t.packed = d.modifiers.take("unpack::16b");
  if (d.modifiers.take_type() != Type::b32) d.refuse("its type is .b32");
  const std::size_t last = t.shape == Shape::halves ? 2 : 1;
  d.expect_operands(last + 1);
  t.address = d.address(d.operand(0), AddressSpace::generic);
  take_offset(d, t, 1);
  t.sources = d.sources(d.operand(last), Type::b32);
  check_registers(d, t, count);
  d.emit(&store_op, Effect::copy(Proxy::async, Completion::tensor_stores).by_whole_warp(), std::move(t));
}

void tensor_wait(FunctionDecoder& d, bool stores) {
  take_sync_aligned(d);
  d.expect_operands(0);
  if (stores)
    d.emit(&wait_stores_op, Effect::wait_for_all(Completion::tensor_stores).by_whole_warp());
  else
    d.emit(&wait_loads_op, Effect::wait_for_all(Completion::tensor_loads).by_whole_warp());
}

}  // namespace wm::vgpu::isa
