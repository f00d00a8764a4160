// A GEMM's plan: how one kernel cuts the work, and the arithmetic that follows. Plain C++, read by the host's planner,
// by `warpmill plan` and by the kernels themselves, so that all agree on every byte.
#pragma once

#include "warpmill/gemm/kind.h"
#include "warpmill/gemm/tile_shape.h"
#include "warpmill/pipeline/register_shares.h"
#include "warpmill/ptx/tcgen05_descriptor.h"
#include "warpmill/tensor_instruction.h"

namespace wm {

struct GemmPlan {
  GemmKind kind{};  // of the kernel: after the exchange where `exchange` is set
  TensorInstruction instruction = TensorInstruction::wgmma;
  Pipelining pipelining = Pipelining::cooperative;
  TileShape tile{128, 256};
  int stages = 4;
  ClusterShape cluster{2, 1};  // blocks above each other share B, side by side A, behind each other (k) the tile
  int multiply_groups = 2;     // warpgroups
  bool split = false;          // clusters may share tiles along k, through the workspace (WorkSchedule)
  bool spread = false;         // and then each finishes a part of its tile (spread_sums.cuh)
  bool pair = false;           // the cluster's two blocks multiply together (tcgen05): each brings half of B's rows
  bool claim = false;          // a cluster for each tile; those that run take over the others' tiles (tcgen05)
  // The host's business, no part of what is compiled:
  int pieces = 0;         // of k that a shared tile is cut into, for so many clusters; 0: all clusters share evenly
  bool exchange = false;  // A and B change places, so that a long n becomes the tile's rows
  int band = 0;           // tile rows walked together; 0: as many as make the least traffic

  // The fields that are compiled, and those that are not: each once, in one of the two.
  template <class Plan, class Visit>
  static constexpr void each_field(Plan& plan, Visit&& visit) {
    visit("kind", plan.kind);
    visit("instruction", plan.instruction);
    visit("pipelining", plan.pipelining);
    visit("tile", plan.tile);
    visit("stages", plan.stages);
    visit("cluster", plan.cluster);
    visit("multiply_groups", plan.multiply_groups);
    visit("split", plan.split);
    visit("spread", plan.spread);
    visit("pair", plan.pair);
    visit("claim", plan.claim);
  }
  template <class Plan, class Visit>
  static constexpr void each_host_field(Plan& plan, Visit&& visit) {
    visit("pieces", plan.pieces);
    visit("exchange", plan.exchange);
    visit("band", plan.band);
  }

  constexpr bool operator==(const GemmPlan&) const = default;

  static constexpr int group_threads = 128;     // a warpgroup
  static constexpr int register_limit = 65536;  // a multiprocessor has
  static constexpr int row_bytes = 128;         // of a stage, along k: one swizzle span
  static constexpr int barrier_bytes = 1024;    // what the ring's barriers may take, rounded up

  constexpr InstructionFacts facts() const { return facts_of(instruction); }
  constexpr int shared_limit() const { return facts().shared_limit; }
  // Who stores D: the copy engine, from strips in shared memory; threads, from such strips; or each thread its own
  // sums.
  constexpr bool stores_by_engine() const { return facts().copy_engine && !kind.store_by_threads(); }

  constexpr bool load_group() const { return pipelining != Pipelining::multistage; }
  constexpr int threads() const {
    return group_threads * (load_group() + multiply_groups) + (facts().tensor_memory ? 32 : 0);
  }
  constexpr int producer_threads() const { return load_group() ? group_threads : threads(); }
  constexpr int cluster_size() const { return cluster.m * cluster.n * cluster.k; }
  constexpr bool multicasts() const { return cluster.m * cluster.n > 1 && !pair; }
  // Rows of the tile that one multiply group has. Of sums in tensor memory each has strips of all rows.
  constexpr int group_rows() const {
    return pipelining == Pipelining::pingpong || facts().tensor_memory ? tile.m : tile.m / multiply_groups;
  }
  // Blocks that multiply together, rows of B in the stages of each, and the blocks that share them.
  constexpr int blocks_together() const { return pair ? 2 : 1; }
  constexpr int b_rows() const { return tile.n / blocks_together(); }
  constexpr int b_shares() const { return pair ? 1 : cluster.m; }

