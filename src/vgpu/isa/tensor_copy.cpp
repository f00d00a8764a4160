// cp.async.bulk.tensor: tiles of tensors that maps describe. The walk through the tensor is copy/'s; here is who waits
// for what, and in which pieces it comes.
#include "vgpu/copy/tensor_copy.hpp"

#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "tensor_map/hardware_form.hpp"
#include "tensor_map/virtual_form.hpp"
#include "vgpu/isa/async_copy.hpp"
#include "vgpu/isa/copies.hpp"
#include "vgpu/isa/families.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/memory_operands.hpp"
#include "vgpu/machine/access.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu::isa {

using ptx::OperandKind;
using ptx::Type;
using tensor_map::Fields;

namespace {

enum class Direction : u8 { load, prefetch, store, reduce };

struct TensorOperands {
  Direction direction = Direction::load;
  Address map, shared, barrier;
  std::vector<Operand> coordinates;  // innermost first; of four rows, the column and then each row
  bool four_rows = false;            // .tile::gather4 and scatter4
  std::vector<Operand> offsets;      // im2col; along W alone the halo and the offset
  MapMode mode = MapMode::tiled;
  bool multicast = false;
  bool for_pairs = false;  // .cta_group::2: the mbarrier may lie in the other block of a destination's pair
  Operand mask;
  copy::Reduction reduction = copy::Reduction::add;

  std::size_t rank() const { return four_rows ? 2 : coordinates.size(); }
};

// Device memory as the engine sees it, with the last allocation kept. What is out of bounds is told to who watches, and
// then reads as zeros and is not written.
class Global final : public copy::GlobalMemory {
 public:
  Global(Cluster& cluster, const Origin& origin) : run_(*cluster.run), origin_(origin) {}
  const std::byte* readable(u64 address, std::size_t bytes) override {
    return or_nowhere(bytes, [&] { return at(address, bytes); });
  }
  std::byte* writable(u64 address, std::size_t bytes) override {
    return or_nowhere(bytes, [&] {
      std::byte* const place = at(address, bytes);
      if (recent_.read_only)
        throw Fault(fmt::format("a tensor copy: {} cannot be written: {}", recent_.what_cannot_be_written(),
                                run_.memory.explain(address, bytes)),
                    fault::out_of_bounds);
      return place;
    });
  }

 private:
  std::byte* at(u64 address, std::size_t bytes) {
    if (!recent_.holds(address, bytes)) recent_ = region_of(run_.memory, address, bytes, "a tensor copy");
    return recent_.host + (address - recent_.address);
  }
  template <class Find>
  std::byte* or_nowhere(std::size_t bytes, const Find& find) {
    try {
      return find();
    } catch (const Fault& fault) {
      if (run_.observer == nullptr || fault.finding != fault::out_of_bounds) throw;
      run_.observer->out_of_bounds(placed(fault, origin_, run_));
      nowhere_.assign(bytes, std::byte{0});
      return nowhere_.data();
    }
  }
  Run& run_;
  const Origin& origin_;
  Region recent_;
  std::vector<std::byte> nowhere_;
};

copy::SharedMemory shared_of(Block& block) {
  return {std::span(block.shared).subspan(shared_reserved), shared_reserved};
}

// Collects a tile's chunks as ranges from its beginning.
auto into(std::vector<Pieces::Range>& ranges, u32 tile) {
  return [&ranges, tile](const copy::Chunk& c) { ranges.push_back({c.shared - tile, c.bytes}); };
}

class TensorLoad final : public AsyncOperation {
 public:
  TensorLoad(const Origin& origin, const Fields& map, const copy::Coordinates& at, const Destination& to, bool lost)
      : AsyncOperation(origin), map_(map), at_(at), to_(to), lost_(lost) {}

  bool advance(Cluster& cluster, Random* dice) override {
    const u32 tile = static_cast<u32>(to_.shared & shared_offset_mask);
    Global global(cluster, origin);
    if (lost_) {  // only its bytes are counted
      image_.resize(copy::tile_end(map_, at_, tile) - tile);
      mbarrier::complete_bytes(cluster, to_.barrier, copy::load(map_, at_, global, {image_, tile}, tile), watched);
      return true;
    }
    Block& block = *cluster.block_of(to_.shared);
    if (dice == nullptr) {
      mbarrier::complete_bytes(cluster, to_.barrier, copy::load(map_, at_, global, shared_of(block), tile), watched);
      return true;
    }
    // Read at once, arriving piece by piece: through an image of the tile.
    if (image_.empty()) {
      image_.resize(copy::tile_end(map_, at_, tile) - tile);
      copy::load(map_, at_, global, {image_, tile}, tile);
      std::vector<Pieces::Range> ranges;
      copy::for_each_loaded_chunk(map_, at_, tile, into(ranges, tile));
      pieces_ = Pieces(std::move(ranges));
    }
    u32 arrived = 0;
    std::byte* place = shared_at(cluster, to_.shared, image_.size(), "a tensor copy");
    for (u32 n = pieces_.portion(*dice); n > 0; --n) {
      const auto range = pieces_.take(*dice);
      std::memcpy(place + range.offset, image_.data() + range.offset, range.bytes);
      arrived += range.bytes;
    }
    mbarrier::complete_bytes(cluster, to_.barrier, arrived, watched);
    return pieces_.empty();
  }

