// A GEMM's kind (what is computed), its plan (how one kernel cuts the work) and the arithmetic that follows from both.
// Plain C++, read by the host's planner, by `warpmill plan` and by the kernels themselves, so that all agree on every
// byte.
#pragma once

#include "warpmill/pipeline/schedule.h"
#include "warpmill/shared_types.h"

namespace wm {

struct TileShape {
  int m, n;  // elements of D
  constexpr bool operator==(const TileShape&) const = default;
};
struct ClusterShape {
  int m, n;   // blocks
  int k = 1;  // blocks that share each tile along k
  constexpr bool operator==(const ClusterShape&) const = default;
};

constexpr int element_bytes(DType dtype) {
  switch (dtype) {
    case DType::u8:
    case DType::i8:
    case DType::e4m3:
    case DType::e5m2: return 1;
    case DType::u16:
    case DType::i16:
    case DType::f16:
    case DType::bf16: return 2;
    case DType::u64:
    case DType::i64:
    case DType::f64: return 8;
    default: return 4;
  }
}

constexpr bool small_float(DType dtype) { return dtype == DType::e4m3 || dtype == DType::e5m2; }

// Who brings the operands into shared memory.
enum class Producer : unsigned char {
  tma,       // the copy engine
  copies16,  // threads, with cp.async of 16, 8 or 4 bytes: rows that do not start where the engine can read
  copies8,
  copies4,
  elements,  // threads, element by element: odd rows of small types, and what must be transposed on the way
};
constexpr int copy_bytes(Producer producer) {
  return producer == Producer::copies16 ? 16 : producer == Producer::copies8 ? 8 : 4;
}

// The function that D's elements go through last. `expression`: the caller's own.
enum class Activation : unsigned char { none, relu, gelu_tanh, gelu_erf, silu, expression };

// What happens to a sum on its way to D. The parts that are there are known when the kernel is compiled, their values
// are arguments.
struct EpilogueFacts {
  bool alpha = false;         // a factor other than 1
  bool residual = false;      // + beta C
  bool row_scale = false;     // a factor for each row (or one for all)
  bool column_scale = false;  // a factor for each column (or one for all)
  bool row_bias = false;      // + a value for each row
  bool column_bias = false;   // + a value for each column
  bool amax = false;          // the largest magnitude, before D's own scale
  bool d_scale = false;       // a last factor, before rounding
  Activation activation = Activation::none;
  DType c = DType::bf16;    // of the residual
  DType bias = DType::f32;  // of both biases

  constexpr bool operator==(const EpilogueFacts&) const = default;
  constexpr EpilogueFacts transposed() const {
    EpilogueFacts facts = *this;
    facts.row_scale = column_scale, facts.column_scale = row_scale;
    facts.row_bias = column_bias, facts.column_bias = row_bias;
    return facts;
  }
  constexpr bool none() const { return *this == EpilogueFacts{.c = c, .bias = bias}; }
};

// What is computed. Everything here is part of what is compiled; m, n and k are not.
struct GemmKind {
  DType a = DType::bf16, b = DType::bf16, d = DType::bf16;
  Major a_major = Major::k, b_major = Major::k;
  bool d_columns = false;  // D's columns are contiguous instead of its rows
  Producer a_producer = Producer::tma, b_producer = Producer::tma;
  bool d_scattered = false;  // D is no place the copy engine can write
  bool promote = false;      // 8-bit floats: add the tensor cores' sums of 128 products in full precision
  bool listed = false;       // the matrices of a batch lie anywhere: ListedGemmArguments
  EpilogueFacts epilogue{};

  constexpr bool operator==(const GemmKind&) const = default;

