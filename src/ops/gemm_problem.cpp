// Checks of a GEMM request, and what follows from its types, strides and addresses for the kernel's kind.
#include "ops/gemm_problem.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/block_scaled.hpp"
#include "ops/expression.hpp"
#include "ops/overlap.hpp"
#include "warpmill/error.hpp"

namespace wm::ops {
namespace {

bool one_of(DType dtype, std::initializer_list<DType> list) {
  return std::find(list.begin(), list.end(), dtype) != list.end();
}

void check_device(const View& view, std::string_view name, const Stream& stream) {
  if (!(view.device == stream.device()))
    refuse(fmt::format("{} lies on {} and the stream belongs to {}", name, view.device.info().id,
                       stream.device().info().id));
}

std::string sizes(const View& view) { return fmt::format("{}", fmt::join(view.shape, " x ")); }

void check_types(const GemmRequest& request, const Device& device, TensorInstruction instruction) {
  const DType a = request.a.dtype, b = request.b.dtype, d = request.d.dtype;
  const bool small = one_of(a, {DType::e4m3, DType::e5m2}) && one_of(b, {DType::e4m3, DType::e5m2});
  if (!small && !(a == b && one_of(a, {DType::bf16, DType::f16, DType::f32, DType::tf32, DType::i8})))
    refuse(fmt::format(
        "a holds {} and b holds {}; they are both bf16, both f16, both f32 (or tf32), both i8, or each e4m3 "
        "or e5m2",
        name_of(a), name_of(b)));
  if (!one_of(d, {DType::bf16, DType::f16, DType::f32, DType::e4m3}) && !(d == DType::i32 && a == DType::i8))
    refuse(fmt::format("d holds {}; it is bf16, f16, f32 or e4m3, or with i8 operands i32", name_of(d)));
  if (instruction == TensorInstruction::mma && (small_float(a) || small_float(b) || small_float(d)))
    refuse(
        fmt::format("a holds {}, b {} and d {}, and {} runs the kernel for sm_80 here, which has no 8-bit floats; take "
                    "bf16 or f16",
                    name_of(a), name_of(b), name_of(d), device.info().id));
  if (request.promote && instruction != TensorInstruction::wgmma)
    refuse(fmt::format(
        "promote is for Hopper's tensor cores, which keep few bits of a sum of 8-bit floats; how many those "
        "of {} keep is not specified, and its kernel adds nothing up besides",
        device.info().id));
  if (request.promote && !small) refuse("promote is for e4m3 and e5m2; other types have full sums already");
}

// Element i of a dimension lies at i * stride; with one element the stride says nothing and is taken as 0.
Matrix matrix_of(const View& view, bool rows_first) {
  const std::size_t rank = view.shape.size();
  const auto stride = [&](std::size_t dimension) { return view.shape[dimension] > 1 ? view.strides[dimension] : 0; };
  Matrix matrix{view.address, stride(rank - 2), stride(rank - 1), rank == 3 ? stride(0) : 0};
  if (!rows_first) std::swap(matrix.row_stride, matrix.column_stride);
  return matrix;
}

// Along which dimension elements lie side by side. A dimension of one element has stride 0 here and may pass for
// either.
bool contiguous(std::int64_t stride, std::int64_t size) { return stride == 1 || size <= 1; }

// Matrices at these addresses, each like `view`.
void list_matrices(std::span<const std::uint64_t> addresses, const View& view, std::string_view name, Matrix& matrix,
                   std::vector<std::uint64_t>& listed) {
  if (addresses.empty()) return;
  const std::uint64_t bytes = size_of(view.dtype);
  if (view.elements() == 0) return;  // nothing lies there
  std::uint64_t bits = std::uint64_t{1} << 30;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i] == 0 || addresses[i] % bytes)
      refuse(
          fmt::format("{}[{}] of the batch is at {:#x}; an address is a multiple of the element's {} bytes, and not 0",
                      name, i, addresses[i], bytes));
    bits |= addresses[i];
  }
  matrix.address = addresses[0];
  matrix.matrix_stride = static_cast<std::int64_t>((bits & -bits) / bytes);
  listed.assign(addresses.begin(), addresses.end());
}

