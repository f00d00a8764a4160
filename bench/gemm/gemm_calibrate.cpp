// The fit: a random walk that keeps what lowers the regret and, a little, the residuals.
#include "gemm/gemm_calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plan/gemm_plan_text.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::bench {
namespace {

using ShapeKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
ShapeKey key_of(const MeasuredPlan& pair) { return {pair.shape.m, pair.shape.n, pair.shape.k}; }

// Pairs by shape, each with the best time of its shape.
class Sample {
 public:
  Sample(std::span<const MeasuredPlan> pairs, const plan::ChipRates& rates) : rates_(rates) {
    for (const std::vector<std::size_t>& shape : by_shape(pairs)) {
      auto& group = groups_.emplace_back();
      for (const std::size_t i : shape) group.push_back(&pairs[i]);
    }
  }

  ModelQuality quality(const plan::GemmModel& model) const {
    plan::ChipRates rates = rates_;
    rates.gemm = {model, model, model};
    ModelQuality quality;
    double residuals = 0, squares = 0, near = 0;
    for (const auto& group : groups_) {
      double least = INFINITY, taken = 0, best = INFINITY;
      for (const MeasuredPlan* pair : group) best = std::min(best, pair->us);
      for (const MeasuredPlan* pair : group) {
        const double estimate = plan::estimate(pair->plan, pair->shape, rates).seconds * 1e6;
        if (estimate < least) least = estimate, taken = pair->us;
        if (pair->us > near_best * best) continue;
        const double residual = std::log(estimate / pair->us);
        residuals += residual, squares += residual * residual, ++near;
      }
      quality.mean_regret += (taken / best - 1) / double(groups_.size());
      quality.worst_regret = std::max(quality.worst_regret, taken / best - 1);
    }
    quality.bias = residuals / near;
    quality.spread = std::sqrt(std::max(0.0, squares / near - quality.bias * quality.bias));
    return quality;
  }

  double loss(const plan::GemmModel& model) const {
    const ModelQuality q = quality(model);
    return q.mean_regret + 0.2 * (q.bias * q.bias + q.spread * q.spread) + 0.01 * q.worst_regret;
  }

 private:
  const plan::ChipRates& rates_;
  std::vector<std::vector<const MeasuredPlan*>> groups_;
};

std::vector<double*> constants_of(plan::GemmModel& model) {
  std::vector<double*> all;
  plan::GemmModel::each_field(model, [&](std::string_view, double& value) { all.push_back(&value); });
  return all;
}

}  // namespace

std::vector<MeasuredPlans> measured_from_json(std::string_view text, std::string_view file) try {
  std::vector<MeasuredPlans> tables;
  for (const auto& table : nlohmann::json::parse(text)) {
    MeasuredPlans& measured = tables.emplace_back();
    measured.device = table.at("device");
    measured.multiprocessors = table.at("multiprocessors");
    measured.operands = dtype_from_name(table.at("dtype").get<std::string>());
    measured.promote = table.value("promote", false);  // which tables of before do not say
    GemmKind kind{.a = measured.operands, .b = measured.operands};
    kind.promote = measured.promote;
    kind.d = dtype_from_name(table.at("d").get<std::string>());
    for (const auto& row : table.at("rows")) {
      const GemmPlan plan = plan::plan_from_text(row.at("plan").get<std::string>(), kind);
      const double us = row.at("us");
      if (!(us > 0))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} has a time of {} us for {}", file, us, row.at("plan").get<std::string>()));
      // A plan of another version, and what the model says nothing of.
      if (!plan.valid() || plan.instruction != TensorInstruction::wgmma || row.at("path") != "copy engine") continue;
      measured.pairs.push_back({{row.at("m"), row.at("n"), row.at("k")}, plan, us});
    }
  }
  return tables;
} catch (const nlohmann::json::exception& error) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} is no table that 'bench gemm --json' wrote: {}", file, error.what()));
}

ModelQuality quality_of(const plan::GemmModel& model, std::span<const MeasuredPlan> pairs,
                        const plan::ChipRates& rates) {
  return pairs.empty() ? ModelQuality{} : Sample(pairs, rates).quality(model);
}

plan::GemmModel fitted(const plan::GemmModel& model, std::span<const MeasuredPlan> pairs, const plan::ChipRates& rates,
                       const FitOptions& options) {
  if (pairs.empty()) throw Error(ErrorCode::invalid_argument, "there is nothing to fit the ranking's constants to");
  const Sample sample(pairs, rates);
  plan::GemmModel best = model;
  best.trees = best.promoted = nullptr;
  plan::GemmModel start = best;
  const std::vector<double*> from = constants_of(start);
  double least = sample.loss(best);
  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> normal;
  for (int step = 0; step < options.steps; ++step) {
    options.step(step);
    plan::GemmModel tried = best;
    const std::vector<double*> constants = constants_of(tried);
    const double stride = 0.2 * std::pow(0.1, double(step) / options.steps);  // wide steps first
    for (int change = 1 + static_cast<int>(random() % 3); change > 0; --change) {
      const std::size_t which = random() % constants.size();
      double& value = *constants[which];
      value = std::clamp(value * std::exp(stride * normal(random)), *from[which] / 3, *from[which] * 3);
    }
    tried.step_exponent = std::max(tried.step_exponent, 1.0);
    tried.whole_exponent = std::max(tried.whole_exponent, 1.0);
    if (const double loss = sample.loss(tried); loss < least) least = loss, best = tried;
  }
  return best;
}

std::vector<std::vector<std::size_t>> by_shape(std::span<const MeasuredPlan> pairs) {
  std::map<ShapeKey, std::vector<std::size_t>> shapes;
  for (std::size_t i = 0; i < pairs.size(); ++i) shapes[key_of(pairs[i])].push_back(i);
  std::vector<std::vector<std::size_t>> all;
  for (auto& [key, numbers] : shapes) all.push_back(std::move(numbers));
  return all;
}

Parts kept_apart(std::span<const MeasuredPlan> pairs) {
  std::map<ShapeKey, std::size_t> numbers;
  Parts parts;
  for (const MeasuredPlan& pair : pairs) {
    const std::size_t number = numbers.try_emplace(key_of(pair), numbers.size()).first->second;
    (number % 4 == 3 ? parts.kept : parts.fitted).push_back(pair);
  }
  return parts;
}

}  // namespace wm::bench
