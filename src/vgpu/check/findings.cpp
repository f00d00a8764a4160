// Findings: gathered, told, joined over runs.
#include "vgpu/check/findings.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "vgpu/check/causes.hpp"

namespace wm::vgpu {

namespace {
std::string who(const FindingPlace& place) {
  std::string text = fmt::format("block ({},{},{}) warp {}", place.block.x, place.block.y, place.block.z, place.warp);
  if (!place.role.empty()) text += fmt::format(" `{}`", place.role);
  return text;
}

// "in warpmill/pipeline/ring.cuh:89, called at gemm.cu:40": what stands around the line. Wrappers of single
// instructions add nothing to the instruction's name.
std::string around(const FindingPlace& place) {
  std::string text;
  const auto add = [&](const char* how, const FindingPlace::Frame& frame) {
    text += fmt::format("{}{}{}:{}", text.empty() ? "" : ", ", how, frame.file, frame.line);
  };
  for (const FindingPlace::Frame& frame : place.through)
    if (frame.file.find("warpmill/ptx/") == frame.file.npos) add("in ", frame);
  for (const FindingPlace::Frame& frame : place.inlined_at) add("called at ", frame);
  return text;
}

bool same(const FindingPlace& a, const FindingPlace& b) {
  return a.file == b.file && a.line == b.line && a.instruction == b.instruction;
}

// Which of the places came first is this run's matter. Of what everybody omits, one finding a place is enough.
bool same(const Finding& a, const Finding& b) {
  if (a.name != b.name || a.severity != b.severity || a.relies_on != b.relies_on) return false;
  if (!a.relies_on.empty() && same(a.places.at(0), b.places.at(0))) return true;
  return std::is_permutation(a.places.begin(), a.places.end(), b.places.begin(), b.places.end(),
                             [](const auto& x, const auto& y) { return same(x, y); });
}

// Adds a finding, or counts it where the same is there already at the same lines.
void merge(std::vector<Finding>& findings, const Finding& finding) {
  const auto known = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return same(f, finding); });
  if (known == findings.end())
    findings.push_back(finding);
  else
    known->count += finding.count;
}

// "read-before-arrival at a.cu:44, a.cu:45; deadlock at a.cu:23"
std::string in_short(const std::vector<Finding>& findings) {
  std::vector<std::pair<std::string, std::string>> lines;  // of each name
  for (const Finding& finding : findings) {
    auto known = std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == finding.name; });
    if (known == lines.end()) known = lines.insert(known, {finding.name, ""});
    if (finding.places.empty()) continue;
    known->second +=
        fmt::format("{}{}:{}", known->second.empty() ? " at " : ", ", finding.places[0].file, finding.places[0].line);
  }
  std::string text;
  for (const auto& [name, at] : lines) text += fmt::format("{}{}{}", text.empty() ? "" : "; ", name, at);
  return text;
}

void errors_first(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
}
}  // namespace

const char* name_of(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "advice";
}

std::string Finding::text() const {
  std::string text = fmt::format("{}[{}]: {}\n", name_of(severity), name, message);
  for (const FindingPlace& place : places) {
    text += fmt::format("  --> {}:{}   {}   {}\n", place.file, place.line, place.instruction, who(place));
    if (const std::string chain = around(place); !chain.empty()) text += fmt::format("      {}\n", chain);
    if (!place.what.empty()) text += fmt::format("      {}\n", place.what);
  }
  if (!relies_on.empty())
    text += fmt::format("  note: {} (PTX ISA {}): not promised; compilers rely on it\n", relies_on, section);
  if (!help.empty()) text += fmt::format("  help: {}\n", help);
  if (!consequences.empty())
    text += fmt::format("  and {} more that follow{} from it: {}\n", consequences.size(),
                        consequences.size() == 1 ? "s" : "", in_short(consequences));
  return text;
}

bool CheckReport::clean() const { return count(Severity::error) == 0; }

std::size_t CheckReport::count(Severity severity) const {
  return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(),
                                                [&](const Finding& finding) { return finding.severity == severity; }));
}

void CheckReport::join(const CheckReport& other) {
  std::vector<Finding> all = check::unfold(findings);
  for (const Finding& finding : check::unfold(other.findings)) merge(all, finding);
  findings = check::fold(std::move(all));
  errors_first(findings);
  executed.instructions += other.executed.instructions;
  executed.accesses += other.executed.accesses;
  executed.copies += other.executed.copies;
  executed.copied_bytes += other.executed.copied_bytes;
  executed.products += other.executed.products;
  executed.barriers += other.executed.barriers;
}

namespace check {

bool Findings::is_new(Flaw flaw, std::optional<Omission> omission, u32 first_site, u32 second_site) {
  const auto [known, added] = seen_.try_emplace({flaw, omission, first_site, second_site}, all_.size());
  if (!added) ++all_[known->second].count;
  return added;
}

bool Findings::has(Flaw flaw) const {
  return std::any_of(seen_.begin(), seen_.end(), [&](const auto& seen) { return std::get<0>(seen.first) == flaw; });
}

bool Findings::has_errors() const {
  return std::any_of(all_.begin(), all_.end(), [](const Finding& f) { return f.severity == Severity::error; });
}

std::vector<Finding> Findings::take() {
  for (Finding& finding : all_)
    for (const FindingPlace& place : finding.places) {
      const Finding::Party party{place.block, place.warp};
      if (std::find(finding.parties.begin(), finding.parties.end(), party) == finding.parties.end())
        finding.parties.push_back(party);
    }
  for (const auto& [number, circle] : circles_)
    for (const Finding::Party& party : *circle) all_[number].parties.push_back(party);
  std::vector<Finding> merged;
  for (const Finding& finding : all_) merge(merged, finding);
  merged = fold(std::move(merged));
  errors_first(merged);
  all_.clear();
  seen_.clear();
  return merged;
}

}  // namespace check
}  // namespace wm::vgpu
