// Measures GEMMs against cuBLASLt, side by side in one process.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gemm/random_product.hpp"

namespace wm::bench {

// The shapes of the project's table, in its order.
std::vector<Shape> gemm_shapes();

// Shapes that nobody chose: m log-uniform from 1 to 16,384, n and k from 64 to 32,768, of at most 4 GB in all; n and k
// (and m from 16 on) are multiples of 16, or with `odd` anything. The same for the same seed.
std::vector<Shape> random_shapes(int count, std::uint64_t seed, bool odd, DType operands);

struct GemmOptions {
  std::vector<Shape> shapes = gemm_shapes();
  int rounds = 15;                   // pairs of measurements: ours, the peer's, ours, ...
  int plans = 1;                     // how many plans for each shape: what the library takes, then by the ranking
  int random_plans = 0;              // further ones that the ranking has, wherever
  std::vector<std::string> by_hand;  // further plans, as text: "128x256 s4 c2x1 b8"
  bool untuned = false;              // the ranking's first is what the library takes, whatever was measured before
  bool early = true;                 // products may begin before the one ahead has ended (GemmRequest::early)
  bool behind = false;               // each product behind a foreign kernel that writes A: what the product adds to it
  bool promote = false;              // of 8-bit floats, beside our own product without it in the place of the peer
  // Before each shape, and after each plan with what was found. They may throw, which ends the measurement.
  std::function<void(const Shape&)> begin = [](const Shape&) {};
  std::function<void(const std::string&)> measured = [](const std::string&) {};
};

struct GemmRow {
  Shape shape{};
  GemmPlan plan;
  unsigned band = 0;
  std::string path;                      // who brought the operands
  bool chosen = false;                   // what the library takes
  bool tuned = false;                    // from the table of measured plans
  double estimate_us = 0;                // what the model expected
  double floor_us = 0;                   // floor_of(shape) on this chip
  double ours_us = 0, peer_us = 0;       // medians; the peer's is 0 where it does not serve the shape, or wrongly
  double ratio = 0;                      // median over the rounds of peer time / our time
  double ratio_low = 0, ratio_high = 0;  // quartiles
  double error = 0;                      // RandomProduct::sampled_error
  double peer_error = 0;                 // and the peer's, where that computes something else: there is no ratio then

  double tflops() const { return shape.flops() / ours_us * 1e-6; }
  double peer_tflops() const { return peer_us > 0 ? shape.flops() / peer_us * 1e-6 : 0; }
  double terabytes() const { return shape.bytes() / ours_us * 1e-6; }  // a second
  double ceiling_share() const { return floor_us / ours_us; }
};

// One type's products.
struct GemmTable {
  std::string device, peer;
  DType operands = DType::bf16, d = DType::bf16;
  std::vector<GemmRow> rows;
  int multiprocessors = 0;  // of the device
  bool behind = false;      // GemmOptions::behind
  bool promote = false;     // GemmOptions::promote
};

// Fills the table row by row: what ends it half way loses nothing.
void measure_gemm(const Device& device, const GemmOptions& options, GemmTable& table);

std::string to_json(std::span<const GemmTable> tables);
std::string to_svg(std::span<const GemmTable> tables);   // bars of the ratio, a shape a bar
std::string to_text(std::span<const GemmTable> tables);  // for the terminal and for bench/results

}  // namespace wm::bench
