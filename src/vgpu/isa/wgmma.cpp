// wgmma: a warpgroup's products of matrices in shared memory, done later; its fence, commit and wait.
#include "vgpu/isa/numeric/wgmma.hpp"

#include <bit>
#include <cstdio>

#include <fmt/format.h>

#include "vgpu/isa/families.hpp"
#include "vgpu/isa/gather.hpp"
#include "vgpu/isa/matrix_types.hpp"
#include "vgpu/machine/block.hpp"
#include "vgpu/machine/observer.hpp"
#include "warpmill/error.hpp"

namespace wm::vgpu {

// One or more wgmma of a warpgroup on the same accumulators.
class MatrixProduct final : public AsyncOperation {
 public:
  MatrixProduct(const Origin& origin, Warpgroup& group) : AsyncOperation(origin), group_(group) {}
  ~MatrixProduct() override { close(); }

  using Issues = std::array<MatrixIssue, warps_per_group>;
  std::vector<Issues> steps;

  bool advance(Cluster& cluster, Random*) override;
  void close() {
    if (group_.open == this) group_.open = nullptr;
  }

 private:
  Warpgroup& group_;
};

namespace isa {

using ptx::OperandKind;
using ptx::Type;

namespace {

struct Multiply {
  numeric::WgmmaShape shape;
  std::vector<u32> rows;        // of D, in the frame
  std::vector<Operand> a_rows;  // A in registers
  Operand a, b;                 // descriptors
  Predicate scale_d;
  bool a_mn_major = false, b_mn_major = false, negate_a = false, negate_b = false;
  std::vector<u32> sums, factors;  // D and A as registers of the text
};

Warp& warp_of(Warp& first, u32 index) {
  return first.block().warps[first.index() / warps_per_group * warps_per_group + index];
}

// The four warps have all issued: their product goes into the queue.
void form_product(Warp& warp, Warpgroup& group) {
  MatrixProduct::Issues issues;
  for (u32 w = 0; w < warps_per_group; ++w) {
    issues[w] = group.issued[w].front();
    group.issued[w].erase(group.issued[w].begin());
  }
  for (u32 w = 1; w < warps_per_group; ++w) {
    if (issues[w].op != issues[0].op) warp.fault("the warps of a warpgroup execute different wgmma instructions");
    if (issues[w].a != issues[0].a || issues[w].b != issues[0].b || issues[w].accumulate != issues[0].accumulate)
      warp.fault(fmt::format("warps {} and {} of a warpgroup give a wgmma different descriptors or scales",
                             warp_of(warp, 0).index(), warp_of(warp, w).index()));
  }
  Cluster& cluster = warp.cluster();
  // Steps on the same accumulators are one product, where nobody asked for odd timing.
  const auto same = [&](const MatrixProduct& open) {
    const auto& old = open.steps.back()[0];
    const auto &before = old.op->as<Multiply>(), &now = issues[0].op->as<Multiply>();
    bool frames = true;
    for (u32 w = 0; w < warps_per_group; ++w) frames &= open.steps.back()[w].frame == issues[w].frame;
    return frames && before.rows == now.rows && before.shape.n == now.shape.n && before.shape.a == now.shape.a &&
           before.shape.b == now.shape.b && before.shape.sum == now.shape.sum &&
           before.shape.saturate == now.shape.saturate;
  };
  constexpr std::size_t most_steps = 16;
  if (group.open != nullptr && cluster.run->options.mode == Mode::friendly && group.open->steps.size() < most_steps &&
      same(*group.open)) {
    group.open->steps.push_back(issues);
    return;
  }
  auto product = std::make_unique<MatrixProduct>(Origin::of(warp, 0), group);
  product->steps.push_back(issues);
  product->stream = reinterpret_cast<u64>(&group);
  group.open = product.get();
  cluster.async.issue(cluster, std::move(product));
}

// What one warp's share of a product reads: its 16 rows of A, all of B.
MatrixReads reads_of(const Warp& warp, const Multiply& m, const MatrixIssue& issue) {
  MatrixReads what;
  what.accumulates = issue.accumulate;
  what.sums = m.sums;
  what.factors = m.factors;
  const u64 window = shared_window + warp.block().shared_base;
  const auto add = [&](const numeric::MatrixDescriptor& matrix, bool mn_major, u32 first, u32 rows, u32 element) {
    auto& operand = what.operands.emplace_back();
    operand.address = matrix.address;
    TileLayout& layout = operand.layout;
    layout.pattern = matrix.swizzle == numeric::Swizzle::none ? 0 : 8 * matrix.pitch();
    layout.row_bytes = matrix.pitch();
    layout.float_bytes = element;
    // A step along K moves within the pattern's rows; the rows themselves must start where the pattern does.
    layout.aligned = layout.pattern == 0 || matrix.base_offset != 0 || matrix.address % layout.pattern / 128 == 0;
    if (mn_major) {
      for (u32 k = 0; k < static_cast<u32>(m.shape.k()); ++k)
        for (u32 group = first / 8; group < (first + rows) / 8; ++group)
          operand.reads.add(window + matrix.mn_major(group, k), 16);
    } else {
      for (u32 row = first; row < first + rows; ++row)
        for (u32 chunk = 0; chunk < 2; ++chunk) operand.reads.add(window + matrix.k_major(row, chunk), 16);
    }
  };
  const u32 element = 32 / static_cast<u32>(m.shape.k());  // bytes: a step is 32 bytes along k
  if (m.a_rows.empty())
    add(numeric::MatrixDescriptor::decode(issue.a), m.a_mn_major, warp.index() % warps_per_group * 16, 16, element);
  add(numeric::MatrixDescriptor::decode(issue.b), m.b_mn_major, 0, static_cast<u32>(m.shape.n), element);
  return what;
}

Step multiply_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  if (active != all_lanes)
    warp.fault("wgmma needs all 32 threads of each of its four warps", lanes_per_warp, fault::partial_warpgroup);
  const auto& m = op.as<Multiply>();
  const u32 first = warp.index() / warps_per_group * warps_per_group;
  if (first + warps_per_group > warp.block().warps.size())
    warp.fault(fmt::format("wgmma needs a warpgroup of four warps; warps {} to {} are none", first,
                           warp.block().warps.size() - 1));
  MatrixIssue issue;
  issue.op = &op;
  issue.frame = warp.frame().base32;
  if (m.a_rows.empty()) issue.a = warp.source64(m.a)[0];
  issue.b = warp.source64(m.b)[0];
  issue.accumulate = warp.predicate(m.scale_d) & 1;
  issue.group = warp.matrices.of(0).add();
  if (Observer* observer = warp.launch().observer) observer->multiply_issued(warp, op, reads_of(warp, m, issue));
  Warpgroup& group = warp.block().warpgroups[warp.index() / warps_per_group];
  group.issued[warp.index() % warps_per_group].push_back(issue);
  for (const auto& queue : group.issued)
    if (queue.empty()) return Step::go;
  form_product(warp, group);
  return Step::go;
}

Step fence_op(Warp& warp, const Op&, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  return Step::go;
}

Step commit_op(Warp& warp, const Op&, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  warp.matrices.of(0).commit();
  return Step::go;
}

Step wait_op(Warp& warp, const Op& op, u32 active) {
  if (const auto step = gather_warp(warp, active)) return *step;
  const u32 pending = warp.effect(op).count;
  if (warp.matrices.at_most(pending, 1, false)) return Step::go;
  Wait w;
  w.kind = WaitKind::matrix_groups;
  w.index = pending;
  return warp.wait(w, active);
}

Step await_op(Warp& warp, const Op&, u32 active) {
  if (warp.matrices.idle()) return Step::go;
  Wait w;
  w.kind = WaitKind::products;
  return warp.wait(w, active);
}

i64 one_or_minus_one(FunctionDecoder& d, const ptx::Operand& o) {
  const i64 value = d.constant(o, "a scale");
  if (value != 1 && value != -1) d.refuse("a scale is 1 or -1");
  return value;
}
bool zero_or_one(FunctionDecoder& d, const ptx::Operand& o) {
  const i64 value = d.constant(o, "the order of an operand");
  if (value != 0 && value != 1) d.refuse("the order of an operand is 0 or 1");
  return value == 1;
}

void decode_multiply(FunctionDecoder& d) {
  refuse_foreign_matrices(d);
  take_sync_aligned(d);
  Multiply m;
  const std::string shape(d.modifiers.first());
  int rows = 0, k = 0;
  if (std::sscanf(shape.c_str(), "m%dn%dk%d", &rows, &m.shape.n, &k) != 3 || rows != 64)
    d.refuse("its shape is m64nNkK");
  d.modifiers.take(shape);
  m.shape.saturate = d.modifiers.take("satfinite");
  const Type type_d = d.modifiers.take_type(), type_a = d.modifiers.take_type(), type_b = d.modifiers.take_type();
  const auto sum = sum_of(type_d);
  const auto a = element_of(type_a), b = element_of(type_b);
  if (!sum || !a || !b) d.refuse("there is no product of these types");
  m.shape.sum = *sum;
  m.shape.a = *a;
  m.shape.b = *b;
  if (const std::string why = m.shape.refusal(); !why.empty()) d.refuse(why);
  if (k != m.shape.k()) d.refuse(fmt::format("k of this type is {}", m.shape.k()));

  const bool integers = *sum == numeric::Sum::s32;
  const bool half = type_a == Type::f16 || type_a == Type::bf16;
  const bool a_in_registers = d.operand(1).kind == OperandKind::vector;
  const std::size_t scales = integers ? 0 : 2;
  const std::size_t orders = !half ? 0 : a_in_registers ? 1 : 2;
  d.expect_operands(4 + scales + orders);
  const auto registers = [](const ptx::Operand& list) {
    std::vector<u32> numbers;
    for (const ptx::Operand& part : list.parts)
      if (part.kind == OperandKind::reg) numbers.push_back(part.index);
    return numbers;
  };
  for (Operand row : d.destinations(d.operand(0), Type::b32)) m.rows.push_back(row.row());
  m.sums = registers(d.operand(0));
  if (static_cast<int>(m.rows.size()) != m.shape.registers())
    d.refuse(fmt::format("D has {} registers, not {}", m.shape.registers(), m.rows.size()));
  if (a_in_registers) {
    m.a_rows = d.sources(d.operand(1), Type::b32);
    m.factors = registers(d.operand(1));
    if (m.a_rows.size() != 4) d.refuse(fmt::format("A has 4 registers, not {}", m.a_rows.size()));
  } else {
    m.a = d.source(d.operand(1), Type::b64);
  }
  m.b = d.source(d.operand(2), Type::b64);
  m.scale_d = d.predicate(d.operand(3));
  std::size_t next = 4;
  if (scales != 0) {
    m.negate_a = one_or_minus_one(d, d.operand(next++)) < 0;
    m.negate_b = one_or_minus_one(d, d.operand(next++)) < 0;
  }
  if (orders == 2) m.a_mn_major = zero_or_one(d, d.operand(next++));
  if (orders >= 1) m.b_mn_major = zero_or_one(d, d.operand(next++));
  d.emit(&multiply_op, Effect::multiply().by_whole_warp(), std::move(m));
}

}  // namespace

// Nobody may rely on it, so the judge is told of no wait.
void await_products(FunctionDecoder& d) { d.emit(&await_op, Effect::none()); }

void warpgroup_multiply(FunctionDecoder& d) {
  if (d.chip().arch.major != 9) d.refuse(fmt::format("only sm_90a has wgmma, and this is {}", d.chip().arch.name()));
  if (d.modifiers.take("mma_async")) return decode_multiply(d);
  const int kind = d.modifiers.take_one_of({"fence", "commit_group", "wait_group"});
  take_sync_aligned(d);
  if (kind == 0) {
    d.emit(&fence_op, Effect::multiply_fence().by_whole_warp());
  } else if (kind == 1) {
    d.emit(&commit_op, Effect::commit(Completion::products).by_whole_warp());
  } else if (kind == 2) {
    d.expect_operands(1);
    const i64 count = d.constant(d.operand(0), "the number of groups");
    if (count < 0 || count > 7) d.refuse("the number of groups is 0 to 7");
    d.emit(&wait_op, Effect::wait(Completion::products, static_cast<u32>(count)).by_whole_warp());
  } else {
    d.refuse("there is no such operation of wgmma");
  }
}

}  // namespace isa