 private:
  Fields map_;
  copy::Coordinates at_;
  Destination to_;
  bool lost_;  // its tile is out of bounds
  std::vector<std::byte> image_;
  Pieces pieces_;
};

// Stores and reductions: the source is read piece by piece, then global memory is written.
class TensorStore final : public AsyncOperation {
 public:
  TensorStore(const Origin& origin, const Fields& map, const copy::Coordinates& at, u64 from,
              const TensorOperands& what, bool zeros)
      : AsyncOperation(origin), map_(map), at_(at), from_(from), what_(what), zeros_(zeros) {}
  Membership membership;

  bool advance(Cluster& cluster, Random* dice) override {
    const u32 tile = static_cast<u32>(from_ & shared_offset_mask);
    Global global(cluster, origin);
    if (zeros_) {
      image_.resize(copy::tile_end(map_, at_, tile) - tile);
      return write(global, {image_, tile}, tile);
    }
    Block& block = *cluster.block_of(from_);
    if (dice == nullptr) return write(global, shared_of(block), tile);
    if (image_.empty()) {
      image_.resize(copy::tile_end(map_, at_, tile) - tile);
      std::vector<Pieces::Range> ranges;
      copy::for_each_stored_chunk(map_, at_, tile, into(ranges, tile));
      pieces_ = Pieces(std::move(ranges));
    }
    const std::byte* place = shared_at(cluster, from_, image_.size(), "a tensor copy");
    if (!pieces_.empty()) {
      for (u32 n = pieces_.portion(*dice); n > 0; --n) {
        const auto range = pieces_.take(*dice);
        std::memcpy(image_.data() + range.offset, place + range.offset, range.bytes);
      }
      if (pieces_.empty()) membership.source_read();
      return false;
    }
    return write(global, {image_, tile}, tile);
  }

