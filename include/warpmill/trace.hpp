// A timeline of one launch: what each warp of each block did, and when (kernels/warpmill/pipeline/stamps.cuh).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "warpmill/api.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/module.hpp"

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

namespace trace {

// The stamps of one launch of a kernel that was compiled with WM_STAMPS. Lives until the launch has ended; another one
// for the same module waits until it is gone, so that a thread has one at a time.
class WARPMILL_API StampRecords {
 public:
  // `config`, of the launch, gets the shared memory that stamps take.
  StampRecords(const Stream& stream, const Kernel& kernel, LaunchConfig& config);
  // Waits for the stream.
  Trace read(const Stream& stream) const;

 private:
  std::shared_ptr<void> turn_;
  std::uint32_t warps_per_block_;
  Buffer records_;
};

}  // namespace trace
}  // namespace wm