struct Operand {
  Matrix& matrix;
  std::int64_t rows, columns;
  int bytes;  // an element

  // What the copy engine asks of `lines` lines with `stride` elements from one to the next: multiples of 16 bytes, and
  // no line twice.
  bool engine_takes(std::int64_t stride, std::int64_t lines) const {
    constexpr std::int64_t limit = std::int64_t{1} << 40;
    const std::int64_t pitch = stride * bytes, apart = matrix.matrix_stride * bytes;
    return matrix.address % 16 == 0 && pitch % 16 == 0 && apart % 16 == 0 && pitch < limit && apart < limit &&
           (pitch > 0 || lines == 1) && rows > 0 && columns > 0;
  }
  // The largest copy that every line starts at a multiple of, `stride` elements from one to the next.
  Producer copies(std::int64_t stride) const {
    const std::int64_t grain = std::gcd(std::gcd(static_cast<std::int64_t>(matrix.address % 16), stride * bytes),
                                        matrix.matrix_stride * bytes);
    return grain % 16 == 0  ? Producer::copies16
           : grain % 8 == 0 ? Producer::copies8
           : grain % 4 == 0 ? Producer::copies4
                            : Producer::elements;
  }
};

// How A or B comes: its major-ness, whether the engine can bring it, and else how threads do.
struct Arrival {
  Major major = Major::k;
  bool by_engine = false;
  Producer by_threads = Producer::elements;
  bool lines = false;  // that lie along `major`: copied to another place, the engine could bring them
};

// Where one dimension has a single element both major-nesses fit; the one that the engine can read is taken.
Arrival arrival_of(const Operand& x, TensorInstruction instruction) {
  const bool engine = facts_of(instruction).copy_engine, reads_shared = facts_of(instruction).reads_shared;
  const bool along_k = contiguous(x.matrix.column_stride, x.columns),
             along_mn = contiguous(x.matrix.row_stride, x.rows);
  Arrival arrival;
  if (along_k) {
    arrival.by_engine = engine && x.engine_takes(x.matrix.row_stride, x.rows);
    // Before wgmma threads round f32 to tf32; before mma they do it after the copy.
    arrival.by_threads = reads_shared && x.bytes == 4 ? Producer::elements : x.copies(x.matrix.row_stride);
  }
  const bool spans = engine && along_mn && x.bytes == 2 && x.engine_takes(x.matrix.column_stride, x.columns);
  if (!arrival.by_engine && (spans || (along_mn && !along_k))) {
    // ldmatrix and wgmma turn 16-bit elements; only for wgmma do threads always bring them turned.
    const bool copied = !reads_shared && x.bytes == 2;
    arrival = {Major::mn, spans, copied ? x.copies(x.matrix.column_stride) : Producer::elements};
  }
  arrival.lines = engine && (arrival.major == Major::k ? along_k : along_mn && x.bytes == 2);
  return arrival;
}

Vector vector_of(const View& view, std::string_view name, std::int64_t size, bool one_for_all,
                 std::initializer_list<DType> types, const Stream& stream) {
  check_device(view, name, stream);
  if (!one_of(view.dtype, types)) {
    std::string list;
    for (const DType type : types) list += fmt::format("{}{}", list.empty() ? "" : ", ", name_of(type));
    refuse(fmt::format("{} holds {}; it may hold {}", name, name_of(view.dtype), list));
  }
  const std::int64_t elements = view.elements();
  const bool single = one_for_all && elements == 1;
  if (!single && elements != size)
    refuse(fmt::format("{} has {} elements (shape {}); it must have {}{}", name, elements, sizes(view), size,
                       one_for_all && size != 1 ? ", or one for all" : ""));
  // Its shape may be n, 1 x n, n x 1: dimensions of size 1 say nothing.
  std::int64_t stride = 1;
  for (std::size_t i = 0, longer = 0; i < view.shape.size() && elements > 1; ++i) {
    if (view.shape[i] == 1) continue;
    if (++longer > 1) refuse(fmt::format("{} is a matrix of {}; it must be a vector of {}", name, sizes(view), size));
    stride = view.strides[i];
  }
  if (stride != 1) refuse(fmt::format("{} has a stride of {}; its elements must lie side by side", name, stride));
  return {view.address, single ? 0 : 1};
}

