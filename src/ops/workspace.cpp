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
  // Buffers that were too small stay: a graph captured before may still use them.
  std::vector<Buffer> memory, flags;
};

bool enough(const std::vector<Buffer>& buffers, std::size_t bytes) {
  return !buffers.empty() && buffers.back().bytes() >= bytes;
}

void grow(std::vector<Buffer>& buffers, const Device& device, std::size_t bytes) {
  if (!enough(buffers, bytes)) buffers.emplace_back(device, std::bit_ceil(std::max<std::size_t>(bytes, 1 << 16)));
}

}  // namespace

Workspace workspace_of(const Stream& stream, std::size_t bytes, std::size_t flag_bytes) {
  static std::mutex mutex;
  static auto& all = *new std::map<std::pair<const void*, const void*>, Held>;  // never destroyed: no order at exit
  const Device& device = stream.device();
  const auto number = device.backend().stream_number(stream.native());
  const std::lock_guard lock(mutex);
  Held& held = all[{&device.backend(), stream.native()}];
  if (!enough(held.memory, bytes) || !enough(held.flags, flag_bytes)) {
    if (!number)
      throw Error(ErrorCode::invalid_argument,
                  "this product needs workspace, and memory cannot be allocated while the stream is captured: run it "
                  "once on this stream before the capture");
    grow(held.memory, device, bytes);
    if (!enough(held.flags, flag_bytes)) {
      grow(held.flags, device, flag_bytes);
      stream.fill(held.flags.back().address(), std::byte{0}, held.flags.back().bytes());
    }
  }
  if (number && held.stream_number != *number) {
    // The handle of a stream that is gone, or one handle for each thread's own stream: its work may still run.
    if (held.stream_number != 0) device.synchronize();
    held.stream_number = *number;
  }
  return {held.memory.back().address(), held.flags.back().address()};
}

}  // namespace wm::ops
