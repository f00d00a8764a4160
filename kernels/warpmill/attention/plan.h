// An attention's plan: how one kernel cuts the work, and the arithmetic that follows. Plain C++, read by the host's
// planner, by `warpmill plan` and by the kernel itself, so that all agree on every byte.
#pragma once

#include "warpmill/attention/kind.h"
#include "warpmill/pipeline/register_shares.h"
#include "warpmill/tensor_instruction.h"

namespace wm {

// How a block comes to its next tile: from a counter that all ask; from a block that has not started, whose tile it
// takes over; or by itself, from its share: of as many tiles as there are blocks, one.
enum class TileSource : unsigned char { counter, claims, share };

struct AttentionPlan {
  AttentionKind kind{};
  int keys = 128;    // of one step
  int groups = 2;    // of queries: multiply warpgroups with 64 each, or two that take softmax, with 128
  int stages = 2;    // of K, and of V
  int q_stages = 1;  // of Q, for each group: with two the next tile's queries come while this one's are still needed
  // Strips of the output that a group has in flight. 0: they leave from where its Q was, and the next Q waits.
  int strips = 1;
  bool turns = true;  // groups queue their products one after the other
  // Queries of one head in a group's 64 rows, a power of two; the same queries of the next heads that share its keys
  // follow (packing.cuh). 0: the rows are one head's.
  int packed = 0;
  TensorInstruction instruction = TensorInstruction::wgmma;  // or tcgen05: scores and sums in tensor memory
  // Scores are weighed as soon as they are there, while their group's product with the values before still runs; the
  // weights take registers twice (wgmma).
  bool early = false;
  int fma_pairs = 0;                       // of 16 pairs of exponentials, those that the FMA units make (tcgen05)
  TileSource tiles = TileSource::counter;  // the others are tcgen05's; with claims there is a block for each tile
  // A tile has the queries of two blocks of a cluster. With wgmma each brings half of a step's keys and values to both;
  // with tcgen05 they multiply together: of a step each block has half of the keys, and half of the values' columns.
  bool pair = false;

  template <class Plan, class Visit>
  static constexpr void each_field(Plan& plan, Visit&& visit) {
    visit("kind", plan.kind);
    visit("keys", plan.keys);
    visit("groups", plan.groups);
    visit("stages", plan.stages);
    visit("q_stages", plan.q_stages);
    visit("strips", plan.strips);
    visit("turns", plan.turns);
    visit("packed", plan.packed);
    visit("instruction", plan.instruction);
    visit("early", plan.early);
    visit("fma_pairs", plan.fma_pairs);
    visit("tiles", plan.tiles);
    visit("pair", plan.pair);
  }
  constexpr bool operator==(const AttentionPlan&) const = default;

  static constexpr int group_threads = 128;  // a warpgroup
  static constexpr int wgmma_rows = 64, tensor_memory_rows = 128;
  static constexpr int register_limit = 65536;  // a multiprocessor has
  static constexpr int shared_limit = 232448;   // bytes of a block

