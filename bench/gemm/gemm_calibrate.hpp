// Fits the constants of the GEMM ranking's arithmetic (plan::GemmModel) to measured pairs of shapes and plans, and says
// how well a model foretells them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/gemm_ranking.hpp"

namespace wm::bench {

struct MeasuredPlan {
  plan::GemmShape shape;
  GemmPlan plan;
  double us = 0;
};

// What `bench gemm --json` wrote of one type's products: those with wgmma whose operands the copy engine brought.
struct MeasuredPlans {
  std::string device;
  int multiprocessors = 0;  // that it has
  DType operands = DType::bf16;
  bool promote = false;  // with promoted sums
  std::vector<MeasuredPlan> pairs;
};
std::vector<MeasuredPlans> measured_from_json(std::string_view text, std::string_view file);

// How well a model foretells them.
struct ModelQuality {
  double mean_regret = 0, worst_regret = 0;  // time of the plan it would take over the best measured one, less 1
  double bias = 0, spread = 0;  // mean and standard deviation of log(estimate / measured), of plans near a shape's best
};
ModelQuality quality_of(const plan::GemmModel& model, std::span<const MeasuredPlan> pairs,
                        const plan::ChipRates& rates);

struct FitOptions {
  int steps = 3000;  // of a random walk through the constants
  std::uint64_t seed = 1;
  std::function<void(int)> step = [](int) {};  // before each; may throw, which ends the fit
};
// The constants that make the regret least, beginning with `model`; none moves by more than a factor of three. Throws
// where there is nothing to fit to.
plan::GemmModel fitted(const plan::GemmModel& model, std::span<const MeasuredPlan> pairs, const plan::ChipRates& rates,
                       const FitOptions& options);

// The numbers of the pairs of each shape.
std::vector<std::vector<std::size_t>> by_shape(std::span<const MeasuredPlan> pairs);
constexpr double near_best = 1.4;  // times a shape's best: what the ranking must tell apart

// The pairs of every fourth shape are kept, to judge a fit to the others by.
struct Parts {
  std::vector<MeasuredPlan> fitted, kept;
};
Parts kept_apart(std::span<const MeasuredPlan> pairs);

}  // namespace wm::bench
