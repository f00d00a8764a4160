// Measures GEMMs against cuBLASLt, side by side in one process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gemm/gemm_problem.hpp"

namespace wm::bench {

// The shapes of the project's table, in its order.
std::vector<Shape> gemm_shapes();

struct GemmOptions {
  std::vector<Shape> shapes = gemm_shapes();
  int rounds = 15;  // pairs of measurements: ours, the peer's, ours, ...
  int plans = 1;    // how many of the ranking's plans are measured for each shape
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct GemmRow {
  Shape shape{};
  GemmPlan plan;
  unsigned band = 0;
  int rank = 0;                          // of the plan in the ranking, from 0
  double estimate_us = 0;                // what the ranking expected
  double ours_us = 0, peer_us = 0;       // medians
  double ratio = 0;                      // median over the rounds of peer time / our time
  double ratio_low = 0, ratio_high = 0;  // quartiles
  double tflops = 0, peer_tflops = 0;
  double ceiling_share = 0;  // Shape::floor_seconds over our time
  double error = 0;          // of sampled elements against float64; 1 is what bf16 output and fp32 sums allow
};

struct GemmTable {
  std::string device, peer;
  std::vector<GemmRow> rows;
};

GemmTable measure_gemm(const Device& device, const GemmOptions& options);

double geometric_mean_ratio(const std::vector<GemmRow>& rows);
std::string to_json(const GemmTable& table);
std::string to_svg(const GemmTable& table);   // bars of the ratio, a shape a bar
std::string to_text(const GemmTable& table);  // for the terminal and for bench/results

}  // namespace wm::bench
