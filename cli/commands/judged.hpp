// Something under the judge's eyes, and what is told of it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "case/check_runs.hpp"
#include "commands.hpp"
#include "outcome.hpp"

namespace wm::cli {

// What was judged, besides its findings.
struct Judged {
  std::string name;
  std::optional<cases::RunResult> first{};  // of a case
  std::optional<std::string> plan{};
  std::string not_judged{};  // what lies outside the judge's eyes, for those whose results are wrong all the same
};

nlohmann::json as_json(const vgpu::Finding& finding);

// Judges with progress in view, prints what was found, and returns the exit status.
int judged(const CheckOptions& options,
           const std::function<cases::CheckResult(const cases::CheckRequest& request, Judged& judged)>& check);

}  // namespace wm::cli
