// Times of calls on the host, for tests on a chip.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "warpmill/device.hpp"

namespace wm::test {

template <class Work>
double milliseconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// What a call that was made before costs the host: the median of bursts that stay below the depth of the launch queue.
template <class Call>
double microseconds_a_call(const Stream& stream, const Call& call) {
  std::vector<double> bursts;
  for (int burst = 0; burst < 21; ++burst) {
    bursts.push_back(milliseconds([&] {
                       for (int i = 0; i < 100; ++i) call();
                     }) *
                     10);
    stream.synchronize();
  }
  std::sort(bursts.begin(), bursts.end());
  return bursts[10];
}

}  // namespace wm::test