 private:
  bool write(Global& global, const copy::SharedMemory& shared, u32 tile) {
    if (what_.direction == Direction::reduce)
      copy::reduce(map_, at_, what_.reduction, global, shared, tile);
    else
      copy::store(map_, at_, global, shared, tile);
    membership.done();
    return true;
  }
  Fields map_;
  copy::Coordinates at_;
  u64 from_;
  const TensorOperands& what_;
  bool zeros_;  // its tile is out of bounds
  std::vector<std::byte> image_;
  Pieces pieces_;
};

// The box of four rows that lie apart is one of them.
void check_row(const Warp& warp, const Fields& map, u32 lane) {
  if (map.box[1] != 1)
    warp.fault(fmt::format("the tensor map's box has {} rows; of .tile::gather4 and scatter4 it has one", map.box[1]),
               lane);
  const copy::Unit unit = copy::unit_of(map);
  const u32 span = static_cast<u32>(span_of(map.swizzle)), bytes = map.box[0] / unit.elements * unit.pitch;
  if (map.swizzle != Swizzle::none && bytes != span)
    warp.fault(
        fmt::format("a row has {} bytes and its swizzle {}: how four such rows lie is not confirmed", bytes, span),
        lane);
}

// A tensor map, and where it lies.
struct MapInMemory {
  u64 address = 0;
  u32 bytes = 128;
  Fields fields;
};

MapInMemory read_map(Warp& warp, u64 address, const TensorOperands& t, u32 lane) {
  const AddressSpace space = locate(address).space;
  if (space == AddressSpace::local || space == AddressSpace::shared_cluster)
    warp.fault(space == AddressSpace::local
                   ? "the tensor map lies in the thread's local memory, where copies cannot read "
                     "it: take it as a parameter that is `const __grid_constant__`"
                   : "the tensor map lies in shared memory, where copies cannot read it: keep it "
                     "in the kernel's parameters or in global memory",
               lane, fault::misplaced_tensor_map);
  std::array<std::byte, 128> bytes{};
  const auto fetch = [&](std::size_t count) {
    std::memcpy(bytes.data(), resolve_one(warp, AddressSpace::generic, address, count, 64, AccessKind::read, lane),
                count);
  };
  // The hardware's form has no second half, and an allocation may end where it would be.
  fetch(tensor_map::hardware_bytes);
  const bool half = tensor_map::is_hardware_form(std::span(bytes).first<tensor_map::hardware_bytes>());
  if (!half) fetch(bytes.size());
  MapInMemory read{.address = address, .bytes = half ? u32{tensor_map::hardware_bytes} : u32{128}, .fields = {}};
  Fields& map = read.fields;
  try {
    map = tensor_map::decode_virtual(bytes, warp.launch().chip.arch);
    copy::unit_of(map);
  } catch (const Error& error) {
    warp.fault(fmt::format("the tensor map at {:#x}: {}", address, error.what()), lane);
  }
  if (map.rank != t.rank())
    warp.fault(fmt::format("the tensor map has {} dimensions, the instruction {}", map.rank, t.rank()), lane);
  if (t.four_rows) check_row(warp, map, lane);
  if (map.mode != t.mode)
    warp.fault(fmt::format("the tensor map is {}, the instruction {}", name_of(map.mode), name_of(t.mode)), lane);
  return read;
}

// The observer's number for a copy; 0 where nobody watches.
u64 tell(const Warp& warp, u32 lane, const MapInMemory& read, const copy::Coordinates& at, const Destination& tile,
         Direction direction, bool tile_is_there) {
  const Fields& map = read.fields;
  const bool load = direction == Direction::load;
  Observer* observer = warp.launch().observer;
  if (observer == nullptr) return 0;
  CopyIssue issue;
  const u64 window = shared_window + (tile.shared & ~u64{shared_offset_mask});
  const u32 offset = static_cast<u32>(tile.shared & shared_offset_mask);
  if (load)
    copy::for_each_loaded_chunk(map, at, offset, [&](const copy::Chunk& c) {
      if (tile_is_there) issue.writes.add(window + c.shared, c.bytes);
      if (c.inside) issue.reads.add(c.global, c.bytes);
    });
  else
    copy::for_each_stored_chunk(map, at, offset, [&](const copy::Chunk& c) { issue.writes.add(c.global, c.bytes); });
  // Where the tensor ends within 16 bytes a store moves the rest of them too; what it reads there means nothing.
  if (!load && tile_is_there)
    copy::for_each_loaded_chunk(map, at, offset, [&](const copy::Chunk& c) {
      if (c.inside) issue.reads.add(window + c.shared, c.bytes);
    });
  issue.barrier = tile.barrier;
  issue.map = read.address;
  issue.map_bytes = read.bytes;
  issue.tile = tile.shared;
  const copy::Unit unit = copy::unit_of(map);
  const u32 pattern = copy::pattern_of(map.swizzle);
  issue.layout.pattern = pattern;
  issue.layout.chunks =
      pattern == 0 || map.swizzle == Swizzle::b32 || map.swizzle == Swizzle::b64 || map.swizzle == Swizzle::b128;
  if (map.interleave == Interleave::none)
    issue.layout.row_bytes = (tensor_map::is_im2col(map.mode) ? map.channels : map.box[0]) / unit.elements * unit.pitch;
  issue.layout.float_bytes = is_floating(map.element) ? unit.bytes : 0;
  issue.layout.aligned = pattern == 0 || tile.shared % pattern == 0;
  return observer->copy_issued(warp, lane, issue);
}

Step tensor_op(Warp& warp, const Op& op, u32 active) {
  const auto& t = op.as<TensorOperands>();
  LaneAddresses maps, shared, barrier{};
  lane_addresses(warp, t.map, maps);
  lane_addresses(warp, t.shared, shared);
  const bool load = t.direction == Direction::load;
  if (load) lane_addresses(warp, t.barrier, barrier);
  Cluster& cluster = warp.cluster();
  for_each_lane(active, [&](u32 i) {
    const MapInMemory read = read_map(warp, maps[i], t, i);
    const Fields& map = read.fields;
    copy::Coordinates at;
    const auto coordinate = [&](std::size_t k) { return static_cast<i32>(warp.source32(t.coordinates[k])[i]); };
    for (std::size_t k = 0; k < t.rank(); ++k) at.at[k] = coordinate(k);
    const auto offset = [&](std::size_t k) { return static_cast<u16>(warp.source32(t.offsets[k])[i]); };
    if (tensor_map::is_wide(t.mode)) {
      at.halo = offset(0);
      at.offsets[0] = offset(1);
    } else {
      for (std::size_t k = 0; k < t.offsets.size(); ++k) at.offsets[k] = offset(k);
    }
    if (const auto refusal = load ? copy::refusal_of_load(map, at) : copy::refusal_of_store(map, at))
      warp.fault(*refusal, i);
    const u32 tile = static_cast<u32>(shared[i] & shared_offset_mask);
    const u64 bytes = copy::tile_end(map, at, tile) - tile;
    const u32* mask = t.multicast ? &warp.source32(t.mask)[i] : nullptr;
    for (u32 row = 0; row < (t.four_rows ? 4u : 1u); ++row) {
      if (t.four_rows) at.at[1] = coordinate(1 + row);
      const u64 place = shared[i] + row * bytes;
      const u32 alignment = row == 0 ? 128 : 16;
      if (!load) {
        const bool there =
            resolve_or_tell(warp, AddressSpace::shared, place, bytes, alignment, AccessKind::read, i) != nullptr;
        if (t.direction == Direction::reduce && !copy::has_reduction(t.reduction, map.element))
          warp.fault(fmt::format("there is no such reduction of {} elements", name_of(map.element)), i);
        auto store = std::make_unique<TensorStore>(Origin::of(warp, i), map, at, place, t, !there);
        store->membership = Membership(warp.bulk, i);
        store->watched = tell(warp, i, read, at, {place, 0}, t.direction, there);
        cluster.async.issue(cluster, std::move(store));
        continue;
      }
      for (const Destination& d : destinations(warp, i, place, barrier[i], mask, t.for_pairs)) {
        constexpr AddressSpace space = AddressSpace::shared_cluster;
        const bool there = resolve_or_tell(warp, space, d.shared, bytes, alignment, AccessKind::write, i) != nullptr;
        if (resolve_or_tell(warp, space, d.barrier, 8, 8, AccessKind::atomic, i) == nullptr)
          continue;  // nobody to tell
        auto copy = std::make_unique<TensorLoad>(Origin::of(warp, i), map, at, d, !there);
        copy->watched = tell(warp, i, read, at, d, t.direction, there);
        cluster.async.issue(cluster, std::move(copy));
      }
    }
  });
  return Step::go;
}

// [map, {c0, c1, ...}]
void read_tensor_operand(FunctionDecoder& d, const ptx::Operand& o, TensorOperands& t, int dimensions) {
  if (o.kind != OperandKind::tensor || o.parts.size() != 2) d.refuse("an operand [map, {coordinates}] is expected");
  t.map = d.address(o.parts[0], AddressSpace::generic);
  t.coordinates = d.sources(o.parts[1], Type::s32);
  if (t.four_rows && t.coordinates.size() != 5) d.refuse("four rows have five coordinates: the column, and each row");
  if (!t.four_rows && static_cast<int>(t.coordinates.size()) != dimensions)
    d.refuse(fmt::format("{} coordinates are given for {} dimensions", t.coordinates.size(), dimensions));
}

void read_offsets(FunctionDecoder& d, const ptx::Operand& o, TensorOperands& t, int dimensions) {
  t.offsets = d.sources(o, Type::u16);
  if (tensor_map::is_wide(t.mode)) {
    if (t.offsets.size() != 2) d.refuse(fmt::format("{} has a halo and an offset", name_of(t.mode)));
    return;
  }
  if (static_cast<int>(t.offsets.size()) != dimensions - 2)
    d.refuse(fmt::format("im2col of {} dimensions has {} offsets", dimensions, dimensions - 2));
}

// The modes that came with Blackwell. Loads of some go to their own block's shared memory on every such chip; the rest
// is of sm_100a and its family.
void check_new_mode(FunctionDecoder& d, bool everywhere) {
  if (d.chip().tensor_memory || (everywhere && d.chip().arch.major >= 10)) return;
  d.refuse(d.chip().arch.major >= 10
               ? "this mode is of sm_100a and its family; other chips have loads to .shared::cta, "
                 "of .tile::gather4 and .im2col::w"
               : "this load mode is not of this architecture");
}

// Tiles, four rows, pixels; whether the instruction has offsets.
bool take_mode(FunctionDecoder& d, TensorOperands& t, int dimensions, bool to_own_block) {
  const bool load = t.direction == Direction::load, reads = load || t.direction == Direction::prefetch;
  const int mode = d.modifiers.take_one_of({"tile", "im2col", "im2col_no_offs", "im2col::w", "im2col::w::128"});
  const bool of_four = d.modifiers.has("tile::gather4") || d.modifiers.has("tile::scatter4");
  t.four_rows = d.modifiers.take(reads ? "tile::gather4" : "tile::scatter4");
  if (of_four || mode >= 3) check_new_mode(d, load && to_own_block && (t.four_rows || mode == 3));
  if (of_four && (!t.four_rows || t.direction == Direction::reduce))
    d.refuse("a load is .tile::gather4, a store .tile::scatter4");
  if (t.four_rows && dimensions != 2) d.refuse("four rows are of a tensor of two dimensions");
  if (mode <= 0) return false;
  t.mode = mode == 3 ? MapMode::im2col_w : mode == 4 ? MapMode::im2col_w128 : MapMode::im2col;
  if (mode != 2 && !reads) d.refuse("a store is .im2col_no_offs");
  if (mode == 2 && reads) d.refuse("a load is .im2col");
  if (dimensions < 3) d.refuse("im2col needs 3 to 5 dimensions");
  return mode != 2;
}

}  // namespace

