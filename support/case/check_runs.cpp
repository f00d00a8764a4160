// Runs under the judge's eyes.
#include "check_runs.hpp"

#include "warpmill/error.hpp"

namespace wm::cases {
namespace {

void count(const CheckRun& run, const RunVerdict& verdict, CheckResult& result) {
  ++result.runs;
  result.report.join(verdict.report.check.value());
  if (!verdict.ended)
    ++result.not_ended;
  else if (verdict.right)
    ++(*verdict.right ? result.right : result.wrong);
  if (verdict.ended && verdict.right == false && !result.first_wrong) result.first_wrong = {run, verdict.outputs};
}

}  // namespace

CheckResult check_runs(const Device& device, const CheckRequest& request,
                       const std::function<RunVerdict(const vgpu::RunOptions& options)>& run) {
  CheckResult result;
  const std::vector<CheckRun> runs = vgpu::runs_of_check(request.modes, request.seeds);
  result.wanted = runs.size();
  bool launched = false;  // in the present run
  vgpu::RunOptions options{.max_instructions = request.max_instructions, .check = true, .strict = request.strict};
  if (request.progress)
    options.progress = [&](const vgpu::RunProgress& so_far) {
      launched = true;
      return request.progress(so_far);
    };
  try {
    for (const CheckRun& next : runs) {
      launched = false;
      if (request.begin) request.begin(next, result.runs + 1, runs.size());
      options.mode = next.mode;
      options.seed = next.seed;
      count(next, run(options), result);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::stopped) throw;
    result.stopped = true;
    if (launched) result.report.join(vgpu::last_run(device).check.value());
  }
  return result;
}

}  // namespace wm::cases
