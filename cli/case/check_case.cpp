// Judging a case.
#include "check_case.hpp"

#include "run_case.hpp"
#include "warpmill/error.hpp"

namespace wm::cases {

CheckResult check_case(const Case& description, const CheckRequest& request) {
  using vgpu::Mode;
  CheckResult result;
  const std::vector<Mode> all = {Mode::friendly, Mode::random, Mode::adversarial};
  for (const Mode mode : request.modes.empty() ? all : request.modes)
    for (std::uint64_t seed = 0; seed < (mode == Mode::friendly ? 1 : request.seeds); ++seed) {
      RunRequest run;
      run.device = "virtual";
      run.virtual_options.mode = mode;
      run.virtual_options.seed = seed;
      run.virtual_options.max_instructions = request.max_instructions;
      run.virtual_options.check = true;
      const RunResult ran = run_case(description, run);
      result.report.join(*ran.virtual_report->check);
      ++result.runs;
      result.runs_that_held += ran.holds();
    }
  return result;
}

}  // namespace wm::cases
