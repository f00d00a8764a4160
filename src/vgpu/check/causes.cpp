// Which findings follow from which.
//
// Where an mbarrier is misused, whatever its users then do to memory and to each other is no longer ordered: the misuse
// is the cause. Findings between threads that do not use the barrier stand for themselves, and so do those that no
// barrier could have prevented (a missing fence, a wrong address).
#include "vgpu/check/causes.hpp"

#include <algorithm>

#include "vgpu/machine/flaws.hpp"

namespace wm::vgpu::check {
namespace {

bool is(const Finding& finding, std::initializer_list<Flaw> flaws) {
  return std::any_of(flaws.begin(), flaws.end(), [&](Flaw flaw) { return finding.name == entry_of(flaw).name; });
}

bool misuses_barrier(const Finding& finding) {
  return is(finding, {Flaw::barrier_not_initialised, Flaw::barrier_reinitialised, Flaw::barrier_overrun,
                      Flaw::wrong_byte_count, Flaw::wrong_peer_barrier, Flaw::missed_phase});
}

// What the rest of a report may follow from.
bool is_cause(const Finding& finding) { return misuses_barrier(finding) || is(finding, {Flaw::register_budget}); }

bool follows(const Finding& finding, const Finding& cause) {
  const auto concerned = [&](const Finding::Party& party) {
    return std::find(cause.parties.begin(), cause.parties.end(), party) != cause.parties.end();
  };
  const auto common = std::count_if(finding.parties.begin(), finding.parties.end(), concerned);
  if (is(finding, {Flaw::deadlock, Flaw::no_end})) return common > 0;
  if (misuses_barrier(finding)) return common > 1;
  return is(finding, {Flaw::read_before_arrival, Flaw::overwritten_in_use, Flaw::shared_race, Flaw::uninitialised_read,
                      Flaw::peer_exited}) &&
         common == static_cast<std::ptrdiff_t>(finding.parties.size());
}

}  // namespace

std::vector<Finding> fold(std::vector<Finding> findings) {
  const auto others = std::stable_partition(findings.begin(), findings.end(), is_cause);
  const auto possible = static_cast<std::size_t>(others - findings.begin());
  // A barrier that counts wrongly lets phases end too early: that they are missed follows, whichever a schedule shows
  // first. Where somebody did not wait (a third place says who and why), the parity is wrong: that is a cause itself.
  std::stable_partition(findings.begin(), others,
                        [](const Finding& f) { return !is(f, {Flaw::missed_phase}) || f.places.size() > 2; });
  std::vector<Finding> folded;
  std::size_t causes = 0;  // the first of them
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const auto end = folded.begin() + static_cast<std::ptrdiff_t>(causes);
    const auto cause = std::find_if(folded.begin(), end, [&](const Finding& c) { return follows(findings[i], c); });
    if (cause != end) {
      cause->consequences.push_back(std::move(findings[i]));
    } else {
      folded.push_back(std::move(findings[i]));
      causes += i < possible;
    }
  }
  return folded;
}

std::vector<Finding> unfold(const std::vector<Finding>& findings) {
  std::vector<Finding> all;
  for (const Finding& finding : findings) {
    Finding& alone = all.emplace_back(finding);
    alone.consequences.clear();
    for (const Finding& consequence : finding.consequences) all.push_back(consequence);
  }
  return all;
}

}  // namespace wm::vgpu::check
