// The fastest plan for a shape, found by measuring the ranking's best candidates against each other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gemm/random_product.hpp"
#include "plan/tuned_plans.hpp"

namespace wm::bench {

struct TuneOptions {
  int candidates = 24;               // the ranking's best
  std::vector<std::string> by_hand;  // further plans
  std::vector<std::string> without;  // plans that are not tried, with any band
  int rounds = 9;                    // of the final
  // Called with each plan before it runs, each time: who listens knows which one does not come back.
  std::function<void(const std::string& plan)> trying = [](const std::string&) {};
  // Called with what else there is to tell: candidates left out and why, the final's order.
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

// Throws unsupported for what is no GPU.
void check_tunable(const DeviceInfo& device);

// Needs a GPU. Every candidate's product is checked on samples; a wrong one is left out. Nothing where all were.
std::optional<plan::TunedPlan> tune_gemm(const Device& device, const Shape& shape, const TuneOptions& options);

}  // namespace wm::bench