  // Whether the load thread may begin with an operand before the kernel ahead of it has ended (load_tiles.cuh).
  constexpr bool loads_early() const {
    return instruction == TensorInstruction::wgmma && load_group() && kind.by_tma() && !scatters();
  }

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
  constexpr int b_bytes() const { return stage_part(b_spans(), b_rows()); }
  constexpr int stage_bytes() const { return a_bytes() + b_bytes() + scale_bytes(); }
  constexpr int copied_bytes() const {
    return copied_operand(kind.a_format, a_spans(), tile.m) + copied_operand(kind.b_format, b_spans(), b_rows()) +
           scale_bytes();
  }
  // Of operands with block scales the packed bytes count, wherever they are spread to.
  constexpr int copied_operand(BlockFormat format, bool spans, int extent) const {
    return kind.scaled() && !kind.packed() ? copied_part(spans, extent) * wm::facts_of(format).bits / 8
                                           : copied_part(spans, extent);
  }
  // Blocks of scales along m or n that a tile touches: it has whole ones, or lies inside one.
  static constexpr int scale_rows(int extent) { return (extent + scale_block_rows - 1) / scale_block_rows; }
  constexpr int a_scale_bytes() const {
    return kind.scaled() ? scale_rows(tile.m) * kind.scale_blocks() * scale_block_bytes : 0;
  }
  constexpr int b_scale_bytes() const {
    return kind.scaled() ? scale_rows(tile.n) * kind.scale_blocks() * scale_block_bytes : 0;
  }
  constexpr int scale_bytes() const { return a_scale_bytes() + b_scale_bytes(); }
  // ClusterScaledGemmArguments.
  constexpr bool scales_by_map() const { return cluster_size() > 1 && kind.scaled(); }

  // Of the blocks that share an operand, those that bring a part of it to all: equal parts of whole swizzle atoms, 8
  // lines each.
  static constexpr int parts_of(int lines, int blocks) {
    while (blocks > 1 && lines % (8 * blocks)) --blocks;
    return blocks;
  }
  constexpr int a_parts() const { return parts_of(a_spans() ? tile_k() : tile.m, cluster.n); }
  constexpr int b_parts() const { return parts_of(b_spans() ? tile_k() : b_rows(), b_shares()); }

  // Tensor memory: the sums of a tile are stored while the next tile's are made, unless scales need the room.
  constexpr int accumulators() const { return kind.scaled() && tile.n > 128 ? 1 : 2; }
  // Scales of a stage, four columns to a block; behind the accumulators, a place for each stage.
  constexpr int scale_columns() const { return scale_bytes() / scale_block_bytes * 4; }
  // Columns of a block, of 512: accumulator i begins at column i * tile.n. They are allocated in powers of two.
  constexpr int used_columns() const { return accumulators() * tile.n + stages * scale_columns(); }
  constexpr int tensor_columns() const {
    int columns = 32;
    while (columns < used_columns()) columns *= 2;
    return columns;
  }
  // What the tensor cores are told.
  constexpr tcgen05::Product product() const {
    const auto operand = [](DType dtype) { return dtype == DType::f32 ? DType::tf32 : dtype; };
    return {.a = operand(kind.a),
            .b = operand(kind.b),
            .sums = kind.integer() ? DType::i32 : DType::f32,
            .a_major = a_spans() ? Major::mn : Major::k,
            .b_major = b_spans() ? Major::mn : Major::k,
            .m = tile.m * blocks_together(),
            .n = tile.n};
  }
  // The same with block scales; each product of a stage has its bytes of the scales.
  static constexpr tcgen05::Narrow narrow(BlockFormat format) {
    switch (format) {
      case BlockFormat::mxfp8_e4m3: return tcgen05::Narrow::e4m3;
      case BlockFormat::mxfp8_e5m2: return tcgen05::Narrow::e5m2;
      case BlockFormat::mxfp6_e2m3: return tcgen05::Narrow::e2m3;
      case BlockFormat::mxfp6_e3m2: return tcgen05::Narrow::e3m2;
      default: return tcgen05::Narrow::e2m1;
    }
  }
  constexpr tcgen05::ScaledProduct scaled_product(int step) const {
    const bool nv = kind.a_format == BlockFormat::nvfp4;
    const int byte = !kind.packed() ? step : nv ? 0 : step % 2 * 2;
    return {.kind = !kind.packed() ? tcgen05::ScaledKind::mxf8f6f4
                    : nv           ? tcgen05::ScaledKind::mxf4nvf4_by_16
                                   : tcgen05::ScaledKind::mxf4,
            .a = narrow(kind.a_format),
            .b = narrow(kind.b_format),
            .ue4m3 = nv,
            .a_major = kind.a_major,
            .b_major = kind.b_major,
            .m = tile.m * blocks_together(),
            .n = tile.n,
            .a_byte = byte,
            .b_byte = byte};
  }

