// Judging a case.
#pragma once

#include "case.hpp"
#include "check_runs.hpp"

namespace wm::cases {

struct CaseCheck : CheckResult {
  RunResult first;  // what was compiled, and for which device
};
CaseCheck check_case(const Case& description, const CheckRequest& request);

}  // namespace wm::cases