  constexpr int operand_bytes() const { return element_bytes(a); }
  constexpr bool integer() const { return a == DType::i8; }
  constexpr bool by_tma() const { return a_producer == Producer::tma && b_producer == Producer::tma; }
  // Where the copy engine reads and writes, copies of 16 bytes do too.
  constexpr GemmKind without_tma() const {
    GemmKind kind = *this;
    if (a_producer == Producer::tma) kind.a_producer = Producer::copies16;
    if (b_producer == Producer::tma) kind.b_producer = Producer::copies16;
    return kind;
  }
  // Columns leave whole in 16-bit types only.
  constexpr bool store_by_threads() const { return d_scattered || (d_columns && element_bytes(d) != 2); }
  // Registers of a thread that finishes sums; found by compiling the largest tiles with each part.
  constexpr int finish_registers() const {
    const EpilogueFacts& e = epilogue;
    const bool function = e.activation != Activation::none && e.activation != Activation::relu;
    const bool wide = element_bytes(d) == 1 && !e.none();  // twice as many values are made at a time
    const int parts = 4 * (store_by_threads() || wide) + 3 * e.residual + e.row_scale + e.column_scale + e.row_bias +
                      e.column_bias + function + (e.amax || e.d_scale);
    return 8 * (parts < 8 ? parts : 8);
  }
  // The same product the other way round: D^T = B^T A^T.
  constexpr GemmKind transposed() const {
    GemmKind kind = *this;
    kind.a = b, kind.b = a;
    kind.a_major = b_major, kind.b_major = a_major;
    kind.a_producer = b_producer, kind.b_producer = a_producer;
    kind.d_columns = !d_columns;
    kind.epilogue = epilogue.transposed();
    return kind;
  }
};

// The tensor cores' instruction, and with it what surrounds it.
enum class TensorInstruction : unsigned char {
  wgmma,  // sm_90a: a warpgroup's, on shared memory; with the copy engine, clusters and registers that move
  mma,    // sm_80 and everything newer: a warp's, on registers; threads copy
};

// Who loads and who multiplies.
enum class Pipelining : unsigned char {
  multistage,   // every warp does both: loads are issued a few stages ahead of the products
  cooperative,  // one warpgroup loads, the others share each tile by rows
  pingpong,     // one warpgroup loads, two take turns at whole tiles: one stores while the other multiplies
};

struct GemmPlan {
  GemmKind kind{};  // of the kernel: after the exchange where `exchange` is set
  TensorInstruction instruction = TensorInstruction::wgmma;
  Pipelining pipelining = Pipelining::cooperative;
  TileShape tile{128, 256};
  int stages = 4;
  ClusterShape cluster{2, 1};  // blocks above each other share B, side by side A, behind each other (k) the tile
  int multiply_groups = 2;     // warpgroups
  bool split = false;          // clusters may share tiles along k, through the workspace (WorkSchedule)
  // The host's business, no part of what is compiled:
  int pieces = 0;         // of k that a shared tile is cut into, for so many clusters; 0: all clusters share evenly
  bool exchange = false;  // A and B change places, so that a long n becomes the tile's rows
  int band = 0;           // tile rows walked together; 0: as many as make the least traffic

  constexpr bool operator==(const GemmPlan&) const = default;

  static constexpr int group_threads = 128;     // a warpgroup
  static constexpr int register_limit = 65536;  // a multiprocessor has
  static constexpr int row_bytes = 128;         // of a stage, along k: one swizzle span
  static constexpr int barrier_bytes = 1024;    // what the ring's barriers may take, rounded up

  constexpr bool wgmma() const { return instruction == TensorInstruction::wgmma; }
  // Bytes that a block may have, on an H200 and on an A100. A multiprocessor has 1024 more, and takes 1024 for each
  // block.
  constexpr int shared_limit() const { return wgmma() ? 232448 : 166912; }

  constexpr bool load_group() const { return pipelining != Pipelining::multistage; }
  constexpr int threads() const { return group_threads * (load_group() + multiply_groups); }
  constexpr int producer_threads() const { return load_group() ? group_threads : threads(); }
  constexpr int cluster_size() const { return cluster.m * cluster.n * cluster.k; }
  constexpr bool multicasts() const { return cluster.m * cluster.n > 1; }
  // Rows of the tile that one multiply group has.
  constexpr int group_rows() const { return pipelining == Pipelining::pingpong ? tile.m : tile.m / multiply_groups; }

