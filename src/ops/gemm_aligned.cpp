// When operands are copied first, and where to.
#include "ops/gemm_aligned.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace wm::ops {
namespace {

std::int64_t rounded(std::int64_t bytes, std::int64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

// One operand's copy, and itself afterwards. Its lines lie along k, or with Major::mn along its rows.
struct Copied {
  AlignedCopy copy;
  Matrix matrix;
  std::int64_t bytes;
};

Copied copied(const Matrix& matrix, Major major, std::int64_t rows, std::int64_t k, std::int64_t batch, DType element,
              std::uint64_t to) {
  const auto element_bytes = static_cast<std::int64_t>(size_of(element));
  const bool along_k = major == Major::k;
  const std::int64_t lines = along_k ? rows : k, length = along_k ? k : rows;
  const std::int64_t matrices = matrix.matrix_stride != 0 ? batch : 1;
  // Long lines begin with a line of memory, so that each of their boxes is whole ones.
  const std::int64_t used = length * element_bytes, pitch = rounded(used, used < 1024 ? 16 : 128) / element_bytes;
  Matrix there = matrix;
  there.address = to;
  (along_k ? there.row_stride : there.column_stride) = lines > 1 ? pitch : 0;
  if (matrix.matrix_stride != 0) there.matrix_stride = lines * pitch;
  const auto count = [](std::int64_t n) { return static_cast<unsigned long long>(n); };
  return {{matrix.address, to, count(lines), count(length), count(matrices),
           along_k ? matrix.row_stride : matrix.column_stride, matrix.matrix_stride, pitch},
          there,
          rounded(matrices * lines * pitch * element_bytes, 256)};
}

}  // namespace

AlignedProblem aligned(const GemmProblem& problem, std::uint64_t workspace) {
  AlignedProblem to{problem, {}, 0};
  GemmProblem& p = to.problem;
  const auto copy = [&](bool& wanted, Matrix& matrix, Major major, std::int64_t rows, DType element, AlignedCopy& how) {
    if (!wanted) return;
    const Copied one = copied(matrix, major, rows, p.k, p.batch, element, workspace + to.bytes);
    how = one.copy, matrix = one.matrix, wanted = false;
    to.bytes += static_cast<std::size_t>(one.bytes);
  };
  copy(p.copy_a, p.a, p.kind.a_major, p.m, p.kind.a, to.copies.of[0]);
  copy(p.copy_b, p.b, p.kind.b_major, p.n, p.kind.b, to.copies.of[1]);
  p.kind.a_producer = p.kind.b_producer = Producer::tma;
  return to;
}

std::size_t aligned_bytes(const GemmProblem& problem) {
  const auto brought_by = [&](Producer producer) {
    return (problem.copy_a && problem.kind.a_producer == producer) ||
           (problem.copy_b && problem.kind.b_producer == producer);
  };
  // Below these a launch more costs what it brings; with copies of 8 bytes threads are fast enough.
  constexpr std::size_t least_by_elements = 64 << 10, least_by_fours = 512 << 10, most = std::size_t{2} << 30;
  const bool by_elements = brought_by(Producer::elements);
  if (!by_elements && !brought_by(Producer::copies4)) return 0;
  const std::size_t bytes = aligned(problem, 0).bytes;
  return bytes >= (by_elements ? least_by_elements : least_by_fours) && bytes <= most ? bytes : 0;
}

GemmKind kind_to_run(const GemmProblem& problem) {
  return aligned_bytes(problem) > 0 ? aligned(problem, 0).problem.kind : problem.kind;
}

KernelSource aligned_copy_source(DType element) {
  return {"aligned_copy.cu", "#include \"warpmill/gemm/aligned_copy.cuh\"\n",
          fmt::format("wm::copy_aligned<wm::u{}>", 8 * size_of(element))};
}

LaunchConfig aligned_copy_config(const AlignedCopies& copies, int multiprocessors) {
  constexpr unsigned long long warps = aligned_copy_threads / 32, resident = 8;  // of a block; blocks
  unsigned long long pieces = 0;
  for (const AlignedCopy& copy : copies.of)
    pieces += copy.matrices * copy.lines * ((copy.length + line_piece - 1) / line_piece);
  const auto most = resident * static_cast<unsigned long long>(multiprocessors);
  return {.grid = {static_cast<std::uint32_t>(std::min((pieces + warps - 1) / warps, most))},
          .block = {aligned_copy_threads}};
}

}  // namespace wm::ops
