// L2 cache policies: the 64 bits that an access with a cache hint takes. Plain C++, for host and device.
#pragma once

namespace wm {

// What an access does to its lines in L2. The default changes no line's priority.
struct CachePolicy {
  unsigned long long bits = 0x1000000000000000ull;
};

namespace cache {

enum class Priority : unsigned char { evict_unchanged, evict_first, evict_last, evict_normal };

// What createpolicy.fractional.L2 makes: `priority` for a fraction (0 < fraction <= 1) of the lines, `rest`
// (evict_unchanged or evict_first) for the others. The priorities, then the fraction in sixteenths less one: as the
// chip's compiler computes it.
constexpr CachePolicy policy(Priority priority, float fraction = 1, Priority rest = Priority::evict_unchanged) {
  const unsigned priorities = static_cast<unsigned>(priority) * 2 + static_cast<unsigned>(rest);
  return {(0x100ull + priorities * 16 + (static_cast<unsigned>(fraction * 15.99f) & 15)) << 52};
}

// Policies for every access, at no instruction's cost.
inline constexpr CachePolicy evict_normal = policy(Priority::evict_normal);
inline constexpr CachePolicy evict_first = policy(Priority::evict_first);
inline constexpr CachePolicy evict_last = policy(Priority::evict_last);
inline constexpr CachePolicy evict_unchanged = policy(Priority::evict_unchanged);

}  // namespace cache
}  // namespace wm
