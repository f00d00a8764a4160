// The constants of the GEMM ranking's arithmetic with wgmma, fitted to measured pairs of shapes and plans
// (docs/gemm.md). Times are microseconds, clocks those of 1.755 GHz.
#pragma once

namespace wm::plan {

struct GemmModel {
  // From the launch to the first product and from the last one to the end; more where blocks form clusters.
  double start = 1.385, cluster_start = 0.556;
  // Clocks of one wgmma of 64 rows: half of its columns, or what reading both operands from shared memory takes.
  double operand_clocks = 28.3, column_clocks = 0.338;
  // What the products of each way of pipelining take, over that.
  double one_group = 0.871, two_groups = 0.849, two_tall_groups = 0.8, three_groups = 0.919;
  double turns_of_64 = 1.143, turns_of_128 = 0.828;
  double lone_step = 0.0086;  // more for each step of a block with one group
  // A stage's way from L2: `latency` for all stages but one, or its bytes' share of what L2 gives to all (TB/s).
  double latency = 0.4525, l2_rate = 17.58;
  double split_lines = 1.06;                           // of operands whose rows begin within 128-byte lines
  double multicast_step = 1.094, shared_step = 1.134;  // of steps and of their bytes, in clusters of either kind
  double step_exponent = 1.25;   // how products and their bytes hide behind each other: 1 not at all, large wholly
  double whole_exponent = 3.14;  // and the blocks' work and device memory
  // A tile besides its steps: its strips of 64 columns stored, under the next tile's products where groups take turns.
  double tile = 0.005, strip = 0.331, turns_tile = 0.153, turns_strip = 0.002, last_strip = 0.202;
  // Tiles shared along k by the blocks of a cluster: where all multiprocessors do, and its sums (GB/s).
  double cluster_share = 0.744, cluster_sum_rate = 59.1;
  // Tiles shared through the workspace: each piece of a tile in turn, its sums (GB/s), and all sums together (TB/s).
  double share = 0.307, piece = 0.569, piece_rate = 84.4, share_rate = 1.63;
  // Device memory (TB/s), less where few multiprocessors ask. Blocks that share tiles are at different places of k, so
  // what does not fit `kept` (MB) of L2 comes again for each.
  double memory_rate = 4.5, memory_idle = 0.06, kept = 75.8;
};

}  // namespace wm::plan
