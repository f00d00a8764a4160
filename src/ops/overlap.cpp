// Overlaps by ranges of addresses, and by bytes of a period.
#include "ops/overlap.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace wm::ops {
namespace {

// Whether each dimension reaches beyond all after it, as in an ordinary layout: told without sorting.
bool falls(const View& view) {
  std::int64_t reach = 0;
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] <= 1) continue;
    if (view.strides[i] <= reach) return false;
    reach += (view.shape[i] - 1) * view.strides[i];
  }
  return true;
}

}  // namespace

std::optional<std::uint64_t> bytes_of_period(const View& view, std::uint64_t pitch) {
  std::uint64_t width = size_of(view.dtype);
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    const std::uint64_t step = static_cast<std::uint64_t>(view.strides[i]) * size_of(view.dtype);
    if (view.shape[i] <= 1 || step % pitch == 0) continue;
    width += static_cast<std::uint64_t>(view.shape[i] - 1) * step;
    if (width > pitch) return std::nullopt;
  }
  return width <= pitch ? std::optional(width) : std::nullopt;
}

bool any_pitch(const View& view, const std::function<bool(std::uint64_t)>& look) {
  for (std::size_t i = 0; i < view.shape.size(); ++i)
    if (view.shape[i] > 1 && view.strides[i] > 0 &&
        look(static_cast<std::uint64_t>(view.strides[i]) * size_of(view.dtype)))
      return true;
  return false;
}

bool overlap(const View& d, std::uint64_t d_address, const View& x, std::uint64_t x_address) {
  if (d.elements() == 0 || x.elements() == 0) return false;
  if (d_address >= x_address + x.span_bytes() || x_address >= d_address + d.span_bytes()) return false;
  const auto side_by_side = [&](std::uint64_t pitch) {
    const auto d_width = bytes_of_period(d, pitch), x_width = bytes_of_period(x, pitch);
    const std::uint64_t apart = (pitch + d_address % pitch - x_address % pitch) % pitch;  // from x's first byte to d's
    return d_width && x_width && apart >= *x_width && apart + *d_width <= pitch;
  };
  return !any_pitch(d, side_by_side) && !any_pitch(x, side_by_side);
}

bool overlaps_itself(const View& view) {
  if (falls(view)) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // stride, size
  for (std::size_t i = 0; i < view.shape.size(); ++i)
    if (view.shape[i] > 1) steps.emplace_back(view.strides[i], view.shape[i]);
  std::sort(steps.begin(), steps.end());
  std::int64_t reach = 0;  // of the closer dimensions' last element
  for (const auto& [stride, size] : steps) {
    if (stride <= reach) return view.elements() > 0;
    reach += (size - 1) * stride;
  }
  return false;
}

}  // namespace wm::ops
