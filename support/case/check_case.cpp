// Judging a case.
#include "check_case.hpp"

namespace wm::cases {

CaseCheck check_case(const Case& description, const CheckRequest& request) {
  std::optional<RunResult> first;
  const auto run = [&](const vgpu::RunOptions& options) {
    RunRequest one;
    one.device = "virtual";
    one.virtual_options = options;
    one.write = false;
    one.machine_code = request.machine_code && !first;
    one.tell = request.tell;
    RunResult ran = run_case(description, one);
    RunVerdict verdict{*ran.virtual_report, !ran.virtual_report->ended_by,
                       ran.compared() ? std::optional(ran.holds()) : std::nullopt, ran.outputs};
    if (!first) first = std::move(ran);
    return verdict;
  };
  CheckResult result = check_runs(open_device(description, "virtual"), request, run);
  return {std::move(result), first ? std::move(*first) : RunResult()};
}

}  // namespace wm::cases
