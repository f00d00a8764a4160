// When the caller is asked, and what follows from the answer.
#include "vgpu/machine/progress.hpp"

#include <ctime>

#include <fmt/format.h>

#include "warpmill/error.hpp"

namespace wm::vgpu {

i64 Progress::coarse_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return i64{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

Progress::Progress(Run& run, u64 blocks) : run_(run), blocks_(blocks), begin_(coarse_now()) { ask(0); }

void Progress::ask(u64 uncounted) {
  const i64 now = coarse_now();
  const RunProgress so_far{.blocks_done = run_.clusters_done.load(std::memory_order_relaxed) * run_.cluster_blocks,
                           .blocks = blocks_,
                           .warp_instructions = run_.instructions.load(std::memory_order_relaxed) + uncounted,
                           .seconds = static_cast<double>(now - begin_) * 1e-3};
  next_ = now + interval.count();
  try {
    if (run_.options.progress(so_far) == Answer::go_on) return;
  } catch (...) {
    run_.caller_error = std::current_exception();
  }
  throw Error(ErrorCode::stopped,
              fmt::format("`{}` was stopped by its caller after {} of {} blocks and {} warp instructions",
                          run_.entry.name, so_far.blocks_done, blocks_, so_far.warp_instructions));
}

}  // namespace wm::vgpu