bool MatrixProduct::advance(Cluster& cluster, Random*) {
  close();
  Block& block = origin.warp->block();
  const u32 first = origin.warp->index() / warps_per_group * warps_per_group;
  const auto& m = steps[0][0].op->as<isa::Multiply>();
  numeric::WgmmaShape shape = m.shape;
  shape.as_chip = cluster.run->options.chip_sums;
  numeric::WgmmaRegisters registers;
  registers.rows = m.rows;
  std::vector<numeric::WgmmaStep> work;
  for (const Issues& issues : steps) {
    const auto& now = issues[0].op->as<isa::Multiply>();
    numeric::WgmmaStep step;
    step.b = numeric::MatrixDescriptor::decode(issues[0].b);
    step.a = numeric::MatrixDescriptor::decode(issues[0].a);
    for (u32 w = 0; w < warps_per_group; ++w) {
      u32* frame = block.warps[first + w].frame_rows(issues[w].frame);
      registers.files[w] = frame;
      for (std::size_t r = 0; r < now.a_rows.size(); ++r) {
        const Operand row = now.a_rows[r];
        step.a_rows[w][r] = row.is_constant() ? cluster.run->program.constants32() + row.row() * lanes_per_warp
                                              : frame + row.row() * lanes_per_warp;
      }
    }
    step.a_mn_major = now.a_mn_major;
    step.b_mn_major = now.b_mn_major;
    step.negate_a = now.negate_a;
    step.negate_b = now.negate_b;
    step.accumulate = issues[0].accumulate;
    if (const std::string why = step.refusal(shape); !why.empty()) throw Error(ErrorCode::execution, why);
    work.push_back(step);
  }
  if (const auto outside = numeric::wgmma(shape, work, block.shared, registers))
    throw Error(ErrorCode::execution,
                fmt::format("wgmma: operand {} reaches shared address {:#x}; the block's shared memory ends at {:#x}",
                            outside->operand, outside->address, block.shared.size()));
  for (const Issues& issues : steps)
    for (u32 w = 0; w < warps_per_group; ++w) {
      GroupQueue& queue = block.warps[first + w].matrices.of(0);
      queue.source_read(issues[w].group);
      queue.done(issues[w].group);
    }
  return true;
}

}  // namespace wm::vgpu
