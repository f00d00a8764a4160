// What a stamp leaves in memory. Plain C++, shared by host and device.
#pragma once

namespace wm {

struct StampRecord {
  unsigned long long role, doing;  // up to eight characters each, the first in the low byte
  unsigned long long clock;        // of the multiprocessor
  unsigned long long nanoseconds;  // on the chip's clock, which may tick once in a microsecond
  unsigned step;
  unsigned there;  // 1: this record was written
};

// The variable `wm_stamps` of a stamped kernel. Records of a warp lie one after the other, warp after warp, block after
// block.
struct StampBuffer {
  unsigned long long records;  // address
  unsigned warps_per_block, records_per_warp;
};

inline constexpr unsigned stamp_shared_bytes = 32 * sizeof(unsigned);  // a count for each warp that a block may have

}  // namespace wm
