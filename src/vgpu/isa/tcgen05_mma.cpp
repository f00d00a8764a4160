// tcgen05.mma: products of one block or of a pair, issued by one thread and done later, in the order of their issue.
#include <bit>

#include <fmt/format.h>

#include "vgpu/isa/lanes.hpp"
#include "vgpu/isa/numeric/tensor_product.hpp"
#include "vgpu/isa/tcgen05.hpp"
#include "vgpu/machine/access.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

// One or more tcgen05.mma of a thread on the same D.
class TensorProduct final : public AsyncOperation {
 public:
  explicit TensorProduct(const Origin& origin) : AsyncOperation(origin) {}
  ~TensorProduct() override { close(); }

  numeric::TensorShape shape;
  std::vector<numeric::TensorStep> steps;

  bool advance(Cluster& cluster, Random*) override {
    close();
    std::vector<numeric::TensorBlock> blocks;
    const u32 first = shape.blocks == 2 ? origin.warp->block().rank & ~1u : origin.warp->block().rank;
    for (u32 i = 0; i < static_cast<u32>(shape.blocks); ++i) {
      Block& block = *cluster.blocks[first + i];
      blocks.push_back({block.shared, block.tensor.memory});
    }
    for (const numeric::TensorStep& step : steps)
      if (const std::string why = numeric::refusal_of_cells(shape, step, blocks); !why.empty())
        throw Fault("tcgen05.mma: " + why, fault::other);
    if (const auto outside = numeric::tensor_product(shape, steps, blocks))
      throw Fault(fmt::format("tcgen05.mma: operand {} reaches shared address {:#x}; the block's shared memory ends at "
                              "{:#x}",
                              outside->operand, outside->address, blocks[0].shared.size()),
                  fault::out_of_bounds);
    return true;
  }

 private:
  void close() {
    TensorProduct*& open = origin.warp->block().tensor.open;
    if (open == this) open = nullptr;
  }
};