  constexpr bool claims() const { return tiles == TileSource::claims; }
  // A counter answers one block of two, which tells the other.
  constexpr bool tells_tiles() const { return pair && tiles == TileSource::counter; }
  constexpr bool tensor_memory() const { return instruction == TensorInstruction::tcgen05; }
  // What barriers, the schedule and statistics may take, rounded up.
  constexpr int barrier_bytes() const { return tensor_memory() ? 3072 : orders_tiles() ? 2048 : 1024; }
  constexpr int group_rows() const { return tensor_memory() ? tensor_memory_rows : wgmma_rows; }  // queries of a group
  constexpr int blocks_together() const { return pair ? 2 : 1; }                                  // for a tile
  constexpr int blocks_multiplying() const { return pair && tensor_memory() ? 2 : 1; }            // one product
  constexpr int rows() const { return blocks_together() * groups * group_rows(); }                // of a tile
  constexpr int queries() const { return packed > 0 ? packed : rows(); }                          // of a tile
  constexpr int heads() const { return packed > 0 ? rows() / packed : 1; }                        // that it has them of
  // As the kernel is compiled: how many queries of a head are packed is the launch's to say, and most kernels are the
  // same whatever the cap.
  constexpr AttentionPlan compiled() const {
    AttentionPlan plan = *this;
    plan.packed = packed > 0;
    plan.kind.low_cap = grounded();
    return plan;
  }
  // Besides the groups: one that loads; or one that corrects and one with a warp for each smaller role.
  constexpr int threads() const { return group_threads * (groups + (tensor_memory() ? 2 : 1)); }
  // Warps that read which tile is next, and which steps it takes: of the groups, and those that transpose values, or
  // the one that loads where another chooses; or of the groups, of the one that corrects, and the one that multiplies.
  // Of tiles also the one that stores, and the one that clears tails.
  static constexpr int transposing_warps = 3;  // all of the load warpgroup but the first
  // Of values of 8 bits wgmma wants keys side by side; tcgen05 takes them as they come.
  constexpr bool transposes() const { return kind.narrow() && !tensor_memory(); }
  // Where no warp of the load warpgroup transposes, one clears tails, and one asks expressions which steps a tile
  // takes, a tile ahead of the one that loads, which is told as the groups are.
  static constexpr int tail_warp = 1, choosing_warp = 2;
  constexpr bool chooses_apart() const { return kind.expressions.of_steps() && !tensor_memory() && !transposes(); }
  // Parts of a tile's queries that it asks about, each by itself: the groups', or all at once.
  constexpr int asked_groups() const { return tensor_memory() ? 1 : groups; }
  constexpr int step_readers() const {
    return groups * 4 + (tensor_memory() ? 4 + 1 : transposes() ? transposing_warps : 0) + chooses_apart();
  }
  constexpr int tile_readers() const {
    return step_readers() + (tensor_memory() ? 1 + kind.has_tails() : !transposes() && kind.has_tails());
  }

  // A tile's last values and the next one's first keys are multiplied together, and the output leaves under these. With
  // heads of 128 that gains 1 to 5%; three groups have the next Q early anyway, and with wider values it gains nothing.
  constexpr bool joins_tiles() const { return groups == 2 && strips > 0 && kind.value_dim <= 128 && !tensor_memory(); }

  // Tiles are begun by falling cost where expressions say which steps they take, if there are no more of all batches
  // than this.
  static constexpr unsigned most_ordered_tiles = 256;
  constexpr bool orders_tiles() const { return kind.expressions.skip && !tensor_memory() && !kind.has_tails(); }

  // Shared memory: the groups' Q, stages of K and V, and strips of the output.
  // The copy engine fills whole swizzle widths and leaves zeros where a head has ended; products go to the next 32
  // bytes along k, and to the next 16 columns of the output.
  static constexpr int rounded(int size, int to) { return (size + to - 1) / to * to; }
  static constexpr int width_bytes = 128;  // of the swizzle
  constexpr int element_bytes() const { return kind.narrow() ? 1 : 2; }
  constexpr int width_columns() const { return width_bytes / element_bytes(); }
  constexpr int product_columns() const { return 32 / element_bytes(); }  // of k, in one instruction
  constexpr int head_columns() const { return rounded(kind.head_dim, product_columns()); }
  constexpr int value_columns() const { return rounded(kind.value_dim, 16 * blocks_multiplying()); }
  // Of K and V, what a block has in its stages.
  constexpr int block_keys() const { return keys / blocks_multiplying(); }
  constexpr int block_values() const { return value_columns() / blocks_multiplying(); }
  // Keys of one copy: of two blocks each asks for its half, of values only where each then brings it to both.
  constexpr int copied_keys() const { return keys / blocks_together(); }
  constexpr int copied_value_keys() const { return keys / blocks_together() * blocks_multiplying(); }
  constexpr int head_bytes() const { return rounded(kind.head_dim * element_bytes(), width_bytes); }
  constexpr int value_bytes() const { return rounded(block_values() * element_bytes(), width_bytes); }
  constexpr int q_bytes() const { return group_rows() * head_bytes(); }  // of one group
  constexpr int k_bytes() const { return block_keys() * head_bytes(); }
  constexpr int v_bytes() const { return keys * value_bytes(); }
  // Values of 8 bits once more, transposed: a row for each element of a head, in swizzle widths of keys.
  constexpr int transposed_bytes() const { return transposes() ? value_columns() * rounded(keys, width_bytes) : 0; }
  constexpr int strip_columns() const { return kind.out_element() == DType::e4m3 ? 128 : 64; }  // one swizzle width
  constexpr int out_rows() const { return tensor_memory() ? group_rows() : 16; }                // that leave together
  constexpr int strip_bytes() const { return group_rows() * width_bytes; }
  constexpr int strips_of_tile() const { return rounded(kind.value_dim, strip_columns()) / strip_columns(); }
  constexpr int shared_bytes() const {
    return groups * (q_stages * q_bytes() + strips * strip_bytes()) +
           stages * (k_bytes() + v_bytes() + transposed_bytes()) + rounded(bias_bytes() + barrier_bytes(), 1024);
  }