  constexpr int tile_k() const { return row_bytes / kind.operand_bytes(); }
  // An MN-major operand lies in spans of one swizzle width along m or n, each with a row for every k, unless it is
  // transposed on the way.
  constexpr bool a_spans() const { return kind.a_major == Major::mn && kind.a_producer != Producer::elements; }
  constexpr bool b_spans() const { return kind.b_major == Major::mn && kind.b_producer != Producer::elements; }
  constexpr int span_count(int extent) const { return (extent + tile_k() - 1) / tile_k(); }
  constexpr int span_columns(int extent) const { return extent < tile_k() ? extent : tile_k(); }
  // Shared memory of an operand's stage, and the bytes that the copy engine brings into it.
  constexpr int stage_part(bool spans, int extent) const {
    return spans ? span_count(extent) * tile_k() * row_bytes : extent * row_bytes;
  }
  constexpr int copied_part(bool spans, int extent) const {
    return spans ? span_count(extent) * tile_k() * span_columns(extent) * kind.operand_bytes() : extent * row_bytes;
  }
  constexpr int a_bytes() const { return stage_part(a_spans(), tile.m); }
  constexpr int b_bytes() const { return stage_part(b_spans(), tile.n); }
  constexpr int stage_bytes() const { return a_bytes() + b_bytes(); }
  constexpr int copied_bytes() const { return copied_part(a_spans(), tile.m) + copied_part(b_spans(), tile.n); }

  // The tile leaves in strips: 64 rows of D by one swizzle span of columns, or where D's columns are contiguous, by up
  // to 64 of them. The last strip of a tile may be narrower.
  constexpr int d_bytes() const { return element_bytes(kind.d); }
  constexpr int strip_columns() const { return kind.d_columns ? (tile.n < 64 ? tile.n : 64) : row_bytes / d_bytes(); }
  constexpr int strips() const { return (tile.n + strip_columns() - 1) / strip_columns(); }
  constexpr int last_strip_columns() const { return tile.n - (strips() - 1) * strip_columns(); }
  constexpr int strip_bytes() const { return (kind.d_columns ? strip_columns() : 64) * row_bytes; }
  // Output strips that a multiply group has in flight: the copy engine stores one while the next is made.
  constexpr int out_buffers() const { return wgmma() && multiply_groups < 3 ? 2 : 1; }
  constexpr int out_bytes() const {
    return kind.store_by_threads() ? 0 : strip_bytes() * out_buffers() * multiply_groups;
  }
  // The sums that the other blocks of a cluster along k send to the first.
  constexpr int cluster_sum_bytes() const { return (cluster.k - 1) * tile.m * tile.n * 4; }
  constexpr int shared_bytes() const {
    return stages * stage_bytes() + out_bytes() + cluster_sum_bytes() + barrier_bytes;
  }

