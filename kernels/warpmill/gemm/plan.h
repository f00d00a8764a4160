// A GEMM plan: how one kernel cuts the work, and the arithmetic that follows from it. Plain C++, read by the host's
// planner, by `warpmill plan` and by the kernel itself, so that all three agree on every byte.
#pragma once

#include "warpmill/pipeline/schedule.h"
#include "warpmill/shared_types.h"

namespace wm {

struct TileShape {
  int m, n, k;  // elements
  constexpr bool operator==(const TileShape&) const = default;
};
struct ClusterShape {
  int m, n;  // blocks
  constexpr bool operator==(const ClusterShape&) const = default;
};

// bf16 in and out, fp32 sums. A warpgroup loads, `multiply_groups` warpgroups multiply and store.
struct GemmPlan {
  TileShape tile{128, 256, 64};
  int stages = 4;
  ClusterShape cluster{2, 1};  // blocks above each other share B, blocks side by side share A
  int multiply_groups = 2;     // they split the tile by rows
  int load_registers = 40;
  int multiply_registers = 232;

  constexpr bool operator==(const GemmPlan&) const = default;

  static constexpr int element_bytes = 2;
  static constexpr int group_threads = 128;     // a warpgroup
  static constexpr int shared_limit = 232448;   // bytes a block may have on Hopper
  static constexpr int register_limit = 65536;  // a multiprocessor has
  static constexpr int out_buffers = 2;         // output strips a multiply group has in flight
  static constexpr int barrier_bytes = 1024;    // what the ring's barriers may take, rounded up

  constexpr int threads() const { return group_threads * (1 + multiply_groups); }
  constexpr int cluster_size() const { return cluster.m * cluster.n; }
  constexpr int group_rows() const { return tile.m / multiply_groups; }  // of the tile, by one multiply group

  constexpr int a_bytes() const { return tile.m * tile.k * element_bytes; }
  constexpr int b_bytes() const { return tile.n * tile.k * element_bytes; }
  constexpr int stage_bytes() const { return a_bytes() + b_bytes(); }

  // The tile leaves in strips of columns: a strip is one row of the store's swizzle, at most 128 bytes.
  constexpr int strip_columns() const { return tile.n % 64 == 0 ? 64 : tile.n % 32 == 0 ? 32 : 16; }
  constexpr int strip_rows() const { return 64; }
  constexpr int strip_bytes() const { return strip_rows() * strip_columns() * element_bytes; }
  constexpr int out_bytes() const { return strip_bytes() * out_buffers * multiply_groups; }

  constexpr int shared_bytes() const { return stages * stage_bytes() + out_bytes() + barrier_bytes; }
  constexpr int registers() const { return group_threads * (load_registers + multiply_groups * multiply_registers); }
  // fp32 sums a multiply thread holds.
  constexpr int accumulator_registers() const { return group_rows() * tile.n / group_threads; }

  // What is wrong with the plan, or nullptr.
  constexpr const char* problem() const {
    if (tile.k != 64) return "tile.k must be 64: one row of a 128-byte swizzle";
    if (multiply_groups < 1 || multiply_groups > 3) return "there are 1 to 3 multiply groups";
    if (tile.m != 64 * multiply_groups && tile.m != 128 * multiply_groups)
      return "tile.m must give each multiply group 64 or 128 rows";
    if (tile.n < 16 || tile.n > 256 || tile.n % 16) return "tile.n must be a multiple of 16 up to 256";
    if (cluster.m < 1 || cluster.n < 1 || cluster_size() > 4) return "a cluster has 1 to 4 blocks";
    if (tile.m / cluster.n % 8 || tile.n / cluster.m % 8)
      return "a block's share of a multicast tile must be a multiple of 8 rows: one swizzle atom";
    if (stages < 2) return "a ring needs 2 stages at least";
    if (shared_bytes() > shared_limit)
      return "the stages and the output strips take more than 232448 bytes of shared memory";
    if (registers() > register_limit) return "the roles take more than 65536 registers";
    if (load_registers % 8 || multiply_registers % 8 || load_registers < 24 || multiply_registers > 256)
      return "a role's registers are a multiple of 8 from 24 to 256";
    if (accumulator_registers() > multiply_registers - 40) return "the sums leave a multiply thread too few registers";
    return nullptr;
  }
  constexpr bool valid() const { return problem() == nullptr; }

  // As many stages as fit; none fit an impossible tile, and problem() says why.
  constexpr GemmPlan with_most_stages() const {
    GemmPlan plan = *this;
    if (stage_bytes() <= 0) return plan;
    plan.stages = (shared_limit - barrier_bytes - out_bytes()) / stage_bytes();
    if (plan.stages > 8) plan.stages = 8;
    return plan;
  }
};

// What the kernel gets.
struct GemmArguments {
  TensorMap a;             // boxes of (tile.m / cluster.n, tile.k)
  TensorMap b;             // boxes of (tile.n / cluster.m, tile.k)
  TensorMap d;             // boxes of one strip
  unsigned long long out;  // D's address again, for strips that the copy engine must not store
  long long out_stride;    // elements from one row of D to the next
  unsigned m, n, k;
  TileSchedule schedule;
};

}  // namespace wm