  // Tensor memory: the scores of both groups, then their sums of values, 128 columns each. Weights lie over the scores
  // that they are made of, two in a cell, or four of 8 bits.
  static constexpr int tensor_columns = 512, most_tensor_keys = 128, most_tensor_values = 128;
  constexpr int scores_column(int group) const { return group * most_tensor_keys; }
  constexpr int sums_column(int group) const { return groups * most_tensor_keys + group * most_tensor_values; }
  // Keys whose weights are multiplied first, while the others are still made.
  constexpr int first_weights() const { return keys > 32 ? keys * 3 / 4 / 32 * 32 : keys; }
  // Scores that a thread has registers for, found by compiling.
  constexpr int most_keys() const {
    if (kind.expressions.any()) return 64;
    return kind.alibi != Alibi::none && (kind.softcap || (pair && kind.mask.left)) ? 96 : most_tensor_keys;
  }
  // Registers of a thread: of those that take softmax, that correct, and of the smaller roles.
  static constexpr int softmax_registers = 176, correction_registers = 80, service_registers = 80;

  // Registers of a thread. What the roles take together is at most what the block was started with: an equal share for
  // each thread, in eights. More, and the last to ask waits for ever.
  constexpr bool moves_registers() const { return groups > 1; }
  constexpr int load_registers() const {
    if (kind.expressions.of_steps() && !chooses_apart()) return groups == 3 ? 56 : kind.value_dim > 192 ? 40 : 48;
    return groups == 3 ? 32 : 40;
  }
  constexpr int multiply_registers() const {
    return moves_registers() ? registers_beside(load_registers(), groups) : 255;
  }
  constexpr int registers() const {
    if (tensor_memory()) return group_threads * (groups * softmax_registers + correction_registers + service_registers);
    return group_threads * (load_registers() + groups * multiply_registers());
  }
  constexpr int registers_at_start() const { return register_limit / threads() / 8 * 8 * threads(); }
  // Scores, their rounded weights, and the output's sums.
  constexpr int held_registers() const {
    return keys / 2 + keys * element_bytes() / 8 * (early ? 2 : 1) + value_columns() / 2;
  }
  // What a multiply thread needs besides, found by compiling.
  constexpr bool changes_scores() const { return kind.alibi != Alibi::none || kind.expressions.any(); }
  // Weights are powers of capped scores as they are, not less a base (capped_softmax.cuh). Of bf16, whose exponents are
  // those of f32.
  constexpr bool grounded() const {
    return kind.low_cap && kind.element == DType::bf16 && !changes_scores() && !tensor_memory();
  }
  // Expressions that say only what is seen, of sequences of one length: they need the fewest registers.
  constexpr bool masks_only() const {
    return kind.expressions.any() && !kind.expressions.score && kind.alibi == Alibi::none && !kind.softcap &&
           !kind.narrow() && !kind.has_tails() && !kind.mask.left;
  }
  constexpr int other_registers() const {
    if (!moves_registers()) return others_of_a_lone_group();
    if (bias_by_product()) {
      if (kind.value_dim > 192) return kind.mask.left ? 60 : 48;
      if (kind.mask.left && kind.has_tails()) return 52;
      if (groups < 3) return strips == 0 ? 56 : 40;
      return kind.mask.left && kind.alibi == Alibi::both_sides ? 48 : 32;
    }
    if (!changes_scores()) {
      if (!kind.narrow())
        return kind.value_dim > 192 && kind.has_tails() && (kind.softcap || !kind.mask.right) ? 48 : 28;
      if (groups == 3 && kind.mask.left && kind.has_tails()) return 56;
      return kind.mask.left || kind.has_tails() || kind.softcap ? 40 : 32;
    }
    if (masks_only()) {
      if (kind.value_dim > 192) return kind.sinks ? 48 : 44;
      return groups < 3 ? 36 : kind.value_dim > 96 ? 48 : 32;
    }
    if (kind.value_dim > 192) return 60;
    if (!kind.expressions.any()) return 40;
    return groups < 3 ? 52 : kind.mask.right ? 56 : 48;
  }
  // A group alone has up to 255, and what it holds may be more: it spills sooner.
  constexpr int others_of_a_lone_group() const {
    if (bias_by_product()) return kind.value_dim > 192 && kind.has_tails() ? 72 : 64;
    if (!changes_scores()) {
      // Holding 200 it spills, with sequences 192, with two of ends to look for, a softcap and a window 188.
      if (kind.has_tails() + kind.softcap + kind.mask.left > 1) return 72;
      return kind.sequences ? 64 : 56;
    }
    if (masks_only()) return kind.value_dim > 192 ? 72 : 56;
    const bool score_of_ends = kind.expressions.score && kind.sequences;
    if (kind.value_dim > 192) {
      if (kind.narrow() && kind.expressions.of_steps() && keys > 64) return 92;
      return score_of_ends ? 84 : 68;
    }
    if (kind.value_dim > 128 && (score_of_ends || (kind.expressions.score && kind.narrow()))) return 108;
    if (!kind.expressions.any()) return kind.sequences ? 80 : 40;
    return 52;
  }