void tensor_copy(FunctionDecoder& d, bool reduce, bool prefetch) {
  TensorOperands t;
  const int dimensions = 1 + d.modifiers.take_one_of({"1d", "2d", "3d", "4d", "5d"});
  if (dimensions == 0) d.refuse("it has 1 to 5 dimensions");
  if (prefetch && !d.modifiers.take("L2")) d.refuse("a prefetch is to .L2");
  const int group = d.modifiers.take_one_of({"cta_group::1", "cta_group::2"});
  const AddressSpace first = take_space_first(d);
  const bool load = !prefetch && first != AddressSpace::global;
  if (!prefetch) {
    const AddressSpace second = take_space_first(d);
    const bool right = load ? (first == AddressSpace::shared_cluster || first == AddressSpace::shared) &&
                                  second == AddressSpace::global
                            : second == AddressSpace::shared;
    if (!right || (load && reduce)) d.refuse("there is no tensor copy between these spaces");
  } else if (first != AddressSpace::global) {
    d.refuse("a prefetch is from .global");
  }
  if (reduce) {
    const std::initializer_list<std::string_view> names = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
    const int operation = d.modifiers.take_one_of(names);
    if (operation < 0) d.refuse("it needs an operation");
    t.reduction = static_cast<copy::Reduction>(operation);
  }
  t.direction = load ? Direction::load : prefetch ? Direction::prefetch : reduce ? Direction::reduce : Direction::store;
  const bool offsets = take_mode(d, t, dimensions, first == AddressSpace::shared);
  if (!prefetch && !d.modifiers.take(load ? "mbarrier::complete_tx::bytes" : "bulk_group"))
    d.refuse(load ? "it needs .mbarrier::complete_tx::bytes" : "it needs .bulk_group");
  t.multicast = load && d.modifiers.take("multicast::cluster");
  if (group >= 0 && !load) d.refuse("`.cta_group` is of loads");
  if (group >= 0 && !d.chip().tensor_memory)
    d.refuse(fmt::format("`.cta_group` comes with sm_100a, and this is {}", d.chip().arch.name()));
  t.for_pairs = group == 1;
  const bool hint = d.modifiers.take("L2::cache_hint");
  if (prefetch) {
    d.expect_operands(1 + (offsets ? 1 : 0) + (hint ? 1 : 0));
    read_tensor_operand(d, d.operand(0), t, dimensions);
    return no_operation(d);
  }
  d.expect_operands((load ? 3 : 2) + (offsets ? 1 : 0) + (t.multicast ? 1 : 0) + (hint ? 1 : 0));
  read_tensor_operand(d, d.operand(load ? 1 : 0), t, dimensions);
  t.shared = d.address(d.operand(load ? 0 : 1), AddressSpace::shared_cluster);
  std::size_t next = 2;
  if (load) t.barrier = d.address(d.operand(next++), AddressSpace::shared_cluster);
  if (offsets) read_offsets(d, d.operand(next++), t, dimensions);
  if (t.multicast) t.mask = d.source(d.operand(next++), Type::u16);
  if (hint) d.source(d.operand(next), Type::b64);
  const Effect effect = load     ? Effect::copy(Proxy::async, Completion::mbarrier)
                        : reduce ? Effect::reduction(Proxy::async, Completion::bulk_groups)
                                 : Effect::copy(Proxy::async, Completion::bulk_groups);
  d.emit(&tensor_op, effect, std::move(t));
}

}  // namespace wm::vgpu::isa
