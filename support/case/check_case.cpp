// Judging a case.
#include "check_case.hpp"

#include "warpmill/error.hpp"

namespace wm::cases {

namespace {

std::vector<CheckRun> runs_of(const CheckRequest& request) {
  using vgpu::Mode;
  const std::vector<Mode> all = {Mode::friendly, Mode::random, Mode::adversarial};
  std::vector<CheckRun> runs;
  for (const Mode mode : request.modes.empty() ? all : request.modes)
    for (std::uint64_t seed = 0; seed < (mode == Mode::friendly ? 1 : request.seeds); ++seed)
      runs.push_back({mode, seed});
  return runs;
}

void count(const CheckRun& run, RunResult& ran, const Dim3& grid, CheckResult& result) {
  const bool ended = ran.virtual_report->blocks == std::uint64_t{grid.x} * grid.y * grid.z;
  if (!ended)
    ++result.not_ended;
  else if (ran.compared())
    ++(ran.holds() ? result.right : result.wrong);
  if (ended && !ran.holds() && !result.first_wrong) result.first_wrong = {run, ran.outputs};
}

}  // namespace

CheckResult check_case(const Case& description, const CheckRequest& request) {
  CheckResult result;
  const std::vector<CheckRun> runs = runs_of(request);
  result.wanted = runs.size();
  const Device device = open_device(description, "virtual");
  bool launched = false;  // in the present run
  std::function<vgpu::Answer(const vgpu::RunProgress&)> progress;
  if (request.progress)
    progress = [&](const vgpu::RunProgress& so_far) {
      launched = true;
      return request.progress(so_far);
    };
  try {
    for (const CheckRun& run : runs) {
      launched = false;
      if (request.begin) request.begin(run, result.runs + 1, runs.size());
      RunRequest one;
      one.device = "virtual";
      one.virtual_options.mode = run.mode;
      one.virtual_options.seed = run.seed;
      one.virtual_options.max_instructions = request.max_instructions;
      one.virtual_options.check = true;
      one.virtual_options.progress = progress;
      one.write = false;
      one.machine_code = request.machine_code && result.runs == 0;
      one.tell = request.tell;
      RunResult ran = run_case(description, one);
      result.report.join(*ran.virtual_report->check);
      count(run, ran, description.launch.grid, result);
      if (result.runs++ == 0) result.first = std::move(ran);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::stopped) throw;
    result.stopped = true;
    if (launched) result.report.join(vgpu::last_run(device).check.value());
  }
  return result;
}

}  // namespace wm::cases