  // Where ALiBi has keys on both sides of a query, a tile begins where scores are largest, at the keys opposite its
  // last query, and takes those behind them last: from the last to the first, as elsewhere, scores would rise with most
  // steps.
  constexpr bool begins_at_diagonal() const {
    return kind.alibi == Alibi::both_sides && !kind.expressions.of_steps() && !tensor_memory();
  }

  // ALiBi's line along the keys of a step comes with the product that makes the scores (alibi.cuh). Not where a softcap
  // changes scores before the bias is added, where expressions choose steps (which one comes is known only after its
  // product is asked for), or in e4m3, whose products keep too few bits.
  constexpr bool bias_by_product() const {
    return kind.alibi != Alibi::none && !tensor_memory() && !kind.narrow() && !kind.softcap && !kind.expressions.any();
  }
  constexpr int key_sides() const { return kind.alibi == Alibi::both_sides ? 3 : 1; }
  constexpr int bias_bytes() const { return bias_by_product() ? keys * 16 + groups * (key_sides() + 1) * 128 : 0; }

  // What is wrong with the plan, or nullptr.
  constexpr const char* problem() const {
    if (tensor_memory()) return tensor_memory_problem();
    if (instruction != TensorInstruction::wgmma) return "attention multiplies with wgmma or tcgen05";
    if (fma_pairs != 0) return "the FMA units make no exponentials on sm_90a";
    if (tiles != TileSource::counter) return "blocks on sm_90a ask a counter for their tiles";
    if (pair && (kind.has_tails() || kind.expressions.of_steps() || packed > 0))
      return "blocks that bring each other keys take the same steps: sequences of one length, rows of one head, and no "
             "expressions of steps";
    if (groups < 1 || groups > 3) return "there are 1 to 3 multiply groups";
    if (keys < 16 || keys > 256 || keys % 16) return "a step has 16 to 256 keys, a multiple of 16";
    if (kind.expressions.of_steps() && keys < 32)
      return "steps that expressions choose have 32 keys at least: their numbers have 25 bits";
    if (keys % product_columns()) return "a step has a multiple of 32 keys where elements have 8 bits";
    if (stages < 2 || stages > 8) return "K and V have 2 to 8 stages each";
    if (q_stages < 1 || q_stages > 2) return "Q has 1 or 2 stages";
    if (q_stages > 1 && strips == 0) return "the output leaves from where Q was: then Q has one stage";
    if (strips < 0 || strips > 4) return "a group has 0 to 4 strips of the output in flight";
    if (kind.head_dim < 8 || kind.head_dim > 256 || kind.head_dim % 8) return "a head dim is 8 to 256, a multiple of 8";
    if (kind.value_dim < 8 || kind.value_dim > 256 || kind.value_dim % 8)
      return "a value dim is 8 to 256, a multiple of 8";
    if (strips == 0 && (kind.narrow() || value_bytes() > head_bytes()))
      return "the output does not fit where Q was: strips is 1 at least";
    if (shared_bytes() > shared_limit) return "Q, K, V and the output take more than 232448 bytes of shared memory";
    if (moves_registers() && registers() > registers_at_start())
      return "the roles take more registers than the block is started with";
    if (const char* const words = kind_problem()) return words;
    if (changes_scores() && !bias_by_product() && !masks_only() && kind.value_dim > 192 && strips != 1)
      return "with a score of the caller's own, or ALiBi and a softcap, and values of more than 192 there are "
             "registers for one strip";
    if (held_registers() + other_registers() > multiply_registers())
      return "scores and sums leave a multiply thread too few registers";
    return nullptr;
  }
  constexpr const char* kind_problem() const {
    if (kind.element != DType::bf16 && kind.element != DType::f16 && kind.element != DType::e4m3)
      return "elements are bf16, f16 or e4m3";
    if (early && (tensor_memory() || changes_scores())) return "early is for wgmma, without ALiBi or expressions";
    if (kind.narrow() && (kind.head_dim % 16 || kind.value_dim % 16)) return "dims in e4m3 are multiples of 16";
    if (kind.out != DType::bf16 && (!kind.narrow() || (kind.out != DType::f16 && kind.out != DType::e4m3)))
      return "the output of e4m3 is bf16, f16 or e4m3; any other has its operands' type";
    if (kind.mask.left && !kind.mask.right) return "a mask with a limit to the left has one to the right";
    if (kind.expressions.score && kind.alibi != Alibi::none)
      return "ALiBi and an expression of the score exclude each other";
    if (kind.expressions.of_steps() && !kind.expressions.mask) return "expressions of steps go with one of the mask";
    if (packed < 0 || packed > 32 || (packed & (packed - 1)))
      return "packed rows have 1, 2, 4, 8, 16 or 32 queries of each head";
    if (packed > 0 && (kind.sequences || changes_scores()))
      return "rows are not packed with sequences, ALiBi or expressions";
    if (kind.expressions.skip && kind.lengths) return "steps of different numbers of keys are not skipped";
    if (kind.sequences && kind.lengths) return "sequences have offsets or lengths, not both";
    if (kind.expressions.skip && kind.sequences) return "steps of sequences of different lengths are not skipped";
    return nullptr;
  }
  constexpr const char* tensor_memory_problem() const {
    if (groups != 2) return "on sm_100a each block has two groups of 128 queries of a tile";
    if (q_stages != 1) return "on sm_100a Q has one stage";
    if (keys < 32 || keys > most_tensor_keys || keys % 32) return "on sm_100a a step has 32, 64, 96 or 128 keys";
    if (keys > most_keys())
      return "on sm_100a a step has 96 keys at most with ALiBi and a softcap, or a window in pairs of blocks, 64 with "
             "expressions: there are registers for no more";
    if (stages < 1 || stages > 8) return "on sm_100a K and V have 1 to 8 stages each";
    if (strips < 1 || strips > strips_of_tile())
      return "on sm_100a a group has one strip of the output at least, and at most as many as its output has";
    if (claims() && kind.sequences)
      return "tiles of sequences are not claimed: only the device knows how many there are";
    if (pair && tiles == TileSource::counter)
      return "two blocks that multiply together take their tiles in shares, or claim them: a counter answers one of "
             "them";
    if (fma_pairs < 0 || fma_pairs > 12) return "the FMA units make 0 to 12 of 16 pairs of exponentials";
    if (kind.head_dim < 8 || kind.head_dim > 256 || kind.head_dim % 8) return "a head dim is 8 to 256, a multiple of 8";
    if (kind.value_dim < 8 || kind.value_dim > most_tensor_values || kind.value_dim % 8)
      return "on sm_100a a value dim is 8 to 128, a multiple of 8: two tiles' sums of more do not fit tensor memory "
             "beside their scores";
    if (shared_bytes() > shared_limit) return "Q, K, V and the output take more than 232448 bytes of shared memory";
    return kind_problem();
  }
  constexpr bool valid() const { return problem() == nullptr; }
};

}  // namespace wm
