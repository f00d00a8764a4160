// The timeline that the records of a stamped kernel make.
#pragma once

#include <cstdint>
#include <span>

#include "warpmill/pipeline/stamp_record.h"
#include "warpmill/trace.hpp"

namespace wm::trace {

// Which of a record's times counts: the warp's clock, laid on the chip's by its first record, where that may tick once
// in a microsecond; or the chip's alone, as on a virtual GPU, where a warp's clock counts its own instructions.
enum class StampTime { of_warp, of_chip };

// What the records of a launch say.
Trace timeline(std::span<const StampRecord> records, std::uint32_t warps_per_block, std::uint32_t records_per_warp,
               StampTime time = StampTime::of_warp);

}  // namespace wm::trace
