// A timeline of one launch: what each warp of each block did, and when (kernels/warpmill/pipeline/stamps.cuh).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warpmill/api.hpp"

namespace wm {

// A warp was busy with something, from one stamp to the next.
struct TraceSlice {
  std::uint32_t block = 0, warp = 0;
  std::string role, doing;  // "multiply", "wait"
  std::uint32_t step = 0;
  double begin_us = 0, end_us = 0;  // since the first stamp of the launch
};

struct WARPMILL_API Trace {
  std::vector<TraceSlice> slices;  // by block, warp and time
  bool truncated = false;          // a warp made as many stamps as there is room for: later ones are missing

  // For ui.perfetto.dev and chrome://tracing: a process for each block, a thread for each warp.
  std::string to_json() const;
};

}  // namespace wm
