// Workspaces by device and stream.
#include "ops/workspace.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/backend.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/error.hpp"

namespace wm::ops {
namespace {

struct Held {
  std::uint64_t stream_number = 0;
  std::vector<Buffer> buffers;  // those that were too small stay: a graph captured before may still use them
};

}  // namespace

std::uint64_t workspace_of(const Stream& stream, std::size_t bytes) {
  static std::mutex mutex;
  static auto& all = *new std::map<std::pair<const void*, const void*>, Held>;  // never destroyed: no order at exit
  const Device& device = stream.device();
  const auto number = device.backend().stream_number(stream.native());
  const std::lock_guard lock(mutex);
  Held& held = all[{&device.backend(), stream.native()}];
  if (held.buffers.empty() || held.buffers.back().bytes() < bytes) {
    if (!number)
      throw Error(ErrorCode::invalid_argument,
                  "this product needs workspace, and memory cannot be allocated while the stream is captured: run it "
                  "once on this stream before the capture");
    Buffer buffer(device, std::bit_ceil(std::max<std::size_t>(bytes, 1 << 20)));
    stream.fill(buffer.address(), std::byte{0}, buffer.bytes());
    held.buffers.push_back(std::move(buffer));
  }
  if (number && held.stream_number != *number) {
    // The handle of a stream that is gone, or one handle for each thread's own stream: its work may still run.
    if (held.stream_number != 0) device.synchronize();
    held.stream_number = *number;
  }
  return held.buffers.back().address();
}

}  // namespace wm::ops
