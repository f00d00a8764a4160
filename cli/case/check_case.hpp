// Judging a case: runs on the virtual GPU in several modes and with several seeds, their findings together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case.hpp"
#include "warpmill/check.hpp"
#include "warpmill/virtual.hpp"

namespace wm::cases {

struct CheckRequest {
  std::vector<vgpu::Mode> modes;  // none: all
  std::uint64_t seeds = 3;        // of the modes that have dice; the friendly one runs once
  std::uint64_t max_instructions = 0;
};

struct CheckResult {
  vgpu::CheckReport report;
  std::uint64_t runs = 0;
  std::uint64_t runs_that_held = 0;  // whose outputs were as the case says
};

CheckResult check_case(const Case& description, const CheckRequest& request);

}  // namespace wm::cases
