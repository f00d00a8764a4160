// Findings of one run, each pair of instructions reported once.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "vgpu/machine/flaws.hpp"
#include "warpmill/check.hpp"

namespace wm::vgpu::check {

class Findings {
 public:
  explicit Findings(bool strict) : strict_(strict) {}

  // Adds one unless it is known for these instructions, where it is counted: describe(Finding&) says the rest.
  template <class Describe>
  void report(Flaw flaw, u32 first_site, u32 second_site, Describe&& describe) {
    report(flaw, std::nullopt, first_site, second_site, describe);
  }
  // The same of what may be an omission that everybody makes: a warning then.
  template <class Describe>
  void report(Flaw flaw, std::optional<Omission> omission, u32 first_site, u32 second_site, Describe&& describe) {
    if (!is_new(flaw, omission, first_site, second_site)) return;
    const FindingKind& entry = entry_of(flaw);
    Finding& finding = all_.emplace_back();
    finding.name = entry.name;
    finding.severity = entry.severity;
    if (omission) {
      finding.severity = strict_ ? Severity::error : Severity::warning;
      finding.relies_on = entry_of(*omission).meaning;
      finding.section = entry_of(*omission).section;
    }
    finding.message = entry.meaning;
    finding.help = entry.help;
    describe(finding);
  }
  bool has(Flaw flaw) const;
  bool has_errors() const;
  // The finding that is being described concerns all of these too; they are asked for at the end.
  void concerns(const std::vector<Finding::Party>& circle) { circles_.emplace_back(all_.size() - 1, &circle); }
  // Those at the same lines together; errors first, in the order they were found.
  std::vector<Finding> take();

 private:
  bool is_new(Flaw flaw, std::optional<Omission> omission, u32 first_site, u32 second_site);
  bool strict_;
  std::map<std::tuple<Flaw, std::optional<Omission>, u32, u32>, std::size_t> seen_;
  std::vector<Finding> all_;
  std::vector<std::pair<std::size_t, const std::vector<Finding::Party>*>> circles_;
};

}  // namespace wm::vgpu::check
