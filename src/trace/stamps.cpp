// From records to slices.
#include "trace/stamps.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "warpmill/error.hpp"

namespace wm::trace {
namespace {

constexpr std::uint32_t records_per_warp = 1024;

std::size_t volume(const Dim3& d) { return std::size_t{d.x} * d.y * d.z; }

// A module has one place for its stamps: launches that use it take turns.
std::shared_ptr<void> turn_at(std::uint64_t place) {
  static std::mutex mutex;
  static auto& places = *new std::map<std::uint64_t, std::mutex>;  // never destroyed: no order at exit
  std::unique_lock lock(mutex);
  std::mutex& own = places[place];
  lock.unlock();
  return std::make_shared<std::unique_lock<std::mutex>>(own);
}

std::string text_of(std::uint64_t word) {
  std::string text;
  for (; word != 0; word >>= 8) text += static_cast<char>(word & 0xff);
  return text;
}

// The warp that lasted longest knows it best: the chip's clock may tick once in a microsecond.
double microseconds_per_clock(std::span<const std::span<const StampRecord>> by_warp) {
  double longest = 0, rate = 1e-3;
  for (const auto& of_warp : by_warp) {
    if (of_warp.empty() || of_warp.back().nanoseconds <= of_warp[0].nanoseconds) continue;
    const auto us = static_cast<double>(of_warp.back().nanoseconds - of_warp[0].nanoseconds) * 1e-3;
    const auto clocks = static_cast<double>(of_warp.back().clock - of_warp[0].clock);
    if (us > longest && clocks > 0) longest = us, rate = us / clocks;
  }
  return rate;
}

}  // namespace

StampRecords::StampRecords(const Stream& stream, const Kernel& kernel, LaunchConfig& config)
    : turn_(turn_at(kernel.symbol("wm_stamps").address)),
      warps_per_block_(static_cast<std::uint32_t>((volume(config.block) + 31) / 32)),
      records_(stream.device(), volume(config.grid) * warps_per_block_ * records_per_warp * sizeof(StampRecord)) {
  config.shared_bytes += stamp_shared_bytes;
  stream.fill(records_.address(), std::byte{0}, records_.bytes());
  const StampBuffer buffer{records_.address(), warps_per_block_, records_per_warp};
  stream.upload(kernel.symbol("wm_stamps").address, std::as_bytes(std::span(&buffer, 1)));
}

Trace StampRecords::read(const Stream& stream) const {
  stream.synchronize();
  const bool virtual_gpu = stream.device().info().kind == DeviceKind::virtual_gpu;
  return timeline(records_.download<StampRecord>(), warps_per_block_, records_per_warp,
                  virtual_gpu ? StampTime::of_chip : StampTime::of_warp);
}

Trace timeline(std::span<const StampRecord> records, std::uint32_t warps_per_block, std::uint32_t per_warp,
               StampTime time) {
  std::vector<std::span<const StampRecord>> by_warp;  // what is there of each
  for (std::size_t first = 0; first + per_warp <= records.size(); first += per_warp) {
    const auto room = records.subspan(first, per_warp);
    const auto end = std::find_if(room.begin(), room.end(), [](const StampRecord& record) { return !record.there; });
    by_warp.push_back(room.first(static_cast<std::size_t>(end - room.begin())));
  }
  std::uint64_t start = std::numeric_limits<std::uint64_t>::max();  // nanoseconds
  for (const auto& of_warp : by_warp)
    if (!of_warp.empty()) start = std::min<std::uint64_t>(start, of_warp[0].nanoseconds);
  const double us_per_clock = microseconds_per_clock(by_warp);
  Trace trace;
  for (std::size_t warp = 0; warp < by_warp.size(); ++warp) {
    const auto of_warp = by_warp[warp];
    if (of_warp.empty()) continue;
    const double base_us = static_cast<double>(of_warp[0].nanoseconds - start) * 1e-3;
    const auto at = [&](const StampRecord& record) {
      if (time == StampTime::of_chip) return static_cast<double>(record.nanoseconds - start) * 1e-3;
      return base_us + static_cast<double>(record.clock - of_warp[0].clock) * us_per_clock;
    };
    for (std::size_t i = 0; i + 1 < of_warp.size(); ++i) {
      const StampRecord &begin = of_warp[i], &end = of_warp[i + 1];
      trace.slices.push_back({static_cast<std::uint32_t>(warp / warps_per_block),
                              static_cast<std::uint32_t>(warp % warps_per_block), text_of(begin.role),
                              text_of(begin.doing), begin.step, at(begin), at(end)});
    }
    trace.truncated |= of_warp.size() == per_warp;
  }
  return trace;
}

}  // namespace wm::trace
