// The schedules that the judge's tests run under: the friendly one, which has no dice, and 20 seeds of the others, or
// as many as the environment's JUDGE_TEST_SEEDS says.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "warpmill/check.hpp"
#include "warpmill/virtual.hpp"

namespace wm::judge {

struct Schedule {
  vgpu::Mode mode;
  std::uint64_t seed;
  std::string name() const {
    constexpr const char* names[] = {"friendly", "random", "adversarial"};
    return std::string(names[static_cast<int>(mode)]) + " seed " + std::to_string(seed);
  }
};

inline std::vector<Schedule> all_schedules() {
  std::vector<Schedule> schedules = {{vgpu::Mode::friendly, 0}};
  const char* const asked = std::getenv("JUDGE_TEST_SEEDS");
  const std::uint64_t seeds = asked ? std::strtoull(asked, nullptr, 10) : 20;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    schedules.push_back({vgpu::Mode::random, seed});
    schedules.push_back({vgpu::Mode::adversarial, seed});
  }
  return schedules;
}

// But for advice.
inline bool is_silent(const vgpu::CheckReport& report) {
  return report.count(vgpu::Severity::advice) == report.findings.size();
}

inline std::string text_of(const vgpu::CheckReport& report) {
  std::string text;
  for (const vgpu::Finding& finding : report.findings) text += finding.text();
  return text.empty() ? "nothing" : text;
}

}  // namespace wm::judge
