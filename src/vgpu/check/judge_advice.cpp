// Advice: accesses of a warp that take more turns, or more sectors, than their bytes need.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"
#include "vgpu/memory/spaces.hpp"

namespace wm::vgpu::check {

// Bank conflicts of shared memory, and sectors of global memory, a warp's access at a time. Dice keep lanes apart that
// the chip would bring together again: what they then do one after the other says nothing.
void Judge::advise(const Warp& warp, u32 site, AccessKind kind, const u64* addresses, u32 bytes, u32 active) {
  if (kind == AccessKind::atomic || std::popcount(active) < 8) return;
  if (run_.options.mode != Mode::friendly && warp.mask != warp.started()) return;
  const u64 first = addresses[std::countr_zero(active)];
  const bool shared = is_shared(first);
  if (!shared && !is_global(first)) return;
  std::array<u64, 128> pieces;  // words or sectors
  std::size_t count = 0;
  const u64 unit = shared ? 4 : 32;
  for (u32 left = active; left != 0; left &= left - 1) {
    const u64 at = addresses[std::countr_zero(left)];
    for (u64 piece = at / unit; piece <= (at + bytes - 1) / unit && count < pieces.size(); ++piece)
      pieces[count++] = piece;
  }
  std::sort(pieces.begin(), pieces.begin() + count);
  count = static_cast<std::size_t>(std::unique(pieces.begin(), pieces.begin() + count) - pieces.begin());
  Advice& advice = (shared ? conflicts_ : scattered_)[site];
  ++advice.executed;
  if (!shared) {
    advice.ideal += (static_cast<u64>(std::popcount(active)) * bytes + 31) / 32;
    advice.actual += count;
    return;
  }
  std::array<u32, 32> turns{};
  u32 most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, ++turns[pieces[i] % 32]);
  advice.ideal += std::max<u64>(1, (count + 31) / 32);
  advice.actual += most;
}

void Judge::report_advice() {
  for (const auto* advices : {&conflicts_, &scattered_}) {
    const bool banks = advices == &conflicts_;
    for (const auto& [site, advice] : *advices) {
      if (advice.actual < 2 * advice.ideal) continue;
      const auto flaw = banks ? Flaw::bank_conflicts : Flaw::uncoalesced;
      // clang 14 captures bindings only by name.
      findings_.report(flaw, site, 0, [&, site = site, &advice = advice](Finding& finding) {
        finding.message = fmt::format(
            "{} {} where {} would do, {} accesses of warps together",
            banks ? "shared memory answers in" : "global memory moves",
            banks ? fmt::format("{} turns", advice.actual) : fmt::format("{} sectors of 32 bytes", advice.actual),
            advice.ideal, advice.executed);
        finding.places = {sites_.place(site)};
        finding.count = advice.executed;
      });
    }
  }
}

}  // namespace wm::vgpu::check