void add_epilogue(GemmProblem& p, const GemmRequest& request, const Stream& stream) {
  const GemmEpilogue& e = request.epilogue;
  const View& d = request.d;
  EpilogueFacts& facts = p.kind.epilogue;
  const auto scale = [&](const std::optional<View>& view, std::string_view name, std::int64_t size, bool& fact,
                         Vector& vector) {
    if (!view) return;
    fact = true;
    vector = vector_of(*view, name, size, true, {DType::f32}, stream);
  };
  scale(e.row_scale, "row_scale", p.m, facts.row_scale, p.row_scale);
  scale(e.column_scale, "column_scale", p.n, facts.column_scale, p.column_scale);
  scale(e.d_scale, "d_scale", 1, facts.d_scale, p.d_scale);
  scale(e.amax, "amax", 1, facts.amax, p.amax);
  const auto bias = [&](const std::optional<View>& view, std::string_view name, std::int64_t size, bool& fact,
                        Vector& vector) {
    if (!view) return;
    if ((facts.row_bias || facts.column_bias) && facts.bias != view->dtype)
      refuse("row_bias and column_bias must hold the same type");
    fact = true;
    facts.bias = view->dtype;
    vector = vector_of(*view, name, size, false, {DType::f32, DType::bf16, DType::f16}, stream);
  };
  bias(e.row_bias, "row_bias", p.m, facts.row_bias, p.row_bias);
  bias(e.column_bias, "column_bias", p.n, facts.column_bias, p.column_bias);
  facts.alpha = e.alpha != 1;
  if (request.batch && !request.batch->c.empty() && !e.c)
    refuse("the batch has addresses for c, and the epilogue no c that says what they are");
  if (e.beta != 0 && !e.c) refuse(fmt::format("beta is {} and there is no c", e.beta));
  if (e.c && e.beta != 0) {  // beta of 0 does not read c, not even its NaNs
    check_device(*e.c, "c", stream);
    if (!one_of(e.c->dtype, {DType::f32, DType::bf16, DType::f16}))
      refuse(fmt::format("c holds {}; it may hold f32, bf16, f16", name_of(e.c->dtype)));
    if (e.c->shape != d.shape) refuse(fmt::format("c is {} and d is {}", sizes(*e.c), sizes(d)));
    facts.residual = true;
    facts.c = e.c->dtype;
    p.c = matrix_of(*e.c, true);
    if (request.batch) list_matrices(request.batch->c, *e.c, "c", p.c, p.listed.c);
  }
  facts.activation = e.activation;
  if ((e.activation == Activation::expression) != !e.expression.empty())
    refuse("an expression and Activation::expression go together");
  if (facts.activation == Activation::expression)
    if (const auto problem = expression_problem(e.expression); !problem.empty())
      refuse(fmt::format("the activation '{}' is no expression of x: {}", e.expression, problem));
  p.expression = e.expression;
  if (d.dtype == DType::i32 && !facts.none())
    refuse(
        "integer results have no epilogue: take d as f32, bf16, f16 or e4m3, or leave alpha, beta, scales, biases "
        "and the activation out");
}

// Where D's elements lie side by side, and whether the engine can store them.
void add_result(GemmProblem& p, const View& d) {
  GemmKind& kind = p.kind;
  const bool rows = contiguous(p.d.column_stride, p.n), columns = !rows && contiguous(p.d.row_stride, p.m);
  if (overlaps_itself(d))
    refuse(fmt::format("d's elements overlap: strides ({}) for a shape of {}", fmt::join(d.strides, ", "), sizes(d)));
  kind.d_columns = columns;
  const Operand out{p.d, p.m, p.n, static_cast<int>(size_of(d.dtype))};
  const std::int64_t inner = columns ? p.m : p.n;
  // D is stored in whole 16-byte chunks: a line that ends inside one would take its neighbour along.
  kind.d_scattered = !(rows || columns) || inner * out.bytes % 16 != 0 ||
                     !out.engine_takes(columns ? p.d.column_stride : p.d.row_stride, columns ? p.n : p.m);
}

