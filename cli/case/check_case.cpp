// Judging a case.
#include "check_case.hpp"

#include "run_case.hpp"
#include "warpmill/error.hpp"

namespace wm::cases {

const std::vector<std::string>& checked_findings() {
  static const std::vector<std::string> names = {"deadlock",
                                                 "no-end",
                                                 "wrong-byte-count",
                                                 "barrier-not-initialised",
                                                 "barrier-init-not-visible",
                                                 "barrier-reinitialised",
                                                 "barrier-overrun",
                                                 "barrier-count-mismatch",
                                                 "missed-phase",
                                                 "shared-race",
                                                 "global-race",
                                                 "read-before-arrival",
                                                 "overwritten-in-use",
                                                 "missing-proxy-fence",
                                                 "register-in-flight",
                                                 "missing-wgmma-fence",
                                                 "peer-exited",
                                                 "divergent-aligned",
                                                 "partial-warpgroup",
                                                 "register-budget",
                                                 "out-of-bounds",
                                                 "misaligned",
                                                 "use-after-free",
                                                 "uninitialised-read",
                                                 "misaligned-tile",
                                                 "stale-tensor-map",
                                                 "misplaced-tensor-map",
                                                 "bank-conflicts",
                                                 "uncoalesced"};
  return names;
}

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