  // The tile leaves in strips: 64 rows of D (from tensor memory, all of the tile's) by one swizzle span of columns, or
  // where D's columns are contiguous, by up to 64 of them. The last strip of a tile may be narrower.
  constexpr int strip_rows() const { return facts().tensor_memory ? tile.m : 64; }
  constexpr int d_bytes() const { return element_bytes(kind.d); }
  constexpr int strip_columns() const {
    return kind.d_columns ? (written_columns() < 64 ? written_columns() : 64) : row_bytes / d_bytes();
  }
  constexpr int strips() const { return (written_columns() + strip_columns() - 1) / strip_columns(); }
  constexpr int last_strip_columns() const { return written_columns() - (strips() - 1) * strip_columns(); }
  constexpr int strip_bytes() const {
    return (kind.d_columns ? strip_columns() * (strip_rows() / 64) : strip_rows()) * row_bytes;
  }
  // Output strips that a multiply group has in flight: the copy engine stores one while the next is made. A block that
  // stores a part of each tile has few; where operands stay in registers, stages are scarcer than time to store, and so
  // they are in the largest tiles.
  constexpr int out_buffers() const {
    return facts().reads_shared && multiply_groups < 3 && !scatters() && tile.m + tile.n <= 384 ? 2 : 1;
  }
  constexpr int out_bytes() const {
    return kind.store_by_threads() ? 0 : strip_bytes() * out_buffers() * multiply_groups;
  }
  // Blocks that share a large tile along k store a part of its columns each, from sums that they send each other to
  // where the stages were; of a small one, the first stores all.
  constexpr bool scatters() const { return cluster.k > 1 && tile.m >= 128; }
  // Columns of a tile that a block stores: where blocks store a part each, parts are equal, and the last blocks may
  // have none.
  constexpr int written_columns() const {
    if (!scatters()) return tile.n;
    int columns = 16;
    while (columns * cluster.k < tile.n || tile.n % columns) columns += 16;
    return columns;
  }
  // The sums that the other blocks of a cluster along k send to the first.
  constexpr int cluster_sum_bytes() const { return scatters() ? 0 : (cluster.k - 1) * tile.m * tile.n * 4; }
  constexpr int shared_bytes() const {
    return stages * stage_bytes() + out_bytes() + cluster_sum_bytes() + barrier_bytes;
  }

