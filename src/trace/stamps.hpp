// The timeline that the records of a stamped kernel make.
#pragma once

#include <cstdint>
#include <span>

#include "warpmill/pipeline/stamp_record.h"
#include "warpmill/trace.hpp"

namespace wm::trace {

// What the records of a launch say.
Trace timeline(std::span<const StampRecord> records, std::uint32_t warps_per_block, std::uint32_t records_per_warp);

}  // namespace wm::trace
