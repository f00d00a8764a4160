// Which plan for which GEMM: candidates, an estimate of each one's time, and the arithmetic behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "warpmill/device.hpp"
#include "warpmill/gemm/plan.h"

namespace wm::plan {

struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
};

// What the estimate knows of a chip; the defaults were measured on an H200 (docs/gemm.md).
struct ChipRates {
  int multiprocessors = 132;
  double tensor_flops = 858e12;  // all tensor cores together, 16-bit types, random data
  double memory_bytes = 4.4e12;  // a second, device memory
  double l2_bytes = 14e12;       // a second, L2 to shared memory, all multiprocessors together
  double launch_seconds = 1.5e-6;
  TensorInstruction instruction = TensorInstruction::wgmma;  // what plans are made of
  std::size_t shared_bytes = 233472;                         // of a multiprocessor
};

// The best that an architecture has, and what is known of a device: with wgmma as above, else an A100's data sheet.
TensorInstruction instruction_of(const Architecture& arch);
ChipRates rates_of(const DeviceInfo& device);
// Of a Hopper with so many multiprocessors and an H200's memory.
ChipRates hopper_rates(int multiprocessors);

struct GemmEstimate {
  GemmPlan plan;
  WorkSchedule work{};
  std::int64_t tiles = 0;     // of the output, in cluster tiles
  double waves = 0;           // tiles over clusters; a whole number unless tiles are shared
  double step_seconds = 0;    // one stage of one tile: the slower of the tensor cores and L2
  double tile_seconds = 0;    // what a tile takes besides its steps: filling the ring, storing the sums
  double share_seconds = 0;   // what sharing tiles along k takes: sums through L2, waiting
  double memory_seconds = 0;  // the least traffic of device memory
  double seconds = 0;         // the estimate
};

// Tiles of a product are numbered in 31 bits.
inline constexpr std::int64_t most_tiles = 0x7fffffff;

// The blocks of `plan` that run at once: clusters of more than two do not fill the chip's last multiprocessors.
int resident_clusters(const GemmPlan& plan, const ChipRates& rates);

// The plan's kind is the kernel's; the shape is the caller's, before any exchange.
GemmEstimate estimate(const GemmPlan& plan, const GemmShape& shape, const ChipRates& rates);

// Every plan that is shipped for the kind, the best for `shape` first. Empty where none fits the chip, or all make too
// many tiles.
std::vector<GemmEstimate> rank(const GemmKind& kind, const GemmShape& shape, const ChipRates& rates);

// The plans themselves, each valid.
std::vector<GemmPlan> candidate_plans(const GemmKind& kind, TensorInstruction instruction = TensorInstruction::wgmma);

}  // namespace wm::plan
