// Judging: runs on the virtual GPU in several modes and with several seeds, their findings together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "run_case.hpp"
#include "vgpu/check/runs.hpp"
#include "warpmill/check.hpp"
#include "warpmill/virtual.hpp"

namespace wm::cases {

using vgpu::CheckRun;

struct CheckRequest {
  std::vector<vgpu::Mode> modes;  // none: all
  std::uint64_t seeds = 3;        // of the modes that have dice; the friendly one runs once
  std::uint64_t max_instructions = 0;
  bool strict = false;        // warnings are errors
  bool machine_code = false;  // as of RunRequest
  Tell tell{};
  std::function<vgpu::Answer(const vgpu::RunProgress&)> progress{};
  std::function<void(const CheckRun& run, std::uint64_t number, std::uint64_t of)> begin{};  // number from 1
};

// What one run came to, besides its findings.
struct RunVerdict {
  vgpu::RunReport report;
  bool ended = true;                    // every block came to its end
  std::optional<bool> right;            // nothing: no result was compared
  std::vector<OutputResult> outputs{};  // that were
};

struct CheckResult {
  vgpu::CheckReport report;
  std::uint64_t runs = 0;  // that were made, out of
  std::uint64_t wanted = 0;
  std::uint64_t right = 0, wrong = 0, not_ended = 0;  // the others compared nothing
  struct Wrong {
    CheckRun run;
    std::vector<OutputResult> outputs;
  };
  std::optional<Wrong> first_wrong;
  bool stopped = false;  // by the caller: the findings are those until then

  // The result is wrong and no finding says why.
  bool unexplained() const { return wrong > 0 && report.clean(); }
};

// `run` makes one run on `device` with these options, which ask for the judge. Where `progress`, `tell` or `begin` end
// it, with ErrorCode::stopped, the result until there.
CheckResult check_runs(const Device& device, const CheckRequest& request,
                       const std::function<RunVerdict(const vgpu::RunOptions& options)>& run);

}  // namespace wm::cases
