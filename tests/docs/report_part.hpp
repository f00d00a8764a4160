// The guide's steps, as they are and broken, judged; and their reports as parts of documents.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "case/check_case.hpp"
#include "marked_parts.hpp"

namespace wm::test {

inline const std::filesystem::path source = WARPMILL_SOURCE;
inline const std::filesystem::path steps_folder = source / "examples/your_own_kernel";

// A step as it is, or broken by a define.
inline cases::CaseCheck check_step(const std::string& step, const std::string& define, std::vector<vgpu::Mode> modes,
                                   std::uint64_t seeds) {
  constexpr std::uint64_t most_instructions = 2'000'000;  // of warps, in one run
  auto description = cases::read_case(steps_folder / (step + ".json"));
  if (!define.empty()) description.defines[define] = "1";
  return cases::check_case(description, {.modes = std::move(modes),
                                         .seeds = seeds,
                                         .max_instructions = most_instructions,
                                         .machine_code = define.empty()});
}

inline const vgpu::Finding* find(const vgpu::CheckReport& report, const std::string& name) {
  for (const vgpu::Finding& finding : report.findings)
    if (finding.name == name) return &finding;
  return nullptr;
}

// A mark `<!-- report step finding [define] -->`.
struct Shown {
  std::string step, finding, define;
};
inline std::optional<Shown> shown(const std::vector<std::string>& words) {
  if (words.size() < 3 || words[0] != "report") return std::nullopt;
  return Shown{words[1], words[2], words.size() > 3 ? words[3] : ""};
}

// What is printed of the finding in the friendly mode.
inline std::string report_part(const Shown& report) {
  const auto result = check_step(report.step, report.define, {vgpu::Mode::friendly}, 1);
  const vgpu::Finding* const finding = find(result.report, report.finding);
  return finding ? indented(finding->text()) : "    nothing\n";
}

}  // namespace wm::test
