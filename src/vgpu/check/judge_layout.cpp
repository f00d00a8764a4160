// How tiles lie: written in one layout and read in another, lanes that copy the same, rings that went round too seldom.
#include <algorithm>

#include <fmt/format.h>

#include "vgpu/check/judge.hpp"

namespace wm::vgpu::check {

// A tile that begins between two patterns. What an ordinary instruction swizzles by is known when the run is over.
void Judge::misaligned(const Stamp& tile, const TileLayout& layout, const Stamp& other, const char* what) {
  const AsyncWork& work = async_[tile.async];
  misaligned_.try_emplace({tile.site, other.site},
                          Misaligned{tile, other, work.tile, layout.pattern, work.matrix, what});
}

// Ordinary instructions that swizzle by the address agree with copies and products wherever a tile begins. Where it
// cannot be seen what they swizzle by, a copy is given the benefit of the doubt: what CuTe stores follows the address.
void Judge::report_misaligned() {
  using Uses = std::vector<const Misaligned*>;
  // Whether they go by the address; none where it cannot be seen.
  const auto right = [&](const Uses& uses) -> std::optional<bool> {
    Swizzles::Touches touches;
    for (const Misaligned* use : uses) {
      if (use->pattern != 1024 || use->other.async != 0) return {};
      touches.emplace_back(use->other.site, use->begin);
    }
    const bool by_address = swizzles_.by_address(touches);
    const bool by_tile = !uses.front()->product && swizzles_.by_tile(touches);
    return by_address != by_tile ? std::optional(by_address) : std::nullopt;
  };
  constexpr auto own_rows = "goes by the tile's own rows";
  std::set<u32> wrong;           // tiles, by site
  std::map<u32, Uses> doubtful;  // the same
  for (const auto& [sites, use] : misaligned_) {
    const auto is_right = right({&use});
    if (!is_right) {
      doubtful[use.tile.site].push_back(&use);
    } else if (!*is_right) {
      report_misaligned(use, std::nullopt, own_rows);
      wrong.insert(use.tile.site);
    }
  }
  // Rows that a compiler knows are seen in all of its instructions together.
  for (const auto& [tile, uses] : doubtful) {
    if (wrong.contains(tile)) continue;
    const Misaligned& use = *uses.front();
    const auto are_right = right(uses);
    if (are_right && !*are_right)
      report_misaligned(use, std::nullopt, own_rows);
    else if (!are_right && use.product)
      report_misaligned(use, std::nullopt, "does not");
    else if (!are_right)
      report_misaligned(use, Omission::tile_by_address, "may go by the tile's own rows");
  }
}

void Judge::report_misaligned(const Misaligned& use, std::optional<Omission> omission, const char* does) {
  findings_.report(Flaw::misaligned_tile, omission, use.tile.site, 0, [&](Finding& finding) {
    finding.message = fmt::format("a swizzled tile does not begin at a multiple of its pattern's {} bytes, and {}",
                                  use.pattern, use.what);
    finding.help =
        fmt::format("align the tile to {} bytes: the pattern follows the address, not the tile", use.pattern);
    finding.places = {place(use.tile, "takes the tile by its address"), place(use.other, does)};
  });
}

// A read of what `write` wrote. The pattern of a swizzle follows the address, so that copies and products agree
// wherever a tile begins; who reckons from its beginning does not.
void Judge::check_layout(const Actor& actor, const Stamp& write) {
  const TileLayout* const mine = actor.layout;
  const TileLayout* written = write.async != 0 ? &async_[write.async].layout : nullptr;
  if (written != nullptr && written->row_bytes == 0) written = nullptr;
  if (mine == nullptr) {
    if (written != nullptr && !written->aligned && actor.stamp.async == 0)
      misaligned(write, *written, actor.stamp, "ordinary instructions read it");
    return;
  }
  const bool product = async_[actor.stamp.async].matrix;
  const bool same = written != nullptr && written->pattern == mine->pattern &&
                    (product ? written->chunks : written->chunks == mine->chunks);
  if (!mine->aligned && !same && (product || write.async == 0))
    return misaligned(actor.stamp, *mine, write, "it was not written by a copy with that swizzle");
  // A store takes rows of any length; only its swizzle must be that of the copy that brought them.
  if (written == nullptr || (!product && (same || mine->row_bytes == 0))) return;
  const bool narrow = mine->pattern != 0 || written->row_bytes == mine->row_bytes;
  const bool type = written->float_bytes == 0 || written->float_bytes == mine->float_bytes;
  if (same && narrow && type) return;
  findings_.report(Flaw::layout_mismatch, actor.stamp.site, write.site, [&](Finding& finding) {
    const auto swizzle = [](const TileLayout& layout) {
      if (layout.pattern == 0) return std::string("no swizzle");
      return fmt::format("a swizzle of {} bytes", layout.chunks ? layout.pattern / 8 : 128);
    };
    finding.message =
        !same     ? fmt::format("a {} reads with {} a tile that a copy wrote with {}{}", product ? "product" : "store",
                                swizzle(*mine), swizzle(*written), written->chunks ? "" : " of other chunks")
        : !narrow ? fmt::format("a product without swizzle takes rows of 16 bytes, and the copy's box is {} wide",
                                written->row_bytes)
                  : fmt::format("a product reads elements of {} bytes, and the copy wrote numbers of {}",
                                mine->float_bytes, written->float_bytes);
    finding.places = {place(actor.stamp, "reads the tile"), place(write, "wrote it")};
  });
}

// Lanes of a warp that copy the same bytes to the same place, each as often: the chip does it once for each, and
// nothing comes of the order. Lanes that have parted copy one after the other; those of ordinary instructions are too
// many to be kept until then.
u32 Judge::twin_of(WarpState& state, u32 lane, u32 number, const CopyIssue& issue) {
  constexpr std::size_t kept = 64;
  auto& issues = state.same_issues[running_];
  if (async_[number].generic) std::erase_if(issues, [&](const auto& other) { return other.execution != executions_; });
  // Who knows that a copy has been issued makes another one, of what there is by now.
  const Clock& clock = state.clock.of_lane(lane).clock;
  const auto same = std::find_if(issues.begin(), issues.end(), [&](const auto& other) {
    if ((other.lanes >> lane & 1) != 0 || other.issue.barrier != issue.barrier) return false;
    if (other.issue.reads != issue.reads || other.issue.writes != issue.writes) return false;
    const Stamp& issued = async_[other.first].issue;
    return !clock.covers(issued.warp, issued.lanes, issued.time, Known::control);
  });
  if (same != issues.end()) {
    same->lanes |= 1u << lane;
    return same->first;
  }
  if (issues.size() == kept) issues.pop_front();
  issues.push_back({executions_, number, 1u << lane, issue});
  return number;
}

// Barriers of a block that one copy instruction signals are a ring; stages that were filled once say nothing of reuse.
void Judge::note_rings(const Cluster& cluster) {
  for (const auto& block : cluster.blocks) {
    std::map<u32, u32> barriers;  // by site
    for (const auto& [offset, barrier] : state_of(*block).mbarriers) {
      if (!barrier.copy.exists()) continue;
      RingUse& ring = rings_[barrier.copy.site];
      ring.copy = barrier.copy;
      ring.reused |= barrier.phase > 1;
      ring.barriers = std::max(ring.barriers, ++barriers[barrier.copy.site]);
    }
  }
}

void Judge::report_rings() {
  for (const auto& [site, ring] : rings_) {
    if (ring.reused || ring.barriers < 2) continue;
    // clang 14 captures bindings only by name.
    findings_.report(Flaw::ring_not_reused, site, 0, [&, &ring = ring](Finding& finding) {
      finding.message = fmt::format("none of a ring's {} stages was filled twice in this run: too small to judge reuse",
                                    ring.barriers);
      finding.places = {place(ring.copy, "fills the stages")};
    });
  }
}

void Judge::shuffles_absent(const Warp& warp, const Op& op, u32 lane, u32 from) {
  const u32 site = site_of(warp, op);
  findings_.report(Flaw::absent_lane, site, 0, [&](Finding& finding) {
    const bool exited = (warp.live() >> from & 1) == 0;
    finding.message = fmt::format("a shuffle reads lane {}, which {}: an undefined value", from,
                                  exited ? "has exited" : "does not take part");
    finding.places = {place(stamp(warp, 1u << lane, site), fmt::format("lane {} reads it", lane))};
  });
}

}  // namespace wm::vgpu::check
