// How a plan cuts a GEMM on a chip: into how many tiles, walked by how many clusters in which order.
#pragma once

#include <cstdint>

#include "plan/chip_rates.hpp"
#include "warpmill/gemm/plan.h"
#include "warpmill/pipeline/schedule.h"

namespace wm::plan {

struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
};

struct GemmSchedule {
  WorkSchedule work{};
  std::int64_t tiles = 0;  // of a whole cluster
  std::int64_t steps = 0;  // of one block, for a tile that is not shared
  bool shares() const { return work.shared_tiles > 0; }
};

// Tiles of a product are numbered in 31 bits: of one that has more the schedule only says how many.
inline constexpr std::int64_t most_tiles = 0x7fffffff;

// The clusters of `plan` that run at once: those of more than two blocks do not fill the chip's last multiprocessors.
int resident_clusters(const GemmPlan& plan, const ChipRates& rates);

// The plan's kind is the kernel's; the shape is the caller's, before any exchange.
GemmSchedule schedule_of(const GemmPlan& plan, const GemmShape& shape, const ChipRates& rates);

}  // namespace wm::plan
