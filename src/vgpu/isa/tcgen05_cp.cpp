// tcgen05.cp: rows of shared memory into columns of tensor memory, one thread's order, done later. Elements of 4 and 6
// bits may get a byte each on the way.
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "vgpu/isa/async_copy.hpp"
#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/numeric/matrix.hpp"
#include "vgpu/isa/numeric/tensor_descriptor.hpp"
#include "vgpu/isa/tcgen05.hpp"
#include "vgpu/machine/access.hpp"

namespace wm::vgpu::isa {

using numeric::TensorDescriptor;
using ptx::Type;

namespace {

enum class Rows : u8 { all, apart64, neighbours, everywhere };

struct Copy {
  u32 group = 1;
  Rows rows = Rows::all;
  u32 pieces = 1;       // of 16 bytes along a row
  u32 packed_bits = 0;  // of sixteen elements at the start of a piece, which get a byte each; 0: bytes stay as they are
  Address to;
  Operand from;

  u32 count() const { return rows == Rows::all ? 128 : rows == Rows::everywhere ? 32 : 64; }
  u32 copies() const { return 128 / count(); }
  u32 bytes_of_piece() const { return packed_bits == 0 ? 16 : 2 * packed_bits; }  // that are read
  // The lane of copy `copy` of a row.
  u32 lane(u32 row, u32 copy) const {
    switch (rows) {
      case Rows::all: return row;
      case Rows::apart64: return row + 64 * copy;
      case Rows::neighbours: return row / 32 * 64 + row % 32 + 32 * copy;
      case Rows::everywhere: return row + 32 * copy;
    }
    return 0;
  }
};

class CellCopy final : public AsyncOperation {
 public:
  CellCopy(const Origin& origin, const Copy& what, const TensorDescriptor& from, u32 column)
      : AsyncOperation(origin), what_(what), from_(from), column_(column) {}

  bool advance(Cluster& cluster, Random*) override {
    const u32 rank = origin.warp->block().rank;
    for (u32 r = what_.group == 2 ? rank & ~1u : rank; r <= (what_.group == 2 ? rank | 1 : rank); ++r) {
      Block& block = *cluster.blocks[r];
      for (u32 row = 0; row < what_.count(); ++row)
        for (u32 piece = 0; piece < what_.pieces; ++piece) {
          const u64 address = block.shared_base + from_.k_major(row, piece);
          std::array<u32, 4> words{};
          const u32 bytes = what_.bytes_of_piece();
          std::memcpy(words.data(), shared_at(cluster, address, bytes, "tcgen05.cp"), bytes);
          if (what_.packed_bits != 0) numeric::spread_over_bytes(words.data(), what_.packed_bits);
          if (what_.packed_bits == 4)
            for (u32& word : words) word <<= numeric::middle_shift;  // no byte has more than four bits
          for (u32 copy = 0; copy < what_.copies(); ++copy)
            for (u32 word = 0; word < 4; ++word)
              block.tensor.memory->at(what_.lane(row, copy), column_ + 4 * piece + word) = words[word];
        }
    }
    return true;
  }

 private:
  const Copy& what_;
  TensorDescriptor from_;
  u32 column_;
};

void tell(const Block& block, const Copy& c, const TensorDescriptor& from, u32 column, CopyIssue& issue) {
  for (u32 row = 0; row < c.count(); ++row) {
    for (u32 piece = 0; piece < c.pieces; ++piece)
      issue.reads.add(shared_window + block.shared_base + from.k_major(row, piece), c.bytes_of_piece());
    for (u32 copy = 0; copy < c.copies(); ++copy)
      issue.writes.add(cell_address(block, c.lane(row, copy), column), u64{16} * c.pieces);
  }
}

Step copy_op(Warp& warp, const Op& op, u32 active) {
  const auto& c = op.as<Copy>();
  LaneAddresses to;
  lane_addresses(warp, c.to, to);
  Cluster& cluster = warp.cluster();
  for_each_lane(active, [&](u32 i) {
    enter_cta_group(warp, c.group, i);
    warp.block().tensor.open = nullptr;
    const TensorAddress at = TensorAddress::of(static_cast<u32>(to[i]));
    if (at.lane != 0)
      warp.fault(fmt::format("the copy begins at lane {} of tensor memory: it begins at lane 0", at.lane), i,
                 fault::misaligned);
    const TensorDescriptor from =
        matrix_at(warp, warp.source64(c.from)[i], numeric::Element::u8, false, "the source", i);
    std::vector<const Block*> blocks{&warp.block()};
    if (c.group == 2) blocks.push_back(peer_of(warp.block()));
    CopyIssue issue;
    for (const Block* block : blocks) {
      check_columns(warp, *block, at.column, 4 * c.pieces, i);
      if (warp.launch().observer != nullptr) tell(*block, c, from, at.column, issue);
    }
    if (Observer* observer = warp.launch().observer) observer->copy_issued(warp, i, issue);
    auto copy = std::make_unique<CellCopy>(Origin::of(warp, i), c, from, at.column);
    copy->stream = tensor_stream(warp, i);
    cluster.async.issue(cluster, std::move(copy));
  });
  return Step::go;
}

}  // namespace

void tensor_copy_in(FunctionDecoder& d) {
  Copy c;
  c.group = take_cta_group(d);
  if (d.modifiers.has("4x256b")) d.refuse("where `.4x256b` writes is not confirmed");
  const int shape = d.modifiers.take_one_of({"128x256b", "128x128b", "64x128b", "32x128b"});
  if (shape < 0) d.refuse("its shapes are .128x256b, .128x128b, .64x128b and .32x128b");
  c.pieces = shape == 0 ? 2 : 1;
  const int multicast = d.modifiers.take_one_of({"warpx2::02_13", "warpx2::01_23", "warpx4"});
  if (shape <= 1 ? multicast >= 0 : shape == 2 ? multicast != 0 && multicast != 1 : multicast != 2)
    d.refuse("`.64x128b` is .warpx2::02_13 or .warpx2::01_23, `.32x128b` is .warpx4, and the others are neither");
  c.rows = shape <= 1       ? Rows::all
           : multicast == 0 ? Rows::apart64
           : multicast == 1 ? Rows::neighbours
                            : Rows::everywhere;
  if (d.modifiers.take("b8x16")) {
    const int packed = d.modifiers.take_one_of({"b4x16_p64", "b6x16_p32"});
    if (packed < 0) d.refuse("`.b8x16` is made of .b4x16_p64 or .b6x16_p32");
    c.packed_bits = packed == 0 ? 4 : 6;
  }
  d.expect_operands(2);
  c.to = d.address(d.operand(0), AddressSpace::generic);
  c.from = d.source(d.operand(1), Type::b64);
  d.emit(&copy_op, Effect::copy(Proxy::async, Completion::tensor_products), c);
}

}  // namespace wm::vgpu::isa
