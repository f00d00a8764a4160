// The constants of the GEMM ranking's arithmetic with wgmma, fitted to measured pairs of shapes and plans
// (docs/gemm.md, `warpmill calibrate gemm`). These are an H200's for operands of 16 bits; the table of measured plans
// has those of other sizes and of other chips. Times are microseconds, clocks those of 1.755 GHz.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

namespace wm::plan {

struct GemmTrees;

struct GemmModel {
  // From the launch to the first product and from the last one to the end; more where blocks form clusters.
  double start = 1.483, cluster_start = 0.4798;
  // Clocks of one wgmma of 64 rows: half of its columns, or what reading both operands from shared memory takes.
  double operand_clocks = 27.91, column_clocks = 0.287;
  // What the products of each way of pipelining take, over that.
  double one_group = 0.8715, two_groups = 0.8435, two_tall_groups = 0.8623, three_groups = 0.8936;
  double turns_of_64 = 0.9738, turns_of_128 = 0.8609;
  double lone_step = 0.0101;  // more for each step of a block with one group
  // A stage's way from L2: `latency` for all stages but one, or its bytes' share of what L2 gives to all (TB/s).
  double latency = 0.4176, l2_rate = 16.49;
  double split_lines = 0.9824;                         // of operands whose rows begin within 128-byte lines
  double multicast_step = 1.086, shared_step = 1.125;  // of steps and of their bytes, in clusters of either kind
  double step_exponent = 1.297;   // how products and their bytes hide behind each other: 1 not at all, large wholly
  double whole_exponent = 2.307;  // and the blocks' work and device memory
  // A tile besides its steps: its strips of 64 columns stored, under the next tile's products where groups take turns.
  double tile = 0.001667, strip = 0.391, turns_tile = 0.2075, turns_strip = 0.0006667, last_strip = 0.1818;
  // Tiles shared along k by the blocks of a cluster: where all multiprocessors do, and its sums (GB/s).
  double cluster_share = 0.7784, cluster_sum_rate = 59.68;
  double scattered_tile = 2.332;  // of large ones, whose loads wait for the sums of the tile before
  // Tiles shared through the workspace: each piece of a tile in turn, its sums (GB/s), and all sums together (TB/s).
  double share = 0.1023, piece = 0.5955, piece_rate = 164.4, share_rate = 1.74;
  // Device memory (TB/s), less where few multiprocessors ask. Blocks that share tiles are at different places of k, so
  // what does not fit `kept` (MB) of L2 comes again for each.
  double memory_rate = 4.769, memory_idle = 0.07167, kept = 103.6;
  // What these leave unexplained, or none; and what all leave of products of 8 bits with promoted sums.
  std::shared_ptr<const GemmTrees> trees = nullptr, promoted = nullptr;

  // Those that products are learned into.
  template <class Model>
  static auto& learned(Model& model, bool promote) {
    return promote ? model.promoted : model.trees;
  }

  // Every constant once, with its name.
  template <class Model, class Visit>
  static constexpr void each_field(Model& model, Visit&& visit) {
    visit("start", model.start);
    visit("cluster_start", model.cluster_start);
    visit("operand_clocks", model.operand_clocks);
    visit("column_clocks", model.column_clocks);
    visit("one_group", model.one_group);
    visit("two_groups", model.two_groups);
    visit("two_tall_groups", model.two_tall_groups);
    visit("three_groups", model.three_groups);
    visit("turns_of_64", model.turns_of_64);
    visit("turns_of_128", model.turns_of_128);
    visit("lone_step", model.lone_step);
    visit("latency", model.latency);
    visit("l2_rate", model.l2_rate);
    visit("split_lines", model.split_lines);
    visit("multicast_step", model.multicast_step);
    visit("shared_step", model.shared_step);
    visit("step_exponent", model.step_exponent);
    visit("whole_exponent", model.whole_exponent);
    visit("tile", model.tile);
    visit("strip", model.strip);
    visit("turns_tile", model.turns_tile);
    visit("turns_strip", model.turns_strip);
    visit("last_strip", model.last_strip);
    visit("cluster_share", model.cluster_share);
    visit("cluster_sum_rate", model.cluster_sum_rate);
    visit("scattered_tile", model.scattered_tile);
    visit("share", model.share);
    visit("piece", model.piece);
    visit("piece_rate", model.piece_rate);
    visit("share_rate", model.share_rate);
    visit("memory_rate", model.memory_rate);
    visit("memory_idle", model.memory_idle);
    visit("kept", model.kept);
  }
  bool has_the_constants_of(const GemmModel& other) const {
    std::vector<double> ours, others;
    each_field(*this, [&](std::string_view, double value) { ours.push_back(value); });
    each_field(other, [&](std::string_view, double value) { others.push_back(value); });
    return ours == others;
  }
};

// One for each size of operands: the tensor cores take as long for a step of 128 bytes whatever they hold, but more of
// them is done by then, and the rest of the chip has less time for it.
struct GemmModels {
  GemmModel of_8_bits{}, of_16_bits{}, of_32_bits{};

  template <class Models>
  static constexpr auto& of(Models& models, int bits) {
    return bits == 8 ? models.of_8_bits : bits == 16 ? models.of_16_bits : models.of_32_bits;
  }
};

}  // namespace wm::plan
