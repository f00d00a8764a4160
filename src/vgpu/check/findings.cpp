// Findings: gathered, told, joined over runs.
#include "vgpu/check/findings.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace wm::vgpu {

namespace {
std::string who(const FindingPlace& place) {
  std::string text = fmt::format("block ({},{},{}) warp {}", place.block.x, place.block.y, place.block.z, place.warp);
  if (!place.role.empty()) text += fmt::format(" `{}`", place.role);
  return text;
}

bool same(const Finding& a, const Finding& b) {
  if (a.name != b.name || a.places.size() != b.places.size()) return false;
  for (std::size_t i = 0; i < a.places.size(); ++i)
    if (a.places[i].file != b.places[i].file || a.places[i].line != b.places[i].line) return false;
  return true;
}
}  // namespace

std::string Finding::text() const {
  std::string text = fmt::format("{}[{}]: {}\n", severity == Severity::error ? "error" : "advice", name, message);
  for (const FindingPlace& place : places) {
    text += fmt::format("  --> {}:{}   {}   {}\n", place.file, place.line, place.instruction, who(place));
    if (!place.what.empty()) text += fmt::format("      {}\n", place.what);
  }
  if (!help.empty()) text += fmt::format("  help: {}\n", help);
  return text;
}

bool CheckReport::clean() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.severity == Severity::error; });
}

void CheckReport::join(const CheckReport& other) {
  for (const Finding& finding : other.findings) {
    const auto known =
        std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return same(f, finding); });
    if (known == findings.end())
      findings.push_back(finding);
    else
      known->count += finding.count;
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  executed.instructions += other.executed.instructions;
  executed.accesses += other.executed.accesses;
  executed.copies += other.executed.copies;
  executed.copied_bytes += other.executed.copied_bytes;
  executed.products += other.executed.products;
  executed.barriers += other.executed.barriers;
}

namespace check {

bool Findings::is_new(const std::string& name, u32 first_site, u32 second_site) {
  const auto [known, added] = seen_.try_emplace({name, first_site, second_site}, all_.size());
  if (!added) ++all_[known->second].count;
  return added;
}

bool Findings::has(const std::string& name) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Finding& finding) { return finding.name == name; });
}

std::vector<Finding> Findings::take() {
  std::stable_sort(all_.begin(), all_.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  seen_.clear();
  return std::exchange(all_, {});
}

}  // namespace check
}  // namespace wm::vgpu
