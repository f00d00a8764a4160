// What the judge may listen to. Every access to memory and every synchronisation passes through the functions that
// call it (memory/access.cpp, the barrier code); a plain run has no observer and pays one branch for it.
#pragma once

#include "vgpu/machine/op.hpp"

namespace wm::vgpu {

class Warp;

enum class AccessKind : u8 { read, write, atomic };

class Observer {
 public:
  virtual ~Observer() = default;
  // A warp's instruction reads or writes `bytes` at each active lane's generic address.
  virtual void access(const Warp& warp, const Op& op, AccessKind kind, const u64* addresses, u32 bytes, u32 active) = 0;
};

}  // namespace wm::vgpu
