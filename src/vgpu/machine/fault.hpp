// An error of the kernel that ends its run, with the instruction and the thread it happened at.
#pragma once

#include <string>
#include <utility>

#include "vgpu/machine/op.hpp"
#include "warpmill/error.hpp"
#include "warpmill/module.hpp"

namespace wm::vgpu {

struct Function;

// The judge's names for what a run can fail of. `other` is anything without a name of its own.
namespace fault {
inline constexpr const char* other = "execution-fault";
inline constexpr const char* out_of_bounds = "out-of-bounds";
inline constexpr const char* misaligned = "misaligned";
inline constexpr const char* use_after_free = "use-after-free";
inline constexpr const char* peer_exited = "peer-exited";
inline constexpr const char* barrier_not_initialised = "barrier-not-initialised";
inline constexpr const char* barrier_overrun = "barrier-overrun";
inline constexpr const char* barrier_count_mismatch = "barrier-count-mismatch";
inline constexpr const char* partial_warpgroup = "partial-warpgroup";
inline constexpr const char* deadlock = "deadlock";
inline constexpr const char* no_end = "no-end";
}  // namespace fault

class Fault : public Error {
 public:
  Fault(const std::string& text, std::string finding, std::string what)
      : Error(ErrorCode::execution, text), finding(std::move(finding)), what_happened(std::move(what)) {}
  // Of asynchronous work, which is told where it was issued when the fault passes the queue.
  Fault(const std::string& what, const char* finding) : Fault(what, finding, what) {}

  std::string finding;        // one of fault::
  std::string what_happened;  // without the place
  const Function* function = nullptr;
  u32 pc = 0;
  Dim3 block;
  u32 warp = 0;
};

}  // namespace wm::vgpu