  // Registers a thread. A single multiply group needs none moved: 256 threads may have 255 each.
  constexpr bool moves_registers() const { return load_group() && multiply_groups > 1; }
  constexpr int load_registers() const { return multiply_groups == 3 ? 32 : kind.by_tma() ? 40 : 56; }
  constexpr int multiply_registers() const { return multiply_groups == 3 ? 160 : kind.by_tma() ? 232 : 224; }
  constexpr int registers() const {
    return moves_registers() ? group_threads * (load_registers() + multiply_groups * multiply_registers())
                             : threads() * register_share();
  }
  constexpr int register_share() const {
    const int share = register_limit / (threads() * blocks_each()) / 8 * 8;
    return share < 255 ? share : 255;
  }
  // A block small enough for two on a multiprocessor: the next kernel's can come while ours still run, and with mma,
  // four warps alone would not fill the tensor cores. Half the registers must do for the sums and any epilogue.
  constexpr int blocks_each() const {
    const bool small = wgmma() ? !moves_registers() && threads() * 2 <= 1024 && accumulator_registers() <= 56
                               : threads() == group_threads;
    return small && 2 * (shared_bytes() + 1024) <= shared_limit() + 1024 ? 2 : 1;
  }
  // Sums a multiply thread holds, and with promotion the tensor cores' own beside them.
  constexpr int accumulator_registers() const { return group_rows() * tile.n / group_threads * (kind.promote ? 2 : 1); }
  // What a multiply thread has left beside its sums.
  constexpr int spare_registers() const {
    return (moves_registers() ? multiply_registers() : register_share()) - accumulator_registers();
  }
  constexpr int least_spare() const { return wgmma() ? 40 : 100; }  // addresses; operands of mma
  // Whether the epilogue fits beside the sums too: a plan without that room is right, but spills.
  constexpr bool has_room() const { return !wgmma() || spare_registers() >= least_spare() + kind.finish_registers(); }
  // One block's sums of a tile in the workspace of a split plan, each with its mark.
  constexpr int partial_bytes() const { return tile.m * tile.n * 8; }

  // What is wrong with the plan, or nullptr.
  constexpr const char* problem() const {
    // First what would make the arithmetic below overflow.
    if (cluster.m < 1 || cluster.n < 1 || cluster.k < 1 || cluster.m > 4 || cluster.n > 4 || cluster.k > 4)
      return "a cluster has 1 to 4 blocks";
    if (tile.m < 1 || tile.m > 384) return "tile.m must give each multiply group 64 or 128 rows";
    if (stages > 64) return "the ring has at most 64 stages";
    if (multiply_groups < 1 || multiply_groups > 3) return "there are 1 to 3 multiply groups";
    if (pipelining == Pipelining::pingpong) {
      if (multiply_groups != 2) return "ping-pong takes two multiply groups";
      if (split) return "ping-pong groups have whole tiles: no split";
    }
    if (group_rows() != 64 && group_rows() != 128) return "tile.m must give each multiply group 64 or 128 rows";
    if (pipelining != Pipelining::pingpong && tile.m % multiply_groups) return "the groups' rows must be equal";
    if (tile.n < 16 || tile.n > 256 || tile.n % 16) return "tile.n must be a multiple of 16 up to 256";
    if (cluster_size() > 4) return "a cluster has 1 to 4 blocks";
    if (cluster.k > 1 && (multicasts() || split || pipelining != Pipelining::cooperative))
      return "blocks that share tiles along k are cooperative, share no operands, and have whole tiles among them";
    if (!kind.by_tma() && multicasts()) return "only the copy engine brings data to a whole cluster";
    if (pipelining == Pipelining::multistage && (cluster_size() > 1 || kind.promote))
      return "the multistage kernels have no clusters and no promotion";
    if (wgmma() && pipelining == Pipelining::multistage && !kind.by_tma())
      return "the multistage kernel of Hopper has no producer but the copy engine";
    if (!wgmma()) {
      if (pipelining != Pipelining::multistage) return "mma plans are multistage: every warp loads and multiplies";
      if (kind.a_producer == Producer::tma || kind.b_producer == Producer::tma)
        return "mma plans have no copy engine: threads bring the operands";
      if (small_float(kind.a) || small_float(kind.b) || small_float(kind.d))
        return "mma plans are for sm_80, which has no 8-bit floats";
    }
    if ((!a_spans() && tile.m / cluster.n % 8) || (!b_spans() && tile.n / cluster.m % 8))
      return "a block's share of a multicast tile must be a multiple of 8 rows: one swizzle atom";
    if ((kind.a_producer == Producer::tma) != (kind.b_producer == Producer::tma))
      return "both operands come by the copy engine, or both by threads";
    if (kind.operand_bytes() != 2 && (a_spans() || b_spans()))
      return "tensor cores read MN-major operands of 16 bits only; others are transposed by the producer's threads";
    if (wgmma() && !kind.by_tma() && (a_spans() || b_spans()))
      return "threads that produce for wgmma transpose an MN-major operand, element by element";
    if (kind.promote && kind.operand_bytes() != 1) return "promotion is for 8-bit floats";
    if (pieces < 0 || (pieces > 0 && !split)) return "only tiles of a split plan are cut into pieces";
    if (wgmma() && tile.n / 2 + 32 > register_share())
      return "a product of so many columns takes more registers than each of so many threads begins with";
    if (stages < 2) return "a ring needs 2 stages at least";
    if (cluster_sum_bytes() + 2 * stage_bytes() > shared_limit())
      return "the sums that a cluster's blocks send to the first leave too little shared memory: take a smaller tile "
             "or fewer blocks";
    if (shared_bytes() > shared_limit())
      return wgmma() ? "the stages and the output strips take more than 232448 bytes of shared memory"
                     : "the stages and the output strips take more than 166912 bytes of shared memory";
    if (registers() > register_limit) return "the roles take more than 65536 registers";
    if (spare_registers() < least_spare()) return "the sums leave a multiply thread too few registers";
    return nullptr;
  }
  constexpr bool valid() const { return problem() == nullptr; }