  // Registers a thread. A single multiply group needs none moved: 256 threads may have 255 each.
  constexpr bool moves_registers() const { return load_group() && multiply_groups > 1 && !facts().tensor_memory; }
  constexpr int load_registers() const { return multiply_groups == 3 ? 32 : kind.by_tma() ? 40 : 56; }
  constexpr int multiply_registers() const { return registers_beside(load_registers(), multiply_groups); }
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
    if (facts().tensor_memory) return 1;
    const bool small = facts().reads_shared
                           ? !moves_registers() && threads() * 2 <= 1024 && accumulator_registers() <= 56
                           : threads() == group_threads;
    return small && 2 * (shared_bytes() + 1024) <= shared_limit() + 1024 ? 2 : 1;
  }
  // Sums a multiply thread holds, and with promotion the tensor cores' own beside them; from tensor memory, 64 rows of
  // a strip at a time.
  constexpr int accumulator_registers() const {
    if (facts().tensor_memory) return 64 * strip_columns() / group_threads;
    return sum_registers() + (kind.promote ? promoted_together() * promoted_columns() / 2 : 0);
  }
  constexpr int sum_registers() const { return group_rows() * tile.n / group_threads; }
  // Of promoted sums, the columns of 64 rows that the tensor cores add at a time: all, or half where these leave too
  // few registers. Two such parts are in flight where there are registers for both, and enough columns: shared memory
  // gives few operands for narrow products.
  constexpr int promoted_together() const { return columns_of_two_parts() > 0 ? 2 : 1; }
  constexpr int promoted_columns() const {
    if (const int columns = columns_of_two_parts(); columns > 0) return columns;
    return holds_sums_and(tile.n / 2) || narrow() ? tile.n : tile.n / 2;
  }
  constexpr int columns_of_two_parts() const {
    constexpr int enough = 72;
    if (holds_sums_and(2 * (tile.n / 2))) return tile.n;
    return tile.n / 2 >= enough && holds_sums_and(2 * (tile.n / 4)) ? tile.n / 2 : 0;
  }
  // Of stages, those whose parts are multiplied one behind the other: eight parts in all, where two are in flight.
  constexpr int promoted_steps() const {
    const int parts = group_rows() / 64 * (tile.n / promoted_columns());
    return promoted_together() == 1 ? 1 : 8 / parts;
  }
  static constexpr int least_beside_parts = 16;  // found by compiling: there is nothing else in the loop of steps
  constexpr bool holds_sums_and(int registers) const {
    const int all = moves_registers() ? multiply_registers() : register_limit / threads() / 8 * 8;
    return (all < 255 ? all : 255) >= sum_registers() + registers + least_beside_parts;
  }
  // What a multiply thread has left beside its sums.
  constexpr int spare_registers() const {
    return (moves_registers() ? multiply_registers() : register_share()) - accumulator_registers();
  }
  // Whether the epilogue fits beside the sums too: a plan without that room is right, but spills. Where threads hold
  // operands, these have left before the epilogue begins.
  constexpr bool has_room() const {
    // Promoted parts have done when the epilogue begins. But where sums are scattered or spread others' have registers
    // too, and ptxas does not see that the parts have: found by compiling.
    constexpr int addresses = 8;  // of the parts' operands, which have gone
    const int given_back = !kind.promote ? 0
                           : scatters()  ? addresses - group_rows() * written_columns() / group_threads
                           : spread      ? 0
                                         : accumulator_registers() - sum_registers();
    return !facts().reads_shared || spare_registers() + given_back >= facts().least_spare + kind.finish_registers();
  }
  // One block's sums of a tile in the workspace of a split plan, each with its mark, or without.
  constexpr int partial_bytes() const { return tile.m * written_columns() * (spread ? 4 : 8); }
  // Of these, the values that a thread asks for at once; and of how many runs, where there are registers: their answers
  // take as long as those of one.
  constexpr int partial_chunk() const {
    const int values = 64 * written_columns() / group_threads;
    return values < 32 ? values : values % 32 == 0 ? 32 : 8;
  }
  constexpr int runs_together() const { return spare_registers() < 104 ? 1 : 32 / partial_chunk(); }
  // What the blocks of a cluster know of a tile that is spread: SpreadState for each multiply warp, whose word has a
  // bit for each piece.
  constexpr int spread_state_bytes() const { return cluster_size() * multiply_groups * (group_threads / 32) * 16; }
  static constexpr int most_spread_pieces = 56;

