// Whether views share memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "warpmill/buffer.hpp"

namespace wm::ops {

// In how many bytes of each period of `pitch` the view's elements lie, from its address on; nothing where its
// dimensions do not go with that period.
std::optional<std::uint64_t> bytes_of_period(const View& view, std::uint64_t pitch);

// Calls look(pitch) for each step of the view's dimensions, in bytes, until it returns true.
bool any_pitch(const View& view, const std::function<bool(std::uint64_t)>& look);

// Whether an element of `x` may be one of `d`, each taken to lie at an address: their ranges of addresses meet, and
// they are no parts of one larger matrix that lie side by side.
bool overlap(const View& d, std::uint64_t d_address, const View& x, std::uint64_t x_address);

// Whether two elements may share an address: each dimension must step over all that lies within the closer ones.
bool overlaps_itself(const View& view);

}  // namespace wm::ops
