// The buffer behind a stamped kernel, and the timeline that its records make.
#pragma once

#include <cstdint>
#include <span>

#include "warpmill/buffer.hpp"
#include "warpmill/module.hpp"
#include "warpmill/pipeline/stamp_record.h"
#include "warpmill/trace.hpp"

namespace wm::trace {

// Records of one launch. Lives until the launch has ended.
class StampRecords {
 public:
  // `kernel` was compiled with WM_STAMPS; `config`, of its launch, gets the shared memory that stamps take.
  StampRecords(const Stream& stream, const Kernel& kernel, LaunchConfig& config);
  // Waits for the stream.
  Trace read(const Stream& stream) const;

 private:
  std::uint32_t warps_per_block_;
  Buffer records_;
};

// What the records of a launch say.
Trace timeline(std::span<const StampRecord> records, std::uint32_t warps_per_block, std::uint32_t records_per_warp);

}  // namespace wm::trace