  // As many stages as fit, up to `most`; none fit an impossible tile, and problem() says why.
  constexpr GemmPlan with_most_stages(int most = 16) const {
    GemmPlan plan = *this;
    if (tile.m < 1 || tile.m > 384 || tile.n < 1 || tile.n > 256) return plan;
    plan.stages = (shared_limit() - barrier_bytes - out_bytes() - cluster_sum_bytes()) / stage_bytes();
    if (plan.stages > most) plan.stages = most;
    return plan;
  }
};

// A matrix as threads address it, in elements.
struct MatrixAddress {
  unsigned long long base;
  long long row_stride, column_stride, matrix_stride;
};

// What the kernels get.
struct GemmArguments {
  TensorMap a, b;            // boxes of one block's share of a stage; none where there is no copy engine
  TensorMap d, d_last;       // boxes of one strip, and of a tile's last one
  MatrixAddress a_at, b_at;  // A's rows along m, B's along n, columns along k: for producers by threads
  MatrixAddress d_at, c_at;
  unsigned long long row_scale, column_scale, row_bias, column_bias, amax, d_scale;  // addresses
  int row_scale_stride, column_scale_stride;                                         // 1, or 0: one for all
  float alpha, beta;
  unsigned m, n, k;
  unsigned long long a_policy, b_policy;  // what copies of A and B do to their lines in L2
  unsigned a_ahead, b_ahead;              // steps of each that are brought into L2 before the kernel ahead has ended
  unsigned long long partials;            // workspace of a split plan
  WorkSchedule work;

  // Which matrix of its operand a product of the batch takes, in strides from the base. One that all share has one
  // matrix in its map.
  constexpr unsigned a_matrix(unsigned product) const { return a_at.matrix_stride ? product : 0; }
  constexpr unsigned b_matrix(unsigned product) const { return b_at.matrix_stride ? product : 0; }
  constexpr unsigned c_matrix(unsigned product) const { return product; }
  constexpr unsigned d_matrix(unsigned product) const { return product; }
};

// Matrices that are not evenly apart: the base is the lowest address, the stride a power of two that divides them all,
// so that one tensor map reaches them all and each has a number.
struct MatrixNumbers {
  static constexpr int most = 256;  // products a launch
  unsigned a[most], b[most], c[most], d[most];
};
struct ListedGemmArguments : GemmArguments {
  MatrixNumbers numbers;

  constexpr unsigned a_matrix(unsigned product) const { return numbers.a[product]; }
  constexpr unsigned b_matrix(unsigned product) const { return numbers.b[product]; }
  constexpr unsigned c_matrix(unsigned product) const { return numbers.c[product]; }
  constexpr unsigned d_matrix(unsigned product) const { return numbers.d[product]; }
};

}  // namespace wm