  // What is wrong with the plan, or nullptr.
  constexpr const char* problem() const {
    // First what would make the arithmetic below overflow.
    if (cluster.m < 1 || cluster.n < 1 || cluster.k < 1 || cluster.m > 8 || cluster.n > 8 || cluster.k > 16)
      return "a cluster has 1 to 8 blocks, or up to 16 that share tiles of 64 rows along k";
    if (tile.m < 1 || tile.m > 384) return "tile.m must give each multiply group 64 or 128 rows";
    if (const char* const why = column_problem()) return why;
    if (stages < 2) return "a ring needs 2 stages at least";
    if (stages > 64) return "the ring has at most 64 stages";
    if (multiply_groups < 1 || multiply_groups > 3) return "there are 1 to 3 multiply groups";
    if (pipelining == Pipelining::pingpong) {
      if (multiply_groups != 2) return "ping-pong takes two multiply groups";
      if (split) return "ping-pong groups have whole tiles: no split";
    }
    if (const char* const why = scale_problem()) return why;
    if (const char* const why = tensor_memory_problem()) return why;
    if (group_rows() != 64 && group_rows() != 128) return "tile.m must give each multiply group 64 or 128 rows";
    if (pipelining != Pipelining::pingpong && tile.m % multiply_groups) return "the groups' rows must be equal";
    if (cluster_size() > 8 && (cluster.k < cluster_size() || tile.m > 64))
      return "a cluster has 1 to 8 blocks, or up to 16 that share tiles of 64 rows along k";
    if (cluster.k > 1 && pipelining != Pipelining::cooperative)
      return "blocks that share tiles along k are cooperative";
    if (scatters() && stages * stage_bytes() < cluster.k * tile.m * written_columns() * 4)
      return "the sums that a cluster's blocks send each other do not fit where the stages were";
    if (!kind.by_tma() && multicasts()) return "only the copy engine brings data to a whole cluster";
    if (kind.by_tma() && !a_spans() && tile.m / a_parts() > 256)
      return "the copy engine brings at most 256 rows at a time: take fewer, or blocks side by side that share them";
    if (pipelining == Pipelining::multistage && (cluster_size() > 1 || kind.promote))
      return "the multistage kernels have no clusters and no promotion";
    if (facts().copy_engine && pipelining == Pipelining::multistage && !kind.by_tma())
      return "the multistage kernel of Hopper has no producer but the copy engine";
    if (instruction == TensorInstruction::mma_tma && (pipelining != Pipelining::cooperative || cluster_size() > 1))
      return "mma-tma plans are cooperative, and have no clusters";
    if (!facts().reads_shared && kind.promote) return "promotion is for the sums of wgmma";
    if (!facts().copy_engine) {
      if (pipelining != Pipelining::multistage) return "mma plans are multistage: every warp loads and multiplies";
      if (kind.a_producer == Producer::tma || kind.b_producer == Producer::tma)
        return "mma plans have no copy engine: threads bring the operands";
      if (small_float(kind.a) || small_float(kind.b) || small_float(kind.d))
        return "mma plans are for sm_80, which has no 8-bit floats";
    }
    if ((kind.a_producer == Producer::tma) != (kind.b_producer == Producer::tma))
      return "both operands come by the copy engine, or both by threads";
    if (kind.operand_bytes() != 2 && !kind.scaled() && (a_spans() || b_spans()))  // scale_problem() says which of those
      return "tensor cores read MN-major operands of 16 bits only; others are transposed by the producer's threads";
    if (facts().reads_shared && !kind.by_tma() && (a_spans() || b_spans()))
      return "threads that produce for wgmma transpose an MN-major operand, element by element";
    if (facts().reads_shared && kind.operand_bytes() == 4 && !kind.by_tma() && !kind.by_elements())
      return "threads that bring f32 into a tile that tensor cores read round it to tf32, element by element";
    if (kind.promote && kind.operand_bytes() != 1) return "promotion is for 8-bit floats";
    if (spread && (!split || cluster.k > 1 || narrow() || instruction != TensorInstruction::wgmma))
      return "tiles are spread by wgmma plans with split, 16 columns or more, and no other sharing along k";
    if (pieces < 0 || (pieces > 0 && !split)) return "only tiles of a split plan are cut into pieces";
    if (facts().reads_shared && !facts().tensor_memory && tile.n / 2 + 32 > register_share())
      return "a product of so many columns takes more registers than each of so many threads begins with";
    if (cluster_sum_bytes() + 2 * stage_bytes() > shared_limit())
      return "the sums that a cluster's blocks send to the first leave too little shared memory: take a smaller tile "
             "or fewer blocks";
    if (shared_bytes() > shared_limit())
      return facts().reads_shared  ? "the stages and the output strips take more than 232448 bytes of shared memory"
             : facts().copy_engine ? "the stages and the output strips take more than 101376 bytes of shared memory"
                                   : "the stages and the output strips take more than 166912 bytes of shared memory";
    if (registers() > register_limit / threads() / 8 * 8 * threads())
      return "the roles take more registers than the block is started with";
    const int scale_words =
        kind.scaled() && !facts().tensor_memory ? tile.n / 4 : 0;  // of B and A, and their addresses
    if (spare_registers() < (kind.promote ? least_beside_parts : facts().least_spare) + scale_words)
      return "the sums leave a multiply thread too few registers";
    return nullptr;
  }
  constexpr bool valid() const { return problem() == nullptr; }
  constexpr const char* tensor_memory_problem() const {
    if (!facts().tensor_memory)
      return pair    ? "only tcgen05 has products of two blocks"
             : claim ? "only tcgen05 plans take over tiles of clusters that have not started"
                     : nullptr;
    if (claim && !kind.by_tma()) return "tiles are claimed beside the copy engine: its warpgroup has a thread for it";
    if (pipelining != Pipelining::cooperative) return "tcgen05 plans are cooperative: tiles overlap in tensor memory";
    if (multiply_groups > 2) return "one or two groups store the sums of a tcgen05 plan";
    if (tile.m != 64 && tile.m != 128) return "a block's tile of a tcgen05 plan has 64 or 128 rows";
    if (split || cluster.k > 1) return "tcgen05 plans have whole tiles: no split, no blocks that share tiles along k";
    if (kind.promote) return "tcgen05 plans have no promotion";
    if (pair && (cluster.m != 2 || cluster.n != 1 || tile.m != 128 || !kind.by_tma()))
      return "two blocks that multiply together are a cluster of 2x1 with 128 rows each, whose operands come by the "
             "copy engine";
    if (kind.scaled()) return scaled_product(0).problem(blocks_together());
    return product().problem(blocks_together());
  }
  // The fewest columns, for operands that come along k by the copy engine.
  static constexpr int fewest_columns = 8;
  constexpr bool narrow() const { return tile.n == fewest_columns; }
  constexpr const char* column_problem() const {
    if (!narrow())
      return tile.n < 16 || tile.n > 256 || tile.n % 16 ? "tile.n must be 8, or a multiple of 16 up to 256" : nullptr;
    if (instruction != TensorInstruction::wgmma || !kind.by_tma() || kind.b_major != Major::k)
      return "tiles of 8 columns are for wgmma, and operands along k that the copy engine brings";
    if (scatters()) return "of tiles of 8 columns, blocks share those of 64 rows along k";
    if (!kind.store_by_threads() && !kind.d_columns && d_bytes() < 2)
      return "the copy engine stores 16 bytes at least, which 8 columns of 8-bit elements are not";
    return nullptr;
  }
  constexpr const char* scale_problem() const {
    if (!kind.scaled() && kind.b_format == BlockFormat::none) return nullptr;
    if (!kind.scaled() || kind.b_format == BlockFormat::none) return "both operands have block scales, or none";
    if (instruction != TensorInstruction::tcgen05 && instruction != TensorInstruction::mma_tma)
      return "block scales are for tcgen05 and mma-tma plans";
    if ((kind.a_format == BlockFormat::nvfp4) != (kind.b_format == BlockFormat::nvfp4))
      return "nvfp4 is multiplied by nvfp4";
    const auto byte = [](BlockFormat format) { return wm::facts_of(format).bits == 8; };
    if (instruction == TensorInstruction::mma_tma && !kind.packed() && !(byte(kind.a_format) && byte(kind.b_format)))
      return "mma-tma plans multiply mxfp8 by mxfp8, and 4-bit formats by themselves";
    const auto turned = [](BlockFormat format, Major major) { return major == Major::mn && !may_be_mn_major(format); };
    if (turned(kind.a_format, kind.a_major) || turned(kind.b_format, kind.b_major))
      return "elements of fewer than 8 bits lie along k";
    if ((kind.a_major == Major::mn || kind.b_major == Major::mn) && !facts().tensor_memory)
      return "mma-tma plans take operands with block scales along k";
    if (cluster_size() > 1 && !facts().tensor_memory) return "mma-tma plans with block scales have no clusters";
    const auto whole = [](int extent) { return extent % 128 == 0 || 128 % extent == 0; };
    if (!whole(tile.m) || !whole(tile.n) || tile.n < 32)
      return "with block scales a tile has whole blocks of 128 rows and columns of them, or lies inside one";
    if (facts().tensor_memory && (stages < 1 || used_columns() > 512))
      return "the sums and the scales of all stages take more than 512 columns of tensor memory";
    return nullptr;
  }

  // As many stages as fit, up to `most`; none fit an impossible tile, and problem() says why.
  constexpr GemmPlan with_most_stages(int most = 16) const {
    GemmPlan plan = *this;
    if (tile.m < 1 || tile.m > 384 || column_problem() || cluster.k < 1 || cluster.k > 16) return plan;
    plan.stages = (shared_limit() - barrier_bytes - out_bytes() - cluster_sum_bytes()) / stage_bytes();
    if (plan.stages > most) plan.stages = most;
    while (facts().tensor_memory && kind.scaled() && plan.stages > 2 && plan.used_columns() > 512) --plan.stages;
    return plan;
  }
};

}  // namespace wm
