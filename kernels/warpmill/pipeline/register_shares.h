// Registers that move from one warpgroup to the others. Plain C++, shared by host and device.
#pragma once

namespace wm {

// What a thread of `groups` warpgroups may have once one more has come down to `given_up`. A block is started with an
// equal share of the multiprocessor's registers for each thread, in eights, and setmaxnreg counts in eights.
constexpr int registers_beside(int given_up, int groups) {
  constexpr int multiprocessor = 65536, group_threads = 128, most = 248;
  const int at_start = multiprocessor / (group_threads * (1 + groups)) / 8 * 8;
  const int share = (at_start * (1 + groups) - given_up) / groups / 8 * 8;
  return share < most ? share : most;
}

}  // namespace wm
