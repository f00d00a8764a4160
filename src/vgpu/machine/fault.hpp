// An error of the kernel that ends its run, with the instruction and the thread it happened at.
#pragma once

#include <string>
#include <utility>

#include "vgpu/machine/flaws.hpp"
#include "vgpu/machine/op.hpp"
#include "warpmill/error.hpp"
#include "warpmill/module.hpp"

namespace wm::vgpu {

struct Function;

// What a run can fail of, by the judge's kinds. `other` is anything without a name of its own.
namespace fault {
using enum Flaw;
inline constexpr Flaw other = execution_fault;
}  // namespace fault

class Fault : public Error {
 public:
  Fault(const std::string& text, Flaw flaw, std::string what)
      : Error(ErrorCode::execution, text), finding(flaw), what_happened(std::move(what)) {}
  // Of asynchronous work, which is told where it was issued when the fault passes the queue.
  Fault(const std::string& what, Flaw flaw) : Fault(what, flaw, what) {}

  Flaw finding;
  std::string what_happened;  // without the place
  const Function* function = nullptr;
  u32 pc = 0;
  Dim3 block;
  u32 warp = 0;
};

}  // namespace wm::vgpu
