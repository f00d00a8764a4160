// Memory that kernels of one stream use between them: each stream has its own, so two streams never share it. A graph
// holds that of the stream it was captured from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "warpmill/device.hpp"

namespace wm::ops {

// The address of at least so many bytes, aligned to 256, that are zero whenever no kernel of the stream runs: whoever
// writes there clears it. Made and grown when needed, kept until the process ends: a captured graph may hold it.
std::uint64_t workspace_of(const Stream& stream, std::size_t bytes);

// The same, but whatever they hold: what a kernel of the stream reads there it has written.
std::uint64_t unset_workspace_of(const Stream& stream, std::size_t bytes);

// Bytes of a stream that one kernel writes and a later one reads, whatever they held before. Who has them puts both
// into the stream before another thread may have them.
struct Scratch {
  std::uint64_t address;
  std::unique_lock<std::mutex> lock;
};
// Nothing where there is no memory for it, or the stream is captured and was never given so much.
std::optional<Scratch> scratch_of(const Stream& stream, std::size_t bytes);

// The same for a few bytes, counter_bytes at most: of the stream; or while it is captured, of that launch alone, so
// that different graphs may run beside each other and be captured from streams that were never used. (Instances of one
// graph share it, as they share its results: they run one after the other.)
inline constexpr std::size_t counter_bytes = 64;
std::uint64_t counter_of(const Stream& stream);

}  // namespace wm::ops