void check_lists(const GemmBatch& lists, std::size_t rank) {
  if (rank != 2) refuse("a batch by addresses takes views of two dimensions, each of one matrix");
  const std::array<std::pair<std::span<const std::uint64_t>, char>, 3> others{
      {{lists.a, 'a'}, {lists.b, 'b'}, {lists.c, 'c'}}};
  for (const auto& [list, name] : others)
    if (!list.empty() && list.size() != lists.d.size())
      refuse(
          fmt::format("the batch has {} addresses for {} and {} for d; they must be as many, or none where all "
                      "products share one",
                      list.size(), name, lists.d.size()));
}

}  // namespace

void refuse(const std::string& why) { throw Error(ErrorCode::invalid_argument, "gemm refused: " + why); }

GemmProblem GemmProblem::transposed() const {
  GemmProblem p = *this;
  p.kind = kind.transposed();
  p.m = n, p.n = m;
  p.a = b, p.b = a;
  std::swap(p.listed.a, p.listed.b);
  std::swap(p.d.row_stride, p.d.column_stride);
  std::swap(p.c.row_stride, p.c.column_stride);
  p.a_scales = b_scales, p.b_scales = a_scales;
  p.row_scale = column_scale, p.column_scale = row_scale;
  p.row_bias = column_bias, p.column_bias = row_bias;
  return p;
}

GemmProblem understand(const Stream& stream, const GemmRequest& request, TensorInstruction instruction) {
  const View &a = request.a, &b = request.b, &d = request.d;
  const std::array<std::pair<const View*, std::string_view>, 3> operands{{{&a, "a"}, {&b, "b"}, {&d, "d"}}};
  const std::size_t rank = d.shape.size();
  for (const auto& [view, name] : operands) {
    check_device(*view, name, stream);
    if (view->shape.size() != rank || (rank != 2 && rank != 3))
      refuse(
          fmt::format("{} has {} dimensions; all three operands have 2, or 3 for a batch", name, view->shape.size()));
  }
  check_types(request, stream.device(), instruction);
  GemmProblem p;
  GemmKind& kind = p.kind;
  p.m = a.shape[rank - 2], p.k = a.shape[rank - 1], p.n = b.shape[rank - 1];
  const GemmBatch lists = request.batch.value_or(GemmBatch{});
  kind.listed = request.batch.has_value();
  p.batch = kind.listed ? static_cast<std::int64_t>(lists.d.size()) : rank == 3 ? d.shape[0] : 1;
  if (b.shape[rank - 2] != p.k || d.shape[rank - 2] != p.m || d.shape[rank - 1] != p.n)
    refuse(fmt::format("the shapes do not fit: a is {}, b is {}, d is {}; they must be m x k, k x n, m x n", sizes(a),
                       sizes(b), sizes(d)));
  if (kind.listed) check_lists(lists, rank);
  if (rank == 3 && (a.shape[0] != p.batch || b.shape[0] != p.batch))
    refuse(fmt::format("the batches differ: a is {}, b is {}, d is {}; repeat an operand with a stride of 0", sizes(a),
                       sizes(b), sizes(d)));
  for (const std::int64_t size : {p.m, p.n, p.k, p.batch})
    if (size > 0x7fffffff) refuse(fmt::format("a dimension of {} is beyond 32-bit coordinates", size));

  p.a = matrix_of(a, true);
  p.b = matrix_of(b, false);
  p.d = matrix_of(d, true);
  kind.a = a.dtype, kind.b = b.dtype, kind.d = d.dtype;
  kind.promote = request.promote;

  const int bytes = static_cast<int>(size_of(a.dtype));
  list_matrices(lists.a, a, "a", p.a, p.listed.a);
  list_matrices(lists.b, b, "b", p.b, p.listed.b);
  list_matrices(lists.d, d, "d", p.d, p.listed.d);
  const Arrival of_a = arrival_of({p.a, p.m, p.k, bytes}, instruction);
  const Arrival of_b = arrival_of({p.b, p.n, p.k, bytes}, instruction);
  kind.a_major = of_a.major, kind.b_major = of_b.major;
  // Both by the engine or both by threads: one ring, one kind of arrival. An empty k has nothing to map.
  if (!of_a.by_engine || !of_b.by_engine || p.k == 0) {
    kind.a_producer = p.k == 0 ? Producer::elements : of_a.by_threads;
    kind.b_producer = p.k == 0 ? Producer::elements : of_b.by_threads;
    const bool copied = p.k > 0 && !kind.listed && of_a.lines && of_b.lines;
    p.copy_a = copied && !of_a.by_engine;
    p.copy_b = copied && !of_b.by_engine;
  }

  add_result(p, d);
  add_epilogue(p, request, stream);
  return p;
}

