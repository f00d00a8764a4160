// Learns the trees that correct the GEMM ranking's arithmetic (plan::GemmTrees) from measured pairs.
#pragma once

#include "gemm/gemm_calibrate.hpp"

namespace wm::bench {

struct TreeOptions {
  int trees = 224;
  int leaves = 20;                             // answers of a tree, at most
  double part = 0.12;                          // of what is left, that each tree explains
  double least = 15;                           // pairs that an answer rests on, by weight
  std::function<void(int)> step = [](int) {};  // before each tree; may throw, which ends the fit
};
// Of what `model` leaves, behind the trees that it has (GemmModel::learned): of pairs that are all promoted, or none.
// Those of promoted sums know how large the smallest product was that they have seen. Plans far from their shape's best
// count less.
plan::GemmTrees fitted_trees(const plan::GemmModel& model, std::span<const MeasuredPlan> pairs,
                             const plan::ChipRates& rates, const TreeOptions& options);

}  // namespace wm::bench
