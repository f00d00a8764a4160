// The scheduler's dice: a small generator whose whole state is its seed.
#pragma once

#include "vgpu/machine/op.hpp"

namespace wm::vgpu {

class Random {
 public:
  Random() = default;
  explicit Random(u64 seed) : state_(seed) {}
  u64 next() {  // splitmix64
    u64 z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  u32 below(u32 count) { return static_cast<u32>(next() % count); }
  bool chance(u32 one_in) { return below(one_in) == 0; }

 private:
  u64 state_ = 0;
};

}  // namespace wm::vgpu