BlockScaledProblem understand(const Stream& stream, const BlockScaledGemmRequest& request,
                              TensorInstruction instruction) {
  const BlockScaledView &a = request.a, &b = request.b;
  const View& d = request.d;
  if (instruction != TensorInstruction::tcgen05 && instruction != TensorInstruction::mma_tma)
    throw Error(ErrorCode::unsupported,
                fmt::format("gemm refused: {} is {}, and operands with block scales are for sm_100a and sm_120a",
                            stream.device().info().id, stream.device().info().arch.name()));
  for (const auto& [operand, name] : {std::pair{&a, "a"}, {&b, "b"}}) {
    check_block_scaled(*operand, fmt::format("gemm refused: {}", name));
    if (!(operand->device == stream.device()))
      refuse(fmt::format("{} lies on {} and the stream belongs to {}", name, operand->device.info().id,
                         stream.device().info().id));
  }
  check_device(d, "d", stream);
  if (a.k != b.k || d.shape.size() != 2 || d.shape[0] != a.rows || d.shape[1] != b.rows)
    refuse(fmt::format("the shapes do not fit: a is {} x {}, b is {} x {}, d is {}; they must be m x k, n x k, m x n",
                       a.rows, a.k, b.rows, b.k, sizes(d)));
  if (a.k == 0) refuse("k is 0, and matrices with block scales have elements");
  if (!one_of(d.dtype, {DType::bf16, DType::f16, DType::f32, DType::e4m3}))
    refuse(fmt::format("d holds {}; with block scales it is bf16, f16, f32 or e4m3", name_of(d.dtype)));
  // No view has elements where there are none.
  const auto bytes_of = [&](const BlockScaledView& x) {
    const std::int64_t pitch = x.pitch();
    if (x.major == Major::mn) return View(x.device, x.data == 0 ? 32 : x.data, DType::u8, {x.rows, x.k}, {1, pitch});
    return View(x.device, x.data == 0 ? 32 : x.data, DType::u8, {x.rows, pitch}, {pitch, 1});
  };
  BlockScaledProblem result{{.a = bytes_of(a), .b = bytes_of(b).transposed(), .d = d, .epilogue = request.epilogue},
                            {}};
  GemmProblem& p = result.problem;
  GemmKind& kind = p.kind;
  kind.a = kind.b = DType::u8;
  kind.a_format = a.format, kind.b_format = b.format;
  kind.a_major = a.major, kind.b_major = b.major;
  kind.d = d.dtype;
  p.m = a.rows, p.n = b.rows;
  p.k = kind.packed() ? (a.k + 1) / 2 : a.k;  // bytes of shared memory
  const auto place = [](const BlockScaledView& x) {
    return x.major == Major::mn ? Matrix{x.data, 1, x.pitch(), 0} : Matrix{x.data, x.pitch(), 1, 0};
  };
  p.a = place(a), p.b = place(b);
  p.a_scales = {a.scales, static_cast<unsigned>(scale_blocks_along_k(a.format, a.k))};
  p.b_scales = {b.scales, static_cast<unsigned>(scale_blocks_along_k(b.format, b.k))};
  p.d = matrix_of(d, true);
  // What no plan could serve, in the caller's words.
  const GemmPlan any{.kind = kind, .instruction = instruction, .tile = {128, 128}, .cluster = {1, 1}};
  if (const char* const why = any.scale_problem())
    refuse(fmt::format("a is {} and b is {}: {}", name_of(a.format), name_of(b.format), why));
  add_result(p, d);
  add_epilogue(p, result.bytes, stream);
  return result;
}

}  // namespace wm::ops
