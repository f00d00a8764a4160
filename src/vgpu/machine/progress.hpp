// How far a run is, told to the caller now and then, who may end it.
#pragma once

#include <chrono>

#include "vgpu/machine/block.hpp"

namespace wm::vgpu {

// Of the thread that launched; it alone looks.
class Progress {
 public:
  static constexpr std::chrono::milliseconds interval{100};

  // Asks for the first time.
  Progress(Run& run, u64 blocks);
  // Asks again where the time has come; cheap enough for every round of the scheduler. `uncounted`: instructions that
  // the run's count lacks. Throws stopped where the caller wants no more.
  void look(u64 uncounted) {
    if (coarse_now() >= next_) ask(uncounted);
  }

 private:
  // Milliseconds of a clock that is read in a few nanoseconds, and a few milliseconds late.
  static i64 coarse_now();
  void ask(u64 uncounted);

  Run& run_;
  const u64 blocks_;
  i64 begin_ = 0, next_ = 0;
};

}  // namespace wm::vgpu