namespace isa {

using numeric::Element;
using numeric::InstructionDescriptor;
using numeric::TensorDescriptor;
using numeric::TensorForm;
using numeric::TensorKind;
using numeric::TensorShape;
using numeric::TensorStep;
using ptx::OperandKind;
using ptx::Type;

namespace {

struct Multiply {
  TensorForm form;
  Address d, a_cells, a_scales, b_scales;
  Operand a, b, instruction;
  std::vector<Operand> kept;
  Predicate accumulate;
  int scale = 0;
};

// The blocks that take part, the one with the first rows first.
std::vector<Block*> blocks_of(const Warp& warp, int count) {
  const auto& all = warp.cluster().blocks;
  const u32 rank = warp.block().rank;
  if (count == 1) return {all[rank].get()};
  return {all[rank & ~1u].get(), all[rank | 1].get()};
}

// Lanes where D, or A in tensor memory, may begin.
void check_first_lane(const Warp& warp, const TensorShape& shape, u32 first, char matrix, u32 lane) {
  const bool sixteens = shape.rows() == 64 && shape.blocks == 1;
  if (first == 0 || (sixteens && first == 16)) return;
  warp.fault(fmt::format("{} of {} rows begins at lane {} of tensor memory: it begins at lane 0{}", matrix,
                         shape.rows(), first, sixteens ? " or 16" : ""),
             lane, fault::misaligned);
}

u32 columns_of_d(const TensorShape& shape) { return static_cast<u32>(shape.halves() ? shape.n / 2 : shape.n); }

// What a step reads and writes, for the judge.
void tell(const Warp& warp, u32 lane, const TensorShape& shape, const TensorStep& step) {
  Observer* observer = warp.launch().observer;
  if (observer == nullptr) return;
  CopyIssue issue;
  const auto cells = [&](Footprint& touched, const Block& block, const TensorShape& where, int eights) {
    for (int sixteen = 0; sixteen < shape.rows() / 16; ++sixteen)
      for (u32 row = 0; row < 16; ++row)
        for (int eight = 0; eight < eights;) {  // runs of neighbouring columns
          const TensorAddress from = where.place(sixteen, eight);
          int end = eight + 1;
          while (end < eights && where.place(sixteen, end).lane == from.lane) ++end;
          touched.add(cell_address(block, from.lane + row, from.column), u64{32} * static_cast<u64>(end - eight));
          eight = end;
        }
  };
  const auto shared = [&](const Block& block, const TensorDescriptor& matrix, bool mn_major, int rows,
                          Element element) {
    const u64 window = shared_window + block.shared_base;
    const u32 bytes = static_cast<u32>(numeric::bits_of(element)) / 8;
    // The gap behind sixteen elements of fewer than 8 bits is not read.
    const u32 chunk_bytes = !numeric::has_gaps(element) ? 16 : element == Element::e2m1 ? 8 : 12;
    if (mn_major)
      for (u32 k = 0; k < static_cast<u32>(shape.k()); ++k)
        for (u32 chunk = 0; chunk < static_cast<u32>(rows) * bytes / 16; ++chunk)
          issue.reads.add(window + matrix.mn_major(chunk, k), 16);
    else
      for (u32 row = 0; row < static_cast<u32>(rows); ++row)
        for (u32 chunk = 0; chunk < 2; ++chunk) issue.reads.add(window + matrix.k_major(row, chunk), chunk_bytes);
  };
  for (const Block* block : blocks_of(warp, shape.blocks)) {
    if (step.a_cells) {
      TensorShape like = shape;
      like.d = *step.a_cells;
      cells(issue.reads, *block, like, 1);
      like.d.lane += 64;
      if (shape.halves()) cells(issue.reads, *block, like, 1);
    } else {
      shared(*block, step.a, step.a_mn_major, shape.rows(), shape.a);
    }
    shared(*block, step.b, step.b_mn_major, shape.n / shape.blocks, shape.b);
    if (step.scales)
      for (u32 cell_lane = 0; cell_lane < TensorMemory::lanes; ++cell_lane) {
        issue.reads.add(cell_address(*block, cell_lane, step.scales->a.column),
                        u64{4} * numeric::columns_of_a_scales(shape));
        if (const u32 columns = numeric::columns_of_b_scales(shape, cell_lane); columns > 0)
          issue.reads.add(cell_address(*block, cell_lane, step.scales->b.column), u64{4} * columns);
      }
    if (step.accumulate) cells(issue.reads, *block, shape, shape.n / 8);
    cells(issue.writes, *block, shape, shape.n / 8);
  }
  observer->copy_issued(warp, lane, issue);
}

void issue_step(Warp& warp, const TensorShape& shape, const TensorStep& step, u32 lane) {
  Cluster& cluster = warp.cluster();
  TensorProduct*& open = warp.block().tensor.open;
  // Steps on the same D are one product, where nobody asked for odd timing.
  constexpr std::size_t most_steps = 16;
  if (open != nullptr && cluster.run->options.mode == Mode::friendly && open->steps.size() < most_steps &&
      open->origin.warp == &warp && open->origin.lane == lane && open->shape == shape) {
    open->steps.push_back(step);
    return;
  }
  auto product = std::make_unique<TensorProduct>(Origin::of(warp, lane));
  product->shape = shape;
  product->steps.push_back(step);
  product->stream = tensor_stream(warp, lane);
  open = product.get();
  cluster.async.issue(cluster, std::move(product));
}

// The upper two bits of a scale's address may name its first byte once more, as CUTLASS has it.
TensorAddress first_scale(const Warp& warp, u32 bits, u32 byte, char operand, u32 lane) {
  if (const u32 named = bits >> 30; named != 0 && named != byte)
    warp.fault(fmt::format("bits 30-31 of the address of {}'s scales name byte {} of a cell, and the instruction "
                           "descriptor byte {}",
                           operand, named, byte),
               lane);
  const TensorAddress at = TensorAddress::of(bits & 0x3fffffff);
  if (at.lane != 0)
    warp.fault(fmt::format("{}'s scales begin at lane {} of tensor memory: they begin at lane 0", operand, at.lane),
               lane, fault::misaligned);
  return at;
}

void multiply_one(Warp& warp, const Multiply& m, u32 d_bits, u32 a_bits, u32 a_scales, u32 b_scales, u32 lane) {
  enter_cta_group(warp, static_cast<u32>(m.form.blocks), lane);
  const InstructionDescriptor instruction{warp.source32(m.instruction)[lane]};
  if (const std::string why = instruction.refusal(m.form); !why.empty()) warp.fault(why, lane);
  TensorShape shape;
  shape.a = instruction.a(m.form.kind);
  shape.b = instruction.b(m.form.kind);
  shape.sum = instruction.sum(m.form.kind);
  shape.saturate = instruction.saturate();
  shape.blocks = m.form.blocks;
  shape.m = instruction.m();
  shape.n = instruction.n();
  shape.d = TensorAddress::of(d_bits);
  for (std::size_t i = 0; i < m.kept.size(); ++i) shape.kept[i] = warp.source32(m.kept[i])[lane];
  if (shape.blocks == 2 && shape.kept != decltype(shape.kept){})
    warp.fault("lanes of a pair's D are not to be written, and which block the upper ones mean is not confirmed", lane);
  TensorStep step;
  step.a_mn_major = instruction.a_mn_major();
  step.b_mn_major = instruction.b_mn_major();
  step.negate = instruction.negate_a() != instruction.negate_b();
  step.accumulate = warp.predicate(m.accumulate) >> lane & 1;
  step.scale = m.scale;
  const auto matrix = [&](Operand from, Element element, bool mn_major, const char* whose) {
    return matrix_at(warp, warp.source64(from)[lane], element, mn_major, whose, lane);
  };
  step.b = matrix(m.b, shape.b, step.b_mn_major, "B");
  check_first_lane(warp, shape, shape.d.lane, 'D', lane);
  const auto blocks = blocks_of(warp, shape.blocks);
  if (m.form.a_in_tensor_memory) {
    step.a_cells = TensorAddress::of(a_bits);
    check_first_lane(warp, shape, step.a_cells->lane, 'A', lane);
    for (const Block* block : blocks) check_columns(warp, *block, step.a_cells->column, 8, lane);
  } else {
    step.a = matrix(m.a, shape.a, step.a_mn_major, "A");
  }
  for (const Block* block : blocks) check_columns(warp, *block, shape.d.column, columns_of_d(shape), lane);
  if (m.form.scale_group != 0) {
    numeric::TensorScales scales;
    scales.a_byte = instruction.a_scale_byte();
    scales.b_byte = instruction.b_scale_byte();
    scales.a = first_scale(warp, a_scales, scales.a_byte, 'A', lane);
    scales.b = first_scale(warp, b_scales, scales.b_byte, 'B', lane);
    scales.ue8m0 = instruction.scales_are_ue8m0();
    scales.group = m.form.scale_group;
    for (const Block* block : blocks) {
      check_columns(warp, *block, scales.a.column, numeric::columns_of_a_scales(shape), lane);
      check_columns(warp, *block, scales.b.column, numeric::columns_of_b_scales(shape, 0), lane);
    }
    step.scales = scales;
  }
  tell(warp, lane, shape, step);
  issue_step(warp, shape, step, lane);
}

Step multiply_op(Warp& warp, const Op& op, u32 active) {
  const auto& m = op.as<Multiply>();
  LaneAddresses d, a{}, a_scales{}, b_scales{};
  lane_addresses(warp, m.d, d);
  if (m.form.a_in_tensor_memory) lane_addresses(warp, m.a_cells, a);
  if (m.form.scale_group != 0) {
    lane_addresses(warp, m.a_scales, a_scales);
    lane_addresses(warp, m.b_scales, b_scales);
  }
  for_each_lane(active, [&](u32 i) {
    multiply_one(warp, m, static_cast<u32>(d[i]), static_cast<u32>(a[i]), static_cast<u32>(a_scales[i]),
                 static_cast<u32>(b_scales[i]), i);
  });
  return Step::go;
}

TensorKind take_kind(FunctionDecoder& d) {
  const int kind = d.modifiers.take_one_of(
      {"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"});
  if (kind < 0) d.refuse("it needs .kind::f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4 or mxf4nvf4");
  if (kind == 3 && d.program().module().target.family) d.refuse("`.kind::i8` is of sm_100a, not of its family");
  return static_cast<TensorKind>(kind);
}

// Elements that share a scale: .scale_vec says how many scales a row has, .block how many elements each is of.
int take_scale_group(FunctionDecoder& d, TensorKind kind) {
  if (d.modifiers.take("block_scale") != numeric::has_scales(kind))
    d.refuse("the kinds mxf8f6f4, mxf4 and mxf4nvf4 have .block_scale, and no others");
  if (!numeric::has_scales(kind)) return 0;
  const int k = numeric::is_packed(kind) ? 64 : 32;
  const int said = d.modifiers.take_one_of({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block32", "block16"});
  constexpr int counts[] = {1, 2, 4};
  const int group = said < 0    ? (kind == TensorKind::mxf4nvf4 ? 0 : 32)
                    : said == 3 ? 32
                    : said == 4 ? 16
                                : k / counts[said];
  if (group != 32 && !(group == 16 && kind == TensorKind::mxf4nvf4))
    d.refuse(
        "`.kind::mxf8f6f4` has .scale_vec::1X (.block32), `.kind::mxf4` .scale_vec::2X (.block32), and "
        "`.kind::mxf4nvf4` has to say .scale_vec::2X (.block32) or .scale_vec::4X (.block16)");
  return group;
}

}  // namespace

void tensor_multiply(FunctionDecoder& d) {
  if (d.modifiers.has("sp")) d.refuse("sparse products are not imitated");
  if (d.modifiers.has("ws")) d.refuse("the layout of .ws products is not confirmed");
  if (d.modifiers.has("ashift")) d.refuse("in which direction .ashift moves rows is not confirmed");
  Multiply m;
  m.form.blocks = static_cast<int>(take_cta_group(d));
  m.form.kind = take_kind(d);
  m.form.scale_group = take_scale_group(d, m.form.kind);
  // Whether the multiplier keeps A for the next product is only speed.
  d.modifiers.take_one_of(
      {"collector::a::fill", "collector::a::use", "collector::a::lastuse", "collector::a::discard"});
  d.expect_operands(5, 7);
  m.d = d.address(d.operand(0), AddressSpace::generic);
  m.form.a_in_tensor_memory = d.operand(1).kind == OperandKind::memory;
  if (m.form.a_in_tensor_memory)
    m.a_cells = d.address(d.operand(1), AddressSpace::generic);
  else
    m.a = d.source(d.operand(1), Type::b64);
  m.b = d.source(d.operand(2), Type::b64);
  m.instruction = d.source(d.operand(3), Type::b32);
  std::size_t next = 4;
  if (m.form.scale_group != 0) {
    d.expect_operands(7);
    m.a_scales = d.address(d.operand(next++), AddressSpace::generic);
    m.b_scales = d.address(d.operand(next++), AddressSpace::generic);
  }
  if (d.operand(next).kind == OperandKind::vector) {
    m.kept = d.sources(d.operand(next++), Type::b32);
    const std::size_t words = static_cast<std::size_t>(m.form.blocks) * 4;
    if (m.kept.size() != words) d.refuse(fmt::format("the lanes not to write are {} registers", words));
  }
  m.accumulate = d.predicate(d.operand(next++));
  if (d.operands() > next) {
    if (m.form.kind != TensorKind::f16 && m.form.kind != TensorKind::tf32)
      d.refuse("only .kind::f16 and .kind::tf32 scale D");
    const i64 scale = d.constant(d.operand(next++), "the scale of D");
    if (scale < 0 || scale > 15) d.refuse("the scale of D is 0 to 15");
    m.scale = static_cast<int>(scale);
  }
  d.expect_operands(next);
  d.emit(&multiply_op, Effect::copy(Proxy::async, Completion::tensor_products), std::move(m));
}

}  // namespace isa
}  // namespace wm::vgpu
